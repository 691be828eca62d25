"""Files of votes beside everything else that happens: closings, other files, sheets that are given away."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive.ledger import LedgerBusyError, LedgerError
from adaptive.ledger.recording import record_file
from adaptive.ledger.sheets import give_sheet
from adaptive.ledger.voters import register
from adaptive.ledger.votes import correct
from adaptive.tables import VoteFile, VoteRow
from adaptive.votes import Vote
from tests.adaptive.ledger.campaigns import asked, campaign_of, change, new_id, query


def file_of(places, answer="left"):
    rows = (VoteRow(2 + at, f"1-{place}", None, None, None, Vote.LEFT, answer) for at, place in enumerate(places))
    return VoteFile("votes.csv", tuple(rows))


def test_a_file_waits_while_its_ballot_is_being_closed_and_goes_on_when_the_closer_is_dead(ledger):
    campaign = campaign_of(ledger)
    until = "closer_until = (SELECT max(opened_at) FROM ballot) + :more"
    change(ledger, f"UPDATE ballot SET state = 'closing', closer = 'x', {until}", more=60_000_000)
    with pytest.raises(LedgerBusyError, match="ballot 1 is being closed: the file may be recorded in a moment"):
        record_file(campaign.database, campaign.info, file_of(range(12)))
    assert query(ledger, "SELECT count(*) FROM late_vote") == [(0,)]
    change(ledger, f"UPDATE ballot SET {until}", more=-1)
    assert record_file(campaign.database, campaign.info, file_of(range(12))).n_new == 12


def test_files_at_once_are_all_recorded_and_no_vote_twice(ledger):
    campaign = campaign_of(ledger)
    parts = [range(8), range(4, 12), range(12), range(0, 12, 2)]

    def record(places):
        return record_file(campaign.database, campaign.info, file_of(places))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(record, parts))
    assert sum(each.n_new for each in found) == 12
    assert sum(each.n_new + each.n_known for each in found) == sum(map(len, parts))
    assert query(ledger, "SELECT count(*), max(revision) FROM vote_event") == [(12, 1)]
    assert query(ledger, "SELECT sum(n_answered) FROM sheet") == [(12,)]


def test_each_vote_beside_a_sheet_that_is_given_away_counts_or_is_late(ledger):
    """Whichever comes first: all votes of the sheet count, or all of them are late."""
    campaign = campaign_of(ledger)
    places = [place for place, sheet, _ in asked(campaign) if sheet == 0]
    ballot = campaign.ballots()[0].id
    first = VoteFile(
        "votes.csv",
        tuple(VoteRow(2, f"1-{place}", "0", None, None, Vote.LEFT, "left") for place in places),
    )

    def given():
        def work(connection):
            give_sheet(connection, campaign.info, ballot, 0, register(connection, campaign.info, "Dora"))

        try:
            campaign.run(work)
        except LedgerError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(2) as pool:
        giving = pool.submit(given)
        found = pool.submit(record_file, campaign.database, campaign.info, first).result()
        refused = giving.result()
    if refused is None:
        assert (found.n_new, found.n_late) == (0, len(places))
    else:
        assert "is answered already" in refused
        assert (found.n_new, found.n_late) == (len(places), 0)


def test_late_votes_count_when_they_come_again_in_time(ledger):
    """A ballot that was opened again takes the votes that came after it was closed."""
    campaign = campaign_of(ledger)
    record_file(campaign.database, campaign.info, file_of(range(9)))
    campaign.close_ballot(1, least_answered=0.5)
    late = record_file(campaign.database, campaign.info, file_of(range(12)))
    assert (late.n_new, late.n_known, late.n_late) == (0, 9, 3)
    assert record_file(campaign.database, campaign.info, file_of(range(12))).n_late == 0  # kept once
    campaign.reopen(1, "votes of one group came late")
    again = record_file(campaign.database, campaign.info, file_of(range(12)))
    assert (again.n_new, again.n_known, again.n_late) == (3, 9, 0)


def test_what_was_corrected_or_voided_does_not_come_back_with_its_file(ledger):
    campaign = campaign_of(ledger)
    record_file(campaign.database, campaign.info, file_of(range(12)))
    correct(campaign.database, campaign.info, new_id(), 1, 0, "tie", "misread")
    correct(campaign.database, campaign.info, new_id(), 1, 1, None, "not read")
    again = record_file(campaign.database, campaign.info, file_of(range(12)))
    assert (again.n_new, again.n_known, again.n_conflicts) == (0, 12, 0)
    other = record_file(campaign.database, campaign.info, file_of([1], "right"))
    assert other.n_new == 1
