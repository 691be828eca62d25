"""Plans against section 5 of the specification, their text and JSON, and invalid inputs."""

import dataclasses
import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from adaptive._budget import PlanOptions, answers_for, most_ballots, plan_for_budget, plan_for_top
from adaptive._plan import BallotPlan, advice_on, plan_ballots
from adaptive.errors import PlanError
from adaptive.ledger import ContinuousPlan
from tests.adaptive.strategies import NO_INTEGERS, NOT_POSITIVE, PAPER, naive_sizes, shapes


@given(shapes(), st.integers(1, 60))
def test_a_plan_follows_section_5(shape, presentations):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert list(plan.sizes) == naive_sizes(n_items, **options)
    assert list(plan.comparisons) == [math.ceil(Fraction(presentations * size, 2)) for size in plan.sizes]
    assert plan.n_comparisons == sum(plan.comparisons)
    assert plan.top_presentations == options["n_ballots"] * presentations
    assert plan.uniform_presentations == pytest.approx(2 * plan.n_comparisons / n_items, rel=1e-15)


def test_cost_is_in_hours():
    plan = plan_ballots(4, presentations=1, n_ballots=2, fraction=0.5)  # 3 comparisons
    assert plan.cost(1200) == 1.0
    assert plan.cost(Fraction(1, 2)) == 1.5 / 3600


def test_numbers_of_other_types_become_plain_ones():
    plan = plan_ballots(np.int64(8), n_ballots=np.int8(2), fraction=Fraction(1, 2), presentations=np.uint8(200))
    assert plan == plan_ballots(8, n_ballots=2, fraction=0.5, presentations=200)
    assert [type(getattr(plan, name)) for name in ("n_items", "n_ballots", "fraction")] == [int, int, float]
    assert plan.comparisons == (800, 400)


def test_the_repr_of_a_plan_makes_it_again():
    plan = plan_ballots(990, presentations=20, **PAPER)
    assert eval(repr(plan)) == plan
    assert dataclasses.replace(plan, presentations=10).n_comparisons == 9_830


def test_a_plan_prints_as_a_table():
    assert str(plan_ballots(60, presentations=50, n_ballots=3, fraction=0.25)).splitlines() == [
        "60 items, 3 ballots, fraction 0.25, 50 presentations of each item in each ballot",
        "ballot  items  comparisons",
        "1          60        1,500",
        "2          15          375",
        "3           4          100",
        "total                1,975",
        "Top items are presented 150 times; in a uniform ballot of the same cost, every item 65.8 times.",
        "Advice:",
        "- In ballots 2 and 3 an item has 50 presentations but only 14 to 3 others to meet: pairs repeat.",
    ]
    # 1,975 comparisons of 36 s are 19.75 h.
    plan = plan_ballots(60, presentations=50, n_ballots=3, fraction=0.25)
    assert plan.to_text(n_voters=1, seconds_per_comparison=36).splitlines()[1:6] == [
        "ballot  items  comparisons  hours",
        "1          60        1,500  15.00",
        "2          15          375   3.75",
        "3           4          100   1.00",
        "total                1,975  19.75",
    ]
    assert plan.to_text(n_voters=1).endswith(
        "- In ballots 2 and 3 a pair is compared 4 to 17 times, but n_voters is 1: a voter sees it more than once."
    )
    assert "Advice" not in str(plan_ballots(990, presentations=50, n_ballots=3, fraction=0.25))
    assert "1 presentation of each" in str(plan_ballots(4, presentations=1, n_ballots=2, fraction=0.5))


