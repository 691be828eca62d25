"""/v1/campaigns/{key}/voters: who votes, whom to leave out, and who leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptive.ledger import VoterRow
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import (
    ExclusionAnswer,
    ReasonRequest,
    VotersAnswer,
    VotersQuery,
    WithdrawalAnswer,
)
from service.collect.schemas.voting import NoFields
from service.openapi.blueprint import operation

blueprint = of_organisers("voters", __name__, "Who votes")

_voters = Remembered(4)


@blueprint.route("/<key>/voters", methods=["GET"])
@blueprint.arguments(VotersQuery, location="query")
@operation("listVoters")
@blueprint.response(200, VotersAnswer)
def read(query: dict[str, Any], key: str) -> Any:
    """Voters, in the order in which they came; by their random keys, unless names are asked for."""
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
    """Say what leaving a voter out would change in the ranking by strengths, or taking one back in."""
    seen = organiser(key).voters.with_key(voter).preview_exclusion()
    return {"preview": replace(seen, voter=voter)}


@blueprint.route("/<key>/voters/<voter>/exclude", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("excludeVoter")
@blueprint.response(204)
def exclude(request: dict[str, Any], key: str, voter: str) -> None:
    """Leave a voter's votes out of all scores from now on; ballots that are closed keep theirs, and no vote is lost."""
    organiser(key).voters.with_key(voter).exclude(request["reason"])


@blueprint.route("/<key>/voters/<voter>/include", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("includeVoter")
@blueprint.response(204)
def include(request: dict[str, Any], key: str, voter: str) -> None:
    """Take a voter's votes back in."""
    organiser(key).voters.with_key(voter).include(request["reason"])


@blueprint.route("/<key>/voters/<voter>/withdraw", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("withdrawVoter")
@blueprint.response(200, WithdrawalAnswer)
def withdraw(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Let a voter go who asks for it: personal data are erased, and votes of open ballots do not count any more.

    Votes of closed ballots stay, under a key that nobody can trace. This cannot be undone.
    """
    return {"voided": organiser(key).voters.with_key(voter).leave()}


@blueprint.route("/<key>/voters/<voter>/ask-others", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("askOthers")
@blueprint.response(200, WithdrawalAnswer)
def ask_of_others(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Ask the comparisons of a voter who is left out of others, in ballots that are open.

    The answers so far are voided, which cannot be undone: they do not count again if the voter is taken back in.
    """
    return {"voided": organiser(key).voters.with_key(voter).ask_others()}
