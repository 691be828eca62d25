"""Estimate the processor seconds of a request before anything is computed, and refuse too much work.

The estimate decides whether a thread computes the answer, a separate process does, or the request is refused. It must
not be too low, so each figure below is about twice the slowest of many measurements by benchmarks/work_estimates.py on
an Intel Xeon of 2.5 GHz.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from flask import g

from adaptive import BallotPlan
from adaptive.model._strengths import MAX_EXACT, SE_DRAWS
from adaptive.simulation._approaches import Approach, simulated_comparisons
from rankcorr import Ranking
from rankcorr._coefficients import Coefficient
from rankcorr.evaluation import RBO, Qrels, Run, TauAP
from rankcorr.evaluation._metrics import Familiar, Metric
from rankcorr.evaluation._nulls import MOST_DRAWN, MOST_SHORT
from rankcorr.inference._copula import MIN_RESAMPLES
from rankcorr.inference._null import MAX_EXACT_ITEMS
from service.environment import variable
from service.http.lane import CHEAP_SECONDS, too_much_work
from service.http.problems import Problem
from service.http.state import most_seconds, settings, state
from service.settings import Limits

_REQUEST: Final = 5e-3  # base cost of any request
_BYTE: Final = 3e-7  # of a body, to parse it and make rankings
_COEFFICIENT: Final = 3e-4  # base cost of two rankings
_RANKED: Final = 3e-7  # an item, per coefficient or resample
_RESAMPLE: Final = 3e-6  # base cost of a resample
_COPULA: Final = 2  # rankings per resample from a copula: it draws both gold and system
_MATCHED: Final = 2e-6  # an item by its label
_EXACT: Final = 0.3  # all permutations of a short list
_EXACT_PATTERN: Final = 0.02  # the same in an evaluation, where most lists are shorter than the longest of these
_BOARD: Final = 6  # rankings per system and resample in a leaderboard: interval, two for its test, joint tests
# In a simulation: the base cost of an approach, a ballot, an item per approach, an opinion, and a vote. A vote takes
# longer once opinions, shuffled pairs and votes exceed the processor's caches.
_SIMULATED: Final = 6e-4
_SIMULATED_BALLOT: Final = 4e-4
_SIMULATED_ITEM: Final = 2e-6
_OPINION: Final = 4e-8
_SIMULATED_VOTE: Final = 4e-7
_SCATTERED: Final = 1.2e-10  # of a vote, per item; the next line bounds the items
_MOST_SCATTERED: Final = 10_000
_DEALT: Final = 8e-6  # a comparison of a ballot
_SCORED: Final = 3e-6  # a vote
_OF_ITEM: Final = 1e-5  # an item of a ballot, a plan, a fit
_FIT: Final = 0.1  # base cost of a fit
_FITTED: Final = 3e-5  # a vote, in all iterations of a fit
# Where voters are fitted too, all steps may be taken: 200, of 3.4 us an item with 41,000 items, 89,000 votes, 2 voters,
# and half as long again on a busy machine.
_VOTER_STEPS: Final = 200
_STEP_ITEM: Final = 6e-6
_STEP_VOTE: Final = 8e-7
_DRAWN_WITH_VOTERS: Final = 3  # factor on the draws, for long chains of items where each voter compared many
_INVERTED: Final = 4e-10  # an entry of a matrix of items by items, times the items
_DRAWN: Final = 2.5e-7  # a vote in one draw of the posterior
_CHOSEN: Final = 4e-6  # a comparison to be shown next
_LOOKED: Final = 4e-8  # per item already met that is skipped
_TOKEN: Final = 3e-5
_PAIRED: Final = 4e-6  # two tokens of one area
# In an evaluation: a document, a query for most metrics, and a query for tau_ap, RBO or a trec_eval metric. In each of
# its resamples: a query, and per query each run and each pair.
_DOCUMENT: Final = 1e-6
_QUERY: Final = 5e-5
_LOOPED: Final = 1e-3
_PER_QUERY: Final = 1.2e-7
_PER_RUN: Final = 4e-8
_PER_PAIR: Final = 2e-8
_PER_MEAN: Final = 2.5e-7  # base cost of a run or a pair in a resample

_BYTES_OF_ITEM: Final = 40  # an aligned ranking with its sorted copy: ranks, positions, reference to the label
_BYTES_OF_VALUE: Final = 24  # a resampled coefficient, with its place in the sums and quantiles
_BYTES_OF_VOTE: Final = 400
_BYTES_OF_DRAWS: Final = 11_000  # of an item: 1,000 draws, and columns of the blocks that solve them
_MATRICES: Final = 48  # bytes: six matrices of items by items
_BYTES_OF_DOCUMENT: Final = 80


def admit(seconds: float, n_bytes: int = 0, *, is_early: bool = False) -> None:
    """Continue with work of this many seconds if it is little, or if this process was started for it.

    While a server still compiles, only requests that are `is_early` can do without that.

    Raises
    ------
    Problem
        422, with the estimate and the limit, if a request may not take this much.
    Heavy
        If a separate process should do the work.
    """
    limits = cast(Limits, settings().limits)
    g.cost = seconds = total(seconds)
    most, setting = most_seconds()
    if seconds > most:
        fits = setting == "max_seconds" and state().jobs is not None and seconds <= vars(settings())["job_seconds"]
        instead = ", or for a job with the header 'Prefer: respond-async'" if fits else ""
        raise too_much_work(most, f"about {seconds:.2g} s", setting=setting, instead=instead)
    if n_bytes > limits.max_work_bytes:
        raise Problem(
            422,
            f"at most {limits.max_work_bytes} bytes of memory for the work ({variable('max_work_bytes')}); this one "
            f"needs about {n_bytes}: ask for less at once",
            kind="too-much-work",
        )
    if seconds > CHEAP_SECONDS or (state().lane.compiling[0] and not is_early):
        state().lane.pass_on()


def total(seconds: float) -> float:
    """Return the seconds of the current request, including those for its body."""
    return _REQUEST + seconds + _BYTE * float(g.get("n_bytes", 0))


def of_pair(gold: Ranking, system: Ranking, n_coefficients: int, missing: str, inference: Any) -> float:
    """Return the seconds for two rankings, with tests and intervals if requested."""
    n_items = _aligned(gold, system, missing)
    seconds = _COEFFICIENT + _RANKED * n_items
    if inference is not None:
        n_resamples = n_rankings = inference["n_resamples"]
        if inference["method"] == "copula":
            n_rankings = _COPULA * max(n_resamples, MIN_RESAMPLES)
        if n_items > MAX_EXACT_ITEMS:
            n_rankings += n_resamples
        else:
            seconds += _EXACT
        seconds += n_rankings * (_RESAMPLE + _RANKED * n_items)
    return n_coefficients * seconds + _matched(gold, system)


def of_many(gold: Ranking, systems: Collection[Ranking], n_coefficients: int, missing: str) -> float:
    """Return the seconds to compare a gold ranking with each of many systems."""
    n_matchings = 1 if missing == "raise" else 2  # coefficients, and ties
    return sum(
        n_coefficients * (_COEFFICIENT + _RANKED * _aligned(gold, one, missing)) + n_matchings * _matched(gold, one)
        for one in systems
    )


def of_matrix(rankings: Collection[Ranking]) -> float:
    """Return the seconds to compare many rankings with one another."""
    n_items = sum(ranking.n_items for ranking in rankings)
    labelled = any(ranking.labels is not None for ranking in rankings)
    return len(rankings) * (len(rankings) * _COEFFICIENT + n_items * (_RANKED + _MATCHED * labelled))


def of_leaderboard(
    gold_sets: Collection[Ranking], systems: Collection[Ranking], n_resamples: int, missing: str
) -> tuple[float, int]:
    """Return the seconds and the bytes of memory for a leaderboard."""
    pairs = [(gold, system) for gold in gold_sets for system in systems]
    if missing == "bottom":  # each gold set receives all items that no gold set has
        known = {label for gold in gold_sets for label in gold.labels or ()}
        n_further = len({label for system in systems for label in system.labels or ()} - known)
        n_items = len(systems) * sum(gold.n_items + n_further for gold in gold_sets)
    else:
        n_items = sum(_aligned(gold, system, missing) for gold, system in pairs)
    n_rankings = 1 + _BOARD * n_resamples
    seconds = len(pairs) * (_COEFFICIENT + n_rankings * _RESAMPLE) + n_rankings * _RANKED * n_items
    n_bytes = _BYTES_OF_ITEM * n_items + _BYTES_OF_VALUE * len(pairs) * n_resamples
    return seconds + sum(_matched(gold, system) for gold, system in pairs), n_bytes


def of_evaluation(
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: Mapping[str, Metric],
    standardized: Mapping[str, Any] | None,
    comparison: Mapping[str, Any] | None,
) -> tuple[float, int]:
    """Return the seconds and the bytes of memory for an evaluation."""
    n_documents, n_runs, n_queries = sum(len(qrels) + len(run) for run in runs.values()), len(runs), qrels.n_queries
    n_coefficients = sum(isinstance(metric, Coefficient) for metric in metrics.values())
    n_slow = sum(isinstance(metric, TauAP | RBO | Familiar) for metric in metrics.values())
    of_query = _QUERY * len(metrics) + _LOOPED * n_slow
    seconds = n_documents * (_MATCHED + _DOCUMENT * (len(metrics) + n_slow)) + n_runs * n_queries * of_query
    if standardized is not None:
        seconds += n_coefficients * sum(_of_nulls(qrels, run, standardized["n_resamples"]) for run in runs.values())
    n_bytes = _BYTES_OF_DOCUMENT * n_documents + 16 * n_runs * n_queries * len(metrics)
    if comparison is not None:
        n_pairs = n_runs - 1 if "versus" in comparison else n_runs * (n_runs - 1) // 2
        n_times = 1 + ("groups" in comparison)
        of_query = _PER_RUN * n_runs + n_times * (_PER_QUERY + _PER_PAIR * n_pairs)
        n_columns = 2 * n_runs + n_times * n_pairs
        seconds += len(metrics) * comparison["n_resamples"] * (n_queries * of_query + _PER_MEAN * n_columns)
        n_bytes += _BYTES_OF_VALUE * (comparison["n_resamples"] + n_queries) * n_columns
    return seconds, n_bytes


def _of_nulls(qrels: Qrels, run: Run, n_resamples: int) -> float:
    """Return the seconds to standardize a coefficient: document patterns are drawn, short ones fully permuted."""
    judged, retrieved = np.diff(qrels.offsets), np.diff(run.offsets)
    n_items = np.sort(np.concatenate((judged, retrieved)))[-2 * (MOST_DRAWN + MOST_SHORT) :]
    n_short = min(MOST_SHORT, int((judged <= MAX_EXACT_ITEMS).sum() + (retrieved <= MAX_EXACT_ITEMS).sum()))
    return n_resamples * (_RESAMPLE * n_items.size + _RANKED * float(n_items.sum())) + _EXACT_PATTERN * n_short


def of_plan(n_ballots: int) -> float:
    """Return the seconds for a plan."""
    return n_ballots * _OF_ITEM


def of_ballot(n_items: int, n_comparisons: int, n_voters: int) -> float:
    """Return the seconds to draw a ballot."""
    return _OF_ITEM * (n_items + n_voters) + _DEALT * n_comparisons


def of_scores(plan: BallotPlan, n_votes: int) -> float:
    """Return the seconds to score ballots."""
    return _OF_ITEM * sum(plan.sizes) + _SCORED * n_votes


def of_pairing(n_tokens: int, n_pairs: int) -> float:
    """Return the seconds to pair tokens."""
    return _TOKEN * n_tokens + _PAIRED * n_pairs


def of_simulations(plan: BallotPlan, n_voters: int, n_simulations: int, approaches: Sequence[Approach]) -> float:
    """Return the seconds for simulations."""
    n_votes = [count for approach in approaches for count in simulated_comparisons(plan, approach)]
    of_approach = _SIMULATED + plan.n_items * (_SIMULATED_ITEM + _OPINION * n_voters)
    of_vote = _SIMULATED_VOTE + _SCATTERED * min(plan.n_items, _MOST_SCATTERED)
    return n_simulations * (len(approaches) * of_approach + _SIMULATED_BALLOT * len(n_votes) + of_vote * sum(n_votes))


def of_fit(n_votes: int, n_items: int, *, standard_errors: bool, voters: bool = False, **_: Any) -> tuple[float, int]:
    """Return the seconds and the bytes of memory for a fit of strengths."""
    steps = _VOTER_STEPS * (_STEP_ITEM * n_items + _STEP_VOTE * n_votes) if voters else 0.0
    seconds = _FIT + max(_FITTED * (n_votes + n_items), steps)
    n_bytes = _BYTES_OF_VOTE * (n_votes + n_items)
    if standard_errors and n_items <= MAX_EXACT:
        return seconds + _INVERTED * n_items**3, n_bytes + _MATRICES * n_items**2
    if standard_errors:
        n_drawn = (n_votes + n_items) * (_DRAWN_WITH_VOTERS if voters else 1)
        return seconds + _DRAWN * SE_DRAWS * n_drawn, n_bytes + _BYTES_OF_DRAWS * n_items
    return seconds, n_bytes


def of_matching(n_votes: int, n_items: int, size: int) -> float:
    """Return the seconds to choose comparisons; for each item, the search skips opponents it has met."""
    return _OF_ITEM * n_items + size * (_CHOSEN + _LOOKED * min(n_items, 2 * (size + n_votes) // n_items))


def _aligned(gold: Ranking, system: Ranking, missing: str) -> int:
    """Return the number of items of two rankings after alignment; with "bottom", a lower bound."""
    if missing == "intersection":
        return min(gold.n_items, system.n_items)
    return max(gold.n_items, system.n_items) if missing == "bottom" else gold.n_items


def _matched(gold: Ranking, system: Ranking) -> float:
    return 0.0 if gold.labels is None or system.labels is None else _MATCHED * (gold.n_items + system.n_items)
