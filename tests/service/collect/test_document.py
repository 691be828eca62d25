"""The OpenAPI document of rankcorr-collect and its pages: valid, and sufficient for a voter's session."""

import json
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

import service.collect
from service.collect import CollectSettings, create_app
from service.openapi.document import EXAMPLES
from tests.repository import PAGES, ROOT
from tests.service.answers import document
from tests.service.collect.browsing import invitation_tokens, new_campaign

DOCUMENT = create_app(CollectSettings()).test_client().get("/openapi.json").json
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in ("get", "post", "put")
]


def test_the_document_is_valid():
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_referenced_schema_exists():
    """Otherwise the page of operations would have dead links."""
    for known in (DOCUMENT, document()):
        names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(known)))
        assert names <= set(known["components"]["schemas"])


def test_every_operation_has_a_unique_name_and_a_description():
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z]+([A-Z][a-z]*)*", name) for name in names)
    assert all(operation.get("summary") for _, _, operation in OPERATIONS)


def test_every_example_belongs_to_an_operation():
    """An example without an operation would silently be left out of both documents."""
    operation_ids = {operation["operationId"] for _, _, operation in OPERATIONS}
    assert EXAMPLES.keys() <= operation_ids | set(re.findall(r"'operationId': '(\w+)'", str(document())))


def test_no_two_schemas_have_the_same_name():
    assert not [name for name in DOCUMENT["components"]["schemas"] if name[-1].isdigit()]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_of_organisers_documents_its_errors(path, method, operation):
    if not path.startswith(("/v1/campaigns", "/v1/organiser")):
        return
    assert {"401", "403", "404", "409", "422", "429", "500", "503"} <= set(operation["responses"])
    assert {"token": []} in operation["security"]
    if path.endswith(("/close", "/pages")) and method != "get":
        assert {"412", "428"} <= set(operation["responses"])


def test_conditional_answers_are_documented():
    """Those in the table of docs/reference/http.md."""
    paths = {path.rpartition("}/")[2] for path, _, operation in OPERATIONS if "304" in operation["responses"]}
    assert paths == {"items", "participants", "plots/{name}.svg", "progress", "quality", "results", "voters"}
    of_service = document()["paths"]["/v1/weights"]["get"]
    for operation in [of_service, *(operation for *_, operation in OPERATIONS if "304" in operation["responses"])]:
        assert "content" not in operation["responses"]["304"]
        assert "ETag" in operation["responses"]["200"]["headers"]
    assert {"n0", "share"} <= {parameter["name"] for parameter in of_service["parameters"]}


def test_every_kind_of_file_is_documented():
    (export,) = (operation for *_, operation in OPERATIONS if operation["operationId"] == "exportCampaign")
    kinds = {kind: content["schema"]["type"] for kind, content in export["responses"]["200"]["content"].items()}
    files = dict.fromkeys(("text/csv", "application/jsonl", "application/zip"), "string")
    assert kinds == {**files, "application/json": "array"}


def test_every_path_parameter_is_documented():
    for path, methods in DOCUMENT["paths"].items():
        expected = set(re.findall(r"{(\w+)}", path))
        for operation in methods.values():
            if isinstance(operation, dict) and "operationId" in operation:
                known = {entry["name"] for entry in [*operation.get("parameters", []), *methods.get("parameters", [])]}
                assert expected <= known, path


def test_every_kind_of_problem_is_named():
    description = DOCUMENT["components"]["schemas"]["Problem"]["properties"]["type"]["description"]
    source = "".join(path.read_text(encoding="utf-8") for path in Path(service.collect.__path__[0]).rglob("*.py"))
    raised = set(re.findall(r'Problem\([^()]*(?:\([^()]*\)[^()]*)*kind="([a-z-]+)"', source))
    assert {"no-such-ballot", "link-unknown"} <= raised
    assert [kind for kind in raised if kind not in re.findall("[a-z-]+", description)] == []


def test_the_tables_name_every_operation(client):
    served = {
        (method.upper(), path)
        for path, methods in client.get("/openapi.json").json["paths"].items()
        for method in methods
        if method != "parameters" and path.startswith("/v1/")
    }
    page = PAGES["docs/reference/http-collect.md"]
    rows = re.findall(r"^\| `([A-Z]+) (\S+)` \|", page, re.MULTILINE)
    listed = [(method, path.replace("...", "/v1/campaigns/{key}")) for method, path in rows]
    assert len(listed) == len(set(listed)) > 40
    assert set(listed) == served


def test_the_folder_of_votes_is_in_makefile_and_gitignore():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "RANKCORR_LEDGER=.collect/votes.db" in makefile
    assert "`.collect/votes.db`" in PAGES["docs/how-to/servers.md"]
    assert ".collect/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    clean = re.search(r"^clean:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    assert ".collect" not in clean


URL = "https://votes.example.org"


