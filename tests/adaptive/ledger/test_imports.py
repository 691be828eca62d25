"""Importing files of votes during closings, other imports and reassigned sheets."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive.ledger import ConflictError, LateVoteError, Ledger, LedgerBusyError, LedgerError
from adaptive.ledger._ballots.sheets import give_sheet
from adaptive.ledger._membership import register
from adaptive.ledger._votes.casting import conflicts, correct
from adaptive.ledger._votes.imports import Recorded, record_file
from tests.adaptive.ledger.campaigns import (
    campaign_of,
    change,
    check_ledger,
    comparisons_of,
    new_id,
    pair_ids,
    query,
    read,
    vote,
    write,
)


def file_of(campaign, places, answer="left"):
    ids = pair_ids(campaign)
    rows = (VoteRow(2 + at, ids[place], None, None, None, answer) for at, place in enumerate(places))
    return VoteFile("votes.csv", tuple(rows))


def test_an_import_waits_for_a_closing_and_continues_if_the_closer_dies(ledger):
    campaign = campaign_of(ledger)
    until = "closer_until = (SELECT max(opened_at) FROM ballot) + :more"
    change(ledger, f"UPDATE ballot SET state = 'closing', closer = 'x', {until}", more=20_000_000)
    with pytest.raises(LedgerBusyError, match="ballot 1 is being closed: record the file again in a moment"):
        record_file(campaign, file_of(campaign, range(12)))
    assert query(ledger, "SELECT count(*) FROM late_vote") == [(0,)]
    change(ledger, f"UPDATE ballot SET {until}", more=-1)
    assert record_file(campaign, file_of(campaign, range(12))).n_new == 12


def test_simultaneous_imports_record_each_vote_once(ledger):
    campaign = campaign_of(ledger)
    parts = [range(8), range(4, 12), range(12), range(0, 12, 2)]

    def record(places):
        return record_file(campaign, file_of(campaign, places))

    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(record, parts))
    assert sum(receipt.n_new for receipt in result) == 12
    assert sum(receipt.n_new + receipt.n_known for receipt in result) == sum(map(len, parts))
    assert query(ledger, "SELECT count(*), max(revision) FROM vote_event") == [(12, 1)]
    assert query(ledger, "SELECT sum(n_answered) FROM sheet") == [(12,)]


def test_during_a_reassignment_all_votes_of_a_sheet_count_or_are_late(ledger):
    """It depends on which comes first."""
    campaign = campaign_of(ledger)
    places = [place for place, sheet, _ in comparisons_of(campaign) if sheet == 0]
    ballot = campaign.ballots()[0].id
    ids = pair_ids(campaign)
    first = VoteFile("votes.csv", tuple(VoteRow(2, ids[place], "0", None, None, "left") for place in places))

    def give_to_dora():
        try:
            write(campaign, give_sheet, ballot, 0, write(campaign, register, "Dora"))
        except LedgerError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(2) as pool:
        giving = pool.submit(give_to_dora)
        result = pool.submit(record_file, campaign, first).result()
        refused = giving.result()
    if refused is None:
        assert (result.n_new, result.n_late) == (0, len(places))
    else:
        assert "is already answered" in refused
        assert (result.n_new, result.n_late) == (len(places), 0)


def test_late_votes_count_when_resent_after_reopening(ledger):
    """A reopened ballot accepts votes that had come after it was closed."""
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(9)))
    campaign.close(1, least_answered=0.5)
    late = record_file(campaign, file_of(campaign, range(12)))
    assert (late.n_new, late.n_known, late.n_late) == (0, 9, 3)
    assert record_file(campaign, file_of(campaign, range(12))).n_late == 0  # stored once
    campaign.reopen(1, "votes of one group came late")
    again = record_file(campaign, file_of(campaign, range(12)))
    assert (again.n_new, again.n_known, again.n_late) == (3, 9, 0)


def test_importing_again_does_not_restore_corrected_or_voided_votes(ledger):
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(12)))
    correct(campaign, new_id(), 1, 0, "tie", "misread")
    correct(campaign, new_id(), 1, 1, None, "not read")
    again = record_file(campaign, file_of(campaign, range(12)))
    assert (again.n_new, again.n_known, again.n_conflicts) == (0, 12, 0)
    assert record_file(campaign, file_of(campaign, [1], "right")).n_new == 1


def test_a_correction_sets_a_vote_that_a_correction_voided(ledger):
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(12)))
    correct(campaign, new_id(), 1, 1, None, "not read")
    assert query(ledger, "SELECT sum(n_answered) FROM sheet") == [(11,)]
    receipt = correct(campaign, new_id(), 1, 1, "left", "asked again")
    assert (receipt.revision, receipt.kind, receipt.answer) == (3, "cast", "left")
    assert query(ledger, "SELECT sum(n_answered) FROM sheet") == [(12,)]
    assert record_file(campaign, file_of(campaign, [1])) == Recorded(0, 1, 0, 0)
    campaign.close(1)
    check_ledger(ledger)


@pytest.mark.parametrize("step", ["leave", "ask others"])
def test_no_correction_sets_a_vote_of_a_voter_who_left_or_whose_pairs_others_are_asked(ledger, step):
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(12)))
    (place, _, voter_id), *_ = comparisons_of(campaign)
    voter = campaign.voter(voter_id)
    if step == "leave":
        correct(campaign, new_id(), 1, place, None, "not read")
        voter.leave()
    else:
        voter.exclude("answers at random", ask_others=True)
    with pytest.raises(ConflictError, match="has no vote to correct"):
        correct(campaign, new_id(), 1, place, "left", "asked again")


def correction_flags(campaign):
    return [conflict.corrected for conflict in read(campaign, conflicts)]


@pytest.mark.parametrize("hours", [1, -1])
def test_resolved_conflicts_are_recognised_by_revision_not_by_time(ledger, monkeypatch, hours):
    """Only a correction after the conflict resolves it, whatever the clocks show."""
    campaign = campaign_of(ledger)
    true_time, shift = time.time_ns, 0
    monkeypatch.setattr(time, "time_ns", lambda: true_time() + shift * 3_600_000_000_000)
    record_file(campaign, file_of(campaign, range(12)))
    shift = hours
    correct(campaign, new_id(), 1, 0, "tie", "misread")
    shift = 0
    assert record_file(campaign, file_of(campaign, [0], "right")).n_conflicts == 1
    assert correction_flags(campaign) == [False]
    shift = hours
    correct(campaign, new_id(), 1, 0, "tie", "asked the voter")
    assert correction_flags(campaign) == [True]


def test_a_late_vote_resent_with_its_id_counts_after_reopening(ledger):
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(11)))
    campaign.close(1, least_answered=0.5)
    place, _, voter = comparisons_of(campaign)[11]
    late = vote(voter, place)
    for _ in range(2):
        with pytest.raises(LateVoteError, match="ballot 1 is closed: the vote was stored, but does not count"):
            campaign.cast(late)
    campaign.reopen(1, "votes of one group came late")
    receipts = [campaign.cast(late) for _ in range(2)]
    assert [(receipt.revision, receipt.kind, receipt.repeated) for receipt in receipts] == [
        (1, "cast", False),
        (1, "cast", True),
    ]
    assert query(ledger, "SELECT count(*) FROM late_vote") == [(1,)]
    assert query(ledger, "SELECT sum(n_answered) FROM sheet") == [(12,)]
    campaign.close(1)
    assert campaign.cast(late).repeated
    with pytest.raises(ConflictError, match="was used for another vote"):
        campaign.cast(vote(voter, place, "right", event_id=late.event_id))
    check_ledger(ledger)


def test_a_resent_late_vote_stays_late_if_another_voter_has_the_pair(ledger):
    campaign = campaign_of(ledger)
    record_file(campaign, file_of(campaign, range(10)))
    campaign.close(1, least_answered=0.5)
    (first, _, voter), (second, sheet, other) = comparisons_of(campaign)[10:]
    first_late, second_late = vote(voter, first), vote(other, second)
    for late in (first_late, second_late):
        with pytest.raises(LateVoteError, match="ballot 1 is closed"):
            campaign.cast(late)
    campaign.reopen(1, "again")
    assert campaign.cast(vote(voter, first, "right")).revision == 1
    ballot = campaign.ballots()[0].id
    write(campaign, give_sheet, ballot, sheet, write(campaign, register, "Dora"))
    for late in (first_late, second_late):
        with pytest.raises(LateVoteError, match="does not count"):
            campaign.cast(late)
    write(campaign, give_sheet, ballot, sheet, other)
    assert campaign.cast(second_late).revision == 1  # the sheet is back
    check_ledger(ledger)


def test_a_restored_ledger_keeps_conflicts_of_files(ledger, tmp_path):
    """A voter there has the id of another voter here, so their events differ."""
    campaign_of(ledger, n_voters=1)  # takes an id
    campaign = campaign_of(ledger, n_voters=2)
    theirs, sheet = max((voter, sheet) for _, sheet, voter in comparisons_of(campaign))
    *places, last = (place for place, of, _ in comparisons_of(campaign) if of == sheet)
    record_file(campaign, file_of(campaign, set(range(12)) - {last}))
    assert record_file(campaign, file_of(campaign, places[:1], "tie")).n_conflicts == 1
    campaign.write_bundle(tmp_path / "b.zip", names=True)
    other = Ledger.create(tmp_path / "other.db")
    restored = other.restore(tmp_path / "b.zip")
    dora = write(restored, register, "Dora")
    assert dora == theirs or not ledger.database.is_sqlite
    write(restored, give_sheet, restored.ballots()[0].id, sheet, dora)
    assert record_file(restored, file_of(campaign, places[:1], "tie")).n_conflicts == 1
    assert correction_flags(restored) == [False, False]
    check_ledger(other)
    other.close()
