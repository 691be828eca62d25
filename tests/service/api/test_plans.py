"""Plans over HTTP are the library's, and fields are as strict as documented."""

from dataclasses import asdict

from hypothesis import example as case
from hypothesis import given, reject
from hypothesis import strategies as st

from adaptive import PlanError, plan_ballots, plan_for_budget, plan_for_top
from tests.service.answers import answer, problem

PATH = "/v1/plans"
SIZES = {"n_items": 990, "n_ballots": 7, "fraction": 0.5}


def as_answer(plan, seconds=None, n_voters=None):
    numbers = plan.to_dict()
    return {
        "plan": {name: numbers.pop(name) for name in ("n_items", "n_ballots", "fraction", "presentations")},
        **numbers,
        "hours": None if seconds is None else plan.cost(seconds),
        "advice": [asdict(one) for one in (plan.advice if n_voters is None else plan.advice_for(n_voters))],
    }


@given(
    st.integers(8, 2_000),
    st.integers(2, 12),
    st.floats(0.3, 0.95),
    st.integers(1, 60),
    st.none() | st.floats(0.5, 60),
    st.none() | st.integers(1, 9),
)
@case(8, 2, 0.5, 20, None, 6)  # voters see pairs twice; without voters the plan has no such advice
def test_every_plan_equals_the_library_call_exactly(n_items, n_ballots, fraction, presentations, seconds, n_voters):
    sizes = {"n_items": n_items, "n_ballots": n_ballots, "fraction": fraction}
    try:
        plan = plan_ballots(**sizes, presentations=presentations)
    except PlanError:  # too many ballots for the items; the error is tested below
        reject()
    options = {} if n_voters is None else {"n_voters": n_voters}
    if seconds is not None:
        options["seconds_per_comparison"] = seconds
    expected = as_answer(plan, seconds, n_voters)
    assert answer(PATH, **sizes, presentations=presentations, **options) == expected
    budget = plan_for_budget(**sizes, comparisons=plan.n_comparisons)
    assert answer(PATH, **sizes, comparisons=plan.n_comparisons, **options) == as_answer(budget, seconds, n_voters)
    top = plan_for_top(**sizes, top_presentations=presentations)
    assert answer(PATH, **sizes, top_presentations=presentations, **options) == as_answer(top, seconds, n_voters)
    hours = plan.cost(seconds or 3) * 1.01
    paid = plan_for_budget(**sizes, hours=hours, seconds_per_comparison=seconds or 3)
    options["seconds_per_comparison"] = seconds or 3
    assert answer(PATH, **sizes, hours=hours, **options) == as_answer(paid, seconds or 3, n_voters)


def test_whole_numbers_may_have_decimals():
    assert answer(PATH, n_items=990.0, n_ballots=7.0, fraction=0.5, presentations=20.0) == answer(
        PATH, **SIZES, presentations=20
    )


def test_ballots_and_fraction_have_the_defaults_of_the_command():
    plan = answer(PATH, n_items=990, presentations=20)["plan"]
    assert plan == {"n_items": 990, "n_ballots": 7, "fraction": 0.5, "presentations": 20}


def test_numbers_that_json_would_round():
    small = {"n_items": 2, "n_ballots": 2, "fraction": 0.9}
    most = answer(PATH, **small, presentations=2**52)
    assert (most["n_comparisons"], most["top_presentations"]) == (2**53, 2**53)
    result = problem(PATH, **small, presentations=2**52 + 1)
    assert result["detail"] == f"a plan has at most {2**53} comparisons; this one has {2**53 + 2}"


def test_the_largest_number_of_ballots():
    result = answer(PATH, n_items=4, n_ballots=10_000, fraction=0.9, presentations=1)
    assert result["sizes"] == [4] * 10_000


def test_a_budget_of_money_is_converted_to_hours():
    money = {"euros": 300, "pay": 12, "fee": 0.25}  # 15 an hour
    paid = answer(PATH, n_items=66, budget=money, seconds_per_comparison=6)
    assert paid == answer(PATH, n_items=66, hours=20, seconds_per_comparison=6)
    assert paid["plan"]["n_ballots"] == 6
    assert answer(PATH, **SIZES, budget=20_000) == answer(PATH, **SIZES, comparisons=20_000)
    assert "the budget is of money" in str(problem(PATH, **SIZES, budget=money)["errors"])
    assert "pay" in str(problem(PATH, **SIZES, budget={"euros": 3}, seconds_per_comparison=6)["errors"])
