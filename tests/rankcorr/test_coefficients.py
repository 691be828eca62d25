"""A coefficient as a value: checked when made, equal by its options, and a function of two vectors."""

import copy
import math
import pickle
import statistics
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

import rankcorr
from rankcorr import (
    Coefficient,
    Hyperbolic,
    InverseSquare,
    MissingValueError,
    NonNumericError,
    OptionError,
    Pearson,
    RankCorrelation,
    Ranking,
    Rho,
    RhoW,
    Tau,
    TauW,
    TopK,
    UndefinedCorrelationWarning,
    Uniform,
    WeightError,
    correlate_many,
    weighted_rho,
    weighted_tau,
)
from rankcorr._coefficients import as_coefficient, named_coefficient
from rankcorr._weights import SCHEMES, TIED_WEIGHTS
from tests import naive
from tests.strategies import distinguishing_pairs, scores, tied_pairs, weighings

VALUES = [TauW(), TauW(n0=10, scheme="first"), TauW(weigher=TopK(3), variant="a"), RhoW(n0=0), RhoW(), Tau("a"), Rho()]
X, Y = np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 3.0, 1.0, 2.0])


# The value


@given(distinguishing_pairs(30), weighings(), st.sampled_from(SCHEMES), st.sampled_from(TIED_WEIGHTS))
def test_a_call_equals_the_convenience_function_exactly(pair, weighing, scheme, tied_weights):
    options = {**weighing[0], "scheme": scheme, "tied_weights": tied_weights}
    assert outcome(RhoW(**options), *pair) == outcome(weighted_rho, *pair, **options)
    for variant in ("a", "b"):
        value = TauW(**options, variant=variant)
        assert outcome(value, *pair) == outcome(weighted_tau, *pair, **options, variant=variant)


def outcome(function, *rankings, **options):
    """The result as text, or the error or warning instead: `TopK` may leave every item without weight."""
    try:
        return repr(function(*rankings, **options))
    except (WeightError, UndefinedCorrelationWarning) as problem:
        return repr(problem)


@given(tied_pairs(30))
def test_plain_coefficients_are_those_of_scipy(pair):
    with warnings.catch_warnings(action="ignore"):
        ours = Rho()(*pair), Tau()(*pair)
        peers = scipy.stats.spearmanr(*pair).statistic, scipy.stats.kendalltau(*pair).statistic
    np.testing.assert_allclose(ours, peers, rtol=0, atol=1e-12)


