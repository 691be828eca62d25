"""Compile kernels before the service is ready, or all of them into an image: --compile.

rankcorr-serve compiles those of plain coefficients, which a worker's thread computes, and rankcorr-collect those that
voters wait for. The processes for heavy requests compile the others when they are first needed, into the cache on disk.
"""

import itertools
from contextlib import suppress
from typing import Any

import numpy as np

import adaptive
from adaptive.model._likelihood import MAX_DENSE, MAX_TRACE
from adaptive.simulation._similarity import SIMILARITIES, named_similarity
from rankcorr import Ranking, TauW, contributions, correlate_many, correlation_matrix
from rankcorr._checks import collected_notices
from rankcorr._coefficients import COEFFICIENTS, named_coefficient
from rankcorr._correlation import correlate
from rankcorr._weights import TIED_WEIGHTS
from rankcorr.evaluation import MissingMeasuresError, compare_evaluated, evaluate, leaderboard_of_scores
from rankcorr.evaluation._comparison.query_tests import TESTS
from rankcorr.evaluation._metrics import METRIC_NAMES
from rankcorr.evaluation._query_kernels import MOST_PAIRED
from rankcorr.inference._interval import METHODS, correlation_interval
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._null import permutation_test

# Two compiled kernels rank whole numbers and floats; ties lead to kernels that other rankings do not use.
SCORES: tuple[list[float], ...] = ([3.5, 2.5, 1.5, 0.5], [2.5, 2.5, 1.5, 0.5], [4, 3, 2, 1], [1, 1, 2, 3])
N_MANY = 12  # too many items for a test over all permutations
N_RESAMPLES = 100
N_SPARSE = 8  # so many items that a fit of voters sums over pairs of votes
VOTES: tuple[list[int], list[int], list[str]] = ([0, 1, 2, 0], [1, 2, 0, 2], ["left", "tie", "right", "left"])
# Items and presentations, one pair for each way to draw: exactly, as a cycle, one item once more, by exchanges, with
# repeated pairs.
BALLOTS = ((4, 1), (4, 2), (5, 3), (12, 6), (4, 7))


def warm_up() -> None:
    """Call each library function that a view of rankcorr-serve calls, in every way that compiles separately."""
    warm_up_correlations()
    with collected_notices():
        _infer()
        _evaluate()
    _vote()


def warm_up_voting() -> None:
    """Compile what a voter waits for: a ballot is drawn, or strengths are fitted and the next comparisons chosen."""
    adaptive.draw_ballot(*BALLOTS[0], 3, np.random.default_rng(0)).certificate()
    strengths = adaptive.bradley_terry(adaptive.Comparisons.from_labels(*VOTES, voter=[0, 1, 0, 1]), voters=True)
    adaptive.next_comparisons(strengths, 2, rng=np.random.default_rng(0))
    adaptive.bradley_terry(_sparse_votes(MAX_TRACE + 1))
    adaptive.bradley_terry(_sparse_votes(N_SPARSE), voters=True)


def warm_up_campaigns() -> None:
    """Compile all that campaigns need: draws, scores of votes, strengths with their uncertainty, voters."""
    _vote()
    votes = adaptive.Comparisons.from_labels(*VOTES, voter=[0, 1, 0, 1])
    strengths = adaptive.bradley_terry(votes)
    adaptive.bradley_terry(_sparse_votes(MAX_TRACE + 1))
    strengths.cut(1)
    strengths.expected_correlation(TauW())
    adaptive.voter_report(adaptive.bradley_terry(votes, voters=True))


def _vote() -> None:
    """Draw and score ballots, and fit strengths."""
    for n_items, presentations in BALLOTS:
        adaptive.draw_ballot(n_items, presentations, 3, np.random.default_rng(0)).certificate()
    plan = adaptive.plan_ballots(8, n_ballots=2, fraction=0.5, presentations=4)
    for name in SIMILARITIES:  # reading one of them from a file takes 0.6 s; it is then cached
        adaptive.simulate(plan, adaptive.VoterPopulation(), named_similarity(name, 8), n_simulations=1, seed=0)
    _fit()


