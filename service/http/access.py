"""Who may call: bearer tokens, and the headers that browsers ask for."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from flask import Request, Response

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
    >>> Tokens(["0123456789abcdef"]).name_of("Bearer 0123456789abcdef") is not None
    True
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, authorization: str) -> str | None:
        """Name of the token in an Authorization header; None if the service does not know the token.

        Every known token is compared, each in constant time, so that the time taken does not tell how close a guess is.
        """
        scheme, _, given = authorization.partition(" ")
        digest = _digest(given.strip())
        found = [hmac.compare_digest(digest, known) for known in self._digests]
        return f"token {found.index(True) + 1}" if any(found) and scheme.lower() == "bearer" else None

    def check(self, request: Request) -> str | None:
        """Name of the token of a request; None where the service has no tokens.

        Raises
        ------
        Problem
            401, unless the request carries a token that the service knows.
        """
        if not self:
            return None
        name = self.name_of(request.headers.get("Authorization", ""))
        if name is None:
            raise Problem(
                401,
                "the header Authorization must hold Bearer and a token of this service",
                headers={"WWW-Authenticate": 'Bearer realm="rankcorr"'},
            )
        return name


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def secured(response: Response) -> Response:
    """Add the headers that keep a browser from guessing types, framing pages, and sending referrers."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response
