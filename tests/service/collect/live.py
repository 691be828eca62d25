"""A live rankcorr-collect with a campaign, crowds and simulated voters, and kills of its processes.

A voter of a crowd joins by the open link, asks for sheets, and sends each answer with one event id until the server
has answered, despite broken connections, restarts and 503, whose Retry-After it obeys. Hundreds share one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import math
import os
import random
import signal
import socket
import sys
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from adaptive._plan import BallotPlan, plan_ballots
from adaptive.ledger import Campaign, CampaignSettings, Ledger, PageTexts, VotingPages
from adaptive.ledger._campaign.plan import ContinuousPlan
from adaptive.ledger._store.schema import answer_name
from adaptive.simulation._voters import VoterPool
from tests.service.collect.browsing import Voter, new_campaign, new_id
from tests.service.live import PATIENCE, Answer, Server, poll_until, run_service

COMMAND = (sys.executable, "-m", "service.server.launch", "rankcorr-collect")
N_ITEMS = 60
PLAN = plan_ballots(N_ITEMS, n_ballots=2, fraction=0.5, presentations=10)


@contextlib.contextmanager
def run_collect(
    folder: Path, environment: Mapping[str, str] | None = None, target: str = "", **campaign: object
) -> Iterator[tuple[Server, Campaign]]:
    """Run rankcorr-collect, by default on a ledger in `folder`, with a campaign of 300 comparisons for 3 voters."""
    ledger = target or str(folder / "votes.db")
    options = {"plan": PLAN, "items": range(N_ITEMS), "voters": 3, "sheet_size": None, **campaign}
    new_campaign_ = new_campaign(ledger, **options)
    try:
        with run_service(folder, {"RANKCORR_LEDGER": ledger, **(environment or {})}, COMMAND) as server:
            yield server, new_campaign_
    finally:
        new_campaign_.database.close()


class LiveVoter:
    """A browser of a voter; `ask` takes method, path, document and headers, and returns status, headers and body."""

    def __init__(self, ask: Callable[..., Answer], campaign: Campaign, headers: Mapping[str, str] | None = None):
        self._ask = ask
        self._campaign = campaign
        self.headers = {"Rankcorr-Campaign": campaign.key, **(headers or {})}
        self.set_cookie = ""

    def come(self) -> None:
        """Come by the open link, and consent."""
        session = {"campaign": self._campaign.key, "consent": "1"}
        status, headers, body = self._insist("POST", "/v1/sessions", session)
        assert status == 201, body
        self.set_cookie = headers["Set-Cookie"]
        self.headers["Cookie"] = self.set_cookie.partition(";")[0]

    def sheet(self) -> list[dict]:
        """Pairs of the next sheet."""
        status, _, body = self._insist("POST", "/v1/sheets", {})
        assert status == 200, body
        return json.loads(body)["sheet"]["pairs"]

    def vote(self, pair: Mapping[str, object], answer: str = "left") -> Answer:
        """Answer a pair."""
        vote = {"pair": pair["id"], "answer": answer, "given_by": "click", "layout": "stacked"}
        return self.ask("PUT", f"/v1/votes/{new_id()}", vote)

    def _insist(self, method: str, path: str, document: object) -> Answer:
        """Ask again while the server is busy or considers the client too slow."""
        end = time.monotonic() + PATIENCE
        while (answer := self.ask(method, path, document))[0] in (408, 503) and time.monotonic() < end:
            time.sleep(float(answer[1].get("Retry-After", 0.1)))
        return answer

    def ask(self, method: str, path: str, document: object = None) -> Answer:
        """Send one request on a new connection."""
        return self._ask(method, path, document, headers=self.headers)


def ask_until_answered(voter: LiveVoter, method: str, path: str, document: object) -> Any:
    """Send a request until it is answered, as a page does; the path of a vote has the same event id each time."""
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


ANSWER_SECONDS = 30.0  # without an answer, a voter tries again on a new connection
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # after a broken connection
ANSWERS = ("left", "tie", "right")


@dataclass(frozen=True)
class Response:
    """A response."""

    status: int
    head: bytes
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    def header(self, name: bytes) -> str:
        for line in self.head.split(b"\r\n"):
            key, _, value = line.partition(b":")
            if key.lower() == name:
                return value.strip().decode()
        return ""


@dataclass
class Log:
    """Observations of a crowd."""

    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)  # event id -> pair, answer
    took: list[tuple[float, float]] = field(default_factory=list)  # for each vote: when it was due, seconds since then
    answered_after: list[float] = field(default_factory=list)  # for each vote: seconds since it was first sent
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # votes that will not count: status, kind
    heard_503_after: list[float] = field(default_factory=list)  # seconds until each 503
    without_retry_after: int = 0
    broken: int = 0
    repeated: int = 0  # answers to a vote that the server already had
    waited: float = 0.0  # seconds from the end until the last voter had an answer


@dataclass(frozen=True)
class Losses:
    """Differences between a ledger and the answers to voters."""

    lost: int  # acknowledged votes that are not stored as sent
    doubled: int  # second votes on a comparison
    miscounted: int  # difference between the votes and the counts of the sheets
    unheard: int  # stored votes without an answer to the voter: at most those in flight at a stop


def compare_with_ledger(campaign: Campaign, log: Log) -> Losses:
    """Compare the ledger with the answers to a crowd."""
    with campaign.database.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT e.event_id, b.number, c.sheet, c.position, e.answer FROM vote_event e "
            "JOIN ballot b ON b.id = e.ballot_id "
            "JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place"
        ).all()
        counted = connection.exec_driver_sql("SELECT sum(n_answered) FROM sheet").scalar_one()
    stored = {event: (f"{number}-{sheet}-{at}", answer_name(answer)) for event, number, sheet, at, answer in rows}
    lost = [event for event, vote in log.acknowledged.items() if stored.get(event) != vote]
    pairs = {pair for pair, _ in stored.values()}
    unheard = len(stored.keys() - log.acknowledged.keys())
    return Losses(len(lost), len(rows) - len(pairs), abs(len(rows) - counted), unheard)


class Crowd:
    """Voters of the campaign with a key; times between votes are uniform from .5 to 1.5 times `think` seconds."""

    def __init__(self, address: tuple[str, int], campaign: str, n_voters: int, *, think: float, seed: int = 1) -> None:
        self.log = Log()
        self._address, self._campaign, self._think = address, campaign, think
        self._rng = random.Random(seed)
        self._n_voters = n_voters
        self._begin = self._end = 0.0

    def stop(self) -> None:
        """Send no further votes; may be called from another thread."""
        self._end = time.monotonic()

    def run(self, seconds: float = math.inf, *, arrival: float = 2.0, patience: float = 300.0) -> Log:
        """Let voters join for `arrival` s, vote for `seconds` or until `stop`, and get answers within `patience` s."""
        return asyncio.run(self._run(seconds, arrival, patience))

    async def _run(self, seconds: float, arrival: float, patience: float) -> Log:
        self._begin = time.monotonic() + arrival
        self._end = self._begin + seconds
        left = {asyncio.create_task(self._voter(self._rng.uniform(0.0, arrival))) for _ in range(self._n_voters)}
        while left:
            if time.monotonic() > self._end + patience:
                raise TimeoutError(f"{len(left)} voters have no answer {patience:g} s after the end")
            ended, left = await asyncio.wait(left, timeout=1.0, return_when=asyncio.FIRST_EXCEPTION)
            for voter in ended:
                voter.result()
        self.log.waited = max(0.0, time.monotonic() - self._end)
        return self.log

    async def _voter(self, comes_after: float) -> None:
        await asyncio.sleep(comes_after)
        line = _Line(self._address)
        try:
            await self._votes(line)
        finally:
            line.drop()

    async def _votes(self, line: _Line) -> None:
        begun = await self._insist(line, "POST", "/v1/sessions", {"campaign": self._campaign, "consent": "1"})
        line.cookie = begun.header(b"set-cookie").partition(";")[0]
        due = max(self._begin, time.monotonic()) + self._rng.uniform(0.0, self._think)
        waiting: deque[str] = deque()
        while True:
            if not waiting:
                sheet = (await self._insist(line, "POST", "/v1/sheets", {})).document["sheet"]
                if sheet is None:
                    return
                waiting.extend(pair["id"] for pair in sheet["pairs"] if pair["answer"] is None)
            if self._think and due > self._end:
                return
            await asyncio.sleep(due - time.monotonic())
            if time.monotonic() > self._end:
                return
            if waiting:
                await self._vote(line, waiting.popleft(), due)
            due = due + self._think * self._rng.uniform(0.5, 1.5) if self._think else time.monotonic()

    async def _vote(self, line: _Line, pair: str, due: float) -> None:
        event, answer = str(uuid.UUID(int=self._rng.getrandbits(128), version=4)), self._rng.choice(ANSWERS)
        vote = {"pair": pair, "answer": answer, "response_ms": 1_000, "given_by": "key", "layout": "side by side"}
        sent = time.monotonic()
        response = await self._insist(line, "PUT", f"/v1/votes/{event}", vote)
        self.log.answered_after.append(time.monotonic() - sent)
        self.log.took.append((due - self._begin, time.monotonic() - due))
        if response.status == 200:
            receipt = response.document
            if (receipt["event_id"], receipt["pair"], receipt["answer"]) != (event, pair, answer):
                raise AssertionError(f"the answer to {event} is that to another vote: {response.body!r}")
            self.log.acknowledged[event] = (pair, answer)
            self.log.repeated += receipt["repeated"]
        else:
            self.log.refused[response.status, response.document["type"].rpartition(":")[2]] += 1

    async def _insist(self, line: _Line, method: str, path: str, document: object) -> Response:
        """Ask until there is an answer, which may be a permanent refusal."""
        host, port = self._address
        body = json.dumps(document).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", f"Rankcorr-Campaign: {self._campaign}"]
        lines += [f"Cookie: {line.cookie}"] if line.cookie else []
        message = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    response = await line.ask(message)
            except (OSError, EOFError):
                line.drop()
                self.log.broken += 1
                await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if response.status not in (429, 503):
                return response
            if response.status == 503:
                self.log.heard_503_after.append(time.monotonic() - began)
            retry_after = response.header(b"retry-after")
            self.log.without_retry_after += not retry_after
            await asyncio.sleep(float(retry_after or 1) * self._rng.uniform(1.0, 1.5))


class _Line:
    """The connection of a voter to the server."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.cookie = ""

    async def ask(self, message: bytes) -> Response:
        """Send a request, on the previous connection if it is still open; return the answer."""
        if self._streams is not None and self._streams[0].at_eof():
            self.drop()
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        response = Response(int(head[9:12]), head, b"")
        response = replace(response, body=await reader.readexactly(int(response.header(b"content-length") or 0)))
        if response.header(b"connection").lower() == "close":
            self.drop()
        return response

    def drop(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class KillableServer:
    """A server with two workers on the ledger at a path or URL, at a constant address."""

    def __init__(self, folder: Path, ledger: str, environment: Mapping[str, str] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address: tuple[str, int] = free.getsockname()
        self._folder = folder
        self._environment = {
            **(environment or {}),
            "RANKCORR_LEDGER": ledger,
            "RANKCORR_BIND": f"127.0.0.1:{self.address[1]}",
        }
        self._stack = ExitStack()
        self._one = threading.Lock()  # kills happen only after everything has started

    def __enter__(self) -> KillableServer:
        self.server: Server = self._stack.enter_context(run_service(self._folder, self._environment, COMMAND))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill_worker(self, rng: random.Random) -> None:
        """Kill one of the workers; the server starts another."""
        with self._one:
            os.kill(rng.choice(poll_until(self.server.workers, goal="a worker")), signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill all processes of the server at once, and start it again."""
        with self._one:
            os.killpg(self.server.process.pid, signal.SIGKILL)
            self._stack.close()
            self.__enter__()


def kill_thread(
    killed: KillableServer, crowd: Crowd, n_kills: int, *, votes: tuple[int, int], seed: int = 1
) -> threading.Thread:
    """A thread, not started, that alternately kills a worker and the whole server, and finally stops the crowd.

    `votes` is the smallest and largest number of acknowledged votes before each kill, and before the end.
    """
    rng = random.Random(seed)

    def wait() -> None:
        expected = len(crowd.log.acknowledged) + rng.randint(*votes)
        poll_until(lambda: len(crowd.log.acknowledged) >= expected, 300, "further votes")
        time.sleep(rng.uniform(0.0, 0.1))

    def work() -> None:
        try:
            for number in range(n_kills):
                wait()
                if number % 2:
                    killed.kill_all()
                else:
                    killed.kill_worker(rng)
            wait()
        finally:
            crowd.stop()

    return threading.Thread(target=work)


SIMULATION_PAGES = VotingPages(texts={"en": PageTexts("Numbers", "Which one?")}, open_link=True)
Ask = Callable[[str, str, object], Any]  # method, path, document -> document


def simulated_campaign(
    target: str, plan: BallotPlan | ContinuousPlan, n_voters: int, seed: int, **settings: object
) -> Campaign:
    """A campaign of items 0, 1, ... with unassigned sheets; no ballot is open."""
    all_settings = CampaignSettings(**{"assigned": False, "sheet_size": 20, "least_answered": 1.0, **settings})
    campaign = Ledger.create(target).new_campaign(plan, plan.n_items, n_voters, seed, settings=all_settings)
    campaign.set_pages(SIMULATION_PAGES, replaces=0)
    return campaign


class Minds:
    """Opinions of the voters of a pool; an answer depends only on voter, ballot and pair, also if it is repeated."""

    def __init__(self, pool: VoterPool, opinions: np.ndarray, seed: int) -> None:
        self._pool, self._opinions, self._seed = pool, opinions, seed

    def answer(self, voter: int, number: int, left: int, right: int) -> str:
        """The answer as by `VoterPool.answer`."""
        preference = self._opinions[voter, left] - self._opinions[voter, right]
        if np.random.default_rng([self._seed, voter, number, left, right]).random() < self._pool.oversight[voter]:
            preference = -preference
        return "left" if preference > 0 else "right" if preference < 0 else "tie"


def join_in_process(voter: Voter) -> Ask:
    """A voter on Flask's test client who has consented."""
    answer = voter.begin(consent="1")
    assert answer.status_code == 201, answer.text

    def ask(method: str, path: str, document: object) -> Any:
        answer = voter.client.open(path, method=method, json=document, headers=voter.headers)
        assert answer.status_code == 200, answer.text
        return answer.json

    return ask


def answer_all(asks: Sequence[Ask], minds: Minds, order: np.random.Generator, *, come_back: int = 20) -> int:
    """Let voters act in random order, one step at a time, until none gets a sheet; return the number of votes.

    After `come_back` votes, voters without a sheet ask again.
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
        receipt = asks[voter]("PUT", f"/v1/votes/{new_id()}", {"pair": pair["id"], "answer": answer})
        assert receipt["answer"] == answer
        n_votes, since = n_votes + 1, since + 1
    return n_votes


def run_ballots(campaign: Campaign, asks: Sequence[Ask], minds: Minds, order: np.random.Generator) -> None:
    """Open, answer and close each ballot of the plan."""
    for number in range(1, campaign.info.ballot_plan.n_ballots + 1):
        campaign.open_next()
        answer_all(asks, minds, order, come_back=10**9)
        campaign.close(number)
