"""Killed processes: acknowledged votes are stored, nothing is stored twice, and other processes continue at once."""

import os
import random
import signal
import sys
import threading
import time

import pytest
from click.testing import CliRunner

import adaptive._cli.run.ledgers
from adaptive._cli.main import main
from adaptive._plan import plan_ballots
from adaptive.ledger import ConflictError, Ledger, LedgerBusyError, LedgerError
from adaptive.ledger._ballots.sheets import claim_sheet, give_sheet
from adaptive.ledger._store import database
from adaptive.ledger._votes.casting import correct, retract
from rankcorr._io import source as files
from tests.adaptive.ledger import databases as processes
from tests.adaptive.ledger.campaigns import (
    answer_all,
    answered_campaign,
    campaign_in_second_ballot,
    campaign_of,
    change,
    check_ledger,
    comparisons_of,
    first_comparison,
    new_id,
    query,
    query_ballots,
    vote,
    voters_of,
    write,
)
from tests.adaptive.ledger.databases import Points
from tests.service.live import poll_until

pytestmark = pytest.mark.wide


def kill_at_each_point(ledger, prepare, step, check, *, of_statements=False):
    """Run `step` of a campaign in children, each killed at the next point, until one finishes."""
    point = 0

    def die():
        Points(ledger, point, of_statements=of_statements)
        step(campaign)

    while True:
        campaign = prepare()
        is_done = processes.run_to_end(die)
        wait_for_server(campaign)
        check(campaign, is_done)
        check_ledger(ledger)
        if is_done:
            return point
        point += 1


def wait_for_server(campaign):
    """Wait until PostgreSQL has finished the work of a killed client, which it may still commit."""
    busy = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    if not campaign.database.is_sqlite:
        poll_until(lambda: not query(campaign, f"{busy} AND pid <> pg_backend_pid()"), goal="the end of its sessions")


def votes_of(campaign):
    columns = "t.place, t.revision, t.kind, t.answer"
    return query_ballots(campaign, columns, "vote_event", "ORDER BY t.place, t.revision")


def test_a_vote_killed_at_any_point_and_sent_again_is_stored_once(ledger):
    event_id = ""

    def prepare():
        nonlocal event_id
        event_id = new_id()
        return campaign_of(ledger)

    def cast(campaign):
        place, _, voter = comparisons_of(campaign)[0]
        return campaign.cast(vote(voter, place, event_id=event_id))

    def check(campaign, is_finished):
        before = votes_of(campaign)
        assert before in ([], [(0, 1, "cast", 1)])
        assert before or not is_finished
        assert cast(campaign).repeated == bool(before)
        assert votes_of(campaign) == [(0, 1, "cast", 1)]

    assert kill_at_each_point(ledger, prepare, cast, check, of_statements=True) >= 8


def test_retractions_and_corrections_are_atomic(ledger):
    ids = {}

    def prepare():
        campaign, place, voter = first_comparison(ledger)
        campaign.cast(vote(voter, place))
        ids.update(event=new_id(), voter=voter)
        return campaign

    def take_back(campaign):
        return retract(campaign, ids["event"], 1, 0, ids["voter"])

    def put_right(campaign):
        return correct(campaign, ids["event"], 1, 0, "tie", "misread")

    for step, event in ((take_back, (0, 2, "retract", None)), (put_right, (0, 2, "cast", 0))):

        def check(campaign, is_finished, step=step, event=event):
            before = votes_of(campaign)
            assert before in ([(0, 1, "cast", 1)], [(0, 1, "cast", 1), event])
            assert len(before) == 2 or not is_finished
            assert step(campaign).repeated == (len(before) == 2)
            assert votes_of(campaign) == [(0, 1, "cast", 1), event]

        assert kill_at_each_point(ledger, prepare, step, check) >= 2


def test_a_sheet_claimed_or_given_by_a_killed_process_has_one_holder(ledger):
    first = second = ballot = 0

    def prepare():
        nonlocal first, second, ballot
        campaign = campaign_of(ledger, assigned=False, sheet_size=2)
        first, second = voters_of(campaign, 2)
        ballot = campaign.ballots()[0].id
        return campaign

    def claim(campaign):
        return write(campaign, claim_sheet, first)

    def give(campaign):
        return write(campaign, give_sheet, ballot, 0, second)

    def leases(campaign):
        return query_ballots(campaign, "t.sheet, t.voter_id", "lease", "AND t.ended_at IS NULL")

    def check_claim(campaign, is_finished):
        before = leases(campaign)
        assert len(before) == 1 or not (before or is_finished)
        lease = claim(campaign)
        assert leases(campaign) == [(lease.sheet, first)]
        assert not before or before == leases(campaign)

    def check_give(campaign, is_finished):
        before = leases(campaign)
        if before:
            with pytest.raises(LedgerError, match="already belongs to this voter"):
                give(campaign)
        else:
            assert not is_finished
            give(campaign)
        assert leases(campaign) == [(0, second)]

    assert kill_at_each_point(ledger, prepare, claim, check_claim) >= 2
    assert kill_at_each_point(ledger, prepare, give, check_give) >= 2


