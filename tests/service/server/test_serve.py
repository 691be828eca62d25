import errno
import os
import re
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from service import Settings
from service.collect import CollectSettings
from service.server import launch as command
from service.server.launch import COLLECT, NEEDED_FOR_PAGES, SERVE, ServerSettings, launch, prepare, usable_cores
from tests.repository import ROOT, requirements
from tests.service.answers import PAIR
from tests.service.live import COMMAND, LONG_LIMITS, START_SECONDS, clean_environment, run_service
from tests.service.server.conftest import refusal_of

pytestmark = pytest.mark.wide

BALLOT = {"items": 12, "presentations": 6, "voters": 3, "seed": 1}
BIND = "RANKCORR_BIND must be host:port, as in 127.0.0.1:8000, or unix:/path; got "


@pytest.mark.parametrize(
    ("program", "name", "value", "message"),
    [
        (SERVE, "MAX_ITEMS", "many", "RANKCORR_MAX_ITEMS must be a whole number from 2 to"),
        (SERVE, "WORKERS", "-1", "RANKCORR_WORKERS must be a whole number from 0 to 1000; got '-1'"),
        (SERVE, "CLIENT_SECONDS", "0", "RANKCORR_CLIENT_SECONDS must be a number of seconds above 0"),
        (SERVE, "METRICS", "token", "RANKCORR_METRICS is 'token', but RANKCORR_TOKENS holds none"),
        *(
            (SERVE, "BIND", value, BIND)
            for value in ("8000", ":8000", "localhost", "localhost:65536", "a b:1", "unix:relative", "[::1]")
        ),
        (COLLECT, "UNANSWERED_SHEETS", "many", "RANKCORR_UNANSWERED_SHEETS must be a whole number from 0 to"),
        (COLLECT, "BIND", "nowhere", BIND),
        (COLLECT, "LEDGER", "mysql://ann:secret@db.example/votes", "RANKCORR_LEDGER must be the path of a file, or"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_an_invalid_setting_stops_the_start_with_one_line(
    monkeypatch, capsys, execve_calls, program, name, value, message, arguments
):
    monkeypatch.setenv(f"RANKCORR_{name}", value)
    line = refusal_of(capsys, program, *arguments)
    assert line.startswith(f"{program.name}: error: {message}")
    assert "secret" not in line
    assert not execve_calls


@pytest.mark.parametrize("program", [SERVE, COLLECT], ids=lambda program: program.name)
def test_job_workers_need_redis(capsys, execve_calls, program):
    line = refusal_of(capsys, program, "--jobs")
    assert line == f"{program.name}: error: --jobs needs RANKCORR_JOBS_URL, the Redis that keeps the jobs\n"
    assert not execve_calls


@pytest.mark.parametrize("program", [SERVE, COLLECT], ids=lambda program: program.name)
def test_check_starts_nothing(capsys, execve_calls, tmp_path, program):
    launch(program, ["--check"])
    cores = usable_cores()
    assert capsys.readouterr().out == f"the settings are valid: {cores} workers would listen at {program.bind}\n"
    assert not execve_calls
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("program", "settings", "name", "default"),
    [(SERVE, Settings, "MAX_ITEMS", "200000"), (COLLECT, CollectSettings, "LEDGER", "collect.db")],
)
def test_help_lists_each_variable_with_its_default_and_shows_no_token(
    monkeypatch, capsys, execve_calls, program, settings, name, default
):
    monkeypatch.setenv("RANKCORR_TOKENS", "a-token-that-is-secret")
    with pytest.raises(SystemExit) as exit_:
        launch(program, ["--help"])
    assert (exit_.value.code, execve_calls) == (0, [])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    defaults = {words[0]: words[1] for words in lines if words and words[0].startswith("RANKCORR_")}
    rows = (*ServerSettings().table(), *settings().table())
    assert set(defaults) == {name for name, _, _ in rows}
    assert len(rows) >= len(fields(ServerSettings)) + 15
    assert (defaults["RANKCORR_BIND"], defaults[f"RANKCORR_{name}"]) == (program.bind, default)
    assert defaults["RANKCORR_TOKENS"] == "bearer"  # the first word of the description: there is no default


@pytest.mark.parametrize(("program", "missing"), [(SERVE, ["flask", "gunicorn"]), (COLLECT, ["nh3"])])
def test_missing_packages_are_named(monkeypatch, capsys, execve_calls, program, missing):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name in missing else object())
    line = refusal_of(capsys, program)
    assert line == f"{program.name}: error: {', '.join(missing)} cannot be imported: install rankcorr-service\n"
    assert not execve_calls


def test_the_check_of_missing_packages_needs_none_of_them():
    program = "import sys, service.server.launch; sys.exit(str({'numpy', 'flask', 'gunicorn'} & sys.modules.keys()))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.stderr == "set()\n"


def test_checked_packages_are_the_dependencies_beyond_the_library():
    imported = {"markdown_it_py": "markdown_it"}
    library, packages = (
        {imported.get(name, name) for name in (entry.name.replace("-", "_") for entry in requirements(folder)[""])}
        for folder in (ROOT, ROOT / "service")
    )
    assert set(COLLECT.needed) == packages - library - {"rankcorr", "rankcorr_adaptive"}
    assert set(SERVE.needed) == set(COLLECT.needed) - set(NEEDED_FOR_PAGES)


def test_the_command_becomes_gunicorn_with_new_folders(monkeypatch, execve_calls, tmp_path):
    monkeypatch.setenv("RANKCORR_WORKERS", "3")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    launch(SERVE, [])
    ((program, arguments, environment),) = execve_calls
    assert program == sys.executable
    assert arguments == [
        sys.executable,
        "-P",
        "-c",
        "import adaptive, rankcorr, service; from gunicorn.app.wsgiapp import run; run()",
        "--config",
        "python:service.server.gunicorn_config",
    ]
    (run,) = tmp_path.iterdir()
    assert run.stat().st_mode & 0o077 == 0
    assert environment["RANKCORR_RUN_FOLDER"] == str(run)
    assert environment["RANKCORR_PROGRAM"] == "rankcorr-serve"
    assert environment["PROMETHEUS_MULTIPROC_DIR"] == str(run / "metrics")
    assert (run / "metrics").is_dir()
    assert environment["RANKCORR_WORKERS"] == "3"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["MALLOC_ARENA_MAX"] == "7"
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_an_unknown_variable_gives_a_warning(monkeypatch, capsys, execve_calls):
    monkeypatch.setenv("RANKCORR_MAX_ITEM", "5")
    monkeypatch.setenv("RANKCORR_TOKEN", "0123456789abcdef")
    launch(SERVE, ["--check"])
    output = capsys.readouterr()
    assert output.out.startswith("the settings are valid: ")
    assert output.err == (
        "rankcorr-serve: warning: RANKCORR_MAX_ITEM is not a setting: did you mean RANKCORR_MAX_ITEMS?\n"
        "rankcorr-serve: warning: RANKCORR_TOKEN is not a setting: did you mean RANKCORR_TOKENS?\n"
    )
    assert not execve_calls


@pytest.mark.parametrize(
    ("bind", "proxies", "is_warned"),
    [
        *((bind, "0", False) for bind in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/x")),
        *((bind, "0", True) for bind in ("0.0.0.0:1", "[::]:1", "some-host.example:1")),
        ("0.0.0.0:1", "1", False),
    ],
)
def test_a_public_address_without_a_proxy_gives_a_warning(monkeypatch, capsys, execve_calls, bind, proxies, is_warned):
    monkeypatch.setenv("RANKCORR_BIND", bind)
    monkeypatch.setenv("RANKCORR_TRUSTED_PROXIES", proxies)
    for arguments in (["--check"], []):
        launch(SERVE, arguments)
        warning = (
            f"rankcorr-serve: warning: other machines can reach {bind}, and slow clients can block a server without"
        )
        assert capsys.readouterr().err.startswith(warning) == is_warned
    assert len(execve_calls) == 1


def test_a_full_disk_stops_the_start(monkeypatch, capsys, execve_calls, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert "no folder for this run: [Errno 28] No space left on device" in refusal_of(capsys, SERVE)
    assert not list(tmp_path.iterdir())
    assert not execve_calls


@pytest.mark.usefixtures("execve_calls")
def test_old_metrics_are_deleted_from_a_folder_for_metrics(tmp_path):
    folder = tmp_path / "some" / "metrics"
    folder.mkdir(parents=True)
    names = ("counter_1.db", "histogram_1.db", "gauge_livesum_1.db", "counter_ended.db", "mine.db", "counter_1.txt")
    for name in names:
        (folder / name).touch()
    prepare(SERVE, {"PROMETHEUS_MULTIPROC_DIR": str(folder)})
    own_files = [f"{kind}_{os.getpid()}.db" for kind in ("counter", "gauge_livesum", "histogram")]
    assert sorted(file.name for file in folder.iterdir()) == sorted(["counter_1.txt", "mine.db", *own_files])


def test_a_folder_that_cannot_be_created_stops_the_start_and_leaves_nothing(
    monkeypatch, capsys, execve_calls, tmp_path
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "file" / "metrics"))
    line = refusal_of(capsys, SERVE)
    assert line.startswith("rankcorr-serve: error: no folder for this run: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert not execve_calls


@pytest.mark.usefixtures("execve_calls")
def test_kernels_in_a_read_only_folder_are_copied(monkeypatch, tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "one.nbi").write_text("machine code")
    environment = {"NUMBA_CACHE_DIR": str(kernels)}
    prepare(SERVE, environment)
    assert environment["NUMBA_CACHE_DIR"] == str(kernels)
    monkeypatch.setattr(os, "access", lambda *_: False)
    prepare(SERVE, environment)
    copy = Path(environment["NUMBA_CACHE_DIR"])
    assert copy.parent == Path(environment["RANKCORR_RUN_FOLDER"])
    assert (copy / "one.nbi").read_text() == "machine code"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_during_compilation_is_quiet_and_leaves_nothing(how, tmp_path):
    environment = clean_environment(TMPDIR=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path), NUMBA_OPT="0")
    with subprocess.Popen(COMMAND, env=environment, stderr=subprocess.PIPE, text=True) as process:
        lines = iter(process.stderr.readline, "")
        assert any("Compiling the kernels" in line for line in lines)
        process.send_signal(how)
        assert process.wait(START_SECONDS) == 0  # not before a kernel is ready
        assert [line for line in lines if "[INFO]" not in line] == []
    assert not list(tmp_path.glob("rankcorr-serve-*"))


def test_packages_in_the_current_folder_are_not_imported(tmp_path):
    for package in ("service", "adaptive", "rankcorr"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('foreign code')\n", encoding="utf-8")
    environment = clean_environment() | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    check = [sys.executable, *command.GUNICORN, "--check-config"]
    process = subprocess.run(check, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.nightly
def test_a_first_start_compiles_kernels_for_threads_and_children_the_rest(tmp_path):
    kernels = tmp_path / "kernels"
    # Compilation does not count as time of the request, whose limit is far lower.
    environment = {**LONG_LIMITS, "NUMBA_CACHE_DIR": str(kernels), "RANKCORR_MAX_SECONDS": "2"}
    with run_service(tmp_path, environment) as server:
        before = {path.name for path in kernels.rglob("*.nbc")}
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
        assert {path.name for path in kernels.rglob("*.nbc")} == before
        for _ in range(2):
            assert server.ask("POST", "/v1/ballots", BALLOT, timeout=START_SECONDS)[0] == 200
        assert {path.name for path in kernels.rglob("*.nbc")} > before
        # ctrl-c reaches every process of a terminal, but only the master reacts.
        for worker in server.workers():
            ignored = re.search(r"SigIgn:\s+(\w+)", Path(f"/proc/{worker}/status").read_text())
            assert int(ignored[1], 16) >> (signal.SIGINT - 1) & 1


def test_only_folders_of_killed_runs_are_removed(monkeypatch, tmp_path, plain_environment):  # noqa: ARG001
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, foreign = tmp_path / "rankcorr-serve-dead", tmp_path / "rankcorr-collect-dead"
    for folder in (dead, foreign):
        folder.mkdir()
        (folder / command.LOCK).touch()
    (tmp_path / "rankcorr-serve-new").mkdir()  # of a run that has not created its lock yet
    first, second = {}, {}
    prepare(SERVE, first)
    assert not dead.exists()
    prepare(SERVE, second)
    assert Path(first[command.RUN_FOLDER]).is_dir()
    assert (tmp_path / "rankcorr-serve-new").is_dir()
    assert foreign.is_dir()