@dataclass
class DocumentClient:
    """Creates each request from the document, and from values that its links take from earlier exchanges."""

    client: Any
    document: dict[str, Any]
    operations: dict[str, tuple[str, str, dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self):
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if method != "parameters":
                    shared = methods.get("parameters", [])
                    complete_operation = {**operation, "parameters": [*shared, *operation.get("parameters", [])]}
                    self.operations[operation["operationId"]] = (path, method, complete_operation)

    def resolve(self, schema):
        while "$ref" in schema:
            *_, name = schema["$ref"].split("/")
            schema = self.document["components"]["schemas"][name]
        return schema

    def request(self, name, parameters, body):
        """Send a request with only the parameters and the body that the document requires."""
        path, method, operation = self.operations[name]
        headers = {}
        for parameter in operation["parameters"]:
            if not parameter.get("required"):
                continue
            value = parameters.get(parameter["name"]) or self.value(parameter["schema"])
            assert re.fullmatch(parameter["schema"].get("pattern", ".*"), value)
            if parameter["in"] == "header":
                headers[parameter["name"]] = value
            else:
                path = path.replace(f"{{{parameter['name']}}}", value)
        schema = self.resolve(operation["requestBody"]["content"]["application/json"]["schema"])
        for key in schema.get("required", ()):
            if key not in body:
                body[key] = self.value(schema["properties"][key])
        answer = self.client.open(path, method=method.upper(), headers=headers, json=body)
        assert str(answer.status_code) in operation["responses"], answer.text
        return Exchange(self, name, headers, body, answer)

    def value(self, schema):
        """A value for a schema: the first of an enumeration, or a new UUID."""
        schema = self.resolve(schema)
        if "enum" in schema:
            return schema["enum"][0]
        value = str(uuid.uuid4())
        assert re.fullmatch(schema["pattern"], value)
        return value


@dataclass
class Exchange:
    """A request, its answer, and the requests that the document links to the answer."""

    api: DocumentClient
    name: str
    headers: dict[str, str]
    body: dict[str, Any]
    answer: Any

    @property
    def json(self):
        assert self.answer.status_code < 300, self.answer.text
        return self.answer.json

    def follow(self, link, *, position=0, **fields):
        """Send the request of a link; `position` replaces 0, as the description of the link says."""
        responses = self.api.operations[self.name][2]["responses"]
        result = responses[str(self.answer.status_code)]["links"][link]
        parameters = {key: self.evaluate(text, position) for key, text in result["parameters"].items()}
        body = {key: self.evaluate(text, position) for key, text in result.get("requestBody", {}).items()}
        return self.api.request(result["operationId"], parameters, {**body, **fields})

    def evaluate(self, expression, position):
        if expression.startswith("$request.header."):
            return self.headers[expression.removeprefix("$request.header.")]
        value = self.json
        for step in expression.removeprefix("$response.body#/").split("/"):
            value = value[position if step == "0" else step]
        return value


@pytest.fixture
def api(make_app):
    client = make_app(public_url=URL).test_client()
    client.environ_base["HTTP_HOST"] = URL.removeprefix("https://")
    return DocumentClient(client, client.get("/openapi.json").json)


def answer_sheets(sheet):
    """Answer all pairs by the links, and correct the first of each sheet; return the number of answers, and the end."""
    n_answers = 0
    while sheet.json["sheet"] is not None:
        for position, pair in enumerate(sheet.json["sheet"]["pairs"]):
            vote = sheet.follow("vote", position=position)
            assert vote.json["pair"] == pair["id"]
            if position == 0:
                retracted = vote.follow("retract")
                assert retracted.json["answer"] is None
                vote = retracted.follow("vote", answer="right")
                assert vote.json["answer"] == "right"
            n_answers += 1
        sheet = vote.follow("nextSheet")
    return n_answers, sheet


def test_a_session_by_the_open_link(api, campaign):
    refused = api.request("beginSession", {}, {"campaign": campaign.key}).answer
    assert refused.json["type"] == "urn:rankcorr:problem:consent-needed"
    version = refused.json["consent_version"]
    session = api.request("beginSession", {}, {"campaign": campaign.key, "consent": version})
    n_answers, last = answer_sheets(session.follow("nextSheet"))
    end = last.follow("finish").json
    assert (end["outcome"], end["answers"]) == ("complete", n_answers)
    assert n_answers > 5


def test_a_session_by_an_invitation(api, target):
    campaign = new_campaign(target, pages={"open_link": False, "consent_version": "2026-1"})
    session = api.request(
        "beginSession", {}, {"campaign": campaign.key, "token": invitation_tokens(campaign, "Ann")[0]}
    )
    assert session.json["step"] == "consent"
    n_answers, last = answer_sheets(session.follow("consent").follow("nextSheet"))
    assert last.follow("finish").json["answers"] == n_answers
    campaign.database.close()


@pytest.mark.parametrize("name", ["readMe", "consent", "leaseSheet", "castVote", "retractVote", "finish", "withdraw"])
def test_a_missing_header_is_named(api, name):
    path, method, operation = api.operations[name]
    assert "Rankcorr-Campaign" in [parameter["name"] for parameter in operation["parameters"]]
    path = path.replace("{event_id}", str(uuid.uuid4()))
    answer = api.client.open(path, method=method.upper(), json={} if "requestBody" in operation else None)
    assert (answer.status_code, answer.json["detail"]) == (
        422,
        "the header Rankcorr-Campaign must hold the key of the campaign",
    )
