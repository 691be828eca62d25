"""Serve /v1/campaigns/{key}/ballots, progress, quality and ledger: ballots, and the data that an organiser monitors."""

from dataclasses import replace
from typing import Any, Final

from marshmallow import missing

from adaptive import ledger
from service.collect.api import blueprints
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED
from service.schemas import shapes
from service.schemas.base import Request
from service.schemas.fields import Flag, QueryNumber, QueryWhole, declared_field


class CloseRequest(Request):
    """Options for closing a ballot."""

    least_answered = declared_field(
        ledger.CampaignSettings,
        "least_answered",
        load_default=missing,
        about="Share that must be answered; by default that of the campaign.",
    )


class OpenRequest(Request):
    """Options for opening the next ballot or batch."""

    at_once = Flag(load_default=False, about="Draw a batch although much is unanswered.")


class QualityQuery(blueprints.NamesQuery):
    """Thresholds for flagging a voter."""

    fast = QueryNumber(
        least=0,
        most=3_600,
        load_default=ledger.FlagLimits().fast_seconds,
        about="Seconds; an answer in less time is fast.",
    )


class LedgerQuery(Request):
    """The part of the ledger to return."""

    after = QueryWhole(least=0, most=2**62, load_default=0, about="Number of the last event read.")
    limit = QueryWhole(least=1, most=1_000, load_default=1_000)


_BALLOTS: Final = shapes.list_of(shapes.shape_of(ledger.BallotProgress))


class ProgressAnswer(shapes.Answer):
    """The progress of a campaign."""

    status = shapes.shape_of(ledger.CampaignStatus)
    ballots = _BALLOTS


class BallotsAnswer(shapes.Answer):
    """All ballots opened so far."""

    ballots = _BALLOTS


class BallotAnswer(shapes.Answer):
    """A ballot; the header ETag holds its stamp."""

    ballot = shapes.shape_of(ledger.BallotProgress).read_from("progress")
    chain_digest = shapes.TEXT_OR_NULL("Of a closed ballot; it proves this ballot and all before it.")
    going_on = shapes.list_of(shapes.LABEL).or_null(
        "Items of the next ballot; null while this one is open, and where none follows."
    )


class PreviewAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ledger.Preview,
        *("n_comparisons", "n_answered", "expected", "cut"),
        expected={"description": "Expected tau_w, of a continuous campaign."},
    ),
):
    """The effect of closing a ballot now."""

    preview = shapes.shape_of(ledger.ClosePreview).or_null("Null for a batch.").read_from("of_ballot")
    ready = shapes.TRUTH.read_from("is_ready")


class QualityAnswer(shapes.Answer):
    """How reliable the votes are."""

    quality = shapes.shape_of(ledger.CampaignQuality)


class LedgerAnswer(shapes.Answer):
    """Events of the ledger, in order."""

    events = shapes.list_of(shapes.shape_of(ledger.LedgerEvent))
    next = shapes.COUNT("To be asked for as `after`.")
    complete = shapes.TRUTH("Whether these are the last ones, for now.")


blueprint = blueprints.organiser_blueprint("ballots", __name__, "Ballots of a campaign")
monitoring = blueprints.organiser_blueprint("progress", __name__, "Progress and quality")

_previews = blueprints.ValueCache()
_progress = blueprints.ValueCache()
_quality = blueprints.ValueCache(8)


@blueprint.get("/<key>/ballots", name="listBallots")
@blueprint.response(200, BallotsAnswer)
def read_all(campaign: ledger.Campaign) -> Any:
    """Return all ballots opened so far."""
    return {"ballots": campaign.ballot_progress()}


@blueprint.post("/<key>/ballots", name="openBallot")
@blueprint.arguments(OpenRequest)
@blueprint.response(201, BallotAnswer)
def open_next(campaign: ledger.Campaign, at_once: bool) -> Any:
    """Draw the next ballot, or the next batch of a continuous campaign."""
    return tagged_ballot(campaign, campaign.open_next(at_once=at_once))


@blueprint.get("/<key>/ballots/<int:number>", name="readBallot")
@blueprint.response(200, BallotAnswer)
def read(campaign: ledger.Campaign, number: int) -> Any:
    """Return a ballot; its ETag, needed to close it, changes with its state and with exclusions, not with votes."""
    check_opened(campaign, number)
    return tagged_ballot(campaign, number)


