"""Who organises: the tokens that make campaigns, those of one campaign, and the sessions of browsers."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from flask import Response, request

from adaptive.ledger import Campaign
from adaptive.ledger.tokens import TokenKind, holder_of, issue, revoke
from service.collect.remembered import Remembered
from service.collect.state import collecting, ledger
from service.http.problems import Problem
from service.http.state import state

__all__ = ["admitted", "check_admin", "end_session", "organised", "public_url", "start_session"]

SESSION_HOURS: Final = 12
_KEY: Final = re.compile(r"[0-9a-f]{32}")
_OWN_SITE: Final = ("same-origin", "none")
# A campaign never changes once it is made; of one with 20,000 items, the labels alone take 20 ms to read.
_campaigns = Remembered(64)
_WANTED: Final = "the header Authorization must hold Bearer and "


def check_admin() -> None:
    """Let through who has one of the tokens that make campaigns.

    Raises
    ------
    Problem
        401 without such a token, 403 where the service has none.
    """
    tokens = state().tokens
    if not tokens:
        raise Problem(403, "campaigns are made with a token of RANKCORR_TOKENS, and this service has none")
    if tokens.name_of(request.headers.get("Authorization", "")) is None:
        raise _unknown(_WANTED + "a token that may make campaigns")


def organised(key: str) -> Campaign:
    """The campaign that the caller organises, by a bearer token or by the cookie of a session.

    Raises
    ------
    Problem
        401 without a token of this campaign, which may not even exist; 403 for a page of another site.
    """
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if given:
        if scheme.lower() != "bearer":
            raise _unknown(_WANTED + "the token of the campaign's organiser")
        return admitted(key, given.strip(), "organiser")
    _check_own_site()
    return admitted(key, request.cookies.get(_cookie(key), ""), "organiser session")


def admitted(key: str, token: str, kind: TokenKind) -> Campaign:
    """The campaign of a key, for the holder of a token of it.

    Raises
    ------
    Problem
        401 where the token is of another campaign, of another kind, unknown or past its time.
    """
    found = ledger().database.read(lambda connection: holder_of(connection, token, [kind]))
    if found is None or not _KEY.fullmatch(key) or found.campaign_key != key:
        by = _WANTED + "the token of this campaign's organiser"
        raise _unknown(by if kind == "organiser" else f"{by}, or the cookie of a session that has not ended")
    return _campaigns.get(key, "", lambda: ledger().campaign(key))


def start_session(key: str, token: str) -> Response:
    """An answer that gives a browser the cookie of a session, for the token of an organiser.

    Raises
    ------
    Problem
        401 for a token that does not open the campaign; 403 for a page of another site.
    """
    _check_own_site()
    campaign = admitted(key, token, "organiser")
    session = campaign.run(lambda c: issue(c, campaign.info, "organiser session", hours=SESSION_HOURS))
    response = Response(status=204)
    response.set_cookie(
        _cookie(key),
        session,
        max_age=SESSION_HOURS * 3600,
        path="/",
        secure=public_url().startswith("https:"),
        httponly=True,
        samesite="Strict",
    )
    return response


def end_session(key: str) -> Response:
    """An answer that takes the cookie back, after which the session opens nothing."""
    campaign = organised(key)
    token = request.cookies.get(_cookie(key), "")
    if token:
        campaign.run(lambda connection: revoke(connection, token))
    response = Response(status=204)
    response.delete_cookie(_cookie(key), path="/", httponly=True, samesite="Strict")
    return response


def public_url() -> str:
    """Where browsers find the service, without a slash at the end."""
    return collecting().settings.public_url or request.host_url.rstrip("/")


def _check_own_site() -> None:
    """Refuse what a page of another site makes a browser send, which has our cookie with it."""
    origin = request.headers.get("Origin")
    own = urlsplit(public_url())
    if origin is not None and origin not in (f"{own.scheme}://{own.netloc}", request.host_url.rstrip("/")):
        raise Problem(403, "a page of another origin may not do this")
    if request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITE:
        raise Problem(403, "a page of another site may not do this")


def _cookie(key: str) -> str:
    return f"organiser_{key[:12]}"


def _unknown(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="rankcorr"'})
