"""Holm's correction, the step-down over all pairs, groups and ranks; and many comparisons in one call."""

import math
from itertools import combinations

import numpy as np
import pandas
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import (
    DimensionError,
    LabelError,
    LabelMismatchError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    Ranking,
    RankSets,
    TauW,
    TooFewItemsError,
    compare_many,
    compare_systems,
    holm,
    rank_sets,
)
from rankcorr._checks import collected_notices
from rankcorr.inference import _multiple_tests
from rankcorr.inference._multiple_tests import judge_pairs, step_down
from tests import naive
from tests.strategies import scores

LEVELS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])


@given(st.data(), st.booleans(), st.sampled_from([1, 2, 256]))
def test_a_pair_is_corrected_for_pairs_with_smaller_or_equal_statistics(data, is_exact, most_pairs):
    n_pairs, n_draws = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    statistics = data.draw(st.lists(LEVELS, min_size=n_pairs, max_size=n_pairs))
    scales = data.draw(
        st.lists(
            st.lists(st.lists(LEVELS, min_size=n_pairs, max_size=n_pairs), min_size=n_draws, max_size=n_draws),
            min_size=1,
            max_size=2,
        )
    )
    draws = np.array(scales)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_multiple_tests, "MOST_PAIRS", most_pairs)
        pvalues = step_down(
            np.array(statistics), lambda pairs: np.moveaxis(draws[:, :, pairs], 2, 0), is_exact=is_exact
        )
    if len(scales) == 1:
        assert_allclose(pvalues, naive.step_down(statistics, scales[0], is_exact), rtol=0, atol=1e-15)
    alone = np.array([naive.step_down(statistics, scale, is_exact) for scale in scales])
    assert np.all(pvalues >= alone.max(axis=0) - 1e-15)
    order = np.argsort(statistics, kind="stable")
    assert np.all(np.diff(pvalues[order]) <= 0)


def test_undefined_exchanges_count_as_extreme():
    draws = np.array([[[0.0, math.nan], [0.0, 0.0], [0.0, 0.0]]])
    assert_array_equal(
        step_down(np.array([math.nan, 1.0]), lambda pairs: np.moveaxis(draws[:, :, pairs], 2, 0)), [1.0, 0.5]
    )


@st.composite
def boards(draw):
    """P-values and leads of systems from best to worst."""
    number = draw(st.integers(0, 6))
    totals = sorted(draw(st.lists(LEVELS, min_size=number, max_size=number)), reverse=True)
    leads = np.subtract.outer(np.array(totals), np.array(totals))
    corrected = np.full((number, number), math.nan)
    for pair in combinations(range(number), 2):
        corrected[pair] = corrected[pair[::-1]] = draw(st.sampled_from([0.01, 0.05, 0.2, 1.0, math.nan]))
    return corrected, leads


@given(boards())
def test_groups_and_ranks_agree(board):
    corrected, leads = board
    pairs = judge_pairs(corrected[0] if len(corrected) else np.empty(0), corrected, leads, 0.95)
    better = ((corrected <= 0.05) & (leads > 0)).tolist()
    ranks = list(zip(pairs.least_ranks, pairs.largest_ranks, strict=True))
    assert ranks == naive.possible_ranks(better)
    assert pairs.groups == naive.groups(better)
    for system, ((least, largest), group) in enumerate(zip(ranks, pairs.groups, strict=True)):
        assert group <= least <= system + 1 <= largest
        if pairs.groups.index(group) == system:  # the leader of its group is better than all later systems
            assert largest <= sum(other <= group for other in pairs.groups)
        rows = pairs.row_fields(np.array([1.0] * len(ranks)))
        assert (rows[system]["group"], rows[system]["least_rank"]) == (group, least)


PVALUES = st.lists(st.one_of(st.just(float("nan")), st.sampled_from([0.0, 0.01, 0.02, 1.0]), st.floats(0, 1)))


def naive_holm(pvalues):
    """Holm's definition: reject at alpha if this and all smaller p-values are at most alpha / (m - j + 1)."""
    existing = sorted(p for p in pvalues if p == p)  # noqa: PLR0124 - nan differs from itself
    m = len(existing)
    corrected = []
    for p in pvalues:
        if p != p:  # noqa: PLR0124
            corrected.append(float("nan"))
        else:
            smaller = existing[: existing.index(p) + 1]
            corrected.append(min(1.0, max((m - j) * other for j, other in enumerate(smaller))))
    return corrected


