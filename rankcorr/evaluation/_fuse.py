"""Fuse the runs of several systems into one, by sums of reciprocal ranks or normalised scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, counted, offending, shown
from rankcorr._input.numbers import DECIMALS
from rankcorr._workers import Values
from rankcorr.aggregate._rankings import checked_offset
from rankcorr.errors import ColumnError, NonNumericError, OptionError, QueryMismatchError
from rankcorr.evaluation._qrels import QueryRows, Run, joined_ids
from rankcorr.evaluation._sources import RunsLike, runs_of

Fusion: TypeAlias = Literal["rrf", "combsum", "combmnz"]
Norm: TypeAlias = Literal["min-max", "z"]
MissingQueries: TypeAlias = Literal["raise", "skip"]

FUSIONS: Final[tuple[Fusion, ...]] = get_args(Fusion)
NORMS: Final[tuple[Norm, ...]] = get_args(Norm)
MISSING_QUERIES: Final[tuple[MissingQueries, ...]] = get_args(MissingQueries)
RRF: Final = "rrf"
COMBMNZ: Final = "combmnz"
OFFSET: Final = 60.0


def fuse(
    runs: RunsLike,
    *,
    method: Fusion = "rrf",
    k: float = OFFSET,
    norm: Norm = "min-max",
    missing: MissingQueries = "raise",
    name: str | None = None,
) -> Run:
    """Fuse runs into one: for each query, the score of a document is a sum over the runs that retrieved it.

    ========= ================================================================
    method    score of a document
    ========= ================================================================
    rrf       sum of 1 / (k + rank)
    combsum   sum of normalised scores
    combmnz   the same, times the number of runs that retrieved the document
    ========= ================================================================

    A run that did not retrieve a document adds nothing. Tied documents share their mid-rank, whereas ranx ranks them in
    the order of the run. Without ties, the scores equal those of ranx, which has further methods.

    Parameters
    ----------
    runs : mapping of name to run, or sequence of Run or paths
        Two or more runs, in any form that `evaluate` takes.
    method : {"rrf", "combsum", "combmnz"}
    k : float, default 60
        Offset of "rrf", not negative: larger values give the first ranks less weight.
    norm : {"min-max", "z"}
        How "combsum" and "combmnz" normalise the scores of a run for a query: to the range from 0 to 1, or to mean 0
        and standard deviation 1 (with divisor n). If all scores are equal, they become 0.
    missing : {"raise", "skip"}
        How to treat queries that a run lacks: raise an error, or fuse the runs that have the query.
    name : str, optional
        Name of the fused run; by default the method.

    Returns
    -------
    Run
        Queries in the order of the first run; documents of a query from best to worst.

    Raises
    ------
    RankingError
        `OptionError` for fewer than two runs or a wrong k, `QueryMismatchError` for different queries,
        `NonNumericError` for infinite scores unless `method` is "rrf", and the errors of `Run`.

    See Also
    --------
    compare_runs : Test whether the fused run is better than its parts.
    rankcorr.aggregate.reciprocal_rank_fusion : The same for rankings of one list of items.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods, SIGIR 2009.

    E. A. Fox and J. A. Shaw, Combination of multiple searches, TREC-2, 1993.

    Examples
    --------
    >>> from rankcorr.evaluation import fuse
    >>> runs = {"bm25": {"q": {"a": 9.5, "b": 7.0}}, "dense": {"q": {"b": 0.9, "c": 0.4}}}
    >>> {document: round(score, 5) for document, score in fuse(runs)["q"].items()}
    {'b': 0.03252, 'a': 0.01639, 'c': 0.01613}
    >>> fuse(runs, method="combmnz")["q"]
    {'b': 2.0, 'a': 1.0, 'c': 0.0}
    """
    check_choice("method", method, FUSIONS)
    check_choice("norm", norm, NORMS)
    check_choice("missing", missing, MISSING_QUERIES)
    offset = checked_offset(k)
    named = runs_of(runs)
    if len(named) < 2:
        raise OptionError(f"at least two runs are needed to fuse; got {', '.join(map(shown, named))}")
    queries, query_places = joined_ids([run.queries for run in named.values()])
    documents, document_places = joined_ids([run.documents for run in named.values()])
    if missing == "raise":
        for run_name, places in zip(named, query_places, strict=True):
            if places.size < len(queries):
                lacking = [queries[place] for place in np.setdiff1d(np.arange(len(queries)), places).tolist()]
                message = offending(f"run {shown(run_name)} lacks queries of other runs", lacking)
                raise QueryMismatchError(f'{message}; missing="skip" fuses the runs that have a query')
    keys, terms = [], []
    for (run_name, run), places, codes in zip(named.items(), query_places, document_places, strict=True):
        rows = np.repeat(places, np.diff(run.offsets))
        keys.append(rows * len(documents) + codes[run.codes])
        if method == RRF:
            terms.append(1 / (offset + _ranks(run)))
        else:
            if n_infinite := int(np.count_nonzero(~np.isfinite(run.values))):
                raise NonNumericError(
                    f"run {shown(run_name)}: scores must be finite to be normalised; got "
                    f'{counted(n_infinite, "infinite one")}; method="rrf" takes them'
                )
            terms.append(_normalise(run, norm))
    pairs, row_of = np.unique(np.concatenate(keys), return_inverse=True)
    scores = np.bincount(row_of, np.concatenate(terms)).astype(np.float64)
    if method == COMBMNZ:
        scores = scores * np.bincount(row_of)
    return _run_of(pairs, _round_scores(scores), queries, documents, method if name is None else name)


def _ranks(run: Run) -> Values:
    """Return the mid-rank of each row within its query; the largest score has rank 1."""
    rows = np.repeat(np.arange(run.n_queries), np.diff(run.offsets))
    order = np.lexsort((-run.values, rows))
    values, sorted_rows = run.values[order], rows[order]
    is_start = np.append(True, (values[1:] != values[:-1]) | (sorted_rows[1:] != sorted_rows[:-1]))
    starts = np.flatnonzero(is_start)
    sizes = np.diff(starts, append=values.size)
    ranks = np.empty(values.size)
    ranks[order] = np.repeat(starts - run.offsets[sorted_rows[starts]] + (sizes + 1) / 2, sizes)
    return ranks


def _normalise(run: Run, norm: Norm) -> Values:
    """Return the scores of a run, normalised within each query."""
    starts, sizes = run.offsets[:-1], np.diff(run.offsets)
    largest = np.maximum.reduceat(np.abs(run.values), starts)
    # Only values whose squares would overflow or underflow are scaled; others keep every bit.
    is_extreme = (largest > 1e150) | ((largest > 0) & (largest < 1e-150))
    values = run.values / np.repeat(np.where(is_extreme, largest, 1.0), sizes)
    lows, highs = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    if norm == "min-max":
        shifts, scales = lows, highs - lows
    else:
        shifts = np.add.reduceat(values, starts) / sizes
        squares = np.add.reduceat((values - np.repeat(shifts, sizes)) ** 2, starts)
        scales = np.where(lows < highs, np.sqrt(squares / sizes), 0.0)
    ratios = (values - np.repeat(shifts, sizes)) / np.repeat(np.where(scales > 0, scales, 1.0), sizes)
    return np.asarray(np.where(np.repeat(scales > 0, sizes), ratios, 0.0))


def _round_scores(scores: Values) -> Values:
    """Round scores, because equal sums over several runs may differ in the last digits."""
    largest = float(np.abs(scores).max())
    if largest < 1e-280:  # numpy rounds to at most 300 decimals
        return scores
    return np.round(scores, DECIMALS + 1 - math.floor(math.log10(largest)))


def _run_of(
    pairs: NDArray[np.int64], scores: Values, queries: tuple[Hashable, ...], documents: tuple[Hashable, ...], name: str
) -> Run:
    rows, codes = np.divmod(pairs, len(documents))
    order = np.lexsort((codes, -scores, rows))
    offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=len(queries))))
    return Run._from_rows(QueryRows(queries, offsets, documents, codes[order], scores[order]), name)


def trec_lines(run: Run) -> Iterator[str]:
    """Yield the lines of a run in TREC format, from best to worst; ties are in trec_eval's order, by descending id.

    Raises
    ------
    ColumnError
        An id is empty or contains white space.

    Examples
    --------
    >>> list(trec_lines(Run.from_dict({"q": {"a": 0.5, "b": 2.0, "c": 0.5}}, name="mine")))
    ['q Q0 b 1 2.0 mine', 'q Q0 c 2 0.5 mine', 'q Q0 a 3 0.5 mine']
    """
    if wrong := [label for label in (*run.queries, *run.documents) if len(str(label).split()) != 1]:
        raise ColumnError(offending("ids with white space cannot be written in TREC's form", wrong))
    for query in run.queries:
        by_id = sorted(run[query].items(), key=lambda pair: str(pair[0]), reverse=True)
        for rank, (document, score) in enumerate(sorted(by_id, key=lambda pair: -pair[1]), start=1):
            yield f"{query} Q0 {document} {rank} {score!r} {run.name}"
