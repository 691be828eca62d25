"""Conventions of public functions: options are checked before any work, and threads change no result."""

import inspect

import numpy as np
import pandas as pd
import pytest

import rankcorr
from rankcorr import OptionError, RhoW, WeightError, aggregate, evaluation, measures, vectors
from rankcorr.evaluation import MetricError, QueryEvaluator, compare_evaluated, correlate_groups, evaluate, fuse
from rankcorr.inference._null import NullDistribution
from rankcorr.plots import chance_levels, plot_null
from tests.rankcorr.evaluation.comparison.test_compare import case
from tests.rankcorr.inference.cases import gold_and_systems

X, Y, Z = np.random.default_rng(1).normal(size=(3, 12))
LISTS = {"a": 2, "b": 1, "c": 0}, {"b": 2, "a": 1, "d": 0}
RATINGS = [[1, 2, 3, 4], [1, 3, 3, 4], [2, 2, 3, 4]]
QRELS, RUNS = case(4)
COLUMNS = X, Y.round(), ["q", "r"] * 6
TABLE = {name: dict(enumerate(scores)) for name, scores in {"x": X, "y": Y}.items()}
VECTORS = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.5, 2.0]}
PAIRS = {("a", "b"): 2, ("a", "c"): 1, ("b", "c"): 0}
GROUPS = vectors.TargetGroups({"a": {"b": "positive", "c": "positive"}}, {("a", "b", "c"): 1.0})

CALLS = [
    (rankcorr.align, X, Y),
    (rankcorr.coefficient_bounds, *LISTS),
    (rankcorr.compare_many, X, {"y": Y, "z": Z}),
    (rankcorr.compare_systems, X, Y, Z),
    (rankcorr.contributions, X, Y),
    (rankcorr.correlate, X, Y),
    (rankcorr.correlate_many, X, [Y]),
    (rankcorr.correlation_interval, X, Y),
    (rankcorr.correlation_matrix, [X, Y]),
    (rankcorr.item_weights, X, Y),
    (rankcorr.leaderboard, X, {"y": Y, "z": Z}),
    (rankcorr.null_distribution, X, Y),
    (rankcorr.permutation_test, X, Y),
    (rankcorr.weighted_rho, X, Y),
    (rankcorr.weighted_tau, X, Y),
    (aggregate.borda, [X, Y]),
    (aggregate.consensus, RATINGS),
    (aggregate.kemeny, RATINGS),
    (chance_levels, X, {"y": Y}),
    (compare_evaluated, evaluate(QRELS, RUNS)),
    (correlate_groups, *COLUMNS),
    (evaluate, QRELS, RUNS),
    (evaluation.compare_runs, QRELS, RUNS),
    (evaluation.leaderboard_of_scores, TABLE),
    (evaluation.read_run, "absent.run"),
    (evaluation.worst, QRELS, {name: RUNS[name] for name in "ab"}),
    (fuse, RUNS),
    (measures.alpha_interval, RATINGS),
    (measures.adjudicate, RATINGS),
    (measures.blest_nu, X, Y),
    (measures.krippendorff_alpha, RATINGS),
    (measures.majority_vote, RATINGS),
    (measures.mean_pairwise_agreement, RATINGS),
    (measures.rank_biased_overlap, X, Y),
    (measures.tau_ap, X, Y),
    (measures.vigna_tau, X, Y),
    (NullDistribution.pvalue, rankcorr.null_distribution(range(3), range(3)), 0.5),
    (plot_null, rankcorr.null_distribution(range(3), range(3)), 0.5),
    (QueryEvaluator,),
    (vectors.compare_reliability, GROUPS, VECTORS, VECTORS),
    (vectors.evaluate_relata, VECTORS, PAIRS),
    (vectors.evaluate_vectors, VECTORS, PAIRS),
    (vectors.reliability_score, GROUPS, VECTORS),
]
TWENTY = np.random.default_rng(2).normal(size=(3, 20))
TARGETS = vectors.TargetGroups({target: {"a": "positive", "b": "positive", "c": "random"} for target in "defghijkl"})
VECTORS_OF_TARGETS = {word: [1.0, place] for place, word in enumerate("abcdefghijkl")}
ENOUGH = {  # calls without results that enumerate all exchanges, and how many ends need a resample beyond them
    rankcorr.compare_many: ((TWENTY[0], {"y": TWENTY[1], "z": TWENTY[2]}), 1),
    rankcorr.compare_systems: (tuple(TWENTY), 1),
    rankcorr.correlation_interval: ((X, Y), 2),
    rankcorr.leaderboard: ((X, {"y": Y, "z": Z}), 2),
    rankcorr.rank_sets: (({"a": 2, "b": 1},), 1),
    evaluation.compare_evaluated: ((evaluate(QRELS, RUNS),), 2),
    evaluation.compare_runs: ((QRELS, RUNS), 2),
    evaluation.leaderboard_of_scores: ((TABLE,), 2),
    evaluation.streamed_means: (([], QueryEvaluator()), 2),
    vectors.compare_reliability: ((TARGETS, VECTORS_OF_TARGETS, VECTORS_OF_TARGETS), 1),
    vectors.evaluate_vectors: ((VECTORS, PAIRS), 2),
    vectors.reliability_score: ((TARGETS, VECTORS_OF_TARGETS), 2),
}
INVALID = {
    "aggregate": "sum", "alternative": "both", "baseline": "none", "by": "all", "candidates": "vocabulary",
    "coefficient": "spearman", "coefficients": "tau", "confidence": 95, "depth": 0, "direction": "up",
    "duplicates": "mean", "equivalent_within": 0, "few_common": "skip", "form": "csv", "k": -1, "level": 1, "limit": 0,
    "lower": "no", "max_completions": 0, "method": "bca", "metrics": [], "min_common": 1, "missing": "drop", "n0": -1,
    "n_resamples": 0, "norm": "l2", "oov": "zero", "p": 1, "scheme": "both", "seed": -1, "self_hits": "drop",
    "self_pairs": "none", "standardized": "yes", "swap": "items", "symmetric": "no", "test": "sign",
    "tied_weights": "mean", "ties": "c", "undefined": "nan", "unjudged": "last", "unretrieved": "zero", "variant": "c",
    "workers": 0,
}  # fmt: skip