@blueprint.get("/<key>/ballots/<int:number>/preview", name="previewClose")
@blueprint.response(200, PreviewAnswer)
def preview_close(campaign: ledger.Campaign, number: int) -> Any:
    """Show what closing the ballot now would do; send the ETag of this answer to close it."""
    check_opened(campaign, number)
    state().pool.pass_on()
    preview = _previews.get((campaign.key, number), campaign.stamp(), lambda: campaign.preview(number)).value
    blueprints.set_etag(preview.stamp)
    return preview


@blueprint.post("/<key>/ballots/<int:number>/close", name="closeBallot")
@blueprint.arguments(CloseRequest)
@blueprint.doc(**blueprints.CONDITIONAL)
@blueprint.response(200, BallotAnswer)
def close(campaign: ledger.Campaign, number: int, least_answered: float | None = None) -> Any:
    """Close a ballot: its votes are scored, and the next ballot can be opened; a continuous campaign ends.

    If-Match must hold the ETag of the ballot that you reviewed. The answer is 412 if the ballot was closed or reopened
    or a voter was excluded since then, and 428 without the header.
    """
    stamp = blueprints.read_if_match()
    check_opened(campaign, number)
    campaign.close(number, least_answered=least_answered, stamp=stamp)
    return tagged_ballot(campaign, number)


@blueprint.post("/<key>/ballots/<int:number>/reopen", name="reopenBallot")
@blueprint.arguments(blueprints.ReasonRequest)
@blueprint.response(200, BallotAnswer)
def reopen(campaign: ledger.Campaign, number: int, reason: str) -> Any:
    """Reopen the last closed ballot, as long as no later ballot was opened."""
    check_opened(campaign, number)
    campaign.reopen(number, reason)
    return tagged_ballot(campaign, number)


@monitoring.get("/<key>/progress", name="readProgress")
@monitoring.doc(**UNLESS_CHANGED)
@monitoring.response(200, ProgressAnswer)
def progress(campaign: ledger.Campaign) -> Any:
    """Return the progress of the campaign; 304 if it is unchanged since the ETag that the client sends."""
    return blueprints.answer_if_changed(
        _progress,
        campaign.key,
        campaign.progress_stamp(),
        campaign.progress,
        lambda progress: dict(zip(("status", "ballots"), progress, strict=True)),
    )


@monitoring.get("/<key>/quality", name="readQuality")
@monitoring.arguments(QualityQuery, location="query")
@monitoring.doc(**UNLESS_CHANGED)
@monitoring.response(200, QualityAnswer)
def quality(campaign: ledger.Campaign, fast: float, names: bool) -> Any:
    """Report how reliable the votes are, voter by voter, and which voters to check; this excludes no voter."""

    def answer(quality: ledger.CampaignQuality) -> dict[str, Any]:
        if names:
            return {"quality": quality}
        return {"quality": replace(quality, voters=tuple(replace(voter, voter=voter.key) for voter in quality.voters))}

    def compute() -> ledger.CampaignQuality:
        return campaign.quality(ledger.FlagLimits(fast_seconds=fast))

    return blueprints.answer_if_changed(
        _quality, (campaign.key, fast), campaign.stamp(), compute, answer, fast, names, is_heavy=True
    )


@monitoring.get("/<key>/ledger", name="readLedger")
@monitoring.arguments(LedgerQuery, location="query")
@monitoring.response(200, LedgerAnswer)
def read_ledger(campaign: ledger.Campaign, after: int, limit: int) -> Any:
    """Return the vote events after the last one read, in order; voters are identified by random keys."""
    events = campaign.events_after(after, most=limit)
    return {"events": events, "next": events[-1].number if events else after, "complete": len(events) < limit}


def check_opened(campaign: ledger.Campaign, number: int) -> None:
    """Refuse a ballot that was not opened.

    Raises
    ------
    Problem
        404, if there is no ballot with this number.
    """
    n_opened = len(campaign.ballots())
    if not 1 <= number <= n_opened:
        raise Problem(404, f"ballot {number} has not been opened; {n_opened} have", kind="no-such-ballot")


def tagged_ballot(campaign: ledger.Campaign, number: int) -> Any:
    """Return a ballot, and send its stamp as ETag."""
    ballot = campaign.ballot(number)
    blueprints.set_etag(ballot.stamp)
    return ballot
