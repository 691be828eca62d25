"""Sheets without a first answer, on both databases; tests let time pass by moving the ends of leases back."""

import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest

from adaptive import plan_ballots
from adaptive._formats.votes import VoteFile, VoteRow
from adaptive.ledger import CampaignSettings, KnownPair, Ledger, LedgerError, Probing, Visit, VotingPages
from adaptive.ledger._ballots.sheets import Origin
from adaptive.ledger._membership import consent, join
from adaptive.ledger._reports.status import awaited_sheets
from adaptive.ledger._store.schema import now, pair_id
from adaptive.ledger._voter import next_sheet
from adaptive.ledger._votes.imports import record_file
from tests.adaptive.ledger.campaigns import ITEMS, change, query, read, write
from tests.adaptive.ledger.test_participation import (
    PAGES,
    answer,
    claim_sheet,
    join_campaign,
    state_for_voter,
    web_campaign,
)

HOUR, MINUTE = 3_600_000_000, 60_000_000
STUDY = VotingPages(open_link=True, platform="prolific", study="s1", study_minutes=45)


@pytest.fixture
def campaign(ledger):
    """Six sheets of two comparisons; a voter who answers has a lease of half an hour."""
    return web_campaign(ledger, lease_minutes=30)


def ask_sheet(campaign, address=None, most=4, voter=None):
    """Let a voter, by default a new one, ask for a sheet from an address; return voter, sheet and reason."""
    voter = join_campaign(campaign) if voter is None else voter
    origin = None if address is None else Origin(address, most)
    state = write(campaign, next_sheet, PAGES, voter, origin)
    return voter, (state.sheet if state.available else None), state.reason


def pass_time(campaign, microseconds):
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=microseconds)


def minutes_left(campaign, voter):
    """Remaining minutes of a voter's lease, rounded."""
    ((time,),) = query(
        campaign, "SELECT expires_at - given_at FROM lease WHERE voter_id = :voter AND ended_at IS NULL", voter=voter
    )
    return round(time / MINUTE)


def addresses(campaign):
    return [address for (address,) in query(campaign, "SELECT address FROM lease ORDER BY id") if address is not None]


def test_asking_again_prolongs_nothing_before_an_answer(campaign):
    voter, sheet, _ = ask_sheet(campaign)
    pass_time(campaign, MINUTE)
    again = ask_sheet(campaign, voter=voter)[1]
    assert (again.sheet, again.expires_at) == (sheet.sheet, sheet.expires_at - MINUTE)
    answer(campaign, voter, sheet, 0)
    pass_time(campaign, 20 * MINUTE)
    assert ask_sheet(campaign, voter=voter)[1].expires_at > sheet.expires_at + 27 * MINUTE


def test_an_answer_to_practice_restarts_the_first_minutes_only(ledger):
    known = (KnownPair("practice", ITEMS[0], ITEMS[1], "left"),)
    campaign = web_campaign(ledger, lease_minutes=30, probing=Probing(known))
    voter, sheet, _ = ask_sheet(campaign, "192.0.2.1")
    pass_time(campaign, MINUTE)
    assert sheet.pairs[0].is_practice
    answer(campaign, voter, sheet, 0)
    assert minutes_left(campaign, voter) == 2
    assert len(addresses(campaign)) == 1
    answer(campaign, voter, sheet, 1)
    assert minutes_left(campaign, voter) == 30
    assert addresses(campaign) == []


def test_a_visitor_who_only_practises_leaves_the_sheet_to_the_next_voter(ledger):
    known = (KnownPair("practice", ITEMS[0], ITEMS[1], "left"),)
    campaign = web_campaign(ledger, lease_minutes=30, probing=Probing(known))
    visitors = [ask_sheet(campaign) for _ in range(6)]
    for voter, sheet, _ in visitors:
        answer(campaign, voter, sheet, 0)
    assert ask_sheet(campaign)[2] == "wait"
    pass_time(campaign, 3 * MINUTE)
    assert ask_sheet(campaign)[1] is not None


