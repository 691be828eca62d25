"""How the app is put together: probes, headers, errors, and logs that hold no secret."""

import json

import pytest
from werkzeug.exceptions import PreconditionFailed

from adaptive.ledger import (
    ConflictError,
    LateVoteError,
    LedgerBusyError,
    LedgerError,
    NotReadyError,
    RevisionError,
    UnreachableError,
)
from rankcorr import RankingError
from service.collect.state import collecting
from service.http.problems import Problem
from service.http.state import state

BUSY = "the ledger is busy, and nothing was changed; try again"
UNREACHABLE = "the ledger cannot be read or written; try again later"
# Path below /v1 -> the error of its view, and the status, kind and detail of the answer.
RAISED = {
    "busy": (LedgerBusyError("postgresql://db.example/votes: busy for 20 s"), 503, "busy", BUSY),
    "gone": (UnreachableError("postgresql://db.example/votes: gone"), 503, "ledger-unreachable", UNREACHABLE),
    "revision": (RevisionError("postgresql://db.example/votes: old"), 503, "ledger-unreachable", UNREACHABLE),
    "conflict": (ConflictError("another vote stands"), 409, "conflict", "another vote stands"),
    "late": (LateVoteError("the ballot is closed"), 409, "late", "the ballot is closed"),
    "not-ready": (NotReadyError("12 votes are missing"), 409, "not-ready", "12 votes are missing"),
    "ledger": (LedgerError("all ballots are closed"), 409, "not-possible", "all ballots are closed"),
    "library": (RankingError("scores[3] is nan"), 422, "ranking", "scores[3] is nan"),
    "forbidden": (Problem(403, "agree first", kind="consent-needed"), 403, "consent-needed", "agree first"),
    "changed": (PreconditionFailed(), 412, "changed", PreconditionFailed.description),
}


@pytest.fixture
def app(make_app):
    """An app with views that fail in the ways of the real ones."""
    made = make_app()

    def raising(name, error):
        def view(**_):
            raise error

        made.add_url_rule(f"/v1/{name}", name, view, methods=["GET", "PUT"])

    for name, (error, *_) in RAISED.items():
        raising(name, error)
    raising("stands", Problem(409, "another vote stands", kind="conflict", members={"answer": "left"}))
    made.add_url_rule("/v/<key>/seen", "voter", lambda **_: str(collecting().ledger.get().database.exists()))
    made.add_url_rule("/v1/own", "own", lambda: ({}, {"Cache-Control": "no-cache"}))
    return made


@pytest.fixture
def asked(app):
    return app.test_client()


def test_the_probes(client, make_app, tmp_path):
    assert client.get("/health/live").json == {"status": "ok"}
    ready = client.get("/health/ready")
    assert ready.status_code == 200
    assert ready.json["limits"]["RANKCORR_MAX_WAITING"] == 16
    lost = make_app(ledger=str(tmp_path / "missing" / "votes.db")).test_client()
    assert lost.get("/health/live").status_code == 200
    answer = lost.get("/health/ready")
    assert (answer.status_code, answer.content_type) == (503, "application/problem+json")
    assert answer.json["type"] == "urn:rankcorr:problem:ledger-unreachable"
    assert str(tmp_path) not in answer.text


def test_a_service_that_is_about_to_stop_is_not_ready(make_app):
    app = make_app()
    state(app).stopping.begin()
    assert app.test_client().get("/health/ready").json["type"] == "urn:rankcorr:problem:stopping"


def test_the_ledger_is_opened_by_whoever_needs_it_first_and_closed_with_the_app(app):
    own = collecting(app).ledger
    client = app.test_client()
    client.get("/health/live")
    assert not own.is_open
    assert client.get("/v/key/seen").text == "True"
    assert own.is_open
    state(app).resources.close()
    assert not own.is_open


@pytest.mark.parametrize(
    ("path", "status", "kind", "detail"),
    [
        *((path, *said) for path, (_, *said) in RAISED.items()),
        ("nope", 404, "not-found", "this path is not served; /docs lists those that are"),
    ],
)
def test_errors_are_problems(asked, path, status, kind, detail):
    answer = asked.get(f"/v1/{path}")
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert answer.json["type"] == f"urn:rankcorr:problem:{kind}"
    assert answer.json["detail"] == detail
    assert ("Retry-After" in answer.headers) == (status == 503)


def test_a_problem_may_say_more(asked):
    assert asked.get("/v1/stands").json["answer"] == "left"


def test_a_body_is_json(asked):
    assert asked.put("/v1/conflict", data="a=1").status_code == 415
    assert asked.put("/v1/conflict", json={}).status_code == 409


def test_headers(asked):
    policy = asked.get("/v/key/seen").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; ")
    assert "unsafe" not in policy
    assert asked.get("/v1/conflict").headers["Content-Security-Policy"] == policy
    assert asked.get("/v/key/seen").headers["Cache-Control"] == "no-store"
    assert asked.get("/v1/conflict").headers["Cache-Control"] == "no-store"
    assert asked.get("/v1/own").headers["Cache-Control"] == "no-cache"
    assert "Cache-Control" not in asked.get("/health/live").headers
    assert "unsafe-inline" in asked.get("/docs").headers["Content-Security-Policy"]  # the styles of Swagger UI
    for name in ("X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options", "X-Request-ID"):
        assert name in asked.get("/v/key/seen").headers


def test_the_log_has_the_route_and_no_secret(asked, capfd):
    asked.set_cookie("voter_abc", "secret-cookie")
    asked.get(
        "/v/secret-key/seen?PROLIFIC_PID=secret-person",
        headers={"Authorization": "Bearer secret-token", "Rankcorr-Campaign": "secret-campaign"},
    )
    asked.put("/v1/conflict", json={"token": "secret-body"})
    asked.get("/v1/gone")
    output = capfd.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("GET", "/v/<key>/seen", 200),
        ("PUT", "/v1/conflict", 409),
        ("GET", "/v1/gone", 503),
    ]
    assert "secret" not in output.out + output.err


def test_puts_are_counted_as_such(asked):
    asked.put("/v1/conflict", json={})
    assert 'rankcorr_requests_total{method="PUT",route="/v1/conflict",status="409"}' in asked.get("/metrics").text
