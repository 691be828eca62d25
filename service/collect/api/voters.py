"""Serve /v1/campaigns/{key}/voters and participants: list voters, exclude or include them, erase those who withdraw.

Participants come from a platform, where their submissions are approved or rejected.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from flask import Response

from adaptive.ledger import DECISIONS, Campaign
from service.collect.api.blueprints import ValueCache, answer_if_changed, organiser_blueprint
from service.collect.api.results import download
from service.collect.schemas import running_campaigns
from service.collect.schemas.voting import NoFields
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED

blueprint = organiser_blueprint("voters", __name__, "Who votes")
of_platform = organiser_blueprint("participants", __name__, "Participants of a platform")

_voters = ValueCache(4)
_participants = ValueCache()


@blueprint.get("/<key>/voters", name="listVoters")
@blueprint.arguments(running_campaigns.VotersQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, running_campaigns.VotersAnswer)
def read(campaign: Campaign, offset: int, limit: int, names: bool) -> Any:
    """Return the voters in order of arrival, by random keys unless you ask for names."""
    return answer_if_changed(
        _voters,
        (campaign.key, names),
        campaign.stamp(),
        partial(campaign.voters.rows, names=names),
        lambda rows: {"n_voters": len(rows), "voters": rows[offset : offset + limit]},
        *(offset, limit, names),
    )


@blueprint.get("/<key>/voters/<voter>/exclusion", name="previewExclusion")
@blueprint.response(200, running_campaigns.ExclusionAnswer)
def preview(campaign: Campaign, voter: str) -> Any:
    """Show how excluding a voter, or including one again, would change the ranking by strengths."""
    state().pool.pass_on()
    return {"preview": replace(campaign.voters.with_key(voter).preview_exclusion(), voter=voter)}


@blueprint.post("/<key>/voters/<voter>/exclude", name="excludeVoter")
@blueprint.arguments(running_campaigns.ReasonRequest)
@blueprint.response(204)
def exclude(campaign: Campaign, voter: str, reason: str) -> None:
    """Exclude a voter's votes from all scores from now on; closed ballots keep them, and no vote is deleted."""
    campaign.voters.with_key(voter).exclude(reason)


@blueprint.post("/<key>/voters/<voter>/include", name="includeVoter")
@blueprint.arguments(running_campaigns.ReasonRequest)
@blueprint.response(204)
def include(campaign: Campaign, voter: str, reason: str) -> None:
    """Include the votes of an excluded voter again."""
    campaign.voters.with_key(voter).include(reason)


@blueprint.post("/<key>/voters/<voter>/withdraw", name="withdrawVoter")
@blueprint.arguments(NoFields)
@blueprint.response(200, running_campaigns.WithdrawalAnswer)
def withdraw(campaign: Campaign, voter: str) -> Any:
    """Withdraw a voter on request: personal data are erased, and votes in open ballots no longer count.

    Votes in closed ballots stay, under a key that cannot be traced to the person. This cannot be undone.
    """
    return {"voided": campaign.voters.with_key(voter).leave()}


@blueprint.post("/<key>/voters/<voter>/ask-others", name="askOthers")
@blueprint.arguments(NoFields)
@blueprint.response(200, running_campaigns.WithdrawalAnswer)
def ask_others(campaign: Campaign, voter: str) -> Any:
    """Ask other voters the comparisons of an excluded voter, in open ballots.

    The excluded voter's answers are voided. This cannot be undone: including the voter again does not restore them.
    """
    return {"voided": campaign.voters.with_key(voter).ask_others()}


@of_platform.get("/<key>/participants", name="listParticipants")
@of_platform.doc(**UNLESS_CHANGED)
@of_platform.response(200, running_campaigns.ParticipantsAnswer)
def read_participants(campaign: Campaign) -> Any:
    """Return participants in order of arrival, by their platform ids, which are personal data.

    The decision concerns participants who received the completion code: "approve" while their votes count, "reject"
    once they are excluded. Other participants have no submission to decide on.
    """
    return answer_if_changed(
        _participants, campaign.key, campaign.stamp(), campaign.voters.of_platform, lambda voters: voters
    )


@of_platform.get("/<key>/participants/<decision>", name="exportParticipants")
@of_platform.arguments(running_campaigns.StudyQuery, location="query")
@of_platform.doc(responses={200: {"content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}})
@of_platform.response(200)
def export(campaign: Campaign, decision: str, study: str | None = None) -> Response:
    """Return the ids to approve, or those to reject, one per line and without a header, as platforms expect."""
    if decision not in DECISIONS:
        detail = f"there is no list of this name; there are {' and '.join(DECISIONS)}"
        raise Problem(404, detail, kind="no-such-list")
    rows = [row for row in campaign.voters.of_platform().participants if row.decision == decision]
    ids = [f"{row.participant}\n" for row in rows if study in (None, row.study)]
    return download(f"{decision}.csv", "".join(ids).encode(), campaign)
