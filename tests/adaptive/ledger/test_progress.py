"""Status of a campaign: its figures, computed without reading all votes."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive.ledger import CampaignSettings, ChangedError, ContinuousPlan, Ledger, LedgerError, VotingPages
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._ballots.stored import ballot_stamp, current_votes, drawn_columns
from adaptive.ledger._campaign.plan import planned_spending
from adaptive.ledger._campaign.settings import KnownPair, Pay, Probing
from adaptive.ledger._campaign.transaction import Transaction, insert_columns
from adaptive.ledger._closing import close_batches
from adaptive.ledger._reports.status import campaign_stamp, spending_of, status_of
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import lock_ballot
from adaptive.ledger._tokens import holder_of
from adaptive.ledger._votes.exports import events_after
from adaptive.ledger._votes.imports import record_file
from tests.adaptive.ledger.campaigns import (
    ITEMS,
    PLAN,
    answer_all,
    answered_campaign,
    campaign_in_second_ballot,
    campaign_of,
    check_ids,
    check_ledger,
    comparisons_of,
    first_comparison,
    new_id,
    pair_ids,
    query,
    read,
    vote,
)
from tests.service.live import poll_until


def steps_of_status(ledger, n_items):
    """Steps of SQLite's virtual machine, in hundreds, for the status of an answered ballot."""
    campaign = campaign_of(ledger, plan=plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=20))
    places = comparisons_of(campaign)
    ballot = campaign.ballots()[0].id

    def fill(transaction):
        columns = {
            "event_id": [str(uuid.uuid4()) for _ in places],
            "place": [place for place, _, _ in places],
            "voter_id": [voter for _, _, voter in places],
        }
        same = {"ballot_id": ballot, "revision": 1, "kind": "cast", "answer": 1, "payload_hash": "", "received_at": 0}
        insert_columns(transaction.connection, schema.vote_event, {**columns, **same})

    campaign.write(fill)
    n_steps = 0

    def count():
        nonlocal n_steps
        n_steps += 1

    def count_steps(transaction):
        transaction.connection.connection.dbapi_connection.set_progress_handler(count, 100)
        return status_of(transaction)

    assert campaign.read(count_steps).n_voters == 3
    return n_steps


@pytest.mark.wide
def test_the_status_does_not_read_every_vote(tmp_path):
    """It once took ten times the steps for ten times the votes, and 250 ms for 400,000."""
    few, many = Ledger.create(tmp_path / "few.db"), Ledger.create(tmp_path / "many.db")
    assert steps_of_status(many, 2000) < 2 * steps_of_status(few, 200)
    few.close()
    many.close()


def test_the_pace_counts_only_votes_sent_one_by_one(ledger):
    campaign = answered_campaign(ledger)
    answered_campaign(ledger)  # later, and not counted
    assert campaign.status().votes_per_minute > 0
    now = campaign.status()
    assert (now.n_answered, now.n_votes, now.n_voters, now.expected_end) == (12, 12, 3, None)
    campaign.close(1)
    assert campaign.status().votes_per_minute is None


def test_the_pace_ignores_votes_that_are_voided(ledger):
    campaign = answered_campaign(ledger)
    _, _, voter = comparisons_of(campaign)[0]
    rate = campaign.status().votes_per_minute
    campaign.voter(voter).leave()
    assert campaign.status().votes_per_minute == rate


def test_a_wrong_clock_gives_no_expected_end(ledger, monkeypatch):
    campaign = campaign_of(ledger, plan=plan_ballots(20, n_ballots=2, fraction=0.5, presentations=10))
    first, *others = comparisons_of(campaign)[:11]
    with monkeypatch.context() as wrong:
        wrong.setattr("adaptive.ledger._votes.casting.now", lambda: 0)
        campaign.cast(vote(first[2], first[0]))
    for place, _, voter in others:
        campaign.cast(vote(voter, place))
    status = campaign.status()
    assert 0 < status.votes_per_minute < 1e-6
    assert (status.n_answered, status.expected_end) == (11, None)


def test_the_pace_ignores_old_events(ledger, monkeypatch):
    campaign, other = campaign_of(ledger), campaign_of(ledger)
    answer_all(campaign)
    monkeypatch.setattr("adaptive.ledger._reports.status._SEARCHED", 12)
    assert campaign.status().votes_per_minute > 0
    answer_all(other)
    assert campaign.status().votes_per_minute is None


