"""Voters who answer everything complete a campaign, even if they leave sheets unfinished on the way.

The number of possible answers to a ballot is limited because no voter answers a pair twice.
A continuous campaign asks its budget, or each pair of each voter if these are fewer. The tests count both from the
tables, without looking at sheets."""

from collections import Counter
from math import comb
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive._plan import plan_ballots
from adaptive.errors import ProtocolError
from adaptive.ledger import (
    CampaignSettings,
    ContinuousPlan,
    KnownPair,
    Ledger,
    LedgerError,
    Probing,
    VoteCast,
    VotingPages,
)
from adaptive.ledger._membership import register
from tests.adaptive.ledger.campaigns import campaign_of, change, check_ledger, new_id, query, write

PAGES = VotingPages(open_link=True)


KNOWN = (KnownPair("practice", 0, 1, "left"), KnownPair("attention", 1, 2, "right"))


@st.composite
def checks(draw):
    """Checks of all kinds, or none."""
    known = draw(st.sampled_from([(), KNOWN]))
    overlap, repeats = draw(st.sampled_from([0.0, 0.05, 0.5])), draw(st.sampled_from([0.0, 0.5]))
    return Probing(known, overlap=overlap, repeats=repeats) if known or overlap or repeats else None


def vote_to_the_end(campaign, n_voters, random, *, lapse=0.3):
    """Let voters answer in random order until none gets a pair; some leave a sheet unfinished and return later."""
    voters = [campaign.voters.join(PAGES, consent="1", hours=1)[0] for _ in range(n_voters)]
    willing = set(range(n_voters))
    while willing:
        voter = voters[(index := random.choice(sorted(willing)))]
        available = voter.state(PAGES).available  # if not, the page of a voter who is done does not ask for a sheet
        sheet = voter.next_sheet(PAGES).sheet
        assert available == bool(sheet is not None and sheet.missing)
        if sheet is None or not sheet.missing:
            willing.remove(index)
            continue
        missing = list(sheet.missing)
        random.shuffle(missing)
        n_answered = random.randrange(len(missing) + 1) if random.random() < lapse else len(missing)
        for pair in missing[:n_answered]:
            word = random.choice(["left", "right", "tie", "cannot say"])
            voter.cast(VoteCast(new_id(), sheet.number, pair.place, voter.id, word))
        if n_answered < len(missing):
            change(
                campaign, "UPDATE lease SET expires_at = 1 WHERE ended_at IS NULL AND voter_id = :voter", voter=voter.id
            )
        willing = set(range(n_voters))  # an answer or an abandoned sheet may free a pair for others
    return voters


def check_pairs(campaign):
    """Check that no voter answers a pair twice in a round, except repeats on one sheet and known pairs."""
    rows = query(
        campaign,
        "SELECT e.voter_id, c.ballot_id, c.left_item, c.right_item, c.probe FROM vote_event e "
        "JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place",
    )
    answers = Counter()
    for voter, ballot, left, right, probe in rows:
        if probe in (None, "overlap", "repeat"):
            of_round = None if campaign.info.mode == "continuous" else ballot
            answers[voter, of_round, frozenset([left, right])] += probe != "repeat"
    assert max(answers.values(), default=0) <= 1


@pytest.mark.wide
@example(5, 2, 2, 17, 6, 8, Probing(KNOWN, overlap=0.5, repeats=0.5), 1819)  # repeats that no other voter may get
@given(
    n_items=st.integers(3, 6),
    n_voters=st.integers(1, 6),
    n_slots=st.integers(1, 6),
    budget=st.integers(1, 40),
    batch=st.integers(2, 12),
    sheet_size=st.integers(2, 8),
    probing=checks(),
    seed=st.integers(0, 2**32),
)
def test_a_continuous_campaign_ends_at_its_budget_or_at_all_pairs(
    n_items, n_voters, n_slots, budget, batch, sheet_size, probing, seed
):
    ledger = Ledger.in_memory()
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size, lease_minutes=30, probing=probing)
    plan = ContinuousPlan(n_items, budget, batch=batch)
    campaign = ledger.new_campaign(plan, n_items, n_slots, 1, settings=settings)
    campaign.open_next()
    voters = vote_to_the_end(campaign, n_voters, Random(seed))
    possible = min(budget, n_voters * comb(n_items, 2))
    status = campaign.status()
    assert status.n_answered == possible
    assert status.n_comparisons <= budget
    if possible < budget:
        assert status.waits == "pairs"
        assert {voter.state(PAGES).reason for voter in voters} == {"none left"}
    check_pairs(campaign)
    check_ledger(campaign)
    ledger.close()


