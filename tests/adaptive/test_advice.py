"""Advice: each code just inside its bound and just outside."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._advice import advice_on
from adaptive._plan import plan_ballots
from adaptive.ledger import ContinuousPlan
from tests.adaptive.plans import shapes


def test_a_plan_within_all_bounds_has_no_advice():
    assert plan_ballots(990, presentations=22, n_ballots=5, fraction=0.5).advice == ()


def share_bound(share, n_ballots):
    """The fraction with which the last of so many ballots has this share of the items."""
    return share ** (1 / (n_ballots - 1))


TOO_MANY = [({"n_ballots": n, "fraction": share_bound(0.1, n)}, share_bound(0.1, n)) for n in (2, 5, 7, 10)]
TOO_FEW = [
    ({"n_items": n_items, "n_ballots": n, "fraction": share_bound(2 / n_items, n)}, share_bound(2 / n_items, n))
    for n_items, n in [(990, 2), (990, 3), (54, 4), (990, 7), (8, 3)]
]


@pytest.mark.parametrize(
    ("code", "within", "beyond", "value", "bound"),
    [
        ("many_ballots", {"n_items": 5000, "fraction": 0.6, "n_ballots": 10}, {"n_ballots": 11}, 11, 10),
        ("few_top_presentations", {}, {"presentations": 19}, 95, 100),
        ("odd_presentations", {}, {"presentations": 21}, 21, 22),
        # Sizes 3 and 2; M = 60 gives 90 + 60 comparisons, as many as the bound 50 * 3 / (0.5 * 2) = 150.
        ("few_comparisons", {"n_items": 3, "n_ballots": 2, "presentations": 60}, {"presentations": 59}, 89 + 59, 150),
        # Sizes 64, 32, 16 and 8.
        ("repeated_pairs", {"n_items": 64, "n_ballots": 4, "presentations": 7}, {"presentations": 8}, 8, 7),
        *[("many_survivors", at, {"fraction": (up := math.nextafter(b, 1))}, up, b) for at, b in TOO_MANY],
        *[("few_in_last_ballot", at, {"fraction": (down := math.nextafter(b, 0))}, down, b) for at, b in TOO_FEW],
    ],
)
def test_advice_starts_beyond_its_bound(code, within, beyond, value, bound):
    """The code is absent at the bound and there beyond it, with value, bound and a sentence."""
    within = {"n_items": 990, "n_ballots": 5, "fraction": 0.5, "presentations": 20} | within
    assert code not in {advice.code for advice in plan_ballots(**within).advice}
    (advice,) = [advice for advice in plan_ballots(**within | beyond).advice if advice.code == code]
    assert (advice.value, advice.bound) == (value, bound)
    assert advice.sentence.endswith(".")
    assert "\n" not in advice.sentence


def test_odd_presentations_name_every_ballot_of_odd_size():
    plan = plan_ballots(1000, presentations=41, n_ballots=8, fraction=0.5)
    assert plan.sizes == (1000, 500, 250, 125, 62, 31, 16, 8)
    found = sentence("odd_presentations", plan)
    assert found == "An odd number of presentations, 41: in ballots 4 and 6, one item has 42."
    plan = plan_ballots(64, presentations=7, n_ballots=4, fraction=0.5)  # none
    found = sentence("odd_presentations", plan)
    assert found == "An odd number of presentations, 7: in a ballot with an odd number of items, one item has 8."


def sentence(code, plan):
    (found,) = [advice.sentence for advice in plan.advice if advice.code == code]
    return found


def test_repeated_pairs_name_every_ballot():
    (advice,) = plan_ballots(64, presentations=40, n_ballots=4, fraction=0.5).advice[-1:]
    assert advice.code == "repeated_pairs"
    assert (advice.value, advice.bound) == (40, 7)
    repeat = "others to meet: pairs repeat."
    assert advice.sentence == f"In ballots 2 to 4 an item has 40 presentations but only 31 to 7 {repeat}"
    found = sentence("repeated_pairs", plan_ballots(64, presentations=20, n_ballots=4, fraction=0.5))
    assert found == f"In ballots 3 and 4 an item has 20 presentations but only 15 to 7 {repeat}"
    advice = plan_ballots(4, presentations=2, n_ballots=2, fraction=0.5).advice[-1]
    assert advice.sentence == "In ballot 2 an item has 2 presentations but only 1 other to meet: pairs repeat."


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ((1,), "in ballot 1,"),
        ((1, 2), "in ballots 1 and 2,"),
        ((1, 2, 3), "in ballots 1 to 3,"),
        ((1, 3, 4, 5, 7, 8), "in ballots 1, 3 to 5, 7 and 8,"),
    ],
)
def test_names_of_ballots(odd, named):
    sizes = [21 if ballot in odd else 20 for ballot in range(1, 9)]
    found = {each.code: each for each in advice_on(sizes, fraction=0.5, presentations=3, n_comparisons=99)}
    assert f" {named} one item has 4." in found["odd_presentations"].sentence


def test_voter_sees_pair_twice():
    plan = plan_ballots(64, presentations=40, n_ballots=4, fraction=0.5)  # 64, 32, 16, 8: pairs come 1, 2, 3, 6 times
    assert plan.advice_for(6) == plan.advice
    (advice,) = plan.advice_for(5)[len(plan.advice) :]
    assert (advice.code, advice.value, advice.bound) == ("voter_sees_pair_twice", 6, 5)
    assert advice.sentence == (
        "In ballot 4 a pair is compared 6 times, but n_voters is 5: a voter sees it more than once."
    )
    (advice,) = plan.advice_for(2)[len(plan.advice) :]
    assert advice.sentence.startswith("In ballots 3 and 4 a pair is compared 3 to 6 times, ")
    assert (advice.value, advice.bound) == (6, 2)
    assert plan.advice_for(1)[-1].sentence.startswith("In ballots 2 to 4 a pair is compared 2 to 6 times, ")


def test_one_voter_suffices_while_no_pair_repeats():
    plan = plan_ballots(64, presentations=7, n_ballots=4, fraction=0.5)
    assert plan.advice_for(1) == plan.advice


@given(shapes(60), st.integers(1, 40))
def test_shown_bounds_are_on_the_side_where_advice_ends(shape, presentations):
    n_items, options = shape
    for advice in plan_ballots(n_items, presentations=presentations, **options).advice:
        if advice.code == "many_survivors":
            shown = float(advice.sentence.split("up to ")[1].split(" ")[0])
            assert shown <= advice.bound < shown * 1.001
        if advice.code == "few_in_last_ballot":
            shown = float(advice.sentence.split("below ")[1].split(":")[0])
            assert shown * 0.998 < advice.bound <= shown


@given(st.integers(8, 40), st.integers(1, 400), st.integers(1, 30))
def test_possible_comparisons_are_those_of_distinct_pairs(n_items, presentations, n_voters):
    """Each voter answers each pair of a ballot at most once; pairs are listed one by one."""
    plan = plan_ballots(n_items, n_ballots=3, fraction=0.5, presentations=presentations)
    pairs = [len(list(combinations(range(size), 2))) for size in plan.sizes]
    expected = sum(min(count, n_voters * n) for count, n in zip(plan.comparisons, pairs, strict=True))
    assert plan.n_possible(n_voters) == expected
    has_advice = "voter_sees_pair_twice" in [advice.code for advice in plan.advice_for(n_voters)]
    assert has_advice == (expected < plan.n_comparisons)


def test_a_continuous_plan_beyond_its_voters():
    plan = ContinuousPlan(n_items=45, budget=12_000)
    (advice,) = plan.advice_for(3)
    assert (advice.code, advice.value, advice.bound) == ("too_many_comparisons", 12_000, 2_970)
    assert "3 voters can answer at most 2,970 of 12,000" in advice.sentence
    assert "13 voters" in advice.sentence
    assert plan.advice_for(13) == ()
    assert plan.advice_for(12)[0].bound == 12 * 990