@given(distinguishing_pairs(12), st.sampled_from(VALUES))
def test_the_swapped_coefficient_is_that_of_the_swapped_rankings(pair, coefficient):
    x, y = pair
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        try:
            there = coefficient(x, y)
        except WeightError as error:  # more than three items tie for the top
            with pytest.raises(WeightError, match=str(error)):
                coefficient.swapped(y, x)
            return
        back = coefficient.swapped(y, x)
    assert there == pytest.approx(back, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_equal_hashed_copied_and_pickled_by_their_options(value):
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert hash(again) == hash(value)
        assert repr(again) == repr(value)
        assert again(X, Y) == value(X, Y)
        assert isinstance(again, Coefficient)
    assert len({*VALUES, value}) == len(VALUES)


def test_coefficients_are_equal_if_their_options_are():
    assert TauW() == TauW(2) == TauW(n0=2.0) == TauW(np.float64(2)) == TauW(weigher=InverseSquare(2)) != TauW(n0=3)
    assert TauW(n0=float("2.0")) == TauW(n0=pickle.loads(pickle.dumps(2.0)))  # by value: two different float objects
    assert str(InverseSquare(n0=-0.0)) == str(InverseSquare(n0=0))
    assert TauW() != RhoW()
    assert Tau() != TauW(weigher=Uniform())
    assert as_coefficient("tau_w") == TauW()
    assert as_coefficient(TauW(n0=3)) == TauW(n0=3)


def test_repr_shows_options_that_are_not_default():
    def halve(ranks):
        return 0.5**ranks

    expected = "TauW(), TauW(n0=10), TauW(n0=0.5, scheme='first', variant='a'), RhoW(weigher=Hyperbolic())"
    values = TauW(), TauW(n0=10), TauW(n0=0.5, scheme="first", variant="a"), RhoW(weigher=Hyperbolic())
    assert ", ".join(map(repr, values)) == expected
    assert eval(f"[{expected}]", vars(rankcorr)) == list(values)
    assert repr(TauW(weigher=halve)) == "TauW(weigher=halve)"
    assert repr((Tau(), Tau("a"), Rho())) == "(Tau(), Tau(variant='a'), Rho())"


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_frozen(value):
    with pytest.raises(AttributeError, match="cannot assign"):
        value.n0 = 5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TauW(n0=-1), WeightError, "n0 must be a finite number greater than -1; got -1"),
        (lambda: TauW(n0=True), WeightError, "n0 must be a finite number greater than -1; got True"),
        (lambda: RhoW(n0="2"), WeightError, "n0 must be a finite number greater than -1; got '2'"),
        (lambda: TauW(n0=None), WeightError, "n0 must be a finite number greater than -1; got None"),
        (lambda: TauW(n0=10**5000), WeightError, "n0 must be a finite number greater than -1; got int that cannot"),
        (lambda: RhoW(n0=3, weigher=Hyperbolic()), OptionError, "give n0 or weigher, not both"),
        (lambda: weighted_tau(X, Y, n0=1.9, weigher=Uniform()), OptionError, "give n0 or weigher, not both"),
        (lambda: weighted_tau(X, Y, n0=math.nan, weigher=Uniform()), OptionError, "give n0 or weigher, not both"),
        (lambda: TauW(weigher=Hyperbolic), WeightError, "got the class: write Hyperbolic"),
        (lambda: TauW(weigher=5), WeightError, "a weigher is a callable from ranks to weights; got 5"),
        (lambda: RhoW(scheme="both"), OptionError, "scheme must be one of 'additive', 'multiplicative'"),
        (lambda: RhoW(tied_weights="mean"), OptionError, "tied_weights must be one of 'midrank', 'expected'"),
        (lambda: RhoW(scheme=["additive"]), OptionError, r"scheme must be one of .* got \['additive'\]"),
        (lambda: TauW(variant="c"), OptionError, "variant must be one of 'a', 'b'; got 'c'"),
        (lambda: as_coefficient("spearman"), OptionError, r"'tau', or a value such as TauW\(n0=10\); got 'spearman'"),
        (lambda: as_coefficient(TauW), OptionError, "got <class 'rankcorr._coefficients.TauW'>"),
        (lambda: as_coefficient(["tau"]), OptionError, r"got \['tau'\]"),
        (lambda: as_coefficient(np.array(["tau", "rho"])), OptionError, r"got array\(\['tau', 'rho'\]"),
        (lambda: TauW(n0=np.array([1, 2]), weigher=Uniform()), OptionError, "give n0 or weigher, not both"),
        (lambda: named_coefficient("tau_x"), OptionError, "got 'tau_x'"),
        (lambda: named_coefficient("rho_w", n0=-2), WeightError, "got -2"),
    ],
)
def test_invalid_options_are_refused_at_construction(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_tau_and_rho_have_no_weight_to_choose():
    for option in ("n0", "weigher", "scheme", "tied_weights"):
        for kind in (Tau, Rho):
            with pytest.raises(TypeError, match="unexpected keyword"):
                kind(**{option: None})
    with pytest.raises(TypeError, match="unexpected keyword"):
        correlate_many(X, [Y], coefficient="tau", n0=2.0)


def test_equal_custom_weighers_are_not_interchanged():
    class Power:
        """All instances are equal, whatever the power."""

        def __init__(self, power):
            self.power = power

        def __eq__(self, other):
            return isinstance(other, Power)

        def __hash__(self):
            return 0

        def __call__(self, ranks):
            return ranks**-self.power

    for power in (1.0, 2.0, 3.0):
        weights = np.array([1.0, 2, 3, 4]) ** -power + np.array([1.0, 2, 4, 3]) ** -power
        expected = naive.weighted_tau([1, 2, 3, 4], [1, 2, 4, 3], weights / weights.sum())
        assert weighted_tau(X, Y, weigher=Power(power)) == pytest.approx(expected, abs=1e-12)
        assert TauW(weigher=Power(power))(X, Y) == pytest.approx(expected, abs=1e-12)


def test_rankings_without_weight_are_an_error_in_single_calls():
    x, y = [5.0, 4, 3, 2, 1], [1.0, 5, 4, 3, 2]
    coefficient = TauW(weigher=TopK(1), scheme="multiplicative")
    for call in (
        lambda: coefficient(x, y),
        lambda: rankcorr.item_weights(x, y, weigher=TopK(1), scheme="multiplicative"),
        lambda: rankcorr.correlate(x, y, coefficients=[coefficient]),
        lambda: rankcorr.correlate_many(x, [y], coefficient=coefficient),
        lambda: rankcorr.correlation_matrix([x, y], coefficient=coefficient),
        lambda: rankcorr.contributions(x, y, coefficient=coefficient),
        lambda: rankcorr.permutation_test(x, y, coefficient=coefficient),
        lambda: rankcorr.correlation_interval(x, y, coefficient=coefficient, n_resamples=40),
        lambda: rankcorr.compare_systems(x, x, y, coefficient=coefficient, n_resamples=40),
        lambda: rankcorr.leaderboard(x, {"x": x, "y": y}, coefficient=coefficient, n_resamples=40),
    ):
        with pytest.raises(WeightError, match="all weights are zero: no item would count"):
            call()


# The result is a number


def test_a_result_is_a_float():
    r, s = TauW()(X, Y), Tau()(X, Y)
    assert isinstance(r, float)
    assert f"{r:.2f} {s:.3f} {r}" == f"0.88 0.667 {float(r)!r}"
    assert (r > 0.1, r == float(r), r + s, -r, round(r, 2)) == (True, True, float(r) + float(s), -float(r), 0.88)
    assert np.mean([r, s]) == (float(r) + float(s)) / 2
    assert not np.isnan(r)
    assert math.isclose(r, r.statistic)
    assert type(r.statistic) is float
    assert sorted([r, s]) == [s, r]
    assert hash(r) == hash(float(r))
    assert np.array([r, s]).dtype == np.float64


def test_constructing_from_the_type_of_a_result_gives_floats():
    r, s = TauW()(X, Y), Tau()(X, Y)
    assert statistics.mean([r, s]) == pytest.approx(np.mean([r, s]))
    assert statistics.variance([r, s]) == pytest.approx(np.var([r, s], ddof=1))
    assert type(RankCorrelation(0.5)) is float
    assert RankCorrelation.fromhex("0x1p-1") == 0.5


def test_a_result_records_its_options():
    r = TauW(n0=10, scheme="first")(X, Y)
    memory = (r.n_items, r.coefficient, r.scheme, r.n0, r.weigher, r.tied_weights, r.variant, r.missing, r.n_missing)
    assert memory == (4, "tau_w", "first", 10.0, "InverseSquare(n0=10.0)", "midrank", "b", None, None)
    for again in (pickle.loads(pickle.dumps(r)), copy.copy(r), copy.deepcopy(r)):
        assert type(again) is RankCorrelation
        assert repr(again) == repr(r)
    assert r.to_dict()["statistic"] == float(r)
    assert r.to_dict()["n0"] == 10
    assert RankCorrelation(math.nan, n_items=2, coefficient="tau").to_dict()["statistic"] is None


def test_a_result_is_immutable():
    r = TauW()(X, Y)
    for name in ("n_items", "statistic", "other"):
        with pytest.raises(AttributeError, match="a RankCorrelation is immutable"):
            setattr(r, name, 5)
    with pytest.raises(AttributeError, match="a RankCorrelation is immutable"):
        del r.n_items


# Packages that accept a function of two vectors

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))


