"""Voters who talk to a live rankcorr-collect as pages do, hundreds of them in one thread: they cost it little.

A voter comes by the open link, asks for sheets, and sends each answer under one event id until the server has said
what became of it, over broken connections, restarts and 503, whose Retry-After it keeps to.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import selectors
import socket
import time
import uuid
from collections import Counter, deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from adaptive.ledger import Campaign
from adaptive.ledger.store.encoding import answer_name

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


@dataclass(frozen=True)
class Ask:
    """A request that a voter waits for."""

    message: bytes


@dataclass(frozen=True)
class Pause:
    """Time of `time.monotonic` until which a voter does nothing."""

    until: float


Steps = Generator[Ask | Pause, Answer | None, Any]


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
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, _Line]] = []
        self._lines = [_Line(self._voter()) for _ in range(n_voters)]
        self._n_timers = 0
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
        now = time.monotonic()
        self._begin, self._end = now + arrival, now + arrival + seconds
        for line in self._lines:
            self._wait(line, now + self._rng.uniform(0.0, arrival))
        self._left = len(self._lines)
        while self._left:
            now = time.monotonic()
            if now > self._end + patience:
                raise TimeoutError(f"{self._left} voters have no answer {patience:g} s after the end")
            while self._timers and self._timers[0][0] <= now:
                self._ring(*heapq.heappop(self._timers))
            pause = self._timers[0][0] - time.monotonic() if self._timers else 1.0
            for key, events in self._selector.select(min(1.0, max(0.0, pause))):
                self._ready(key.data, events)
        self.log.waited = max(0.0, time.monotonic() - self._end)
        for line in self._lines:
            self._drop(line)
        self._selector.close()
        return self.log

    # A voter.

    def _voter(self) -> Steps:
        begun = yield from self._answered(
            "POST", "/v1/sessions", {"campaign": self._campaign, "consent": "1"}, cookie=""
        )
        cookie = begun.header(b"set-cookie").partition(";")[0]
        due = max(self._begin, time.monotonic()) + self._rng.uniform(0.0, self._think)
        waiting: deque[str] = deque()
        while True:
            if not waiting:
                answer = yield from self._answered("POST", "/v1/sheets", {}, cookie=cookie)
                sheet = answer.document["sheet"]
                if sheet is None:
                    return
                waiting.extend(pair["id"] for pair in sheet["pairs"] if pair["answer"] is None)
            if self._think and due > self._end:
                return
            yield Pause(due)
            if time.monotonic() > self._end:
                return
            if waiting:
                yield from self._vote(waiting.popleft(), due, cookie)
            due = due + self._think * self._rng.uniform(0.5, 1.5) if self._think else time.monotonic()

    def _vote(self, pair: str, due: float, cookie: str) -> Steps:
        event, answer = str(uuid.UUID(int=self._rng.getrandbits(128), version=4)), self._rng.choice(ANSWERS)
        vote = {"pair": pair, "answer": answer, "response_ms": 1_000, "given_by": "key", "layout": "side by side"}
        sent = time.monotonic()
        found = yield from self._answered("PUT", f"/v1/votes/{event}", vote, cookie=cookie)
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

    def _answered(self, method: str, path: str, document: object, *, cookie: str) -> Steps:
        """Ask until there is an answer; it may be a refusal, but none that goes away."""
        host, port = self._address
        body = json.dumps(document).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", f"Rankcorr-Campaign: {self._campaign}"]
        lines += [f"Cookie: {cookie}"] if cookie else []
        ask = Ask("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            found = yield ask
            if found is None:
                self.log.broken += 1
                yield Pause(time.monotonic() + pause * self._rng.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE)
            elif found.status in (429, 503):
                if found.status == 503:
                    self.log.heard_503_after.append(time.monotonic() - began)
                wanted = found.header(b"retry-after")
                self.log.without_retry_after += not wanted
                yield Pause(time.monotonic() + float(wanted or 1) * self._rng.uniform(1.0, 1.5))
            else:
                return found

    # The loop.

    def _go_on(self, line: _Line, answer: Answer | None) -> None:
        try:
            step = line.steps.send(answer)
        except StopIteration:
            self._left -= 1
            return
        if isinstance(step, Pause):
            self._wait(line, step.until)
            return
        line.unsent, line.received, line.asks = step.message, b"", True
        self._wait(line, time.monotonic() + ANSWER_SECONDS)
        try:
            if line.socket is None:
                line.socket = socket.create_connection(self._address, timeout=5.0)
                line.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line.socket.setblocking(False)
                self._selector.register(line.socket, selectors.EVENT_READ, line)
            self._send(line)
        except OSError:
            self._break(line)

    def _wait(self, line: _Line, until: float) -> None:
        self._n_timers += 1
        line.timer = self._n_timers
        heapq.heappush(self._timers, (until, self._n_timers, line))

    def _ring(self, _when: float, number: int, line: _Line) -> None:
        if line.timer != number:  # the answer came before
            return
        if line.asks:
            self._break(line)
        else:
            self._go_on(line, None)

    def _ready(self, line: _Line, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(line)
            if events & selectors.EVENT_READ and line.socket is not None:
                data = line.socket.recv(65_536)
                if not data:
                    self._break(line)
                    return
                line.received += data
                answer = _whole(line.received)
                if answer is not None:
                    line.asks, line.timer = False, 0
                    if b"\r\nconnection: close" in answer.head.lower():
                        self._drop(line)
                    self._go_on(line, answer)
        except BlockingIOError:
            pass
        except OSError:
            self._break(line)

    def _send(self, line: _Line) -> None:
        assert line.socket is not None
        line.unsent = line.unsent[line.socket.send(line.unsent) :]
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.unsent else 0)
        if self._selector.get_key(line.socket).events != events:
            self._selector.modify(line.socket, events, line)

    def _break(self, line: _Line) -> None:
        asked, line.asks = line.asks, False
        self._drop(line)
        if asked:
            line.timer = 0
            self._go_on(line, None)

    def _drop(self, line: _Line) -> None:
        if line.socket is not None:
            self._selector.unregister(line.socket)
            line.socket.close()
            line.socket = None


@dataclass(eq=False)
class _Line:
    """A voter and the connection to the server."""

    steps: Steps
    socket: socket.socket | None = None
    unsent: bytes = b""
    received: bytes = b""
    asks: bool = False
    timer: int = 0


def _whole(received: bytes) -> Answer | None:
    """The answer, once all of it has come."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head, body = received[:end], received[end + 4 :]
    found = Answer(int(head[9:12]), head, body)
    return found if len(body) >= int(found.header(b"content-length") or 0) else None
