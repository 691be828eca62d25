"""Qrels and runs -> documents of each query matched -> values by query -> means, raw and standardized."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice, check_unique, checked_flag, checked_resamples, checked_seed, offending, shown
from rankcorr.coefficients import Coefficient
from rankcorr.errors import OptionError
from rankcorr.evaluation.by_query import Competition, QueryValues
from rankcorr.evaluation.errors import ColumnError, UndefinedQueryError
from rankcorr.evaluation.evaluation import ChanceLevel, Evaluation, Undefined
from rankcorr.evaluation.judgements import Qrels, QrelsLike, QueryColumns, Run, RunLike
from rankcorr.evaluation.matching import (
    UNJUDGED,
    UNRETRIEVED,
    Unjudged,
    Unretrieved,
    checked_depth,
    joined,
    matched,
)
from rankcorr.evaluation.metrics import MetricLike, as_metrics
from rankcorr.evaluation.nulls import standardization
from rankcorr.inference.standardization import standardized_each
from rankcorr.notices import warn_undefined
from rankcorr.workers import Progress, checked_workers

UndefinedPolicy: TypeAlias = Literal["omit", "zero", "error"]
RunsLike: TypeAlias = RunLike | Mapping[str, RunLike] | Sequence[Run]

UNDEFINED: Final = ("omit", "zero", "error")
ONLY_RUN: Final = "run"
RESAMPLES: Final = 500


def evaluate(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metrics: Sequence[MetricLike] | MetricLike = ("tau_w",),
    unjudged: Unjudged = "zero",
    unretrieved: Unretrieved = "last",
    depth: int | None = None,
    undefined: UndefinedPolicy = "omit",
    standardized: bool = True,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate runs by query against qrels.

    Parameters
    ----------
    qrels : Qrels, dict of query to dict of document to relevance, data frame, path, or object of ranx or ir_measures
        The gold scores.
    runs : run, mapping of name to run, or sequence of Run
        A run is a `Run`, or anything that `Run.of` reads.
    metrics : sequence of str, Coefficient or measure of ir_measures
        Rank correlations by name ("tau_w", "rho_w", "tau", "rho") or as a value such as ``RhoW(n0=10)``; "tau_ap" and
        "rbo", or `TauAP` and `RBO` with options; "ap" and "p@10", as trec_eval has them; and the measures of
        ir_measures, such as "ndcg@10" (extra `trec`).
    unjudged : {"zero", "omit", "error"}
        What becomes of a retrieved document without a judgement, in a rank correlation: of relevance 0, as in
        trec_eval, left out, or an error.
    unretrieved : {"last", "omit"}
        What becomes of a judged document that the run did not retrieve, in a rank correlation: tied with the others
        below all that it retrieved, or left out.
    depth : int, optional
        How many documents of each query are kept of a run, for all metrics; ties at the cut go by descending id.
    undefined : {"omit", "zero", "error"}
        What a query counts for which a metric does not exist, because it has fewer than two documents or its scores are
        one tie: nothing, 0, or an error.
    standardized : bool, default True
        Standardize each rank correlation by its own null (`NullDistribution.standardize`) as well, so that means over
        queries of different lengths and ties add like to like, and chance gives 0.
    n_resamples : int, default 500
        Number of permutations behind each null distribution.
    seed : int, default 0
        The same seed gives the same standardized values; the raw ones do not depend on it.
    workers : int, optional
        Number of threads, by default one for each processor.
    progress : callable, optional
        Called with 1 after each run, and with 0 many times in between. An exception that it raises stops the work.

    Returns
    -------
    Evaluation
        For a query of qrels that a run does not have, rank correlations do not exist; precision and the measures of
        ir_measures are 0, as ir_measures has them. Queries that qrels do not have are left out, and listed in
        `Evaluation.coverage`.

    Raises
    ------
    RankingError
        The subclass says what is wrong with qrels, runs, metrics or options; the message names the run.
    MissingMeasuresError
        A measure of ir_measures was asked for, and ir_measures is not installed.

    Warns
    -----
    UndefinedCorrelationWarning
        A metric does not exist for any query.

    Examples
    --------
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
    >>> evaluation = evaluate(qrels, run, metrics=["tau_w", "ap", "p@1"])
    >>> evaluation.of("tau_w").round(4).tolist(), evaluation.mean("p@1")
    ([0.6252, 1.0], 1.0)
    """
    named = as_metrics(metrics)
    check_choice("unjudged", unjudged, UNJUDGED)
    check_choice("unretrieved", unretrieved, UNRETRIEVED)
    check_choice("undefined", undefined, UNDEFINED)
    wanted, level = checked_flag(standardized, "standardized"), checked_depth(depth)
    number, key, n_workers = checked_resamples(n_resamples), checked_seed(seed), checked_workers(workers)
    gold, found = Qrels.of(qrels), runs_of(runs)
    pulse = None if progress is None else lambda _: progress(0)

    shape = len(found), len(named), gold.n_queries
    values, mapped = np.full(shape, np.nan), np.full(shape, np.nan)
    coverage, why, chance = [], [], []
    for i, (name, run) in enumerate(found.items()):
        joint = joined(gold, run, level, name=f"run {shown(name)}" if len(found) > 1 else "the run")
        pairs = matched(joint, unjudged=unjudged, unretrieved=unretrieved, workers=n_workers, progress=pulse)
        coverage.append(pairs.coverage)
        for j, (metric, own) in enumerate(Competition(joint, pairs, n_workers, pulse).values(named).items()):
            values[i, j] = own.values
            why += _grouped(gold, name, metric, own)
            coefficient = named[metric]
            if wanted and isinstance(coefficient, Coefficient):
                null = standardization(
                    coefficient,
                    *(pairs.x, pairs.y, pairs.offsets),
                    n_resamples=number,
                    seed=key,
                    workers=n_workers,
                    progress=pulse,
                )
                mapped[i, j] = standardized_each(own.values, null.exponents)
                chance.append(ChanceLevel(name, metric, null.n_patterns, null.n_drawn, null.error))
        if progress is not None:
            progress(1)
    if why and undefined == "error":
        first = why[0]
        raise UndefinedQueryError(
            f"run {shown(first.run)}, {first.metric}: {offending(f'{first.reason}; queries', first.queries)}"
        )
    lacking = [(run, metric) for i, run in enumerate(found) for j, metric in enumerate(named) if _none(values[i, j])]
    if lacking:
        warn_undefined(offending("no query has a value; (run, metric)", lacking), what="a mean", stacklevel=3)
    if undefined == "zero":
        is_correlation = np.array([isinstance(metric, Coefficient) for metric in named.values()])
        mapped[:, is_correlation & wanted] = np.nan_to_num(mapped[:, is_correlation & wanted])
        values = np.nan_to_num(values)
    for array in (values, mapped):
        array.flags.writeable = False
    return Evaluation(
        queries=gold.queries,
        runs=tuple(found),
        metrics=tuple(named),
        values=values,
        standardized=mapped if wanted else None,
        coverage=tuple(coverage),
        undefined=tuple(why),
        chance=tuple(chance),
        options={
            "unjudged": unjudged,
            "unretrieved": unretrieved,
            "depth": level,
            "undefined": undefined,
            "n_resamples": number,
            "seed": key,
        },
    )


