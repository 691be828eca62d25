"""Serve POST /v1/sheets and POST /v1/finish: the next pairs to compare, and the end."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from flask import Response, after_this_request, request

from adaptive.ledger import Campaign, SheetInHand, UnfinishedError, pair_id, time_text
from service.collect import access
from service.collect.api.sessions import SECURITY, me_of, me_of_journey
from service.collect.schemas.voting import FinishAnswer, NoFields, SheetAnswer
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint, operation

SOON_SECONDS: Final = 10  # within this time other voters at an address usually give their first answer
ERRORS = (401, 403, 404, 409, 422, 429, 500, 503)

blueprint = Blueprint("sheets", __name__, url_prefix="/v1", errors=ERRORS, security=SECURITY)
blueprint.before_request(access.know_voter)


@blueprint.route("/sheets", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("leaseSheet")
@blueprint.response(200, SheetAnswer)
def lease(_request: dict[str, Any]) -> dict[str, Any]:
    """Return the current sheet until it is done, then the next one; repeated requests return the same sheet.

    The reason "wait" means one of two things: other voters hold all remaining sheets without an answer on them, or the
    voter's address holds as many unanswered sheets as it may. `retry_after` and the header Retry-After give the seconds
    to wait.
    """
    campaign, holder = access.voter()
    access.count(collecting().steps, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    if holder.consent_version != pages.consent_version:
        raise Problem(403, "no pair is shown before consent", kind="consent-needed")
    voter = access.voter_of(campaign, holder)
    origin = access.origin_of(request) if collecting().settings.unanswered_sheets else None
    hand, reason = voter.next_sheet(pages, origin)
    if hand is None:
        me = me_of(campaign, pages, voter)
        seconds = (me["retry_after"] or SOON_SECONDS) if reason == "wait" else None
        if seconds is not None:
            after_this_request(partial(_say_when, seconds=seconds))
        return {"sheet": None, "reason": reason, "retry_after": seconds, "me": me}
    me = me_of_journey(campaign, pages, voter.journey_with(pages, hand))
    return {"sheet": _shown(campaign, hand), "reason": None, "retry_after": None, "me": me}


@blueprint.route("/finish", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("finish")
@blueprint.response(200, FinishAnswer)
def finish(_request: dict[str, Any]) -> dict[str, Any]:
    """Return the completion code once all answers of this voter are counted.

    Participants of a platform may get another code: "screened out" if they were excluded before the end, "quota full"
    if no sheet was left for them.
    """
    campaign, holder = access.voter()
    access.count(collecting().steps, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    try:
        ending = access.voter_of(campaign, holder).finish(pages)
    except UnfinishedError as error:
        raise Problem(409, str(error), kind="unfinished", members={"missing": error.missing}) from error
    code, url = pages.way_back(ending.outcome)
    return {
        "finished": True,
        "outcome": ending.outcome,
        "answers": ending.n_answers,
        "completion_code": code,
        "completion_url": url,
    }


def _say_when(response: Response, *, seconds: int) -> Response:
    response.headers["Retry-After"] = str(seconds)
    return response


def _shown(campaign: Campaign, hand: SheetInHand) -> dict[str, Any]:
    campaigns = collecting().campaigns
    pairs = []
    for pair in hand.pairs:
        answered = hand.answers.get(pair.position)
        pairs.append(
            {
                "id": pair_id(hand.number, hand.sheet, pair.position),
                "practice": pair.is_practice,
                "left": campaigns.content(campaign, pair.left),
                "right": campaigns.content(campaign, pair.right),
                "answer": None if answered is None else answered.answer,
                "event_id": None if answered is None else answered.event_id,
            }
        )
    expires = None if hand.expires_at is None else time_text(hand.expires_at)
    return {"ballot": hand.number, "sheet": hand.sheet, "expires_at": expires, "pairs": pairs}
