"""Tests of choices among outcomes: likelihood, published fits, clusters, rank intervals and refusals."""

import csv
import itertools
import math
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, softmax
from scipy.stats import chi2, kendalltau, multivariate_normal, norm, t

from adaptive import ChoiceAnswers, Choices, Comparisons, ModelError, Prior, bradley_terry, merge_swapped
from adaptive.choices._standard_errors import cluster_products
from adaptive.errors import AdaptiveError
from adaptive.plots import plot_in_top, plot_strengths
from rankcorr import OptionError, Ranking
from tests.adaptive import naive
from tests.adaptive.strategies import simulate_votes
from tests.rankcorr.plots.conftest import title_of


def published_rows(data_dir, name):
    with (data_dir / "published" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


@pytest.mark.real_data
def test_the_fit_to_the_puddings_of_davidson_is_as_published(data_dir):
    """Worths of Davidson (1970); standard errors of R's PlackettLuce, with the sum of log-worths fixed."""
    left, right, grades, counts = [], [], [], []
    for i, j, _, wins, losses, ties in published_rows(data_dir, "pudding.csv"):
        for grade, count in ((1, wins), (-1, losses), (0, ties)):
            for column, value in ((left, int(i) - 1), (right, int(j) - 1), (grades, grade), (counts, int(count))):
                column.append(value)
    fit = Choices.from_grades(range(6), left, right, grades, weights=counts).fit(prior=math.inf)
    worths = np.exp(fit.theta) / np.exp(fit.theta).sum()
    assert (worths[0].round(4), worths[5].round(4)) == (0.1388, 0.2024)
    assert math.exp(fit.others["tie"][0]) == pytest.approx(0.7468, abs=1e-4)
    assert fit.standard_errors[0] == pytest.approx(0.121949, abs=1e-6)
    assert fit.others["tie"][1] == pytest.approx(0.0825, abs=1e-4)


@pytest.mark.real_data
def test_the_advantage_of_baseball_at_home_is_as_published(data_dir):
    """Agresti, Categorical Data Analysis (2002), tables 10.10 and 10.11: the effect of playing at home, and worths."""
    rows = published_rows(data_dir, "baseball.csv")
    teams = sorted({home for home, *_ in rows})
    votes = [
        (teams.index(home), teams.index(away), grade, int(count))
        for home, away, *counts in rows
        for grade, count in zip((1, -1), counts, strict=True)
    ]
    left, right, grades, counts = zip(*votes, strict=True)
    fit = Choices.from_grades(teams, left, right, grades, weights=counts, side_bias=True).fit(prior=math.inf)
    assert [round(value, 3) for value in fit.others["side"]] == [0.302, 0.131]
    worths = np.exp(fit.theta) / np.exp(fit.theta).sum()
    assert sorted(worths.round(3)) == [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220]
    games = (np.repeat(column, counts) for column in (left, right, grades))
    votes, options = Comparisons(teams, *games), {"oversight": 0, "side_bias": True}
    of_votes = bradley_terry(votes, prior=Prior(math.inf, side_sd=100), **options)
    assert round(of_votes.side_bias, 3) == 0.302
    assert_allclose(of_votes.theta, fit.theta, atol=1e-5)
    shrunk = bradley_terry(votes, prior=math.inf, **options)
    assert 0.2 < shrunk.side_bias < 0.3  # an infinite prior is that of the strengths alone
    alone = Choices.from_grades(teams, left, right, grades, weights=counts).fit(prior=math.inf)
    strengths = alone.theta - alone.theta[teams.index("Baltimore")]
    assert sorted(strengths.round(2)) == [0, 0.68, 1.11, 1.25, 1.29, 1.44, 1.58]


def subtract_item(fit, item):
    """Strengths less that of one item, and the standard errors of these differences."""
    place, n_items = fit.items.index(item), len(fit.items)
    contrasts = np.eye(n_items)
    contrasts[:, place] -= 1.0
    variances = np.diagonal(contrasts @ fit.covariance[:n_items, :n_items] @ contrasts.T)
    return fit.theta - fit.theta[place], np.sqrt(np.maximum(0.0, variances))


def test_the_choice_among_german_parties_is_as_published():
    """Counts, estimates and standard errors in the output of the examples of R's psychotools: GermanParties2009."""
    parties = ["none", "Linke", "Gruene", "SPD", "CDU/CSU", "FDP"]
    wins = [119, 25, 23, 38, 34, 124, 69, 76, 128, 125, 83, 70, 137, 134, 106]  # of 192, of the first of each pair
    pairs = [(first, second) for second in range(6) for first in range(second)]
    counts = [count for won in wins for count in (won, 192 - won)]
    left, right = np.repeat([pair for pair in pairs for _ in range(2)], counts, axis=0).T
    votes = Comparisons(parties, left, right, np.repeat([1, -1] * 15, counts))
    fit = Choices.from_pairs(votes).fit(prior=math.inf)
    strengths, errors = subtract_item(fit, "FDP")
    assert strengths.round(4).tolist() == [-0.3756, -0.6161, 1.1858, 0.8131, 0.1756, 0]
    assert errors.round(4).tolist() == [0.0890, 0.0910, 0.0951, 0.0907, 0.0875, 0]
    of_votes = bradley_terry(votes, prior=math.inf, oversight=0)
    assert_allclose(of_votes.theta, fit.theta, atol=1e-6)
    assert_allclose(of_votes.standard_errors, fit.standard_errors, atol=1e-6)


def test_grades_of_typewriter_ribbons_have_the_strengths_of_the_log_linear_model():
    """Data of Agresti, Analysis of Ordinal Paired Comparison Data (1992), table 1.

    Estimates and errors are those of statsmodels 0.15 for the equivalent model of the counts: Poisson, with a constant
    for each pair.
    """
    counts = """4 4 0 5 5 8 4/5 12 4 6 0 2 1/0 2 2 2 5 15 4/4 4 5 4 2 8 3/6 9 3 4 1 4 3/2 4 1 6 4 8 5/5 5 6 6 1 4 3
    0 1 0 3 1 13 12/1 6 3 4 3 11 2/6 12 5 3 1 3 0""".replace("\n", "/")
    rows = [[int(count) for count in row.split()] for row in counts.split("/")]  # from 3, left is much better
    pairs = [(second, first) for first, second in itertools.combinations(range(5), 2)]
    left, right = np.repeat(pairs, 7, axis=0).T
    choices = Choices.from_grades(range(5), left, right, list(range(3, -4, -1)) * 10, weights=np.ravel(rows))
    fit = choices.fit(prior=math.inf)
    strengths, errors = subtract_item(fit, 0)
    assert strengths.round(6).tolist() == [0, -0.554922, 1.367245, -2.290101, 0.212951]
    assert errors.round(6).tolist() == [0, 0.378992, 0.400484, 0.431708, 0.377169]
    expected = {"grade 0": (0.563752, 0.209057), "grade 1": (0.019378, 0.195705), "grade 2": (0.851986, 0.153200)}
    assert {name: tuple(np.round(values, 6)) for name, values in fit.others.items()} == expected


FRUITS = [["apple", "banana"], ["banana", "orange", "apple"], ["apple", "banana", "orange"], ["apple", "orange"]]
FRUITS += [[["banana", "orange"], "apple"]] * 2


def test_rankings_have_the_strengths_of_plackettluce():
    """Output of R's PlackettLuce 0.4: an example of its vignette, and its tests with half a pseudo-ranking."""
    fit = Choices.from_rankings([list(order) for order in ("AB", "CA", "BA", "BC")]).fit(prior=math.inf)
    strengths, errors = subtract_item(fit, "A")
    assert (strengths.round(4).tolist(), errors.round(4).tolist()) == ([0, 0.8392, 0.4196], [0, 1.3596, 1.5973])
    assert round(-2 * fit.log_likelihood, 4) == 5.1356
    # Half a win and half a loss of each item against a further one.
    pseudo = [pair for fruit in ("apple", "banana", "orange") for pair in ([fruit, "pseudo"], ["pseudo", fruit])]
    weights = [1.0] * len(FRUITS) + [0.5] * len(pseudo)
    fit = Choices.from_rankings([*FRUITS, *pseudo], weights=weights).fit(prior=math.inf)
    assert subtract_item(fit, "apple")[0][:3] == pytest.approx([0, 0.2867987, -0.4636687], abs=1e-6)
    assert fit.others["tie of 2"][0] == pytest.approx(-1.0701129, abs=1e-6)


def test_rankings_with_a_prior_have_the_strengths_of_plackettluce():
    """R's PlackettLuce 0.4.3: normal=list(mu=0, Sigma=1.5^2 I), npseudo=0; its optimizer stops about 1e-5 away."""
    fit = Choices.from_rankings(FRUITS).fit(prior=1.5)
    assert_allclose(fit.theta, [0.0556262, 0.3226309, -0.3782571], atol=2e-5)
    assert_allclose(fit.standard_errors, [0.5320287, 0.5604746, 0.5617825], atol=2e-6)
    assert fit.others["tie of 2"] == pytest.approx((-0.7528194, 0.8293397), abs=2e-5)


def test_rankings_with_ties_have_the_errors_of_the_log_linear_model():
    """By statsmodels 0.15: Poisson counts of the outcomes, with a constant for each choice."""
    fit = Choices.from_rankings(FRUITS).fit(prior=math.inf)
    strengths, errors = subtract_item(fit, "apple")
    assert strengths.round(6).tolist() == [0, 0.344049, -0.555564]
    assert errors.round(6).tolist() == [0, 1.042973, 1.074252]
    assert [round(value, 6) for value in fit.others["tie of 2"]] == [-0.734645, 0.833500]


def test_best_worst_answers_have_the_strengths_of_conditional_logit():
    """By coxph of R's survival 3.5-3, as clogit calls it: the alternatives of a stratum are ordered pairs."""
    answers = ["abcd ad", "abce be", "abce be", "acde ac", "bcde de", "abde bd", "abcd cb", "acde ed"]
    answers += ["bcd bc", "bcd bc", "abe ae", "bcde ce"]
    rows = [(list(members), *chosen) for members, chosen in map(str.split, answers)]
    fit = Choices.from_best_worst(rows, items=list("abcde")).fit(prior=math.inf)
    strengths, errors = subtract_item(fit, "a")
    assert_allclose(strengths[1:], [-0.0217971231, -0.8643399597, -1.0669229104, -1.5990905823], atol=1e-9)
    assert_allclose(errors[1:], [0.6446549184, 0.6827569543, 0.7126480092, 0.7723289124], atol=1e-9)
    assert fit.log_likelihood == pytest.approx(-23.5233217152, abs=1e-9)
    assert Choices.from_best_worst(rows).chance_pvalue() == pytest.approx(0.103093083515, abs=1e-9)  # its score test


def test_the_spread_is_that_of_random_effects_with_the_prior_of_their_scale():
    """By R's lme4 1.1-31, with tolPwrss=1e-13: the maximum of glmer's Laplace approximation times the prior of t."""
    games = "12 21 13 14 15 23 23 42 34 34 53 45 45 14 25 53 16 26 36 64 65 16 15 36"  # the winner first
    left, right = np.array([list(map(int, game)) for game in games.split()]).T - 1
    votes = Comparisons(6, left, right, np.ones(24, np.int8))
    assert Choices.from_pairs(votes).fit().prior_sd == pytest.approx(1.0244360, abs=1e-5)
    assert bradley_terry(votes, oversight=0).prior_sd == pytest.approx(1.0244360, abs=1e-5)


@pytest.mark.real_data
def test_the_fit_to_the_season_of_nascar_is_as_published(data_dir):
    """Hunter, MM Algorithms for Generalized Bradley-Terry Models (2004): log-worths relative to driver 1."""
    races = [[driver for driver in row if driver] for row in published_rows(data_dir, "nascar.csv")]
    places = {}
    for race in races:
        for place, driver in enumerate(race):
            places.setdefault(driver, []).append(place)
    only_losing = {"84", "85", "86", "87"}
    fit = Choices.from_rankings([[d for d in race if d not in only_losing] for race in races]).fit(prior=math.inf)
    drivers = sorted(fit.items, key=lambda driver: (np.mean(places[driver]), driver))
    theta = dict(zip(fit.items, fit.theta - fit.theta[fit.items.index("1")], strict=True))
    assert [theta[driver] for driver in drivers[:3]] == pytest.approx([4.15, 3.62, 2.08], abs=0.006)
    assert [theta[driver] for driver in drivers[-3:]] == pytest.approx([0.03, -0.31, -0.15], abs=0.006)
    with pytest.raises(ModelError, match="without a prior some strengths are infinite"):
        Choices.from_rankings(races).fit(prior=math.inf)


def draw_orders(rng, n_items, number, n_tied):
    orders = []
    for _ in range(number):
        items = rng.permutation(n_items)[: rng.integers(2, n_items + 1)].tolist()
        order = []
        while items:
            size = min(len(items), int(rng.integers(1, n_tied + 1)))
            order.append(sorted(items[:size]))
            items = items[size:]
        orders.append(order)
    return orders


@example(3, 1, 3, 1_676_524_396)  # a tie of three alone
@given(st.integers(2, 5), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
def test_likelihood_of_rankings_equals_the_naive_one(n_items, number, n_tied, seed):
    rng = np.random.default_rng(seed)
    orders = draw_orders(rng, n_items, number, n_tied)
    choices = Choices.from_rankings(orders, items=range(n_items))
    parameters = rng.normal(size=choices.events.design.shape[1]) if choices.events.choice.size else np.zeros(0)
    assume(parameters.size)
    theta, values = parameters[:n_items], parameters[n_items:]
    of_size = {int(name.removeprefix("tie of ")): value for name, value in zip(choices.names, values, strict=True)}
    ties = [of_size.get(size, -np.inf) for size in range(2, n_tied + 1)]  # a size that does not occur is impossible
    expected = sum(naive.plackett_luce(theta, order, ties) for order in orders)
    assert choices.events.probabilities(parameters)[0] == pytest.approx(expected, abs=1e-9)


@given(st.integers(2, 5), st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**32))
def test_likelihood_of_grades_equals_the_naive_one(n_items, number, most, seed):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, number)
    right = (left + rng.integers(1, n_items, number)) % n_items
    grades = rng.integers(-most, most + 1, number)
    grades[0] = most
    choices = Choices.from_grades(range(n_items), left, right, grades)
    occurring = sorted(set(np.abs(grades).tolist()) - {most})
    assert choices.names == tuple("tie" if most == 1 else f"grade {grade}" for grade in occurring)
    parameters = rng.normal(size=n_items + len(occurring))
    of_grades = np.full(most, -np.inf)  # what no vote says is impossible
    of_grades[occurring] = parameters[n_items:]
    rows = zip(left.tolist(), right.tolist(), grades.tolist(), strict=True)
    expected = sum(naive.log_chance_of_grade(parameters[:n_items], *row, of_grades) for row in rows)
    assert choices.events.probabilities(parameters)[0] == pytest.approx(expected, abs=1e-9)


