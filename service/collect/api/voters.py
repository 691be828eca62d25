"""Serve /v1/campaigns/{key}/voters and participants: list voters, exclude or include them, erase those who withdraw.

Participants come from a platform, where their submissions are approved or rejected.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from flask import Response

from adaptive import ledger
from service.collect.api import blueprints
from service.collect.api.results import download
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED
from service.schemas import shapes
from service.schemas.base import Request


class StudyQuery(Request):
    """The study whose participants to return."""

    study = blueprints.Word("[A-Za-z0-9_-]{1,64}", "the id of a study", about="By default of all.")


class VotersAnswer(shapes.Answer):
    """Voters, in order of arrival."""

    n_voters = shapes.COUNT
    voters = shapes.list_of(shapes.shape_of(ledger.VoterRow))


class ParticipantsAnswer(shapes.Answer, **shapes.properties_of(ledger.PlatformVoters)):
    """Participants of a platform, in order of arrival."""


class ExclusionAnswer(shapes.Answer):
    """How the result would change if a voter were excluded, or included again."""

    preview = shapes.shape_of(ledger.ExclusionPreview)


class WithdrawalAnswer(shapes.Answer):
    """The effect of a withdrawal."""

    voided = shapes.COUNT("Votes of open ballots that no longer count.")


blueprint = blueprints.organiser_blueprint("voters", __name__, "Who votes")
of_platform = blueprints.organiser_blueprint("participants", __name__, "Participants of a platform")

_voters = blueprints.ValueCache(4)
_participants = blueprints.ValueCache()


@blueprint.get("/<key>/voters", name="listVoters")
@blueprint.arguments(blueprints.VotersQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, VotersAnswer)
def read(campaign: ledger.Campaign, offset: int, limit: int, names: bool) -> Any:
    """Return the voters in order of arrival, by random keys unless you ask for names."""
    return blueprints.answer_if_changed(
        _voters,
        (campaign.key, names),
        campaign.stamp(),
        partial(campaign.voters.rows, names=names),
        lambda rows: {"n_voters": len(rows), "voters": rows[offset : offset + limit]},
        *(offset, limit, names),
    )


@blueprint.get("/<key>/voters/<voter>/exclusion", name="previewExclusion")
@blueprint.response(200, ExclusionAnswer)
def preview(campaign: ledger.Campaign, voter: str) -> Any:
    """Show how excluding a voter, or including one again, would change the ranking by strengths."""
    state().pool.pass_on()
    return {"preview": replace(campaign.voters.with_key(voter).preview_exclusion(), voter=voter)}


@blueprint.post("/<key>/voters/<voter>/exclude", name="excludeVoter")
@blueprint.arguments(blueprints.ReasonRequest)
@blueprint.response(204)
def exclude(campaign: ledger.Campaign, voter: str, reason: str) -> None:
    """Exclude a voter's votes from all scores from now on; closed ballots keep them, and no vote is deleted."""
    campaign.voters.with_key(voter).exclude(reason)


@blueprint.post("/<key>/voters/<voter>/include", name="includeVoter")
@blueprint.arguments(blueprints.ReasonRequest)
@blueprint.response(204)
def include(campaign: ledger.Campaign, voter: str, reason: str) -> None:
    """Include the votes of an excluded voter again."""
    campaign.voters.with_key(voter).include(reason)


@blueprint.post("/<key>/voters/<voter>/withdraw", name="withdrawVoter")
@blueprint.arguments(blueprints.NoFields)
@blueprint.response(200, WithdrawalAnswer)
def withdraw(campaign: ledger.Campaign, voter: str) -> Any:
    """Withdraw a voter on request: personal data are erased, and votes in open ballots no longer count.

    Votes in closed ballots stay, under a key that cannot be traced to the person. This cannot be undone.
    """
    return {"voided": campaign.voters.with_key(voter).leave()}


@blueprint.post("/<key>/voters/<voter>/ask-others", name="askOthers")
@blueprint.arguments(blueprints.NoFields)
@blueprint.response(200, WithdrawalAnswer)
def ask_others(campaign: ledger.Campaign, voter: str) -> Any:
    """Ask other voters the comparisons of an excluded voter, in open ballots.

    The excluded voter's answers are voided. This cannot be undone: including the voter again does not restore them.
    """
    return {"voided": campaign.voters.with_key(voter).ask_others()}


@of_platform.get("/<key>/participants", name="listParticipants")
@of_platform.doc(**UNLESS_CHANGED)
@of_platform.response(200, ParticipantsAnswer)
def read_participants(campaign: ledger.Campaign) -> Any:
    """Return participants in order of arrival, by their platform ids, which are personal data.

    The decision concerns participants who received the completion code: "approve" while their votes count, "reject"
    once they are excluded. Other participants have no submission to decide on.
    """
    return blueprints.answer_if_changed(
        _participants, campaign.key, campaign.stamp(), campaign.voters.of_platform, lambda voters: voters
    )


@of_platform.get("/<key>/participants/<decision>", name="exportParticipants")
@of_platform.arguments(StudyQuery, location="query")
@of_platform.doc(responses={200: {"content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}})
@of_platform.response(200)
def export(campaign: ledger.Campaign, decision: str, study: str | None = None) -> Response:
    """Return the ids to approve, or those to reject, one per line and without a header, as platforms expect."""
    if decision not in ledger.DECISIONS:
        detail = f"there is no list of this name; there are {' and '.join(ledger.DECISIONS)}"
        raise Problem(404, detail, kind="no-such-list")
    rows = [row for row in campaign.voters.of_platform().participants if row.decision == decision]
    ids = [f"{row.participant}\n" for row in rows if study in (None, row.study)]
    return download(f"{decision}.csv", "".join(ids).encode(), campaign)