@given(PVALUES)
def test_holm_follows_its_definition(pvalues):
    corrected = holm(pvalues)
    assert corrected.shape == (len(pvalues),)
    assert_allclose(corrected, naive_holm(pvalues), rtol=1e-15)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("inf")])
def test_invalid_p_values_are_refused(wrong):
    with pytest.raises(OptionError, match=r"between 0 and 1, or nan; pvalues\[1\] is"):
        holm([0.5, wrong])


def test_invalid_lists_of_p_values():
    with pytest.raises(DimensionError, match=r"one dimension; got an array of shape \(1, 2\)"):
        holm([[0.1, 0.2]])
    with pytest.raises(DimensionError, match="one dimension; their rows differ in length"):
        holm([[0.1, 0.2], [0.1]])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of"):
        holm(["0.1", "0.2"])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of bool"):
        holm([True, False])


@given(
    st.lists(st.tuples(st.integers(0, 12).map(float), st.sampled_from([0.5, 1.0, 2.0])), min_size=2, max_size=5),
    st.booleans(),
    st.integers(0, 5),
)
def test_rank_sets_follow_their_definition(rows, is_dependent, seed):
    estimates, errors = map(list, zip(*rows, strict=True))
    covariance = np.diag(np.square(errors)) + (0.2 if is_dependent else 0.0)
    options = {"covariance": covariance} if is_dependent else {"standard_errors": errors}
    sets = rank_sets(estimates, **options, n_resamples=39, level=0.9, seed=seed)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values) if is_dependent else np.diag(errors)
    noise = (np.random.default_rng(seed).standard_normal((39, len(rows))) @ root.T).tolist()
    variances = np.diag(covariance)
    of_differences = np.sqrt(variances[:, np.newaxis] + variances - 2 * covariance).tolist()
    expected = naive.rank_sets(estimates, of_differences, noise, 0.1)
    assert list(zip(sets.least_ranks, sets.largest_ranks, strict=True)) == expected
    marginal = [naive.rank_sets(estimates, of_differences, noise, 0.1, of=item)[item] for item in range(len(rows))]
    assert list(zip(sets.marginal_least_ranks, sets.marginal_largest_ranks, strict=True)) == marginal
    assert np.all(sets.groups <= sets.least_ranks)
    assert np.all(np.diff(sets.groups[np.argsort(sets.ranks, kind="stable")]) >= 0)


@pytest.mark.parametrize(
    ("pvalue", "above"), [(0.1076, ("a", "c")), (0.2720, ("a", "b")), (0.2720, ("c", "d")), (0.3795, ("b", "c"))]
)
def test_rank_sets_follow_from_the_step_down_of_multcomp(pvalue, above):
    """P-values of R's multcomp 1.4-22: glht of all ordered pairs, alternative "greater", adjusted("free")."""
    correlation = np.array([[1, 0.3, 0.1, 0], [0.3, 1, 0.5, 0.2], [0.1, 0.5, 1, -0.2], [0, 0.2, -0.2, 1]])
    covariance = correlation * np.outer(errors := [0.5, 0.4, 0.6, 0.3], errors)
    estimates = {"a": 2.0, "b": 1.1, "c": 0.4, "d": -0.8}
    first, second = map("abcd".index, above)
    low_level, high_level = (
        rank_sets(estimates, covariance=covariance, level=1 - pvalue + shift, n_resamples=100_000)
        for shift in (-0.006, 0.006)
    )
    assert low_level.largest_ranks[first] < high_level.largest_ranks[first]
    assert low_level.least_ranks[second] > high_level.least_ranks[second]


