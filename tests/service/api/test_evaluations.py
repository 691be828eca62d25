"""Evaluations over HTTP are the library's, within the limits of requests."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankcorr import TauW
from rankcorr._output.results import json_ready
from rankcorr.evaluation import compare_evaluated, compare_runs, corrected_together, evaluate, fuse
from rankcorr.vectors import TargetGroups, compare_reliability, reliability_score
from tests.rankcorr.evaluation.comparison.test_compare import case, case_of_one_query
from tests.service.answers import answer, make_validator, post, problem
from tests.service.test_schemas import BEYOND_SCHEMAS

PATH = "/v1/evaluations"
QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}, "q3": {"a": -1, "b": 1}, "q4": {"x": 1}}
RUN = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3, "new": 2, "a": 1}, "q9": {"a": 1.0}}


def columns(by_query, value):
    rows = [(query, document, number) for query, values in by_query.items() for document, number in values.items()]
    return dict(zip(("query", "document", value), map(list, zip(*rows, strict=True)), strict=True))


def test_the_answer_is_the_library_call():
    qrels, runs = case(30)
    metrics = ["tau_w", "rho", "ap", "p@3", "tau_ap", "rbo", "ndcg@5"]
    kwargs = {"seed": 3, "n_resamples": 200, "groups": {query: query[-1] for query in qrels}, "level": 0.9, "test": "t"}
    result = answer(
        PATH,
        qrels=qrels,
        runs=runs,
        metrics=metrics,
        n0=5,
        by_query=True,
        standardized={"seed": 7, "n_resamples": 50},
        comparison={**kwargs, "versus": "c", "standardized": True},
    )
    names = [TauW(n0=5), *metrics[1:]]
    expected = evaluate(qrels, runs, metrics=names, seed=7, n_resamples=50)
    assert result["metrics"] == list(expected.metrics)
    assert result["means"] == json_ready(expected.table())
    assert_array_equal(result["by_query"]["values"], expected.values)
    assert result["by_query"]["standardized"] == json_ready(expected.standardized)
    assert result["chance"] == json_ready(expected.chance)
    assert result["warnings"] == []
    compared = corrected_together(
        compare_evaluated(expected, name, baseline="c", standardized=place < 2, **kwargs)
        for place, name in enumerate(expected.metrics)
    )
    for row, expected_row in zip(result["comparisons"], compared, strict=True):
        assert row == {name: value for name, value in expected_row.to_dict().items() if name in row}
    assert [expected_row["standardized"] for expected_row in result["comparisons"]] == [True, True, *[False] * 5]


def test_figures_are_those_of_the_command_with_equal_resamples():
    qrels, runs = case(20)
    request = {"qrels": qrels, "runs": runs, "metrics": ["ap"]}
    (result,) = answer(PATH, **request, comparison={"versus": "c", "seed": 0, "n_resamples": 10_000})["comparisons"]
    expected = compare_runs(qrels, runs, metric="ap", baseline="c").to_dict()
    assert result["pairs"] == expected["pairs"]
    (default,) = answer(PATH, **request, comparison={"versus": "c", "seed": 0})["comparisons"]
    fewer = compare_runs(qrels, runs, metric="ap", baseline="c", n_resamples=2_000).to_dict()
    assert default["pairs"] == fewer["pairs"] != expected["pairs"]


def test_a_pair_has_the_deciding_query_and_the_detectable_difference():
    qrels, runs = case_of_one_query()
    numbers = {query: number for number, query in enumerate(qrels)}

    def renumber(by_query, value):
        result = columns(by_query, value)
        return result | {"query": [numbers[query] for query in result["query"]]}

    (pair,) = compare_runs(qrels, runs, metric="ap").to_dict()["pairs"]
    assert (pair["fragile"], pair["least"]["label"]) == (True, "tiger")
    by_number = {name: renumber(scores, "score") for name, scores in runs.items()}
    request = {"qrels": renumber(qrels, "relevance"), "runs": by_number, "metrics": ["ap"], "comparison": {"seed": 0}}
    ((result,),) = (compared["pairs"] for compared in answer(PATH, **request)["comparisons"])
    assert result["least"] == pair["least"] | {"label": numbers["tiger"]}
    assert (result["fragile"], result["low"], result["detectable"]) == (True, pair["low"], pair["detectable"])
    # Two queries are not enough: an unbounded interval is null.
    request = {"qrels": dict(list(qrels.items())[-2:]), "runs": runs, "metrics": ["ap"], "comparison": {"seed": 0}}
    ((result,),) = (compared["pairs"] for compared in answer(PATH, **request)["comparisons"])
    assert (result["low"], result["high"], result["pvalue"], result["fragile"]) == (None, None, 0.5, False)


def test_columns_give_the_same_answer_as_objects():
    by_object = answer(PATH, qrels=QRELS, runs={"x": RUN}, by_query=True)
    by_columns = answer(PATH, qrels=columns(QRELS, "relevance"), runs={"x": columns(RUN, "score")}, by_query=True)
    assert by_columns == by_object
    numbers = answer(
        PATH,
        qrels={"query": [1, 1], "document": [7, 8], "relevance": [1, 0]},
        runs={"x": {"query": [1, 1], "document": [8, 7], "score": [0.5, 0.25]}},
        by_query=True,
    )
    assert (numbers["by_query"]["queries"], numbers["means"][0]["mean"]) == ([1], -1)


@pytest.mark.parametrize("options", [{}, {"k": 0}, {"method": "combsum"}, {"method": "combmnz", "norm": "z"}])
def test_a_fused_run_is_that_of_the_library(options):
    qrels, runs = case(6)
    runs["b"].pop(next(iter(qrels)))
    content = answer(f"{PATH}/fused", runs=runs, missing="skip", **options)
    expected = fuse(runs, missing="skip", **options)
    assert content["run"] == columns(expected.to_dict(), "score")
    assert content["n_queries"] == 6
    evaluated = answer(PATH, qrels=qrels, runs={"fused": content["run"]}, metrics=["ap"])
    assert evaluated["means"][0]["mean"] == evaluate(qrels, expected, metrics=["ap"]).mean()


def test_numeric_ids_stay_numbers_in_a_fused_run():
    run = {"query": [1, 1], "document": [7, 8], "score": [0.5, 0.25]}
    content = answer(f"{PATH}/fused", runs={"x": run, "y": run})
    assert (content["run"]["query"], content["run"]["document"]) == ([1, 1], [7, 8])


def test_a_single_run_cannot_be_fused():
    detail = problem(f"{PATH}/fused", runs={"x": RUN})["detail"]
    assert detail.startswith("/runs: must be an object of name to run, with at least 2; got {")


def test_reports_are_those_of_the_library():
    qrels, runs = case(30)
    options = {"seed": 3, "n_resamples": 200}
    reports = answer(PATH, qrels=qrels, runs=runs, metrics=["ap"], comparison=options, report=True)["reports"]
    evaluation = evaluate(qrels, runs, metrics=["ap"], standardized=False)
    compared = compare_evaluated(evaluation, "ap", **options).report()
    assert reports[0]["results"] == evaluation.report().results
    assert reports[1] == {**vars(compared), "limits": list(compared.limits), "bibtex": compared.to_bibtex()}
    (alone,) = answer(PATH, qrels=qrels, runs=runs, metrics=["ap"], report=True)["reports"]
    assert alone["limits"] == [*reports[0]["limits"], "Differences of these means were not tested."]


@pytest.mark.parametrize(
    "policies",
    [
        {},
        {"unjudged": "omit"},
        {"unretrieved": "omit"},
        {"undefined": "zero"},
        {"depth": 1},
        {"depth": 2},
        {"self_hits": "omit"},
    ],
)
def test_policies_and_exclusions_are_those_of_the_library(policies):
    result = answer(PATH, qrels=QRELS, runs={"x": RUN}, metrics=["tau_w", "ap"], by_query=True, **policies)
    expected = evaluate(QRELS, RUN, metrics=["tau_w", "ap"], standardized=False, **policies)
    assert result["by_query"]["values"] == json_ready(expected.values)
    (coverage,), (row,) = expected.coverage, result["coverage"]
    for name in ("n_queries", "n_compared", "n_unjudged", "n_unretrieved", "n_cut", "n_negative", "n_self_hits"):
        assert row[name] == getattr(coverage, name)
    assert (row["not_in_run"], row["n_not_in_run"], row["not_in_qrels"]) == (["q3", "q4"], 2, ["q9"])
    reasons = [(entry["metric"], entry["reason"], entry["queries"]) for entry in result["undefined"]]
    assert reasons == [(entry.metric, entry.reason, list(entry.queries)) for entry in expected.undefined]


def test_a_query_among_its_hits_is_named():
    runs = {"x": {"q": {"q": 3, "a": 2}}}
    (warning,) = answer(PATH, qrels={"q": {"a": 1}}, runs=runs, metrics=["ap"])["warnings"]
    assert warning.endswith('a hit with the id of the query itself; "self_hits": "omit" leaves it out, as BEIR does')
    content = answer(PATH, qrels={"q": {"a": 1}}, runs=runs, metrics=["ap"], self_hits="omit")
    assert (content["warnings"], content["means"][0]["mean"]) == ([], 1)
    assert content["coverage"][0]["n_self_hits"] == 1


def test_a_metric_without_a_value_is_null_with_a_warning():
    result = answer(PATH, qrels={"q": {"a": 1}}, runs={"x": {"q": {"a": 1}}})
    assert result["means"][0]["mean"] is None
    (warning,) = result["warnings"]
    assert "no query has a value; (run, metric): ('x', 'tau_w')" in warning


def test_only_the_first_of_many_missing_queries_are_listed():
    qrels = {f"q{number}": {"a": 1, "b": 1} for number in range(150)}
    result = answer(PATH, qrels=qrels, runs={"x": {"q0": {"a": 1}}})
    assert (result["coverage"][0]["n_not_in_run"], len(result["coverage"][0]["not_in_run"])) == (149, 100)
    assert sum(entry["n_queries"] for entry in result["undefined"]) == 150
    assert max(len(entry["queries"]) for entry in result["undefined"]) == 100


BODY = {"qrels": {"q": {"a": 1, "b": 0}}, "runs": {"x": {"q": {"a": 1, "b": 2}}, "y": {"q": {"a": 2, "b": 1}}}}


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        ({"qrels": {"q": {"a": "1"}}}, "/qrels/q/a", 'must be a number; got "1"'),
        ({"qrels": {"q": 3}}, "/qrels/q", "must be an object with a relevance for each document; got 3"),
        ({"qrels": {}}, "/qrels", 'must be an object such as {"q1": {"d1": 1}}, or an object of columns'),
        ({"runs": {}}, "/runs", "must be an object of name to run"),
        ({"runs": {"x": {"q": {"a": "z"}}}}, "/runs/x/q/a", "must be a number"),
        ({"runs": {"": BODY["qrels"]}}, "/runs", "must be an object of name to run"),
        (
            {"qrels": {"query": ["q"], "document": ["a"]}},
            "/qrels",
            "must be an object of the columns query, document, relevance, or of queries, each with a relevance by",
        ),
        ({"runs": {"x": BODY["qrels"], "y": {"q": ["a", "b"]}}}, "/runs/y", "queries, each with a score by document"),
        ({"runs": {"x": BODY["qrels"], "y": {"q": {}}}}, "/runs/y", "there is no row: a query, a document and a score"),
        ({"qrels": {"q": {}}}, "/qrels", "there is no row: a query, a document and a relevance"),
        ({"qrels": {"query": [1.5], "document": ["a"], "relevance": [1]}}, "/qrels/query/0", "a label is text or a"),
        ({"qrels": {"query": ["q"], "document": ["a"], "relevance": 3}}, "/qrels/relevance", "must be a list of num"),
        ({"qrels": {"query": ["q"], "document": ["a"], "relevance": ["3"]}}, "/qrels/relevance/0", "must be a number"),
        ({"metrics": []}, "/metrics", "must be a list of 1 to 20 metrics"),
        ({"metrics": ["map@10"]}, "/metrics/0", 'unknown metric "map@10": use rho_w'),
        ({"metrics": ["ap", "ap"]}, "/metrics", "entries must not repeat"),
        ({"standardized": {}}, "/standardized/seed", "this field is needed"),
        ({"comparison": {}}, "/comparison/seed", "this field is needed"),
        ({"comparison": {"seed": 1, "versus": "z"}}, "/comparison/versus", "there is no run of this name"),
        (
            {"comparison": {"seed": 1, "standardized": True}},
            "/comparison",
            "can be compared only if they are requested",
        ),
        ({"comparison": {"seed": 1, "groups": {"q": 1}}}, "/comparison/groups/q", "must be text; got 1"),
        ({"comparison": {"seed": 1, "groups": {}}}, "/comparison/groups", "must be an object of name to group"),
        ({"comparison": {"seed": 1}, "runs": {"x": BODY["qrels"]}}, "/comparison", "a comparison needs two runs"),
    ],
)
def test_an_error_points_to_its_field(change, pointer, message):
    assert message in problem(PATH, **{**BODY, **change})["errors"][pointer][0]
    fits_the_schema = BEYOND_SCHEMAS.search(message) is not None
    assert make_validator(PATH, "request").is_valid({**BODY, **change}) == fits_the_schema


class TestLimits:
    def test_the_text_of_an_answer(self, make_client):
        """A query missing in the runs is named for each of them, in its coverage and with each metric."""
        sent = {
            "qrels": {"q" * 1_000: {"a": 1, "b": 0}, "r": {"a": 1, "b": 0}},
            "runs": {str(run): {"r": {"a": 1}} for run in range(9)},
        }
        result = problem(PATH, make_client(max_label_bytes=18_000), **sent)
        assert "at most 18000 bytes of labels in an answer (RANKCORR_MAX_LABEL_BYTES); got 1" in result["detail"]
        assert post(PATH, make_client(max_label_bytes=20_000), **sent).status_code == 200


def test_errors_name_only_options_of_the_request():
    repeated = {"query": ["q", "q"], "document": ["a", "a"], "relevance": [1, 2]}
    detail = problem(PATH, qrels=repeated, runs={"r": RUN})["detail"]
    assert detail == "/qrels: each document may appear only once in a query; repeated (query, document): ('q', 'a')"


# Target groups

TARGETS = {
    "singer": {"musician": "positive", "person": "positive", "artist": "positive", "song": "distractor"},
    "oak": {"tree": "positive", "plant": "positive", "leaf": "distractor", "ink": "random"},
}
SHARES = {("singer", "musician", "person"): 0.9, ("singer", "artist", "person"): 0.6, ("oak", "tree", "plant"): 0.75}


def target_groups():
    return TargetGroups(TARGETS, SHARES, dict.fromkeys(SHARES, 10))


def similarities(seed):
    rng = np.random.default_rng(seed)
    return {target: {word: float(rng.random()) for word in group} for target, group in TARGETS.items()}


def flatten(by_target):
    return {(target, word): value for target, row in by_target.items() for word, value in row.items()}


def test_target_groups_are_scored_as_by_the_library():
    groups, models = target_groups(), {"a": similarities(1), "b": similarities(2), "c": similarities(1)}
    sent = {"groups": groups.to_dict()["groups"], "models": models, "n_resamples": 500, "seed": 4}
    result = answer(f"{PATH}/groups", **sent)
    assert (result["n_targets"], result["n_triplets"]) == (2, len(groups.triplets))
    for row in result["scores"]:
        score = reliability_score(groups, flatten(models[row["model"]]), n_resamples=500, seed=4)
        assert row == {"model": row["model"], **json_ready(score)}
    assert [(row["model"], row["versus"]) for row in result["comparisons"]] == [("b", "a"), ("c", "a")]
    difference = compare_reliability(groups, flatten(models["b"]), flatten(models["a"]), n_resamples=500, seed=4)
    assert result["comparisons"][0]["difference"] == difference.difference
    assert result["comparisons"][1]["pvalue"] == result["comparisons"][1]["corrected_pvalue"] == 1
    other = answer(f"{PATH}/groups", **sent, versus="c")
    assert {row["versus"] for row in other["comparisons"]} == {"c"}


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        ({"groups": []}, "/groups", "target groups are needed"),
        ({"groups": [{"target": "x"}]}, "/groups", "lack the field 'candidates'"),
        ({"groups": [3]}, "/groups", "must have a list of groups"),
        (
            {"groups": [{"target": "x", "candidates": {"x": "positive"}, "comparisons": []}]},
            "/groups",
            "its own candidates",
        ),
        ({"models": {}}, "/models", "name to similarities, with at least 1"),
        ({"models": {"a": {"singer": {"song": "high"}}}}, "/models/a/singer/song", "must be a number"),
        ({"models": {"a": {"singer": 3}}}, "/models/a/singer", "an object of candidate to similarity"),
        ({"versus": "z"}, "/versus", "no model of this name"),
        ({"oov": "skip"}, "/oov", "must be one of"),
    ],
)
def test_invalid_target_groups_are_named(change, path, text):
    sent = {"groups": target_groups().to_dict()["groups"], "models": {"a": similarities(1)}, "seed": 1}
    assert text in problem(f"{PATH}/groups", **sent | change)["errors"][path][0]