@given(st.integers(3, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_gradient_and_curvature_equal_finite_differences(n_items, number, seed):
    rng = np.random.default_rng(seed)
    sets = [rng.permutation(n_items)[:3].tolist() for _ in range(number)]
    answers = [(items, items[0], items[2]) for items in sets]
    choices = Choices.from_best_worst(answers)
    labels = list(choices.items)
    parameters = rng.normal(size=len(labels))
    theta = dict(zip(labels, parameters, strict=True))
    total, probabilities = choices.events.probabilities(parameters)
    assert total == pytest.approx(sum(naive.log_chance_of_best_worst(theta, *answer) for answer in answers), abs=1e-9)

    def of(values):
        return choices.events.probabilities(np.asarray(values))[0]

    scores = choices.events.scores(probabilities).toarray()
    assert_allclose(scores.sum(axis=0), naive.gradient(of, parameters), atol=1e-6)
    assert_allclose(choices.events.information(probabilities), -np.array(naive.hessian(of, parameters)), atol=1e-4)


@pytest.mark.parametrize("has_ties", [False, True])
def test_pairs_are_fitted_as_by_bradley_terry(has_ties):
    rng = np.random.default_rng(7)
    left = rng.integers(0, 12, 200)
    right = (left + rng.integers(1, 12, 200)) % 12
    winner = np.where(rng.random(200) < 1 / (1 + np.exp((left - right) / 3)), 1, -1)
    winner[: 40 * has_ties] = 0
    votes = Comparisons(12, left, right, winner)
    fixed = Choices.from_pairs(votes).fit(prior=1.3)
    peer = bradley_terry(votes, oversight=0, prior=1.3)
    assert_allclose(fixed.theta, peer.theta - peer.theta.mean(), atol=1e-5)
    estimated = Choices.from_pairs(votes).fit()
    assert estimated.prior_sd == pytest.approx(bradley_terry(votes, oversight=0).prior_sd, rel=5e-3)
    if has_ties:
        assert math.exp(fixed.others["tie"][0]) == pytest.approx(peer.tie_parameter, rel=1e-4)
        assert (fixed.standard_errors >= peer.standard_errors - 1e-9).all()  # the tie parameter is uncertain too


def test_a_covariate_has_its_slope():
    """Simulated with strengths that are confounded with length: the slope of length is 1."""
    rng = np.random.default_rng(11)
    theta = rng.normal(size=10)
    left = rng.integers(0, 10, 6_000)
    right = (left + rng.integers(1, 10, 6_000)) % 10
    lengths = [theta[side] + rng.normal(size=6_000) for side in (left, right)]
    margin = theta[left] - theta[right] + lengths[0] - lengths[1]
    winner = np.where(rng.random(6_000) < 1 / (1 + np.exp(-margin)), 1, -1)
    votes = Comparisons(10, left, right, winner)
    fit = Choices.from_pairs(votes, covariates={"length": tuple(lengths)}).fit(prior=math.inf)
    slope, error = fit.others["length"]
    assert abs(slope - 1) < 3 * error < 0.15
    truth = theta - theta.mean()
    assert np.abs((fit.theta - truth) / fit.standard_errors).max() < 4
    plain = Choices.from_pairs(votes).fit(prior=math.inf)
    assert np.polyfit(truth, plain.theta, 1)[0] > 1.2 > np.polyfit(truth, fit.theta, 1)[0]


@pytest.mark.parametrize("prior", [1, math.inf])
@pytest.mark.parametrize(
    ("unit", "origin"), [(1e-9, 0), (1e-3, 0), (1e4, 0), (1e9, 0), (1, 2e9)], ids=["nano", "milli", "4", "9", "origin"]
)
def test_unit_and_origin_of_a_covariate_do_not_matter(unit, origin, prior):
    votes, _ = simulate_votes(6, 300, seed=5)
    lengths = np.random.default_rng(2).integers(0, 9, (2, 300))
    clusters = np.random.default_rng(3).integers(0, 12, (300, 2))
    first, second = (
        replace(Choices.from_pairs(votes, covariates={"length": tuple(column)}), clusters=clusters).fit(prior=prior)
        for column in (lengths, lengths * unit + origin)
    )
    assert_allclose(first.theta, second.theta, rtol=1e-6)
    assert_allclose(first.standard_errors, second.standard_errors, rtol=1e-6)
    assert_allclose(first.others["length"], np.array(second.others["length"]) * unit, rtol=1e-6)


def test_a_covariate_with_one_outlier_is_kept():
    rng = np.random.default_rng(2)
    lengths = rng.normal(size=(2, 300))
    lengths[:, 0] = 1e7, -1e7
    left = rng.integers(0, 6, 300)
    winner = np.where(rng.logistic(size=300) < lengths[0] - lengths[1], 1, -1)
    votes = Comparisons(6, left, (left + 1) % 6, winner)
    slope, error = Choices.from_pairs(votes, covariates={"length": tuple(lengths)}).fit(prior=1).others["length"]
    assert abs(slope - 1) < 3 * error < 1


def test_a_wide_prior_changes_nothing():
    """Standard errors too: no answer determines the common level, and its rounding must not reach them."""
    votes, _ = simulate_votes(8, 3_000, seed=5)
    unpenalized = Choices.from_pairs(votes).fit(prior=math.inf)
    for prior in (1e5, 1e8, 1e100):
        wide = Choices.from_pairs(votes).fit(prior=prior)
        assert_allclose(wide.theta, unpenalized.theta, rtol=1e-6)
        assert_allclose(wide.standard_errors, unpenalized.standard_errors, rtol=1e-6)


@pytest.mark.parametrize("weight", [1e-12, 1e-9, 1e9])
def test_scaling_the_weights_changes_only_standard_errors(weight):
    rng = np.random.default_rng(4)
    left = rng.integers(0, 5, 300)
    votes = Comparisons(5, left, (left + rng.integers(1, 5, 300)) % 5, rng.choice([-1, 0, 1], 300))
    unweighted = Choices.from_pairs(votes, side_bias=True).fit(prior=math.inf)
    part = Choices.from_pairs(votes, weights=[weight] * 300, side_bias=True).fit(prior=math.inf)
    assert_allclose(part.theta, unweighted.theta, atol=1e-6)
    assert_allclose(part.standard_errors * weight**0.5, unweighted.standard_errors, rtol=1e-6)
    clusters = (np.arange(300) % 25).tolist()
    heavy = Choices.from_pairs(votes, weights=[1e9] * 300, side_bias=True, clusters=clusters).fit(prior=math.inf)
    assert heavy.others["side"][1] > 1e3 * heavy.n_events**-0.5


def test_tie_sizes_that_no_ranking_has_are_impossible():
    rankings = [[["a", "b", "c"], "d"], ["a", "b", "c", "d"], ["d", "a", "c", "b"]]
    choices = Choices.from_rankings(rankings)
    assert choices.names == ("tie of 3",)
    assert np.diff(choices.events.outcome_starts).tolist() == [8, 8, 4, 2, 8, 4, 2]
    assert choices.fit(prior=1).ranking.best_first[0] == 0


def test_weights_count_as_votes_and_clusters_widen_intervals():
    votes = Comparisons.from_labels(["a", "b", "a"], ["b", "c", "c"], ["left", "left", "right"])
    thrice = Comparisons.from_labels(["a", "b", "a"] * 3, ["b", "c", "c"] * 3, ["left", "left", "right"] * 3)
    weighted = Choices.from_pairs(votes, weights=[3, 3, 3]).fit(prior=2)
    repeated = Choices.from_pairs(thrice).fit(prior=2)
    assert_allclose(weighted.theta, repeated.theta, atol=1e-9)
    assert_allclose(weighted.covariance, repeated.covariance, atol=1e-9)
    assert weighted.n_events == 9
    # Each voter gives every answer ten times.
    rng = np.random.default_rng(3)
    left = np.repeat(rng.integers(0, 3, 60), 10)
    right, winner = (left + 1) % 3, np.repeat(rng.choice([1, -1], 60), 10)
    copied = Comparisons(3, left, right, winner)
    clustered = Choices.from_pairs(copied, clusters=np.repeat(np.arange(60), 10).tolist()).fit(prior=math.inf)
    single = Choices.from_pairs(Comparisons(3, left[::10], right[::10], winner[::10])).fit(prior=math.inf)
    assert_allclose(clustered.standard_errors, single.standard_errors, rtol=0.25)
    assert "choices within a cluster depend on each other" in clustered.warnings[0]


def test_one_item_is_better_than_another():
    fit = Choices.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]]).fit(prior=1)
    better, worse = fit.better("a", "c", level=0.95), fit.better("c", "a", level=0.95)
    draws = np.random.default_rng(1).multivariate_normal(fit.theta, fit.covariance, 40_000, method="eigh")
    differences = draws[:, fit.items.index("a")] - draws[:, fit.items.index("c")]
    assert better.probability == pytest.approx((differences > 0).mean(), abs=0.01)
    assert better.interval == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.05)
    assert better.difference == pytest.approx(fit.theta[0] - fit.theta[2])
    assert worse.interval == pytest.approx((-better.interval[1], -better.interval[0]))
    assert (better.standard_error, better.n_samples) == (0, 0)
    for first, second, level, message in [
        ("a", "z", 0.9, "these are no items: 'z'"),
        ("a", "a", 0.9, "an item is compared with another; got 'a' twice"),
        ("a", "b", 1, "level must be a number above 0 and below 1"),
    ]:
        with pytest.raises(ModelError, match=message):
            fit.better(first, second, level=level)