@pytest.mark.real_data
def test_rank_sets_of_pisa_are_as_published(data_dir):
    """Output of csranks for mathematics in 2018: danielwilhelm.github.io/R-CS-ranks, article Inference for Ranks."""
    table = pd.read_csv(data_dir / "published" / "pisa.csv", index_col="jurisdiction")
    sets = rank_sets(table["math_score"], standard_errors=table["math_se"])
    best = ["Belgium", "Canada", "Denmark", "Estonia", "Finland", "Japan", "Korea", "Netherlands", "Poland"]
    best += ["Slovenia", "Sweden", "Switzerland"]
    assert list(sets.best(5)) == best
    fewer = rank_sets(table["math_score"], standard_errors=table["math_se"], level=0.9)
    assert list(fewer.best(5)) == [name for name in best if name != "Sweden"]
    place = sets.names.index("United Kingdom")
    assert sets.ranks[place] == 13
    assert (sets.marginal_least_ranks[place], sets.marginal_largest_ranks[place]) == (8, 23)


@pytest.mark.parametrize("exponent", [-900, -60, 60, 1000])
@pytest.mark.parametrize("is_dependent", [False, True])
def test_rank_sets_do_not_depend_on_the_unit(exponent, is_dependent):
    estimates, errors = np.array([3.0, 2.5, 2.5, 0.5]), np.array([0.25, 0.5, 0.125, 0.5])

    def sets_of(unit):
        errors_in = (
            {"covariance": np.diag(errors**2) * unit * unit} if is_dependent else {"standard_errors": errors * unit}
        )
        result = rank_sets(estimates * unit, **errors_in, n_resamples=500)
        return result.least_ranks.tolist(), result.largest_ranks.tolist(), result.marginal_least_ranks.tolist()

    unit = 2.0 ** (exponent // 2 if is_dependent else exponent)
    assert sets_of(unit) == sets_of(1.0)


def test_rank_sets_of_ties_and_of_exact_estimates():
    sets = rank_sets({"a": 2.0, "b": 2.0, "c": 1.0}, standard_errors=[0.0, 0.0, 0.0], n_resamples=99)
    assert sets.ranks.tolist() == [1.5, 1.5, 3]
    assert list(zip(sets.least_ranks, sets.largest_ranks, strict=True)) == [(1, 2), (1, 2), (3, 3)]
    assert sets.best(2) == ("a", "b")
    assert sets.to_dict()["groups"] == [1, 1, 2]
    assert list(sets.to_frame()["name"]) == ["a", "b", "c"]
    assert "at level 0.95" in sets.to_latex()
    same = rank_sets([3.0, 1.0], covariance=[[1.0, 1.0], [1.0, 1.0]], n_resamples=99)
    assert same.least_ranks.tolist() == [1, 2]
    assert isinstance(same, RankSets)
    named = rank_sets({"a": 2.0, "b": 9.0}, standard_errors={"b": 0.1, "a": 5.0}, n_resamples=99)
    assert named == rank_sets({"a": 2.0, "b": 9.0}, standard_errors=[5.0, 0.1], n_resamples=99)
    assert [(row.name, row.rank, row.estimate) for row in named.rows] == [("b", 1, 9), ("a", 2, 2)]
    assert named.table() == list(map(vars, named.rows))


@pytest.mark.parametrize(
    ("estimates", "options"),
    [
        ([1.0, 1e200, 1e300], {"standard_errors": [1, 1, 1]}),
        ([1.0, 2e-13, 1e-13], {"standard_errors": [1e-15, 1e-15, 1e-15]}),
        ([-1e300, 1.0, 2.0], {"standard_errors": [1e200, 1e-3, 1e-3]}),
        ([-1.7e308, 1.0, 1.7e308], {"standard_errors": [1e307, 1.0, 1e307]}),
        ([-1e200, 1.0, 2.0], {"covariance": np.diag([1e300, 1e-6, 1e-6])}),
    ],
)
def test_a_huge_number_hides_no_difference_between_others(estimates, options):
    sets = rank_sets(estimates, n_resamples=199, **options)
    expected = sets.ranks.tolist()
    assert (sets.least_ranks.tolist(), sets.largest_ranks.tolist()) == (expected, expected)
    # One rounding error apart, and without standard errors: equal.
    equal = rank_sets([0.1 + 0.2, 0.3, 1e300], standard_errors=[0, 0, 0], n_resamples=199)
    assert (equal.least_ranks.tolist(), equal.largest_ranks.tolist()) == ([2, 2, 1], [3, 3, 1])


@pytest.mark.parametrize("order", [["a", "b", "c"], ["c", "a", "b"]])
@pytest.mark.parametrize("columns", [["a", "b", "c"], ["b", "c", "a"]])
def test_a_covariance_matrix_with_names_is_matched_by_name(order, columns):
    """As `cov_params` of statsmodels returns it."""
    matrix = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, -0.3], [0.0, -0.3, 0.1]])
    frame = pd.DataFrame(matrix, index=["a", "b", "c"], columns=["a", "b", "c"]).loc[order, columns]
    estimates = {"a": 3.0, "b": 2.9, "c": 1.0}
    expected = rank_sets(estimates, covariance=matrix).to_dict()
    assert rank_sets(estimates, covariance=frame).to_dict() == expected
    assert rank_sets(estimates, covariance=pl.from_pandas(frame.loc[columns])).to_dict() == expected
    by_position = rank_sets([3.0, 2.9, 1.0], covariance=frame.to_numpy()) if order == columns else None
    assert by_position is None or rank_sets([3.0, 2.9, 1.0], covariance=frame).to_dict() == by_position.to_dict()


