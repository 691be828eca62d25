"""Serve PUT /v1/votes/<event id> and its retraction; an answer sent again is recorded once."""

from __future__ import annotations

import re
from typing import Any

from adaptive.errors import VoteError
from adaptive.ledger import Campaign, ConflictError, Receipt, ShownPair, VoteCast, pair_at
from service.collect import access
from service.collect.api.sessions import SECURITY
from service.collect.schemas.voting import EVENT, RetractRequest, VoteAnswer, VoteRequest
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint, operation

ERRORS = (401, 403, 404, 409, 422, 429, 500, 503)

blueprint = Blueprint("votes", __name__, url_prefix="/v1/votes", errors=ERRORS, security=SECURITY)
blueprint.before_request(access.know_voter)


@blueprint.route("/<event_id>", methods=["PUT"])
@blueprint.arguments(VoteRequest)
@operation("castVote")
@blueprint.response(200, VoteAnswer)
def cast(request: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Record an answer; it is on disk when this returns, and sending it again under the same id changes nothing."""
    campaign, holder = access.voter()
    if holder.consent_version is None:
        raise Problem(403, "no answer is taken before consent", kind="consent-needed")
    access.count(collecting().votes, holder.voter_key)
    _, pages = collecting().campaigns.pages(campaign)
    answer = request["answer"]
    if (answer == "tie" and not pages.ties) or (answer == "cannot say" and not pages.cannot_say):
        raise Problem(422, f"this campaign does not offer the answer {answer!r}")
    number, pair = _pair(campaign, request["pair"])
    voter = access.voter_of(campaign, holder)
    given = {name: request.get(name) for name in ("response_ms", "given_by", "layout")}
    vote = VoteCast(_event_id(event_id), number, pair.place, voter.id, answer, **given)
    try:
        receipt = voter.cast(vote)
    except ConflictError as error:
        raise _conflict(error, request["pair"]) from error
    except VoteError as error:
        raise _unknown_pair() from error
    feedback = None
    if pair.is_practice:
        feedback = {"expected": pair.expected, "agrees": pair.expected == answer}
    return {**_receipt(receipt, request["pair"]), "feedback": feedback}


@blueprint.route("/<event_id>/retract", methods=["POST"])
@blueprint.arguments(RetractRequest)
@operation("retractVote")
@blueprint.response(200, VoteAnswer)
def take_back(request: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Retract an answer while its ballot is open; its pair can then be answered again."""
    campaign, holder = access.voter()
    access.count(collecting().votes, holder.voter_key)
    voter = access.voter_of(campaign, holder)
    known = voter.vote(_event_id(event_id))
    if known is None:
        raise Problem(404, "this voter gave no such answer", kind="no-such-vote")
    try:
        receipt = voter.retract(known, request["event_id"])
    except ConflictError as error:
        raise _conflict(error, known.pair) from error
    return {**_receipt(receipt, known.pair), "feedback": None}


def _pair(campaign: Campaign, name: str) -> tuple[int, ShownPair]:
    try:
        number, sheet, position = pair_at(name)
        pairs = collecting().campaigns.pairs(campaign, number, sheet)
    except VoteError as error:
        raise _unknown_pair() from error
    if position >= len(pairs):
        raise _unknown_pair()
    return number, pairs[position]


def _receipt(receipt: Receipt, pair: str) -> dict[str, Any]:
    return {"event_id": receipt.event_id, "pair": pair, "answer": receipt.answer, "repeated": receipt.repeated}


def _event_id(text: str) -> str:
    if not re.fullmatch(EVENT, text):
        raise Problem(422, "the id of an event is a UUID in lower case")
    return text


def _conflict(error: ConflictError, pair: str) -> Problem:
    if error.reused:
        return Problem(422, "the id of this event was used for another answer", kind="event-reused")
    if error.stands is None:
        return Problem(409, f"pair {pair} is answered, or has no answer of this voter to take back", kind="conflict")
    return Problem(
        409, f"pair {pair} has the answer {error.stands!r} already", kind="conflict", members={"answer": error.stands}
    )


def _unknown_pair() -> Problem:
    return Problem(404, "this voter has no such pair", kind="no-such-pair")
