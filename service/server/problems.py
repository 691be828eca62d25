"""Problems of connections, which no request has."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from service.environment import variable
from service.http.problems import Problem
from service.http.refusals import refusal
from service.server.connection import Connection


def ended_early(connection: Connection) -> Problem:
    """The problem where a client ends what it sends before its request is whole."""
    frame = connection.intake.frame
    short = "the head of the request has no end" if frame is None else frame.missing()
    return Problem(400, f"the connection ended before the request: {short}")


def over_capacity(most: int) -> Problem:
    """The problem for a body that finds no room."""
    return Problem(
        503,
        f"requests and answers in flight hold {most} bytes already ({variable('max_buffered_bytes')}); try again",
        kind="over-capacity",
        headers={"Retry-After": "1"},
    )


def write_problem(sock: Any, status: int, reason: str, message: str) -> None:
    """Answer what gunicorn's parser refuses in the format of every other error."""
    del reason
    with suppress(OSError):
        sock.sendall(refusal(Problem.of_parser(status, message)))
