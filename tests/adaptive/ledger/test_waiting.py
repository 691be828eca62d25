"""Voters who wait for the next batch at the same moment wait for one fit, and each gets a sheet of it."""

import threading

from adaptive.ledger import VotingPages
from adaptive.ledger._ballots import batches as drawing
from tests.adaptive.ledger.campaigns import query
from tests.adaptive.ledger.test_batches import continuous
from tests.adaptive.ledger.test_participation import joined
from tests.adaptive.ledger.test_races import at_once

PAGES = VotingPages(open_link=True)
MANY = 12
PATIENCE = 60  # seconds


def test_voters_who_wait_share_one_fit(ledger, monkeypatch):
    campaign = continuous(ledger, 60, MANY, batch=10, budget=1_000, sheet_size=10)
    campaign.database.patience = PATIENCE
    voters = [campaign.voter(joined(campaign)) for _ in range(MANY)]
    draws, fits, fit = campaign.database.draws(campaign.info.id), [], drawing.interim_strengths
    everybody_waits = threading.Event()

    def wait_for_others(*votes):
        fits.append(draws.n_waiting)
        while draws.n_waiting < MANY - 1 and len(fits) == 1 and not everybody_waits.wait(0.01):
            pass
        return fit(*votes)

    monkeypatch.setattr(drawing, "interim_strengths", wait_for_others)
    states = at_once(*[lambda voter=voter: voter.next_sheet(PAGES) for voter in voters])
    assert [state.reason for state in states] == [None] * MANY
    assert len({(state.sheet.number, state.sheet.sheet) for state in states}) == MANY
    assert len(fits) <= 2  # the first was drawn for those who had come by then
    assert query(campaign, "SELECT count(*) FROM ballot")[0][0] == len(fits)