@pytest.mark.wide
@given(
    n_items=st.integers(3, 7),
    presentations=st.integers(1, 5).map(lambda half: 2 * half),
    n_voters=st.integers(1, 6),
    n_slots=st.integers(1, 6),
    sheet_size=st.integers(2, 8),
    probing=checks(),
    random=st.integers(0, 2**32).map(Random),
)
def test_a_ballot_ends_when_each_pair_has_the_votes_that_its_voters_can_give(
    n_items, presentations, n_voters, n_slots, sheet_size, probing, random
):
    ledger = Ledger.in_memory()
    settings = CampaignSettings(assigned=False, sheet_size=sheet_size, lease_minutes=30, probing=probing)
    plan = plan_ballots(n_items, n_ballots=2, fraction=0.7, presentations=presentations)
    campaign = ledger.new_campaign(plan, n_items, n_slots, 1, settings=settings)
    campaign.open_next()
    rows = query(campaign, "SELECT left_item, right_item FROM comparison WHERE probe IS NULL")
    pair_counts = Counter(frozenset(row) for row in rows)
    possible = sum(min(number, n_voters) for number in pair_counts.values())
    vote_to_the_end(campaign, n_voters, random)
    status = campaign.status()
    assert status.n_answered == possible
    assert status.waits == ("pairs" if possible < len(rows) else None)
    check_pairs(campaign)
    check_ledger(campaign)
    ledger.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_small_campaign_of_the_form_is_answered_to_its_end(seed):
    """Twelve items, three voters and a little overlap once stopped at 90 to 108 of 120 answers."""
    ledger = Ledger.in_memory()
    settings = CampaignSettings(assigned=False, sheet_size=20, lease_minutes=30, probing=Probing(overlap=0.05))
    campaign = ledger.new_campaign(ContinuousPlan(12, 120, batch=12), 12, 3, seed, settings=settings)
    campaign.open_next()
    vote_to_the_end(campaign, 3, Random(seed), lapse=0.0)
    status = campaign.status()
    assert (status.n_answered, status.n_comparisons) == (120, 120)
    ledger.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_voter_whose_copies_are_withheld_is_told_of_further_sheets(seed):
    """Fewer voters than slots: copies of comparisons that need these voters are withheld, and the pairs stay open."""
    ledger = Ledger.in_memory()
    settings = CampaignSettings(assigned=False, probing=Probing(overlap=0.5))
    plan = plan_ballots(3, n_ballots=2, fraction=0.7, presentations=6)
    campaign = ledger.new_campaign(plan, 3, 4, seed, settings=settings)
    campaign.open_next()
    vote_to_the_end(campaign, 3, Random(seed), lapse=0.0)
    assert campaign.status().n_answered == 9
    ledger.close()


def campaign_of_sheets(n_items, budget):
    """A continuous campaign whose batches have one sheet of four pairs, or of all pairs if these are fewer."""
    size = min(4, comb(n_items, 2))
    settings = CampaignSettings(assigned=False, sheet_size=size, lease_minutes=30)
    campaign = Ledger.in_memory().new_campaign(
        ContinuousPlan(n_items, budget, batch=size), n_items, 1, 1, settings=settings
    )
    campaign.open_next()
    return campaign


def answer(voter, sheet, pairs):
    return [voter.cast(VoteCast(new_id(), sheet.number, pair.place, voter.id, "left")) for pair in pairs]