@pytest.mark.parametrize("coefficient", VALUES, ids=repr)
def test_pandas_accepts_a_coefficient_as_method(coefficient):
    matrix = FRAME.corr(method=coefficient)
    for one in FRAME:
        for other in FRAME:
            x, y = FRAME[one].to_numpy(), FRAME[other].to_numpy()
            if one != other:  # pandas computes a triangle, and mirrors it
                assert matrix.loc[one, other] in (coefficient(x, y), coefficient(y, x))


@pytest.mark.wide
def test_scipy_accepts_a_coefficient_as_statistic():
    x, y = FRAME["a"].to_numpy()[:5], FRAME["b"].to_numpy()[:5]
    for coefficient in (TauW(n0=10), Tau()):
        peer = scipy.stats.permutation_test((x, y), coefficient, permutation_type="pairings", n_resamples=np.inf)
        ours = rankcorr.permutation_test(x, y, coefficient=coefficient)
        assert peer.statistic == ours.statistic
        assert peer.pvalue == pytest.approx(ours.pvalue, abs=1e-12)


def test_scikit_learn_accepts_a_coefficient_as_scorer():
    inputs, target = FRAME[["a", "b", "c"]].to_numpy(), FRAME["a"].to_numpy() + FRAME["d"].to_numpy()
    scorer = make_scorer(TauW(n0=10))
    assert "tau_w" in repr(scorer)
    scores = cross_val_score(LinearRegression(), inputs, target, scoring=scorer, cv=4)
    folds = np.split(np.arange(40), 4)
    for score, test in zip(scores, folds, strict=True):
        train = np.setdiff1d(np.arange(40), test)
        fitted = LinearRegression().fit(inputs[train], target[train])
        assert score == TauW(n0=10)(target[test], fitted.predict(inputs[test]))


