"""The JSON resources, a file each."""

from service.collect.api import operations, sessions, sheets, votes

BLUEPRINTS = (
    sessions.sessions,
    sessions.blueprint,
    sheets.blueprint,
    votes.blueprint,
    operations.probes,
    operations.measures,
)
