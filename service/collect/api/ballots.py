"""Serve /v1/campaigns/{key}/ballots: open, review, close and reopen ballots."""

from __future__ import annotations

from typing import Any

from adaptive.ledger import Campaign, Preview
from service.collect.access import organiser
from service.collect.api.blueprints import CONDITIONAL, of_organisers
from service.collect.conditional import Remembered, stamped, wanted_stamp
from service.collect.schemas.answers import (
    BallotAnswer,
    BallotsAnswer,
    CloseRequest,
    OpenRequest,
    PreviewAnswer,
    ReasonRequest,
)
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("ballots", __name__, "Ballots of a campaign")

_previews = Remembered()


@blueprint.route("/<key>/ballots", methods=["GET"])
@operation("listBallots")
@blueprint.response(200, BallotsAnswer)
def read_all(key: str) -> Any:
    """Return all ballots opened so far."""
    return {"ballots": organiser(key).ballot_progress()}


@blueprint.route("/<key>/ballots", methods=["POST"])
@blueprint.arguments(OpenRequest)
@operation("openBallot")
@blueprint.response(201, BallotAnswer)
def open_next(request: dict[str, Any], key: str) -> Any:
    """Draw the next ballot, or the next batch of a continuous campaign."""
    campaign = organiser(key)
    return ballot_of(campaign, campaign.open_next(at_once=request["at_once"]))


@blueprint.route("/<key>/ballots/<int:number>", methods=["GET"])
@operation("readBallot")
@blueprint.response(200, BallotAnswer)
def read(key: str, number: int) -> Any:
    """Return a ballot; its ETag, needed to close it, changes with its state and with exclusions, not with votes."""
    return ballot_of(organiser(key), number)


@blueprint.route("/<key>/ballots/<int:number>/preview", methods=["GET"])
@operation("previewClose")
@blueprint.response(200, PreviewAnswer)
def preview(key: str, number: int) -> Any:
    """Show what closing the ballot now would do; send the ETag of this answer to close it."""
    campaign = organiser(key)
    checked(campaign, number)
    seen: Preview = _previews.get((key, number), campaign.stamp(), lambda: campaign.preview(number)).value
    answer = {
        "preview": seen.of_ballot,
        "ready": seen.is_ready,
        "n_comparisons": seen.n_comparisons,
        "n_answered": seen.n_answered,
        "expected": seen.expected,
        "cut": seen.cut,
    }
    return stamped(seen.stamp, answer)


@blueprint.route("/<key>/ballots/<int:number>/close", methods=["POST"])
@blueprint.arguments(CloseRequest)
@operation("closeBallot")
@blueprint.doc(**CONDITIONAL)
@blueprint.response(200, BallotAnswer)
def close(request: dict[str, Any], key: str, number: int) -> Any:
    """Close a ballot: its votes are scored, and the next ballot can be opened; a continuous campaign ends.

    If-Match must hold the ETag of the ballot that you reviewed. The answer is 412 if the ballot was closed or reopened
    or a voter was excluded since then, and 428 without the header.
    """
    campaign, stamp = organiser(key), wanted_stamp()
    checked(campaign, number)
    campaign.close(number, least_answered=request.get("least_answered"), stamp=stamp)
    return ballot_of(campaign, number)


@blueprint.route("/<key>/ballots/<int:number>/reopen", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("reopenBallot")
@blueprint.response(200, BallotAnswer)
def reopen(request: dict[str, Any], key: str, number: int) -> Any:
    """Reopen the last closed ballot, as long as no later ballot was opened."""
    campaign = organiser(key)
    checked(campaign, number)
    campaign.reopen(number, request["reason"])
    return ballot_of(campaign, number)


def checked(campaign: Campaign, number: int) -> None:
    """Refuse the number of a ballot that was never opened.

    Raises
    ------
    Problem
        404, if there is no ballot with this number.
    """
    n_opened = len(campaign.ballots())
    if not 1 <= number <= n_opened:
        raise Problem(404, f"ballot {number} has not been opened; {n_opened} have", kind="no-such-ballot")


def ballot_of(campaign: Campaign, number: int) -> Any:
    """Return a ballot in the form of the answers, with its stamp as ETag."""
    checked(campaign, number)
    found = campaign.ballot(number)
    answer = {"ballot": found.progress, "chain_digest": found.chain_digest, "going_on": found.going_on}
    return stamped(found.stamp, answer)
