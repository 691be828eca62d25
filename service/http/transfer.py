"""Answers on the wire: none of a body that the client has already, and gzip for those that are long."""

from __future__ import annotations

import zlib
from collections.abc import Set as AbstractSet
from typing import Final

from flask import Request, Response
from werkzeug.http import generate_etag

MIN_BYTES: Final = 1_000
LEVEL: Final = 1  # numbers: half of the bytes at 110 MB/s; level 6 takes 6 % off that, at 15 MB/s
_GZIP: Final = 16 + zlib.MAX_WBITS
_COMPRESSIBLE: Final = frozenset(
    (
        *("application/json", "application/problem+json", "image/svg+xml"),
        *("text/css", "text/csv", "text/html", "text/javascript", "text/plain"),
    )
)


def transferred(request: Request, response: Response, *, tagged: AbstractSet[str] = frozenset()) -> Response:
    """Leave out a body that the client has, and compress a long one for a client that reads gzip.

    `tagged` are routes whose answer gets a tag here: what does not change while the service runs, or depends on the
    query alone.
    """
    if response.status_code == 200 and request.url_rule is not None and request.url_rule.rule in tagged:
        _tag(request, response)
    if response.mimetype in _COMPRESSIBLE:
        response.vary.add("Accept-Encoding")
        is_whole = response.status_code not in (204, 206, 304) and "Content-Encoding" not in response.headers
        if is_whole and reads_gzip(request):
            _compress(response)
    return response


def reads_gzip(request: Request) -> bool:
    """Whether a client takes gzip, and prefers nothing to it."""
    accepted = request.accept_encodings
    return 0 < accepted.quality("gzip") >= accepted.quality("identity")


def _tag(request: Request, response: Response) -> None:
    # Weak, because it names the content, which may be sent with gzip or without.
    tag = generate_etag(response.get_data())
    response.set_etag(tag, weak=True)
    response.cache_control.no_cache = True  # to be kept, but never used without asking
    if request.if_none_match.contains_weak(tag):
        response.status_code = 304


def _compress(response: Response) -> None:
    length = response.content_length
    if length is not None and length < MIN_BYTES:
        return
    response.direct_passthrough = False  # files, whose bytes would go from the disk to the client
    body = response.get_data()
    if len(body) < MIN_BYTES:
        return
    packer = zlib.compressobj(LEVEL, wbits=_GZIP)
    response.set_data(packer.compress(body) + packer.flush())
    response.headers["Content-Encoding"] = "gzip"
    tag, is_weak = response.get_etag()
    if tag is not None and not is_weak:
        response.set_etag(tag, weak=True)
