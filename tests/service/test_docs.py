"""What docs/service.md says: its examples against a live service, its tables against the code."""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from rankcorr.evaluation import evaluate
from service import Settings, create_app
from service.server.settings import ServerSettings
from tests.documents import PAGES, console_steps, fenced

PAGE = PAGES["docs/service.md"]
BASE = "http://127.0.0.1:8000"
BODY = {"gold": {"scores": {"king": 9.1, "queen": 8.7, "stone": 0.8}}, "system": {"order": ["queen", "king", "stone"]}}


def curl_examples():
    steps = [step for block in fenced(PAGE, "console") for step in console_steps(block)]
    return [(command, output) for command, output in steps if command.startswith("curl ")]


def test_there_are_examples():
    assert len(curl_examples()) >= 2


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize(("command", "output"), curl_examples())
def test_curl_prints_what_the_page_shows(command, output, live_server):
    arguments = shlex.split(command.replace(BASE, live_server.url))
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == output.strip()


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_javascript_runs(live_server):
    (code,) = fenced(PAGE, "javascript")
    program = [shutil.which("node"), "--input-type=module", "--eval", code.replace(BASE, live_server.url)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    expected = create_app().test_client().post("/v1/correlations", json=BODY).json["coefficients"]["tau_w"]
    assert float(done.stdout) == expected


def test_the_body_that_is_made_of_files_of_trec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq2 0 d 0\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 b 1 3.1 x\nq1 Q0 a 2 2.9 x\nq2 Q0 c 1 1.5 x\n")
    (tmp_path / "dense.run").write_text("q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.2 x\nq2 Q0 c 1 0.8 x\nq2 Q0 d 2 0.1 x\n")
    (code,) = fenced(PAGE, "python")
    exec(code, {})
    assert "--data-binary @body.json" in PAGE
    answer = create_app().test_client().post("/v1/evaluations", json=json.loads((tmp_path / "body.json").read_text()))
    found = evaluate("qrels.txt", ["bm25.run", "dense.run"], metrics=["tau_w", "ap"])
    assert [row["mean"] for row in answer.json["means"]] == [row["mean"] for row in found.table()]


def test_the_r_code_sends_what_the_service_takes():
    """R is not at hand: what its lists become in JSON is written out here, and the names must be those of the code."""
    (code,) = fenced(PAGE, "r")
    for word in ("jsonlite", "/v1/correlations", "gold", "scores", "system", "order", "coefficients", "detail"):
        assert word in code
    assert create_app().test_client().post("/v1/correlations", json=BODY).status_code == 200


def examples_of_requests():
    """Method, path with query, and body of each request of the list of examples."""
    (block,) = (block for block in fenced(PAGE, "text") if "POST /v1/" in block)
    return re.findall(r"^(GET|POST) (/v1\S+)\n(\{.*\}$)?", block, re.MULTILINE)


@pytest.mark.parametrize(("method", "path", "body"), examples_of_requests())
def test_every_example_of_a_request_works(method, path, body):
    client = create_app().test_client()
    answer = client.get(path) if method == "GET" else client.post(path, data=body, content_type="application/json")
    assert answer.status_code == 200, answer.text


def test_the_table_names_every_endpoint():
    served = {
        (method.upper(), path)
        for path, methods in create_app().test_client().get("/openapi.json").json["paths"].items()
        for method in methods
    } | {("GET", "/openapi.json"), ("GET", "/docs")}
    rows = "\n".join(re.findall(r"^\| `(?:GET|POST) .*$", PAGE, re.MULTILINE))
    assert set(re.findall(r"`(GET|POST) (/[a-z0-9/.]+)`", rows)) == served
    assert {(method, path.partition("?")[0]) for method, path, _ in examples_of_requests()} == {
        (method, path) for method, path in served if path.startswith("/v1/")
    }


@pytest.mark.parametrize("ranking", re.findall(r'`(\{"(?:scores|ranks|order)".*?\})`', PAGE))
def test_the_ways_to_write_a_ranking(ranking):
    document = json.loads(ranking)
    answer = create_app().test_client().post("/v1/correlations", json={"gold": document, "system": document})
    assert answer.json["coefficients"]["tau_w"] == 1


def test_the_table_of_settings_is_that_of_the_code():
    shown = re.findall(r"^\| `(RANKCORR_[A-Z_]+)` \| (.*?) \| (.+) \|$", PAGE, re.MULTILINE)
    code = [*ServerSettings().table(), *Settings().table()]
    expected = [
        (name, "" if value in ((), 0) and name.endswith("TOKENS") else value, about) for name, value, about in code
    ]
    assert shown == [(name, "" if value == () else str(value), about) for name, value, about in expected]
