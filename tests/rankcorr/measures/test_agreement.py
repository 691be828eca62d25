import csv
import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import Logarithmic, OptionError, TauW, UndefinedCorrelationWarning, weighted_rho, weighted_tau
from rankcorr.measures import AnnotatorError, majority_vote, mean_pairwise_agreement, mean_ratings
from tests.results import collapsed

NAN = math.nan


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.permutations(range(6)), min_size=n, max_size=n)))
def test_pairwise_agreement_is_the_mean_of_spearmans(rows):
    agreement = mean_pairwise_agreement(rows)
    n = len(rows)
    peers = [[scipy.stats.spearmanr(a, b).statistic for b in rows] for a in rows]
    others = [np.mean([peers[i][j] for j in range(n) if j != i]) for i in range(n)]
    assert_allclose(agreement.with_others, others, rtol=0, atol=1e-14)
    assert_allclose(agreement.mean, np.mean([peers[i][j] for i in range(n) for j in range(i)]), rtol=0, atol=1e-14)
    assert agreement.annotators == tuple(range(n))
    assert np.isnan(np.diag(agreement.pairs)).all()
    assert (agreement.n_common == 6).all()


def test_pairwise_agreement_with_missing_ratings():
    ratings = {
        "ann": {"a": 1, "b": 2, "c": 3, "d": 4},
        "bob": {"b": 5, "c": 6, "d": 1, "e": 7},
        "cat": {"a": 1, "c": 2, "d": 3, "e": NAN},
    }
    agreement = mean_pairwise_agreement(ratings, coefficient=TauW(n0=1), min_common=2)
    ann_bob = weighted_tau([2, 3, 4], [5, 6, 1], n0=1).statistic
    bob_cat = weighted_tau([6, 1], [2, 3], n0=1).statistic
    assert_allclose(agreement.pairs[1], [ann_bob, NAN, bob_cat], rtol=1e-15)
    assert agreement.pairs[0, 2] == 1
    assert agreement.n_common.tolist() == [[4, 3, 3], [3, 4, 2], [3, 2, 3]]
    assert repr(agreement).endswith("n_annotators=3, coefficient='tau_w', n_left_out=0)")

    with pytest.raises(AnnotatorError, match=r"must have rated 3 items in common; too few .*: \('bob', 'cat', 2\)"):
        mean_pairwise_agreement(ratings)
    left_out = mean_pairwise_agreement(ratings, few_common="leave_out")
    assert (left_out.n_left_out, left_out.with_others[2]) == (1, 1)
    with pytest.raises(AnnotatorError, match=r"must have rated 4 items in common; too few"):
        mean_pairwise_agreement(ratings, min_common=4, few_common="leave_out")
    with pytest.raises(ValueError, match="read-only"):
        agreement.pairs[0, 0] = 1


def test_a_constant_annotator_is_left_out_of_the_means_and_named():
    message = r"tied in one of the ratings of: \(0, 2\), \(1, 2\)"
    with pytest.warns(UndefinedCorrelationWarning, match=message) as caught:
        agreement = mean_pairwise_agreement([[1, 2, 3], [1, 3, 2], [5, 5, 5]])
    assert caught[0].filename == __file__
    assert_allclose(agreement.with_others, [0.5, 0.5, NAN], rtol=1e-15)
    assert_allclose(agreement.mean, 0.5, rtol=1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {"coefficient": "tau_w", "n0": 0.5},
        {"coefficient": "tau_w", "weigher": Logarithmic()},
        {"coefficient": "tau_w", "tied_weights": "expected"},
        {"coefficient": "tau_w", "variant": "a"},
        {"coefficient": "rho_w", "tied_weights": "expected"},
    ],
)
def test_pairwise_agreement_is_that_of_the_call_for_a_pair(options):
    rows = [[5, 5, 3, 2, 1, 1], [4, 6, 6, 6, 2, 1], [1, 2, 2, 5, 5, 4]]
    agreement = mean_pairwise_agreement(rows, **collapsed(**options))
    correlation = {"tau_w": weighted_tau, "rho_w": weighted_rho}[options["coefficient"]]
    keywords = {name: value for name, value in options.items() if name != "coefficient"}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert agreement.pairs[i, j] == agreement.pairs[j, i]
        assert_allclose(agreement.pairs[i, j], correlation(rows[i], rows[j], **keywords).statistic, rtol=1e-14)


