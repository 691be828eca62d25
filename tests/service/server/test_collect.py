"""The command rankcorr-collect: its checks before starting, and its processes."""

import json
import subprocess
import sys

import pytest

from service.server.launch import COLLECT, PROGRAMS, SERVE, chosen_program, launch
from tests.service.collect.live import COMMAND
from tests.service.live import STOP_SECONDS, clean_environment, run_service

pytestmark = pytest.mark.wide


PROBE_STATUS = 'rankcorr_requests_total{method="GET",route="/health/ready",status="200"}'


def test_a_setting_of_the_other_program_is_a_warning(monkeypatch, capsys, execve_calls):
    monkeypatch.setenv("RANKCORR_MAX_ITEMS", "5")
    monkeypatch.setenv("RANKCORR_PROGRAM", "rankcorr-serve")
    launch(COLLECT, [])
    warnings = capsys.readouterr().err.splitlines()
    assert warnings[0].startswith("rankcorr-collect: warning: RANKCORR_MAX_ITEMS is not a setting")
    assert warnings[1].startswith("rankcorr-collect: warning: RANKCORR_PROGRAM is not a setting")
    ((_, _, environment),) = execve_calls
    assert environment["RANKCORR_PROGRAM"] == "rankcorr-collect"


@pytest.mark.parametrize("ledger", ["missing/votes.db", "text.db"])
def test_a_ledger_that_cannot_be_opened_stops_the_start(tmp_path, ledger):
    (tmp_path / "text.db").write_text("no database" * 100)
    (tmp_path / "temporary").mkdir()
    path = str(tmp_path / ledger)
    environment = clean_environment(RANKCORR_LEDGER=path, TMPDIR=str(tmp_path / "temporary"))
    process = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert (process.returncode, process.stdout) == (2, "")
    starting, error = process.stderr.splitlines()
    assert "Starting gunicorn" in starting
    assert error.startswith(f"rankcorr-collect: error: RANKCORR_LEDGER: {path}: ")
    assert not list((tmp_path / "temporary").iterdir())


def test_the_command_becomes_gunicorn(execve_calls, tmp_path):
    launch(COLLECT, [])
    ((program, _, environment),) = execve_calls
    assert program == sys.executable
    assert environment["RANKCORR_RUN_FOLDER"].startswith(str(tmp_path / "rankcorr-collect-"))


def test_the_name_of_the_script_selects_the_program():
    assert set(PROGRAMS) == {"rankcorr-serve", "rankcorr-collect"}
    assert chosen_program({}) is SERVE
    assert chosen_program({"RANKCORR_PROGRAM": "rankcorr-collect"}) is COLLECT
    with pytest.raises(ValueError, match="RANKCORR_PROGRAM must be one of rankcorr-serve, rankcorr-collect; got 'x'"):
        chosen_program({"RANKCORR_PROGRAM": "x"})


def test_the_address_of_a_program_can_be_set_and_an_empty_one_is_ignored():
    for environment, expected in (
        ({}, "127.0.0.1:8080"),
        ({"RANKCORR_BIND": ""}, "127.0.0.1:8080"),
        ({"RANKCORR_BIND": "127.0.0.1:1"}, "127.0.0.1:1"),
    ):
        assert COLLECT.read(environment)[0].bind == expected


@pytest.fixture(scope="module")
def live_collect(tmp_path_factory):
    """A live rankcorr-collect with two workers, on a ledger in a file."""
    folder = tmp_path_factory.mktemp("collecting")
    with run_service(folder, {"RANKCORR_LEDGER": str(folder / "votes.db")}, COMMAND) as server:
        yield server


class TestProcesses:
    def test_both_workers_answer_and_open_the_ledger(self, live_collect):
        before = live_collect.metrics().get(PROBE_STATUS, 0.0)
        for _ in range(20):
            status, headers, _ = live_collect.ask("GET", "/health/ready")
            assert status == 200
            assert headers["X-Content-Type-Options"] == "nosniff"
        assert live_collect.metrics()[PROBE_STATUS] == before + 20
        lines = [json.loads(line) for line in live_collect.output.read_text().splitlines()]
        assert {line["route"] for line in lines} <= {"/health/live", "/health/ready", "/metrics"}

    def test_the_document_is_that_of_the_program(self, live_collect):
        status, _, body = live_collect.ask("GET", "/openapi.json")
        assert (status, json.loads(body)["info"]["title"]) == (200, "rankcorr-collect")
        assert live_collect.ask("POST", "/v1/correlations", {})[0] == 404

    def test_a_file_that_replaces_the_ledger_is_noticed(self, tmp_path):
        (tmp_path / "folder").mkdir()
        ledger = tmp_path / "folder" / "votes.db"
        with run_service(tmp_path, {"RANKCORR_LEDGER": str(ledger), "RANKCORR_WORKERS": "1"}, COMMAND) as server:
            for file in (tmp_path / "folder").iterdir():
                file.unlink()
            (tmp_path / "folder").rmdir()
            status, headers, body = server.ask("GET", "/health/ready")
            assert (status, headers["Retry-After"]) == (503, "5")
            assert json.loads(body)["type"] == "urn:rankcorr:problem:ledger-unreachable"
            assert server.ask("GET", "/health/live")[0] == 200

    def test_a_stop_drains_and_closes_the_ledger(self, tmp_path):
        # One worker, because of two that close at the same moment neither may be the last.
        environment = {"RANKCORR_LEDGER": str(tmp_path / "votes.db"), "RANKCORR_WORKERS": "1"}
        with run_service(tmp_path, environment | {"RANKCORR_DRAIN_SECONDS": "1"}, COMMAND) as server:
            for _ in range(10):
                assert server.ask("GET", "/health/ready")[0] == 200
            server.process.terminate()
            assert server.process.wait(STOP_SECONDS) == 0
            assert "Draining: the service stops in 1 s" in server.errors.read_text()
            assert "Exception" not in server.errors.read_text()
        # Closing the last connection removes the write-ahead log.
        assert [file.name for file in tmp_path.glob("votes.db*")] == ["votes.db"]