def test_rank_intervals_and_elo_scale():
    orders = [["a", "b", "c"]] * 30 + [["b", "a", "c"]] * 20
    fit = Choices.from_rankings(orders).fit(prior=2)
    intervals = fit.rank_intervals(0.9)
    assert (intervals.low.tolist(), intervals.high.tolist()) == ([1, 1, 3], [2, 2, 3])
    assert_allclose(fit.elo(), 1000 + 400 * fit.theta / math.log(10))
    for options, message in [({"n_samples": 0}, "n_samples"), ({"seed": -1}, "seed"), ({"level": 2}, "level")]:
        with pytest.raises(ModelError, match=message):
            fit.rank_intervals(**options)


def test_top_and_accuracy_follow_from_the_draws():
    fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]] * 3).fit(prior=1)
    ranks = fit.drawn(2_000, 1).ranks
    in_top = fit.in_top(1, n_samples=2_000, seed=1).probability
    assert_allclose(in_top, (ranks == 1).mean(axis=0))
    cut, expected = fit.cut(1, n_samples=2_000, seed=1), fit.expected_correlation("tau", n_samples=2_000, seed=1)
    assert cut.confidence == pytest.approx(in_top[0])
    assert expected.mean == pytest.approx(np.mean([kendalltau(row, [1, 2, 3]).statistic for row in ranks]))
    # Normal differences with the fitted covariance: a is the best if both differences are above 0.
    contrasts = np.array([[1, -1, 0], [1, 0, -1]])
    law = multivariate_normal(contrasts @ fit.theta, contrasts @ fit.covariance @ contrasts.T)
    assert in_top[0] == pytest.approx(1 - law.cdf([0, math.inf]) - law.cdf([math.inf, 0]) + law.cdf([0, 0]), abs=0.03)
    (axes,) = plot_in_top(fit, 1).axes
    assert title_of(axes).endswith(", 9 rankings")
    assert len(pickle.dumps(fit)) < 3_000