def expire_closing(ledger, campaign):
    """Let the lease of a dead closer expire."""
    change(
        ledger,
        "UPDATE ballot SET closer_until = closer_until - 61000000 WHERE state = 'closing' AND campaign_id = :id",
        id=campaign.info.id,
    )


def test_another_process_closes_a_ballot_whose_closer_was_killed(ledger):
    def close(campaign):
        return campaign.close(1)

    expected = close(answered_campaign(ledger))

    def check(campaign, is_finished):
        state = campaign.ballots()[0].state
        assert state in (["closed"] if is_finished else ["open", "closing", "closed"])
        if state == "closing":
            with pytest.raises(
                ConflictError,
                match=r"being closed by another request; if that was interrupted, try again in \d+ seconds",
            ):
                close(campaign)
            expire_closing(ledger, campaign)
        if state != "closed":
            assert close(campaign) == expected
        assert campaign.position()[0] == (expected,)
        closed = "SELECT count(*) FROM audit_event WHERE kind = 'closed' AND campaign_id = :id"
        assert query(ledger, closed, id=campaign.info.id) == [(1,)]

    assert kill_at_each_point(ledger, lambda: answered_campaign(ledger), close, check) >= 6


def test_voting_resumes_when_the_lease_of_a_dead_closer_expires(ledger):
    campaign = campaign_of(ledger)
    (place, _, voter), *others = comparisons_of(campaign)
    for at, _, holder in others:
        campaign.cast(vote(holder, at))

    def die(_report):
        ledger.database.read = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # closing has begun, the count has not
        campaign.close(1)

    child = processes.start(die)
    assert child.lines() == []
    assert child.wait() == -signal.SIGKILL
    assert campaign.ballots()[0].state == "closing"
    last = vote(voter, place)
    with pytest.raises(LedgerBusyError, match="being closed"):
        campaign.cast(last)
    expire_closing(ledger, campaign)
    assert campaign.cast(last).revision == 1
    assert campaign.ballots()[0].state == "open"
    campaign.close(1)
    check_ledger(ledger)


def test_creating_campaigns_and_ballots_is_atomic(ledger):
    def ready():
        campaign = answered_campaign(ledger)
        campaign.close(1)
        return campaign

    def check_open(campaign, is_finished):
        ballot_counts = query(
            ledger,
            "SELECT b.n_comparisons, (SELECT count(*) FROM comparison c WHERE c.ballot_id = b.id) FROM ballot b "
            "WHERE campaign_id = :id AND number = 2",
            id=campaign.info.id,
        )
        assert ballot_counts or not is_finished
        assert all(expected == result for expected, result in ballot_counts)
        if not ballot_counts:
            assert campaign.open_next() == 2
        answer_all(campaign, 2)
        campaign.close(2)

    def check_reopened(campaign, is_finished):
        state = campaign.ballots()[0].state
        assert state == "open" or not is_finished
        if state == "closed":
            campaign.reopen(1, "again")
        campaign.close(1)
        reopened = "SELECT count(*) FROM audit_event WHERE kind = 'reopened' AND campaign_id = :id"
        assert query(ledger, reopened, id=campaign.info.id) == [(1,)]

    assert kill_at_each_point(ledger, ready, lambda campaign: campaign.open_next(), check_open) >= 4
    assert kill_at_each_point(ledger, ready, lambda c: c.reopen(1, "a mistake"), check_reopened) >= 2