@given(shapes(), st.integers(1, 60))
def test_a_plan_is_restored_from_json(shape, presentations):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert BallotPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_the_dictionary_of_a_plan():
    plan = plan_ballots(8, presentations=2, n_ballots=2, fraction=0.5)
    data = plan.to_dict()
    options = {"n_items": 8, "n_ballots": 2, "fraction": 0.5, "presentations": 2}
    totals = {"n_comparisons": 12, "top_presentations": 4, "uniform_presentations": 3.0}
    assert data == {**options, "sizes": [8, 4], "comparisons": [8, 4], **totals}
    assert BallotPlan.from_dict({**data, "sizes": (8, 4), "uniform_presentations": 3}) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"presentations": 4}, r"^comparisons is \[8, 4\], but the inputs of the plan give \[16, 8\]$"),
        ({"sizes": np.array([8, 4])}, r"^sizes is array\(\[8, 4\]\), but"),
        ({"n_comparisons": 13}, r"^n_comparisons is 13, but the inputs of the plan give 12$"),
        ({"uniform_presentations": math.nan}, r"^uniform_presentations is nan, but"),
        ({"fraction": 1.5}, r"^fraction must be a number above 0 and below 1"),
        ({"n_items": True}, r"^n_items must be an integer; got True$"),
        ({"voters": 5}, r"^the plan has unknown 'voters'; its keys are n_items, "),
    ],
)
def test_an_edited_plan_is_refused(change, message):
    data = plan_ballots(8, presentations=2, n_ballots=2, fraction=0.5).to_dict()
    with pytest.raises(PlanError, match=message):
        BallotPlan.from_dict({**data, **change})


def test_a_plan_with_missing_values_is_refused():
    with pytest.raises(PlanError, match=r"^the plan lacks n_ballots, sizes, comparisons, "):
        BallotPlan.from_dict({"n_items": 8, "fraction": 0.5, "presentations": 2})
    with pytest.raises(PlanError, match=r"^a plan is a mapping of names to values; got \[8, 2\]$"):
        BallotPlan.from_dict([8, 2])


GOOD = {"n_items": 990, "n_ballots": 7, "fraction": 0.5, "presentations": 20}
NO_FRACTIONS = [0, 1, 0.0, 1.0, -0.5, 1.5, math.nan, math.inf, True, False, "0.5", None, 0.5j, 10**400, 1e-400]


def with_input(name, value):
    """A plan, or the advice for a number of voters, with one invalid input."""
    if name == "n_voters":
        return plan_ballots(990, presentations=20, **PAPER).advice_for(value)
    if name == "top_presentations":
        return plan_for_top(990, top_presentations=value, **PAPER)
    options = {**GOOD, name: value}
    return plan_ballots(options.pop("n_items"), **options)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_items", 1, r"^n_items must be at least 2; got 1$"),
        ("n_items", 2**53 + 1, r"^n_items must be at most 9007199254740992; got 9007199254740993$"),
        ("n_ballots", 1, r"^n_ballots must be at least 2; got 1: one ballot is not adaptive$"),
        ("n_ballots", 10_001, r"^n_ballots must be at most 10000; got 10001$"),
        ("presentations", 0, r"^presentations must be at least 1; got 0$"),
        ("presentations", 10**400, r"^presentations must be at most 9007199254740992; got 10+\.\.\.$"),
        ("n_voters", 0, r"^n_voters must be at least 1; got 0$"),
        ("top_presentations", 0, r"^top_presentations must be at least 1; got 0$"),
    ],
)
def test_inputs_out_of_range_are_refused(name, value, message):
    with pytest.raises(PlanError, match=message):
        with_input(name, value)


@pytest.mark.parametrize("name", ["n_items", "n_ballots", "presentations", "n_voters", "top_presentations"])
@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_counts_are_integers(name, value):
    with pytest.raises(PlanError, match=f"^{name} must be an integer; got "):
        with_input(name, value)


@pytest.mark.parametrize("value", NO_FRACTIONS, ids=lambda value: repr(value)[:9])
def test_the_fraction_is_between_0_and_1(value):
    with pytest.raises(PlanError, match=r"^fraction must be a number above 0 and below 1; got "):
        with_input("fraction", value)


