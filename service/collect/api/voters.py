"""Serve /v1/campaigns/{key}/voters: list voters, exclude or include them, and erase those who withdraw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptive.ledger import VoterRow
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import ExclusionAnswer, ReasonRequest, VotersAnswer, VotersQuery, WithdrawalAnswer
from service.collect.schemas.voting import NoFields
from service.openapi.blueprint import operation

blueprint = of_organisers("voters", __name__, "Who votes")

_voters = Remembered(4)


@blueprint.route("/<key>/voters", methods=["GET"])
@blueprint.arguments(VotersQuery, location="query")
@operation("listVoters")
@blueprint.response(200, VotersAnswer)
def read(query: dict[str, Any], key: str) -> Any:
    """Return the voters in order of arrival, by random keys unless you ask for names."""
    campaign, names = organiser(key), query["names"]
    stamp = campaign.stamp()

    start, most = query["offset"], query["limit"]

    def part(found: tuple[VoterRow, ...]) -> dict[str, Any]:
        return {"n_voters": len(found), "voters": found[start : start + most]}

    return tagged(_voters, (key, names), stamp, lambda: campaign.voters.rows(names=names), part, start, most, names)


@blueprint.route("/<key>/voters/<voter>/exclusion", methods=["GET"])
@operation("previewExclusion")
@blueprint.response(200, ExclusionAnswer)
def preview(key: str, voter: str) -> Any:
    """Show how excluding a voter, or including one again, would change the ranking by strengths."""
    seen = organiser(key).voters.with_key(voter).preview_exclusion()
    return {"preview": replace(seen, voter=voter)}


@blueprint.route("/<key>/voters/<voter>/exclude", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("excludeVoter")
@blueprint.response(204)
def exclude(request: dict[str, Any], key: str, voter: str) -> None:
    """Exclude a voter's votes from all scores from now on; closed ballots keep them, and no vote is deleted."""
    organiser(key).voters.with_key(voter).exclude(request["reason"])


@blueprint.route("/<key>/voters/<voter>/include", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("includeVoter")
@blueprint.response(204)
def include(request: dict[str, Any], key: str, voter: str) -> None:
    """Include the votes of an excluded voter again."""
    organiser(key).voters.with_key(voter).include(request["reason"])


@blueprint.route("/<key>/voters/<voter>/withdraw", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("withdrawVoter")
@blueprint.response(200, WithdrawalAnswer)
def withdraw(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Withdraw a voter on request: personal data are erased, and votes in open ballots no longer count.

    Votes in closed ballots stay, under a key that cannot be traced to the person. This cannot be undone.
    """
    return {"voided": organiser(key).voters.with_key(voter).leave()}


@blueprint.route("/<key>/voters/<voter>/ask-others", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("askOthers")
@blueprint.response(200, WithdrawalAnswer)
def ask_of_others(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Ask other voters the comparisons of an excluded voter, in open ballots.

    The excluded voter's answers are voided. This cannot be undone: including the voter again does not restore them.
    """
    return {"voided": organiser(key).voters.with_key(voter).ask_others()}