def expire_lease(campaign, voter):
    change(campaign, "UPDATE lease SET expires_at = 1 WHERE ended_at IS NULL AND voter_id = :voter", voter=voter.id)


def items_of(pair):
    return frozenset([pair.left, pair.right])


def test_a_retracted_answer_on_an_abandoned_sheet_is_replaced():
    campaign = campaign_of_sheets(4, 8)
    first, second = (campaign.voters.join(PAGES, consent="1", hours=1)[0] for _ in range(2))
    sheet = first.next_sheet(PAGES).sheet
    other_sheet = second.next_sheet(PAGES).sheet
    same = {items_of(pair) for pair in sheet.pairs} & {items_of(pair) for pair in other_sheet.pairs}
    left_over = next(pair for pair in sheet.pairs if items_of(pair) in same)
    receipts = answer(first, sheet, [pair for pair in sheet.pairs if pair != left_over])
    expire_lease(campaign, first)
    answer(second, other_sheet, other_sheet.pairs)
    replacing = second.next_sheet(PAGES).sheet
    answer(second, replacing, replacing.pairs)
    status = campaign.status()
    assert (status.n_answered, status.n_comparisons, status.n_dropped) == (8, 8, 1)
    assert all(item.presentations == item.n_answered for item in campaign.item_progress())
    first.retract(first.vote(receipts[0].event_id), new_id())
    assert campaign.status().n_answered == 7
    more = first.next_sheet(PAGES).sheet
    answer(first, more, more.missing)
    status = campaign.status()
    assert (status.n_answered, status.n_comparisons, status.n_dropped) == (8, 8, 2)
    check_ledger(campaign)


def test_the_next_batch_asks_a_pair_of_the_held_sheet_that_another_voter_answered():
    campaign = campaign_of_sheets(3, 60)
    first, second = (campaign.voters.join(PAGES, consent="1", hours=1)[0] for _ in range(2))
    sheet = first.next_sheet(PAGES).sheet
    answer(first, sheet, sheet.pairs[:1])
    expire_lease(campaign, first)
    taken_over = second.next_sheet(PAGES).sheet
    assert len(taken_over.pairs) == 2
    answer(second, taken_over, taken_over.pairs)
    batch = second.next_sheet(PAGES).sheet
    assert [items_of(pair) for pair in batch.pairs] == [items_of(sheet.pairs[0])]
    check_pairs(campaign)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a\nb", "c", "d", "e", "f", "g"], r"one line of text without spaces around it; got 'a\\nb'"),
        ([" a", "c", "d", "e", "f", "g"], r"one line of text .* got ' a'"),
        (["\t", "c", "d", "e", "f", "g"], r"one line of text .* got '\\t'"),
        (["1", ("1",), "d", "e", "f", "g"], r"the labels '1' and \('1',\) look the same in a file of votes"),
        (["1", "1.0", "d", "e", "f", "g"], "the item '1' is also written '1.0', and names are compared as text"),
        ([("a", "b\r"), "c", "d", "e", "f", "g"], r"one line of text .* got \('a', 'b\\r'\)"),
    ],
)
def test_labels_that_a_file_of_votes_cannot_hold_are_refused(ledger, items, message):
    with pytest.raises(LedgerError, match=message):
        campaign_of(ledger, items=items)
    assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]


def test_a_number_and_its_text_are_one_label(ledger):
    with pytest.raises(ProtocolError, match="items differ only in their types: '1'"):
        campaign_of(ledger, items=["1", 1, "d", "e", "f", "g"])
    assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]


@pytest.mark.parametrize("name", ["", " ", " Ann", "Ann\n", "An\x00n"])
def test_names_that_a_file_of_votes_cannot_hold_are_refused(ledger, name):
    campaign = campaign_of(ledger)
    with pytest.raises(LedgerError, match="a voter's name must be one line of text without spaces around it"):
        write(campaign, register, name)
