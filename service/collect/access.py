"""Identify the caller: a voter by cookie, an organiser by token; and reject pages of other sites."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Response, g, request

from adaptive.ledger import Campaign, Holder, Origin, TokenKind, Voter, VotingPages
from service.collect.state import collecting
from service.environment import is_loopback, variable
from service.http import logs
from service.http.problems import Problem
from service.http.state import site_of, state

CAMPAIGN_HEADER: Final = "Rankcorr-Campaign"
VOTER_COOKIE: Final = "voter_"
ORGANISER_COOKIE: Final = "organiser_"
SESSION_HOURS: Final = 24.0 * 90
ORGANISER_HOURS: Final = 24.0 * 7
_ANY_HOST: Final = frozenset(("/health/live", "/health/ready", "/metrics"))


def check_host() -> None:
    """Refuse a host name that is not the service's: it would appear in links and be accepted as our own origin.

    The service answers on any port. Health checks and metrics contain no links, and orchestrators request them by
    address.

    Raises
    ------
    Problem
        400.
    """
    if request.path in _ANY_HOST:
        return
    host, settings = host_of(f"//{request.host}"), collecting().settings
    if host and (host in settings.allowed_hosts or host == host_of(settings.public_url) or is_loopback(host)):
        return
    names = f"{variable('public_url')} or {variable('allowed_hosts')}"
    raise Problem(400, f"this host name is not allowed; the operator can allow it with {names}", kind="unknown-host")


def host_of(url: str) -> str:
    """Return the host of a URL in lower case, without brackets and port; empty if it cannot be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def admit() -> str:
    """Refuse a page of another site, by Sec-Fetch-Site and Origin, and return the address of the client.

    Programs send neither header. The views identify the caller.

    Raises
    ------
    Problem
        403 for a page of another site.
    """
    origin = request.headers.get("Origin")
    # Behind a proxy, pages may be https while requests here are http, so only the hosts are compared.
    is_ours = origin is None or origin == public_origin() or urlsplit(origin).netloc == request.host
    if not is_ours or request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Problem(403, "this was sent by a page of another site", kind="cross-site")
    g.origin = _origin()
    address: str = g.origin.address
    return address


def public_origin() -> str:
    """Return the scheme and host that voters use: the public URL, or else the loopback host of a request."""
    return collecting().settings.public_url or request.host_url.rstrip("/")


def voter_url(campaign: Campaign) -> str:
    """Return the address of the voters' page."""
    return f"{public_origin()}/v/{campaign.key}"


def organiser_url(campaign: Campaign, token: str) -> str:
    """Return the link of an organiser."""
    return f"{public_origin()}/o/{campaign.key}#{token}"


def is_https() -> bool:
    """Return whether the browser uses https; a proxy in front may not report it."""
    public = collecting().settings.public_url
    return request.is_secure or (public.startswith("https:") and host_of(f"//{request.host}") == host_of(public))


def _origin() -> Origin:
    """Return the client's address, as trusted proxies report it, and how many unanswered sheets it may hold."""
    settings = collecting().settings
    if "X-Forwarded-For" in request.headers and not settings.trusted_proxies:
        _warn_of_proxy()
    return Origin(site_of(request.remote_addr), settings.unanswered_sheets)


@cache
def _warn_of_proxy() -> None:
    name = variable("trusted_proxies")
    logs.log.warning(
        "a proxy in front reports addresses of clients, but %s is 0: all voters count as one address", name
    )


@dataclass(frozen=True)
class VoterSession:
    """The session of a voter's browser, for one request.

    Attributes
    ----------
    campaign : Campaign
    voter : Voter
    consent_version : str or None
        The version of the consent text that the voter agreed to.
    origin : Origin or None
        The client's address; None if it may hold any number of unanswered sheets.
    """

    campaign: Campaign
    voter: Voter
    consent_version: str | None
    origin: Origin | None

    @cached_property
    def pages(self) -> VotingPages:
        """The voting pages of the campaign."""
        _, pages = collecting().campaigns.pages(self.campaign)
        return pages


def admit_voter() -> None:
    """Admit only voters, before the body is parsed, so that a stranger's body costs nothing.

    The view takes their session: a header names the campaign, and a cookie proves who votes.

    Raises
    ------
    Problem
        422 without the header, 404 for an unknown campaign, 401 without a session of that campaign.
    """
    key = request.headers.get(CAMPAIGN_HEADER, "")
    if not key:
        raise Problem(422, f"the header {CAMPAIGN_HEADER} must hold the key of the campaign")
    campaign = collecting().campaigns.of(key)
    holder = voter_of_cookie(campaign)
    if holder is None:
        detail = "you are not signed in as a voter: open the link of the campaign again"
        raise Problem(401, detail, kind="session-needed")
    origin = g.origin if "origin" in g else _origin()  # requests with OPTIONS come without
    path: Any = request.view_args
    path["session"] = VoterSession(
        campaign, voter_of(campaign, holder), holder.consent_version, origin if origin.most else None
    )


