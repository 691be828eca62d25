"""Answers to probes that come one by one."""

import threading

import pytest

from adaptive.errors import VoteError
from adaptive.ledger import ConflictError, LateVoteError, LedgerError, Receipt, VoteCast
from adaptive.ledger.asking import asked as asked_of
from adaptive.ledger.probes.answering import cast_probe, retract_probe
from adaptive.ledger.probes.probing import Probing
from adaptive.ledger.quality import quality_of
from adaptive.ledger.sheets import give_sheet
from adaptive.ledger.spending import spending_of
from tests.adaptive.ledger.campaigns import answer_all, campaign_of, new_id, query, voters_of

PLACE = 0  # the first probe, which is on sheet 0


@pytest.fixture
def campaign(ledger):
    return campaign_of(ledger, probing=Probing(overlap=0.5))


@pytest.fixture
def holder(campaign):
    [(voter,)] = query(campaign, "SELECT voter_id FROM lease WHERE sheet = 0")
    return voter


def cast(campaign, voter, answer="left", *, event_id=None, place=PLACE, number=1):
    vote = VoteCast(event_id or new_id(), number, place, voter, answer, 900, "click", "stacked")
    return cast_probe(campaign.database, campaign.info, vote)


def retract(campaign, voter, *, event_id=None):
    return retract_probe(campaign.database, campaign.info, event_id or new_id(), 1, PLACE, voter)


def events(campaign):
    return query(campaign, "SELECT revision, kind, answer, why FROM probe_event ORDER BY revision")


def n_answered(campaign):
    return campaign.database.read(lambda c: spending_of(c, campaign.info)).n_probes


def test_the_same_event_is_one_answer(campaign, holder):
    event_id = new_id()
    assert cast(campaign, holder, event_id=event_id) == Receipt(event_id, 1, "cast", "left")
    assert cast(campaign, holder, event_id=event_id) == Receipt(event_id, 1, "cast", "left", repeated=True)
    assert events(campaign) == [(1, "cast", 1, None)]
    with pytest.raises(ConflictError, match="was used for another answer"):
        cast(campaign, holder, "right", event_id=event_id)
    assert query(campaign, "SELECT response_ms, given_by, layout FROM probe_event") == [(900, "click", "stacked")]
    assert query(campaign, "SELECT sum(n_answered) FROM sheet") == [(0,)]


def test_the_first_answer_stands_until_it_is_taken_back(campaign, holder):
    cast(campaign, holder)
    with pytest.raises(ConflictError, match="probe 1-p0 has the answer 'left' already"):
        cast(campaign, holder, "tie")
    event_id = new_id()
    taken = retract(campaign, holder, event_id=event_id)
    assert taken == Receipt(event_id, 2, "retract", None)
    assert retract(campaign, holder, event_id=event_id).repeated
    assert n_answered(campaign) == 0
    assert "1-p0" in [each.id for each in campaign.database.read(lambda c: asked_of(c, campaign.info, unanswered=True))]
    assert campaign.database.read(lambda c: quality_of(c, campaign.info)).voters == ()
    with pytest.raises(ConflictError, match="no answer of this voter to take back"):
        retract(campaign, holder)
    assert cast(campaign, holder, "cannot say").revision == 3
    assert events(campaign) == [(1, "cast", 1, None), (2, "retract", None, None), (3, "cast", 2, None)]
    assert n_answered(campaign) == 1


def test_nobody_else_answers_or_takes_back(campaign, holder):
    stranger = voters_of(campaign, 8)[7]
    with pytest.raises(VoteError, match="which this voter was never given"):
        cast(campaign, stranger)
    cast(campaign, holder)
    with pytest.raises(ConflictError, match="no answer of this voter to take back"):
        retract(campaign, stranger)
    assert len(events(campaign)) == 1


def test_late_answers_are_kept_and_do_not_count(campaign, holder):
    heir = voters_of(campaign, 8)[7]
    campaign.run(lambda c: give_sheet(c, campaign.info, campaign.ballots()[0].id, 0, heir))
    event_id = new_id()
    for _ in range(2):
        with pytest.raises(LateVoteError, match="the sheet is no longer this voter's"):
            cast(campaign, holder, event_id=event_id)
    cast(campaign, heir, "right")
    answer_all(campaign)
    campaign.close_ballot(1)
    with pytest.raises(LateVoteError, match="ballot 1 is closed"):
        cast(campaign, heir, "tie")
    with pytest.raises(LateVoteError, match="can no longer be taken back"):
        retract(campaign, heir)
    assert events(campaign) == [(1, "cast", 1, "reassigned"), (2, "cast", -1, None), (3, "cast", 0, "closed")]
    assert n_answered(campaign) == 1


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"place": 99}, VoteError, "probe 1-p99 is unknown"),
        ({"number": 2}, VoteError, "probe 2-p0 is unknown"),
        ({"answer": "both"}, VoteError, "an answer is 'left', 'right', 'tie' or 'cannot say'; got 'both'"),
        ({"event_id": "7"}, LedgerError, "an event id is a UUID in lower case; got '7'"),
    ],
)
def test_what_means_nothing_is_refused(campaign, holder, values, error, message):
    with pytest.raises(error, match=message):
        cast(campaign, holder, **values)
    assert events(campaign) == []


def test_of_two_answers_at_once_one_stands(campaign, holder):
    barrier, found = threading.Barrier(4), []

    def one(answer):
        barrier.wait()
        try:
            found.append(cast(campaign, holder, answer).answer)
        except ConflictError:
            found.append(None)

    threads = [threading.Thread(target=one, args=(answer,)) for answer in ("left", "right", "tie", "cannot say")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str).count(None) == 3
    assert len(events(campaign)) == 1