def test_creating_tables_is_atomic(empty_target):
    ledger = Ledger(empty_target)
    n_points = int(processes.run(lambda report: report(str(_count_points_of_create(ledger))))[0])
    assert n_points > 60
    for point in [3, n_points // 2, n_points - 2, n_points - 1]:
        remove_tables(ledger)
        child = processes.start(lambda _, p=point: _count_points_of_create(ledger, p))
        assert child.lines() == []
        assert child.wait() == -signal.SIGKILL
        new_ledger = Ledger.create(empty_target)
        campaign_of(new_ledger)
        new_ledger.close()


def _count_points_of_create(ledger, fatal=None):
    points = Points(ledger, fatal, of_statements=True)
    Ledger.create.__func__(lambda _, **_options: ledger, "")
    return points.n_passed


def remove_tables(ledger):
    if ledger.database.is_sqlite:
        ledger.close()
        for path in ledger.database.path.parent.glob("ledger.db*"):
            path.unlink()
    else:
        schema = query(ledger, "SELECT current_schema()")[0][0]
        change(ledger, f"DROP SCHEMA {schema} CASCADE")
        change(ledger, f"CREATE SCHEMA {schema}")
    ledger.close()


def vote_in_threads(campaign, places, report):
    """Vote on places in threads, and report each acknowledged event."""

    def votes(mine):
        for event_id, place, voter in mine:
            campaign.cast(vote(voter, place, event_id=event_id))
            report(event_id)

    threads = [threading.Thread(target=votes, args=(places[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


BIG_PLAN = plan_ballots(60, n_ballots=2, fraction=0.5, presentations=20)  # ballot 1 has 600 comparisons


def test_randomly_killed_processes_lose_and_duplicate_no_votes(ledger):
    campaign = campaign_of(ledger, n_voters=8, plan=BIG_PLAN)
    expected = [(new_id(), place, voter) for place, _, voter in comparisons_of(campaign)]
    acknowledged, rng = set(), random.Random(1)
    for round_ in range(1, 4):
        left = [vote_key for vote_key in expected if vote_key[0] not in acknowledged]
        halves = left[::2], left[1::2]
        children = [processes.start(lambda report, h=half: vote_in_threads(campaign, h, report)) for half in halves]
        assert any(child.has_reported() for child in children)
        time.sleep(rng.uniform(0.0, 0.4))
        for child in children:
            child.kill()
        for child in children:
            acknowledged.update(child.lines())
            child.wait()
        result = {event for (event,) in query(ledger, "SELECT event_id FROM vote_event")}
        assert acknowledged <= result
        # At most one vote of each thread and round was stored but not acknowledged.
        assert len(result) <= len(acknowledged) + 8 * round_
    assert acknowledged
    for event_id, place, voter in expected:
        receipt = campaign.cast(vote(voter, place, event_id=event_id))
        assert receipt.revision == 1
        assert receipt.repeated or event_id not in acknowledged
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(len(expected),)]
    check_ledger(ledger)
    campaign.close(1)


class Lines:
    """Counts executed lines of some modules, and kills the process before one of them."""

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


def kill_at_each_line(module, step, check):
    """Run `step` in children, each killed before another line of the module or of the file writer."""
    point = 0

    def die():
        with Lines((module, files), point):
            step()

    while True:
        is_done = processes.run_to_end(die)
        check(is_done)
        if is_done:
            return point
        point += 1


@pytest.fixture
def source(tmp_path):
    """A file of a campaign with a closed ballot and an open one."""
    ledger = Ledger.create(tmp_path / "source.db")
    yield campaign_in_second_ballot(ledger)
    ledger.close()


def is_complete(path, expected):
    """Whether the ledger exists; if so, it must hold the campaign, without leftover files next to it."""
    if not path.exists():
        return False
    ledger = Ledger.open(path)
    assert ledger.campaign().bundle(names=True) == expected
    assert query(ledger, "SELECT count(*) FROM campaign") == [(1,)]
    check_ledger(ledger)
    ledger.close()
    return True


def test_a_backup_killed_at_any_line_is_complete_or_absent(source, tmp_path):
    copy, expected = tmp_path / "copy.db", source.bundle(names=True)

    def check(is_finished):
        assert is_complete(copy, expected) or not is_finished
        assert source.bundle(names=True) == expected
        copy.unlink(missing_ok=True)
        database.back_up(source.database, copy)  # leftover files do no harm
        assert is_complete(copy, expected)
        copy.unlink()

    assert kill_at_each_line(database, lambda: database.back_up(source.database, copy), check) > 15


def test_an_import_killed_at_any_line_leaves_a_complete_ledger_or_none(source, tmp_path):
    copy, expected = tmp_path / "copy.db", source.bundle(names=True)
    (tmp_path / "b.zip").write_bytes(expected)

    def check(is_finished):
        assert is_complete(copy, expected) or not is_finished
        copy.unlink(missing_ok=True)

    def step():
        result = CliRunner().invoke(main, ["run", "import", str(copy), str(tmp_path / "b.zip")])
        assert result.exit_code == 0, result.output

    assert kill_at_each_line(adaptive._cli.run.ledgers, step, check) > 10
    step()
    assert is_complete(copy, expected)


def test_an_import_killed_at_any_statement_is_atomic(ledger, source, tmp_path):
    (tmp_path / "b.zip").write_bytes(source.bundle(names=True))
    beside = campaign_of(ledger)
    answer_all(beside)
    before, point = beside.bundle(), 0

    def die():
        Points(ledger, point, of_statements=True)
        ledger.restore(tmp_path / "b.zip")

    while query(ledger, "SELECT count(*) FROM campaign") == [(1,)]:
        is_done = processes.run_to_end(die)
        assert not is_done or query(ledger, "SELECT count(*) FROM campaign") == [(2,)]
        point += 1
        check_ledger(ledger)
        assert beside.bundle() == before
    assert point > 20
    (key,) = query(ledger, "SELECT key FROM campaign ORDER BY id")[-1]
    restored = ledger.campaign(key)
    restored.verify()
    assert restored.bundle(names=True) == (tmp_path / "b.zip").read_bytes()


def test_a_file_created_during_an_import_is_not_replaced(source, tmp_path):
    (tmp_path / "b.zip").write_bytes(source.bundle())
    copy = tmp_path / "copy.db"
    with (  # noqa: PT012
        pytest.raises(adaptive._cli.run.ledgers.TableError, match=r"copy\.db: cannot be created: File exists"),
        adaptive._cli.run.ledgers.create_ledger(str(copy)) as new_ledger,
    ):
        new_ledger.restore(tmp_path / "b.zip")
        copy.write_text("of somebody else")
    assert copy.read_text() == "of somebody else"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
