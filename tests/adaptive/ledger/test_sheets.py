"""Practice always precedes scored comparisons, on both databases; and draws of batches."""

import time
from collections import defaultdict

import pytest
import sqlalchemy as sa

from adaptive._plan import plan_ballots
from adaptive.ledger import CampaignSettings, ContinuousPlan, KnownPair, LedgerError, Probing, VotingPages
from adaptive.ledger._ballots import batches, sheets
from adaptive.ledger._ballots import batches as drawing
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._closing import close_batches
from tests.adaptive.ledger.campaigns import campaign_of, change, query, query_ballots
from tests.adaptive.ledger.test_batches import continuous_campaign
from tests.adaptive.ledger.test_participation import answer, claim_sheet, join_campaign, state_for_voter, web_campaign
from tests.adaptive.ledger.test_races import run_at_once

LABELS = list("abcdefgh")
PLAN = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=6)  # 24 comparisons in the first ballot


def pairs_by_sheet(campaign, condition="t.probe IS NULL"):
    """Sheet and items of the comparisons of the first ballot."""
    rest = f"AND b.number = 1 AND {condition} ORDER BY t.sheet"
    return query_ballots(campaign, "t.sheet, t.left_item, t.right_item", "comparison", rest)


def item_pairs_by_sheet(campaign):
    """The pairs of items of each sheet of the first ballot."""
    result = defaultdict(set)
    for sheet, left, right in pairs_by_sheet(campaign):
        result[sheet].add(frozenset([left, right]))
    return dict(result)


@pytest.fixture
def campaign_with_shared_practice(ledger):
    """A campaign of two slots with sheets of 4, and its only practice pair, which its first sheet compares too."""
    options = {"plan": PLAN, "items": LABELS, "n_voters": 2, "assigned": False, "sheet_size": 4}
    with_none = campaign_of(ledger, **options)
    sheets = item_pairs_by_sheet(with_none)
    practice = next(pair for pair in sheets[0] if sum(pair in pairs for pairs in sheets.values()) == 1)
    known = KnownPair("practice", *(LABELS[item] for item in sorted(practice)), "left")
    campaign = campaign_of(ledger, **options, lease_minutes=60, probing=Probing((known,)))
    assert item_pairs_by_sheet(campaign) == sheets  # drawn as without probes
    return campaign, practice


def pair_of(comparison):
    return frozenset([comparison.left, comparison.right])


def test_only_a_sheet_that_compares_the_pair_itself_has_no_practice(campaign_with_shared_practice):
    campaign, practice = campaign_with_shared_practice
    practised = pairs_by_sheet(campaign, "t.probe = 'practice'")
    # Other sheets of the slot go to any voter, and have the practice pair too.
    assert [sheet for sheet, *_ in practised] == [1, 2, 3, 4, 5]
    assert {frozenset(pair) for _, *pair in practised} == {practice}


def test_new_voters_practise_first_while_a_sheet_has_practice(campaign_with_shared_practice):
    campaign, practice = campaign_with_shared_practice
    first = join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, first)
    assert (sheet.pairs[0].is_practice, pair_of(sheet.pairs[0])) == (True, practice)
    assert practice not in {pair_of(pair) for pair in sheet.pairs[1:]}
    answer(campaign, first, sheet)
    sheet, _ = claim_sheet(campaign, first)  # a voter who has practised gets the first sheet, without practice
    assert (sheet.sheet, any(pair.is_practice for pair in sheet.pairs)) == (0, False)
    for _ in range(4):
        sheet, _ = claim_sheet(campaign, join_campaign(campaign))
        assert sheet.pairs[0].is_practice


def test_a_voter_who_voted_without_practice_gets_none_later(campaign_with_shared_practice):
    campaign, practice = campaign_with_shared_practice
    others = [join_campaign(campaign) for _ in range(5)]
    for other in others:
        assert claim_sheet(campaign, other)[0].pairs[0].is_practice
    last = join_campaign(campaign)
    sheet, _ = claim_sheet(campaign, last)  # no other sheet is left, and the answer to its own pair is not revealed
    assert (sheet.sheet, any(pair.is_practice for pair in sheet.pairs)) == (0, False)
    assert practice in {pair_of(pair) for pair in sheet.pairs}
    answer(campaign, last, sheet)
    for other in others:
        campaign.voter(other).leave()
    following, _ = claim_sheet(campaign, last)
    assert following.sheet != sheet.sheet
    assert not any(pair.is_practice for pair in following.pairs)
    new, _ = claim_sheet(campaign, join_campaign(campaign))
    assert new.pairs[0].is_practice


