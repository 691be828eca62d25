"""Checks in a ledger: drawn and shown with their ballot, answered like its comparisons, and never scored."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest
import sqlalchemy as sa

from adaptive._draw import draw_ballot
from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._protocol import Position, ballot_rng
from adaptive.errors import VoteError
from adaptive.ledger import LedgerError
from adaptive.ledger._ballots.draws import draw_digest
from adaptive.ledger._ballots.draws import open_comparisons as asked_of
from adaptive.ledger._ballots.sheets import give_sheet, sheet_of_voter
from adaptive.ledger._ballots.stored import ballot_probes, drawn_columns
from adaptive.ledger._campaign.settings import KnownPair, Probing
from adaptive.ledger._membership import voter_named
from adaptive.ledger._reports.status import spending_of, status_of
from adaptive.ledger._votes.casting import conflicts
from adaptive.ledger._votes.imports import record_file
from tests.adaptive.ledger.campaigns import (
    ITEMS,
    PLAN,
    campaign_of,
    change,
    check_ids,
    check_ledger,
    pair_ids,
    query,
    read,
    voters_of,
    write,
)
from tests.adaptive.ledger.test_participation import answer, claim_sheet

KNOWN_PAIRS = (("practice", "ash", "yew", "left"), ("attention", "ash", "oak", "left"), ("gold", "birch", "yew", "tie"))
PROBING = Probing(tuple(KnownPair(*pair) for pair in KNOWN_PAIRS), 1, 0.25, 0.25)


def row(name, answer, *, voter=None, left=None):
    return VoteRow(2, name, voter, left, None, answer)


def record(campaign, *rows):
    return record_file(campaign, VoteFile("votes.csv", rows))


def probes_in(campaign, number=1):
    return campaign.read(ballot_probes, campaign.ballots()[number - 1].id)


@pytest.fixture
def campaign(ledger):
    return campaign_of(ledger, probing=PROBING, sheet_size=5)


def test_probes_do_not_change_the_draw_of_the_ballot(campaign):
    position = Position.first(PLAN)
    expected = draw_ballot(position.labels(ITEMS), PLAN.presentations, range(3), ballot_rng(1, 1, "draw"))
    rows = query(campaign, "SELECT left_item, right_item FROM comparison WHERE probe IS NULL ORDER BY place")
    assert rows == list(zip(expected.left.tolist(), expected.right.tolist(), strict=True))


def test_probes_have_a_separate_random_stream_and_are_part_of_the_digest(campaign):
    stored = campaign.ballots()[0]
    probes = probes_in(campaign)
    assert {probe.kind for probe in probes} >= {"practice", "repeat", "overlap"}
    draw = campaign.read(drawn_columns, stored.id)
    assert stored.draw_digest == draw_digest(campaign.info, draw, probes)
    for name, value in (("sheet", 9), ("position", 9), ("kind", "gold"), ("left", 5), ("expected", 0), ("repeats", 3)):
        changed = [probes[0]._replace(**{name: value}), *probes[1:]]
        assert changed != probes
        assert stored.draw_digest != draw_digest(campaign.info, draw, changed)
    assert stored.draw_digest != draw_digest(campaign.info, draw, probes[1:])
    with pytest.raises(sa.exc.DBAPIError, match="the ledger keeps its history"):
        change(campaign, "UPDATE comparison SET expected = 1")


def test_checks_are_shown_at_their_drawn_positions_with_ordinary_ids(campaign):
    ids = [pair.id for pair in read(campaign, asked_of)]
    sizes = Counter(name.rpartition("-")[0] for name in ids)
    assert ids == [f"{sheet}-{position}" for sheet, size in sizes.items() for position in range(size)]
    assert set(ids) == set(pair_ids(campaign))
    assert set(ids) > set(check_ids(campaign)) > set()
    practice = {f"1-{probe.sheet}-{probe.position}" for probe in probes_in(campaign) if probe.kind == "practice"}
    assert practice
    assert {name.rpartition("-")[2] for name in practice} == {"0"}
    assert read(campaign, asked_of, number=2) == ()


def answer_rows(campaign):
    return [row(pair.id, "left") for pair in read(campaign, asked_of, number=1)]


def test_answers_arrive_with_the_votes_and_are_counted_separately(campaign):
    n_probes = len(probes_in(campaign))
    rows = answer_rows(campaign)
    result = record(campaign, *rows)
    assert (result.n_new, result.n_probes, result.n_known) == (12, n_probes, 0)
    assert read(campaign, asked_of, unanswered=True) == ()
    before = query(campaign, "SELECT * FROM vote_event")
    again = record(campaign, *rows)
    assert (again.n_new, again.n_probes, again.n_known) == (0, 0, 12 + n_probes)
    assert query(campaign, "SELECT * FROM vote_event") == before
    assert read(campaign, status_of).n_votes == 12
    check_ledger(campaign)


def test_probes_are_never_scored(ledger):
    records = []
    for probing in (None, PROBING):
        campaign = campaign_of(ledger, probing=probing)
        names = pair_ids(campaign)
        record(campaign, *(row(name, ("left", "tie", "right")[place % 3]) for place, name in enumerate(names)))
        records.append(campaign.close(1))
    assert records[0].to_dict() == records[1].to_dict()


def test_a_contradiction_is_kept_and_the_first_answer_counts(campaign):
    one, other, *_ = check_ids(campaign)
    record(campaign, row(one, "left"))
    result = record(campaign, row(one, "right"), row(other, "tie"))
    assert (result.n_conflicts, result.n_probes, result.n_late) == (1, 1, 0)
    assert record(campaign, row(one, "right")).n_known == 1  # kept already
    assert query(campaign, "SELECT revision, answer FROM vote_event ORDER BY place") == [(1, 1), (1, 0)]
    assert query(campaign, "SELECT revision, answer, why FROM late_vote") == [(1, -1, "conflict")]
    listed = read(campaign, conflicts)
    result = [(conflict.comparison, conflict.recorded, conflict.conflicting, conflict.corrected) for conflict in listed]
    assert result == [(one, "left", "right", False)]
    now = read(campaign, status_of)
    assert (now.n_conflicts, now.n_late, now.spending.n_probes, now.n_votes, now.n_voters) == (1, 0, 2, 0, 0)
    assert read(campaign, spending_of).spent is None


def test_late_answers_are_kept_and_do_not_count(campaign):
    on_sheet = [name for name in check_ids(campaign) if name.startswith("1-0-")]
    record(campaign, row(on_sheet[0], "left"))
    other = voters_of(campaign, 9)[8]
    holder = read(campaign, asked_of)[0].voter
    write(campaign, give_sheet, campaign.ballots()[0].id, 0, other)
    assert record(campaign, row(on_sheet[1], "left", voter=holder)).n_late == 1
    assert record(campaign, row(on_sheet[1], "tie", voter="8")).n_probes == 1
    record(campaign, *(row(name, "left") for name in pair_ids(campaign)[:12]))
    campaign.close(1)
    assert record(campaign, row(on_sheet[2], "left")).n_late == 1
    assert query(campaign, "SELECT why FROM late_vote ORDER BY id") == [("reassigned",), ("closed",)]
    assert read(campaign, status_of).n_late == 2


@pytest.mark.parametrize(
    ("invalid_row", "message"),
    [
        (row("1-0-99", "left"), r"votes\.csv:2: comparison '1-0-99' is unknown: ballot 1 ends sheet 0 at '1-0-\d'"),
        (row("2-0-0", "left"), r"votes\.csv:2: comparison '2-0-0' is unknown: ballot 2 has not been opened"),
        (row("1-0-0", "left", voter="7"), r"'1-0-0' is on sheet \d, which voter '\d' has and '7' never had"),
        (row("1-0-0", "left", left="nut"), r"comparison '1-0-0' has the left '\w+'; got 'nut'"),
        (row("1-p0", "left"), r'an id like "2-0-17": ballot, sheet and position; got \'1-p0\''),
    ],
)
def test_an_invalid_row_refuses_the_file(campaign, invalid_row, message):
    with pytest.raises(VoteError, match=message):
        record(campaign, *(row(name, "left") for name in pair_ids(campaign)[-2:]), invalid_row)
    assert query(campaign, "SELECT count(*) FROM vote_event") == [(0,)]


def test_probes_with_other_items_are_refused(ledger):
    probing = Probing((KnownPair("gold", "ash", "nut", "left"),))
    with pytest.raises(LedgerError, match="'nut' of a check is not an item of the campaign"):
        campaign_of(ledger, probing=probing)
    assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]


def test_practice_is_asked_once_and_known_pairs_rotate_over_ballots(ledger):
    # Pairs of items that no ballot compares within a slot: it asks the known ones instead.
    campaign = campaign_of(ledger, probing=Probing(PROBING.known, 2), n_voters=6)
    record(campaign, *answer_rows(campaign))
    campaign.close(1)
    campaign.open_next()
    assert "practice" in {probe.kind for probe in probes_in(campaign)}
    assert "practice" not in {probe.kind for probe in probes_in(campaign, 2)}


@pytest.fixture
def overlapping_sheets(ledger):
    """A campaign whose sheets share pairs, and the pairs of each sheet."""
    campaign = campaign_of(ledger, probing=Probing(overlap=0.5), sheet_size=2, assigned=False)
    pairs = defaultdict(set)
    for sheet, *items in query(ledger, "SELECT sheet, left_item, right_item FROM comparison"):
        pairs[sheet].add(frozenset(ITEMS[item] for item in items))
    return campaign, pairs


def sheets_with_a_common_pair(pairs_of_sheet):
    return next(
        sheets for sheets in combinations(pairs_of_sheet, 2) if set.intersection(*map(pairs_of_sheet.get, sheets))
    )


def test_a_claimed_sheet_repeats_no_pair_of_an_overlap(overlapping_sheets):
    campaign, voter = overlapping_sheets[0], voters_of(overlapping_sheets[0], 1)[0]
    pairs = []
    while (sheet := claim_sheet(campaign, voter)[0]) is not None:
        pairs += [frozenset([pair.left, pair.right]) for pair in sheet.pairs]
        answer(campaign, voter, sheet)
    assert len(set(pairs)) == len(pairs) > 4
    assert read(campaign, voter_named, "0") == voter


def test_sheets_with_only_new_pairs_are_given_first(ledger, overlapping_sheets):
    campaign, pairs_of_sheet = overlapping_sheets
    ballot, (voter, other) = campaign.ballots()[0].id, voters_of(campaign, 2)
    first, begun = sheets_with_a_common_pair(pairs_of_sheet)
    write(campaign, give_sheet, ballot, begun, other)
    change(ledger, "UPDATE lease SET exclusive = (1 = 1)")  # as if claimed
    sheet = read(campaign, sheet_of_voter, other)
    new = next(pair for pair in sheet.pairs if frozenset([pair.left, pair.right]) not in pairs_of_sheet[first])
    answer(campaign, other, sheet, new.position)
    change(ledger, "UPDATE lease SET ended_at = 1, end_reason = 'expired'")
    write(campaign, give_sheet, ballot, first, voter)
    change(ledger, "UPDATE lease SET exclusive = (1 = 1) WHERE voter_id = :voter", voter=voter)
    answer(campaign, voter, read(campaign, sheet_of_voter, voter))
    assert not pairs_of_sheet[claim_sheet(campaign, voter)[0].sheet] & pairs_of_sheet[first]


def test_a_sheet_with_a_pair_the_voter_has_seen_is_not_given(overlapping_sheets):
    campaign, pairs_of_sheet = overlapping_sheets
    ballot, voter = campaign.ballots()[0].id, voters_of(campaign, 1)[0]
    first, other = sheets_with_a_common_pair(pairs_of_sheet)
    write(campaign, give_sheet, ballot, first, voter)
    with pytest.raises(LedgerError, match=f"^sheet {other + 1} has a pair that this voter has already seen"):
        write(campaign, give_sheet, ballot, other, voter)
