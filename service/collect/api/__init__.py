"""The JSON resources, a file each: those of voters, then those of organisers."""

from service.collect.api import (
    ballots,
    campaigns,
    exports,
    items,
    links,
    operations,
    organisers,
    pages,
    progress,
    results,
    sessions,
    sheets,
    voters,
    votes,
)

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
    items.blueprint,
    ballots.blueprint,
    progress.blueprint,
    voters.blueprint,
    results.blueprint,
    exports.blueprint,
    operations.probes,
    operations.measures,
)