def test_a_sheet_with_answered_practice_goes_to_a_voter_who_has_begun(campaign_with_shared_practice):
    campaign, _ = campaign_with_shared_practice
    leaver, finisher = join_campaign(campaign), join_campaign(campaign)
    unfinished, _ = claim_sheet(campaign, leaver)
    answer(campaign, leaver, unfinished, 0, 1)  # the practice, and one comparison
    answer(campaign, finisher, claim_sheet(campaign, finisher)[0])
    change(campaign, "UPDATE lease SET expires_at = 0 WHERE voter_id = :voter", voter=leaver)
    new, _ = claim_sheet(campaign, join_campaign(campaign))
    assert new.sheet != unfinished.sheet
    assert new.pairs[0].is_practice
    reissued, _ = claim_sheet(campaign, finisher)
    assert reissued.sheet == unfinished.sheet
    assert not any(pair.is_practice for pair in reissued.pairs)


def test_sheets_whose_pairs_the_voter_knows_are_skipped(ledger, monkeypatch):
    plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=40)
    campaign = ledger.new_campaign(plan, 4, 20, 1, settings=CampaignSettings(assigned=False, sheet_size=4))
    campaign.open_next()
    assert query(campaign, "SELECT count(*) FROM sheet")[0][0] == 20
    voter = join_campaign(campaign)
    while (sheet := claim_sheet(campaign, voter)[0]) is not None:
        answer(campaign, voter, sheet)
    locked = []
    lock_sheet = sheets._lock_sheet
    monkeypatch.setattr(sheets, "_lock_sheet", lambda *args, **kw: locked.append(args) or lock_sheet(*args, **kw))
    assert claim_sheet(campaign, voter) == (None, "none left")
    assert locked == []
    assert not state_for_voter(campaign, voter).available
    assert claim_sheet(campaign, join_campaign(campaign))[0] is not None


def test_a_campaign_that_ends_while_a_batch_is_drawn_gets_no_batch(ledger, monkeypatch):
    plan = ContinuousPlan(n_items=6, budget=30, batch=10)
    campaign = ledger.new_campaign(plan, 6, 10, 1, settings=CampaignSettings(assigned=False))
    draw_batch(campaign)
    result = batches.next_comparisons

    def end_meanwhile(*arguments, **options):
        close_batches(campaign, least_answered=0.0)
        return result(*arguments, **options)

    monkeypatch.setattr(batches, "next_comparisons", end_meanwhile)
    with pytest.raises(LedgerError, match="has ended"):
        draw_batch(campaign, at_once=True)
    assert query(campaign, "SELECT number, state FROM ballot") == [(1, "closed")]


def test_a_dead_closer_does_not_keep_voters_from_leaving(ledger):
    campaign = web_campaign(ledger)
    voter = join_campaign(campaign)
    answer(campaign, voter, claim_sheet(campaign, voter)[0])
    campaign.database.write(
        lambda c: c.execute(sa.text("UPDATE ballot SET state = 'closing', closer = 'x', closer_until = 1"))
    )
    assert campaign.voter(voter).leave() > 0
    assert query(campaign, "SELECT state FROM ballot") == [("open",)]


PAGES = VotingPages(open_link=True)
N_VOTERS = 12
PATIENCE = 60  # seconds


def test_waiting_voters_share_one_fit(ledger, monkeypatch):
    campaign = continuous_campaign(ledger, 60, N_VOTERS, batch=10, budget=1_000, sheet_size=10)
    campaign.database.patience = PATIENCE
    campaign.open_next()  # the only sheet goes to one voter
    voters = [campaign.voter(join_campaign(campaign)) for _ in range(N_VOTERS)]
    draws, fits, fit = campaign.database.draws(campaign.info.id), [], drawing.interim_strengths

    def wait_for_others(*votes):
        fits.append(draws.n_waiting)
        end = time.monotonic() + PATIENCE
        while draws.n_waiting < N_VOTERS - 2 and len(fits) == 1 and time.monotonic() < end:
            time.sleep(0.01)
        return fit(*votes)

    monkeypatch.setattr(drawing, "interim_strengths", wait_for_others)
    states = run_at_once(*[lambda voter=voter: voter.next_sheet(PAGES) for voter in voters])
    assert [state.reason for state in states] == [None] * N_VOTERS
    assert len({(state.sheet.number, state.sheet.sheet) for state in states}) == N_VOTERS
    assert len(fits) <= 2  # the first of these batches was drawn for the voters present at that time
    assert query(campaign, "SELECT count(*) FROM ballot")[0][0] == len(fits) + 1
