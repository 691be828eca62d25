"""Conditions of requests: 304 where nothing has changed, 412 and 428 where something must be as it was."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from flask import Response, after_this_request, request

from service.collect.remembered import Remembered
from service.http.problems import Problem

__all__ = ["stamped", "tagged", "wanted_stamp"]

T = TypeVar("T")


def tagged(
    memory: Remembered, name: Hashable, stamp: str, make: Callable[[], T], answer: Callable[[T], Any], *parts: object
) -> Any:
    """The answer of a state, under its stamp as the ETag; 304 for a client that has it already.

    Parameters
    ----------
    memory : Remembered
        Keeps what was made.
    name : hashable
        Of what is made.
    stamp : str
        Of the state of now.
    make : callable
        Makes what takes long.
    answer : callable
        Makes the answer of it.
    *parts : object
        What else the answer depends on.
    """
    ending = "".join(f"-{part}" for part in parts)
    if request.if_none_match.contains_weak(stamp + ending):
        response = Response(status=304)
        response.set_etag(stamp + ending, weak=True)
        return response
    kept = memory.get(name, stamp, make)

    @after_this_request
    def tag(response: Response) -> Response:
        if response.status_code == 200:
            response.set_etag(kept.stamp + ending, weak=True)
            response.headers["Cache-Control"] = "private, no-cache"  # kept, but never used without asking
        return response

    return answer(kept.value)


def stamped(stamp: str, answer: Any) -> Any:
    """The answer, under a stamp as its ETag, for a request that changes what the stamp is of."""

    @after_this_request
    def tag(response: Response) -> Response:
        if response.status_code in (200, 201):
            response.set_etag(stamp)
        return response

    return answer


def wanted_stamp() -> str:
    """The stamp that the caller has seen, in If-Match.

    Raises
    ------
    Problem
        428 without exactly one; any stamp, ``*``, says nothing of what was seen.
    """
    given = request.headers.get("If-Match", "").strip()
    stamp = given.removeprefix("W/")
    if len(stamp) < 3 or stamp[0] != '"' or stamp[-1] != '"' or '"' in stamp[1:-1]:
        raise Problem(428, "the header If-Match must hold the ETag of the ballot as it was looked at")
    return stamp[1:-1]
