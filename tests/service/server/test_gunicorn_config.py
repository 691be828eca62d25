"""The hooks of gunicorn."""

import os
from types import SimpleNamespace

import pytest

pytestmark = [
    pytest.mark.wide,
    pytest.mark.usefixtures("plain_environment"),
]  # which the module reads when it is imported


def test_only_the_folder_created_by_the_command_is_removed(tmp_path):
    from service.server.gunicorn_config import remove_run_folder

    run_folder, other = tmp_path / "rankcorr-serve-x", tmp_path / "home"
    run_folder.mkdir()
    other.mkdir()
    remove_run_folder(None, os.getpid())
    remove_run_folder(str(other), os.getpid())
    remove_run_folder(str(run_folder), os.getpid() + 1)
    assert run_folder.is_dir()
    assert other.is_dir()
    remove_run_folder(str(run_folder), os.getpid())
    assert not run_folder.exists()


def test_gunicorn_is_not_started_without_the_command():
    from service.server.gunicorn_config import on_starting

    with pytest.raises(
        RuntimeError, match="PROMETHEUS_MULTIPROC_DIR is not set: start the service with rankcorr-serve"
    ):
        on_starting(None)


def test_the_start_message_follows_the_last_worker_once(monkeypatch, capsys):
    from service.server import gunicorn_config

    monkeypatch.setenv("RANKCORR_NOTICE", "To vote: here")
    monkeypatch.setattr(gunicorn_config, "workers", 2)
    monkeypatch.setattr(gunicorn_config.metrics, "start_counting", str)
    monkeypatch.setattr(gunicorn_config.signal, "signal", lambda *_: None)
    for age, message in ((1, ""), (2, "\nTo vote: here\n\n"), (3, "")):  # the third replaces one that has ended
        gunicorn_config.post_worker_init(SimpleNamespace(pid=7, age=age, sockets=[]))
        assert capsys.readouterr().err == message


def test_unwritable_metrics_are_reported_and_do_no_harm(monkeypatch):
    from service.server import gunicorn_config

    reports = []
    arbiter = SimpleNamespace(log=SimpleNamespace(exception=lambda *report: reports.append(report)))
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "/nonexistent")
    gunicorn_config.child_exit(arbiter, SimpleNamespace(pid=7))
    assert reports == [("the metrics of worker %s are lost", 7)]
