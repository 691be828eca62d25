"""Plans for a budget and for a wanted precision: one presentation more or less would not do."""

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from adaptive._budget import PlanOptions, answers_for, most_ballots, plan_for_budget, plan_for_top
from adaptive._plan import plan_ballots
from adaptive.errors import PlanError
from tests.adaptive.plans import NO_INTEGERS, NOT_POSITIVE, PAPER, shapes


@given(shapes(), st.integers(1, 10**6))
def test_a_budget_of_comparisons_has_no_room_for_more(shape, comparisons):
    n_items, options = shape
    assume(plan_ballots(n_items, presentations=1, **options).n_comparisons <= comparisons)
    plan = plan_for_budget(n_items, comparisons=comparisons, **options)
    assert plan.n_comparisons <= comparisons
    assert dataclasses.replace(plan, presentations=plan.presentations + 1).n_comparisons > comparisons


@given(shapes(), st.floats(0.01, 1e5), st.floats(0.1, 100))
def test_a_budget_of_hours_has_no_room_for_more(shape, hours, seconds):
    n_items, options = shape
    assume(plan_ballots(n_items, presentations=1, **options).cost(seconds) <= hours)
    plan = plan_for_budget(n_items, hours=hours, seconds_per_comparison=seconds, **options)
    assert plan.cost(seconds) <= hours
    assert dataclasses.replace(plan, presentations=plan.presentations + 1).cost(seconds) > hours


@given(shapes(), st.integers(1, 300), st.sampled_from([0.1, 3.6, 5.0, 7.3]))
def test_the_cost_of_a_plan_is_budget_enough_for_it(shape, presentations, seconds):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert plan_for_budget(n_items, comparisons=plan.n_comparisons, **options) == plan
    assert plan_for_budget(n_items, hours=plan.cost(seconds), seconds_per_comparison=seconds, **options) == plan


@given(shapes(), st.integers(1, 10**4))
def test_a_wanted_top_is_reached_with_the_fewest_presentations(shape, wanted):
    n_items, options = shape
    plan = plan_for_top(n_items, top_presentations=wanted, **options)
    assert plan.top_presentations >= wanted > plan.top_presentations - plan.n_ballots
    assert plan == plan_ballots(n_items, presentations=plan.presentations, **options)


def test_the_largest_budget_that_counts():
    plan = plan_for_budget(2, n_ballots=2, fraction=0.9, comparisons=2**53)
    assert plan.presentations == 2**52  # two ballots of M comparisons


@given(st.floats(1e-3, 1e5))
@example(0.03)  # the cost is a round number, and the float behind it a little more
@example(1.2)
def test_what_the_message_calls_enough_is_enough(seconds):
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
        ({}, r"^a budget is either comparisons or hours; got neither$"),
        ({"comparisons": 5000, "hours": 1}, r"^a budget is either comparisons or hours; got both$"),
        ({"seconds_per_comparison": 5}, r"got neither$"),
        ({"comparisons": 5000, "seconds_per_comparison": 5}, r"^seconds_per_comparison belongs to a budget of hours"),
        ({"hours": 1}, r"^a budget of hours needs seconds_per_comparison as well$"),
        (
            {"comparisons": 983},
            r"^a budget of 983 comparisons is too small: the smallest plan, with 1 presentation, has 984 comparisons$",
        ),
        (
            {"hours": 1, "seconds_per_comparison": 5},
            r"^a budget of 1\.0 hours is too small: .* has 984 comparisons and takes 1\.367 hours$",
        ),
        ({"hours": 1e300, "seconds_per_comparison": 5}, r"is too large: it pays for more than 9007199254740992 pres"),
        ({"comparisons": 0}, r"^comparisons must be at least 1; got 0$"),
        ({"comparisons": 2**53 + 1}, r"^comparisons must be at most 9007199254740992; got"),
        ({"comparisons": 5000.0}, r"^comparisons must be an integer; got 5000\.0$"),
        ({"comparisons": "5000"}, r"^comparisons must be an integer; got '5000'$"),
    ],
)
def test_budgets_that_make_no_plan(budget, message):
    with pytest.raises(PlanError, match=message):
        plan_for_budget(990, **PAPER, **budget)


