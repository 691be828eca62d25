"""A live rankcorr-collect with a campaign, and voters who talk to it over sockets."""

import contextlib
import http.client
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptive._plan import plan_ballots
from adaptive.ledger import Campaign
from tests.service.collect.browsing import new_campaign, new_id
from tests.service.live import PATIENCE, Answer, Server, running

COMMAND = (sys.executable, "-m", "service.server.launch", "rankcorr-collect")
N_ITEMS = 60
PLAN = plan_ballots(N_ITEMS, n_ballots=2, fraction=0.5, presentations=10)


@contextlib.contextmanager
def collecting(
    folder: Path, environment: Mapping[str, str] | None = None, target: str = "", **campaign: object
) -> Iterator[tuple[Server, Campaign]]:
    """Run rankcorr-collect, by default on a ledger in `folder`, with a campaign of 300 comparisons for 3 voters."""
    ledger = target or str(folder / "votes.db")
    options = {"plan": PLAN, "items": range(N_ITEMS), "voters": 3, "sheet_size": None, **campaign}
    made = new_campaign(ledger, **options)
    try:
        with running(folder, {"RANKCORR_LEDGER": ledger, **(environment or {})}, COMMAND) as server:
            yield server, made
    finally:
        made.database.close()


class LiveVoter:
    """A browser of a voter.

    Parameters
    ----------
    ask : callable
        Takes method, path and document, and headers by their name; returns status, headers and body.
    campaign : Campaign
    headers : mapping, optional
        Sent with every request.
    """

    def __init__(self, ask: Callable[..., Answer], campaign: Campaign, headers: Mapping[str, str] | None = None):
        self._ask = ask
        self._campaign = campaign
        self.headers = {"Rankcorr-Campaign": campaign.key, **(headers or {})}
        self.set_cookie = ""

    def come(self) -> None:
        """Come by the open link, and agree."""
        asked = {"campaign": self._campaign.key, "consent": "1"}
        status, headers, body = self._answered("POST", "/v1/sessions", asked)
        assert status == 201, body
        self.set_cookie = headers["Set-Cookie"]
        self.headers["Cookie"] = self.set_cookie.partition(";")[0]

    def sheet(self) -> list[dict]:
        """Pairs of the next sheet."""
        status, _, body = self._answered("POST", "/v1/sheets", {})
        assert status == 200, body
        return json.loads(body)["sheet"]["pairs"]

    def vote(self, pair: Mapping[str, object], answer: str = "left") -> Answer:
        """Answer a pair."""
        vote = {"pair": pair["id"], "answer": answer, "given_by": "click", "layout": "stacked"}
        return self.ask("PUT", f"/v1/votes/{new_id()}", vote)

    def _answered(self, method: str, path: str, document: object) -> Answer:
        """Ask again as often as the server is busy, or found the client too slow."""
        end = time.monotonic() + PATIENCE
        while (answer := self.ask(method, path, document))[0] in (408, 503) and time.monotonic() < end:
            time.sleep(float(answer[1].get("Retry-After", 0.1)))
        return answer

    def ask(self, method: str, path: str, document: object = None) -> Answer:
        """One request on a connection of its own."""
        return self._ask(method, path, document, headers=self.headers)


def insist(voter: LiveVoter, method: str, path: str, document: object) -> Any:
    """Send a request until it is answered, as a page does; a vote has its event id in the path each time."""
    end = time.monotonic() + 300
    while True:
        try:
            status, _, body = voter.ask(method, path, document)
        except (http.client.HTTPException, OSError):
            status, body = 0, b""
        if status == 200:
            return json.loads(body)
        assert status in (0, 408, 503), body
        assert time.monotonic() < end
        time.sleep(0.02)