@pytest.mark.parametrize("names", [["c", "a", "b"], [3, 1, 2], [1, 2, 0]])
def test_labels_that_pandas_counts_are_no_names_of_estimates(names):
    """They are positions, except where the estimates have the names 0, 1 and 2."""
    matrix = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, -0.3], [0.0, -0.3, 0.1]])
    estimates = dict(zip(names, [3.0, 2.9, 1.0], strict=True))
    frame = pd.DataFrame(matrix)
    is_named = set(names) == {0, 1, 2}
    expected = rank_sets(estimates, covariance=frame.loc[names, names].to_numpy() if is_named else matrix).to_dict()
    assert rank_sets(estimates, covariance=frame).to_dict() == expected
    errors = pd.Series([1.0, 2.0, 0.1])
    values = errors[names].tolist() if is_named else errors.tolist()
    of_errors = rank_sets(estimates, standard_errors=errors).to_dict()
    assert of_errors == rank_sets(estimates, standard_errors=values).to_dict()
    if not is_named:
        for frame in (pd.DataFrame(matrix, columns=names), pd.DataFrame(matrix, index=names)):
            assert rank_sets(estimates, covariance=frame).to_dict() == expected


def test_a_covariance_matrix_of_xarray_is_matched_by_name():
    xarray = pytest.importorskip("xarray", reason="make test does not install xarray")
    frame = pd.DataFrame(np.diag([9.0, 0.1, 0.2]), index=["c", "a", "b"], columns=["c", "a", "b"])
    estimates = {"a": 3.0, "b": 2.9, "c": 1.0}
    expected = rank_sets(estimates, covariance=frame).to_dict()
    assert rank_sets(estimates, covariance=xarray.DataArray(frame)).to_dict() == expected
    without_names = xarray.DataArray(np.diag([0.1, 0.2, 9.0]))
    assert rank_sets(estimates, covariance=without_names).to_dict() == expected


@pytest.mark.parametrize(
    ("estimates", "options", "error", "message"),
    [
        ([2, 1], {}, OptionError, "give either standard_errors or covariance"),
        ([2, 1], {"standard_errors": [1, 1], "covariance": np.eye(2)}, OptionError, "give either"),
        ([2], {"standard_errors": [1]}, TooFewItemsError, "at least two items; got 1"),
        ([2, math.nan], {"standard_errors": [1, 1]}, MissingValueError, r"nan: estimates\[1\]"),
        ([2, math.inf], {"standard_errors": [1, 1]}, NonNumericError, "every estimate must be finite; .*: 1"),
        ({"a": 2, "b": "x"}, {"standard_errors": [1, 1]}, NonNumericError, "estimate of 'b'"),
        ([2, 1], {"standard_errors": [1, -1]}, OptionError, "every standard error must be 0 or more; not those of: 1"),
        ([2, 1], {"standard_errors": [1, 1, 1]}, LengthError, "every estimate needs a standard error; got 3 for 2"),
        ({"a": 2, "b": 1}, {"standard_errors": {"a": 1, "c": 1}}, LabelMismatchError, "the same names: '[bc]', '[bc]'"),
        (
            {"a": 2, "b": 1},
            {"covariance": pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "c"])},
            LabelMismatchError,
            "estimates and the covariance matrix must have the same names: 'b', 'c'",
        ),
        (
            {"a": 2, "b": 1},
            {"covariance": pd.DataFrame(np.eye(2), index=["a", "c"], columns=["a", "b"])},
            LabelMismatchError,
            "estimates and the covariance matrix must have the same names: 'b', 'c'",
        ),
        ({"a": 2, "b": 1}, {"covariance": pl.DataFrame({"a": [1, 0, 0], "b": [0, 1, 0]})}, LengthError, "shape"),
        ([2, 1], {"covariance": np.eye(3)}, LengthError, r"2 rows and columns; got shape \(3, 3\)"),
        ([2, 1], {"covariance": [[1, 2], [0, 1]]}, OptionError, "finite and symmetric"),
        ([2, 1], {"covariance": [[1, 2], [2, 1]]}, OptionError, "must not have a negative eigenvalue; got -1"),
        ([2, 1], {"standard_errors": [1, 1], "n_resamples": 18}, OptionError, "n_resamples must be at least 19 at"),
    ],
)
def test_invalid_estimates_are_refused(estimates, options, error, message):
    with pytest.raises(error, match=message):
        rank_sets(estimates, **options)


