"""The ledger of a process, and whether it answers."""

import os
import resource
import threading

import pytest

from adaptive.ledger import Ledger
from service.collect import state as module
from service.collect.state import LazyLedger
from service.http.problems import Problem
from tests.service.load import in_threads


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """To make a ledger takes longer than a probe waits, where the disk is slow; the test of that sets its own time."""
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60.0)


def test_it_is_made_when_it_is_needed(tmp_path):
    own = LazyLedger(str(tmp_path / "new.db"))
    assert not list(tmp_path.iterdir())
    assert own.get() is own.get()
    assert (tmp_path / "new.db").is_file()
    own.close()
    assert not own.is_open


def test_threads_that_need_it_at_once_open_it_once(tmp_path, monkeypatch):
    calls = []
    real = Ledger.create
    monkeypatch.setattr(Ledger, "create", lambda target, **options: calls.append(target) or real(target, **options))
    own = LazyLedger(str(tmp_path / "new.db"))
    in_threads(*[own.get] * 8)
    assert len(calls) == 1
    own.close()


def test_a_child_that_was_forked_has_connections_of_its_own(tmp_path):
    own = LazyLedger(str(tmp_path / "votes.db"))
    mine = own.get().database.engine
    child = os.fork()
    if child == 0:
        try:
            own.check()
            os._exit(0 if own.get().database.engine is not mine else 3)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    own.check()
    own.close()


def test_a_ledger_whose_disk_is_full_is_not_ready(tmp_path):
    own = LazyLedger(str(tmp_path / "votes.db"))
    own.check()
    if (child := os.fork()) == 0:  # with a limit on files, which stands for the space on the disk
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (module.SPACE_BYTES // 2, module.SPACE_BYTES // 2))
            check_unreachable(own, "no vote can be written")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    own.check()
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("votes.db")] == []
    own.close()


def check_unreachable(own, message):
    """A probe is refused with this message."""
    with pytest.raises(Problem, match=message) as caught:
        own.check()
    assert (caught.value.status, caught.value.kind) == (503, "ledger-unreachable")


class TestCheck:
    def test_a_ledger_that_cannot_be_made(self, tmp_path):
        own = LazyLedger(str(tmp_path / "missing" / "votes.db"))
        check_unreachable(own, "the ledger cannot be read")
        (tmp_path / "missing").mkdir()
        own.check()
        own.close()

    def test_a_file_that_is_none(self, tmp_path):
        (tmp_path / "votes.db").write_text("not a database" * 100)
        check_unreachable(LazyLedger(str(tmp_path / "votes.db")), "the ledger cannot be read")

    def test_one_thread_asks_and_no_probe_waits_for_long(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.05)
        own = LazyLedger(str(tmp_path / "votes.db"))
        own.get()
        asked, may_go = [], threading.Event()

        def hang(ledger):
            asked.append(ledger)
            assert may_go.wait(60)

        monkeypatch.setattr(Ledger, "check", hang)
        for _ in range(3):
            check_unreachable(own, "the ledger does not answer")
        assert len(asked) == 1
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 60.0)
        may_go.set()
        own.check()
        own.check()
        assert 2 <= len(asked) <= 3
        own.close()

    def test_another_error_is_not_hidden(self, tmp_path, monkeypatch):
        own = LazyLedger(str(tmp_path / "votes.db"))
        monkeypatch.setattr(Ledger, "check", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            own.check()
        own.close()