@pytest.mark.parametrize(("settings", "first", "then"), [({"lease_minutes": 1}, 1, 1), ({"first_minutes": 5}, 5, None)])
def test_the_first_minutes_are_a_setting_and_never_exceed_the_lease(ledger, settings, first, then):
    campaign = web_campaign(ledger, **settings)
    voter, sheet, _ = ask_sheet(campaign)
    assert minutes_left(campaign, voter) == first
    answer(campaign, voter, sheet, 0)
    (expires,) = query(campaign, "SELECT expires_at FROM lease")[0]
    assert (expires is None) == (then is None)


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), "2"])
def test_invalid_first_minutes_are_refused(minutes):
    with pytest.raises(LedgerError, match="first_minutes must be a finite number above 0; got"):
        CampaignSettings(first_minutes=minutes)


def test_a_slow_voter_keeps_the_sheet_until_another_needs_it(campaign):
    voter, sheet, _ = ask_sheet(campaign)
    pass_time(campaign, 10 * MINUTE)
    answer(campaign, voter, sheet)
    assert state_for_voter(campaign, voter).n_answers == 2


def test_unanswered_sheets_are_limited_by_address(campaign):
    claims = [ask_sheet(campaign, "192.0.2.1") for _ in range(5)]
    assert [reason for _, _, reason in claims] == [None] * 4 + ["wait"]
    assert ask_sheet(campaign, "192.0.2.2")[2] is None
    voter, sheet, _ = claims[0]
    answer(campaign, voter, sheet, 0)  # as in a classroom: voters who have begun make room for others
    assert ask_sheet(campaign, "192.0.2.1", voter=claims[4][0])[2] is None


def test_the_limit_of_an_address_falls_with_lapsed_sheets_to_one(campaign):
    claims = [ask_sheet(campaign, "192.0.2.1") for _ in range(4)]
    assert {reason for *_, reason in claims} == {None}
    pass_time(campaign, 2 * MINUTE)
    assert [ask_sheet(campaign, "192.0.2.1")[2] for _ in range(2)] == [None, "wait"]
    others = [ask_sheet(campaign, f"192.0.2.{n}") for n in range(2, 7)]
    assert {reason for *_, reason in others} == {None}  # voters from other addresses get the sheets
    pass_time(campaign, HOUR + 2 * MINUTE)
    assert [ask_sheet(campaign, "192.0.2.1")[2] for _ in range(4)] == [None] * 4  # lapses are forgotten after an hour
    assert len(addresses(campaign)) == 4


def test_invited_voters_are_not_limited_by_address(campaign):
    campaign.voters.invite(["Ann", "Bob"])
    voters = [voter for (voter,) in query(campaign, "SELECT id FROM voter ORDER BY id")]
    assert [ask_sheet(campaign, "192.0.2.1", 1, voter)[2] for voter in voters] == [None, None]
    assert addresses(campaign) == []


def test_addresses_are_hashed_to_24_bits(campaign):
    hashes = {Origin(address, 1).hash_address(campaign.info) for address in ("192.0.2.1", "192.0.2.2", "unknown")}
    assert {len(digest) for digest in hashes} == {6}
    assert len(hashes) == 3


def test_voters_with_an_answer_are_not_limited_by_address(campaign):
    voter, sheet, _ = ask_sheet(campaign, "192.0.2.1", 1)
    answer(campaign, voter, sheet)
    assert [ask_sheet(campaign, "192.0.2.1", 1)[2] for _ in range(3)] == [None, "wait", "wait"]
    assert ask_sheet(campaign, "192.0.2.1", 1, voter)[2] is None
    # Their sheets do not count for the address, or a class would stop after one sheet.
    assert len(addresses(campaign)) == 1


@pytest.fixture
def closed_ballot(ledger):
    """Campaign, voter and sheet: the ballot was closed when the voter had given one answer."""
    campaign = web_campaign(ledger, least_answered=0.0)
    voter, sheet, _ = ask_sheet(campaign)
    answer(campaign, voter, sheet, 0)
    while (result := ask_sheet(campaign))[1] is not None:
        answer(campaign, *result[:2])
    campaign.close(1)
    return campaign, voter, sheet


def test_a_sheet_unfinished_at_the_close_does_not_count_as_done(closed_ballot):
    campaign, voter, _ = closed_ballot
    campaign.open_next()
    assert ask_sheet(campaign, voter=voter)[1].number == 2
    assert query(campaign, "SELECT end_reason FROM lease WHERE ended_at IS NOT NULL") == [("closed",)]
    assert state_for_voter(campaign, voter).n_sheets_done == 0


