"""Reports on voters: parameters with errors, agreement, coin flips and influence, against refits and known voters."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import betaln

from adaptive import Comparisons, bradley_terry, influence, thurstone, voter_report
from adaptive.errors import ComparisonError, ModelError
from adaptive.model._voters import omit_votes, random_chances, wilson_interval

N_ITEMS = 30
NAMES = tuple(f"v{number}" for number in range(12))


def simulate_flippers(seed, n_votes=1_800, flippers=()):
    """Votes by the logistic model; `flippers` answer at random."""
    rng = np.random.default_rng(seed)
    theta = np.linspace(2.5, -2.5, N_ITEMS)
    left = rng.integers(0, N_ITEMS, n_votes)
    right = (left + rng.integers(1, N_ITEMS, n_votes)) % N_ITEMS
    voter = rng.integers(0, len(NAMES), n_votes)
    margin = np.where(np.isin(voter, flippers), 0.0, theta[left] - theta[right])
    winner = np.where(rng.random(n_votes) < 1 / (1 + np.exp(-margin)), 1, -1)
    return Comparisons(N_ITEMS, left, right, winner, NAMES, voter)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_only_coin_flippers_are_detected(fit):
    report = voter_report(fit(simulate_flippers(1, flippers=(3, 8)), prior=2))
    assert report.at_random == ("v3", "v8")
    honest = np.delete(report.agreement, [3, 8])
    assert report.agreement[[3, 8]].max() < honest.min()
    assert_allclose(np.delete(report.agreement - report.expected_agreement, [3, 8]).mean(), 0, atol=0.08)


def test_one_step_without_a_voter_is_close_to_a_refit():
    strengths = bradley_terry(simulate_flippers(2), prior=2, oversight=0.03)
    votes = strengths.comparisons
    report = voter_report(strengths)
    for place, name in enumerate(NAMES[:4]):
        result = influence(strengths, name)
        stepped = omit_votes(strengths, np.flatnonzero(votes.voter == place))
        moved = np.abs(result.strengths.theta - strengths.theta).max()
        assert np.abs(stepped - result.strengths.theta).max() < 0.1 * moved
        assert abs(report.without[place] - result.statistic) < 0.02


def test_influence_is_a_fit_of_the_others():
    votes = simulate_flippers(3, n_votes=300)
    result = influence(bradley_terry(votes, prior=2), "v5", "tau")
    alone = bradley_terry(votes.without_voter("v5"), prior=2)
    assert_allclose(result.strengths.theta, alone.theta, atol=1e-6)
    assert result.n_votes == int(np.count_nonzero(votes.voter == 5))
    changes = np.abs(result._columns()["change"])
    assert (np.diff(changes) <= 0).all()


def test_agreement_is_with_the_votes_of_all_others():
    winners = ["left"] * 3 + ["left", "right", "tie"]
    votes = Comparisons.from_labels(["a"] * 6, ["b"] * 6, winners, voter=["Ann"] * 3 + ["Bob"] * 3)
    report = voter_report(bradley_terry(votes, prior=1, ties="half"))
    # Ann's votes are compared with Bob's: one for either item and a tie, which favour neither.
    assert report.agreement[1] == 0.5
    # Wilson's interval of 1 in 2 at level 0.9, z = 1.6449: (0.5 + z^2/4 -+ z sqrt(1/8 + z^2/16)) / (1 + z^2/2)
    z = 1.6448536269514722
    half = z * np.sqrt(1 / 8 + z * z / 16) / (1 + z * z / 2)
    assert_allclose([report.agreement_low[1], report.agreement_high[1]], [0.5 - half, 0.5 + half])


@pytest.mark.parametrize(
    ("count", "n", "ends"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0, 0.1611)), (1, 29, (0.0061, 0.1718))],
)
def test_wilson_intervals_are_as_published(count, n, ends):
    """Newcombe, Two-Sided Confidence Intervals for the Single Proportion (1998), table I, method 3."""
    assert tuple(round(float(end), 4) for end in wilson_interval(count / n, n, 1.959964)) == ends


def test_errors_of_voters_follow_from_the_numerical_information():
    votes = simulate_flippers(4, n_votes=900)
    strengths = bradley_terry(votes, prior=2, voters=True, side_bias=True)
    report = voter_report(strengths, level=0.6826894921370859)  # one standard deviation to either side
    at, prior = strengths.parameters, strengths.prior

    def chances(point, rows):
        a, e, s = np.exp(point[0]), 1 / (1 + np.exp(-point[1])), point[2]
        likely = 1 / (1 + np.exp(-a * (at.theta[votes.left[rows]] - at.theta[votes.right[rows]]) - s))
        return (1 - e) * likely + e * (1 - likely)

    for voter in (0, 7):
        is_of_voter = votes.voter == voter
        e = at.oversight[voter]
        point = np.array([np.log(at.discrimination[voter]), np.log(e / (1 - e)), at.side[voter]])
        steps = np.eye(3) * 1e-5
        slopes = np.array([(chances(point + d, is_of_voter) - chances(point - d, is_of_voter)) / 2e-5 for d in steps])
        p = chances(point, is_of_voter)
        information = (slopes / (p * (1 - p))) @ slopes.T
        information += np.diag([prior.discrimination_sd**-2, prior.oversight_votes * e * (1 - e), prior.side_sd**-2])
        errors = np.sqrt(np.diagonal(np.linalg.inv(information)))
        assert_allclose(np.log(report.discrimination_high[voter] / report.discrimination[voter]), errors[0], rtol=1e-5)
        odds = np.log(report.oversight_high[voter] / (1 - report.oversight_high[voter]))
        assert_allclose(odds - point[1], errors[1], rtol=1e-5)
        assert_allclose(report.side_bias[voter] - report.side_bias_low[voter], errors[2], rtol=1e-5)


def test_unfitted_parameters_are_nan():
    report = voter_report(bradley_terry(simulate_flippers(5, n_votes=200), prior=2))
    assert np.isnan(report.discrimination).all()
    assert np.isnan(report.oversight_low).all()
    sharp = voter_report(bradley_terry(simulate_flippers(5, n_votes=200), prior=2, voters=True, oversight=0))
    assert np.isnan(sharp.oversight).all()
    assert np.isnan(sharp.side_bias).all()
    assert (sharp.discrimination_low < sharp.discrimination).all()


def test_a_voter_without_votes_stays_at_the_prior():
    votes = Comparisons(2, [0, 0], [1, 1], [1, 1], ("Ann", "Bob"), [0, 0])
    report = voter_report(bradley_terry(votes, prior=1, voters=True))
    assert report.n_votes.tolist() == [2, 0]
    assert_allclose(report.random, 0.1)
    assert report.without[1] == 1.0
    assert np.isnan(report.agreement[1])


def test_invalid_arguments_are_refused():
    unknown = bradley_terry(Comparisons.from_labels(["a"], ["b"], ["left"]), prior=1)
    with pytest.raises(ModelError, match="a report on voters needs a column of voters"):
        voter_report(unknown)
    with pytest.raises(ModelError, match="voters are judged by Strengths; got 3"):
        influence(3, "Ann")
    known = bradley_terry(simulate_flippers(6, n_votes=60), prior=1)
    with pytest.raises(ComparisonError, match="Zoë"):
        influence(known, "Zoë")
    with pytest.raises(ModelError, match="level must be a number above 0 and below 1"):
        voter_report(known, level=2)


def test_without_a_prior_the_others_may_leave_strengths_infinite():
    """Ann alone says that c is worse than a and b; Cid only repeats what others say."""
    pairs, voters = ["ab", "ac", "bc", "ca", "ba", "ab"], ["Ann"] * 3 + ["Bob"] * 2 + ["Cid"]
    votes = Comparisons.from_labels(*zip(*pairs, strict=True), ["left"] * 6, voter=voters)
    strengths = bradley_terry(votes, prior=np.inf)
    message = r"without the votes of 'Ann' the strengths are infinite, .* fit them with prior="
    with pytest.raises(ModelError, match=message):
        influence(strengths, "Ann")
    assert influence(strengths, "Cid", "tau").n_votes == 1
    assert np.isnan(voter_report(strengths).without).tolist() == [True, True, False]
    assert not np.isnan(voter_report(bradley_terry(votes)).without).any()
    assert influence(bradley_terry(votes), "Ann").n_votes == 3


def test_reprs_show_the_counts():
    votes = Comparisons.from_labels(["a"], ["b"], ["left"], voter=["Ann"])
    strengths = bradley_terry(votes)
    assert repr(voter_report(strengths)) == "<VoterReport of 1 voter, 1 vote: none at random>"
    assert repr(influence(strengths, "Ann", "tau")).startswith("<Influence of voter 'Ann', 1 vote: tau ")
    assert repr(strengths).startswith("<Strengths (Bradley-Terry) of 1 vote: ")


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=6))
def test_probabilities_of_coin_flips_sum_over_all_groups_of_voters(evidence):
    """A group of k among n voters flips coins with the beta-binomial probability B(a + k, b + n - k) / B(a, b)."""
    n, total, sums = len(evidence), 0.0, np.zeros(len(evidence))
    for flips in itertools.product([0, 1], repeat=n):
        k = sum(flips)
        weight = math.exp(betaln(0.5 + k, 4.5 + n - k) - betaln(0.5, 4.5) + np.dot(flips, evidence))
        total += weight
        sums += weight * np.array(flips)
    assert_allclose(random_chances(np.array(evidence)), sums / total, rtol=1e-9)