def test_the_number_of_the_best_must_be_positive():
    with pytest.raises(OptionError, match="tau must be a positive whole number; got 0"):
        rank_sets([2, 1], standard_errors=[1, 1], n_resamples=99).best(0)


GOLD = {
    "nouns": dict(zip("abcdef", [6, 5, 4, 3, 2, 1], strict=True)),
    "verbs": dict(zip("uvwx", [4, 3, 2, 1], strict=True)),
}
SYSTEMS = {
    "one": dict(zip("abcdefuvwx", [9, 8, 7, 5, 6, 4, 8, 7, 3, 1], strict=True)),
    "two": dict(zip("abcdefuvwx", [1, 5, 4, 8, 7, 3, 2, 6, 5, 9], strict=True)),
    "three": dict(zip("abcdefuvwx", [5, 5, 5, 8, 8, 8, 1, 1, 6, 9], strict=True)),
}


@given(st.data())
def test_each_comparison_equals_a_separate_one_of_its_systems(data):
    n_items = data.draw(st.integers(3, 8))
    labels = "abcdefgh"[:n_items]
    gold, *score_lists = (dict(zip(labels, data.draw(scores(n_items)), strict=True)) for _ in range(4))
    systems = dict(zip(("one", "two", "three"), score_lists, strict=True))
    with collected_notices():
        table = compare_many(gold, systems, coefficients=["tau_w", "rho"], n_resamples=60)
        pairs = [((systems[row.a], systems[row.b]), row.coefficient) for row in table.rows]
        alone = [compare_systems(gold, *pair, coefficient=name, n_resamples=60) for pair, name in pairs]
    pairs = [("one", "two"), ("one", "three"), ("two", "three")]
    expected = [(name, *pair) for name in ("tau_w", "rho") for pair in pairs]
    assert [(row.coefficient, row.a, row.b) for row in table.rows] == expected
    assert [repr(row.comparison) for row in table.rows] == [repr(comparison) for comparison in alone]
    assert_array_equal([row.corrected_pvalue for row in table.rows], holm([comparison.pvalue for comparison in alone]))


def test_systems_are_restricted_to_the_items_of_each_gold_set():
    table = compare_many(GOLD, SYSTEMS, baseline="one")
    assert [(row.gold_set, row.a, row.b) for row in table.rows] == [
        (name, other, "one") for name in GOLD for other in ("two", "three")
    ]
    for row in table.rows:
        gold = GOLD[row.gold_set]
        a, b = ({label: SYSTEMS[name][label] for label in gold} for name in (row.a, row.b))
        assert repr(row.comparison) == repr(compare_systems(gold, a, b))


@pytest.mark.parametrize("form", [pandas.Series, Ranking.from_scores], ids=["series", "ranking"])
def test_systems_of_any_input_type(form):
    inputs = {name: form(scores) for name, scores in SYSTEMS.items()}
    result, expected = (compare_many(GOLD, systems) for systems in (inputs, SYSTEMS))
    assert result.to_dict() == expected.to_dict()