def test_a_vote_on_a_sheet_lost_at_the_close_counts_after_reopening(closed_ballot):
    campaign, voter, sheet = closed_ballot
    assert ask_sheet(campaign, voter=voter)[1] is None
    campaign.reopen(1, "too soon")
    answer(campaign, voter, sheet, 1)
    assert state_for_voter(campaign, voter).n_answers == 2


def test_the_hash_of_an_address_is_deleted_at_the_first_answer_or_after_an_hour(campaign):
    voter, sheet, _ = ask_sheet(campaign, "192.0.2.1")
    other, _, _ = ask_sheet(campaign, "192.0.2.1")
    ask_sheet(campaign, "192.0.2.1")
    assert len(set(addresses(campaign))) == 1
    assert "192.0.2" not in str(query(campaign, "SELECT * FROM lease"))
    answer(campaign, voter, sheet, 0)
    assert len(addresses(campaign)) == 2
    campaign.voter(other).leave()
    assert len(addresses(campaign)) == 1
    pass_time(campaign, HOUR + 2 * MINUTE)
    ask_sheet(campaign)
    assert addresses(campaign) == []


def test_hashes_of_addresses_end_with_the_ballot_and_are_in_no_bundle(ledger):

    campaign = web_campaign(ledger, least_answered=0.0, sheet_size=None)
    for _ in range(3):
        voter, sheet, _ = ask_sheet(campaign)
        answer(campaign, voter, sheet)
    ask_sheet(campaign, "192.0.2.1")
    campaign.voter(voter).leave()  # their sheet is free again
    ask_sheet(campaign, "192.0.2.1")
    (mark,) = addresses(campaign)
    assert mark.encode() not in campaign.bundle()
    campaign.close(1)
    assert addresses(campaign) == []


def test_newcomers_are_told_when_a_sheet_becomes_free(campaign):
    arrivals = [ask_sheet(campaign) for _ in range(6)]
    assert {sheet.sheet for _, sheet, _ in arrivals} == set(range(6))
    late, sheet, reason = ask_sheet(campaign)
    assert (sheet, reason) == (None, "wait")
    result = state_for_voter(campaign, late)
    assert (result.step, result.available, result.reason) == ("vote", False, "wait")
    assert 100 < result.wait_seconds <= 120
    pass_time(campaign, 2 * MINUTE)
    assert ask_sheet(campaign, voter=late)[2] is None


def test_no_time_is_promised_for_a_sheet_being_answered(campaign):
    for voter, sheet, _ in [ask_sheet(campaign) for _ in range(6)]:
        answer(campaign, voter, sheet, 0)
    late, _, reason = ask_sheet(campaign)
    assert reason == "none left"
    assert state_for_voter(campaign, late).wait_seconds is None


def test_a_voter_is_not_promised_a_sheet_of_known_pairs(ledger):
    campaign = web_campaign(ledger, sheet_size=None)
    everything = join_campaign(campaign)
    while (sheet := claim_sheet(campaign, everything)[0]) is not None:
        answer(campaign, everything, sheet)
    assert state_for_voter(campaign, everything).reason == "none left"
    ask_sheet(campaign)
    assert state_for_voter(campaign, everything).reason == "none left"  # what another holds has a pair of this voter


def test_the_organiser_sees_held_sheets_and_when_they_become_free(campaign):
    def read_awaited():
        return read(campaign, awaited_sheets)

    assert read_awaited() is None
    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2", None):
        ask_sheet(campaign, address)
    assert (read_awaited().n_sheets, read_awaited().n_of_one_address) == (4, 2)
    voter, sheet, _ = ask_sheet(campaign)
    answer(campaign, voter, sheet, 0)
    assert read_awaited().n_sheets == 4
    pass_time(campaign, 2 * MINUTE)
    assert read_awaited() is None


def join_from_study(campaign, pages=STUDY):
    campaign.set_pages(pages, replaces=0)
    voter = write(campaign, join, pages, Visit("prolific", "5f" * 12, "s1"))
    write(campaign, consent, pages, voter, "1")
    return voter


