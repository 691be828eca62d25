"""Serve POST /v1/sessions, GET /v1/me, PUT /v1/consent and POST /v1/withdraw: voters join, agree and leave."""

from __future__ import annotations

from typing import Any, Final

from flask import Response, jsonify
from flask import request as asked

from adaptive.ledger import Campaign, Journey, LedgerError, Visit, Voter, VotingPages
from service.collect import access
from service.collect.schemas.voting import ConsentRequest, MeAnswer, NoFields, SessionRequest
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint, operation

SECURITY: Final[tuple[dict[str, list[str]], ...]] = ({"voter": []},)

sessions = Blueprint(
    "sessions", __name__, url_prefix="/v1/sessions", errors=(401, 403, 404, 409, 422, 429, 500, 503), security=({},)
)
blueprint = Blueprint(
    "voter", __name__, url_prefix="/v1", errors=(401, 403, 404, 409, 422, 429, 500, 503), security=SECURITY
)
blueprint.before_request(access.know_voter)


@sessions.route("", methods=["POST"])
@sessions.arguments(SessionRequest)
@operation("beginSession")
@sessions.response(201, MeAnswer)
def begin(request: dict[str, Any]) -> Response:
    """Start a session from a link; the cookie in the answer identifies the voter from now on.

    An invitation can be used any number of times: it opens the same voter's session again, on other devices too. An
    open link or a platform's link creates a voter only with consent, so that a mere visit leaves no data.
    """
    campaign = collecting().campaigns.of(request["campaign"])
    _, pages = collecting().campaigns.pages(campaign)
    version = request.get("consent")
    voter = known = None
    if "token" in request:
        invited = access.holder_of_link(campaign, request["token"], "invitation")
        access.count(collecting().steps, invited.voter_key)
        voter = access.voter_of(campaign, invited)
    else:
        if "platform" in request:
            access.holder_of_link(campaign, request["platform"]["secret"], "study")
            check_quota(campaign, pages, request["platform"])
        if version is None:
            raise Problem(403, "a session of this link begins with consent", kind="consent-needed")
        if "platform" not in request and (known := access.voter_of_cookie(campaign)) is not None:
            access.count(collecting().steps, known.voter_key)
            voter = access.voter_of(campaign, known)  # a returning voter
        check_version(pages, version)
        if voter is None and "platform" not in request and not pages.open_link:
            # Before the joins are counted, so that strangers do not use up the turns of people who may join.
            raise Problem(403, "this campaign is for those who were invited", kind="not-invited")
        if voter is None and "platform" not in request and access.is_left_out(campaign):
            raise Problem(403, "nothing is left to ask of this browser's voter", kind="nothing-left")
        if voter is None:
            # Count by address before the campaign, so that a script does not use up the turns of other addresses.
            access.count(collecting().address_joins, access.origin_of(asked).address)
            access.count(collecting().joins, campaign.key)

    if version is not None:
        check_version(pages, version)
    try:
        voter, token = _begun(campaign, pages, request, voter, is_known=known is not None)
    except LedgerError as error:
        if type(error) is LedgerError:  # the link is not for this campaign
            raise Problem(403, str(error), kind="not-invited") from error
        raise
    response = jsonify(me_of(campaign, pages, voter))
    if token is not None:
        access.set_cookie(response, access.VOTER_COOKIE, campaign, token)
    response.status_code = 201
    return response


@blueprint.route("/me", methods=["GET"])
@operation("readMe")
@blueprint.response(200, MeAnswer)
def me() -> dict[str, Any]:
    """Return the voter's progress and next step."""
    campaign, holder = access.voter()
    _, pages = collecting().campaigns.pages(campaign)
    return me_of(campaign, pages, access.voter_of(campaign, holder))


@blueprint.route("/consent", methods=["PUT"])
@blueprint.arguments(ConsentRequest)
@operation("consent")
@blueprint.response(200, MeAnswer)
def agree(request: dict[str, Any]) -> dict[str, Any]:
    """Agree to a version of the consent text."""
    campaign, holder = access.voter()
    access.count(collecting().steps, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    check_version(pages, request["version"])
    voter = access.voter_of(campaign, holder)
    voter.consent(pages, request["version"])
    return me_of(campaign, pages, voter)


@blueprint.route("/withdraw", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("withdraw")
@blueprint.response(204)
def withdraw(_request: dict[str, Any]) -> None:
    """Withdraw: the voter's personal data are erased, and votes in ballots that are not closed do not count."""
    campaign, holder = access.voter()
    access.voter_of(campaign, holder).leave()


def me_of(campaign: Campaign, pages: VotingPages, voter: Voter) -> dict[str, Any]:
    """Return a voter's progress and next step as JSON."""
    return me_of_journey(campaign, pages, voter.journey(pages))


def me_of_journey(campaign: Campaign, pages: VotingPages, journey: Journey) -> dict[str, Any]:
    """Return the same for a journey that was already read."""
    hand = journey.hand
    return {
        "campaign": campaign.key,
        "voter": journey.voter_key,
        "step": journey.step,
        "consent_version": pages.consent_version,
        "available": journey.available,
        "reason": journey.reason,
        "retry_after": journey.wait_seconds,
        "progress": {
            "sheets_done": journey.n_sheets_done,
            "sheets_limit": pages.sheets,
            "answered": 0 if hand is None else len(hand.pairs) - len(hand.missing),
            "of": 0 if hand is None else len(hand.pairs),
            "answers": journey.n_answers,
        },
    }


def check_quota(campaign: Campaign, pages: VotingPages, platform: dict[str, str]) -> None:
    """Give a participant the "quota full" code if no sheet is left; no voter is created.

    Raises
    ------
    Problem
        409, with the code and the address that returns the participant to the platform.
    """
    if pages.quota_full_code is None or platform["name"] != pages.platform:
        return
    try:
        is_full = campaign.voters.turns_away(pages, _visit(platform))
    except LedgerError as error:
        if type(error) is LedgerError:  # the link is not for this campaign
            raise Problem(403, str(error), kind="not-invited") from error
        raise
    if is_full:
        code, url = pages.way_back("quota full")
        members = {"completion_code": code, "completion_url": url}
        raise Problem(409, "nothing is left to ask", kind="quota-full", members=members)


def check_version(pages: VotingPages, version: str) -> None:
    """Refuse consent to an outdated version of the text.

    Raises
    ------
    Problem
        409 for another version than the current one.
    """
    if version != pages.consent_version:
        raise Problem(
            409, f"the consent text has changed: it is of version {pages.consent_version}", kind="consent-changed"
        )


def _visit(platform: dict[str, Any]) -> Visit:
    return Visit(platform["name"], platform["participant"], platform["study"])


def _begun(
    campaign: Campaign, pages: VotingPages, request: dict[str, Any], voter: Voter | None, *, is_known: bool
) -> tuple[Voter, str | None]:
    """Return the voter, created if new, and the token of a new session; None if the browser already has a session."""
    hours = access.SESSION_HOURS
    if voter is None:
        visit = _visit(request["platform"]) if "platform" in request else None
        return campaign.voters.join(pages, consent=request["consent"], hours=hours, visit=visit)
    if is_known:
        voter.consent(pages, request["consent"])
        return voter, None
    return voter, voter.begin_session(pages, consent=request.get("consent"), hours=hours)
