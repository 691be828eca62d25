"""Requests to the service, and what is checked of every answer."""

from functools import cache

from jsonschema import Draft202012Validator

from service import create_app

CLIENT = create_app().test_client()


def answer(path, client=CLIENT, /, **request):
    """The answer to a request that is right; it is as the OpenAPI document says."""
    response = client.post(path, json=request)
    assert response.status_code == 200, response.json
    validator(path).validate(response.json)
    return response.json


def problem(path, client=CLIENT, /, *, status=422, **request):
    """The answer to a request that is wrong."""
    response = client.post(path, json=request)
    assert response.status_code == status, response.json
    assert response.content_type == "application/problem+json"
    return response.json


@cache
def document():
    return CLIENT.get("/openapi.json").json


@cache
def validator(path, which="answer"):
    """Validator of the answers of a path, or of its requests."""
    operation = document()["paths"][path]["post"]
    content = (operation["responses"]["200"] if which == "answer" else operation["requestBody"])["content"]
    schema = content["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document()["components"]})


def example(path):
    return document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]