def test_few_clusters_widen_every_interval_by_students_t():
    """Quantiles are those of scipy.stats.t; degrees of freedom are the effective number of clusters less 1."""
    rng = np.random.default_rng(4)
    sizes = [8, 4, 4, 2, 2]
    left = rng.integers(0, 3, 20)
    votes = Comparisons(3, left, (left + rng.integers(1, 3, 20)) % 3, rng.choice([-1, 1], 20).astype(np.int8))
    cluster = np.repeat(np.arange(5), sizes)
    alone, few = (Choices.from_pairs(votes, clusters=names).fit(prior=1) for names in (None, cluster.tolist()))
    df = 20**2 / (64 + 16 + 16 + 4 + 4) - 1
    assert (alone.degrees_of_freedom, few.degrees_of_freedom) == (math.inf, pytest.approx(df))
    assert any("there are only 5 clusters" in warning for warning in few.warnings)
    difference, covariance = few.theta[0] - few.theta[1], few.covariance[:2, :2]
    error = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    better = few.better(0, 1, level=0.8)
    assert better.probability == pytest.approx(t.cdf(difference / error, df))
    assert better.interval == pytest.approx(t.interval(0.8, df, difference, error))
    (axes,) = plot_strengths(few, level=0.8).axes
    ends = np.array([segment[:, 0] for segment in axes.collections[0].get_segments()])
    best_first = np.argsort(-few.theta)
    expected = np.array(t.interval(0.8, df, few.theta, few.standard_errors)).T[best_first]
    assert_allclose(ends, expected)
    draws = few.sample(100_000, np.random.default_rng(1))
    for level in (0.05, 0.5, 0.9):
        expected = few.theta + t.ppf(level, df) * np.sqrt(np.diagonal(few.covariance)[:3])
        assert_allclose(np.quantile(draws, level, axis=0), expected, atol=0.03 * few.standard_errors.max())
    # With two kinds of clusters the smaller number counts; votes of weight 0 form no cluster.
    two_ways = replace(Choices.from_pairs(votes), clusters=np.column_stack([np.arange(20), cluster]))
    assert two_ways.fit(prior=1).degrees_of_freedom == pytest.approx(df)
    weights = (cluster < 3).astype(float)
    weighted = Choices.from_pairs(votes, weights=weights, clusters=cluster.tolist()).fit(prior=1)
    assert weighted.degrees_of_freedom == pytest.approx(16**2 / (64 + 16 + 16) - 1)
    unequal = Choices.from_pairs(votes, clusters=[0] * 9 + list(range(1, 12))).fit(prior=1)
    assert "the 12 clusters are of unequal size and count as 4.3" in "".join(unequal.warnings)


