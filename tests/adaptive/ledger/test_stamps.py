"""Stamps: what shows that something has changed, and closing what was looked at; and the ledger as a feed."""

import threading

import pytest
import sqlalchemy as sa

from adaptive.ledger import ChangedError, ContinuousPlan, LedgerError, Settings, VotingPages
from adaptive.ledger._ballots.batches import draw_batch, finish
from adaptive.ledger._ballots.stored import ballot_stamp, events_after
from adaptive.ledger._reports.status import campaign_stamp
from adaptive.ledger._store.database import lock_ballot
from adaptive.ledger._voters.tokens import holder_of
from tests.adaptive.ledger.campaigns import (
    ITEMS,
    PLAN,
    all_answered,
    answer_all,
    asked,
    campaign_of,
    check_ledger,
    new_id,
    one_asked,
    pair_ids,
    query,
    read,
    vote,
)


def stamp(campaign):
    return read(campaign, campaign_stamp)


def of_ballot(campaign, number=1):
    return read(campaign, ballot_stamp, number)


def test_the_stamp_of_a_campaign_changes_with_whatever_happens(ledger):
    campaign, place, voter = one_asked(ledger)
    seen = [stamp(campaign)]
    assert stamp(campaign) == seen[0]
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
        seen.append(stamp(campaign))
    assert len(set(seen)) == len(seen)


def answer_rest(campaign):
    for place, _, voter in asked(campaign):
        if voter is not None:
            campaign.cast(vote(voter, place))


def test_the_stamp_of_a_ballot_is_of_its_state_and_of_who_is_left_out(ledger):
    campaign = campaign_of(ledger)
    voter = asked(campaign)[0][2]
    opened = of_ballot(campaign)
    answer_all(campaign)
    assert of_ballot(campaign) == opened
    campaign.voter(voter).exclude("x")
    excluded = of_ballot(campaign)
    campaign.voter(voter).include("x")
    included = of_ballot(campaign)
    campaign.close(1)
    closed = of_ballot(campaign)
    campaign.reopen(1, "x")
    assert len({opened, excluded, included, closed, of_ballot(campaign)}) == 5
    with pytest.raises(LedgerError, match="ballot 2 has not been opened"):
        of_ballot(campaign, 2)


def test_a_ballot_closes_as_it_was_looked_at_or_not_at_all(ledger):
    campaign = all_answered(ledger)
    seen = of_ballot(campaign)
    campaign.voter(asked(campaign)[0][2]).exclude("x")
    with pytest.raises(ChangedError, match="ballot 1 was closed or opened, or its voters changed"):
        campaign.close(1, least_answered=0.1, stamp=seen)
    assert [each.state for each in campaign.ballots()] == ["open"]
    campaign.close(1, least_answered=0.1, stamp=of_ballot(campaign))
    check_ledger(campaign)


def test_a_continuous_campaign_ends_as_it_was_looked_at(ledger):
    plan = ContinuousPlan(6, 20, batch=5)
    campaign = ledger.new_campaign(plan, ITEMS, 3, 1, settings=Settings(least_answered=0))
    draw_batch(campaign)
    seen = of_ballot(campaign)
    draw_batch(campaign, at_once=True)
    with pytest.raises(ChangedError, match="a batch was drawn"):
        finish(campaign, stamp=seen)
    assert {each.state for each in campaign.ballots()} == {"open"}
    assert finish(campaign, stamp=of_ballot(campaign, 2)) == 2


def test_a_campaign_is_made_with_pages_and_token_or_not_at_all(ledger):
    campaign, token = ledger.create_campaign(
        PLAN, ITEMS, 3, 1, name="trees", settings=Settings(), pages=VotingPages(open_link=True)
    )
    holder = campaign.read(holder_of, token, ["organiser"])
    assert holder.campaign_key == campaign.key
    version, pages = campaign.pages()
    assert (version, pages.open_link) == (1, True)
    with pytest.raises(LedgerError, match="one for each of the 6 items"):
        ledger.create_campaign(PLAN, ITEMS, 3, 1, name="x", settings=Settings(), pages=VotingPages(), contents=[])
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
    assert [event.voter for event in events] == [keys[voter] for _, _, voter in asked(campaign)]
    assert {event.answer for event in events} == {"left"}
    assert events[0].left in ITEMS


def test_no_event_appears_below_one_that_was_read(ledger):
    """A vote whose number is given and which is not committed yet is waited for."""
    if ledger.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    campaign = campaign_of(ledger)
    rows = asked(campaign)
    began, go_on = threading.Event(), threading.Event()

    def slow(connection):
        ballot = campaign.ballots()[0].id
        lock_ballot(connection, ballot, exclusive=False)
        place, _, voter = rows[0]
        statement = sa.text(
            "INSERT INTO vote_event (event_id, ballot_id, place, voter_id, answer, received_at, payload_hash, "
            "revision, kind) VALUES (:id, :ballot, :place, :voter, 1, 0, '', 1, 'cast')"
        )
        connection.execute(statement, {"id": new_id(), "ballot": ballot, "place": place, "voter": voter})
        began.set()
        assert go_on.wait(60)

    writer = threading.Thread(target=lambda: campaign.database.write(slow))
    writer.start()
    assert began.wait(60)
    place, _, voter = rows[1]
    campaign.cast(vote(voter, place))  # a later number, committed before
    found_events = []
    reader = threading.Thread(target=lambda: found_events.extend(read_feed(campaign)))
    reader.start()
    reader.join(0.3)
    assert not found_events
    go_on.set()
    reader.join()
    writer.join()
    ids = pair_ids(campaign)
    assert [event.comparison for event in found_events] == [ids[place] for place, *_ in rows[:2]]
