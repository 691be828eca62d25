"""Check who may call and how often: bearer tokens, rate limits and security headers."""

import fcntl
import hashlib
import hmac
import ipaddress
import mmap
import secrets
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Final

from flask import Request, Response

from service.environment import variable
from service.http.problems import Problem

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Tokens:
    """The tokens that open /v1.

    Examples
    --------
    >>> bool(Tokens(["0123456789abcdef"])), bool(Tokens([]))
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
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        digest = _digest(given.strip())
        found = [hmac.compare_digest(digest, known) for known in self._digests]
        if not any(found) or scheme.lower() != "bearer":
            raise Problem(
                401,
                "the header Authorization must hold Bearer and a token of this service",
                headers={"WWW-Authenticate": 'Bearer realm="rankcorr"'},
            )
        return f"token {found.index(True) + 1}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def secured(response: Response) -> Response:
    """Add headers that stop browsers from guessing types, framing pages and sending referrers."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


_SITE_BITS: Final = 56  # of IPv6: the network that a provider gives a household, with 2**72 addresses


class RateLimiter:
    """Count the requests of each client per minute, over all workers on this machine.

    The counts are in memory shared with every worker that is forked later. A keyed hash of the client's name selects
    its place; the key is random and drawn at the start. Clients in the same place share a count: in 65,536 places,
    about 15 of 1,000 clients do.

    Parameters
    ----------
    per_minute : int
        0 for no limit.
    what : str
        The kind of requests and of clients, for the message.
    name : str
        The setting, for the message.
    clock : callable
        Seconds since 1970.
    """

    PLACES = 1 << 16
    ENTRY = struct.Struct("=qq")  # minute, count

    def __init__(
        self,
        per_minute: int,
        *,
        what: str = "requests of a client",
        name: str = "requests_per_minute",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._most = per_minute
        self._limit = f"at most {per_minute} {what} in a minute ({variable(name)})"
        self.clock = clock
        self._key = secrets.token_bytes(16)  # else a client could find names that count against another client
        self._counts = mmap.mmap(-1, self.PLACES * self.ENTRY.size)
        # The kernel releases a file lock when a worker is killed; a lock in shared memory would stay closed forever.
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the limiter lives
        weakref.finalize(self, self._file.close)
        self._threads = threading.Lock()

    def _place(self, client: str) -> int:
        return int.from_bytes(hashlib.blake2b(client.encode(), digest_size=2, key=self._key).digest())

    def count(self, client: str | None) -> None:
        """Count a request.

        Raises
        ------
        Problem
            429, if the client has used up its requests for this minute.
        """
        if not self._most:
            return
        now = self.clock()
        minute = int(now // 60)
        place = self._place(client or "") * self.ENTRY.size
        with self._threads:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                then, count = self.ENTRY.unpack_from(self._counts, place)
                count = count + 1 if then == minute else 1
                if count <= self._most:
                    self.ENTRY.pack_into(self._counts, place, minute, count)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        if count > self._most:
            wait = 60 - int(now % 60)
            raise Problem(429, self._limit, headers={"Retry-After": str(wait)})


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
        found = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return text
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(found if found.version == 4 else ipaddress.ip_network((found, _SITE_BITS), strict=False))
