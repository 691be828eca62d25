"""The end of a voter's participation: answers can be changed then, not taken back, and only those in force are paid."""

import pytest

from adaptive.ledger import ConflictError, FinishedError, Origin, Visit, VoteCast, VotingPages
from adaptive.ledger._voters.identity import participants
from adaptive.ledger._voters.voter import is_more_left
from tests.adaptive.ledger.campaigns import change, check_ledger, new_id, query, read
from tests.adaptive.ledger.test_participation import answer, claimed, joined, journey, web_campaign
from tests.adaptive.ledger.test_races import at_once

STUDY = "6f8d0d55b54764421b715dd2"
PAGES = VotingPages(platform="prolific", study=STUDY, completion_code="C0DE", sheets=1)
MANY = 12
DAY = 86_400_000_000


def participant(campaign):
    """A participant with a sheet that is answered, and the answers."""
    visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=STUDY)
    voter, _ = campaign.voters.join(PAGES, consent="1", hours=1, visit=visit)
    hand = voter.next_sheet(PAGES).sheet
    votes = [VoteCast(new_id(), hand.number, pair.place, voter.id, "left") for pair in hand.pairs]
    for vote in votes:
        voter.cast(vote)
    return voter, votes


def test_after_the_end_an_answer_can_be_changed_and_not_taken_back(ledger):
    campaign = web_campaign(ledger)
    voter, votes = participant(campaign)
    other = VoteCast(new_id(), votes[0].number, votes[0].place, voter.id, "right")
    with pytest.raises(ConflictError, match="has the vote 'left' already"):
        voter.cast(other)
    assert voter.finish(PAGES).outcome == "complete"
    for vote in votes:
        with pytest.raises(FinishedError, match="you have finished: an answer can be changed, but not taken back"):
            voter.retract(voter.vote(vote.event_id), new_id())
    receipt = voter.cast(other)
    assert (receipt.revision, receipt.answer, voter.cast(other).repeated) == (2, "right", True)
    assert voter.state(PAGES).n_answers == len(votes)
    assert [each.decision for each in read(campaign, participants)] == ["approve"]
    check_ledger(campaign)


def test_a_participant_without_an_answer_in_force_is_not_approved(ledger):
    campaign = web_campaign(ledger)
    voter, votes = participant(campaign)
    voter.finish(PAGES)
    for (pair,) in [(voter.vote(vote.event_id).pair,) for vote in votes]:
        campaign.correct(pair, None, "not an answer")
    (one,) = read(campaign, participants)
    assert (one.outcome, one.decision, one.reason) == ("complete", "reject", "no answer is left")


def test_a_sheet_with_an_answer_taken_back_is_not_done(ledger):
    campaign, pages = web_campaign(ledger), VotingPages(open_link=True, sheets=2)
    voter, _ = campaign.voters.join(pages, consent="1", hours=1)
    hand = voter.next_sheet(pages).sheet
    answer(campaign, voter.id, hand)
    voter.next_sheet(pages)
    assert voter.state(pages).n_sheets_done == 1
    (event,) = query(campaign, "SELECT event_id FROM vote_event WHERE place = :place", place=hand.pairs[0].place)[0]
    voter.retract(voter.vote(event), new_id())
    assert voter.state(pages).n_sheets_done == 0


def test_claims_at_the_same_moment_keep_to_the_limit_of_their_address(ledger):
    campaign = web_campaign(ledger, sheet_size=1)
    origin = Origin("192.0.2.7", most=3)
    voters = [campaign.voter(joined(campaign)) for _ in range(MANY)]
    pages = VotingPages(open_link=True)
    at_once(*[lambda voter=voter: voter.next_sheet(pages, origin) for voter in voters])
    assert query(campaign, "SELECT count(*) FROM lease WHERE unanswered AND ended_at IS NULL") == [(3,)]


def test_a_clock_that_jumped_a_day_ahead_and_back_blocks_no_sheet(ledger):
    campaign = web_campaign(ledger, sheet_size=None, lease_minutes=30)
    first = joined(campaign)
    n_sheets = query(campaign, "SELECT count(*) FROM sheet")[0][0]
    held = [first] + [joined(campaign) for _ in range(n_sheets - 1)]
    for voter in held:
        assert claimed(campaign, voter)[0] is not None
    newcomer = joined(campaign)
    assert not read(campaign, is_more_left, newcomer)
    change(campaign, "UPDATE lease SET expires_at = expires_at + :day", day=DAY)
    assert journey(campaign, newcomer).available
    assert claimed(campaign, newcomer)[0] is not None
