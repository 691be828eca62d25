"""The app: probes, headers, errors, logs without secrets, its ledger and its settings."""

import json
import os
import resource
import threading
from dataclasses import fields
from pathlib import Path

import pytest
from werkzeug.exceptions import PreconditionFailed

from adaptive.ledger import (
    ConflictError,
    LateVoteError,
    Ledger,
    LedgerBusyError,
    LedgerError,
    LedgerMovedError,
    NotReadyError,
    RevisionError,
    UnreachableError,
)
from rankcorr import RankingError
from service import SettingError
from service.collect import CollectSettings
from service.collect import settings as settings_module
from service.collect import state as state_module
from service.collect.state import LazyLedger, collecting
from service.http.problems import Problem
from service.http.state import state
from tests.service.live import run_in_threads

BUSY = "the ledger is busy, and nothing was changed; try again"
UNREACHABLE = "the ledger cannot be read or written; try again later"
# Path below /v1 -> the error of its view, and the status, kind and detail of the answer.
ERRORS = {
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
    """An app with views that fail like the real ones."""
    new_app = make_app()

    def add_failing_view(name, error):
        def view(**_):
            raise error

        new_app.add_url_rule(f"/v1/{name}", name, view, methods=["GET", "PUT"])

    for name, (error, *_) in ERRORS.items():
        add_failing_view(name, error)
    add_failing_view("stands", Problem(409, "another vote stands", kind="conflict", members={"answer": "left"}))
    new_app.add_url_rule("/v/<key>/seen", "voter", lambda **_: str(collecting().ledger.get().database.exists()))
    new_app.add_url_rule("/v1/own", "own", lambda: ({}, {"Cache-Control": "no-cache"}))
    return new_app


@pytest.fixture
def client(app):
    return app.test_client()


def test_the_probes_tell_whether_the_ledger_can_be_read(client, make_app, tmp_path):
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


def test_the_ledger_is_opened_at_first_use_and_closed_with_the_app(app):
    ledger = collecting(app).ledger
    client = app.test_client()
    client.get("/health/live")
    assert not ledger.is_open
    assert client.get("/v/key/seen").text == "True"
    assert ledger.is_open
    state(app).resources.close()
    assert not ledger.is_open


@pytest.mark.parametrize(
    ("path", "status", "kind", "detail"),
    [
        *((path, *expected) for path, (_, *expected) in ERRORS.items()),
        ("nope", 404, "not-found", "this path is not served; /docs lists those that are"),
    ],
)
def test_errors_are_problems(client, path, status, kind, detail):
    answer = client.get(f"/v1/{path}")
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert answer.json["type"] == f"urn:rankcorr:problem:{kind}"
    assert answer.json["detail"] == detail
    assert ("Retry-After" in answer.headers) == (status == 503)


def test_a_problem_may_have_more_fields(client):
    assert client.get("/v1/stands").json["answer"] == "left"


def test_a_body_must_be_json(client):
    assert client.put("/v1/conflict", data="a=1").status_code == 415
    assert client.put("/v1/conflict", json={}).status_code == 409


def test_headers_limit_scripts_and_caches(client):
    policy = client.get("/v/key/seen").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; ")
    assert "unsafe" not in policy
    assert client.get("/v1/conflict").headers["Content-Security-Policy"] == policy
    assert client.get("/v/key/seen").headers["Cache-Control"] == "no-store"
    assert client.get("/v1/conflict").headers["Cache-Control"] == "no-store"
    assert client.get("/v1/own").headers["Cache-Control"] == "no-cache"
    assert "Cache-Control" not in client.get("/health/live").headers
    assert "unsafe-inline" in client.get("/docs").headers["Content-Security-Policy"]  # the styles of Swagger UI
    for name in ("X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options", "X-Request-ID"):
        assert name in client.get("/v/key/seen").headers


def test_the_log_has_routes_and_no_secrets(client, capfd):
    client.set_cookie("voter_abc", "secret-cookie")
    client.get(
        "/v/secret-key/seen?PROLIFIC_PID=secret-person",
        headers={"Authorization": "Bearer secret-token", "Rankcorr-Campaign": "secret-campaign"},
    )
    client.put("/v1/conflict", json={"token": "secret-body"})
    client.get("/v1/gone")
    output = capfd.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("GET", "/v/<key>/seen", 200),
        ("PUT", "/v1/conflict", 409),
        ("GET", "/v1/gone", 503),
    ]
    assert "secret" not in output.out + output.err


