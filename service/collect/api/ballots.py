"""/v1/campaigns/{key}/ballots: open, look at, close, open again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from adaptive.ledger import Campaign
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.continuous import draw_batch, finish
from adaptive.ledger.draws import StoredBallot, stored_ballots
from adaptive.ledger.results import preview_of, result_of
from adaptive.ledger.stamps import ballot_stamp, campaign_stamp
from adaptive.ledger.status import by_ballot, status_of
from adaptive.plan import BallotPlan
from service.collect.access import organiser
from service.collect.api.blueprints import CONDITIONAL, of_organisers
from service.collect.conditional import stamped, wanted_stamp
from service.collect.remembered import Remembered
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
    """All ballots so far."""
    campaign = organiser(key)
    return {"ballots": campaign.database.read(lambda c: by_ballot(c, campaign.info))}


@blueprint.route("/<key>/ballots", methods=["POST"])
@blueprint.arguments(OpenRequest)
@operation("openBallot")
@blueprint.response(201, BallotAnswer)
def open_next(request: dict[str, Any], key: str) -> Any:
    """Draw the next ballot, or the next batch of a continuous campaign."""
    campaign = organiser(key)
    if campaign.info.mode == "continuous":
        return ballot_of(campaign, draw_batch(campaign.database, campaign.info, at_once=request["at_once"]))
    return ballot_of(campaign, campaign.open_ballot())


@blueprint.route("/<key>/ballots/<int:number>", methods=["GET"])
@operation("readBallot")
@blueprint.response(200, BallotAnswer)
def read(key: str, number: int) -> Any:
    """A ballot; its ETag, which closing asks for, changes with its state and with who is left out, not with votes."""
    return ballot_of(organiser(key), number)


@blueprint.route("/<key>/ballots/<int:number>/preview", methods=["GET"])
@operation("previewClose")
@blueprint.response(200, PreviewAnswer)
def preview(key: str, number: int) -> Any:
    """Say what closing the ballot now would do; the ETag is what closing asks for."""
    campaign = organiser(key)
    checked(campaign, number)
    stamp = campaign.database.read(lambda c: campaign_stamp(c, campaign.info))
    seen, answer = _previews.get((key, number), stamp, lambda: previewed(campaign, number)).value
    return stamped(seen, answer)


@blueprint.route("/<key>/ballots/<int:number>/close", methods=["POST"])
@blueprint.arguments(CloseRequest)
@operation("closeBallot")
@blueprint.doc(**CONDITIONAL)
@blueprint.response(200, BallotAnswer)
def close(request: dict[str, Any], key: str, number: int) -> Any:
    """Close a ballot: its votes are scored, and the next one can be opened. A continuous campaign ends with it.

    If-Match must hold the ETag of the ballot as it was looked at: 412 where somebody has closed or opened it or left a
    voter out since, 428 without the header.
    """
    campaign, stamp = organiser(key), wanted_stamp()
    checked(campaign, number)
    least = request.get("least_answered")
    if campaign.info.mode == "continuous":
        finish(campaign.database, campaign.info, least_answered=least, stamp=stamp)
    else:
        campaign.close_ballot(number, least_answered=least, stamp=stamp)
    return ballot_of(campaign, number)


@blueprint.route("/<key>/ballots/<int:number>/reopen", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("reopenBallot")
@blueprint.response(200, BallotAnswer)
def reopen(request: dict[str, Any], key: str, number: int) -> Any:
    """Open the last closed ballot again, as long as no other was opened after it."""
    campaign = organiser(key)
    checked(campaign, number)
    campaign.reopen(number, request["reason"])
    return ballot_of(campaign, number)


def checked(campaign: Campaign, number: int) -> None:
    """Refuse the number of a ballot that has not been opened.

    Raises
    ------
    Problem
        404.
    """
    n_opened = len(campaign.ballots())
    if not 1 <= number <= n_opened:
        raise Problem(404, f"ballot {number} has not been opened; {n_opened} have", kind="no-such-ballot")


def ballot_of(campaign: Campaign, number: int) -> Any:
    """A ballot as the answers have it, under its stamp."""
    info = campaign.info
    checked(campaign, number)

    def read(connection: Any) -> tuple[str, dict[str, Any]]:
        stored = stored_ballots(connection, info.id)[number - 1]
        answer = {
            "ballot": by_ballot(connection, info)[number - 1],
            "chain_digest": stored.chain_digest,
            "going_on": going_on(info, stored),
        }
        return ballot_stamp(connection, info, number), answer

    stamp, answer = campaign.database.read(read)
    return stamped(stamp, answer)


def going_on(info: CampaignInfo, stored: StoredBallot) -> list[Hashable] | None:
    """Items that a closed ballot has selected for the next one."""
    if not isinstance(info.plan, BallotPlan) or stored.record is None or stored.number == info.plan.n_ballots:
        return None
    return [info.items[place] for place in stored.record["selected"]]


def previewed(campaign: Campaign, number: int) -> tuple[str, dict[str, Any]]:
    """The stamp of a ballot, and what closing it would do, at one moment."""
    info = campaign.info

    def read(connection: Any) -> tuple[str, dict[str, Any]]:
        stamp = ballot_stamp(connection, info, number)
        if info.mode == "continuous":
            now = status_of(connection, info)
            found = result_of(connection, info, interim=True) if now.n_votes else None
            ready = now.state == "open" and now.n_answered >= info.settings.least_answered * now.n_comparisons
            numbers = {"n_comparisons": now.n_comparisons, "n_answered": now.n_answered}
            sure = {"expected": found and found.expected, "cut": found and found.cut}
            return stamp, {"preview": None, "ready": ready, **numbers, **sure}
        seen = preview_of(connection, info)
        numbers = {"n_comparisons": seen.n_comparisons, "n_answered": seen.n_answered}
        return stamp, {"preview": seen, "ready": seen.is_ready, **numbers, "expected": None, "cut": seen.cut}

    return campaign.database.read(read)
