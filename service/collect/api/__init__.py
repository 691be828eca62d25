"""Serve the JSON resources, one file each: first those of voters, then those of organisers."""

from service.collect.api import ballots, campaigns, links, results, voters, voting, voting_pages
from service.openapi import operations

BLUEPRINTS = (
    *(voting.sessions, voting.voter, voting.sheets, voting.votes),
    *(links.browsers, campaigns.creation, campaigns.blueprint, voting_pages.blueprint, links.blueprint, links.tokens),
    *(campaigns.items, ballots.blueprint, ballots.monitoring, voters.blueprint, voters.of_platform),
    *(results.blueprint, results.files),
    *(operations.probes, operations.measures),
)