def test_the_smallest_budget_of_comparisons():
    assert plan_for_budget(990, comparisons=984, **PAPER).presentations == 1  # 495+248+124+62+31+16+8


def test_inverses_check_the_other_inputs_as_well():
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


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_a_wanted_top_is_an_integer(value):
    with pytest.raises(PlanError, match=r"^top_presentations must be an integer; got "):
        plan_for_top(990, top_presentations=value, **PAPER)


def test_a_wanted_top_is_at_least_1():
    with pytest.raises(PlanError, match=r"^top_presentations must be at least 1; got 0$"):
        plan_for_top(990, top_presentations=0, **PAPER)


@pytest.mark.parametrize(
    "numbers",
    [{}, {"presentations": 4, "comparisons": 100}, {"hours": 1, "seconds_per_comparison": 5, "presentations": 2}],
)
def test_a_plan_follows_from_exactly_one_number(numbers):
    message = "exactly one of presentations, top_presentations, comparisons, hours is needed"
    with pytest.raises(PlanError, match=message):
        PlanOptions(n_ballots=3, fraction=0.5, **numbers).plan(100)


def test_each_way_gives_the_plan_of_its_own_function():
    shape = {"n_ballots": 3, "fraction": 0.5}
    assert PlanOptions(**shape, presentations=7).plan(100).presentations == 7
    assert PlanOptions(**shape, top_presentations=20).plan(100) == plan_for_top(100, **shape, top_presentations=20)
    by_seconds = {"hours": 2, "seconds_per_comparison": 5}
    assert PlanOptions(**shape, **by_seconds).plan(100) == plan_for_budget(100, **shape, **by_seconds)
    # Seconds say nothing of a budget of comparisons.
    of_comparisons = PlanOptions(**shape, comparisons=900, seconds_per_comparison=5).plan(100)
    assert of_comparisons == plan_for_budget(100, **shape, comparisons=900)


@pytest.mark.parametrize(("n_items", "fraction"), [(4, 0.5), (12, 0.5), (24, 0.3), (990, 0.5), (3, 0.7)])
def test_the_most_ballots_are_as_many_as_make_a_plan(n_items, fraction):
    most = most_ballots(n_items, fraction, most=50)
    PlanOptions(n_ballots=most, fraction=fraction, presentations=2).plan(n_items)
    if most < 50:
        with pytest.raises(PlanError, match="every ballot needs two items"):
            PlanOptions(n_ballots=most + 1, fraction=fraction, presentations=2).plan(n_items)


def test_without_a_number_of_ballots_there_are_as_many_as_the_items_allow():
    assert PlanOptions(fraction=0.5, presentations=2).plan(66).n_ballots == 6
    assert PlanOptions(fraction=0.5, presentations=2).plan(990).n_ballots == 7
    with pytest.raises(PlanError, match="fraction must be a number between 0 and 1"):
        PlanOptions(fraction=float("nan"), presentations=2).plan(66)


@given(st.floats(0.01, 1e6), st.floats(1e-3, 5), st.sampled_from([0.0, 0.25, 1 / 3, 0.2]))
@example(300, 0.02, 0.0)
@example(0.3, 0.1, 0.0)  # 0.3 / 0.1 is a little less than 3, but three answers cost a little more than 0.3
def test_money_pays_for_these_answers_and_not_for_one_more(money, per_answer, fee):
    assume(money >= per_answer * (1 + fee))
    number = answers_for(money, per_answer=per_answer, fee=fee)
    assert number * per_answer * (1 + fee) <= money < (number + 1) * per_answer * (1 + fee)


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
def test_money_that_makes_no_budget(money, pay, message):
    with pytest.raises(PlanError, match=message):
        answers_for(money, **pay)
