"""Strengths over HTTP equal the library's exactly, in every format of comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import Comparisons, bradley_terry, prediction_powered, read_choices, reliability, thurstone
from tests.adaptive.strategies import WORDS, comparisons
from tests.service.answers import answer, example, problem

PATH = "/v1/strengths"


COLUMNS = {
    "left": ["king", "queen", "stone", "cabbage", "queen"],
    "right": ["queen", "stone", "cabbage", "king", "cabbage"],
    "winner": ["left", "left", "tie", None, "left"],
    "voter": ["Ann", "Ann", "Bob", "Bob", "Bob"],
}
REQUEST = {"comparisons": COLUMNS}
LABEL = st.sampled_from([str, lambda number: -number, lambda number: f"{number:03}"])


def rows_of(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def columns_of(votes, label=lambda number: number):
    columns = {side: [label(place) for place in getattr(votes, side).tolist()] for side in ("left", "right")}
    columns["winner"] = [WORDS[code] for code in votes.winner.tolist()]
    if votes.voter is not None:
        columns["voter"] = [votes.voters[place] for place in votes.voter.tolist()]
    return columns


def fit_columns(columns, items=None, fit=bradley_terry, **options):
    votes = Comparisons.from_labels(
        columns["left"], columns["right"], columns["winner"], voter=columns.get("voter"), items=items
    )
    return fit(votes, **options)


def answer_of(strengths):
    """The expected answer, from the result of the library."""
    content = strengths.to_dict()
    rows = content["items"]
    return {
        **content,
        "n_comparisons": strengths.comparisons.n_comparisons,
        "n_unanswered": strengths.comparisons.n_unanswered,
        "ranking": {"labels": [row["item"] for row in rows], "ranks": [row["rank"] for row in rows]},
        "reliability": None,
        "report": None,
        "warnings": [{"message": message, "coefficients": []} for message in content["warnings"]],
    }


@given(comparisons(min_size=1), LABEL, st.booleans())
def test_every_answer_is_that_of_the_library(votes, label, by_rows):
    columns, items = columns_of(votes, label), [label(place) for place in votes.items]
    result = answer(PATH, comparisons=rows_of(columns) if by_rows else columns, items=items)
    assert result == answer_of(fit_columns(columns, items=items))


@pytest.mark.parametrize(
    ("request_", "fit", "options"),
    [
        (
            {"options": {"ties": "half", "prior": 2, "oversight": 0}},
            bradley_terry,
            {"ties": "half", "prior": 2.0, "oversight": 0},
        ),
        ({"options": {"voters": True, "side_bias": True}}, bradley_terry, {"voters": True, "side_bias": True}),
        ({"model": "thurstone", "options": {"oversight": 0.1}}, thurstone, {"oversight": 0.1}),
        ({"model": "thurstone"}, thurstone, {}),
        ({"options": {}}, bradley_terry, {}),
    ],
)
def test_the_options_are_those_of_the_library(request_, fit, options):
    assert answer(PATH, **REQUEST, **request_) == answer_of(fit_columns(COLUMNS, fit=fit, **options))


def test_items_by_number_and_those_never_compared():
    columns = {"left": [0, 3], "right": [3, 1], "winner": ["left", "tie"]}
    result = answer(PATH, comparisons=columns, items=5)
    assert result == answer_of(fit_columns(columns, items=5))
    assert sorted(result["ranking"]["labels"]) == [0, 1, 2, 3, 4]
    assert result["parameters"]["opinion_sd"] is None
    assert answer(PATH, comparisons=[], items=["a", "b"]) == answer_of(
        fit_columns({"left": [], "right": [], "winner": []}, ["a", "b"])
    )


def test_standard_errors_are_optional():
    with_errors, without_errors = (answer(PATH, **REQUEST, standard_errors=flag) for flag in (True, False))
    assert {row["standard_error"] for row in without_errors["items"]} == {None}
    for row in with_errors["items"]:
        row["standard_error"] = None
    assert with_errors == without_errors


def test_reliability_is_that_of_the_library():
    request = example(PATH)
    result = answer(PATH, **request, reliability=True)
    strengths = fit_columns(request["comparisons"], items=request["items"])
    assert result.pop("reliability") == reliability(strengths).to_dict()
    assert result == {name: value for name, value in answer_of(strengths).items() if name != "reliability"}


def test_the_report_is_that_of_the_library():
    request = example(PATH)
    report = fit_columns(request["comparisons"], items=request["items"]).report()
    content = answer(PATH, **request, report=True)["report"]
    assert content == {**vars(report), "limits": list(report.limits), "bibtex": report.to_bibtex()}


def test_the_ranking_is_accepted_by_other_endpoints():
    ranking = answer(PATH, **REQUEST)["ranking"]
    assert answer("/v1/correlations", gold=ranking, system=ranking)["coefficients"]["tau"] == 1


def many_votes(n_items, n_votes):
    rng = np.random.default_rng(0)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    return {"left": left.tolist(), "right": right.tolist(), "winner": ["left"] * n_votes}


@pytest.mark.wide
@pytest.mark.needs_numba
def test_two_hundred_thousand_votes_are_fitted():
    assert answer(PATH, comparisons=many_votes(200, 200_000))["n_comparisons"] == 200_000
    request = {"comparisons": many_votes(5_000, 20_000)}
    assert len(answer(PATH, **request, standard_errors=False)["items"]) == 5_000


def test_items_that_look_the_same_are_named_in_a_warning():
    votes = {"left": ["caf\u00e9"], "right": ["cafe\u0301"], "winner": ["left"]}
    assert any("look the same" in warning["message"] for warning in answer(PATH, comparisons=votes)["warnings"])


CHOICES = [
    {"left": "gnu", "right": "yak", "winner": "left", "voter": "J", "prompt": 1},
    {"left": "yak", "right": "gnu", "winner": "left", "voter": "J", "prompt": 1},
    {"left": "gnu", "right": "yak", "winner": "right", "voter": "Ann", "prompt": 1},
    {"left": "emu", "right": "yak", "winner": "both bad", "voter": "Ann", "prompt": 2},
    {"left": "emu", "right": "yak", "winner": None, "voter": "Ann", "prompt": 2},
]


@pytest.mark.parametrize(
    "answers",
    [
        CHOICES,
        [{"left": "gnu", "right": "yak", "grade": grade, "weight": 1 + abs(grade)} for grade in (2, 1, 0, -1, -2.0)],
        [{"items": ["gnu", "yak", "emu"], "best": "gnu", "worst": "emu"}],
        [{"ranking": ["gnu", ["yak", "emu"]]}, {"ranking": ["emu", "gnu"]}],
    ],
)
def test_answers_of_any_kind_are_fitted_as_in_the_library(answers):
    content = answer(f"{PATH}/choices", answers=answers, prior=1, elo=True)
    fit = read_choices(answers).choices().fit(prior=1)
    strengths = {row["item"]: (row["strength"], row["elo"]) for row in content["items"]}
    assert [strengths[item] for item in fit.items] == list(zip(fit.theta.tolist(), fit.elo().tolist(), strict=True))
    assert content["n_unanswered"] == (1 if answers is CHOICES else 0)


def test_judges_are_reported():
    content = answer(f"{PATH}/choices", answers=CHOICES, prior=1, swapped="tie", judge="J", cluster="both")
    assert (content["n_answers"], content["n_both_bad"]) == (3, 1)
    assert [(bias["voter"], bias["n_left"]) for bias in content["side_biases"]] == [("J", 1)]
    agreement = content["agreement"]
    assert (agreement["with_people"]["share"], agreement["among_people"]["share"]) == (0.5, None)
    assert {row["item"]: row["wins"] for row in content["items"]} == {"gnu": 0, "yak": 1, "emu": 0}


def test_a_judge_with_more_prompts_narrows_the_intervals_of_people():
    winners = ["left", "right", "left", "tie"] * 10
    pairs = [("gnu", "yak"), ("yak", "emu"), ("emu", "gnu")]
    votes = [
        {"left": left, "right": right, "winner": winner, "voter": voter, "prompt": f"{left} {number}"}
        for voter, n_votes in (("Ann", 12), ("J", 40))
        for number, winner in enumerate(winners[:n_votes])
        for left, right in pairs
    ]
    content = answer(f"{PATH}/choices", answers=votes, powered_by="J", prior=1)
    answers = read_choices(votes)
    both = prediction_powered(answers.of_voters(["Ann"]), answers.of_voters(["J"]), prior=1)
    assert content["prediction_powered"] == {"judge": "J", "weight": both.weight, "n_prompts": 36}
    assert {row["item"]: row["strength"] for row in content["items"]} == dict(zip(both.items, both.theta, strict=True))
    assert answer(f"{PATH}/choices", answers=CHOICES, prior=1)["prediction_powered"] is None
    assert (
        '"cluster" cannot be used with "powered_by" (intervals'
        in problem(f"{PATH}/choices", answers=votes, powered_by="J", cluster="voter")["detail"]
    )


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"left": "a", "right": "b", "grade": "x"}], 'answers:0: column "grade": a grade must be a whole number'),
        ([{"left": "a", "right": "b", "winner": "left", "x": 1}], "is no part of an answer; its parts are left,"),
        ([{"ranking": ["a", 1.5]}], "a label is text or a whole number; got 1.5"),
        ([3], "must be an object; got 3"),
        ([], "must be a list of answers"),
    ],
)
def test_invalid_answers_are_named(answers, message):
    assert message in str(problem(f"{PATH}/choices", answers=answers))
