"""Serve the JSON resources, one file each: first those of voters, then those of organisers."""

from service.collect.api import ballots, campaigns, links, results, voters, voting, voting_pages
from service.collect.state import collecting
from service.openapi.operations import operations


def _check_ledger() -> None:
    collecting().ledger.check()


BLUEPRINTS = (
    *(voting.sessions, voting.voter, voting.sheets, voting.votes),
    *(links.browsers, campaigns.creation, campaigns.blueprint, voting_pages.blueprint, links.blueprint, links.tokens),
    *(campaigns.items, ballots.blueprint, ballots.monitoring, voters.blueprint, voters.of_platform),
    *(results.blueprint, results.files),
    *operations(_check_ledger, when="if the ledger does not answer, and before a stop"),
)
