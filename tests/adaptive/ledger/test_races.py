"""Concurrency: one process closes a ballot, each sheet has one holder, each comparison one vote."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from adaptive._plan import plan_ballots
from adaptive.errors import AdaptiveError, VoteError
from adaptive.ledger import ConflictError, ContinuousPlan, LateVoteError, Ledger, LedgerBusyError, LedgerError
from adaptive.ledger._ballots import batches
from adaptive.ledger._ballots.sheets import claim_sheet, give_sheet
from adaptive.ledger._membership import register
from adaptive.ledger._votes import casting as votes
from tests.adaptive.ledger.campaigns import (
    PLAN,
    answer_all,
    answered_campaign,
    campaign_of,
    change,
    check_ledger,
    comparisons_of,
    new_id,
    query,
    target_of,
    vote,
    voters_of,
    write,
)

pytestmark = pytest.mark.wide

PATIENCE = 60.0  # seconds for results that come at once unless the machine stalls


def run_at_once(*functions):
    """Run functions in threads that start together; return the result or the error of each, in order."""
    barrier = threading.Barrier(len(functions))

    def run(work):
        try:
            barrier.wait(PATIENCE)
            return work()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(run, functions))


@pytest.mark.parametrize("round_", range(2))
def test_five_closers_and_twelve_voters_give_one_record_of_all_counted_votes(ledger, round_):
    plan = plan_ballots(24, n_ballots=2, fraction=0.5, presentations=10)
    campaign = campaign_of(ledger, n_voters=12, plan=plan, seed=round_)
    places = [(place, voter) for place, _, voter in comparisons_of(campaign)]
    counted, late, seconds = [], [], []

    def voting(mine):
        for place, voter in mine:
            cast = vote(voter, place)
            while True:
                try:
                    counted.append(campaign.cast(cast).event_id)
                except LateVoteError:
                    late.append(place)
                except LedgerBusyError:  # the ballot is being closed, so the voter sends the vote again
                    time.sleep(0.002)
                    continue
                break

    def close():
        time.sleep(0.1)
        start = time.monotonic()
        try:
            return campaign.close(1, least_answered=0.0)
        finally:
            seconds.append(time.monotonic() - start)

    works = [close] * 5 + [lambda at=at: voting(places[at::12]) for at in range(12)]
    for result in run_at_once(*works)[:5]:
        assert not isinstance(result, Exception) or isinstance(result, AdaptiveError), result
    assert len(counted) + len(late) == len(places)
    if campaign.ballots()[0].state == "open":  # every closer was too early: some items had no answer yet
        campaign.close(1, least_answered=0.0)
    (record,) = campaign.position()[0]
    assert {event for (event,) in query(ledger, "SELECT event_id FROM vote_event")} == set(counted)
    assert int(record.tally.answered.sum()) == 2 * len(counted)
    assert query(ledger, "SELECT count(*) FROM audit_event WHERE kind = 'closed'") == [(1,)]
    assert query(ledger, "SELECT count(*) FROM late_vote") == [(len(late),)]
    check_ledger(ledger)


def test_a_closer_waits_for_an_uncommitted_vote_and_counts_it(ledger, monkeypatch):
    campaign = campaign_of(ledger)
    *others, (place, _, voter) = comparisons_of(campaign)
    for at, _, holder in others:
        campaign.cast(vote(holder, at))
    written, go_on = threading.Event(), threading.Event()

    def stay(*_):
        written.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setattr(votes, "renew_after_vote", stay)  # the last step of a vote before its commit
    receipts, records = [], []
    voting = threading.Thread(target=lambda: receipts.append(campaign.cast(vote(voter, place))))
    closing = threading.Thread(target=lambda: records.append(campaign.close(1, least_answered=0.0)))
    voting.start()
    assert written.wait(PATIENCE)
    closing.start()
    time.sleep(0.3)
    assert receipts == records == []
    assert campaign.ballots()[0].state == "open"
    go_on.set()
    voting.join()
    closing.join()
    assert len(receipts) == 1
    (record,) = records
    assert int(record.tally.answered.sum()) == 2 * (len(others) + 1)


def test_the_end_of_a_campaign_closes_a_batch_that_is_being_drawn_and_is_recorded_once(ledger, monkeypatch):
    campaign = campaign_of(ledger, plan=ContinuousPlan(6, 12, batch=6))
    answer_all(campaign)
    stored, go_on, store = threading.Event(), threading.Event(), batches.store_ballot

    def stay(*arguments, **options):
        store(*arguments, **options)
        stored.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setattr(batches, "store_ballot", stay)
    with ThreadPoolExecutor() as pool:
        drawing = pool.submit(campaign.open_next)
        assert stored.wait(PATIENCE)
        closers = [pool.submit(campaign.close, 1, least_answered=0.0) for _ in range(2)]
        time.sleep(0.3)
        go_on.set()
        assert drawing.result() == 2
        errors = [closer.exception() for closer in closers]
    assert sorted(str(error) for error in errors) == ["None", "no batch is open: there is nothing to close"]
    assert [ballot.state for ballot in campaign.ballots()] == ["closed", "closed"]
    assert query(ledger, "SELECT count(*) FROM audit_event WHERE kind = 'closed'") == [(1,)]


def test_a_vote_during_the_count_is_refused_as_busy(ledger, monkeypatch):
    campaign = campaign_of(ledger)
    *others, (place, _, voter) = comparisons_of(campaign)
    for at, _, holder in others:
        campaign.cast(vote(holder, at))
    last, read = vote(voter, place), ledger.database.read
    refusals = []

    def count(work):
        result = read(work)
        with pytest.raises(LedgerBusyError, match="ballot 1 is being closed") as refusal:
            campaign.cast(last)
        refusals.append(refusal)
        return result

    monkeypatch.setattr(ledger.database, "read", count)
    record = campaign.close(1, least_answered=0.0)
    monkeypatch.undo()
    assert len(refusals) == 1
    assert int(record.tally.answered.sum()) == 2 * len(others)
    with pytest.raises(LateVoteError, match="was stored, but does not count"):
        campaign.cast(last)
    assert query(ledger, "SELECT event_id, why FROM late_vote") == [(last.event_id, "closed")]


def test_a_sheet_released_by_another_claim_is_found(ledger):
    campaign = campaign_of(ledger, n_voters=1, assigned=False)  # a single sheet
    first, second = voters_of(campaign, 2)
    claimed, answered = threading.Event(), threading.Event()

    def claim_and_fail(transaction):
        claim_sheet(transaction, first)
        claimed.set()
        answered.wait(1)  # times out: the second claim waits for this transaction
        raise KeyError("the process has no memory left")

    def claim_next():
        assert claimed.wait(PATIENCE)
        result = write(campaign, claim_sheet, second)
        answered.set()
        return result

    failed, lease = run_at_once(lambda: campaign.write(claim_and_fail), claim_next)
    assert isinstance(failed, KeyError)
    assert lease.sheet == 0


def test_simultaneous_voters_get_different_sheets(ledger):
    plan = plan_ballots(10, n_ballots=2, fraction=0.5, presentations=4)
    campaign = campaign_of(ledger, n_voters=2, plan=plan, assigned=False, sheet_size=2)
    voters = voters_of(campaign, 10)
    leases = run_at_once(*(lambda v=v: write(campaign, claim_sheet, v) for v in voters))
    assert sorted(lease.sheet for lease in leases) == list(range(10))


def test_a_voter_with_two_tabs_gets_one_sheet(ledger):
    campaign = campaign_of(ledger, assigned=False, sheet_size=2)
    (voter,) = voters_of(campaign, 1)
    result = run_at_once(*[lambda: write(campaign, claim_sheet, voter)] * 4)
    assert [lease.sheet for lease in result] == [0] * 4
    assert query(ledger, "SELECT count(*) FROM lease") == [(1,)]


def test_simultaneous_registrations_make_one_voter(ledger):
    campaign = campaign_of(ledger)
    known = query(ledger, "SELECT count(*) FROM voter")[0][0]

    def join():
        return write(campaign, register, "60d9aadeb86739de712faee0", source="prolific")

    assert len(set(run_at_once(*[join] * 4))) == 1
    assert query(ledger, "SELECT count(*) FROM voter") == [(known + 1,)]


def test_one_of_two_simultaneous_votes_counts(ledger):
    campaign = campaign_of(ledger)
    for place, _, voter in comparisons_of(campaign):
        answers = ["left", "right"]
        result = run_at_once(*(lambda a=a, p=place, v=voter: campaign.cast(vote(v, p, a)) for a in answers))
        assert sorted(type(outcome).__name__ for outcome in result) == ["ConflictError", "Receipt"]
        counted_answer = next(outcome.answer for outcome in result if not isinstance(outcome, Exception))
        assert f"already has the vote {counted_answer!r}" in str(
            next(outcome for outcome in result if isinstance(outcome, Exception))
        )
    check_ledger(ledger)


def test_one_event_sent_several_times_at_once_is_one_vote(ledger):
    campaign = campaign_of(ledger)
    for place, _, voter in comparisons_of(campaign)[:4]:
        one = vote(voter, place)
        result = run_at_once(*[lambda one=one: campaign.cast(one)] * 5)
        assert sorted(receipt.repeated for receipt in result) == [False, True, True, True, True]
        assert {receipt.revision for receipt in result} == {1}
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(4,)]


def test_a_sheet_reassigned_during_a_vote_counts_for_one_voter(ledger):
    campaign = campaign_of(ledger, n_voters=4)
    ballot = campaign.ballots()[0].id
    place, sheet, voter = comparisons_of(campaign)[0]
    (heir,) = [write(campaign, register, "somebody new")]
    one, other = vote(voter, place), vote(heir, place, "right")
    receipt, lease = run_at_once(lambda: campaign.cast(one), lambda: write(campaign, give_sheet, ballot, sheet, heir))
    assert not isinstance(lease, Exception)
    if isinstance(receipt, LateVoteError):
        assert campaign.cast(other).revision == 1
    else:
        with pytest.raises(ConflictError, match="already has the vote 'left'"):
            campaign.cast(other)
    with pytest.raises(LateVoteError, match="the sheet no longer belongs to this voter"):
        campaign.cast(vote(voter, [p for p, s, _ in comparisons_of(campaign) if s == sheet][-1]))
    check_ledger(ledger)


def test_ballots_and_tables_are_created_once(empty_target):
    ledgers = run_at_once(*[lambda: Ledger.create(empty_target)] * 3)
    first = ledgers[0]
    campaign = first.new_campaign(PLAN, 6, 3, 1)
    result = run_at_once(*[campaign.open_next] * 3)
    assert result.count(1) == 1
    errors = [error for error in result if error != 1]
    assert all(isinstance(error, LedgerError) for error in errors)
    assert all("at the same moment" in str(error) or "is open" in str(error) for error in errors)
    assert query(first, "SELECT count(*) FROM ballot") == [(1,)]
    for ledger in ledgers:
        ledger.close()


def test_a_ballot_is_reopened_or_followed_by_the_next_but_not_both(ledger):
    for seed in range(3):
        campaign = campaign_of(ledger, seed=seed)
        answer_all(campaign)
        campaign.close(1)
        opened, reopened = run_at_once(campaign.open_next, lambda c=campaign: c.reopen(1, "a mistake"))
        assert isinstance(opened, LedgerError) != isinstance(reopened, LedgerError)
        states = [ballot.state for ballot in campaign.ballots()]
        assert states == (["open"] if isinstance(opened, Exception) else ["closed", "open"])


def test_a_replaced_closer_writes_nothing(ledger, monkeypatch):
    campaign = answered_campaign(ledger)
    slow = Ledger.open(target_of(ledger))
    read, stopped, go_on = slow.database.read, threading.Event(), threading.Event()

    def late(step):
        result = read(step)
        stopped.set()
        assert go_on.wait(PATIENCE)
        return result

    theirs = slow.campaign()
    monkeypatch.setattr(slow.database, "read", late)
    result = []

    def close():
        try:
            theirs.close(1)
        except LedgerError as error:
            result.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    assert stopped.wait(PATIENCE)
    change(ledger, "UPDATE ballot SET closer_until = closer_until - 61000000")
    record = campaign.close(1)
    go_on.set()
    thread.join()
    assert len(result) == 1
    assert "taken over by another closer" in str(result[0])
    assert campaign.position()[0] == (record,)
    assert query(ledger, "SELECT count(*) FROM audit_event WHERE kind = 'closed'") == [(1,)]
    slow.close()


def test_a_closer_that_ends_while_another_is_refused(ledger):
    if ledger.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    campaign = answered_campaign(ledger)
    until = "CAST(1000000 * (extract(epoch FROM now()) + 20) AS bigint)"
    change(ledger, f"UPDATE ballot SET state = 'closing', closer = 'other', closer_until = {until}")
    other = Ledger.open(target_of(ledger))

    def end(_connection, _cursor, statement, *_):
        if statement.startswith("UPDATE ballot SET state"):
            change(other, "UPDATE ballot SET state = 'open', closer = NULL, closer_until = NULL")

    sa.event.listen(ledger.database.engine, "after_cursor_execute", end)
    with pytest.raises(ConflictError, match=r"being closed by another request; try again$"):
        campaign.close(1)
    sa.event.remove(ledger.database.engine, "after_cursor_execute", end)
    campaign.close(1)
    check_ledger(ledger)
    other.close()


def test_an_unknown_voter_is_refused_also_when_the_ballot_is_closed(ledger):
    campaign = campaign_of(ledger)
    (place, _, _), *_ = comparisons_of(campaign)
    with pytest.raises(VoteError, match="which this voter was never given"):
        campaign.cast(vote(999, place))
    answer_all(campaign)
    campaign.close(1)
    with pytest.raises(VoteError, match="which this voter was never given"):
        campaign.cast(vote(999, place))
    with pytest.raises(VoteError, match="ballot 1 has no comparison 99999999999999999999"):
        campaign.cast(vote(999, 99999999999999999999))
    with pytest.raises(LedgerError, match="an event id must be a UUID in lower case"):
        campaign.cast(vote(999, place, event_id=new_id().upper()))


def test_a_voter_who_leaves_during_a_claim_holds_no_sheet(ledger):
    campaign = campaign_of(ledger, assigned=False, sheet_size=2)
    (voter,) = voters_of(campaign, 1)
    claimed = threading.Event()

    def claim(transaction):
        lease = claim_sheet(transaction, voter)
        claimed.set()
        time.sleep(0.3)  # leaving waits for this transaction
        return lease

    def go():
        assert claimed.wait(PATIENCE)
        return campaign.voter(voter).leave()

    lease, n_voided = run_at_once(lambda: campaign.write(claim), go)
    assert (lease.sheet, n_voided) == (0, 0)
    assert query(ledger, "SELECT end_reason FROM lease") == [("withdrawn",)]
