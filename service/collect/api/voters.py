"""/v1/campaigns/{key}/voters: who votes, whom to leave out, and who leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptive.ledger import Campaign
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.participation import ask_others, leave
from adaptive.ledger.quality import exclusion_preview
from adaptive.ledger.stamps import campaign_stamp
from adaptive.ledger.voter_rows import VoterRow, voter_of_key, voter_rows
from adaptive.ledger.voters import set_excluded
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import tagged
from service.collect.remembered import Remembered
from service.collect.schemas.answers import (
    ExclusionAnswer,
    ReasonRequest,
    VotersAnswer,
    VotersQuery,
    WithdrawalAnswer,
)
from service.collect.schemas.voting import NoFields
from service.http.problems import Problem
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
    stamp = campaign.database.read(lambda c: campaign_stamp(c, campaign.info))

    start, most = query["offset"], query["limit"]

    def rows() -> tuple[VoterRow, ...]:
        return campaign.database.read(lambda c: voter_rows(c, campaign.info, names=names))

    def part(found: tuple[VoterRow, ...]) -> dict[str, Any]:
        return {"n_voters": len(found), "voters": found[start : start + most]}

    return tagged(_voters, (key, names), stamp, rows, part, start, most, names)


@blueprint.route("/<key>/voters/<voter>/exclusion", methods=["GET"])
@operation("previewExclusion")
@blueprint.response(200, ExclusionAnswer)
def preview(key: str, voter: str) -> Any:
    """Say what leaving a voter out would change in the ranking by strengths, or taking one back in."""
    campaign = organiser(key)
    voter_id = known(campaign, voter)
    seen = campaign.database.read(lambda c: exclusion_preview(c, campaign.info, voter_id))
    return {"preview": replace(seen, voter=voter)}


@blueprint.route("/<key>/voters/<voter>/exclude", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("excludeVoter")
@blueprint.response(204)
def exclude(request: dict[str, Any], key: str, voter: str) -> None:
    """Leave a voter's votes out of all scores from now on; ballots that are closed keep theirs, and no vote is lost."""
    _set(organiser(key), voter, request["reason"], excluded=True)


@blueprint.route("/<key>/voters/<voter>/include", methods=["POST"])
@blueprint.arguments(ReasonRequest)
@operation("includeVoter")
@blueprint.response(204)
def include(request: dict[str, Any], key: str, voter: str) -> None:
    """Take a voter's votes back in."""
    _set(organiser(key), voter, request["reason"], excluded=False)


@blueprint.route("/<key>/voters/<voter>/withdraw", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("withdrawVoter")
@blueprint.response(200, WithdrawalAnswer)
def withdraw(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Let a voter go who asks for it: personal data are erased, and votes of open ballots do not count any more.

    Votes of closed ballots stay, under a key that nobody can trace. This cannot be undone.
    """
    campaign = organiser(key)
    voter_id = known(campaign, voter)
    return {"voided": campaign.run(lambda connection: leave(connection, campaign.info, voter_id))}


@blueprint.route("/<key>/voters/<voter>/ask-others", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("askOthers")
@blueprint.response(200, WithdrawalAnswer)
def ask_of_others(_request: dict[str, Any], key: str, voter: str) -> Any:
    """Ask the comparisons of a voter who is left out of others, in ballots that are open.

    The answers so far are voided, which cannot be undone: they do not count again if the voter is taken back in.
    """
    campaign = organiser(key)
    voter_id = known(campaign, voter)
    return {"voided": campaign.run(lambda connection: ask_others(connection, campaign.info, voter_id))}


def known(campaign: Campaign, voter: str) -> int:
    """Id of a voter.

    Raises
    ------
    Problem
        404.
    """
    try:
        return campaign.database.read(lambda c: voter_of_key(c, campaign.info, voter))
    except LedgerError as error:
        raise Problem(404, str(error), kind="no-such-voter") from error


def _set(campaign: Campaign, voter: str, reason: str, *, excluded: bool) -> None:
    voter_id = known(campaign, voter)
    campaign.run(lambda connection: set_excluded(connection, campaign.info, voter_id, excluded, reason))
