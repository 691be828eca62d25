"""Who calls: the voter of a cookie, the organiser of a token, and pages of ours, not of others."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from flask import Request, Response, request

from adaptive.ledger import Campaign
from adaptive.ledger.tokens import Holder, TokenKind, holder_of
from service.collect.state import collecting
from service.http.problems import Problem
from service.http.state import state

CAMPAIGN_HEADER: Final = "Rankcorr-Campaign"
VOTER_COOKIE: Final = "voter_"
ORGANISER_COOKIE: Final = "organiser_"
SESSION_HOURS: Final = 24.0 * 90
ORGANISER_HOURS: Final = 24.0 * 7


def check_origin(asked: Request) -> None:
    """Refuse what a page of another site sends with a visitor's cookie; programs, which are no browsers, send neither.

    Raises
    ------
    Problem
        403, for another origin.
    """
    if asked.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise _foreign()
    origin = asked.headers.get("Origin")
    # A proxy in front may speak https where we hear http: the host tells whose page it is.
    if origin is not None and origin != own_origin(asked) and urlsplit(origin).netloc != asked.host:
        raise _foreign()


def own_origin(asked: Request) -> str:
    """Scheme and host under which voters find the service."""
    return collecting().settings.public_url or asked.host_url.rstrip("/")


def voter() -> tuple[Campaign, Holder]:
    """The campaign and the voter of a request: named by a header, and proven by a cookie.

    Raises
    ------
    Problem
        401, without a session of that campaign.
    """
    campaign = collecting().campaigns.of(request.headers.get(CAMPAIGN_HEADER, ""))
    holder = voter_of_cookie(campaign)
    if holder is None:
        raise Problem(401, "there is no session of a voter: open the link of the campaign again", kind="session-needed")
    return campaign, holder


def voter_of_cookie(campaign: Campaign) -> Holder | None:
    """The voter of a campaign whose cookie came along; None where none did, or the voter has left."""
    return _held(campaign, request.cookies.get(cookie_name(VOTER_COOKIE, campaign), ""), "session")


def organiser(key: str) -> Campaign:
    """The campaign of a key, if its organiser asks.

    Raises
    ------
    Problem
        401, without the organiser's token or session; also where there is no such campaign, so that keys cannot be
        guessed.
    """
    try:
        campaign = collecting().campaigns.of(key)
    except Problem as problem:
        raise _no_organiser() from problem
    if organiser_of_request(campaign) is None:
        raise _no_organiser()
    return campaign


def organiser_of_request(campaign: Campaign) -> Holder | None:
    """What the organiser's token or cookie of a request opens; None where there is none that does."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _held(campaign, given.strip(), "organiser")
    return _held(campaign, request.cookies.get(cookie_name(ORGANISER_COOKIE, campaign), ""), "organiser session")


def founder() -> None:
    """Let those make campaigns who have a token of RANKCORR_TOKENS.

    Raises
    ------
    Problem
        401 without one, 403 where there are none.
    """
    tokens = state().tokens
    if not tokens:
        raise Problem(403, "nobody may make campaigns here: RANKCORR_TOKENS is empty")
    tokens.check(request)


def holder_of_link(campaign: Campaign, token: str, kind: TokenKind) -> Holder:
    """What the capability of a link opens.

    Raises
    ------
    Problem
        401, for one that is unknown, revoked or of another campaign; 429, after many of those from one address.
    """
    holder = _held(campaign, token, kind)
    if holder is None:
        guesses = collecting().guesses
        if guesses is not None:
            guesses.count(request.remote_addr or "unknown")
        raise Problem(401, "this link is not valid, or not any more: ask for another one", kind="link-unknown")
    return holder


def set_cookie(response: Response, prefix: str, campaign: Campaign, token: str) -> None:
    """Keep a session where scripts cannot read it, and pages of other sites cannot use it."""
    is_organiser = prefix == ORGANISER_COOKIE
    response.set_cookie(
        cookie_name(prefix, campaign),
        token,
        max_age=int((ORGANISER_HOURS if is_organiser else SESSION_HOURS) * 3_600),
        secure=urlsplit(own_origin(request)).scheme == "https",
        httponly=True,
        samesite="Strict" if is_organiser else "Lax",
    )


def cookie_name(prefix: str, campaign: Campaign) -> str:
    """Name of a cookie: a browser may have sessions of several campaigns."""
    return prefix + campaign.key[:12]


def _held(campaign: Campaign, token: str, kind: TokenKind) -> Holder | None:
    if not token:
        return None
    found = campaign.database.look_up(lambda connection: holder_of(connection, token, (kind,)))
    if found is None or found.campaign_key != campaign.key or found.withdrawn:
        return None
    return found


def _foreign() -> Problem:
    return Problem(403, "this was sent by a page of another site", kind="cross-site")


def _no_organiser() -> Problem:
    return Problem(
        401,
        "the header Authorization must hold Bearer and the organiser's token of this campaign",
        headers={"WWW-Authenticate": 'Bearer realm="rankcorr-collect"'},
    )
