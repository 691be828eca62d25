"""The pages on the service: examples against a live service, tables against the code."""

import json
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rankcorr.evaluation import evaluate
from service import create_app
from service.http.problems import ALL_STATUSES
from service.server.launch import PROGRAM_VARIABLES, PROGRAMS
from tests.repository import PAGES, ROOT, console_steps, find_fenced

pytestmark = pytest.mark.wide

CLIENT_PAGE = PAGES["docs/how-to/clients.md"]
REQUESTS = PAGES["docs/reference/requests.md"]
EVALUATIONS = PAGES["docs/how-to/compare-runs.md"].partition("\n## Compare over HTTP\n")[2]
SETTINGS = PAGES["docs/reference/settings.md"]
BASE = "http://127.0.0.1:8000"
# Request of the clients in each language
BODY = {
    "gold": {"scores": {"king": 9.1, "queen": 8.7, "prince": 6, "oak": 1.2, "stone": 1.2}},
    "system": {"order": ["queen", "king", ["prince", "oak"]]},
    "missing": "bottom",
    "coefficients": ["tau_w"],
    "inference": {"seed": 1, "level": 0.95, "alternative": "greater"},
}


def curl_examples():
    steps = [step for page in PAGES.values() for block in find_fenced(page, "console") for step in console_steps(block)]
    return [(command, output) for command, output in steps if command.startswith("curl ")]


def test_there_are_examples():
    assert len(curl_examples()) >= 4


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize(("command", "output"), curl_examples())
def test_curl_prints_what_the_page_shows(command, output, live_server):
    line = ["bash", "-euo", "pipefail", "-c", command.replace(BASE, live_server.url)]
    process = subprocess.run(line, capture_output=True, text=True, check=True, timeout=300)
    assert round_fractions(process.stdout).strip() == round_fractions(output).strip()


def round_fractions(text):
    """Round long fractions to 13 digits: the last of 17 depend on the processor."""
    return re.sub(r"\d+\.\d{14,}", lambda result: f"{float(result[0]):.13g}", text)


CLIENTS = {
    "python": (sys.executable, "-P", "-c"),
    "javascript": ("node", "--input-type=module", "--eval"),
    "r": ("Rscript", "--vanilla", "-e"),
}


@pytest.fixture
def recorder():
    """A server in this process that answers like the service and records the bodies of its requests."""
    bodies, client = [], create_app().test_client()

    class Recorder(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer = client.post(self.path, data=bodies[-1], content_type=self.headers["Content-Type"])
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.content_type)
            self.end_headers()
            self.wfile.write(answer.data)

    server = HTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    server.server_close()


def run(language, base, change=("", "")):
    """Run the program of a language on the page."""
    (code,) = find_fenced(CLIENT_PAGE, language)
    program, *options = CLIENTS[language]
    needs = ["Rscript", "-e", "library(httr2); library(jsonlite)"] if language == "r" else [program, "--version"]
    if not shutil.which(program) or subprocess.run(needs, capture_output=True, check=False).returncode:
        pytest.skip(f"{program} or a package that it needs is not installed")
    command = [program, *options, code.replace(BASE, base).replace(*change)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("language", CLIENTS)
def test_a_client_runs(language, live_server):
    process = run(language, live_server.url)
    assert process.returncode == 0, process.stderr
    expected = create_app().test_client().post("/v1/correlations", json=BODY).json
    test = expected["inference"]["tau_w"]
    numbers = [expected["coefficients"]["tau_w"], test["interval"]["low"], test["interval"]["high"], test["pvalue"]]
    *result, side, n_missing = process.stdout.split()
    assert [float(number) for number in result] == pytest.approx(numbers, rel=1e-14)
    assert (side, n_missing) == (test["alternative"], "1") == ("greater", "1")


@pytest.mark.parametrize("language", CLIENTS)
def test_a_client_sends_the_request_of_the_page(language, recorder):
    base, bodies = recorder
    assert run(language, base).returncode == 0
    assert [json.loads(body) for body in bodies] == [BODY]


@pytest.mark.parametrize("language", CLIENTS)
def test_a_client_shows_the_reason_of_a_refusal(language, live_server):
    process = run(language, live_server.url, ("bottom", "below"))
    assert process.returncode != 0
    assert "/missing: must be one of" in process.stderr


def test_the_body_made_of_trec_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq2 0 d 0\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 b 1 3.1 x\nq1 Q0 a 2 2.9 x\nq2 Q0 c 1 1.5 x\n")
    (tmp_path / "dense.run").write_text("q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.2 x\nq2 Q0 c 1 0.8 x\nq2 Q0 d 2 0.1 x\n")
    (code,) = find_fenced(EVALUATIONS, "python")
    exec(code, {})
    assert "--data-binary @body.json" in EVALUATIONS
    answer = create_app().test_client().post("/v1/evaluations", json=json.loads((tmp_path / "body.json").read_text()))
    result = evaluate("qrels.txt", ["bm25.run", "dense.run"], metrics=["tau_w", "ap"])
    assert [row["mean"] for row in answer.json["means"]] == [row["mean"] for row in result.table()]


def examples_of_requests():
    """Method, path with query, and body of each request of the list of examples."""
    (block,) = (block for block in find_fenced(REQUESTS, "text") if "POST /v1/" in block)
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
        if method != "parameters"
    } | {("GET", "/openapi.json"), ("GET", "/docs")}
    rows = "\n".join(re.findall(r"^\| `(?:GET|POST) .*$", REQUESTS, re.MULTILINE))
    assert set(re.findall(r"`(DELETE|GET|POST) (/[a-z0-9/.{}-]+)`", rows)) == served
    assert {(method, path.partition("?")[0]) for method, path, _ in examples_of_requests()} == {
        (method, path) for method, path in served if path.startswith("/v1/") and "{" not in path
    }