@pytest.mark.parametrize(
    ("n_items", "n_ballots", "fraction", "message"),
    [
        (10, 5, 0.5, r"ballot 4 would have 1 \(0\.5 of 2\): use at most 3 ballots or a larger fraction$"),
        (10, 2, 0.1, r"; ballot 2 would have 1 \(0\.1 of 10\): use a larger fraction$"),
        (3, 2, 0.5, None),  # 1.5 is rounded to 2
        (5, 2, 0.1, r"ballot 2 would have 0 \(0\.1 of 5\)"),
    ],
)
def test_the_last_ballot_has_two_items(n_items, n_ballots, fraction, message):
    if message is None:
        assert plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1).sizes[-1] == 2
        return
    with pytest.raises(PlanError, match=message):
        plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1)


@pytest.mark.parametrize("value", [*NOT_POSITIVE, None])
def test_seconds_are_positive(value):
    plan = plan_ballots(990, presentations=20, **PAPER)
    with pytest.raises(PlanError, match=r"^seconds_per_comparison must be a finite number above 0; got"):
        plan.cost(value)


def share_bound(share, n_ballots):
    """The fraction that leaves this share of the items for the last of `n_ballots` ballots."""
    return share ** (1 / (n_ballots - 1))


TOO_MANY = [({"n_ballots": n, "fraction": share_bound(0.1, n)}, share_bound(0.1, n)) for n in (2, 5, 7, 10)]
TOO_FEW = [
    ({"n_items": n_items, "n_ballots": n, "fraction": share_bound(2 / n_items, n)}, share_bound(2 / n_items, n))
    for n_items, n in [(990, 2), (990, 3), (54, 4), (990, 7), (8, 3)]
]


