"""Hold what the requests to one app share (settings, tokens, jobs, the pool for heavy requests); tell clients apart."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import mmap
import re
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from flask import Flask, Request, current_app, request

from service.environment import HttpSettings
from service.http.jobs import Jobs
from service.http.pool import Pool
from service.http.problems import Problem

if TYPE_CHECKING:
    from service.http.redis_jobs import RedisJobs

EXTENSION: Final = "rankcorr"  # the key of the state in an app
ALONE: Final = "rankcorr.alone"  # in the environ of a request that a separate process works on


class BearerTokens:
    """The tokens that open /v1.

    Examples
    --------
    >>> bool(BearerTokens(["0123456789abcdef"])), bool(BearerTokens([]))
    (True, False)
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def check(self, request: Request) -> str | None:
        """Return the name of a request's token; None if the service has no tokens.

        The token is compared with every known token, each in constant time, so the time taken does not reveal how close
        a guess is.

        Raises
        ------
        Problem
            401, if the service has tokens and the request carries none of them.
        """
        if not self:
            return None
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        digest = _digest(token.strip())
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        if not any(matches) or scheme.lower() != "bearer":
            raise Problem(
                401,
                "send a token of this service in the header Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="rankcorr"'},
            )
        return f"token {matches.index(True) + 1}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


_SITE_BITS: Final = 56  # of IPv6: the network that a provider gives a household, with 2**72 addresses


def site_of(address: str | None) -> str:
    """Return the key of one client: an IPv4 address, or the IPv6 network of a household or an office.

    Some proxies add the client's port. It is dropped, because each connection has a different one.

    Examples
    --------
    >>> site_of("192.0.2.1:51234"), site_of("[2001:db8:1:2::7]:51234")
    ('192.0.2.1', '2001:db8:1::/56')
    """
    text = address or "unknown"
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return text
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return str(parsed if parsed.version == 4 else ipaddress.ip_network((parsed, _SITE_BITS), strict=False))


class Stopping:
    """A flag for all workers on this machine, in memory shared with every worker that is forked later.

    Examples
    --------
    >>> stopping = Stopping()
    >>> stopping.check()
    >>> stopping.begin()
    >>> bool(stopping)
    True
    """

    def __init__(self) -> None:
        self._sign = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._sign[0] != 0

    def begin(self) -> None:
        """Set the flag."""
        self._sign[0] = 1

    def check(self) -> None:
        """Refuse to report readiness once the flag is set.

        Raises
        ------
        Problem
            503, if the service is about to stop.
        """
        if self:
            raise Problem(503, "the service is about to stop; send requests elsewhere", kind="stopping")


class State:
    """The objects that the hooks and views of an app share.

    Examples
    --------
    >>> bool(State(HttpSettings()).tokens)
    False
    """

    def __init__(self, http_settings: HttpSettings, jobs: Jobs | RedisJobs | None = None) -> None:
        self.settings = http_settings
        self.tokens = BearerTokens(http_settings.tokens)
        self.pool = Pool(http_settings, jobs if isinstance(jobs, Jobs) else None)
        self.stopping = Stopping()
        self.jobs = jobs
        self.resources = ExitStack()  # closed when a worker ends

    def check(self) -> None:
        """Refuse to report readiness before a stop, or without what requests need.

        Raises
        ------
        Problem
            503.
        """
        self.stopping.check()
        self.pool.check()


def client_with_token() -> str:
    """Check the token of the current request, and return the name of its client.

    Raises
    ------
    Problem
        401 without a known token.
    """
    return state().tokens.check(request) or site_of(request.remote_addr)


def state(app: Flask | None = None) -> State:
    """Return the state of an app; by default of the one that answers the current request."""
    app_state: State = (app or current_app).extensions[EXTENSION]
    return app_state


def settings() -> HttpSettings:
    """Return the settings of the app that answers the current request."""
    return state().settings


def is_job() -> bool:
    """Return whether the client of the current request prefers a job (RFC 7240), and the app keeps jobs."""
    preferred = "respond-async" in re.split(r"[\s,;]+", request.headers.get("Prefer", "").lower())
    return preferred and state().jobs is not None
