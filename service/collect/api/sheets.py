"""POST /v1/sheets and POST /v1/finish: the next pairs to compare, and the end."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from flask import Response, after_this_request, request
from sqlalchemy import Connection

from adaptive.ledger import Campaign, LedgerBusyError, LedgerError, UnreachableError, VotingPages
from adaptive.ledger.continuous import draw_batch, may_draw
from adaptive.ledger.encoding import pair_id, time_text
from adaptive.ledger.newcomers import Origin
from adaptive.ledger.participants import ended_early, write_outcome
from adaptive.ledger.participation import (
    Journey,
    Reason,
    SheetInHand,
    has_turn,
    journey_of,
    journey_with,
    next_sheet,
)
from adaptive.ledger.voting_pages import Outcome
from service.collect import access
from service.collect.api.sessions import SECURITY, me_of, me_of_journey, voter_id_of
from service.collect.schemas.voting import FinishAnswer, NoFields, SheetAnswer
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint, operation

SOON_SECONDS: Final = 10  # in which others at an address mostly give their first answers
ERRORS = (401, 403, 404, 409, 422, 429, 500, 503)

blueprint = Blueprint("sheets", __name__, url_prefix="/v1", errors=ERRORS, security=SECURITY)
blueprint.before_request(access.know_voter)


@blueprint.route("/sheets", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("leaseSheet")
@blueprint.response(200, SheetAnswer)
def lease(_request: dict[str, Any]) -> dict[str, Any]:
    """Give out the sheet in hand until it is done, then the next one; asked again, the answer is the same.

    The reason "wait" says that others hold what is left, and have not answered anything on it, or that the voter's
    address holds as many such sheets as it may: `retry_after`, and the header Retry-After, are seconds to wait.
    """
    campaign, holder = access.voter()
    access.count(collecting().steps, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    if holder.consent_version != pages.consent_version:
        raise Problem(403, "no pair is shown before consent", kind="consent-needed")
    voter_id = voter_id_of(holder)
    hand, reason = _next(campaign, pages, voter_id)
    if hand is None:
        me = me_of(campaign, pages, voter_id)
        seconds = (me["retry_after"] or SOON_SECONDS) if reason == "wait" else None
        if seconds is not None:
            after_this_request(partial(_say_when, seconds=seconds))
        return {"sheet": None, "reason": reason, "retry_after": seconds, "me": me}
    journey = campaign.database.read(lambda connection: journey_with(connection, campaign.info, pages, voter_id, hand))
    me = me_of_journey(campaign, pages, journey)
    return {"sheet": _shown(campaign, hand), "reason": None, "retry_after": None, "me": me}


@blueprint.route("/finish", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("finish")
@blueprint.response(200, FinishAnswer)
def finish(_request: dict[str, Any]) -> dict[str, Any]:
    """Give out the completion code, once every answer of this voter is counted.

    Participants of a platform may get another code: one who was left out before the end that of "screened out", one for
    whom nothing was left that of "quota full".
    """
    campaign, holder = access.voter()
    access.count(collecting().steps, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    voter_id = voter_id_of(holder)
    journey = campaign.database.read(lambda connection: journey_of(connection, campaign.info, pages, voter_id))
    progress = me_of_journey(campaign, pages, journey)["progress"]
    missing = progress["of"] - progress["answered"]
    if missing:
        raise Problem(409, f"{missing} pairs have no answer yet", kind="unfinished", members={"missing": missing})
    early = campaign.database.read(lambda c: ended_early(c, campaign.info, pages, voter_id, journey))
    if early is not None and pages.way_back(early)[0] is not None:
        return _ended(campaign, pages, voter_id, journey, early)
    if pages.sheets is not None and (journey.available or journey.reason == "wait"):
        left = pages.sheets - journey.n_sheets_done
        raise Problem(409, f"{left} sheets are still to come", kind="unfinished", members={"missing": left})
    if not journey.n_answers:
        raise Problem(409, "there is no answer yet", kind="unfinished", members={"missing": 0})
    return _ended(campaign, pages, voter_id, journey, "complete")


def _ended(campaign: Campaign, pages: VotingPages, voter_id: int, journey: Journey, outcome: Outcome) -> dict[str, Any]:
    if pages.platform is not None:
        campaign.run(lambda connection: write_outcome(connection, campaign.info, voter_id, outcome))
    code, url = pages.way_back(outcome)
    return {
        "finished": True,
        "outcome": outcome,
        "answers": journey.n_answers,
        "completion_code": code,
        "completion_url": url,
    }


def _say_when(response: Response, *, seconds: int) -> Response:
    response.headers["Retry-After"] = str(seconds)
    return response


def _next(campaign: Campaign, pages: VotingPages, voter_id: int) -> tuple[SheetInHand | None, Reason | None]:
    origin = access.origin_of(request) if collecting().settings.unanswered_sheets else None
    found = campaign.run(lambda connection: next_sheet(connection, campaign.info, pages, voter_id, origin))
    if found[0] is not None or found[1] == "limit":
        return found
    if not campaign.database.read(lambda connection: _is_batch_due(connection, campaign, voter_id, origin)):
        return found
    # A continuous campaign draws its next batch when somebody wants it; who comes second finds that of the first.
    try:
        draw_batch(campaign.database, campaign.info, voter_id=voter_id)
    except (LedgerBusyError, UnreachableError):
        raise
    except LedgerError:  # drawn by another at the same moment, the target is reached, or the voter has seen all pairs
        pass
    return campaign.run(lambda connection: next_sheet(connection, campaign.info, pages, voter_id, origin))


def _is_batch_due(connection: Connection, campaign: Campaign, voter_id: int, origin: Origin | None) -> bool:
    """Whether a batch is to be drawn for a voter, who would then get a sheet of it."""
    return may_draw(connection, campaign.info, voter_id) and has_turn(connection, campaign.info, voter_id, origin)


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
