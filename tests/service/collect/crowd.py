"""Voters who talk to a live rankcorr-collect as pages do, hundreds of them in one event loop: they cost it little.

A voter comes by the open link, asks for sheets, and sends each answer under one event id until the server has said
what became of it, over broken connections, restarts and 503, whose Retry-After it keeps to.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
import uuid
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Any

from adaptive.ledger import Campaign
from adaptive.ledger._store.encoding import answer_name

ANSWER_SECONDS = 30.0  # without an answer, a voter tries again on another connection
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # after a broken connection
ANSWERS = ("left", "tie", "right")


@dataclass(frozen=True)
class Answer:
    """What came back."""

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
    """What a crowd has seen."""

    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)  # event id -> pair, answer
    took: list[tuple[float, float]] = field(default_factory=list)  # of each vote: when it was due, seconds since then
    answered_after: list[float] = field(default_factory=list)  # of each vote: seconds since it was sent first
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # votes that will not count: status, kind
    heard_503_after: list[float] = field(default_factory=list)  # seconds until each 503
    without_retry_after: int = 0
    broken: int = 0
    repeated: int = 0  # answers to a vote that the server had already
    waited: float = 0.0  # seconds from the end until the last voter had an answer


@dataclass(frozen=True)
class Losses:
    """Where a ledger differs from what voters were told."""

    lost: int  # acknowledged votes that are not there as they were sent
    doubled: int  # votes on a comparison that has one already
    miscounted: int  # difference between the votes and the counts of the sheets
    unheard: int  # votes that are there and whose voter heard of none: wanted are those in flight at a stop, at most


def losses(campaign: Campaign, log: Log) -> Losses:
    """Hold the ledger against what a crowd was told."""
    with campaign.database.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT e.event_id, b.number, c.sheet, c.position, e.answer FROM vote_event e "
            "JOIN ballot b ON b.id = e.ballot_id "
            "JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place"
        ).all()
        counted = connection.exec_driver_sql("SELECT sum(n_answered) FROM sheet").scalar_one()
    stored = {event: (f"{number}-{sheet}-{at}", answer_name(answer)) for event, number, sheet, at, answer in rows}
    lost = [event for event, said in log.acknowledged.items() if stored.get(event) != said]
    asked = {pair for pair, _ in stored.values()}
    unheard = len(stored.keys() - log.acknowledged.keys())
    return Losses(len(lost), len(rows) - len(asked), abs(len(rows) - counted), unheard)


class Crowd:
    """Voters of a campaign.

    Parameters
    ----------
    address : pair of str and int
    campaign : str
        Its key.
    n_voters : int
    think : float
        Mean seconds from one vote to the next, drawn evenly from half to one and a half of it; 0: at once.
    seed : int
    """

    def __init__(self, address: tuple[str, int], campaign: str, n_voters: int, *, think: float, seed: int = 1) -> None:
        self.log = Log()
        self._address, self._campaign, self._think = address, campaign, think
        self._rng = random.Random(seed)
        self._n_voters = n_voters
        self._begin = self._end = 0.0

    def stop(self) -> None:
        """Send no further votes; another thread may say so."""
        self._end = time.monotonic()

    def run(self, seconds: float = math.inf, *, arrival: float = 2.0, patience: float = 300.0) -> Log:
        """Vote for so long, or until `stop`; then wait for the answers to the last votes, and close all connections.

        Parameters
        ----------
        arrival : float
            Seconds before, over which the voters come.
        patience : float
            Seconds after, in which all must have their answers.
        """
        return asyncio.run(self._run(seconds, arrival, patience))

    async def _run(self, seconds: float, arrival: float, patience: float) -> Log:
        self._begin = time.monotonic() + arrival
        self._end = self._begin + seconds
        left = {asyncio.create_task(self._voter(self._rng.uniform(0.0, arrival))) for _ in range(self._n_voters)}
        while left:
            if time.monotonic() > self._end + patience:
                raise TimeoutError(f"{len(left)} voters have no answer {patience:g} s after the end")
            done, left = await asyncio.wait(left, timeout=1.0, return_when=asyncio.FIRST_EXCEPTION)
            for voter in done:
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
        begun = await self._answered(line, "POST", "/v1/sessions", {"campaign": self._campaign, "consent": "1"})
        line.cookie = begun.header(b"set-cookie").partition(";")[0]
        due = max(self._begin, time.monotonic()) + self._rng.uniform(0.0, self._think)
        waiting: deque[str] = deque()
        while True:
            if not waiting:
                sheet = (await self._answered(line, "POST", "/v1/sheets", {})).document["sheet"]
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
        found = await self._answered(line, "PUT", f"/v1/votes/{event}", vote)
        self.log.answered_after.append(time.monotonic() - sent)
        self.log.took.append((due - self._begin, time.monotonic() - due))
        if found.status == 200:
            said = found.document
            if (said["event_id"], said["pair"], said["answer"]) != (event, pair, answer):
                raise AssertionError(f"the answer to {event} is that to another vote: {found.body!r}")
            self.log.acknowledged[event] = (pair, answer)
            self.log.repeated += said["repeated"]
        else:
            self.log.refused[found.status, found.document["type"].rpartition(":")[2]] += 1

    async def _answered(self, line: _Line, method: str, path: str, document: object) -> Answer:
        """Ask until there is an answer; it may be a refusal, but none that goes away."""
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
                    found = await line.ask(message)
            except (OSError, EOFError):
                line.drop()
                self.log.broken += 1
                await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if found.status not in (429, 503):
                return found
            if found.status == 503:
                self.log.heard_503_after.append(time.monotonic() - began)
            wanted = found.header(b"retry-after")
            self.log.without_retry_after += not wanted
            await asyncio.sleep(float(wanted or 1) * self._rng.uniform(1.0, 1.5))


class _Line:
    """The connection of a voter to the server."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.cookie = ""

    async def ask(self, message: bytes) -> Answer:
        """The answer to a request, on the connection of before if it is still open."""
        if self._streams is not None and self._streams[0].at_eof():
            self.drop()
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        found = Answer(int(head[9:12]), head, b"")
        found = replace(found, body=await reader.readexactly(int(found.header(b"content-length") or 0)))
        if found.header(b"connection").lower() == "close":
            self.drop()
        return found

    def drop(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