# Scores instead of ranks


@given(st.integers(2, 12).flatmap(lambda n_items: st.tuples(scores(n_items), scores(n_items))))
def test_pearson_is_that_of_scipy(pair):
    x, y = (np.asarray(values, float) for values in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Pearson()(x, y).statistic == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9, nan_ok=True)


def test_pearson_does_not_depend_on_scale():
    x, y = np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 5.0])
    expected = scipy.stats.pearsonr(x, y).statistic
    for factor in (1e-200, 1e200):
        assert Pearson()(factor * x, y).statistic == pytest.approx(expected, rel=1e-12)


def test_pearson_of_labels_and_its_undefined_value():
    assert Pearson()({"a": 1, "b": 2}, {"b": 5, "a": 7, "c": 0}, missing="intersection").statistic == pytest.approx(-1)
    with pytest.warns(UndefinedCorrelationWarning):
        assert math.isnan(Pearson()([0.1, 0.1, 0.1], [1, 2, 3]))


def test_pearson_refuses_rankings_without_scores():
    with pytest.raises(OptionError, match="y was made from ranks or lacks items"):
        Pearson()([1, 2, 3], Ranking.from_ranks([1, 3, 2]))
    with pytest.raises(OptionError, match="x was made from ranks or lacks items"):
        Pearson()({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, missing="bottom")
    with pytest.raises(NonNumericError, match="a score of x is too large"):
        Pearson()([10**400, 1, 2], [1, 2, 3])
    with pytest.raises(MissingValueError, match="finite scores; y has inf"):
        Pearson()([1, 2, 3], [1, 2, math.inf])


@pytest.mark.parametrize("coefficient", ["pearson", Pearson()])
def test_functions_of_ranks_refuse_pearson(coefficient):
    with pytest.raises(OptionError, match="pearson compares scores, but only ranks are available here"):
        correlate_many(X, {"a": Y}, coefficient=coefficient)
    for function in (rankcorr.permutation_test, rankcorr.null_distribution, rankcorr.contributions):
        with pytest.raises(OptionError, match="pearson compares scores, but only ranks are available here"):
            function(X, Y, coefficient=coefficient)
    with pytest.raises(OptionError, match="pearson compares scores"):
        Pearson().of_rows(Ranking.from_scores(X), np.array([[1.0, 2, 3, 4]]), np.zeros(1, np.int64))
