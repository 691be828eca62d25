"""The comparisons of a voter who is left out, asked of others; on both databases."""

import pytest

from adaptive.ledger import LedgerError
from adaptive.ledger._voters.identity import set_excluded
from adaptive.ledger._voters.participation import ask_others
from tests.adaptive.ledger.campaigns import check_ledger, query, write
from tests.adaptive.ledger.test_participation import answer, claimed, joined, journey, web_campaign, with_closed_ballot


def exclude(campaign, voter, excluded=True):
    write(campaign, set_excluded, voter, excluded, "too fast")


def reassigned(campaign, voter):
    return write(campaign, ask_others, voter)


def test_the_comparisons_of_who_is_left_out_are_asked_of_others(ledger):
    campaign = web_campaign(ledger)
    voter = joined(campaign)
    done, _ = claimed(campaign, voter)
    answer(campaign, voter, done)
    begun, _ = claimed(campaign, voter)
    answer(campaign, voter, begun, 0)
    with pytest.raises(LedgerError, match="the voter is not excluded"):
        reassigned(campaign, voter)
    exclude(campaign, voter)
    assert reassigned(campaign, voter) == 3
    check_ledger(campaign)
    assert query(campaign, "SELECT DISTINCT reason FROM vote_event WHERE kind = 'void'") == [("asked of others",)]
    assert journey(campaign, voter).sheet is None
    assert claimed(campaign, voter) == (None, "none left")
    other = joined(campaign)
    taken = [claimed(campaign, other)[0] for _ in (done, begun)]
    answer(campaign, other, taken[0])
    taken[1] = claimed(campaign, other)[0]
    assert {hand.sheet for hand in taken} == {done.sheet, begun.sheet}
    assert [len(hand.pairs) for hand in taken] == [2, 2]
    answer(campaign, other, taken[1])
    assert reassigned(campaign, voter) == 0  # what others answered stays
    exclude(campaign, voter, False)
    assert journey(campaign, other).n_answers == 4
    assert journey(campaign, voter).n_answers == 0
    check_ledger(campaign)


def test_votes_of_closed_ballots_are_nobody_s_to_void(ledger):
    campaign, voters = with_closed_ballot(ledger)
    exclude(campaign, voters[0])
    assert reassigned(campaign, voters[0]) == 0
    assert not query(campaign, "SELECT 1 FROM vote_event WHERE kind = 'void'")
