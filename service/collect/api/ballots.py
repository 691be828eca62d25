"""Serve /v1/campaigns/{key}/ballots, progress, quality and ledger: ballots, and the data that an organiser monitors."""

from dataclasses import replace
from typing import Any

from adaptive.ledger import Campaign, CampaignQuality, FlagLimits
from service.collect.api.blueprints import (
    CONDITIONAL,
    ValueCache,
    answer_if_changed,
    organiser_blueprint,
    read_if_match,
    set_etag,
)
from service.collect.schemas import running_campaigns
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED

blueprint = organiser_blueprint("ballots", __name__, "Ballots of a campaign")

monitoring = organiser_blueprint("progress", __name__, "Progress and quality")

_previews = ValueCache()
_progress = ValueCache()
_quality = ValueCache(8)


@blueprint.get("/<key>/ballots", name="listBallots")
@blueprint.response(200, running_campaigns.BallotsAnswer)
def read_all(campaign: Campaign) -> Any:
    """Return all ballots opened so far."""
    return {"ballots": campaign.ballot_progress()}


@blueprint.post("/<key>/ballots", name="openBallot")
@blueprint.arguments(running_campaigns.OpenRequest)
@blueprint.response(201, running_campaigns.BallotAnswer)
def open_next(campaign: Campaign, at_once: bool) -> Any:
    """Draw the next ballot, or the next batch of a continuous campaign."""
    return tagged_ballot(campaign, campaign.open_next(at_once=at_once))


@blueprint.get("/<key>/ballots/<int:number>", name="readBallot")
@blueprint.response(200, running_campaigns.BallotAnswer)
def read(campaign: Campaign, number: int) -> Any:
    """Return a ballot; its ETag, needed to close it, changes with its state and with exclusions, not with votes."""
    check_opened(campaign, number)
    return tagged_ballot(campaign, number)


@blueprint.get("/<key>/ballots/<int:number>/preview", name="previewClose")
@blueprint.response(200, running_campaigns.PreviewAnswer)
def preview_close(campaign: Campaign, number: int) -> Any:
    """Show what closing the ballot now would do; send the ETag of this answer to close it."""
    check_opened(campaign, number)
    state().pool.pass_on()
    preview = _previews.get((campaign.key, number), campaign.stamp(), lambda: campaign.preview(number)).value
    set_etag(preview.stamp)
    return preview


@blueprint.post("/<key>/ballots/<int:number>/close", name="closeBallot")
@blueprint.arguments(running_campaigns.CloseRequest)
@blueprint.doc(**CONDITIONAL)
@blueprint.response(200, running_campaigns.BallotAnswer)
def close(campaign: Campaign, number: int, least_answered: float | None = None) -> Any:
    """Close a ballot: its votes are scored, and the next ballot can be opened; a continuous campaign ends.

    If-Match must hold the ETag of the ballot that you reviewed. The answer is 412 if the ballot was closed or reopened
    or a voter was excluded since then, and 428 without the header.
    """
    stamp = read_if_match()
    check_opened(campaign, number)
    campaign.close(number, least_answered=least_answered, stamp=stamp)
    return tagged_ballot(campaign, number)


@blueprint.post("/<key>/ballots/<int:number>/reopen", name="reopenBallot")
@blueprint.arguments(running_campaigns.ReasonRequest)
@blueprint.response(200, running_campaigns.BallotAnswer)
def reopen(campaign: Campaign, number: int, reason: str) -> Any:
    """Reopen the last closed ballot, as long as no later ballot was opened."""
    check_opened(campaign, number)
    campaign.reopen(number, reason)
    return tagged_ballot(campaign, number)


@monitoring.get("/<key>/progress", name="readProgress")
@monitoring.doc(**UNLESS_CHANGED)
@monitoring.response(200, running_campaigns.ProgressAnswer)
def progress(campaign: Campaign) -> Any:
    """Return the progress of the campaign; 304 if it is unchanged since the ETag that the client sends."""
    return answer_if_changed(
        _progress,
        campaign.key,
        campaign.progress_stamp(),
        campaign.progress,
        lambda progress: dict(zip(("status", "ballots"), progress, strict=True)),
    )


@monitoring.get("/<key>/quality", name="readQuality")
@monitoring.arguments(running_campaigns.QualityQuery, location="query")
@monitoring.doc(**UNLESS_CHANGED)
@monitoring.response(200, running_campaigns.QualityAnswer)
def quality(campaign: Campaign, fast: float, names: bool) -> Any:
    """Report how reliable the votes are, voter by voter, and which voters to check; this excludes no voter."""

    def answer(quality: CampaignQuality) -> dict[str, Any]:
        if names:
            return {"quality": quality}
        return {"quality": replace(quality, voters=tuple(replace(voter, voter=voter.key) for voter in quality.voters))}

    def compute() -> CampaignQuality:
        return campaign.quality(FlagLimits(fast_seconds=fast))

    return answer_if_changed(
        _quality, (campaign.key, fast), campaign.stamp(), compute, answer, fast, names, is_heavy=True
    )


@monitoring.get("/<key>/ledger", name="readLedger")
@monitoring.arguments(running_campaigns.LedgerQuery, location="query")
@monitoring.response(200, running_campaigns.LedgerAnswer)
def read_ledger(campaign: Campaign, after: int, limit: int) -> Any:
    """Return the vote events after the last one read, in order; voters are identified by random keys."""
    events = campaign.events_after(after, most=limit)
    return {"events": events, "next": events[-1].number if events else after, "complete": len(events) < limit}


def check_opened(campaign: Campaign, number: int) -> None:
    """Refuse a ballot that was not opened.

    Raises
    ------
    Problem
        404, if there is no ballot with this number.
    """
    n_opened = len(campaign.ballots())
    if not 1 <= number <= n_opened:
        raise Problem(404, f"ballot {number} has not been opened; {n_opened} have", kind="no-such-ballot")


def tagged_ballot(campaign: Campaign, number: int) -> Any:
    """Return a ballot, and send its stamp as ETag."""
    ballot = campaign.ballot(number)
    set_etag(ballot.stamp)
    return ballot