@pytest.mark.parametrize(
    ("code", "bound_options", "changes", "value", "bound"),
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
def test_advice_starts_beyond_its_bound(code, bound_options, changes, value, bound):
    """Advice appears beyond its bound, not at it, with value, bound and a sentence."""
    bound_options = {"n_items": 990, "n_ballots": 5, "fraction": 0.5, "presentations": 20} | bound_options
    assert code not in {advice.code for advice in plan_ballots(**bound_options).advice}
    (advice,) = [advice for advice in plan_ballots(**bound_options | changes).advice if advice.code == code]
    assert (advice.value, advice.bound) == (value, bound)
    assert advice.sentence.endswith(".")
    assert "\n" not in advice.sentence


def test_odd_presentations_name_every_ballot_of_odd_size():
    plan = plan_ballots(1000, presentations=41, n_ballots=8, fraction=0.5)
    assert plan.sizes == (1000, 500, 250, 125, 62, 31, 16, 8)
    result = sentence("odd_presentations", plan)
    assert result == "An odd number of presentations, 41: in ballots 4 and 6, one item has 42."
    plan = plan_ballots(64, presentations=7, n_ballots=4, fraction=0.5)  # none
    result = sentence("odd_presentations", plan)
    assert result == "An odd number of presentations, 7: in a ballot with an odd number of items, one item has 8."


def sentence(code, plan):
    (result,) = [advice.sentence for advice in plan.advice if advice.code == code]
    return result


def test_repeated_pairs_name_every_ballot():
    (advice,) = plan_ballots(64, presentations=40, n_ballots=4, fraction=0.5).advice[-1:]
    assert advice.code == "repeated_pairs"
    assert (advice.value, advice.bound) == (40, 7)
    repeat = "others to meet: pairs repeat."
    assert advice.sentence == f"In ballots 2 to 4 an item has 40 presentations but only 31 to 7 {repeat}"
    result = sentence("repeated_pairs", plan_ballots(64, presentations=20, n_ballots=4, fraction=0.5))
    assert result == f"In ballots 3 and 4 an item has 20 presentations but only 15 to 7 {repeat}"
    advice = plan_ballots(4, presentations=2, n_ballots=2, fraction=0.5).advice[-1]
    assert advice.sentence == "In ballot 2 an item has 2 presentations but only 1 other to meet: pairs repeat."


@pytest.mark.parametrize(
    ("odd", "ballot_names"),
    [
        ((1,), "in ballot 1,"),
        ((1, 2), "in ballots 1 and 2,"),
        ((1, 2, 3), "in ballots 1 to 3,"),
        ((1, 3, 4, 5, 7, 8), "in ballots 1, 3 to 5, 7 and 8,"),
    ],
)
def test_names_of_ballots(odd, ballot_names):
    sizes = [21 if ballot in odd else 20 for ballot in range(1, 9)]
    result = {advice.code: advice for advice in advice_on(sizes, fraction=0.5, presentations=3, n_comparisons=99)}
    assert f" {ballot_names} one item has 4." in result["odd_presentations"].sentence


def test_voter_sees_pair_twice():
    plan = plan_ballots(64, presentations=40, n_ballots=4, fraction=0.5)  # 64, 32, 16, 8: pairs come 1, 2, 3, 6 times
    assert plan.advice_for(6) == plan.advice
    (advice,) = plan.advice_for(5)[len(plan.advice) :]
    assert (advice.code, advice.value, advice.bound) == ("voter_sees_pair_twice", 6, 5)
    assert advice.sentence.startswith("In ballot 4 a pair is compared 6 times, but n_voters is 5: ")
    (advice,) = plan.advice_for(2)[len(plan.advice) :]
    assert advice.sentence.startswith("In ballots 3 and 4 a pair is compared 3 to 6 times, ")
    assert (advice.value, advice.bound) == (6, 2)
    assert plan.advice_for(1)[-1].sentence.startswith("In ballots 2 to 4 a pair is compared 2 to 6 times, ")


@given(shapes(60), st.integers(1, 40))
def test_displayed_bounds_are_rounded_to_the_side_without_advice(shape, presentations):
    n_items, options = shape
    for advice in plan_ballots(n_items, presentations=presentations, **options).advice:
        if advice.code == "many_survivors":
            displayed = float(advice.sentence.split("up to ")[1].split(" ")[0])
            assert displayed <= advice.bound < displayed * 1.001
        if advice.code == "few_in_last_ballot":
            displayed = float(advice.sentence.split("below ")[1].split(":")[0])
            assert displayed * 0.998 < advice.bound <= displayed


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


@given(shapes(), st.integers(1, 10**6))
def test_a_budget_of_comparisons_is_used_up(shape, comparisons):
    n_items, options = shape
    assume(plan_ballots(n_items, presentations=1, **options).n_comparisons <= comparisons)
    plan = plan_for_budget(n_items, comparisons=comparisons, **options)
    assert plan.n_comparisons <= comparisons
    assert dataclasses.replace(plan, presentations=plan.presentations + 1).n_comparisons > comparisons


@given(shapes(), st.floats(0.01, 1e5), st.floats(0.1, 100))
def test_a_budget_of_hours_is_used_up(shape, hours, seconds):
    n_items, options = shape
    assume(plan_ballots(n_items, presentations=1, **options).cost(seconds) <= hours)
    plan = plan_for_budget(n_items, hours=hours, seconds_per_comparison=seconds, **options)
    assert plan.cost(seconds) <= hours * (1 + 1e-12)
    assert dataclasses.replace(plan, presentations=plan.presentations + 1).cost(seconds) > hours


@given(shapes(), st.integers(1, 300), st.sampled_from([0.1, 3.6, 5.0, 7.3]))
@example((30, {"n_ballots": 2, "fraction": 0.5}), 7, 3.6)  # 0.158 hours, and a little more in floats
def test_the_cost_of_a_plan_is_a_sufficient_budget(shape, presentations, seconds):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert plan_for_budget(n_items, comparisons=plan.n_comparisons, **options) == plan
    for hours in (plan.cost(seconds), float(f"{plan.cost(seconds):.14g}")):  # exact, and as people write it
        assert plan_for_budget(n_items, hours=hours, seconds_per_comparison=seconds, **options) == plan


@given(shapes(), st.integers(1, 10**4))
def test_a_plan_for_a_top_has_the_fewest_presentations(shape, top_presentations):
    n_items, options = shape
    plan = plan_for_top(n_items, top_presentations=top_presentations, **options)
    assert plan.top_presentations >= top_presentations > plan.top_presentations - plan.n_ballots
    assert plan == plan_ballots(n_items, presentations=plan.presentations, **options)


def test_the_largest_budget_has_an_exact_plan():
    plan = plan_for_budget(2, n_ballots=2, fraction=0.9, comparisons=2**53)
    assert plan.presentations == 2**52  # two ballots of M comparisons


@given(st.floats(1e-3, 1e5))
@example(0.03)  # the cost is a round number, but its float is slightly larger
@example(1.2)
def test_the_budget_in_the_message_is_sufficient(seconds):
    with pytest.raises(PlanError, match=r"takes [0-9.]+ hours$") as caught:
        plan_for_budget(990, hours=1e-9, seconds_per_comparison=seconds, **PAPER)
    named = Decimal(str(caught.value).split()[-2])
    assert plan_for_budget(990, hours=float(named), seconds_per_comparison=seconds, **PAPER).presentations == 1
    fourth_digit = Decimal(1).scaleb(named.adjusted() - 3)
    assert named % fourth_digit == 0
    with pytest.raises(PlanError, match="too small"):
        plan_for_budget(990, hours=float(named - fourth_digit), seconds_per_comparison=seconds, **PAPER)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({}, r"^give the budget as comparisons or as hours; got neither$"),
        ({"comparisons": 5000, "hours": 1}, r"^give the budget as comparisons or as hours; got both$"),
        ({"comparisons": 5000, "seconds_per_comparison": 5}, r"^seconds_per_comparison has no effect without hours"),
        ({"hours": 1}, r"^a budget of hours needs seconds_per_comparison as well$"),
        ({"comparisons": 983}, r"^a budget of 983 comparisons is too small: .* presentation, has 984 comp"),
        ({"hours": 1, "seconds_per_comparison": 5}, r"1\.0 hours is too small: .* takes 1\.367 hours$"),
        ({"hours": 1e300, "seconds_per_comparison": 5}, r"is too large: it pays for more than 9007199254740992 pres"),
        ({"comparisons": 0}, r"^comparisons must be at least 1; got 0$"),
        ({"comparisons": 2**53 + 1}, r"^comparisons must be at most 9007199254740992; got"),
        ({"comparisons": 5000.0}, r"^comparisons must be an integer; got 5000\.0$"),
    ],
)
def test_insufficient_budgets_are_refused(budget, message):
    with pytest.raises(PlanError, match=message):
        plan_for_budget(990, **PAPER, **budget)


