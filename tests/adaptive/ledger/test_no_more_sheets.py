"""The ends of voting: no sheet is left, no batch is drawn any more, a voter leaves."""

import pytest
import sqlalchemy as sa

from adaptive._plan import plan_ballots
from adaptive.ledger import ContinuousPlan, LedgerError, Settings
from adaptive.ledger._ballots import batches, sheets
from adaptive.ledger._ballots.batches import draw_batch, finish
from tests.adaptive.ledger.campaigns import query
from tests.adaptive.ledger.test_participation import answer, claimed, joined, journey, web_campaign


def test_sheets_whose_pairs_are_known_are_passed_over_at_once(ledger, monkeypatch):
    plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=40)
    campaign = ledger.new_campaign(plan, 4, 20, 1, settings=Settings(assigned=False, sheet_size=4))
    campaign.open_next()
    assert query(campaign, "SELECT count(*) FROM sheet")[0][0] == 20
    voter = joined(campaign)
    while (hand := claimed(campaign, voter)[0]) is not None:
        answer(campaign, voter, hand)
    asked = []
    locked = sheets._locked
    monkeypatch.setattr(sheets, "_locked", lambda *given, **how: asked.append(given) or locked(*given, **how))
    assert claimed(campaign, voter) == (None, "none left")
    assert asked == []
    assert not journey(campaign, voter).available
    assert claimed(campaign, joined(campaign))[0] is not None


def test_a_campaign_that_ends_while_a_batch_is_drawn_gets_no_batch(ledger, monkeypatch):
    plan = ContinuousPlan(n_items=6, budget=30, batch=10)
    campaign = ledger.new_campaign(plan, 6, 10, 1, settings=Settings(assigned=False))
    draw_batch(campaign)
    found = batches.next_comparisons

    def end_meanwhile(*given, **options):
        finish(campaign, least_answered=0.0)
        return found(*given, **options)

    monkeypatch.setattr(batches, "next_comparisons", end_meanwhile)
    with pytest.raises(LedgerError, match="has ended"):
        draw_batch(campaign, at_once=True)
    assert query(campaign, "SELECT number, state FROM ballot") == [(1, "closed")]


def test_a_closer_that_died_keeps_nobody_from_leaving(ledger):
    campaign = web_campaign(ledger)
    voter = joined(campaign)
    answer(campaign, voter, claimed(campaign, voter)[0])
    campaign.database.write(
        lambda c: c.execute(sa.text("UPDATE ballot SET state = 'closing', closer = 'x', closer_until = 1"))
    )
    assert campaign.voter(voter).leave() > 0
    assert query(campaign, "SELECT state FROM ballot") == [("open",)]