def test_options_of_pairwise_agreement():
    with pytest.raises(OptionError, match="min_common must be a whole number of 2 or more; got 1"):
        mean_pairwise_agreement([[1, 2], [1, 2]], min_common=1)
    with pytest.raises(OptionError, match="few_common must be one of 'raise', 'leave_out'; got 'skip'"):
        mean_pairwise_agreement([[1, 2], [1, 2]], few_common="skip")
    with pytest.raises(OptionError, match="coefficient must be one of"):
        mean_pairwise_agreement([[1, 2], [1, 2]], coefficient="spearman")


@pytest.mark.real_data
def test_human_and_machine_judgements_of_russian_pairs(data_dir):
    """Spearman .789 of 333 pairs, as the folder's README says; .790 in Table 3 of Panchenko et al. for all 398."""
    with (data_dir / "russe_hj_vs_mj.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ratings = {name: {(row["word1"], row["word2"]): float(row[name]) for row in rows} for name in ("hj", "mj")}
    agreement = mean_pairwise_agreement(ratings)
    assert agreement.mean == pytest.approx(0.789, rel=0, abs=5e-4)
    assert agreement.n_common[0, 1] == 333


# One value for each item.

RATED = {"ann": {"a": 3, "b": 0, "c": 1}, "bob": {"a": 3, "b": 1}, "eve": {"a": 1, "b": 1, "d": 2}}


def test_means_of_ratings():
    found = mean_ratings(RATED)
    assert found.scores == {"a": pytest.approx(7 / 3), "b": pytest.approx(2 / 3), "c": 1, "d": 2}
    assert found.counts == {"a": 3, "b": 3, "c": 1, "d": 1}
    assert mean_ratings(RATED, scale=(0, 3)).scores["a"] == pytest.approx(7 / 9)
    assert mean_ratings([[1, math.nan], [3, math.nan]], scale=(1, 5)).scores == {0: 0.25}


@pytest.mark.parametrize("scale", [(3, 0), (0,), "ab", (0, math.inf), (1, 1), 3])
def test_a_scale_is_a_range(scale):
    with pytest.raises(OptionError, match="scale must be the lowest and the highest rating"):
        mean_ratings(RATED, scale=scale)


def test_ratings_outside_the_scale():
    with pytest.raises(AnnotatorError, match="ratings must be from 1 to 3; others on: 'b'"):
        mean_ratings(RATED, scale=(1, 3))


@given(st.lists(st.lists(st.sampled_from([0, 1, 2, math.nan]), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_majority_is_the_most_frequent_rating(rows):
    for ties, choose in (("lowest", min), ("highest", max)):
        found = majority_vote(rows, ties=ties)
        for item, column in enumerate(zip(*rows, strict=True)):
            votes = Counter(value for value in column if not math.isnan(value))
            winners = [value for value, count in votes.items() if count == max(votes.values())]
            assert found.scores.get(item) == (choose(winners) if winners else None)
            assert (item in found.tied) == (len(winners) > 1)
    assert set(majority_vote(rows, ties="omit").scores) == set(found.scores) - set(found.tied)


def test_ties_of_votes_are_an_error_by_default():
    with pytest.raises(
        AnnotatorError, match=r"two ratings have the most votes \(the option ties decides\); items: 'x'"
    ):
        majority_vote({"ann": {"x": 0}, "bob": {"x": 1}})
    with pytest.raises(OptionError, match="ties must be one of"):
        majority_vote(RATED, ties="first")
    frame = majority_vote(RATED, ties="omit").to_frame()
    assert frame.iloc[0].to_dict() == {"item": "a", "score": 3.0, "ratings": 3}
