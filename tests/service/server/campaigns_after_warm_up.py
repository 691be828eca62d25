"""Run by test_warm_up.py in a process of its own: warm up, run campaigns, and print what was compiled late."""

import itertools
import json
import sys
import tempfile
from pathlib import Path

from adaptive._plan import plan_ballots
from adaptive.ledger import ContinuousPlan, Ledger
from adaptive.ledger._ballots.batches import draw_batch, finish
from service.server.warm_up import warm_up_campaigns
from tests.adaptive.ledger.campaigns import asked, campaign_of, vote
from tests.service.server.requests_after_warm_up import compiled

PLANS = tuple(
    plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)
    for n_items, n_ballots, fraction, presentations in ((12, 2, 0.5, 3), (40, 3, 0.3, 8))
)


def answer(campaign, number, most=1_000):
    """Votes of every kind, by the voters who have the comparisons."""
    answers = itertools.cycle(("left", "left", "tie", "right", "left", "cannot say", "left", "left", "right", "left"))
    for place, _, voter in asked(campaign, number)[:most]:
        campaign.cast(vote(voter, place, next(answers), number=number))


def look(campaign, n_seen):
    """Read what an organiser looks at."""
    campaign.result(interim=True)
    quality = campaign.quality()
    voter = asked(campaign)[0][2]
    campaign.voter(voter).preview_exclusion()
    return n_seen + len(quality.voters)


def main() -> None:
    warm_up_campaigns()
    before = compiled()
    n_seen = n_closed = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "votes.db"))
        for plan in PLANS:
            campaign = campaign_of(ledger, plan=plan, least_answered=0.5)
            for number in range(1, plan.n_ballots + 1):
                if number > 1:
                    campaign.open_next()
                answer(campaign, number)
                campaign.preview()
                campaign.close(number)
                n_closed += 1
            campaign.result()
            n_seen = look(campaign, n_seen)
        # So many items that their standard errors are drawn; to close a ballot of theirs takes votes for a minute.
        large = campaign_of(ledger, plan=plan_ballots(1_600, n_ballots=2, fraction=0.5, presentations=1))
        answer(large, 1, most=100)
        n_seen = look(large, n_seen)
        continuous = ledger.new_campaign(ContinuousPlan(20, budget=60, batch=20), 20, 3, 1)
        for _ in range(3):
            answer(continuous, draw_batch(continuous, at_once=True))
        n_seen = look(continuous, n_seen)
        finish(continuous, least_answered=0.0)
        ledger.close()
    after = compiled()
    late = {name: types for name, types in after.items() if types != before.get(name, [])}
    print(json.dumps({"n_closed": n_closed, "n_seen": n_seen, "late": late}), file=sys.__stdout__)


if __name__ == "__main__":  # the search for doctests imports this file
    main()
