"""Reliability of strengths: infit by its definition, separation against the truth, and split halves."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adaptive import Comparisons, ModelError, bradley_terry, reliability, thurstone
from rankcorr import OptionError


def simulate_voters(n_items, n_votes, seed, *, n_voters=None, sd=1.5, ties=0.0):
    rng = np.random.default_rng(seed)
    theta = sd * rng.standard_normal(n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    winner = np.where(rng.logistic(size=n_votes) < theta[left] - theta[right], 1, -1)
    winner[rng.random(n_votes) < ties] = 0
    voters = () if n_voters is None else (range(n_voters), np.arange(n_votes) % n_voters)
    return Comparisons(n_items, left, right, winner, *voters), theta


@pytest.mark.parametrize(
    ("fit", "options"),
    [
        (bradley_terry, {"oversight": 0.1}),
        (bradley_terry, {"ties": "half", "side_bias": True}),
        (bradley_terry, {"voters": True}),
        (thurstone, {}),
    ],
)
def test_infit_equals_its_definition(fit, options):
    votes, _ = simulate_voters(6, 120, 1, n_voters=5, ties=0.2)
    strengths = fit(votes, prior=1.5, **options)
    result, at = reliability(strengths, n_splits=1), strengths.parameters
    squares, variances = {}, {}
    for left, right, winner, voter in zip(
        *map(list, (votes.left, votes.right, votes.winner, votes.voter)), strict=True
    ):
        group = voter if options.get("voters") else 0
        margin = at.discrimination[group] * (at.theta[left] - at.theta[right]) + at.side[group]
        if fit is thurstone:
            chances = [0.5 * math.erfc(-margin / math.sqrt(2)), 0.0, 0.5 * math.erfc(margin / math.sqrt(2))]
        else:
            weights = [math.exp(margin / 2), at.nu, math.exp(-margin / 2)]
            chances = [weight / sum(weights) for weight in weights]
        e = at.oversight[group]
        chances = [(1 - e) * chances[0] + e * chances[2], chances[1], (1 - e) * chances[2] + e * chances[0]]
        mean = chances[0] + chances[1] / 2
        variance = sum(chance * (score - mean) ** 2 for chance, score in zip(chances, (1, 0.5, 0), strict=True))
        for name in (("item", left), ("item", right), ("voter", voter)):
            squares[name] = squares.get(name, 0) + ((winner + 1) / 2 - mean) ** 2
            variances[name] = variances.get(name, 0) + variance
    infit = {name: squares[name] / variances[name] for name in squares}
    assert_allclose(result.infit, [infit["item", item] for item in range(6)])
    assert_allclose(result.voter_infit, [infit["voter", voter] for voter in range(5)])


def test_a_random_voter_and_an_item_without_votes():
    votes, _ = simulate_voters(8, 600, 2, n_voters=6, sd=2.5)
    rng = np.random.default_rng(1)
    winner = np.where(votes.voter == 3, rng.choice([-1, 1], 600), votes.winner)
    votes = Comparisons(9, votes.left, votes.right, winner, range(6), votes.voter)
    result = reliability(bradley_terry(votes), n_splits=2)
    assert np.argmax(result.voter_infit) == 3
    assert result.voter_infit[3] > 1.5
    assert np.isnan(result.infit).tolist() == [False] * 8 + [True]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("n_votes", "prior"), [(80, None), pytest.param(300, None, marks=pytest.mark.nightly), (2_000, math.inf)]
)
def test_reliability_is_the_share_of_variance_without_error(n_votes, prior):
    shares, stated, halves = [], [], []
    for seed in range(30):
        votes, theta = simulate_voters(15, n_votes, seed)
        try:
            result = reliability(bradley_terry(votes, prior=prior, oversight=0), n_splits=4)
        except ModelError:  # without a prior, a half may have infinite strengths
            continue
        strengths = bradley_terry(votes, prior=prior, oversight=0).theta
        shares.append(np.corrcoef(theta, strengths)[0, 1] ** 2)
        stated.append(result.scale_separation)
        halves.append(result.split_half)
        assert_allclose(result.scale_separation, result.separation**2 / (1 + result.separation**2))
    assert len(shares) >= 10
    assert_allclose(np.mean(stated), np.mean(shares), atol=0.06)
    assert_allclose(np.nanmean(halves), np.mean(shares), atol=0.08)


def test_halves_split_voters_and_depend_only_on_the_seed():
    votes, _ = simulate_voters(10, 400, 3, n_voters=8)
    strengths, calls = bradley_terry(votes, prior=2), []
    result = reliability(strengths, n_splits=5, seed=4, progress=calls.append)
    assert (result.unit, calls) == ("voters", [1] * 5)
    assert result == reliability(strengths, n_splits=5, seed=4)
    assert result.split_half != reliability(strengths, n_splits=5, seed=5).split_half
    few = Comparisons(10, votes.left, votes.right, votes.winner, range(3), votes.voter % 3)
    assert reliability(bradley_terry(few, prior=2), n_splits=1).unit == "votes"
    assert result.to_dict()["unit"] == "voters"
    assert list(result.to_frame().columns) == ["item", "infit"]


def test_halves_of_coin_flips_have_a_reliability_of_at_least_minus_1():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 5, 40)
    votes = Comparisons(5, left, (left + rng.integers(1, 5, 40)) % 5, rng.choice([-1, 1], 40).astype(np.int8))
    halves = [reliability(bradley_terry(votes, prior=1), n_splits=1, seed=seed).split_half for seed in range(10)]
    assert -1 <= min(halves) < 0
    two = Comparisons(2, [0] * 50, [1] * 50, [1] * 26 + [-1] * 24)
    assert math.isnan(reliability(bradley_terry(two, prior=1), n_splits=5).split_half)


# Chess in Venice, J. M. Linacre, Paired Comparisons with Standard Rasch Software, Rasch Measurement Transactions 11:3
# (1997), 584-585: the results of the players above against each player, = for a draw. Strengths, infit, tie
# parameter and log-likelihood are those of sirt::btm (R, version 4.2) with fix.eta=0, eps=0, conv=1e-10.
PLAYERS = [
    "Browne", "Mariotti", "Tatai", "Hort", "Kavalek", "Damjanovic", "Gligoric", "Radulov",
    "Bobotsov", "Cosulich", "Westerinen", "Zichichi",
]  # fmt: skip
RESULTS = ["1", "=1", "0=0", "101=", "11===", "11=1==", "111=1==", "==1===1=", "=11=11110", "1=111=1=01", "11=0=101111"]


@pytest.mark.parametrize(
    ("has_draws", "strengths", "infit", "log_likelihood"),
    [
        (
            True,
            [2.22193241, 1.40150511, 1.03091701, 1.03091701, 0.67590185, -0.00960899, -0.34944336, -0.69329451,
             -1.04605317, -1.04605317, -1.41352975, -1.80319044],
            [1.11946687, 1.02363462, 0.86614190, 1.36983780, 0.81622785, 0.35083844, 0.90810081, 0.51468400,
             1.01811869, 1.18196399, 0.96045844, 1.89671184],
            -61.61928723,
        ),
        (
            False,
            [2.79788867, 1.76302209, 1.47996116, 2.26873075, 1.56035957, 0.19018389, -1.11871883, -0.40761972,
             -2.85751480, -1.51529248, -1.99663661, -2.16436370],
            [0.70871345, 0.58664026, 0.62947859, 2.91401928, 0.75684042, 0.15736438, 0.94661800, 0.19244817,
             0.81363602, 0.42829285, 0.54396591, 2.05747241],
            -15.77444011,
        ),
    ],
)  # fmt: skip
def test_chess_is_as_published(has_draws, strengths, infit, log_likelihood):
    games = [
        (above, player, {"1": "left", "0": "right", "=": "tie"}[result])
        for player, results in zip(PLAYERS[1:], RESULTS, strict=True)
        for above, result in zip(PLAYERS, results, strict=False)
        if has_draws or result != "="
    ]
    assert len(games) == (66 if has_draws else 41)
    fit = bradley_terry(Comparisons.from_labels(*zip(*games, strict=True), items=PLAYERS), prior=math.inf, oversight=0)
    result = reliability(fit, n_splits=0)
    assert_allclose(fit.theta, strengths, atol=2e-8)
    assert_allclose(result.infit, infit, atol=2e-8)
    assert_allclose(fit.log_likelihood, log_likelihood, atol=1e-8)
    if has_draws:
        assert_allclose(math.log(fit.tie_parameter), 0.50669144, atol=1e-8)
        # two pairs of players have the same points against the same opponents
        assert fit.ranking.ranks.tolist() == [1, 2, 3.5, 3.5, 5, 6, 7, 8, 9.5, 9.5, 11, 12]
    # MLE reliability as sirt has it: the variance of the strengths without their mean squared error
    assert_allclose(result.scale_separation, 1 - np.mean(fit.standard_errors**2) / fit.theta.var(ddof=1))
    assert math.isnan(result.split_half)


def test_items_never_compared_do_not_affect_reliability():
    votes, _ = simulate_voters(8, 300, 2)
    more = Comparisons(11, votes.left, votes.right, votes.winner)
    larger, smaller = (reliability(bradley_terry(of, prior=1.5, oversight=0), n_splits=3) for of in (more, votes))
    assert_allclose(larger.scale_separation, smaller.scale_separation, rtol=1e-9)
    assert_allclose(larger.split_half, smaller.split_half, atol=1e-6)


def test_errors_from_draws_exclude_items_never_compared():
    """Errors of more than 3,000 items are estimated; the common level dominates them."""
    votes, _ = simulate_voters(8, 300, 2)
    more = Comparisons(3_100, votes.left, votes.right, votes.winner)
    larger, smaller = (reliability(bradley_terry(of, prior=5, oversight=0), n_splits=0) for of in (more, votes))
    assert larger.separation == pytest.approx(smaller.separation, rel=0.1)


def test_invalid_votes_are_refused():
    votes, _ = simulate_voters(4, 40, 1)
    strengths = bradley_terry(votes)
    with pytest.raises(ModelError, match="reliability is that of Strengths; got 7"):
        reliability(7)
    with pytest.raises(ModelError, match="reliability needs votes; there are none"):
        reliability(bradley_terry(Comparisons(3, [], [], [])))
    with pytest.raises(OptionError, match="n_splits must be a whole number of 0 or more; got -1"):
        reliability(strengths, n_splits=-1)
    chain = bradley_terry(Comparisons(2, [0, 0, 1], [1, 1, 0], [1, -1, 1]), prior=math.inf, oversight=0)
    with pytest.raises(ModelError, match="a half of the votes leaves strengths infinite"):
        reliability(chain)
