"""The contract: the OpenAPI document is valid, has the fields that clients know, and describes the service."""

import json
import os
import re
from functools import cache

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.config import SchemathesisConfig

from service import create_app

pytestmark = pytest.mark.wide

APP = create_app()

# All checks are on. Constraints beyond JSON Schema, such as equal labels of two rankings, are refused with 422
# although the request fits its schema.
# Some requests against the schema are too long before anything else is checked: 413 and 414.
CHECKS = {
    "positive_data_acceptance": {"expected-statuses": ["2xx", "422"]},
    "negative_data_rejection": {"expected-statuses": ["4xx", "503"]},
}
JOB_OPERATIONS = {  # a job with a drawn name does not exist
    "include-path": "/v1/jobs/{job}",
    "checks": {"positive_data_acceptance": {"expected-statuses": ["404"]}},
}
CONFIG = SchemathesisConfig.from_dict({"checks": CHECKS, "operations": [JOB_OPERATIONS]})
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", APP, config=CONFIG)


IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "ci"  # as make test-all sets it


@cache
def document():
    return APP.test_client().get("/openapi.json").json


def test_the_document_is_valid():
    OpenAPIV31SpecValidator(document()).validate()


WEIGHTS = "n0 scheme tied_weights variant weigher"
# For each operation: fields of a request, with ! if required, and those of an answer, with ? if they may be absent.
FIELDS = {
    ("post /v1/correlations", "correlate"): (
        f"coefficients gold! inference missing system! worst {WEIGHTS}",
        "coefficients inference? n_items n_missing? ties warnings worst?",
    ),
    ("post /v1/correlations/batch", "correlateBatch"): (
        f"coefficients gold! missing sort_by systems! {WEIGHTS}",
        "n_items sort_by systems warnings",
    ),
    ("post /v1/correlations/matrix", "correlateMatrix"): (
        f"coefficient missing rankings! {WEIGHTS}",
        "coefficient matrix n_compared n_items names warnings",
    ),
    ("post /v1/rankings/merged", "mergeRankings"): (
        f"coefficient k method missing rankings! weights {WEIGHTS}",
        "agreements coefficient exact method missing objective ranking warnings weights",
    ),
    ("post /v1/leaderboards/rank-sets", "rankSets"): (
        "covariance estimates! level n_resamples seed! standard_errors",
        "level n_resamples rows",
    ),
    ("post /v1/leaderboards", "rankSystems"): (
        "by clusters coefficient gold gold_sets level missing n_resamples report seed! standardized swap systems! "
        f"unranked {WEIGHTS}",
        "by coefficient exact gold_sets level n_resamples report rows standardized swap unit warnings",
    ),
    ("post /v1/leaderboards/scores", "rankByScores"): (
        "aggregate difference equivalent_within groups level lower_is_better missing n_resamples report scores! seed!",
        "aggregate coefficient detectable exact gold_sets left_out level lower_is_better n_resamples needed report "
        "rows tasks unit verdicts warnings",
    ),
    ("post /v1/evaluations", "evaluateRuns"): (
        "by_query comparison depth metrics qrels! report runs! self_hits standardized undefined unjudged "
        f"unretrieved {WEIGHTS}",
        "by_query chance comparisons coverage means metrics n_queries reports runs undefined warnings",
    ),
    ("post /v1/evaluations/fused", "fuseRuns"): ("k method missing norm runs!", "n_queries run warnings"),
    ("post /v1/evaluations/groups", "scoreTargetGroups"): (
        "groups! level models! n_resamples oov seed! versus",
        "comparisons n_targets n_triplets scores warnings",
    ),
    ("get /v1/weights", "showWeights"): ("k n0 n_items share top", "first_rank_share n0 n_items ranks"),
    ("post /v1/pairings", "pairTokens"): (
        "across_areas sample seed tokens!",
        "items n_admissible n_items rare_tokens warnings",
    ),
    ("post /v1/plans", "planBallots"): (
        "budget comparisons fraction hours n_ballots n_items! n_voters presentations seconds_per_comparison "
        "top_presentations",
        "advice comparisons hours n_comparisons plan sizes top_presentations uniform_presentations",
    ),
    ("post /v1/ballots", "drawBallot"): (
        "items! number presentations! seed! voters!",
        "certificate comparisons n_comparisons number",
    ),
    ("post /v1/scores", "scoreBallots"): (
        "ballots! items! plan! seed!",
        "ballots last_ballot next_ballot ranking ybar",
    ),
    ("post /v1/strengths", "fitStrengths"): (
        "comparisons! items model options reliability report standard_errors",
        "cluster_ratio converged items log_likelihood misfit n_comparisons n_iterations n_unanswered parameters "
        "ranking reliability report signal voters warnings",
    ),
    ("post /v1/strengths/choices", "fitChoices"): (
        "answers! both_bad cluster covariates elo judge level powered_by prior side_bias swapped",
        "agreement degrees_of_freedom items kind log_likelihood n_answers n_both_bad n_unanswered others "
        "prediction_powered prior_sd side_biases warnings",
    ),
    ("post /v1/comparisons/next", "chooseComparisons"): (
        "comparisons! focus items model n0 options prompts seed! size! voters",
        "comparisons converged n_comparisons warnings",
    ),
    ("post /v1/simulations", "simulatePlan"): (
        "approaches n0 n_simulations! plan! relatedness seed! similarity! voters",
        "advice approaches n_simulations warnings",
    ),
    ("get /v1/jobs/{job}", "readJob"): ("", ""),
    ("delete /v1/jobs/{job}", "deleteJob"): ("", ""),
    ("get /health/live", "checkLive"): ("", "status"),
    ("get /health/ready", "checkReady"): ("", "limits status version"),
    ("get /metrics", "readMetrics"): ("", ""),
}


