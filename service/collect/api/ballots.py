"""Serve /v1/campaigns/{key}/ballots, progress, quality and ledger: ballots, and the data that an organiser monitors."""

from dataclasses import replace
from typing import Any

from adaptive.ledger import BallotProgress, Campaign, CampaignQuality, CampaignStatus, Limits, Preview
from service.collect.access import organiser
from service.collect.api.blueprints import CONDITIONAL, Remembered, of_organisers, stamped, tagged, wanted_stamp
from service.collect.schemas import answers
from service.http.problems import Problem
from service.http.state import state

blueprint = of_organisers("ballots", __name__, "Ballots of a campaign")

monitored = of_organisers("progress", __name__, "Progress and quality")

_previews = Remembered()
_progress = Remembered()
_quality = Remembered(8)


@blueprint.get("/<key>/ballots", name="listBallots")
@blueprint.response(200, answers.BallotsAnswer)
def read_all(key: str) -> Any:
    """Return all ballots opened so far."""
    return {"ballots": organiser(key).ballot_progress()}


@blueprint.post("/<key>/ballots", name="openBallot")
@blueprint.arguments(answers.OpenRequest)
@blueprint.response(201, answers.BallotAnswer)
def open_next(key: str, at_once: bool) -> Any:
    """Draw the next ballot, or the next batch of a continuous campaign."""
    campaign = organiser(key)
    return ballot_of(campaign, campaign.open_next(at_once=at_once))


@blueprint.get("/<key>/ballots/<int:number>", name="readBallot")
@blueprint.response(200, answers.BallotAnswer)
def read(key: str, number: int) -> Any:
    """Return a ballot; its ETag, needed to close it, changes with its state and with exclusions, not with votes."""
    return ballot_of(opened(key, number), number)


@blueprint.get("/<key>/ballots/<int:number>/preview", name="previewClose")
@blueprint.response(200, answers.PreviewAnswer)
def preview(key: str, number: int) -> Any:
    """Show what closing the ballot now would do; send the ETag of this answer to close it."""
    campaign = opened(key, number)
    state().pool.pass_on()
    seen: Preview = _previews.get((key, number), campaign.stamp(), lambda: campaign.preview(number)).value
    return stamped(seen.stamp, seen)


@blueprint.post("/<key>/ballots/<int:number>/close", name="closeBallot")
@blueprint.arguments(answers.CloseRequest)
@blueprint.doc(**CONDITIONAL)
@blueprint.response(200, answers.BallotAnswer)
def close(key: str, number: int, least_answered: float | None = None) -> Any:
    """Close a ballot: its votes are scored, and the next ballot can be opened; a continuous campaign ends.

    If-Match must hold the ETag of the ballot that you reviewed. The answer is 412 if the ballot was closed or reopened
    or a voter was excluded since then, and 428 without the header.
    """
    stamp, campaign = wanted_stamp(), opened(key, number)
    campaign.close(number, least_answered=least_answered, stamp=stamp)
    return ballot_of(campaign, number)


@blueprint.post("/<key>/ballots/<int:number>/reopen", name="reopenBallot")
@blueprint.arguments(answers.ReasonRequest)
@blueprint.response(200, answers.BallotAnswer)
def reopen(key: str, number: int, reason: str) -> Any:
    """Reopen the last closed ballot, as long as no later ballot was opened."""
    campaign = opened(key, number)
    campaign.reopen(number, reason)
    return ballot_of(campaign, number)


@monitored.get("/<key>/progress", name="readProgress")
@monitored.response(200, answers.ProgressAnswer)
def progress(key: str) -> Any:
    """Return the progress of the campaign; 304 if it is unchanged since the ETag that the client sends."""
    campaign = organiser(key)

    def answer(found: tuple[CampaignStatus, list[BallotProgress]]) -> dict[str, Any]:
        return dict(zip(("status", "ballots"), found, strict=True))

    return tagged(_progress, key, campaign.progress_stamp(), campaign.progress, answer)


@monitored.get("/<key>/quality", name="readQuality")
@monitored.arguments(answers.QualityQuery, location="query")
@monitored.response(200, answers.QualityAnswer)
def quality(key: str, fast: float, names: bool) -> Any:
    """Report how reliable the votes are, voter by voter, and which voters to check; this excludes no voter."""
    campaign = organiser(key)
    stamp = campaign.stamp()

    def answer(found: CampaignQuality) -> dict[str, Any]:
        if names:
            return {"quality": found}
        unnamed = tuple(replace(voter, voter=voter.key) for voter in found.voters)
        return {"quality": replace(found, voters=unnamed)}

    return tagged(
        _quality,
        (key, fast),
        stamp,
        lambda: campaign.quality(Limits(fast_seconds=fast)),
        answer,
        fast,
        names,
        is_heavy=True,
    )


@monitored.get("/<key>/ledger", name="readLedger")
@monitored.arguments(answers.LedgerQuery, location="query")
@monitored.response(200, answers.LedgerAnswer)
def read_ledger(key: str, after: int, limit: int) -> Any:
    """Return the vote events after the last one read, in order; voters are identified by random keys."""
    events = organiser(key).events_after(after, most=limit)
    return {"events": events, "next": events[-1].number if events else after, "complete": len(events) < limit}


def opened(key: str, number: int) -> Campaign:
    """Return the campaign of a key, if its organiser asks, and this ballot was opened.

    Raises
    ------
    Problem
        404, if there is no ballot with this number.
    """
    campaign = organiser(key)
    n_opened = len(campaign.ballots())
    if not 1 <= number <= n_opened:
        raise Problem(404, f"ballot {number} has not been opened; {n_opened} have", kind="no-such-ballot")
    return campaign


def ballot_of(campaign: Campaign, number: int) -> Any:
    """Return a ballot in the form of the answers, with its stamp as ETag."""
    found = campaign.ballot(number)
    return stamped(found.stamp, found)