def test_put_requests_are_counted(client):
    client.put("/v1/conflict", json={})
    assert 'rankcorr_requests_total{method="PUT",route="/v1/conflict",status="409"}' in client.get("/metrics").text


@pytest.fixture(autouse=True)
def long_patience(monkeypatch):
    """Creating a ledger on a slow disk takes longer than a probe waits; the test of this sets its own limit."""
    monkeypatch.setattr(state_module, "PATIENCE_SECONDS", 60.0)


def test_the_ledger_is_created_at_first_use(tmp_path):
    ledger = LazyLedger(str(tmp_path / "new.db"))
    assert not list(tmp_path.iterdir())
    assert ledger.get() is ledger.get()
    assert (tmp_path / "new.db").is_file()
    ledger.close()
    assert not ledger.is_open


def test_a_ledger_that_was_moved_away_is_not_created_again(tmp_path, target):
    ledger = LazyLedger(target)
    path, away = Path(target), tmp_path / "away.db"
    path.rename(away)
    with pytest.raises(LedgerMovedError, match="was moved or deleted; put the file back, or restart"):
        ledger.get()
    check_unreachable(ledger, "the ledger cannot be read")
    assert not path.exists()
    away.rename(path)
    ledger.check()
    ledger.close()


def test_simultaneous_threads_open_the_ledger_once(tmp_path, monkeypatch):
    calls = []
    real = Ledger.create
    monkeypatch.setattr(Ledger, "create", lambda target, **options: calls.append(target) or real(target, **options))
    ledger = LazyLedger(str(tmp_path / "new.db"))
    run_in_threads(*[ledger.get] * 8)
    assert len(calls) == 1
    ledger.close()


def test_a_forked_child_opens_new_connections(tmp_path):
    ledger = LazyLedger(str(tmp_path / "votes.db"))
    mine = ledger.get().database.engine
    child = os.fork()
    if child == 0:
        try:
            ledger.check()
            os._exit(0 if ledger.get().database.engine is not mine else 3)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.check()
    ledger.close()


def test_a_ledger_whose_disk_is_full_is_not_ready(tmp_path):
    ledger = LazyLedger(str(tmp_path / "votes.db"))
    ledger.check()
    if (child := os.fork()) == 0:  # a limit on file sizes simulates a full disk
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (state_module.SPACE_BYTES // 2, state_module.SPACE_BYTES // 2))
            check_unreachable(ledger, "no vote can be written")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.check()
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("votes.db")] == []
    ledger.close()


def check_unreachable(ledger, message):
    """Check that a probe is refused with this message."""
    with pytest.raises(Problem, match=message) as caught:
        ledger.check()
    assert (caught.value.status, caught.value.kind) == (503, "ledger-unreachable")


