import os

import pytest

from service.server.launch import launch


@pytest.fixture
def plain_environment(monkeypatch):
    """Unset all variables of the command and the service, except the folder of compiled kernels."""
    for name in list(os.environ):
        if name.startswith(("RANKCORR_", "PROMETHEUS_", "MALLOC_", "OPENBLAS_")):
            monkeypatch.delenv(name)


@pytest.fixture
def execve_calls(monkeypatch, tmp_path, plain_environment):  # noqa: ARG001
    """Calls of os.execve; temporary folders are created in `tmp_path`."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return calls


def refusal_of(capsys, program, *arguments):
    """The one-line error of a command that refuses to start."""
    with pytest.raises(SystemExit) as exit_:
        launch(program, list(arguments))
    assert exit_.value.code == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n"), output.err[-1]) == ("", 1, "\n")
    return output.err
