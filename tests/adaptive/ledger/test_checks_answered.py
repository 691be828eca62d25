"""Answers to checks are stored and counted separately from votes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive.ledger import ConflictError, LateVoteError
from adaptive.ledger._ballots.draws import open_comparisons as asked_of
from adaptive.ledger._ballots.sheets import give_sheet
from adaptive.ledger._campaign.settings import Probing
from adaptive.ledger._membership import voter_rows
from adaptive.ledger._reports.quality import quality_of
from adaptive.ledger._reports.status import status_of
from adaptive.ledger._votes.casting import correct, retract
from adaptive.ledger._votes.exports import events_after
from tests.adaptive.ledger.campaigns import (
    campaign_of,
    check_ids,
    check_ledger,
    new_id,
    query,
    read,
    vote,
    voters_of,
    write,
)

PLACE = 12  # the first check, which is on sheet 0


@pytest.fixture
def campaign(ledger):
    return campaign_of(ledger, probing=Probing(overlap=0.5))


@pytest.fixture
def holder(campaign):
    [(voter,)] = query(campaign, "SELECT voter_id FROM lease WHERE sheet = 0")
    return voter


def counts(campaign):
    """Answers to checks, answers on sheets, votes, voters with a vote, and events of the feed."""
    now = read(campaign, status_of)
    [(on_sheets,)] = query(campaign, "SELECT sum(n_answered) FROM sheet")
    votes = sum(row.n_votes for row in read(campaign, voter_rows))
    n_events = len(write(campaign, events_after))
    return now.spending.n_probes, on_sheets, now.n_votes, votes, now.n_voters, n_events


def test_an_answer_to_a_check_does_not_count_as_a_vote(campaign, holder):
    name = check_ids(campaign)[0]
    assert campaign.cast(vote(holder, PLACE)).revision == 1
    assert counts(campaign) == (1, 0, 0, 0, 0, 0)
    with pytest.raises(ConflictError, match=f"comparison {name} already has the vote 'left'"):
        campaign.cast(vote(holder, PLACE, "tie"))
    assert retract(campaign, new_id(), 1, PLACE, holder).revision == 2
    assert counts(campaign) == (0, 0, 0, 0, 0, 0)
    assert name in [pair.id for pair in read(campaign, asked_of, unanswered=True)]
    assert read(campaign, quality_of).voters == ()
    campaign.cast(vote(holder, PLACE, "cannot say"))
    correct(campaign, new_id(), 1, PLACE, "left", "misread")
    assert counts(campaign) == (1, 0, 0, 0, 0, 0)


def test_votes_and_answers_to_checks_share_no_event_id(campaign, holder):
    for first, second in ((PLACE, 0), (1, PLACE)):
        place_of = dict(query(campaign, "SELECT place, sheet FROM comparison"))
        places_of_sheet = [place for place in (first, second) if place_of[place] == 0]
        event = new_id()
        campaign.cast(vote(holder, places_of_sheet[0], event_id=event))
        for other in set(place_of) - {places_of_sheet[0]}:
            if place_of[other] == 0:
                with pytest.raises(ConflictError, match="was used for another vote"):
                    campaign.cast(vote(holder, other, event_id=event))
                with pytest.raises(ConflictError, match="was used for another vote"):
                    retract(campaign, event, 1, other, holder)
        retract(campaign, new_id(), 1, places_of_sheet[0], holder)


def test_a_vote_and_a_simultaneous_late_vote_with_its_id_become_one(ledger):
    """The two are in different tables, so no key enforces this."""
    campaign = campaign_of(ledger, n_voters=1, sheet_size=6, probing=Probing(repeats=0.5))
    rows = query(campaign, "SELECT place, sheet FROM comparison ORDER BY place")
    sheets = [[place for place, sheet in rows if sheet == expected] for expected in (0, 1)]
    [(voter,)] = query(campaign, "SELECT DISTINCT voter_id FROM lease")
    [heir] = voters_of(campaign, 9)[8:]
    write(campaign, give_sheet, campaign.ballots()[0].id, 0, heir)
    outcomes = []

    def send(place, event):
        barrier.wait()
        try:
            campaign.cast(vote(voter, place, event_id=event))
            outcomes.append("counts")
        except LateVoteError:
            outcomes.append("late")
        except ConflictError as error:
            outcomes.append("reused" if error.reused else "conflict")

    for places in zip(*sheets, strict=False):
        event, barrier = new_id(), threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(send, places, [event] * 2))
    assert outcomes.count("reused") == len(outcomes) // 2 > 5
    check_ledger(ledger)


def test_leaving_voids_answers_to_checks_too(campaign, holder):
    campaign.cast(vote(holder, PLACE))
    [(place,)] = query(campaign, "SELECT min(place) FROM comparison WHERE sheet = 0")
    campaign.cast(vote(holder, place))
    assert campaign.voter(holder).leave() == 1  # votes
    assert query(campaign, "SELECT place FROM vote_event WHERE kind = 'void' ORDER BY place") == [(place,), (PLACE,)]
    assert counts(campaign)[:3] == (0, 0, 0)