def test_a_further_gold_set_changes_no_comparison():
    lacking = {name: {k: v for k, v in scores.items() if k != name[0]} for name, scores in SYSTEMS.items()}
    lacking["two"]["new"] = 3
    for missing in ("intersection", "bottom", "gold"):
        both = compare_many(GOLD, lacking, missing=missing)
        for row in both.rows:
            foreign = {label for name, gold in GOLD.items() if name != row.gold_set for label in gold}
            part = {name: {k: v for k, v in scores.items() if k not in foreign} for name, scores in lacking.items()}
            alone = compare_systems(GOLD[row.gold_set], part[row.a], part[row.b], missing=missing)
            assert repr(row.comparison) == repr(alone)
    exact = {"x": 2**53 + 1, "y": 2**53, "z": 0}
    golds = {"one": {"x": 3, "y": 2, "z": 1}, "two": {"x": 1, "y": 2}}
    rows = compare_many(golds, {"a": exact, "b": {"x": 1, "y": 2, "z": 3}}).rows
    assert rows[0].comparison.statistic_a == 1


def test_a_baseline_may_have_an_empty_name():
    table = compare_many(GOLD["nouns"], {"": SYSTEMS["one"], **SYSTEMS}, missing="gold", baseline="")
    assert [row.b for row in table.rows] == [""] * 3


def test_coefficients_of_one_name_show_their_options():
    table = compare_many(GOLD["nouns"], SYSTEMS, missing="gold", coefficients=[TauW(n0=1), TauW(n0=9)], baseline="one")
    assert [row.coefficient for row in table.rows] == ["TauW(n0=1)"] * 2 + ["TauW(n0=9)"] * 2


def test_the_table_has_corrected_p_values():
    table = compare_many(GOLD["nouns"], SYSTEMS, missing="gold", coefficients=[TauW(n0=10)])
    frame = table.to_frame()
    assert list(frame["gold_set"]) == ["gold"] * 3
    assert_array_equal(frame["corrected_pvalue"], [row.corrected_pvalue for row in table.rows])
    assert repr(table) == f"<SystemComparisons: 3 tests, least corrected p {frame.corrected_pvalue.min():.3g}>"
    assert table.to_markdown().splitlines()[0].startswith("| gold_set | coefficient | a | b |")


def test_an_undefined_comparison_is_named_and_not_counted():
    with collected_notices() as notices:
        table = compare_many([1, 2, 3], {"one": [1, 2, 3], "flat": [1, 1, 1], "two": [3, 1, 2]})
    assert [notice.split(": ")[:2] for notice in notices] == [
        [f"{pair} on 'gold'", "the correlation is undefined"] for pair in ("'one' and 'flat'", "'flat' and 'two'")
    ]
    assert_array_equal(np.isnan([row.corrected_pvalue for row in table.rows]), [True, False, True])
    assert table.rows[1].corrected_pvalue == table.rows[1].comparison.pvalue


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((GOLD, {"one": SYSTEMS["one"]}), {}, OptionError, "at least two systems are needed to compare; got 'one'"),
        ((GOLD, SYSTEMS), {"baseline": "four"}, OptionError, "baseline must be one of 'one', 'two', 'three'"),
        ((GOLD, SYSTEMS), {"coefficients": "tau"}, OptionError, "coefficients must be a list of different"),
        ((GOLD, SYSTEMS), {"coefficients": ["tau", "tau"]}, OptionError, "coefficients must be a list of different"),
        ((GOLD, {"one": [1, 2], "two": [2, 1]}), {}, LabelError, "several gold sets need labels, .*'one' has none"),
        ((GOLD, dict.fromkeys(SYSTEMS, Ranking.from_scores([1, 2]))), {}, LabelError, "gold sets need labels, .*'one'"),
        ((GOLD, {**SYSTEMS, "more": SYSTEMS["one"] | {"z": 1}}), {}, LabelMismatchError, "'more' on 'nouns': .*'z'"),
        (
            (GOLD, {"one": SYSTEMS["one"], "less": {"a": 1, "f": 2}}),
            {"missing": "intersection"},
            TooFewItemsError,
            "system 'less' has fewer than two items of gold set 'verbs'",
        ),
    ],
)
def test_invalid_inputs_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        compare_many(*arguments, **options)
