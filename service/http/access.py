"""Check who may call, by bearer tokens, and tell clients apart."""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from typing import Final

from flask import Request

from service.http.problems import Problem


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
