"""The ledger of a process, and whether it answers."""

import os
import threading

import pytest

from adaptive.ledger import Ledger, UnreachableError
from service.collect.ledger import OwnLedger
from service.http.problems import Problem


def test_it_is_made_when_it_is_needed(tmp_path):
    own = OwnLedger(str(tmp_path / "new.db"))
    assert not list(tmp_path.iterdir())
    assert own.get() is own.get()
    assert (tmp_path / "new.db").is_file()
    own.close()
    assert not own.is_open


def test_threads_that_need_it_at_once_open_it_once(tmp_path, monkeypatch):
    calls = []
    real = Ledger.create
    monkeypatch.setattr(Ledger, "create", lambda target: calls.append(target) or real(target))
    own = OwnLedger(str(tmp_path / "new.db"))
    threads = [threading.Thread(target=own.get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    own.close()


def test_a_child_that_was_forked_has_connections_of_its_own(tmp_path):
    own = OwnLedger(str(tmp_path / "votes.db"))
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


class TestCheck:
    def test_a_ledger_that_cannot_be_made(self, tmp_path):
        own = OwnLedger(str(tmp_path / "missing" / "votes.db"))
        with pytest.raises(Problem, match="the ledger cannot be read") as caught:
            own.check()
        assert (caught.value.status, caught.value.kind) == (503, "ledger-unreachable")
        (tmp_path / "missing").mkdir()
        own.check()
        own.close()

    def test_a_file_that_is_none(self, tmp_path):
        (tmp_path / "votes.db").write_text("not a database" * 100)
        with pytest.raises(Problem, match="the ledger cannot be read"):
            OwnLedger(str(tmp_path / "votes.db")).check()

    def test_one_thread_asks_and_the_others_hear_what_it_heard(self, tmp_path, monkeypatch):
        now = [0.0]
        own = OwnLedger(str(tmp_path / "votes.db"), clock=lambda: now[0])
        own.check()
        asked, may_go = threading.Event(), threading.Event()

        def hang(_ledger):
            asked.set()
            assert may_go.wait(60)
            raise UnreachableError("gone")

        monkeypatch.setattr(Ledger, "check", hang)
        failures = []

        def probe():
            try:
                own.check()
            except Problem as problem:
                failures.append(problem.detail)

        first = threading.Thread(target=probe)
        first.start()
        assert asked.wait(60)
        own.check()  # for two seconds, what was heard last
        now[0] = 2.1
        with pytest.raises(Problem, match="the ledger does not answer"):
            own.check()
        may_go.set()
        first.join(60)
        assert failures == ["the ledger cannot be read"]
        own.close()
