import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from rankcorr import DimensionError, MissingValueError, OptionError, Rho, RhoW, Tau, TauW, UndefinedCorrelationWarning
from rankcorr.evaluation import correlate_groups
from rankcorr.integrations.sklearn import RankScore, rank_scorer, rho_scorer, rho_w_scorer, tau_scorer, tau_w_scorer


@pytest.fixture(scope="module")
def data():
    """Numpy arrays of features, and a quadratic function of them with ties."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 2))
    return x, np.round(x[:, 0] ** 2 + 0.3 * rng.normal(size=90), 1)


def fold_scores(coefficient, model, x, y):
    """Score of each of three folds, computed one by one."""
    folds = KFold(3).split(x)
    return [float(coefficient(y[test], model.fit(x[train], y[train]).predict(x[test]))) for train, test in folds]


@pytest.mark.parametrize(
    ("scorer", "coefficient"),
    [
        (tau_w_scorer, TauW()),
        (rho_w_scorer, RhoW()),
        (tau_scorer, Tau()),
        (rho_scorer, Rho()),
        (rank_scorer(TauW(n0=10, scheme="first")), TauW(n0=10, scheme="first")),
        (rank_scorer("rho"), Rho()),
    ],
)
def test_scores_are_those_of_the_coefficient(data, scorer, coefficient):
    result = cross_val_score(Ridge(), *data, scoring=scorer, cv=3, error_score="raise")
    assert_allclose(result, fold_scores(coefficient, Ridge(), *data), rtol=0, atol=0)


def test_an_index_of_pandas_is_ignored(data):
    x, y = data
    series = pd.Series(y, index=np.arange(len(y))[::-1])
    frame = pd.DataFrame(x, columns=["a", "b"], index=series.index)
    result = cross_val_score(Ridge(), frame, series, scoring=tau_w_scorer, cv=3, error_score="raise")
    assert_allclose(result, fold_scores(TauW(), Ridge(), x, y), rtol=0, atol=0)


@pytest.mark.parametrize("groups", [None, ["q", "q", "q"]])
def test_masked_values_are_refused(groups):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    for pair in ((masked, [1, 2, 3]), ([1, 2, 3], masked)):
        with pytest.raises(MissingValueError, match="masked"):
            RankScore("tau")(*pair, groups=groups)


def test_whole_numbers_beside_floats_keep_their_order():
    assert RankScore("tau")([2**53, 2**53 + 1, 0.5], [2, 3, 1]) == 1


def test_a_grid_search_finds_the_best_ranking(data):
    model = make_pipeline(PolynomialFeatures(), Ridge())
    grid = {"polynomialfeatures__degree": [1, 2]}
    search = GridSearchCV(model, grid, scoring={"tau_w": tau_w_scorer, "rho": rho_scorer}, refit="tau_w", cv=3)
    search.fit(*data)
    assert search.best_params_ == {"polynomialfeatures__degree": 2}
    models = [make_pipeline(PolynomialFeatures(degree), Ridge()) for degree in (1, 2)]
    expected = [np.mean(fold_scores(Rho(), model, *data)) for model in models]
    assert_allclose(search.cv_results_["mean_test_rho"], expected, rtol=1e-15)
    assert "TauW()" in repr(tau_w_scorer)


def test_a_scorer_is_pickled_for_other_processes():
    scorer = rank_scorer(TauW(n0=10))
    copy = pickle.loads(pickle.dumps(scorer))
    assert (copy._score_func, repr(copy)) == (scorer._score_func, repr(scorer))


def test_the_samples_of_a_classifier(data):
    x, y = data
    model = LogisticRegression().fit(x, y > 0.5)
    scorer = rank_scorer("tau", response_method="decision_function")
    assert scorer(model, x, y > 0.5) == Tau()((y > 0.5).astype(int), model.decision_function(x)).statistic


def test_the_mean_over_groups_is_routed(data):
    x, y = data
    groups = np.repeat(np.arange(15), 6)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = rank_scorer("rho_w").set_score_request(groups=True)
        options = {"cv": GroupKFold(3), "params": {"groups": groups}, "error_score": "raise"}
        result = cross_val_score(Ridge(), x, y, scoring=scorer, **options)
    expected = []
    for train, test in GroupKFold(3).split(x, groups=groups):
        predicted = Ridge().fit(x[train], y[train]).predict(x[test])
        values = [RhoW()(y[test][groups[test] == g], predicted[groups[test] == g]) for g in np.unique(groups[test])]
        expected.append(np.mean(values))
    assert_allclose(result, expected, atol=1e-12)


def test_groups_without_a_coefficient_are_left_out():
    score = RankScore("tau")
    y_true, y_pred, groups = [1, 2, 3, 3, 5], [1, 2, 1, 2, 1], ["q", "q", "tie", "tie", "one"]
    assert score(y_true, y_pred, groups=groups) == correlate_groups(y_pred, y_true, groups, coefficient="tau").mean == 1
    assert np.isnan(score([1, 1], [1, 2], groups=["a", "a"]))


def test_sample_weights_are_refused(data):
    x, y = data
    model = Ridge().fit(x, y)
    with pytest.raises(OptionError, match="sample_weight cannot be used: a rank correlation weighs the items"):
        tau_w_scorer(model, x, y, sample_weight=np.ones(len(y)))


def test_invalid_input_is_refused(data):
    x, y = data
    with pytest.raises(DimensionError, match=r"must have one dimension; got an array of shape \(90, 2\)"):
        tau_w_scorer(Ridge().fit(x, np.column_stack([y, y])), x, np.column_stack([y, y]))
    with pytest.warns(UndefinedCorrelationWarning):
        assert np.isnan(RankScore()(np.ones(5), np.arange(5)))
    with pytest.raises(OptionError, match="coefficient must be"):
        rank_scorer("kendall")