def fields_of(content, mark_needed, mark_absent):
    """Names of the fields of a request or answer, sorted."""
    (media,) = content["content"].values()
    schema = media["schema"]
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    needed = schema.get("required", [])
    return sorted(name + (mark_needed if name in needed else mark_absent) for name in schema.get("properties", ()))


def test_operations_and_fields_are_those_that_clients_know():
    """A change here breaks clients, unless it adds an operation or a field."""
    fields = {}
    for path, method, operation in operations():
        query = [one["name"] for one in operation.get("parameters", []) if one.get("in") == "query"]
        body, answer = operation.get("requestBody"), operation["responses"].get("200", {})
        fields[f"{method} {path}", operation["operationId"]] = (
            fields_of(body, "!", "") if body else sorted(query),
            fields_of(answer, "", "?") if "content" in answer else [],
        )
    contract = {key: " -> ".join(map(" ".join, both)) for key, both in fields.items()}
    known = {key: " -> ".join(" ".join(sorted(names.split())) for names in both) for key, both in FIELDS.items()}
    assert dict(contract.items() - known.items()) == dict(known.items() - contract.items()), "compare with FIELDS"


def test_every_kind_of_problem_is_named_once():
    description = document()["components"]["schemas"]["Problem"]["properties"]["type"]["description"]
    kinds = re.findall(r"(?<![\w-])[a-z]+(?:-[a-z]+)+", description.partition("urn:rankcorr:problem: and ")[2])
    assert {"bad-request", "too-much-work"} <= set(kinds)
    assert len(set(kinds)) == len(kinds)


def operations():
    return [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "post", "delete")
    ]


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_every_operation_documents_its_errors_as_problems(path, method, operation):
    errors = {"401", "422", "429", "500", "503", "507"} if path.startswith("/v1/") else {"500"}
    errors |= {"400", "413", "415"} if method == "post" else set()
    assert errors <= set(operation["responses"])
    components = document()["components"]["responses"]
    for status in errors:
        kind = operation["responses"][status]["$ref"].rsplit("/", 1)[1]
        assert list(components[kind]["content"]) == ["application/problem+json"]


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_every_example_works(path, method, operation):
    if method != "post":
        expected = 404 if "{" in path else 200  # resources created by a caller do not exist here
        assert APP.test_client().open(path, method=method).status_code == expected
        return
    ((kind, content),) = operation["requestBody"]["content"].items()
    body = json.dumps(content["example"]) if kind == "application/json" else content["example"]
    assert APP.test_client().post(path, data=body, content_type=kind).status_code == 200


