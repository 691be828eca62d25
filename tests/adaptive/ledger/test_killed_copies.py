"""Imports and backups that are killed at any moment: the copy is whole or not there, and the source is as it was."""

import os
import signal
import sys

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

import adaptive._cli.run.campaign
from adaptive._cli.main import main
from adaptive.ledger import Ledger
from adaptive.ledger._store import database
from rankcorr._io import files
from tests.adaptive.ledger import processes
from tests.adaptive.ledger.campaigns import answer_all, campaign_of, check_ledger, in_second_ballot, query
from tests.adaptive.ledger.faults import Points


class Lines:
    """Counts the lines of some modules that run, and kills the process before one of them."""

    def __init__(self, modules, fatal=None):
        self.n_passed, self.fatal, self.files = 0, fatal, {module.__file__ for module in modules}

    def __enter__(self):
        sys.settrace(lambda frame, *_: self.trace if frame.f_code.co_filename in self.files else None)

    def trace(self, _frame, event, _arg):
        if event == "line":
            if self.n_passed == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            self.n_passed += 1
        return self.trace

    def __exit__(self, *_):
        sys.settrace(None)


def killed_at_each_line(module, step, check):
    """Run `step` in children that are killed, each before another line of the module or of the writer of files."""
    point = 0

    def die():
        with Lines((module, files), point):
            step()

    while True:
        is_done = processes.survives(die)
        check(is_done)
        if is_done:
            return point
        point += 1


@pytest.fixture
def source(tmp_path):
    """A file of a campaign with a closed ballot and an open one."""
    ledger = Ledger.create(tmp_path / "source.db")
    yield in_second_ballot(ledger)
    ledger.close()


def whole(path, expected):
    """Whether a ledger is there; it must be the campaign then, and nothing else must lie beside it."""
    if not path.exists():
        return False
    ledger = Ledger.open(path)
    assert ledger.campaign().bundle(names=True) == expected
    assert query(ledger, "SELECT count(*) FROM campaign") == [(1,)]
    check_ledger(ledger)
    ledger.close()
    return True


def test_a_backup_killed_at_any_line_is_whole_or_not_there(source, tmp_path):
    copy, expected = tmp_path / "copy.db", source.bundle(names=True)

    def check(done):
        assert whole(copy, expected) or not done
        assert source.bundle(names=True) == expected
        copy.unlink(missing_ok=True)
        database.back_up(source.database, copy)  # what was left behind is in nobody's way
        assert whole(copy, expected)
        copy.unlink()

    assert killed_at_each_line(database, lambda: database.back_up(source.database, copy), check) > 15


def imports(*arguments):
    result = CliRunner().invoke(main, ["run", "import", *arguments])
    assert result.exit_code == 0, result.output


def test_a_new_ledger_of_an_import_killed_at_any_line_is_whole_or_not_there(source, tmp_path):
    copy, expected = tmp_path / "copy.db", source.bundle(names=True)
    (tmp_path / "b.zip").write_bytes(expected)

    def check(done):
        assert whole(copy, expected) or not done
        copy.unlink(missing_ok=True)

    def step():
        imports(str(copy), str(tmp_path / "b.zip"))

    assert killed_at_each_line(adaptive._cli.run.campaign, step, check) > 10
    step()
    assert whole(copy, expected)


def test_a_new_ledger_of_an_import_killed_at_its_statements_is_not_there(source, tmp_path):
    copy, expected = tmp_path / "copy.db", source.bundle(names=True)
    (tmp_path / "b.zip").write_bytes(expected)

    def run(report, fatal=None):
        n_passed = 0

        def passed(*_):
            nonlocal n_passed
            if n_passed == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            n_passed += 1

        for event in ("before_cursor_execute", "after_cursor_execute", "commit"):
            sa.event.listen(sa.Engine, event, passed)
        imports(str(copy), str(tmp_path / "b.zip"))
        report(str(n_passed))

    n_points = int(processes.run(run)[0])
    copy.unlink()
    for fatal in [*range(0, n_points - 8, n_points // 8), *range(n_points - 8, n_points)]:
        child = processes.start(lambda report, fatal=fatal: run(report, fatal))
        assert child.lines() == []
        assert child.wait() == -signal.SIGKILL
        assert not copy.exists()
    imports(str(copy), str(tmp_path / "b.zip"))
    assert whole(copy, expected)


def test_an_import_into_a_ledger_killed_at_a_statement_is_whole_or_not_there(ledger, source, tmp_path):
    (tmp_path / "b.zip").write_bytes(source.bundle(names=True))
    beside = campaign_of(ledger)
    answer_all(beside)
    before, point = beside.bundle(), 0

    def die():
        Points(ledger, point, of_statements=True)
        ledger.restore(tmp_path / "b.zip")

    while query(ledger, "SELECT count(*) FROM campaign") == [(1,)]:
        is_done = processes.survives(die)
        assert not is_done or query(ledger, "SELECT count(*) FROM campaign") == [(2,)]
        point += 1
        check_ledger(ledger)
        assert beside.bundle() == before
    assert point > 20
    (key,) = query(ledger, "SELECT key FROM campaign ORDER BY id")[-1]
    made = ledger.campaign(key)
    made.verify()
    assert made.bundle(names=True) == (tmp_path / "b.zip").read_bytes()


def test_a_name_that_somebody_took_meanwhile_is_not_replaced(source, tmp_path):
    (tmp_path / "b.zip").write_bytes(source.bundle())
    copy = tmp_path / "copy.db"
    with (  # noqa: PT012
        pytest.raises(adaptive._cli.run.campaign.TableError, match=r"copy\.db: cannot be created: File exists"),
        adaptive._cli.run.campaign.created(str(copy)) as made,
    ):
        made.restore(tmp_path / "b.zip")
        copy.write_text("of somebody else")
    assert copy.read_text() == "of somebody else"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