def test_plans_from_budgets_check_their_other_inputs():
    with pytest.raises(PlanError, match=r"^n_items must be at least 2"):
        plan_for_budget(1, comparisons=5000, **PAPER)
    with pytest.raises(PlanError, match=r"^n_ballots must be an integer"):
        plan_for_top(990, n_ballots=2.5, fraction=0.5, top_presentations=100)


@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_seconds_and_hours_are_positive(value):
    message = "must be a finite number above 0; got"
    with pytest.raises(PlanError, match=f"^seconds_per_comparison {message}"):
        plan_for_budget(990, hours=1, seconds_per_comparison=value, **PAPER)
    with pytest.raises(PlanError, match=f"^hours {message}"):
        plan_for_budget(990, hours=value, seconds_per_comparison=5, **PAPER)


@pytest.mark.parametrize(
    "numbers",
    [{}, {"presentations": 4, "comparisons": 100}, {"hours": 1, "seconds_per_comparison": 5, "presentations": 2}],
)
def test_a_plan_follows_from_exactly_one_number(numbers):
    message = "exactly one of presentations, top_presentations, comparisons, hours is needed"
    with pytest.raises(PlanError, match=message):
        PlanOptions(n_ballots=3, fraction=0.5, **numbers).plan(100)


def test_plan_options_call_the_matching_function():
    shape = {"n_ballots": 3, "fraction": 0.5}
    assert PlanOptions(**shape, presentations=7).plan(100).presentations == 7
    assert PlanOptions(**shape, top_presentations=20).plan(100) == plan_for_top(100, **shape, top_presentations=20)
    by_seconds = {"hours": 2, "seconds_per_comparison": 5}
    assert PlanOptions(**shape, **by_seconds).plan(100) == plan_for_budget(100, **shape, **by_seconds)
    # Seconds do not matter for a budget of comparisons.
    of_comparisons = PlanOptions(**shape, comparisons=900, seconds_per_comparison=5).plan(100)
    assert of_comparisons == plan_for_budget(100, **shape, comparisons=900)