def options_of(function):
    return inspect.signature(function).parameters


@pytest.mark.parametrize(
    ("call", "option"),
    [
        pytest.param(call, option, id=f"{call[0].__qualname__}-{option}")
        for call in CALLS
        for option in options_of(call[0])
        if option in INVALID
    ],
)
def test_an_invalid_option_is_named_before_any_work(call, option):
    function, *arguments = call
    idle = {"progress": pytest.fail} if "progress" in options_of(function) else {}
    with pytest.raises((MetricError, OptionError, WeightError), match=f"^(.*: )?{option} must be .*; got"):
        function(*arguments, **{option: INVALID[option]}, **idle)


def test_every_function_with_a_level_and_resamples_is_listed():
    functions = {
        getattr(module, name) for module in (rankcorr, evaluation, measures, vectors) for name in module.__all__
    }
    functions = {function for function in functions if inspect.isfunction(function)}
    assert {function for function in functions if {"level", "n_resamples"} <= set(options_of(function))} == set(ENOUGH)


@pytest.mark.parametrize("function", ENOUGH)
@pytest.mark.parametrize(("level", "least"), [(0.95, (19, 39)), (0.99, (99, 199))])
def test_resamples_too_few_for_the_level_are_refused(function, level, least):
    arguments, n_ends = ENOUGH[function]
    options = {"standard_errors": [1, 1]} if function is rankcorr.rank_sets else {}
    number = least[n_ends - 1]
    with pytest.raises(OptionError, match=f"n_resamples must be at least {number} at level {level}, or .*; got"):
        function(*arguments, level=level, n_resamples=number - 1, **options)


def test_parts_with_too_few_resamples_for_the_level_are_refused():
    rows = pd.DataFrame(dict(zip(("relevance", "score", "query"), COLUMNS, strict=True)))
    part = evaluation.partial_means(QueryEvaluator("tau").batch(rows), QueryEvaluator("tau"), n_resamples=38)
    with pytest.raises(OptionError, match=r"n_resamples must be at least 39 at level 0[.]95, or intervals"):
        evaluation.combined_means([part])
    assert evaluation.combined_means([part], level=0.9).n_queries == 2


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=call[0].__name__)
        for call in CALLS
        if call[0].__module__.partition(".")[2] in ("_batch", "_bounds", "_contributions")
        or call[0].__module__.startswith("rankcorr.inference")
        if "coefficient" in options_of(call[0])
    ],
)
def test_a_coefficient_may_be_a_value_or_its_name(call):
    function, *arguments = call
    few = {"n_resamples": 40} if "n_resamples" in options_of(function) else {}
    by_name, by_value, other = (
        function(*arguments, coefficient=coefficient, **few) for coefficient in ("rho_w", RhoW(), RhoW(n0=0))
    )
    assert by_name == by_value != other
    assert (by_value.n0, other.n0) == (2, 0)


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
@pytest.mark.parametrize(
    "function",
    [rankcorr.contributions, rankcorr.correlation_interval, rankcorr.null_distribution, rankcorr.permutation_test],
)
def test_items_are_matched_by_label_and_missing_ones_count_as_in_aligned_rankings(function, missing):
    x = {f"item {number}": score for number, score in enumerate(X)}
    y = {f"item {number}": score for number, score in reversed(list(enumerate(Y, 3)))}
    few = {"n_resamples": 40} if "n_resamples" in options_of(function) else {}
    result, expected = function(x, y, missing=missing, **few), function(*rankcorr.align(x, y, missing=missing), **few)
    assert (result.missing, result.n_items) == (missing, {"intersection": 9, "bottom": 15, "gold": 12}[missing])
    assert getattr(result, "n_missing", 6) == 6
    numbers, others = (
        {key: value for key, value in answer.to_dict().items() if key not in ("missing", "n_missing", "null", "in_x")}
        for answer in (result, expected)
    )
    assert numbers == others


LONG = np.random.default_rng(2).normal(size=(3, 400)).round(1)
THREADED = [
    (rankcorr.null_distribution, LONG[:2], 100),
    (rankcorr.correlation_interval, LONG[:2], 300),
    (rankcorr.compare_systems, LONG, 400),
    (rankcorr.leaderboard, gold_and_systems(noise={"a": 0.1, "b": 2.0}), 600),
]


@pytest.mark.needs_numba
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize(
    ("function", "arguments", "n_steps"), THREADED, ids=lambda value: getattr(value, "__name__", "")
)
def test_results_depend_on_the_seed_but_not_on_threads_or_blocks(function, arguments, n_steps, coefficient):
    steps = []
    n_resamples = n_steps // 3 if function is rankcorr.leaderboard else n_steps  # two intervals and a test
    options = {"coefficient": coefficient, "n_resamples": n_resamples}
    results = [function(*arguments, **options, workers=workers, progress=steps.append) for workers in (1, 2, None)]
    assert results[0] == results[1] == results[2] != function(*arguments, **options, seed=1)
    assert sum(steps) == 3 * n_steps