def _fit() -> None:
    """Fit strengths of few items and of many (with drawn standard errors), and choose the next comparisons."""
    for voter in (None, ["Ann", "Bob", "Ann", "Bob"]):
        votes = adaptive.Comparisons.from_labels(*VOTES, voter=voter)
        fits = [adaptive.bradley_terry(votes), adaptive.bradley_terry(votes, ties="half"), adaptive.thurstone(votes)]
        if voter is not None:
            fits.append(adaptive.bradley_terry(votes, voters=True, side_bias=True))
        for strengths in fits:
            adaptive.next_comparisons(strengths, 2, rng=np.random.default_rng(0))
            strengths.sample(2, np.random.default_rng(0))
            strengths.to_dict()
    adaptive.bradley_terry(_sparse_votes(N_SPARSE), voters=True)
    adaptive.bradley_terry(_sparse_votes(MAX_DENSE + 1)).sample(2, np.random.default_rng(0))


def _sparse_votes(n_items: int) -> adaptive.Comparisons:
    """Return a vote of each of three voters on many items, whose fits need other kernels."""
    first, second, outcome = np.array([0, 1, 2], np.int32), np.array([1, 2, 0], np.int32), np.array([1, 1, 0], np.int8)
    return adaptive.Comparisons(range(n_items), first, second, outcome, range(3), np.arange(3, dtype=np.int32))


@collected_notices()
def warm_up_correlations() -> None:
    """Compile what correlations without inference need: a quarter of all."""
    rankings = {number: Ranking.from_scores(scores) for number, scores in enumerate(SCORES)}
    for tied_weights in TIED_WEIGHTS:
        coefficients = [named_coefficient(name, tied_weights=tied_weights) for name in COEFFICIENTS]
        for x, y in itertools.product(rankings.values(), repeat=2):
            correlate(x, y, coefficients=coefficients)
            for coefficient in coefficients:
                contributions(x, y, coefficient=coefficient)
        for coefficient in coefficients:
            correlate_many(rankings[0], rankings, coefficient=coefficient, workers=1)
            correlation_matrix(rankings, coefficient=coefficient, workers=1)


def _infer() -> None:
    labels = range(N_MANY)
    systems = {
        "untied": Ranking.from_order(labels),
        "tied": Ranking.from_scores([item // 2 for item in labels], labels),
        "reversed": Ranking.from_order(labels[::-1]),
    }
    few = (SCORES[0], SCORES[1])
    for coefficient in COEFFICIENTS:
        for x, y in (few, (systems["untied"], systems["tied"])):
            permutation_test(x, y, coefficient=coefficient, n_resamples=N_RESAMPLES, workers=1)
            for method in METHODS:
                correlation_interval(x, y, coefficient=coefficient, method=method, n_resamples=N_RESAMPLES, workers=1)
        for gold in (systems["untied"], systems):
            leaderboard(gold, systems, coefficient=coefficient, n_resamples=N_RESAMPLES, workers=1)
    scores = {name: {f"task {task}": (task * step) % 7 for task in labels} for name, step in {"a": 2, "b": 3}.items()}
    leaderboard_of_scores(scores, aggregate="borda", n_resamples=N_RESAMPLES, workers=1)


def _evaluate() -> None:
    """Evaluate runs by query, with lists too long to take all their permutations."""
    gold = {f"q{q}": {f"d{d}": (d * q) % 4 for d in range(N_MANY)} for q in range(3 * N_MANY)}
    runs = {
        name: {query: {d: (i * step) % 7 + i / 8 for i, d in enumerate(documents)} for query, documents in gold.items()}
        for name, step in {"a": 2, "b": 3, "c": 5}.items()
    }
    policies: tuple[dict[str, Any], ...] = ({}, {"depth": 5, "unjudged": "omit", "unretrieved": "omit"})
    for options in policies:
        metrics = [name.replace("@K", "@5") for name in METRIC_NAMES]
        evaluation = evaluate(gold, runs, metrics=metrics, n_resamples=N_RESAMPLES, workers=1, **options)
    long = {"long": {f"d{d}": d % 7 for d in range(MOST_PAIRED + 1)}}  # other kernels than those of short lists
    evaluate(long, long, metrics=COEFFICIENTS, n_resamples=N_RESAMPLES, workers=1)
    for test in TESTS:
        compare_evaluated(evaluation, "tau_w", standardized=True, test=test, n_resamples=N_RESAMPLES, workers=1)
    for tied_weights in TIED_WEIGHTS:
        evaluate(gold, runs, metrics=TauW(tied_weights=tied_weights), n_resamples=N_RESAMPLES, workers=1)
    with suppress(MissingMeasuresError):
        evaluate(gold, runs["a"], metrics="rr", workers=1)