@pytest.mark.parametrize(("n_items", "fraction"), [(4, 0.5), (12, 0.5), (24, 0.3), (990, 0.5), (3, 0.7)])
def test_the_largest_number_of_ballots_gives_a_valid_plan(n_items, fraction):
    most = most_ballots(n_items, fraction, most=50)
    PlanOptions(n_ballots=most, fraction=fraction, presentations=2).plan(n_items)
    if most < 50:
        with pytest.raises(PlanError, match="every ballot needs at least two items"):
            PlanOptions(n_ballots=most + 1, fraction=fraction, presentations=2).plan(n_items)


def test_by_default_there_are_as_many_ballots_as_the_items_allow():
    assert PlanOptions(fraction=0.5, presentations=2).plan(66).n_ballots == 6
    assert PlanOptions(fraction=0.5, presentations=2).plan(990).n_ballots == 7
    with pytest.raises(PlanError, match="fraction must be a number above 0 and below 1"):
        PlanOptions(fraction=float("nan"), presentations=2).plan(66)


@given(st.floats(0.01, 1e6), st.floats(1e-3, 5), st.sampled_from([0.0, 0.25, 1 / 3, 0.2]))
@example(300, 0.02, 0.0)
def test_money_pays_exactly_for_these_answers(money, per_answer, fee):
    assume(money >= per_answer * (1 + fee))
    number = answers_for(money, per_answer=per_answer, fee=fee)
    assert number * per_answer * (1 + fee) <= money * (1 + 1e-12)
    assert money < (number + 1) * per_answer * (1 + fee)


@given(st.integers(1, 500), st.integers(1, 100), st.sampled_from(["0", "0.1", "0.25", "0.33"]))
@example(3, 10, "0")  # 0.3 in all: three times 0.1 is a little more in floats
def test_money_pays_for_answers_of_the_same_price_in_decimals(n_answers, cents, fee):
    money = n_answers * Decimal(cents) / 100 * (1 + Decimal(fee))
    assert answers_for(float(money), per_answer=cents / 100, fee=float(fee)) == n_answers


@pytest.mark.parametrize(
    ("money", "pay", "message"),
    [
        (0.01, {"per_answer": 0.02}, r"a budget of 0\.01 pays for not even one answer, at 0\.02 each"),
        (1e300, {"per_answer": 0.02}, r"pays for more than 9007199254740992 answers"),
        (0, {"per_answer": 0.02}, r"money must be a finite number above 0; got 0"),
        (1, {"per_answer": float("nan")}, r"per_answer must be a finite number above 0; got nan"),
        (1, {"per_answer": 0.1, "fee": -0.1}, r"fee must be a share of the pay, from 0 on; got -0\.1"),
    ],
)
def test_invalid_amounts_of_money_are_refused(money, pay, message):
    with pytest.raises(PlanError, match=message):
        answers_for(money, **pay)
