"""Serve the JSON resources, one file each: first those of voters, then those of organisers."""

from service.collect.api import (
    ballots,
    campaigns,
    exports,
    items,
    links,
    organisers,
    pages,
    participants,
    progress,
    results,
    sessions,
    sheets,
    tokens,
    voters,
    votes,
)
from service.collect.state import collecting
from service.openapi.operations import operations


def _check_ledger() -> None:
    collecting().own_ledger.check()


BLUEPRINTS = (
    sessions.sessions,
    sessions.blueprint,
    sheets.blueprint,
    votes.blueprint,
    organisers.blueprint,
    campaigns.making,
    campaigns.blueprint,
    pages.blueprint,
    links.blueprint,
    tokens.blueprint,
    items.blueprint,
    ballots.blueprint,
    progress.blueprint,
    voters.blueprint,
    participants.blueprint,
    results.blueprint,
    exports.blueprint,
    *operations(_check_ledger, when="without the ledger, and before a stop"),
)
