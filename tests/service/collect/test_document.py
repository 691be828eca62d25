"""The OpenAPI document of rankcorr-collect: valid, complete, and named as generated clients name functions."""

import re
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

import service.collect
from service.collect import CollectSettings, create_app
from service.openapi.blueprint import EXAMPLES
from tests.service.answers import COMMITTED

DOCUMENT = create_app(CollectSettings()).test_client().get("/openapi.json").json
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in ("get", "post", "put")
]


def test_the_document_is_valid():
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does():
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z]+([A-Z][a-z]*)*", name) for name in names)
    assert all(operation.get("summary") for _, _, operation in OPERATIONS)


def test_every_example_is_of_an_operation():
    """A name without an operation would be left out of both documents in silence."""
    own = {operation["operationId"] for _, _, operation in OPERATIONS}
    assert EXAMPLES.keys() <= own | set(re.findall(r'"operationId": "(\w+)"', COMMITTED.read_text(encoding="utf-8")))


def test_no_schema_was_renamed_because_two_have_its_name():
    assert not [name for name in DOCUMENT["components"]["schemas"] if name[-1].isdigit()]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_of_organisers_documents_its_errors(path, method, operation):
    if not path.startswith(("/v1/campaigns", "/v1/organiser")):
        return
    assert {"401", "403", "404", "409", "422", "429", "500", "503"} <= set(operation["responses"])
    assert {"token": []} in operation["security"]
    if path.endswith(("/close", "/pages")) and method != "get":
        assert {"412", "428"} <= set(operation["responses"])


def test_every_path_parameter_is_documented():
    for path, methods in DOCUMENT["paths"].items():
        wanted = set(re.findall(r"{(\w+)}", path))
        for operation in methods.values():
            if isinstance(operation, dict) and "operationId" in operation:
                known = {each["name"] for each in [*operation.get("parameters", []), *methods.get("parameters", [])]}
                assert wanted <= known, path


def test_every_kind_of_problem_is_named():
    told = DOCUMENT["components"]["schemas"]["Problem"]["properties"]["type"]["description"]
    source = "".join(path.read_text(encoding="utf-8") for path in Path(service.collect.__path__[0]).rglob("*.py"))
    raised = set(re.findall(r'Problem\([^()]*(?:\([^()]*\)[^()]*)*kind="([a-z-]+)"', source))
    assert {"no-such-ballot", "link-unknown"} <= raised
    assert [kind for kind in raised if kind not in re.findall("[a-z-]+", told)] == []
