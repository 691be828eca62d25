"""Voters of the voter model who answer through the API of rankcorr-collect, and the campaign that they rank."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adaptive._plan import BallotPlan
from adaptive.ledger import Campaign, Ledger, PageTexts, Settings, VotingPages
from adaptive.ledger._campaign.info import ContinuousPlan
from adaptive.simulation._voters import VoterPool
from tests.service.collect.browsing import Voter, new_id

PAGES = VotingPages(texts={"en": PageTexts("Numbers", "Which one?")}, open_link=True)
Ask = Callable[[str, str, object], Any]  # method, path, document -> document


def simulated_campaign(
    target: str, plan: BallotPlan | ContinuousPlan, n_voters: int, seed: int, **settings: object
) -> Campaign:
    """A campaign of items 0, 1, ... whose sheets go to whoever comes; no ballot is open."""
    chosen = Settings(**{"assigned": False, "sheet_size": 20, "least_answered": 1.0, **settings})
    campaign = Ledger.create(target).new_campaign(plan, plan.n_items, n_voters, seed, settings=chosen)
    campaign.set_pages(PAGES, replaces=0)
    return campaign


class Minds:
    """What voters of a pool think; an answer depends on voter, ballot and pair alone, however often it is asked for.

    Parameters
    ----------
    pool : VoterPool
    opinions : array of shape (n_voters, n_items)
    seed : int
        Of the oversights.
    """

    def __init__(self, pool: VoterPool, opinions: np.ndarray, seed: int) -> None:
        self._pool, self._opinions, self._seed = pool, opinions, seed

    def answer(self, voter: int, number: int, left: int, right: int) -> str:
        """As `VoterPool.answer` has it."""
        preference = self._opinions[voter, left] - self._opinions[voter, right]
        if np.random.default_rng([self._seed, voter, number, left, right]).random() < self._pool.oversight[voter]:
            preference = -preference
        return "left" if preference > 0 else "right" if preference < 0 else "tie"


def asking(voter: Voter) -> Ask:
    """A voter on Flask's test client, who has agreed."""
    answer = voter.begin(consent="1")
    assert answer.status_code == 201, answer.text

    def ask(method: str, path: str, document: object) -> Any:
        answer = voter.client.open(path, method=method, json=document, headers=voter.headers)
        assert answer.status_code == 200, answer.text
        return answer.json

    return ask


def answer_all(asks: Sequence[Ask], minds: Minds, order: np.random.Generator, *, come_back: int = 20) -> int:
    """Let voters act in random order, one step at a time, until none of them is given a sheet; votes are counted.

    Parameters
    ----------
    come_back : int
        After so many votes those who found no sheet ask again.
    """
    waiting: list[deque[dict[str, Any]]] = [deque() for _ in asks]
    present, idle, n_votes, since = list(range(len(asks))), [], 0, 0
    while present or since:
        if not present or since >= come_back:
            present, idle, since = present + idle, [], 0
        at = int(order.integers(len(present)))
        voter = present[at]
        if not waiting[voter]:
            sheet = asks[voter]("POST", "/v1/sheets", {})["sheet"]
            if sheet is None:
                idle.append(present.pop(at))
                continue
            waiting[voter].extend({**pair, "number": sheet["ballot"]} for pair in sheet["pairs"] if not pair["answer"])
        pair = waiting[voter].popleft()
        left, right = (int(pair[side]["text"]) for side in ("left", "right"))
        answer = minds.answer(voter, pair["number"], left, right)
        given = asks[voter]("PUT", f"/v1/votes/{new_id()}", {"pair": pair["id"], "answer": answer})
        assert given["answer"] == answer
        n_votes, since = n_votes + 1, since + 1
    return n_votes


def run_ballots(campaign: Campaign, asks: Sequence[Ask], minds: Minds, order: np.random.Generator) -> None:
    """Open, answer and close each ballot of the plan."""
    for number in range(1, campaign.info.ballot_plan.n_ballots + 1):
        campaign.open_next()
        answer_all(asks, minds, order, come_back=10**9)
        campaign.close(number)
