"""Requests to the service, and checks of every answer."""

import copy
from functools import cache

from jsonschema import Draft202012Validator

from service import Limits, Settings, create_app

CLIENT = create_app(Settings(limits=Limits(max_seconds=600.0))).test_client()  # however busy the machine is
GOLD = {"scores": {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}}
SYSTEM = {"order": ["queen", "king", ["cabbage", "stone"]]}
PAIR = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}}


def post_pair(client, headers=None):
    """The response to a small comparison of two rankings."""
    return client.post("/v1/correlations", json=PAIR, headers=headers)


def post(path="/v1/correlations", client=CLIENT, /, **request):
    """The response to a request, by default for a comparison."""
    return client.post(path, json=request)


def problem_of(response, status=422):
    """The problem document of an error response."""
    assert response.status_code == status, response.json
    assert response.content_type == "application/problem+json"
    assert response.json["status"] == status
    return response.json


def errors(response):
    """The list of errors in a response."""
    return problem_of(response)["errors"]


def answer(path, client=CLIENT, /, **request):
    """The answer to a valid request, checked against the OpenAPI document."""
    response = post(path, client, **request)
    assert response.status_code == 200, response.json
    make_validator(path).validate(response.json)
    return response.json


def problem(path, client=CLIENT, /, *, status=422, **request):
    """The answer to an invalid request."""
    return problem_of(post(path, client, **request), status)


@cache
def document():
    return CLIENT.get("/openapi.json").json


@cache
def make_validator(path, kind="answer"):
    """Validator of the answers of a path, or of its requests."""
    operation = document()["paths"][path]["post"]
    content = (operation["responses"]["200"] if kind == "answer" else operation["requestBody"])["content"]
    schema = content["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document()["components"]})


def with_value(request, pointer, value):
    """A copy of a request with a value replaced, or added."""
    inner = result = copy.deepcopy(request)
    *steps, last = (int(step) if step.isdigit() else step for step in pointer.split("/")[1:])
    for step in steps:
        inner = inner.setdefault(step, {}) if isinstance(inner, dict) else inner[step]
    inner[last] = value
    return result


def example(path):
    return document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]


POST_PATHS = [path for path, methods in document()["paths"].items() if "post" in methods]