def test_answers_of_excluded_voters_do_not_count(ledger):
    campaign = answered_campaign(ledger)
    _, _, voter = comparisons_of(campaign)[0]
    assert len([pair for pair in comparisons_of(campaign) if pair[2] == voter]) == 4  # of 12, among 3 voters
    campaign.voter(voter).exclude("asked to")
    now = campaign.status()
    assert (now.n_answered, now.n_counted, now.n_comparisons) == (12, 8, 12)
    progress = campaign.preview().of_ballot
    assert progress.n_answered == now.n_counted
    assert min(answers for _, answers in progress.fewest) == min(answers_by_item(campaign).values()) < 4
    campaign.close(1, least_answered=0.5)
    campaign.voter(voter).include("it was a mistake")
    (first,) = campaign.ballot_progress()
    assert (first.n_answered, first.n_counted) == (12, 8)  # as it was closed


def answers_by_item(campaign):
    """Number of answers on each item by voters who are not excluded, counted one by one."""
    out = set(campaign.read(Transaction.excluded_voters))
    left = campaign.read(current_votes, campaign.ballots()[0].id)
    draw = campaign.read(drawn_columns, campaign.ballots()[0].id)
    result = dict.fromkeys(range(campaign.info.n_items), 0)
    for place, voter in zip(left.place.tolist(), left.voter.tolist(), strict=True):
        if voter not in out:
            for item in draw.items[place].tolist():
                result[item] += 1
    return result


def test_the_progress_of_ballots_has_counts_and_times(ledger):
    campaign = campaign_in_second_ballot(ledger)
    first, second = campaign.ballot_progress()
    assert (first.ballot, first.state, first.n_items, first.n_answered, first.n_comparisons) == (1, "closed", 6, 12, 12)
    assert (first.n_sheets_done, first.n_sheets) == (3, 3)
    assert first.opened_at < first.closed_at < second.opened_at
    assert (second.state, second.n_items, second.n_answered, second.closed_at) == ("open", 3, 1, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "pay must be per vote or per hour; got neither"),
        ({"per_vote": 1, "per_hour": 1, "seconds": 1}, "pay must be per vote or per hour; got both"),
        ({"per_hour": 12}, "pay per hour needs the seconds that an answer takes"),
        ({"per_vote": 0}, "per_vote must be a finite number above 0; got 0"),
        ({"per_hour": float("inf"), "seconds": 1}, "per_hour must be a finite number above 0; got inf"),
        ({"per_vote": 1, "fee": -0.1}, r"fee must be a finite number from 0 on; got -0\.1"),
        ({"per_vote": 1, "currency": "E\n"}, r"currency must be text of one line; got 'E\\n'"),
    ],
)
def test_invalid_pay_is_refused(values, message):
    with pytest.raises(LedgerError, match=message):
        Pay(**values)


amounts = st.floats(0.001, 1000)


@given(amounts, amounts, st.floats(0, 2), st.integers(0, 10**6))
def test_pay_by_the_hour_and_by_the_vote_agree(per_hour, seconds, fee, n):
    by_hour = Pay(per_hour=per_hour, seconds=seconds, fee=fee)
    by_vote = Pay(per_vote=by_hour.per_answer, seconds=seconds, fee=fee)
    assert_allclose(by_hour.cost(n), per_hour * (n * seconds / 3600) * (1 + fee), rtol=1e-12)
    assert_allclose(by_vote.cost(n), by_hour.cost(n), rtol=1e-12)
    assert_allclose(by_vote.hourly, per_hour, rtol=1e-12)
    assert by_vote.hours(n) == n * seconds / 3600
    assert Pay(per_vote=1).hours(n) is None


def test_votes_and_probes_are_paid(ledger):
    pay = Pay(per_vote=0.1, seconds=6, fee=0.25, currency="EUR")
    campaign = campaign_of(ledger, n_voters=3, probing=Probing(overlap=0.5), pay=pay)
    assert PLAN.comparisons == (12, 6)
    names = [*pair_ids(campaign)[:3], check_ids(campaign)[0]]
    rows = tuple(VoteRow(2, name, None, None, None, "left") for name in names)
    record_file(campaign, VoteFile("votes.csv", rows))
    result = read(campaign, spending_of)
    assert (result.n_votes, result.n_probes, result.expected_votes) == (3, 1, 18)
    [(n_probes,)] = query(ledger, "SELECT count(*) FROM comparison WHERE probe IS NOT NULL")
    assert n_probes == 6  # a half of each sheet of 4
    assert result.expected_probes == 6 + 3
    assert_allclose([result.spent, result.expected], [4 * 0.125, 27 * 0.125])
    assert_allclose([result.hours, result.expected_hours], [4 * 6 / 3600, 27 * 6 / 3600])
    assert campaign.status().spending == result


