"""Columns of values by query -> scores of runs, differences of pairs, and the same by group of queries."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rankcorr.evaluation.comparison import GroupComparison, PairedDifference, RunScore
from rankcorr.evaluation.query_contest import PAIRED, QueryContest
from rankcorr.evaluation.query_tests import Means, Test, Values, effect_sizes, intervals, pvalues, studentized
from rankcorr.inference.copula import ROUNDING
from rankcorr.inference.leaderboard_groups import contested
from rankcorr.inference.paired import holm
from rankcorr.inference.resampling import Draws
from rankcorr.scores import midranks

COLUMNS, PAIRS, GROUPS = range(3)


class Options(NamedTuple):
    """How runs are compared."""

    test: Test
    baseline: str | None
    level: float
    draws: Draws


def compared(
    values: Values, names: tuple[str, ...], groups: dict[Hashable, list[int]], options: Options
) -> tuple[list[int], tuple[RunScore, ...], tuple[PairedDifference, ...], tuple[GroupComparison, ...]]:
    """Compare columns of values, shape (n_queries, n_runs): order of the runs, rows, pairs and groups of queries."""
    found = Means.of(values)
    order = np.argsort(-found.means, kind="stable").tolist()  # nan sorts last
    ranked = [run for run in order if not math.isnan(found.means[run])]
    ratios = studentized(values, options.draws.of_part(COLUMNS))
    low, high = intervals(values, ratios, options.level)
    contest = QueryContest(values[:, ranked], options.test, options.draws.of_part(PAIRS))
    tests = contested(contest, options.level)
    ranks = midranks(np.round(found.means[ranked], 12), descending=True)[0] if ranked else np.empty(0)
    rows = []
    for place, run in enumerate(order):
        known = place < len(ranked)
        rows.append(
            RunScore(
                run=names[run],
                rank=float(ranks[place]) if known else math.nan,
                group=tests[2][place] if known else None,
                mean=float(found.means[run]),
                low=float(low[run]),
                high=float(high[run]),
                n_queries=int(found.n[run]),
                pvalue=float(tests[0][place]) if known else math.nan,
                corrected_pvalue=float(tests[1][place]) if known else math.nan,
            )
        )
    pairs = _paired_runs(order, names, options.baseline)
    differences = _differences(values, pairs)
    whole = _pairs(differences, pairs, names, options, options.draws.of_part(PAIRS))
    corrected = holm([pair.pvalue for pair in whole])
    by_group = _by_group(values, order, pairs, names, groups, options)
    return order, tuple(rows), _corrected(whole, corrected), by_group


def _paired_runs(order: Sequence[int], names: tuple[str, ...], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(order, 2))
    base = names.index(baseline)
    return [(run, base) for run in order if run != base]


def _differences(values: Values, pairs: Sequence[tuple[int, int]]) -> Values:
    first, second = np.array(pairs).T
    return np.asarray(values[:, first] - values[:, second])


def _pairs(
    differences: Values, pairs: Sequence[tuple[int, int]], names: tuple[str, ...], options: Options, draws: Draws
) -> list[PairedDifference]:
    """Differences of pairs of runs, without correction of their p-values."""
    found = Means.of(differences)
    ratios = studentized(differences, draws.of_part(PAIRED))
    low, high = intervals(differences, ratios, options.level)
    tails = pvalues(differences, options.test, draws.of_part(PAIRED), ratios)
    sizes = effect_sizes(differences)
    better, worse = (differences > ROUNDING).sum(axis=0), (differences < -ROUNDING).sum(axis=0)
    return [
        PairedDifference(
            first=names[first],
            second=names[second],
            difference=float(found.means[pair]),
            low=float(low[pair]),
            high=float(high[pair]),
            pvalue=float(tails[pair]),
            corrected_pvalue=math.nan,
            effect_size=float(sizes[pair]),
            n_queries=int(found.n[pair]),
            n_better=int(better[pair]),
            n_worse=int(worse[pair]),
        )
        for pair, (first, second) in enumerate(pairs)
    ]


def _corrected(pairs: Sequence[PairedDifference], corrected: Values) -> tuple[PairedDifference, ...]:
    return tuple(replace(pair, corrected_pvalue=float(p)) for pair, p in zip(pairs, corrected, strict=True))


def _by_group(
    values: Values,
    order: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    names: tuple[str, ...],
    groups: dict[Hashable, list[int]],
    options: Options,
) -> tuple[GroupComparison, ...]:
    parts = []
    for number, queries in enumerate(groups.values()):
        own = values[queries]
        draws = options.draws.of_part(GROUPS, number)
        parts.append((own, _pairs(_differences(own, pairs), pairs, names, options, draws)))
    corrected = holm([pair.pvalue for _, found in parts for pair in found])
    return tuple(
        GroupComparison(
            group=group,
            n_queries=len(own),
            means=tuple(Means.of(own).means[order].tolist()),
            pairs=_corrected(found, corrected[number * len(pairs) : (number + 1) * len(pairs)]),
        )
        for number, (group, (own, found)) in enumerate(zip(groups, parts, strict=True))
    )
