"""The client that openapi-python-client generates from the contract, and its calls of a live service."""

import importlib
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rankcorr import weighted_tau
from tests.service.answers import document

pytestmark = [pytest.mark.wide, pytest.mark.nightly]

PACKAGE = "generated_rankcorr_client"


@pytest.fixture(scope="module")
def python_client(tmp_path_factory):
    """The generated package; warnings of the generator, such as on a skipped schema, are errors."""
    folder = tmp_path_factory.mktemp("python")
    contract, config = folder / "openapi.json", folder / "config.json"
    contract.write_text(json.dumps(document()))
    config.write_text(json.dumps({"post_hooks": []}))
    options = ["--path", str(contract), "--output-path", str(folder / PACKAGE), "--config", str(config)]
    command = [sys.executable, "-m", "openapi_python_client", "generate", *options, "--meta=none", "--fail-on-warning"]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert process.returncode == 0, process.stdout + process.stderr
    sys.path.insert(0, str(folder))
    yield SimpleNamespace(client=importlib.import_module(PACKAGE), models=importlib.import_module(f"{PACKAGE}.models"))
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def models(python_client):
    return python_client.models


def operations():
    methods_of_paths = document()["paths"].values()
    return [one for methods in methods_of_paths for method, one in methods.items() if method != "parameters"]


@pytest.fixture(scope="module")
def call(python_client, live_server):
    """Call an operation; the answer is of the model in the contract."""
    client = python_client.client.Client(live_server.url, raise_on_unexpected_status=True)
    tags = {operation["operationId"]: operation["tags"][0] for operation in operations()}

    def call_operation(name, **arguments):
        function = re.sub("[A-Z]", lambda result: f"_{result[0].lower()}", name)
        return importlib.import_module(f"{PACKAGE}.api.{tags[name]}.{function}").sync(client=client, **arguments)

    with client:
        yield call_operation


@pytest.fixture(scope="module")
def ways(models):
    """The same ranking in each of its schemas."""
    labels = ["king", "queen", "stone"]
    by_label = {
        "ScoresByLabel": (
            "scores",
            models.ScoresByLabelScores.from_dict(dict(zip(labels, [3.0, 2.0, 1.0], strict=True))),
        ),
        "RanksByLabel": ("ranks", models.RanksByLabelRanks.from_dict(dict(zip(labels, [1.0, 2.0, 3.0], strict=True)))),
    }
    return {name: getattr(models, name)(**{key: value}) for name, (key, value) in by_label.items()} | {
        "ScoresArray": models.ScoresArray(scores=[3, 2, 1], labels=labels),
        "RanksArray": models.RanksArray(ranks=[1, 2, 3], labels=labels),
        "Order": models.Order(order=labels),
    }


def test_a_ranking_may_have_each_of_its_schemas(call, models, ways):
    system = models.Order(order=["queen", "king", "stone"])
    expected = weighted_tau([3, 2, 1], [2, 3, 1]).statistic
    for way in ways.values():
        answer = call("correlate", body=models.CorrelationRequest(gold=way, system=system))
        assert answer.coefficients["tau_w"] == expected
    tied = models.Order(order=["king", ["queen", "stone"]])
    assert call("correlate", body=models.CorrelationRequest(gold=tied, system=tied)).ties.gold == 2


@pytest.mark.parametrize(
    "operation", [one for one in operations() if "requestBody" in one], ids=lambda one: one["operationId"]
)
def test_every_example_has_a_model_and_an_answer(call, models, operation):
    ((kind, content),) = operation["requestBody"]["content"].items()
    if kind != "application/json":
        pytest.skip("lines have no model")
    model = getattr(models, content["schema"]["$ref"].rpartition("/")[2])
    request = model.from_dict(content["example"])
    assert request.to_dict() == content["example"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert type(call(operation["operationId"], body=request)).__name__ == answer


def test_options_are_typed_and_optional(call, models, ways):
    request = models.CorrelationRequest(
        gold=ways["Order"],
        system=ways["RanksArray"],
        coefficients=[models.Coefficient.TAU_W],
        scheme=models.Scheme.FIRST,
        worst=1,
        inference=models.InferenceOptions(seed=1, method=models.IntervalMethod.PERCENTILE),
    )
    answer = call("correlate", body=request)
    assert list(answer.coefficients.to_dict()) == ["tau_w"]
    assert answer.inference["tau_w"].interval.n_resamples == 2_000
    assert answer.worst["tau_w"][0].label in ("king", "queen", "stone")


def test_weights_are_listed(call):
    answer = call("showWeights", n0=2, top=3)
    assert [row.rank for row in answer.ranks] == [1, 2, 3]


def test_votes_become_strengths(call, models):
    """Comparisons as columns, or one by one; answers to the next comparisons are added."""
    columns = models.ComparisonColumns(
        left=["king", "queen"], right=["queen", "stone"], winner=[models.Vote.LEFT, None], voter=["Ann", "Bob"]
    )
    next_comparisons = call("chooseComparisons", body=models.NextRequest(comparisons=columns, size=2, seed=1))
    rows = [models.AnsweredComparison(left="king", right="queen", winner=models.Vote.LEFT, voter="Ann")]
    new = next_comparisons.comparisons
    for left, right, voter in zip(new.left, new.right, new.voter, strict=True):
        rows.append(models.AnsweredComparison(left=left, right=right, winner=models.Vote.TIE, voter=voter))
    options = models.ModelOptions(ties=models.TiesModel.HALF, voters=True)
    fitted = call("fitStrengths", body=models.StrengthsRequest(comparisons=rows, options=options))
    assert fitted.n_comparisons == 3
    assert fitted.items[0].item == fitted.ranking.labels[0]
    assert fitted.parameters.tie_parameter == 0
    assert {voter.voter for voter in fitted.voters} >= {"Ann"}


def test_runs_are_evaluated_by_query(call, models):
    qrels = {"q1": {"a": 2, "b": 1}, "q2": {"a": 0, "c": 1}}
    runs = {"x": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1, "a": 0}}, "y": {"q1": {"b": 2, "a": 1}, "q2": {"a": 1}}}
    request = models.EvaluationRequest(
        qrels=models.NumbersByQuery.from_dict(qrels),
        runs=models.EvaluationRequestRuns.from_dict(runs),
        metrics=["ap", "tau_w"],
        comparison=models.ComparisonOptions(seed=1, versus="y", test=models.QueryTest.T),
    )
    answer = call("evaluateRuns", body=request)
    assert [(row.run, row.metric, row.mean) for row in answer.means[:2]] == [("x", "ap", 1), ("x", "tau_w", 1)]
    assert answer.comparisons[0].pairs[0].second == "y"
    columns = models.RelevanceColumns(query=["q1", "q1"], document=["a", "b"], relevance=[2, 1])
    scores = models.ScoreColumns(query=["q1", "q1"], document=["a", "b"], score=[0.5, 0.25])
    named = models.EvaluationRequestRuns()
    named["x"] = scores
    assert call("evaluateRuns", body=models.EvaluationRequest(qrels=columns, runs=named)).means[0].mean == 1


def test_operations_of_the_service_are_called(call):
    assert call("checkLive").status == "ok"
    assert call("checkReady").limits["RANKCORR_MAX_ITEMS"] == 200_000
    assert "rankcorr_requests_total" in call("readMetrics")


def test_an_error_is_a_problem(call, models, ways):
    request = models.CorrelationRequest(gold=ways["Order"], system=ways["Order"], worst=0)
    problem = call("correlate", body=request)
    assert isinstance(problem, models.Problem)
    assert problem.status == 422
    assert list(problem.errors.to_dict()) == ["/worst"]