def schemas(value):
    """Each object within a JSON value, including itself, but not within examples."""
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key != "example":
                yield from schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from schemas(inner)


def test_every_operation_has_a_unique_id():
    ids = [operation.get("operationId") for _, _, operation in operations()]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def test_each_enumeration_is_defined_once():
    components = document()["components"]["schemas"]
    enums = [schema for schema in schemas(document()) if "enum" in schema]
    assert len(enums) >= 10
    assert sorted(str(enum) for enum in enums) == sorted(
        str(schema) for schema in components.values() if "enum" in schema
    )
    assert len({tuple(enum["enum"]) for enum in enums}) == len(enums)


def test_a_ranking_is_one_of_five_named_schemas():
    ways = document()["components"]["schemas"]["Ranking"]["oneOf"]
    names = ["ScoresByLabel", "ScoresArray", "RanksByLabel", "RanksArray", "Order"]
    assert ways == [{"$ref": f"#/components/schemas/{name}"} for name in names]


def test_generators_require_no_optional_field():
    """openapi-typescript requires each field with the keyword `default`, so defaults are in the descriptions."""
    assert not [schema for schema in schemas(document()) if "default" in schema]
    options = document()["components"]["schemas"]["InferenceOptions"]["properties"]
    assert options["level"]["description"] == "Level of confidence of the intervals. Default: 0.95."
    assert options["n_resamples"]["description"] == "Default: 2000."


def value_of(expression, request, answer):
    """Value of a runtime expression of OpenAPI, or of a structure of them."""
    if isinstance(expression, dict):
        return {key: value_of(inner, request, answer) for key, inner in expression.items()}
    if isinstance(expression, list):
        return [value_of(inner, request, answer) for inner in expression]
    source, _, pointer = expression.partition("#/")
    value = {"$request.body": request, "$response.body": answer}[source]
    for step in pointer.split("/"):
        value = value[step]
    return value


def follow(link, request, answer, **added):
    """The request of a link with further values, and the answer."""
    (path,) = (path for path, _, operation in operations() if operation["operationId"] == link["operationId"])
    body = {**value_of(link["requestBody"], request, answer), **added}
    response = APP.test_client().post(path, json=body)
    assert response.status_code == 200, response.json
    return body, response.json


def test_links_lead_from_a_plan_through_its_ballots_to_a_comparison():
    def links(path):
        return document()["paths"][path]["post"]["responses"]["200"]["links"]

    plan_request = {"n_items": 4, "n_ballots": 2, "presentations": 2}
    planned = APP.test_client().post("/v1/plans", json=plan_request).json
    first = links("/v1/plans")["drawFirstBallot"]
    draw, draw_answer = follow(first, plan_request, planned, voters=2, seed=1)
    ballots = []
    for number in (1, 2):
        score = links("/v1/ballots")["score"]
        ballots += value_of(score["requestBody"], draw, draw_answer)["ballots"]
        for form in ballots[-1]["comparisons"]:
            form["votes"] = ["left"] * len(form["left"])
        request, scored = follow(score, draw, draw_answer, plan=planned["plan"], items=4, ballots=ballots)
        if number == 1:
            draw, draw_answer = follow(links("/v1/scores")["drawNextBallot"], request, scored, voters=2)
            assert draw["number"] == 2
    assert scored["next_ballot"] is None
    system = {"scores": [4, 3, 2, 1], "labels": [0, 1, 2, 3]}
    _, compared = follow(links("/v1/scores")["compare"], request, scored, system=system)
    assert compared["n_items"] == 4
    simulated = links("/v1/plans")["simulate"]
    added = {"similarity": "exponential", "n_simulations": 1, "seed": 1}
    assert follow(simulated, plan_request, planned, **added)[1]["n_simulations"] == 1


@SCHEMA.parametrize()
@settings(
    max_examples=30 if IS_NIGHTLY else 15,  # a document takes 30 to 180 ms to draw, times 12 operations
    deadline=None,
    # hypothesis considers documents of labels and numbers too large and too slow to draw.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
def test_the_service_conforms_to_the_document(case):
    # By default it asks for gzip, which it does not unpack when it calls an application.
    case.call_and_validate(headers={"Accept-Encoding": "identity"})