class TestCheck:
    def test_a_ledger_that_cannot_be_created(self, tmp_path):
        lazy_ledger = LazyLedger(str(tmp_path / "missing" / "votes.db"))
        check_unreachable(lazy_ledger, "the ledger cannot be read")
        (tmp_path / "missing").mkdir()
        lazy_ledger.check()
        lazy_ledger.close()

    def test_a_file_that_is_no_ledger(self, tmp_path):
        (tmp_path / "votes.db").write_text("not a database" * 100)
        check_unreachable(LazyLedger(str(tmp_path / "votes.db")), "the ledger cannot be read")

    def test_only_one_thread_checks_and_no_probe_waits_long(self, tmp_path, monkeypatch):
        monkeypatch.setattr(state_module, "PATIENCE_SECONDS", 0.05)
        lazy_ledger = LazyLedger(str(tmp_path / "votes.db"))
        lazy_ledger.get()
        checks, may_go = [], threading.Event()

        def hang(ledger):
            checks.append(ledger)
            assert may_go.wait(60)

        monkeypatch.setattr(Ledger, "check", hang)
        for _ in range(3):
            check_unreachable(lazy_ledger, "the ledger does not answer")
        assert len(checks) == 1
        monkeypatch.setattr(state_module, "PATIENCE_SECONDS", 60.0)
        may_go.set()
        lazy_ledger.check()
        lazy_ledger.check()
        assert 2 <= len(checks) <= 3
        lazy_ledger.close()

    def test_another_error_is_not_hidden(self, tmp_path, monkeypatch):
        lazy_ledger = LazyLedger(str(tmp_path / "votes.db"))
        monkeypatch.setattr(Ledger, "check", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            lazy_ledger.check()
        lazy_ledger.close()


def test_without_variables_settings_have_their_defaults():
    assert CollectSettings.from_environment({}) == CollectSettings()


def test_every_setting_is_read(tmp_path):
    environment = {name: "7" for name, value, _ in CollectSettings().table() if isinstance(value, int | float)}
    environment |= {
        "RANKCORR_MAX_BODY_BYTES": "5000",
        "RANKCORR_TOKENS": "0123456789abcdef,fedcba9876543210",
        "RANKCORR_METRICS": "token",
        "RANKCORR_LEDGER": "postgresql://ann:secret@db.example/votes",
        "RANKCORR_PUBLIC_URL": "https://votes.example.org/",
        "RANKCORR_ALLOWED_HOSTS": "votes.lab.example,[2001:db8::1]",
        "RANKCORR_ASSETS": str(tmp_path),
    }
    settings = CollectSettings.from_environment(environment)
    assert {name for name, *_ in settings.table()} == set(environment)
    assert len(environment) == len(fields(CollectSettings)) + len(fields(settings.limits)) - 1
    assert settings.public_url == "https://votes.example.org"
    assert settings.assets == str(tmp_path)
    assert settings.allowed_hosts == ("votes.lab.example", "2001:db8::1")
    assert settings.limits.max_body_bytes == 5_000
    untouched = {name: value for name, value, _ in CollectSettings().table()}
    assert [name for name, value, _ in settings.table() if value == untouched[name]] == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LEDGER", "mysql://db.example/votes", "RANKCORR_LEDGER must be the path of a file, or a URL like postgresql:"),
        ("LEDGER", "postgresql://", "RANKCORR_LEDGER must be the path of a file"),
        ("PUBLIC_URL", "votes.example.org", "RANKCORR_PUBLIC_URL must be like https://votes.example.org, without"),
        ("PUBLIC_URL", "https://votes.example.org/path", "without a path; got 'https://votes.example.org/path'"),
        ("PUBLIC_URL", "javascript:alert(1)", "RANKCORR_PUBLIC_URL must be like"),
        ("ALLOWED_HOSTS", "votes.example.org:8080", "RANKCORR_ALLOWED_HOSTS must hold host names or addresses without"),
        ("ALLOWED_HOSTS", "https://votes.example.org", "without scheme and port; got 'https://votes.example.org'"),
        ("ALLOWED_HOSTS", "*", "RANKCORR_ALLOWED_HOSTS must hold host names"),
        ("UNANSWERED_SHEETS", "-1", "RANKCORR_UNANSWERED_SHEETS must be a whole number from 0 to"),
        ("ASSETS", "/nonexistent/pictures", "RANKCORR_ASSETS must be a folder; got '/nonexistent/pictures'"),
    ],
)
def test_invalid_values_of_variables_are_refused(name, value, message):
    with pytest.raises(SettingError, match=message):
        CollectSettings.from_environment({"RANKCORR_" + name: value})


def test_no_message_and_no_table_shows_a_password():
    with pytest.raises(SettingError) as caught:
        CollectSettings.from_environment({"RANKCORR_LEDGER": "mysql://ann:secret@db.example/votes"})
    assert "secret" not in str(caught.value)
    assert "secret" not in str(CollectSettings(ledger="postgresql://ann:secret@db.example/votes").table())


def test_postgresql_needs_psycopg(monkeypatch):
    monkeypatch.setattr(settings_module, "find_spec", lambda _: None)
    with pytest.raises(SettingError, match="needs psycopg: pip install 'rankcorr-service\\[postgres\\]'"):
        CollectSettings.from_environment({"RANKCORR_LEDGER": "postgresql://db.example/votes"})