@pytest.mark.parametrize("ranking", re.findall(r'`(\{"(?:scores|ranks|order)".*?\})`', REQUESTS))
def test_the_page_shows_each_schema_of_a_ranking(ranking):
    document = json.loads(ranking)
    answer = create_app().test_client().post("/v1/correlations", json={"gold": document, "system": document})
    assert answer.json["coefficients"]["tau_w"] == 1


def test_the_client_of_a_job_gets_the_answer(live_server):
    (code,) = find_fenced(PAGES["docs/how-to/jobs.md"], "python")
    names = {}
    exec(code.replace(BASE, live_server.url), names)
    assert names["job"].startswith("/v1/jobs/")
    assert names["result"]["n_simulations"] == 4


def test_the_table_of_missing_items_has_each_choice():
    table = re.search(r"^## Missing items$.*?^## ", REQUESTS, re.MULTILINE | re.DOTALL)[0]
    schema = create_app().test_client().get("/openapi.json").json["components"]["schemas"]["MissingItems"]
    assert re.findall(r"^\| `(\w+)`(?: \(|\s\|)", table, re.MULTILINE)[1:] == schema["enum"]


def settings_on_the_page(heading):
    """Variable, default and meaning of each row in the section of a program, or of both."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", SETTINGS, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `(RANKCORR_[A-Z_]+)` \| (.*?) \| (.+) \|$", section, re.MULTILINE)
    assert len(rows) == section.count("`RANKCORR_") > 5
    return rows


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_tables_of_settings_are_those_of_the_code(program):
    expected = [
        (name, "" if value == () or name.endswith("TOKENS") else str(value), about)
        for name, value, about in program.table()
    ]
    rows_on_page = settings_on_the_page("Both programs") + settings_on_the_page(program.name)
    assert sorted(rows_on_page) == sorted(expected)  # each exactly once


def test_a_setting_that_both_programs_share_is_listed_once():
    names_by_program = [set(settings_on_the_page(name)) for name in PROGRAMS]
    assert not names_by_program[0] & names_by_program[1]
    assert len(re.findall(r"^\| `RANKCORR_", SETTINGS, re.MULTILINE)) == sum(map(len, names_by_program)) + len(
        settings_on_the_page("Both programs")
    )


def test_variables_set_for_other_programs_are_on_the_page():
    assert [name for name in PROGRAM_VARIABLES if f"`{name}`" not in SETTINGS] == []


def test_the_variables_of_compose_are_on_the_page():
    compose = (ROOT / "service/deploy/compose.yaml").read_text(encoding="utf-8")
    names = set(re.findall(r"\$\{([A-Z_]+)", compose))
    assert len(names) >= 6
    assert [name for name in sorted(names) if f"`{name}`" not in PAGES["docs/how-to/deployment.md"]] == []


def test_the_status_codes_of_the_service_are_on_the_page():
    (table,) = re.findall(
        r"^\| status \| meaning \|\n(.*?)^$", PAGES["docs/reference/http.md"], re.MULTILINE | re.DOTALL
    )
    statuses = {int(status) for row in table.splitlines()[1:] for status in re.findall(r"\d{3}", row.split("|")[1])}
    assert statuses == set(ALL_STATUSES)