def test_the_warning_of_unequal_clusters_counts_the_unequal_kind():
    left = np.arange(30) % 3
    votes = Comparisons(3, left, (left + 1) % 3, np.resize([-1, 1, 1], 30).astype(np.int8))
    names = np.column_stack([np.arange(30), np.repeat([0, 1, 2], [28, 1, 1])])
    with_few = replace(Choices.from_pairs(votes), clusters=names).fit(prior=1)
    assert "there are only 3 clusters" in "".join(with_few.warnings)
    assert "imprecise; intervals follow Student's t with 1.0 degrees of freedom" in "".join(with_few.warnings)
    tenths = Choices.from_pairs(votes, weights=[0.1] * 30, clusters=(np.arange(30) % 10).tolist()).fit(prior=1)
    assert "imprecise" not in "".join(tenths.warnings)


def test_anytime_intervals_use_students_t_too():
    rng = np.random.default_rng(4)
    left = rng.integers(0, 6, 600)
    right = (left + rng.integers(1, 6, 600)) % 6
    winner = np.where(rng.random(600) < expit((right - left) / 2), 1, -1).astype(np.int8)
    few = Choices.from_pairs(Comparisons(6, left, right, winner), clusters=(np.arange(600) % 3).tolist()).fit(prior=1)
    widening = t.ppf(0.95, few.degrees_of_freedom) / norm.ppf(0.95)
    wider = replace(few, covariance=few.covariance * widening**2, degrees_of_freedom=math.inf)
    intervals, expected = few.rank_intervals(anytime=True), wider.rank_intervals(anytime=True)
    assert intervals.low.tolist() == expected.low.tolist()
    assert intervals.high.tolist() == expected.high.tolist()
    assert few.n_certain_of_top(3) == wider.n_certain_of_top(3)
    as_normal = replace(few, degrees_of_freedom=math.inf).rank_intervals(anytime=True)
    assert (as_normal.high - as_normal.low).sum() < (intervals.high - intervals.low).sum()