def test_each_voter_practises_once_however_many_sheets_have_practice(ledger):
    from adaptive.ledger import CampaignSettings

    # Two voters, two sheets of three comparisons each, and a practice pair on all four: both are asked it once.
    known = (KnownPair("practice", "a", "b", "left"),)
    settings = CampaignSettings(assigned=False, sheet_size=3, probing=Probing(known), pay=Pay(per_vote=1))
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=2)
    campaign = ledger.new_campaign(plan, list("abcdefghijkl"), 2, 1, settings=settings)
    assert planned_spending(plan, 2, settings).cost == spending_amounts(campaign)[1] == 18 + 2
    campaign.open_next()
    assert query(ledger, "SELECT count(*) FROM comparison WHERE probe IS NOT NULL") == [(4,)]
    assert spending_amounts(campaign) == (0, 18 + 2)
    # Two more voters than planned practise, too.
    pages = VotingPages(open_link=True)
    for number in range(1, 5):
        voter, _ = campaign.voters.join(pages, consent="1", hours=1)
        practice = [pair for pair in voter.next_sheet(pages).sheet.pairs if pair.is_practice]
        campaign.cast(vote(voter.id, practice[0].place))
        assert spending_amounts(campaign) == (number, 18 + max(2, number))


def test_an_unpaid_campaign_has_no_cost(ledger):
    assert campaign_of(ledger).status().spending is None


def test_batches_have_probes_and_a_cost_too(ledger):
    from adaptive.ledger import CampaignSettings

    settings = CampaignSettings(probing=Probing(overlap=0.5), pay=Pay(per_vote=1))
    plan = ContinuousPlan(n_items=8, budget=20, batch=8)
    campaign = ledger.new_campaign(plan, 8, 2, 1, settings=settings)
    assert spending_amounts(campaign) == (0, 30)
    draw_batch(campaign)
    assert query(ledger, "SELECT probe FROM comparison WHERE probe IS NOT NULL") == [("overlap",)] * 4
    rows = (VoteRow(2, check_ids(campaign)[0], None, None, None, "left"),)
    record_file(campaign, VoteFile("votes.csv", rows))
    assert spending_amounts(campaign) == (1, 30)


def spending_amounts(campaign):
    result = read(campaign, spending_of)
    return result.spent, result.expected


def stamp(campaign):
    return read(campaign, campaign_stamp)


def stamp_of_ballot(campaign, number=1):
    return read(campaign, ballot_stamp, number)


def test_the_stamp_of_a_campaign_changes_with_every_event(ledger):
    campaign, place, voter = first_comparison(ledger)
    stamps = [stamp(campaign)]
    assert stamp(campaign) == stamps[0]
    steps = [
        lambda: campaign.cast(vote(voter, place)),
        lambda: campaign.voters.invite(["Ada"]),
        lambda: campaign.voter(voter).exclude("x"),
        lambda: campaign.set_pages(VotingPages(), replaces=0),
        lambda: campaign.voter(voter).leave(),
        lambda: answer_rest(campaign),
        lambda: campaign.close(1, least_answered=0.5),
        lambda: campaign.reopen(1, "x"),
    ]
    for step in steps:
        step()
        stamps.append(stamp(campaign))
    assert len(set(stamps)) == len(stamps)


def exclude_slowly(campaign, voter, after):
    """Exclude a voter, and call `after` before the transaction commits."""

    def exclude(transaction):
        transaction.audit("excluded", {"reason": "x"}, voter_id=voter)
        after()

    campaign.write(exclude)


@pytest.mark.parametrize("is_vote", [True, False])
def test_stamps_change_with_an_event_that_commits_after_a_later_one(ledger, is_vote):
    if ledger.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    campaign = campaign_of(ledger)
    (place, _, voter), *_, (other_place, _, other_voter) = comparisons_of(campaign)
    assert voter != other_voter
    wait, began, go_on = pause()
    with ThreadPoolExecutor() as pool:
        writer = pool.submit(
            *((insert_slowly, campaign, place, voter) if is_vote else (exclude_slowly, campaign, voter)), after=wait
        )
        assert began.wait(60)
        if is_vote:
            campaign.cast(vote(other_voter, other_place))
        else:
            campaign.voter(other_voter).exclude("x")
        stamps = stamp(campaign), stamp_of_ballot(campaign)
        go_on.set()
        writer.result()
    assert stamp(campaign) != stamps[0]
    assert (stamp_of_ballot(campaign) != stamps[1]) == (not is_vote)