def test_a_participants_lease_runs_from_joining_for_the_time_of_the_study(campaign):
    voter = join_from_study(campaign)
    sheet, _ = claim_sheet(campaign, voter, STUDY)
    assert minutes_left(campaign, voter) == 2
    answer(campaign, voter, sheet, 0)
    assert minutes_left(campaign, voter) == 45
    pass_time(campaign, 10 * MINUTE)
    again, _ = claim_sheet(campaign, voter, STUDY)
    assert minutes_left(campaign, voter) == 45  # counted from joining: asking again prolongs nothing
    answer(campaign, voter, again, 1)
    assert state_for_voter(campaign, voter, STUDY).n_sheets_done == 1


def test_a_slow_server_clock_does_not_shorten_the_time_of_a_study(ledger, monkeypatch):
    if ledger.database.is_sqlite:
        pytest.skip("without a clock of the database")
    campaign = web_campaign(ledger)
    for module in [module for name, module in sys.modules.items() if name.startswith("adaptive.ledger.")]:
        if hasattr(module, "now"):
            monkeypatch.setattr(module, "now", lambda: now() - 30 * MINUTE)
    voter = join_from_study(campaign)
    sheet, _ = claim_sheet(campaign, voter, STUDY)
    answer(campaign, voter, sheet, 0)
    ((end,),) = query(campaign, "SELECT expires_at FROM lease WHERE ended_at IS NULL")
    assert round((end - now()) / MINUTE) == 45


def test_outdated_statistics_do_not_slow_down_claims(empty_target):
    """PostgreSQL expected a single vote in the ballot, and took half a minute with 2,000."""
    with closing(Ledger.create(empty_target)) as ledger:
        if ledger.database.is_sqlite:
            pytest.skip("without statistics")
        vote_all = (
            "INSERT INTO vote_event (event_id, ballot_id, place, voter_id, answer, received_at, payload_hash, revision,"
            " kind) SELECT gen_random_uuid(), ballot_id, place, :voter, 1, 1, 'x', 1, 'cast' FROM comparison "
            "WHERE ballot_id = (SELECT max(id) FROM ballot) AND sheet > 0"
        )
        change(ledger, "ALTER TABLE vote_event SET (autovacuum_enabled = off)")
        for n_items in (20, 200):
            plan = plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=20)
            settings = CampaignSettings(assigned=False, sheet_size=20)
            campaign = ledger.new_campaign(plan, n_items, 5, 1, name=str(n_items), settings=settings)
            campaign.open_next()
            change(ledger, vote_all, voter=join_campaign(campaign))
            if n_items == 20:
                change(ledger, "ANALYZE")
        began = time.monotonic()
        _, sheet, _ = ask_sheet(campaign)
        assert len(sheet.missing) == 20
        assert time.monotonic() - began < 5


def test_other_voters_have_the_lease_of_the_campaign(campaign):
    join_from_study(campaign)
    voter, sheet, _ = ask_sheet(campaign)
    answer(campaign, voter, sheet, 0)
    assert minutes_left(campaign, voter) == 30


def test_asking_without_answering_does_not_prolong_a_lease(campaign, monkeypatch):
    voter, sheet, _ = ask_sheet(campaign)
    monkeypatch.setattr("adaptive.ledger._votes.casting.now", lambda: now() - 31 * MINUTE)
    answer(campaign, voter, sheet, 0)
    ends = query(campaign, "SELECT expires_at FROM lease")
    ask_sheet(campaign, voter=voter)
    assert query(campaign, "SELECT expires_at FROM lease") == ends


def test_an_answer_after_the_time_of_the_study_gives_the_first_minutes_again(ledger):
    campaign = web_campaign(ledger)  # a lease that never ends by itself
    voter = join_from_study(campaign, pages=replace(STUDY, study_minutes=0.001))
    sheet, _ = claim_sheet(campaign, voter, STUDY)
    answer(campaign, voter, sheet, 0)
    pass_time(campaign, HOUR)
    answer(campaign, voter, sheet, 1)
    ((expires,),) = query(campaign, "SELECT expires_at FROM lease")
    assert expires > now() + MINUTE


def test_imported_answers_count_as_first_answers(campaign):
    voter, sheet, _ = ask_sheet(campaign, "192.0.2.1")
    pair = sheet.pairs[0]
    row = VoteRow(2, pair_id(sheet.number, sheet.sheet, pair.position), None, None, None, "left")
    record_file(campaign, VoteFile("votes.csv", (row,)))
    assert addresses(campaign) == []
    assert minutes_left(campaign, voter) == 30