def admit_organiser() -> None:
    """Admit only the organiser of the campaign in the path, which the view takes, before the body is parsed.

    Raises
    ------
    Problem
        401, without the organiser's token or session. The answer is the same if the campaign does not exist, so that
        keys cannot be guessed.
    """
    path: Any = request.view_args
    if key := path.pop("key", None):
        try:
            campaign = collecting().campaigns.of(key)
        except Problem as problem:
            raise _no_organiser() from problem
        if organiser_of_request(campaign) is None:
            raise _no_organiser()
        path["campaign"] = campaign
        g.client = f"organiser {key}"  # the heavy requests of a campaign wait for one another, not for others


def voter_of(campaign: Campaign, holder: Holder) -> Voter:
    """Return the voter of a session, which always has one."""
    voter_id: Any = holder.voter_id
    return campaign.voter(voter_id)


def voter_of_cookie(campaign: Campaign) -> Holder | None:
    """Return the voter of a campaign by the cookie sent; None without a cookie, or if the voter has withdrawn."""
    return _access_by(_cookie(VOTER_COOKIE, campaign), campaign, "session")


def is_left_out(campaign: Campaign) -> bool:
    """Return whether the browser's session is or was an excluded voter's; the cookie outlives a withdrawal."""
    token = _cookie(VOTER_COOKIE, campaign)
    return bool(token) and campaign.voters.is_left_out(token)


def organiser_of_request(campaign: Campaign) -> Holder | None:
    """Return the access that a request's organiser token or cookie grants; None if it grants none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _access_by(token.strip(), campaign, "organiser")
    return _access_by(organiser_session(campaign), campaign, "organiser session")


def organiser_session(campaign: Campaign) -> str:
    """Return the token in an organiser's cookie; empty without a cookie."""
    return _cookie(ORGANISER_COOKIE, campaign)


def admit_founder() -> None:
    """Admit only callers with a token of RANKCORR_TOKENS, who may create campaigns.

    Raises
    ------
    Problem
        401 without a token, 403 if the service has no tokens.
    """
    tokens = state().tokens
    if not tokens:
        raise Problem(403, "this service creates no campaigns, because RANKCORR_TOKENS is empty")
    tokens.check(request)


def holder_of_link(campaign: Campaign, token: str, kind: TokenKind) -> Holder:
    """Return the access that a link's token grants.

    Raises
    ------
    Problem
        401, if the token is unknown, revoked or of another campaign.
    """
    holder = _access_by(token, campaign, kind)
    if holder is None:
        raise Problem(401, "this link is not valid, or was revoked; ask for another one", kind="link-unknown")
    return holder


def set_cookie(response: Response, prefix: str, campaign: Campaign, token: str) -> None:
    """Set a session cookie that scripts cannot read and other sites cannot use; delete it if the token is empty."""
    is_organiser, https = prefix == ORGANISER_COOKIE, is_https()
    hours = ORGANISER_HOURS if is_organiser else SESSION_HOURS
    response.set_cookie(
        cookie_name(prefix, campaign, https=https),
        token,
        max_age=int(hours * 3_600) if token else 0,
        secure=https,
        httponly=True,
        samesite="Strict" if is_organiser else "Lax",
    )


def cookie_name(prefix: str, campaign: Campaign, *, https: bool) -> str:
    """Return the name of a cookie, one per campaign: a browser may have sessions of several.

    Over https, the name prevents other hosts, such as a sibling or one on plain HTTP, from setting this cookie.
    """
    return ("__Host-" if https else "") + prefix + campaign.key[:12]


def _cookie(prefix: str, campaign: Campaign) -> str:
    return request.cookies.get(cookie_name(prefix, campaign, https=is_https()), "")


def _access_by(token: str, campaign: Campaign, kind: TokenKind) -> Holder | None:
    return campaign.tokens.holder(token, kind) if token else None


def _no_organiser() -> Problem:
    return Problem(
        401,
        "send the organiser's token of this campaign in the header Authorization: Bearer TOKEN",
        headers={"WWW-Authenticate": 'Bearer realm="rankcorr-collect"'},
    )