def answer_rest(campaign):
    for place, _, voter in comparisons_of(campaign):
        if voter is not None:
            campaign.cast(vote(voter, place))


def test_the_stamp_of_a_ballot_depends_on_its_state_and_on_exclusions(ledger):
    campaign = campaign_of(ledger)
    voter = comparisons_of(campaign)[0][2]
    opened = stamp_of_ballot(campaign)
    answer_all(campaign)
    assert stamp_of_ballot(campaign) == opened
    campaign.voter(voter).exclude("x")
    excluded = stamp_of_ballot(campaign)
    campaign.voter(voter).include("x")
    included = stamp_of_ballot(campaign)
    campaign.close(1)
    closed = stamp_of_ballot(campaign)
    campaign.reopen(1, "x")
    assert len({opened, excluded, included, closed, stamp_of_ballot(campaign)}) == 5
    with pytest.raises(LedgerError, match="ballot 2 has not been opened"):
        stamp_of_ballot(campaign, 2)


def test_a_ballot_closes_only_in_the_reviewed_state(ledger):
    campaign = answered_campaign(ledger)
    reviewed_stamp = stamp_of_ballot(campaign)
    campaign.voter(comparisons_of(campaign)[0][2]).exclude("x")
    with pytest.raises(ChangedError, match=r"ballot 1 has changed since you reviewed it \(state or voters\)"):
        campaign.close(1, least_answered=0.1, stamp=reviewed_stamp)
    assert [ballot.state for ballot in campaign.ballots()] == ["open"]
    campaign.close(1, least_answered=0.1, stamp=stamp_of_ballot(campaign))
    check_ledger(campaign)


def test_a_voter_excluded_during_the_count_is_counted_as_reviewed(ledger, monkeypatch):
    campaign = answered_campaign(ledger)
    voter, reads = campaign.voter(comparisons_of(campaign)[0][2]), []
    read = ledger.database.read

    def exclude_first(work):
        if not reads:
            reads.append(work)
            voter.exclude("x")
        return read(work)

    with monkeypatch.context() as patches:
        reviewed_stamp = stamp_of_ballot(campaign)
        patches.setattr(ledger.database, "read", exclude_first)
        record = campaign.close(1, stamp=reviewed_stamp)
    assert int(record.tally.answered.sum()) == 2 * len(comparisons_of(campaign))
    assert campaign.ballots()[0].record["excluded"] == []
    assert campaign.read(Transaction.excluded_voters) == {voter.id: voter.key}
    campaign.verify()


def test_a_continuous_campaign_ends_only_in_the_reviewed_state(ledger):
    plan = ContinuousPlan(6, 20, batch=5)
    campaign = ledger.new_campaign(plan, ITEMS, 3, 1, settings=CampaignSettings(least_answered=0))
    draw_batch(campaign)
    reviewed_stamp = stamp_of_ballot(campaign)
    draw_batch(campaign, at_once=True)
    with pytest.raises(ChangedError, match=r"campaign has changed since you reviewed it \(batches or voters\)"):
        close_batches(campaign, stamp=reviewed_stamp)
    with pytest.raises(ChangedError, match="closes it only if it is the last, 2"):
        campaign.close(1, stamp=stamp_of_ballot(campaign, 1))
    assert {ballot.state for ballot in campaign.ballots()} == {"open"}
    assert campaign.preview(1).stamp == campaign.preview(2).stamp == stamp_of_ballot(campaign, 2)
    assert close_batches(campaign, stamp=campaign.preview(1).stamp) == 2


def test_a_preview_is_of_the_open_ballot(ledger):
    campaign = answered_campaign(ledger)
    assert campaign.preview(1).stamp == stamp_of_ballot(campaign, 1)
    campaign.close(1, least_answered=0.1)
    campaign.open_next()
    assert campaign.preview(2).of_ballot.ballot == 2
    with pytest.raises(LedgerError, match="ballot 1 is not open: there is nothing to close"):
        campaign.preview(1)


