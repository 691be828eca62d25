"""Serve the JSON resources, one file each: first those of voters, then those of organisers."""

from service.collect.api import ballots, campaigns, results, voters, voting
from service.openapi import document

BLUEPRINTS = (
    *(voting.sessions, voting.voter, voting.sheets, voting.votes),
    *(voters.browsers, campaigns.creation, campaigns.blueprint, campaigns.voters_pages),
    *(voters.ways_in, voters.tokens, campaigns.items),
    *(ballots.blueprint, ballots.monitoring, voters.blueprint, voters.of_platform),
    *(results.blueprint, results.files),
    *(document.probes, document.measures),
)