def runs_of(runs: Any) -> dict[str, Run]:
    """Runs by name; a single one without a name is called "run".

    Raises
    ------
    OptionError
        There is no run, or a name is no text or comes twice.
    RankingError
        A run cannot be read; the message names it.
    """
    if isinstance(runs, Mapping) and not _is_one(runs):
        if not runs:
            raise OptionError("there is no run to evaluate")
        if wrong := [name for name in runs if not isinstance(name, str) or not name]:
            raise OptionError(offending("names of runs must be text; got", wrong))
        return {name: _named_run(name, run) for name, run in runs.items()}
    if isinstance(runs, list | tuple) and all(isinstance(each, Run | str | os.PathLike) for each in runs):
        found = [Run.of(each) for each in runs]
        if not found:
            raise OptionError("there is no run to evaluate")
        if any(run.name is None for run in found) and len(found) > 1:
            raise OptionError("each run of a list needs a name: make it with name=, or pass a mapping of name to run")
        check_unique([run.name for run in found], "names of runs", OptionError)
        return {run.name or ONLY_RUN: run for run in found}
    run = Run.of(runs)
    return {run.name or ONLY_RUN: run}


def _is_one(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one run, of query to a mapping of document to number, and not of name to run."""
    for found in runs.values():
        if not isinstance(found, Mapping) or isinstance(found, QueryColumns):
            return False
        if found:
            return not isinstance(next(iter(found.values())), Mapping)
    return bool(runs)


def _named_run(name: str, run: Any) -> Run:
    try:
        return Run.of(run)
    except ColumnError as error:
        raise ColumnError(f"run {shown(name)}: {error}") from error


def _grouped(gold: Qrels, run: str, metric: str, found: QueryValues) -> list[Undefined]:
    """Queries without a value by reason, the reasons in the order of their first queries."""
    by_reason: dict[str, list[Any]] = {}
    for query, reason in found.undefined.items():
        by_reason.setdefault(reason, []).append(gold.queries[query])
    return [Undefined(run, metric, reason, tuple(queries)) for reason, queries in by_reason.items()]


def _none(values: NDArray[np.float64]) -> bool:
    return bool(np.isnan(values).all())