def test_creating_a_campaign_with_pages_and_token_is_atomic(ledger):
    campaign, token = ledger.create_campaign(
        PLAN, ITEMS, 3, 1, name="trees", settings=CampaignSettings(), pages=VotingPages(open_link=True)
    )
    holder = campaign.read(holder_of, token, ["organiser"])
    assert holder.campaign_key == campaign.key
    version, pages = campaign.pages()
    assert (version, pages.open_link) == (1, True)
    with pytest.raises(LedgerError, match="one for each of the 6 items"):
        ledger.create_campaign(
            PLAN, ITEMS, 3, 1, name="x", settings=CampaignSettings(), pages=VotingPages(), contents=[]
        )
    assert query(ledger, "SELECT name FROM campaign") == [("trees",)]


def read_feed(campaign, after=0, most=1_000):
    return campaign.write(events_after, after, most=most)


def test_the_feed_has_each_event_once_in_order(ledger):
    campaign = campaign_of(ledger)
    other = campaign_of(ledger, items=[f"{item}2" for item in ITEMS])
    answer_all(campaign)
    answer_all(other)
    events, after = [], 0
    while part := read_feed(campaign, after, most=5):
        events += part
        after = part[-1].number
    assert [event.comparison for event in events] == pair_ids(campaign)
    assert [event.number for event in events] == sorted(event.number for event in events)
    keys = dict(query(ledger, "SELECT id, key FROM voter"))
    assert [event.voter for event in events] == [keys[voter] for _, _, voter in comparisons_of(campaign)]
    assert {event.answer for event in events} == {"left"}
    assert events[0].left in ITEMS


def insert_slowly(campaign, place, voter, before=lambda: None, after=lambda: None):
    """Insert a vote on the first ballot by plain SQL; `before` and `after` run while the vote holds its lock."""

    def insert(connection):
        ballot = campaign.ballots()[0].id
        lock_ballot(connection, ballot, exclusive=False)
        before()
        statement = sa.text(
            "INSERT INTO vote_event (event_id, ballot_id, place, voter_id, answer, received_at, payload_hash, "
            "revision, kind) VALUES (:id, :ballot, :place, :voter, 1, 0, '', 1, 'cast')"
        )
        connection.execute(statement, {"id": new_id(), "ballot": ballot, "place": place, "voter": voter})
        after()

    campaign.database.write(insert)


def pause():
    """A function that waits until it is told to go on, and two events: that it has begun, and that it may go on."""
    began, go_on = threading.Event(), threading.Event()

    def wait():
        began.set()
        assert go_on.wait(60)

    return wait, began, go_on


def test_no_event_appears_below_one_that_was_read(ledger):
    """Reading waits for a vote that has a number but is not committed yet."""
    if ledger.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    campaign = campaign_of(ledger)
    rows = comparisons_of(campaign)
    wait, began, go_on = pause()
    place, _, voter = rows[0]
    with ThreadPoolExecutor() as pool:
        writer = pool.submit(insert_slowly, campaign, place, voter, after=wait)
        assert began.wait(60)
        place, _, voter = rows[1]
        campaign.cast(vote(voter, place))  # a later number, committed earlier
        reader = pool.submit(read_feed, campaign)
        time.sleep(0.3)
        assert not reader.done()
        go_on.set()
        writer.result()
        events = reader.result()
    ids = pair_ids(campaign)
    assert [event.comparison for event in events] == [ids[place] for place, *_ in rows[:2]]


def test_an_event_of_a_batch_that_is_stored_during_a_read_is_read_too(ledger):
    """Reading waits for a vote on batch 1, which gets a higher number than a vote on the new batch 3."""
    if ledger.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    campaign = campaign_of(ledger, plan=ContinuousPlan(6, 24, batch=6))
    draw_batch(campaign, at_once=True)
    wait, began, go_on = pause()
    place, _, voter = comparisons_of(campaign)[0]
    with ThreadPoolExecutor() as pool:
        writer = pool.submit(insert_slowly, campaign, place, voter, before=wait)
        assert began.wait(60)
        reader = pool.submit(read_feed, campaign)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
        poll_until(lambda: query(ledger, waiting) == [(1,)], goal="the reader at its lock")
        assert draw_batch(campaign, at_once=True) == 3
        place, _, voter = comparisons_of(campaign, 3)[0]
        campaign.cast(vote(voter, place, number=3))
        go_on.set()
        writer.result()
        events = reader.result()
    assert [event.comparison for event in events] == [pair_ids(campaign, 3)[place], pair_ids(campaign)[0]]
    assert read_feed(campaign, events[-1].number) == ()