def test_two_way_clusters_are_summed_minus_their_intersection():
    """The middle of the sandwich estimator: voters plus prompts minus their intersection (Cameron et al. 2011)."""
    rng = np.random.default_rng(5)
    left = rng.integers(0, 4, 300)
    votes = Comparisons(4, left, (left + 1) % 4, rng.choice([1, -1], 300))
    voter, prompt = rng.integers(0, 40, 300), rng.integers(0, 30, 300)

    choices = Choices.from_pairs(votes)
    _, _, probabilities = choices.maximum(np.zeros(4), math.inf)

    def middle(names):
        clusters = Choices.from_pairs(votes, clusters=names).clusters
        return cluster_products(choices.events, clusters, probabilities)

    two_ways = replace(choices, clusters=np.column_stack([voter, prompt]))
    pairs = list(zip(voter.tolist(), prompt.tolist(), strict=True))
    expected = middle(voter.tolist()) + middle(prompt.tolist()) - middle(pairs)
    assert np.linalg.eigvalsh(expected)[1:].min() > 0  # otherwise negative directions would be set to 0
    assert_allclose(cluster_products(choices.events, two_ways.clusters, probabilities), expected, atol=1e-10)
    # The errors of the fit: by leaving out voters, prompts and both, or those of the model where these are larger.
    columns = voter, prompt, np.array([pairs.index(pair) for pair in pairs])
    spread = naive_jackknife(choices, columns[0], math.inf) + naive_jackknife(choices, columns[1], math.inf)
    spread -= naive_jackknife(choices, columns[2], math.inf)
    errors = np.sqrt(np.maximum(np.diagonal(spread), np.diagonal(choices.fit(prior=math.inf).covariance)))
    assert_allclose(two_ways.fit(prior=math.inf).standard_errors, errors, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_of_nearly_all_answers_is_left_out_exactly(seed):
    """With few answers left and a wide prior, conjugate gradients need more steps than there are parameters."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 8, 400)
    votes = Comparisons(8, left, (left + rng.integers(1, 8, 400)) % 8, rng.choice([-1, 0, 1], 400, p=[0.3, 0.1, 0.6]))
    cluster = np.maximum(0, np.arange(400) - 394)
    choices = Choices.from_pairs(votes)
    fit = choices.fit(prior=1000)
    inverse = choices.scores_at(fit, 1000)[1][:, :8]
    inverse[:8] -= inverse[:8].mean(axis=0)
    spread = naive_jackknife(choices, cluster, 1000) + inverse @ inverse.T / 1000**2
    expected = np.sqrt(np.maximum(np.diagonal(spread), np.diagonal(fit.covariance)))
    errors = replace(choices, clusters=cluster).fit(prior=1000).standard_errors
    assert_allclose(errors, expected[:8], rtol=1e-4)


def naive_jackknife(choices: Choices, cluster: np.ndarray, prior: float) -> np.ndarray:
    """Leave out each cluster and take one Newton step, with dense matrices: (G - 1) / G times the sum of squares.

    The first columns and rows are those of strengths with mean 0.
    """
    fit, events = choices.fit(prior=prior), choices.events
    n_items, n_parameters = len(choices.items), events.design.shape[1]
    at = np.concatenate([fit.theta, [value for value, _ in fit.others.values()]])
    slopes, curvatures = [], []
    for event, (first, last) in enumerate(itertools.pairwise(events.outcome_starts.tolist())):
        design = events.design[first:last].toarray()
        likely = softmax(design @ at)
        slopes.append(events.count[event] * (design[events.choice[event] - first] - likely @ design))
        curvatures.append(events.count[event] * design.T @ (np.diag(likely) - np.outer(likely, likely)) @ design)
    penalty = np.zeros((n_parameters, n_parameters))
    penalty[:n_items, :n_items] = 1 / n_items if prior == math.inf else np.eye(n_items) / prior**2
    moves = []
    for name in np.unique(cluster):
        rest = np.sum(np.array(curvatures)[cluster != name], axis=0) + penalty
        moves.append(np.linalg.solve(rest, np.sum(np.array(slopes)[cluster == name], axis=0)))
    moves = np.array(moves)
    moves[:, :n_items] -= moves[:, :n_items].mean(axis=1, keepdims=True)
    return (1 - 1 / len(moves)) * moves.T @ moves


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_clusters=st.integers(2, 12), largest=st.integers(1, 60))
def test_cluster_errors_equal_the_naive_jackknife(seed, n_clusters, largest):
    """Graded votes with ties, weights and a bias for a side; the clusters are of very unequal size."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(2, 6))
    cluster = np.concatenate([np.arange(n_clusters), np.zeros(largest, int), rng.integers(0, n_clusters, 30)])
    left = rng.integers(0, n_items, cluster.size)
    choices = Choices.from_grades(
        range(n_items),
        left,
        (left + rng.integers(1, n_items, cluster.size)) % n_items,
        rng.integers(-1, 2, cluster.size),
        weights=rng.integers(1, 4, cluster.size),
        side_bias=True,
    )
    clustered = replace(choices, clusters=cluster).fit(prior=1)
    alone, inverse = choices.fit(prior=1).covariance, choices.scores_at(choices.fit(prior=1), 1)[1]
    centred = inverse[:n_items] - inverse[:n_items].mean(axis=0)
    spread = naive_jackknife(choices, cluster, 1)
    rows = np.concatenate([centred, inverse[n_items:]])
    spread += rows[:, :n_items] @ rows[:, :n_items].T
    assert_allclose(
        clustered.standard_errors, np.sqrt(np.maximum(np.diagonal(spread), np.diagonal(alone)))[:n_items], rtol=1e-6
    )
    side = (n_items + choices.names.index("side"),) * 2
    assert clustered.others["side"][1] == pytest.approx(math.sqrt(max(spread[side], alone[side])))
    # A difference has the larger error of both, unless directions without any variance had to be left out.
    contrast = np.zeros(len(spread))
    contrast[:2] = 1, -1
    variances = [contrast @ matrix @ contrast for matrix in (spread, alone, clustered.covariance)]
    assert variances[2] >= max(variances[:2]) * (1 - 1e-6)
    draws = clustered.sample(50, rng)
    assert_allclose(draws.mean(axis=1), 0, atol=1e-12)


def test_clusters_of_answers_without_weight_change_nothing():
    rng = np.random.default_rng(3)
    left = rng.integers(0, 4, 90)
    votes = Comparisons(4, left, (left + rng.integers(1, 4, 90)) % 4, rng.choice([-1, 0, 1], 90))
    cluster = np.where(np.arange(90) < 40, np.arange(90) % 5, np.arange(90))
    weights = (np.arange(90) < 40) * 1.0
    fits = [
        Choices.from_pairs(
            Comparisons(4, votes.left[rows], votes.right[rows], votes.winner[rows]),
            weights=weights[rows],
            clusters=cluster[rows].tolist(),
        )
        for rows in (slice(90), slice(40))
    ]
    first, second = (choices.fit(prior=1).covariance for choices in fits)
    assert_allclose(first, second, rtol=1e-6)
    assert fits[0].chance_pvalue() == pytest.approx(fits[1].chance_pvalue())


def test_errors_are_finite_if_one_cluster_has_all_votes_on_an_item():
    """Item 2 is in votes of voter 0 alone: without them, its strength is unknown, and the model's error holds."""
    left, right = np.array([0, 1, 0, 1, 0, 2, 2, 1]), np.array([1, 0, 1, 0, 2, 0, 1, 2])
    votes = Comparisons(3, left, right, np.array([1, 1, -1, 1, 1, 1, -1, -1]))
    fit = Choices.from_pairs(votes, clusters=[1, 2, 3, 4, 0, 0, 0, 0]).fit(prior=math.inf)
    alone = Choices.from_pairs(votes).fit(prior=math.inf)
    assert np.isfinite(fit.covariance).all()
    assert fit.standard_errors[2] == pytest.approx(alone.standard_errors[2])


def test_an_item_that_never_lost_has_no_small_error_by_clusters():
    """One answer for each prompt: clusters change nothing, and the scores of the winner are all next to 0."""
    left = np.concatenate([np.zeros(30, int), np.ones(22, int)])
    votes = Comparisons(3, left, left + 1, np.concatenate([np.ones(31, int), -np.ones(21, int)]))
    clustered = Choices.from_pairs(votes, clusters=list(range(52))).fit()
    assert_allclose(clustered.standard_errors, Choices.from_pairs(votes).fit().standard_errors, rtol=1e-2)


def naive_score_pvalue(choices):
    """Naive: event by event, with the other parameters fitted by a general optimiser, and a pseudo-inverse."""
    events, n_items = choices.events, len(choices.items)
    parts = np.split(events.design.toarray(), events.outcome_starts[1:-1])
    choice_places = events.choice - events.outcome_starts[:-1]

    def chances(others):
        return [softmax(design[:, n_items:] @ others) for design in parts]

    def cost(others):
        of_events = zip(events.count, chances(others), choice_places, strict=True)
        return -sum(count * math.log(likely[place]) for count, likely, place in of_events)

    others = minimize(cost, np.zeros(len(choices.names)), tol=1e-10).x
    means = [likely @ design for likely, design in zip(chances(others), parts, strict=True)]
    scores = np.array([design[place] - mean for design, place, mean in zip(parts, choice_places, means, strict=True)])
    information = sum(
        count * ((design - mean).T * likely @ (design - mean))
        for count, design, likely, mean in zip(events.count, parts, chances(others), means, strict=True)
    )
    adjusted = np.eye(n_items, len(information))
    adjusted[:, n_items:] = -information[:n_items, n_items:] @ np.linalg.inv(information[n_items:, n_items:])
    variance = inverse = adjusted @ information @ adjusted.T
    inverse = np.linalg.pinv(inverse, rcond=1e-9, hermitian=True)
    slopes = scores * events.count[:, np.newaxis] @ adjusted.T
    if choices.clusters is not None:
        n_clusters = len(set(choices.clusters.tolist()))
        sums = [slopes[choices.clusters == cluster].sum(axis=0) for cluster in range(n_clusters)]
        variance = n_clusters / (n_clusters - 1) * np.transpose(sums) @ sums
    total, squares = np.trace(inverse @ variance), np.trace(inverse @ variance @ inverse @ variance)
    slope = slopes.sum(axis=0)
    return chi2.sf(slope @ inverse @ slope * total / squares, total**2 / squares)


@pytest.mark.parametrize("has_clusters", [False, True])
def test_the_chance_test_equals_its_formula(has_clusters):
    """Two parts of the graph and an item without a vote, with ties, a bias for a side and a covariate."""
    rng = np.random.default_rng(4)
    part = rng.integers(0, 2, 150)
    left = 4 * part + rng.integers(0, 4, 150)
    right = 4 * part + (left + rng.integers(1, 4, 150)) % 4
    lengths = rng.normal(size=150), rng.normal(size=150)
    choices = Choices.from_pairs(
        Comparisons(9, left, right, rng.choice([1, 1, 0, -1], 150)),
        weights=rng.integers(1, 4, 150),
        side_bias=True,
        covariates={"length": lengths},
        clusters=rng.integers(0, 12, 150).tolist() if has_clusters else None,
    )
    assert choices.chance_pvalue() == pytest.approx(naive_score_pvalue(choices), rel=1e-5)


@pytest.mark.parametrize(
    ("choices", "notes"),
    [
        (
            Choices.from_best_worst([(list("abc"), "a", "c"), (list("abd"), "a", "d")] * 20, items=list("abcdefg")),
            ["3 items were never compared", "1 item won every", "2 items lost every"],
        ),
        (
            Choices.from_rankings([["a", ["b", "c"]], [["d", "e"], "f"]] * 9),
            ["fall into 2 parts", "1 item won", "1 item lost"],
        ),
        (Choices.from_rankings([["a", "b"], ["b", "a"]]), ["do not rule out chance"]),
        (Choices.from_grades(list("ab"), [0, 1] * 20, [1, 0] * 20, [0, 0, 1, 1] * 10), ["do not rule out chance"]),
    ],
)
def test_caveats_of_a_ranking_are_warnings(choices, notes):
    warnings = choices.fit(prior=2).warnings
    assert [note in warning for note, warning in zip(notes, warnings, strict=True)] == [True] * len(notes)


def test_a_spread_at_its_bound_is_noted():
    fit = Choices.from_rankings([list("abcdefgh")], weights=[1e9]).fit()
    assert "the spread of the strengths is held at" in fit.warnings[-1]


def test_items_with_the_same_answers_are_ties():
    answers = [(["fig", "kiwi", "pear", "plum"], "fig", "plum"), (["fig", "kiwi", "lime", "plum"], "kiwi", "plum")]
    assert Choices.from_best_worst(answers).fit(prior=1).ranking.ranks.tolist() == [1.5, 1.5, 3.5, 5, 3.5]


def test_rankings_may_be_objects():
    orders = [["a", ["b", "c"]], ["c", "a", "b"]]
    objects = Choices.from_rankings(map(Ranking.from_order, orders)).fit(prior=1)
    assert_allclose(objects.theta, Choices.from_rankings(orders).fit(prior=1).theta)


def test_top_lists_rank_their_items_above_all_others():
    top = Choices.from_rankings([["a", "b"], ["a", "c"]], items=["a", "b", "c", "d"], unlisted="below").fit(prior=1)
    assert top.theta[3] == top.theta.min() < top.theta[1]
    partial = Choices.from_rankings([["a", "b"], ["a", "c"]], items=["a", "b", "c", "d"]).fit(prior=1)
    assert partial.theta[3] > partial.theta[1]


VOTES = Comparisons.from_labels(["a", "b"], ["b", "c"], ["left", "tie"])
MASKED = np.ma.array([1, 0], mask=[False, True])
ALL_TIED = Comparisons.from_labels(["a", "b"], ["b", "c"], ["tie", "tie"])
CHAIN = Comparisons.from_labels(["a", "b"], ["b", "c"], ["left", "left"])
ONE_SIDED = Comparisons.from_labels(["a", "b", "c"], ["b", "c", "a"], ["left"] * 3)


def covariate_of(left, right):
    """Six votes on one pair, won alternately, with a covariate."""
    votes = Comparisons.from_labels(["a"] * 6, ["b"] * 6, ["left", "right"] * 3)
    return Choices.from_pairs(votes, covariates={"x": (left, right)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Choices.from_pairs([1]), "votes on pairs are Comparisons"),
        (lambda: Choices.from_pairs(VOTES, covariates=["l"]), "covariates must be a dict of name to"),
        (lambda: Choices.from_pairs(VOTES, covariates={"side": ([1, 2], [3, 4])}), "cannot be called 'side'"),
        (lambda: Choices.from_pairs(VOTES, covariates={"l": 3}), "covariate 'l' needs 2 finite numbers"),
        (lambda: Choices.from_pairs(VOTES).fit(prior=1e-200), "prior must be a positive number, from 1e-100 to 1e100"),
        (lambda: Choices.from_pairs(VOTES, weights=MASKED), "weights must be 2 finite numbers from 0; got"),
        (lambda: Choices.from_grades(["a", "b"], [0, 0], [1, 1], MASKED), "grades must be .*; got: .*mask"),
        (lambda: Choices.from_pairs(VOTES, weights=[1, -1]), "weights must be 2 finite numbers from 0"),
        (lambda: Choices.from_pairs(VOTES, clusters="ab"), "clusters must be 2 names"),
        (lambda: Choices.from_pairs(VOTES, clusters=np.zeros((2, 2), int)), "clusters must be one name"),
        (lambda: Choices.from_pairs(VOTES, clusters=[["a"], "b"]), "clusters must be one name for each answer"),
        (lambda: Choices.from_grades(["a", "b"], [0], [0], [1]), "vote 0 compares an item with itself"),
        (lambda: Choices.from_grades(["a", "b"], [0], [2], [1]), "left and right must be indices into items, from 0"),
        (lambda: Choices.from_grades(["a", "b"], [0], [1], [0]), "at least one grade must prefer a side"),
        (lambda: Choices.from_grades(["a", "b"], [0, 1], [1], [1]), "left, right and grades must have"),
        (lambda: Choices.from_rankings([["a", "a"]]), "ranking 0 names an item twice"),
        (lambda: Choices.from_rankings([["a", []]]), "ranking 0 names an item twice, or has an empty group"),
        (lambda: Choices.from_rankings([["a", "b"]], items=["a"]), "rankings name items that are not in items: 'b'"),
        (lambda: Choices.from_rankings([["a"]], unlisted="worst"), "unlisted must be one of"),
        (lambda: Choices.from_rankings([[list(range(30)), *range(30, 60)]]), "ties of 30 among all items"),
        (lambda: Choices.from_best_worst([(["a", "b"], "a", "c")]), "answer 0 must have different items"),
        (lambda: Choices.from_rankings("abc"), "rankings must be a list of rankings; got 'abc'"),
        (lambda: Choices.from_rankings(["abc"]), "ranking 0 must be a list of labels, best first; got 'abc'"),
        (lambda: Choices.from_rankings([["a", {"b": 1}]]), "labels must be hashable; ranking 0 has"),
        (lambda: Choices.from_best_worst([("a", "b")]), r"answer 0 must be \(list of items shown"),
        (lambda: Choices.from_rankings([["a"]]).fit(), "a fit needs two items and a choice"),
        (lambda: Choices.from_pairs(VOTES).fit(prior=math.inf), "without a prior some strengths are infinite"),
        (lambda: Choices.from_pairs(ALL_TIED).fit(prior=1), "all answers are ties, which do not order the items"),
        (lambda: Choices.from_pairs(ONE_SIDED, side_bias=True).fit(prior=1), "an effect other than the strengths has"),
        (lambda: Choices.from_pairs(ONE_SIDED, side_bias=True).fit(prior=math.inf), "an effect other than the"),
        (lambda: Choices.from_pairs(CHAIN).fit(prior=1e10), "with a prior as wide as this some strengths are infinite"),
        (lambda: covariate_of([5] * 6, [5] * 6).fit(prior=1), "a covariate decides every answer or is the same on"),
        (lambda: covariate_of([1e-3, 0] * 3, [0, 1e-3] * 3).fit(prior=1), "a covariate decides every answer"),
        (lambda: covariate_of([1e308] * 6, [-1e308] * 6), "covariate 'x' differs between the sides by more than 1e"),
        (
            lambda: Choices.from_pairs(ONE_SIDED, weights=[0, 0, 0], clusters=[1, 2, 3]).fit(prior=1),
            "standard errors between clusters need choices with a weight above 0",
        ),
        (lambda: Choices.from_pairs(VOTES, weights=["a", "b"]), "weights must be 2 finite numbers from 0"),
    ],
)
def test_invalid_choices_are_named(call, message):
    with pytest.raises((AdaptiveError, OptionError), match=message):
        call()


