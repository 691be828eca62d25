"""POST /v1/sessions, GET /v1/me, PUT /v1/consent, POST /v1/withdraw: a voter comes, agrees, and leaves."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from flask import Response, jsonify
from flask import request as asked

from adaptive.ledger import Campaign, LedgerError, VotingPages
from adaptive.ledger.participation import (
    Journey,
    consent,
    is_turned_away,
    join_openly,
    join_platform,
    journey_of,
    leave,
)
from adaptive.ledger.tokens import issue
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
    """Come by a link: the cookie that is set is the voter's from now on.

    An invitation is used up by nothing: it opens the same voter's session again, on another device too. An open link
    and that of a platform make a voter only with consent, so that a mere visit leaves nothing behind.
    """
    campaign = collecting().campaigns.of(request["campaign"])
    _, pages = collecting().campaigns.pages(campaign)
    version = request.get("consent")
    known = None
    if "token" in request:
        invited = access.holder_of_link(campaign, request["token"], "invitation")
        access.count(collecting().steps, invited.voter_key)
        voter_id = invited.voter_id
    else:
        voter_id = None
        if "platform" in request:
            access.holder_of_link(campaign, request["platform"]["secret"], "study")
            check_quota(campaign, pages, request["platform"])
        if version is None:
            raise Problem(403, "a session of this link begins with consent", kind="consent-needed")
        if "platform" not in request and (known := access.voter_of_cookie(campaign)) is not None:
            access.count(collecting().steps, known.voter_key)
            voter_id = known.voter_id  # came before: the same voter
        check_version(pages, version)
        if voter_id is None and "platform" not in request and not pages.open_link:
            # Before it is counted: strangers take no turn of those who may come.
            raise Problem(403, "this campaign is for those who were invited", kind="not-invited")
        if voter_id is None and "platform" not in request and access.is_left_out(campaign):
            raise Problem(403, "nothing is left to ask of this browser's voter", kind="nothing-left")
        if voter_id is None:
            # First by address: a script takes no turn of those who come from elsewhere.
            access.count(collecting().address_joins, access.origin_of(asked).address)
            access.count(collecting().joins, campaign.key)

    def work(connection: sa.Connection) -> tuple[int, str | None]:
        found = _joined(connection, campaign, pages, request) if voter_id is None else voter_id
        if version is not None:
            consent(connection, campaign.info, pages, found, version)
        if known is not None:
            return found, None
        return found, issue(connection, campaign.info, "session", voter_id=found, hours=access.SESSION_HOURS)

    if version is not None:
        check_version(pages, version)
    try:
        found, token = campaign.run(work)
    except LedgerError as error:
        if type(error) is LedgerError:  # the link is not for this campaign
            raise Problem(403, str(error), kind="not-invited") from error
        raise
    response = jsonify(me_of(campaign, pages, found))
    if token is not None:
        access.set_cookie(response, access.VOTER_COOKIE, campaign, token)
    response.status_code = 201
    return response


@blueprint.route("/me", methods=["GET"])
@operation("readMe")
@blueprint.response(200, MeAnswer)
def me() -> dict[str, Any]:
    """Say where the voter is: what is done, and what comes next."""
    campaign, holder = access.voter()
    _, pages = collecting().campaigns.pages(campaign)
    return me_of(campaign, pages, voter_id_of(holder))


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
    voter_id = voter_id_of(holder)
    campaign.run(lambda connection: consent(connection, campaign.info, pages, voter_id, request["version"]))
    return me_of(campaign, pages, voter_id)


@blueprint.route("/withdraw", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("withdraw")
@blueprint.response(204)
def withdraw(_request: dict[str, Any]) -> None:
    """Leave: who the voter is is forgotten, and votes of ballots that are not closed do not count."""
    campaign, holder = access.voter()
    campaign.run(lambda connection: leave(connection, campaign.info, voter_id_of(holder)))


def me_of(campaign: Campaign, pages: VotingPages, voter_id: int) -> dict[str, Any]:
    """Where a voter is, as JSON."""
    journey = campaign.database.read(lambda connection: journey_of(connection, campaign.info, pages, voter_id))
    return me_of_journey(campaign, pages, journey)


def me_of_journey(campaign: Campaign, pages: VotingPages, journey: Journey) -> dict[str, Any]:
    """The same of a journey that is known."""
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


def voter_id_of(holder: Any) -> int:
    """Id of the voter of a session, which always has one."""
    found: int = holder.voter_id
    return found


def check_quota(campaign: Campaign, pages: VotingPages, platform: dict[str, str]) -> None:
    """Give the code of a full quota to a participant who comes when nothing is left; no voter is made.

    Raises
    ------
    Problem
        409, with the code and the address that takes the participant back.
    """
    if pages.quota_full_code is None or platform["name"] != pages.platform:
        return
    who = {name: platform[name] for name in ("participant", "study")}
    try:
        is_full = campaign.database.read(lambda c: is_turned_away(c, campaign.info, pages, **who))
    except LedgerError as error:
        if type(error) is LedgerError:  # the link is not for this campaign
            raise Problem(403, str(error), kind="not-invited") from error
        raise
    if is_full:
        code, url = pages.way_back("quota full")
        members = {"completion_code": code, "completion_url": url}
        raise Problem(409, "nothing is left to ask", kind="quota-full", members=members)


def check_version(pages: VotingPages, version: str) -> None:
    """Refuse another version of the consent text than the one that holds.

    Raises
    ------
    Problem
        409.
    """
    if version != pages.consent_version:
        raise Problem(
            409, f"the consent text has changed: it is of version {pages.consent_version}", kind="consent-changed"
        )


def _joined(connection: sa.Connection, campaign: Campaign, pages: VotingPages, request: dict[str, Any]) -> int:
    if (platform := request.get("platform")) is None:
        return join_openly(connection, campaign.info, pages)
    if platform["name"] != pages.platform:
        raise LedgerError(f"this campaign takes nobody from {platform['name']}")
    return join_platform(connection, campaign.info, pages, participant=platform["participant"], study=platform["study"])
