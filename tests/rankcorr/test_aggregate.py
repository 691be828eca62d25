import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import LabelMismatchError, NonNumericError, OptionError, RankingError
from rankcorr.aggregate import combine_submissions

WEIGHTS = {"rank": lambda r: r, "exponential": math.exp, "square_root": math.sqrt}
NUMBERS = st.sampled_from([0.1, 0.2, 0.5, 0.9])


@given(
    st.lists(st.tuples(NUMBERS, st.lists(NUMBERS, min_size=3, max_size=3)), min_size=1, max_size=6),
    st.sampled_from(list(WEIGHTS)),
)
def test_scores_are_the_weighted_means_of_section_4_1(rows, weights):
    results = {f"s{number}": result for number, (result, _) in enumerate(rows)}
    submissions = {f"s{number}": dict(zip("xyz", scores, strict=True)) for number, (_, scores) in enumerate(rows)}
    combined = combine_submissions(submissions, results, weights=weights)
    reversed_ranks = {
        name: 1 + sum(other < result for other in results.values()) + (list(results.values()).count(result) - 1) / 2
        for name, result in results.items()
    }
    alphas = {name: WEIGHTS[weights](rank) for name, rank in reversed_ranks.items()}
    for item in "xyz":
        expected = sum(alphas[name] * submissions[name][item] for name in results) / sum(alphas.values())
        assert combined.scores[item] == pytest.approx(expected, abs=1e-12)
    assert sum(combined.weights.values()) == pytest.approx(1)


def test_the_best_submission_of_each_team_counts():
    submissions = {name: {"x": number, "y": 1.0} for number, name in enumerate(["a1", "a2", "b1"])}
    teams = {"a1": "a", "a2": "a", "b1": "b"}
    combined = combine_submissions(submissions, {"a1": 0.5, "a2": 0.9, "b1": 0.7}, teams=teams)
    assert combined.weights == {"a2": pytest.approx(2 / 3), "b1": pytest.approx(1 / 3)}
    assert combined.left_out == ("a1",)
    assert combined.scores["x"] == pytest.approx(1 * 2 / 3 + 2 / 3)
    tied = combine_submissions(submissions, {"a1": 0.5, "a2": 0.5, "b1": 0.7}, teams=teams)
    assert tied.left_out == ("a2",)


def test_many_submissions_do_not_overflow():
    submissions = {number: {"x": 1.0} for number in range(2000)}
    combined = combine_submissions(submissions, {number: number for number in range(2000)}, weights="exponential")
    assert combined.weights[1999] == pytest.approx(1 - math.exp(-1))


@pytest.mark.parametrize(
    ("submissions", "results", "options", "error", "message"),
    [
        ({}, {}, {}, RankingError, "submissions are needed; got none"),
        ([1], {}, {}, RankingError, "submissions must be a mapping"),
        ({"a": [1]}, {"a": 1}, {}, RankingError, "each submission must map items to scores; not: 'a'"),
        ({"a": {"x": 1}}, {"b": 1}, {}, LabelMismatchError, "submissions and results must name the same ones"),
        ({"a": {"x": 1}}, {"a": 1}, {"teams": {}}, LabelMismatchError, "submissions and teams must .*: 'a'"),
        ({"a": {"x": 1}, "b": {"y": 1}}, {"a": 2, "b": 1}, {}, LabelMismatchError, "different items: 'x', 'y'"),
        ({"a": {"x": math.nan}}, {"a": 1}, {}, NonNumericError, "scores of 'a' must be finite numbers.*: 'x'"),
        ({"a": {"x": 1}}, {"a": math.inf}, {}, NonNumericError, "results must be finite numbers; not those of: 'a'"),
        ({"a": {"x": 1}}, {"a": 1}, {"weights": "log"}, OptionError, "weights must be one of"),
    ],
)
def test_bad_input_is_named(submissions, results, options, error, message):
    with pytest.raises(error, match=message):
        combine_submissions(submissions, results, **options)
