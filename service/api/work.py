"""How much work a request asks for, estimated before anything is allocated; too much is refused.

The unit is one item that is ranked in one resample, 50 to 300 ns. What needs more than the largest number of them does
not end in time; the deadline ends what the estimate lets pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from adaptive.model.strengths import MAX_EXACT, SE_DRAWS
from rankcorr import Ranking
from rankcorr.coefficients import Coefficient
from rankcorr.evaluation import RBO, Qrels, Run, TauAP
from rankcorr.evaluation.metrics import Metric
from rankcorr.evaluation.nulls import MOST_DRAWN, MOST_SHORT
from rankcorr.inference.inversion import MIN_RESAMPLES
from rankcorr.inference.null import MAX_EXACT_ITEMS
from service.environment import variable
from service.http.problems import Problem
from service.http.state import settings

_MATCHED: Final = 4  # an item is matched by its label in the time in which this many are ranked
_EXACT: Final = 40_320  # permutations of the longest list of which all are taken
_BYTES_OF_ITEM: Final = 40  # of an aligned ranking, sorted as well: ranks, positions, reference to the label
_BYTES_OF_VALUE: Final = 24  # a resampled coefficient, and its place in the sums and quantiles
_BOARD: Final = 6  # rankings of a system in a leaderboard for each resample: interval, two of its test, joint tests
# A ballot of a simulation takes 0.3 to 0.7 ms however short it is, a vote about 0.4 us, an opinion 25 ns.
_BALLOT: Final = 5_000
_VOTE: Final = 4
_OPINIONS: Final = 4  # are one item
_FITTED: Final = 100  # a vote in all iterations of a fit: 6 to 15 us
_INVERTED: Final = 200  # a matrix of 1,500 items is inverted in 1.6 s
_DRAWN: Final = 15  # a vote in one draw of the posterior: 0.4 us, which no deadline ends
_MATCHED_ITEM: Final = 20
_DEALT: Final = 20
_LOOKED: Final = 3  # past an item, 0.2 us
_BYTES_OF_VOTE: Final = 400
_BYTES_OF_DRAWS: Final = 11_000  # of an item: 1,000 draws, and columns of the blocks in which they are solved
_MATRICES: Final = 48  # bytes: six matrices of items by items
# Of an evaluation: bytes of a document; tau_ap or RBO of a query, 100 us; and per cent of an item for a query in a
# resample, for each run there, and for each pair: 20,000 queries and 2 to 20 runs take 100 ns for an item so.
_BYTES_OF_DOCUMENT: Final = 80
_LOOPED: Final = 500
_PER_QUERY: Final = 60
_PER_RUN: Final = 20
_PER_PAIR: Final = 9
_LEFT_OUT: Final = 1_000  # the jackknife of bca leaves out no more items, or groups of them


def of_pair(gold: Ranking, system: Ranking, n_coefficients: int, missing: str, inference: Any) -> int:
    """Items to rank for two rankings, with tests and intervals if they are asked for."""
    n_items = _aligned(gold, system, missing)
    n_rankings = 1
    if inference is not None:
        n_permutations = _EXACT if n_items <= MAX_EXACT_ITEMS else inference["n_resamples"]
        n_rankings += n_permutations + _of_interval(n_items, **inference)
    return n_coefficients * n_items * n_rankings + _matched(gold, system)


def of_many(gold: Ranking, systems: Collection[Ranking], n_coefficients: int, missing: str) -> int:
    """Items to rank and match for a gold ranking and each of many systems."""
    n_matchings = 1 if missing == "raise" else 2  # coefficients, and ties
    return sum(n_coefficients * _aligned(gold, one, missing) + n_matchings * _matched(gold, one) for one in systems)


def of_matrix(rankings: Collection[Ranking]) -> int:
    """Items to rank and match for each of many rankings and each."""
    n_items = sum(ranking.n_items for ranking in rankings)
    labelled = any(ranking.labels is not None for ranking in rankings)
    return len(rankings) * n_items * (1 + _MATCHED * labelled)


def of_leaderboard(
    gold_sets: Collection[Ranking], systems: Collection[Ranking], n_resamples: int, missing: str
) -> tuple[int, int]:
    """Items to rank and match for a leaderboard, and bytes of memory."""
    pairs = [(gold, system) for gold in gold_sets for system in systems]
    if missing == "bottom":  # each gold set receives all items that are in none
        known = {label for gold in gold_sets for label in gold.labels or ()}
        n_further = len({label for system in systems for label in system.labels or ()} - known)
        n_items = len(systems) * sum(gold.n_items + n_further for gold in gold_sets)
    else:
        n_items = sum(_aligned(gold, system, missing) for gold, system in pairs)
    n_matched = sum(_matched(gold, system) for gold, system in pairs)
    n_bytes = _BYTES_OF_ITEM * n_items + _BYTES_OF_VALUE * len(pairs) * n_resamples
    return n_items * (1 + _BOARD * n_resamples) + n_matched, n_bytes


def of_evaluation(
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: Mapping[str, Metric],
    standardized: Mapping[str, Any] | None,
    comparison: Mapping[str, Any] | None,
) -> tuple[int, int]:
    """Items to rank and match for an evaluation, and bytes of memory."""
    n_documents, n_runs, n_queries = sum(len(qrels) + len(run) for run in runs.values()), len(runs), qrels.n_queries
    n_coefficients = sum(isinstance(metric, Coefficient) for metric in metrics.values())
    n_slow = sum(isinstance(metric, TauAP | RBO) for metric in metrics.values())
    n_work = n_documents * (_MATCHED + len(metrics)) + _LOOPED * n_slow * n_runs * n_queries
    if standardized is not None:
        n_work += n_coefficients * standardized["n_resamples"] * sum(_drawn(qrels, run) for run in runs.values())
    n_bytes = _BYTES_OF_DOCUMENT * n_documents + 16 * n_runs * n_queries * len(metrics)
    if comparison is not None:
        n_pairs = n_runs - 1 if "versus" in comparison else n_runs * (n_runs - 1) // 2
        n_times = 1 + ("groups" in comparison)
        cost = _PER_RUN * n_runs + n_times * (_PER_QUERY + _PER_PAIR * n_pairs)
        n_work += len(metrics) * comparison["n_resamples"] * n_queries * cost // 100
        n_columns = 2 * n_runs + n_times * n_pairs
        n_bytes += _BYTES_OF_VALUE * (comparison["n_resamples"] + n_queries) * n_columns
    return n_work, n_bytes


def _drawn(qrels: Qrels, run: Run) -> int:
    """The most documents that the patterns of a run can have of which nulls are drawn."""
    sizes = np.diff(qrels.offsets)
    retrieved = np.diff(run.offsets)
    most = MOST_DRAWN + MOST_SHORT
    return int(np.sort(sizes)[-most:].sum() + np.sort(retrieved)[-most:].sum())


def of_simulations(n_simulations: int, n_votes: Sequence[int], n_opinions: int) -> int:
    """What simulations take, in items; `n_votes` of each ballot, and opinions, of one simulation by all approaches."""
    return n_simulations * (_BALLOT * len(n_votes) + _VOTE * sum(n_votes) + n_opinions // _OPINIONS)


def of_fit(n_votes: int, n_items: int, *, standard_errors: bool, voters: bool = False, **_: Any) -> tuple[int, int]:
    """Work of a fit of strengths, in items to rank, and bytes of memory."""
    n_work = _FITTED * (n_votes + n_items) * (2 if voters else 1)
    n_bytes = _BYTES_OF_VOTE * (n_votes + n_items)
    if standard_errors and n_items <= MAX_EXACT:
        return n_work + n_items**3 // _INVERTED, n_bytes + _MATRICES * n_items**2
    if standard_errors:
        return n_work + _DRAWN * SE_DRAWS * (n_votes + n_items), n_bytes + _BYTES_OF_DRAWS * n_items
    return n_work, n_bytes


def of_matching(n_votes: int, n_items: int, size: int) -> int:
    """Work of choosing comparisons: an item looks past those that it has met already."""
    return _MATCHED_ITEM * n_items + size * (_DEALT + _LOOKED * min(n_items, 2 * (size + n_votes) // n_items))


def admit(n_items: int, n_bytes: int = 0) -> None:
    """Refuse work above the limits.

    Raises
    ------
    Problem
        422, with the estimate and the limit.
    """
    limits = settings().limits
    for count, name, of in (
        (n_items, "max_work", "items to rank or match, over all rankings, coefficients, resamples and simulations"),
        (n_bytes, "max_work_bytes", "bytes of memory for the work"),
    ):
        most = getattr(limits, name)
        if count > most:
            raise Problem(
                422,
                f"at most {most} {of} ({variable(name)}); this request needs about {count}: ask for less at once",
                kind="too-much-work",
            )


def _of_interval(n_items: int, *, n_resamples: int, method: str, **_: Any) -> int:
    """Number of rankings for an interval."""
    if method == "copula":
        return 2 * max(n_resamples, MIN_RESAMPLES)  # gold and system are both drawn anew
    return n_resamples + (min(n_items, _LEFT_OUT) if method == "bca" else 0)


def _aligned(gold: Ranking, system: Ranking, missing: str) -> int:
    """Number of items of two rankings once they are aligned; with "bottom" at least."""
    if missing == "intersection":
        return min(gold.n_items, system.n_items)
    return max(gold.n_items, system.n_items) if missing == "bottom" else gold.n_items


def _matched(gold: Ranking, system: Ranking) -> int:
    return 0 if gold.labels is None or system.labels is None else _MATCHED * (gold.n_items + system.n_items)
