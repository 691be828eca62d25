"""The contract: the OpenAPI document is valid, is what was committed, and is what the service does."""

import json
import os
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.config import SchemathesisConfig

from service import create_app

COMMITTED = Path(__file__).with_name("openapi.json")
APP = create_app()

# All checks are on. What a JSON Schema cannot say, such as that two rankings have the same labels, is refused with 422
# although the request fits its schema.
ACCEPTED = {"positive_data_acceptance": {"expected-statuses": ["2xx", "422"]}}
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", APP, config=SchemathesisConfig.from_dict({"checks": ACCEPTED}))
LONG = bool(os.environ.get("CI"))


def document():
    return APP.test_client().get("/openapi.json").json


def test_the_document_is_valid():
    OpenAPIV31SpecValidator(document()).validate()


def test_the_document_is_the_committed_one():
    """An intended change of the contract: ``python -m service.contract > tests/service/openapi.json``."""
    assert document() == json.loads(COMMITTED.read_text(encoding="utf-8"))


def operations():
    return [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "post")
    ]


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_every_operation_documents_its_errors_as_problems(path, method, operation):
    errors = {"401", "422", "429", "500", "503"} if path.startswith("/v1/") else {"500"}
    errors |= {"400", "413", "415"} if method == "post" else set()
    assert errors <= set(operation["responses"])
    components = document()["components"]["responses"]
    for status in errors:
        kind = operation["responses"][status]["$ref"].rsplit("/", 1)[1]
        assert list(components[kind]["content"]) == ["application/problem+json"]


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_every_example_works(path, method, operation):
    if method == "get":
        assert APP.test_client().get(path).status_code == 200
        return
    example = operation["requestBody"]["content"]["application/json"]["example"]
    assert APP.test_client().post(path, json=example).status_code == 200


@SCHEMA.parametrize()
@settings(
    max_examples=100 if LONG else 15,
    deadline=None,
    # Documents of labels and numbers are large, and slow to draw, for hypothesis's taste.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
def test_the_service_does_what_the_document_says(case):
    case.call_and_validate()
