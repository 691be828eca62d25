"""Estimators by name are the estimators; an option that a model does not have is refused."""

import pytest

from adaptive import Comparisons, borda, bradley_terry, thurstone
from adaptive.model.estimators import fit_named
from rankcorr import OptionError

VOTES = Comparisons.from_labels(list("abca"), list("bcab"), ["left", "tie", "right", "right"], voter=[1, 1, 2, 2])


def test_a_model_by_name():
    assert fit_named(VOTES, prior=2, ties="half").to_dict() == bradley_terry(VOTES, prior=2, ties="half").to_dict()
    assert fit_named(VOTES, "thurstone", voters=True).to_dict() == thurstone(VOTES, voters=True).to_dict()
    assert fit_named(VOTES, "borda", ties=None).to_dict() == borda(VOTES).to_dict()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("elo", {}, "model must be one of 'bradley-terry', 'thurstone', 'borda'; got 'elo'"),
        ("thurstone", {"ties": "half"}, "ties is an option of bradley-terry; thurstone does not have it"),
        ("borda", {"prior": 1}, "prior is an option of bradley-terry and thurstone; borda does not have it"),
        ("borda", {"prier": 1}, "prier is an option of no model"),
    ],
)
def test_refused(model, options, message):
    with pytest.raises(OptionError, match=message):
        fit_named(VOTES, model, **options)


def test_strengths_as_a_document():
    """What is asked of it: nan is null, tuples are lists, items are best first."""
    votes = Comparisons.from_labels([("a", "b"), ("a", "b")], ["c", "d"], ["left", "tie"])
    strengths = bradley_terry(votes, prior=1)
    found = strengths.to_dict()
    assert [row["item"] for row in found["items"]] == [["a", "b"], "d", "c"]
    assert found["items"][0]["strength"] == strengths.theta[0]
    assert found["items"][0]["standard_error"] == strengths.standard_errors[0]
    assert found["parameters"] == {
        "prior_sd": 1.0,
        "tie_parameter": strengths.tie_parameter,
        "side_bias": 0.0,
        "opinion_sd": None,
    }
    assert found["voters"] is None
    assert found["warnings"] == list(strengths.warnings)
    by_voter = bradley_terry(VOTES, voters=True, side_bias=True)
    assert [list(row.values()) for row in by_voter.to_dict()["voters"]] == [
        [voter, by_voter.parameters.discrimination[n], by_voter.parameters.oversight[n], by_voter.parameters.side[n]]
        for n, voter in enumerate([1, 2])
    ]


def test_standard_errors_may_be_left_out():
    strengths = bradley_terry(VOTES)
    rows = strengths.to_dict(standard_errors=False)["items"]
    assert [row.pop("standard_error") for row in rows] == [None] * 3
    assert rows == [
        {name: row[name] for name in row if name != "standard_error"} for row in strengths.to_dict()["items"]
    ]


@pytest.mark.parametrize("fit", [bradley_terry, thurstone, fit_named])
def test_progress_is_called_for_each_iteration_and_may_end_the_fit(fit):
    calls = []
    strengths = fit(VOTES, progress=calls.append)
    assert calls == [1] * strengths.n_iterations

    def stop(_done):
        raise TimeoutError("the time is up")

    with pytest.raises(TimeoutError, match="the time is up"):
        fit(VOTES, progress=stop)