def odds_at_400_points(choices):
    """Probability of each outcome of the first event over that of the last, if the first item is 400 points ahead."""
    theta = np.zeros(choices.events.design.shape[1])
    theta[0] = math.log(10)
    probabilities = choices.events.probabilities(theta)[1][: choices.events.outcome_starts[1]]
    return probabilities / probabilities[::-1]


def test_odds_at_400_points_depend_on_the_kind_of_answer():
    """The odds that the docstring of `elo` states, from the probabilities of the model."""
    assert_allclose(odds_at_400_points(Choices.from_pairs(VOTES))[0], 10)
    grades = Choices.from_grades(["a", "b"], [0, 0, 0, 0], [1, 1, 1, 1], [2, 1, 0, -2])
    assert_allclose(odds_at_400_points(grades), [10, 10**0.5, 1, 10**-0.5, 0.1])
    best_worst = Choices.from_best_worst([(["a", "b", "c"], "a", "b")])
    shares = best_worst.events.probabilities(np.array([math.log(10), 0, 0.7]))[1]
    assert_allclose(shares[0] / shares[2], 100)  # (a, b), (a, c), (b, a), ...
    above = Choices.from_rankings([["a", "b"], ["b", "a"]])
    assert_allclose(odds_at_400_points(above)[0], 10)


