"""A connection: what it is at, since when, and until when."""

from __future__ import annotations

import math
import socket
import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from service.environment import variable
from service.http.problems import Problem
from service.server.intake import Intake
from service.server.streams import Stream
from service.server.wire import Wire

# What each connection may hold without counting towards RANKCORR_MAX_BUFFERED_BYTES, so that small requests always
# pass. No head is longer.
FREE_BYTES: Final = 65_536


class Phase(Enum):
    """What a connection is at; a thread has to do with it in WORKING alone."""

    IDLE = auto()  # nothing of a request has come
    HEAD = auto()
    BODY = auto()
    WORKING = auto()
    STREAM = auto()  # a request that is answered while it arrives: more must come, or be taken
    SENDING = auto()  # the client takes its answer
    ENDING = auto()  # what the client still sends is thrown away: it would lose the answer if the connection closed


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a client has."""

    idle: float
    pause: float  # for a head, and between two pieces of a body or of an answer
    whole: float  # for a request, and for an answer
    stream: float = math.inf  # for both, where a request is answered while it arrives

    def with_request(self) -> Problem:
        """The problem for a request that has taken longer to arrive."""
        seconds = f"{self.pause:g} s for a head, and between two pieces ({variable('client_seconds')})"
        whole = f"{self.whole:g} s in all ({variable('max_body_seconds')})"
        return Problem(408, f"at most {seconds}, and {whole}, for a request to arrive")

    def with_stream(self) -> Problem:
        """The problem for a stream that has taken longer."""
        pause = f"{self.pause:g} s between two pieces of a stream ({variable('client_seconds')})"
        return Problem(408, f"at most {pause}, and {self.stream:g} s in all ({variable('max_stream_seconds')})")


class Connection:
    """A client's connection, which nothing waits for.

    Parameters
    ----------
    raw : socket.socket
    client, server : object
        Addresses, as gunicorn wants them.
    intake : Intake
        Finds the requests in what the client sends.
    patience : Patience
    """

    def __init__(self, raw: socket.socket, client: Any, server: Any, intake: Intake, patience: Patience) -> None:
        raw.setblocking(False)
        self.sock = Wire(raw)  # gunicorn writes to this attribute, and reads the next two
        self.client = client
        self.server = server
        self.intake = intake
        self.goes_on = False  # after the answer
        self.owes = True  # whether the client may still be sending what nobody reads
        self.weight = 0  # see `weigh`
        self.n_thrown_away = 0
        self.stream: Stream | None = None
        self._patience = patience
        self.phase = Phase.IDLE
        self.enter(Phase.IDLE)

    def enter(self, phase: Phase) -> None:
        """Begin a phase."""
        if (self.phase, phase) != (Phase.HEAD, Phase.BODY):  # the time of a request includes that of its head
            self.since = time.monotonic()
        if phase is Phase.STREAM and self.stream is not None:
            self.since = self.stream.begun
        self.phase = phase
        self.extend()

    def extend(self) -> None:
        """Note that the client has sent or taken something: the phase may last longer, up to its limit."""
        patience = self._patience
        whole, pause = {
            Phase.IDLE: (patience.idle, math.inf),
            Phase.HEAD: (patience.pause, math.inf),
            Phase.BODY: (patience.whole, patience.pause),
            Phase.WORKING: (math.inf, math.inf),
            Phase.STREAM: (patience.stream, patience.pause),
            Phase.SENDING: (patience.whole, patience.pause),
            Phase.ENDING: (patience.pause, math.inf),
        }[self.phase]
        self.due = min(self.since + whole, time.monotonic() + pause)

    def weigh(self) -> int:
        """How much more it counts towards the bytes of the worker than when this was called last."""
        before, self.weight = self.weight, max(0, self.intake.n_bytes + self.sock.n_unsent - FREE_BYTES)
        return self.weight - before