@pytest.mark.parametrize("side", [0.0, 0.8])
def test_merged_votes_have_the_product_of_the_odds_of_single_ones(side):
    """All outcomes of two independent votes from both sides, weighted by their probabilities at half of 400 points."""
    half, names = math.log(10) / 2, ("left", "tie", "right")
    exponents = {
        sides: [(shift + side) / 2, -0.4, -(shift + side) / 2] for sides, shift in (("ab", half), ("ba", -half))
    }
    shares = {sides: np.exp(values) / np.exp(values).sum() for sides, values in exponents.items()}
    rows, weights, prompts = [], [], []
    for number, (one, two) in enumerate(product(range(3), repeat=2)):
        rows += [("a", "b", names[one]), ("b", "a", names[two])]
        weights += [shares["ab"][one] * shares["ba"][two]] * 2
        prompts += [number] * 2
    merged = merge_swapped(ChoiceAnswers("pairs", tuple(rows), np.array(weights), prompts=tuple(prompts)))
    theta = merged.choices().fit(prior=math.inf).theta
    assert_allclose(theta[0] - theta[1], 2 * half, atol=1e-8)


def test_effects_that_the_answers_cannot_separate_from_strengths_are_noted():
    """Item 0 is always on the left, and the size of an item is the same in every answer."""
    left, right, grades = [0] * 40, [1] * 40, [1] * 28 + [-1] * 12
    separate = "cannot separate the strengths from another effect"
    assert any(separate in note for note in Choices.from_grades(2, left, right, grades, side_bias=True).fit().warnings)
    sizes = {"size": (np.full(40, 7.0), np.full(40, 5.0))}
    assert any(
        separate in note for note in Choices.from_grades(2, left, right, grades, covariates=sizes).fit().warnings
    )
    apart = Choices.from_grades(3, left, right, grades, side_bias=True).fit()  # item 2 was never compared
    assert any(separate in note for note in apart.warnings)
    both = left + right, right + left, grades + [-grade for grade in grades]
    for choices in (Choices.from_grades(2, left, right, grades), Choices.from_grades(2, *both, side_bias=True)):
        assert not any(separate in note for note in choices.fit().warnings)
