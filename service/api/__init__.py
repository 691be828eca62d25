"""Serve the resources: their routes, and the library calls behind them; plans, ballots and scores share a file.

A worker's thread compares two short rankings; the pool answers all other requests with a body. `ballots` also finds
labels for `strengths`.
"""

from flask import g, request

from service.api import (
    ballots,
    correlations,
    evaluations,
    jobs,
    leaderboards,
    pairings,
    rankings,
    simulations,
    strengths,
    weights,
)
from service.http.state import state
from service.openapi.operations import operations

BLUEPRINTS = (
    correlations.blueprint,
    rankings.blueprint,
    leaderboards.blueprint,
    evaluations.blueprint,
    weights.blueprint,
    pairings.blueprint,
    ballots.plans,
    ballots.ballots,
    ballots.scores,
    strengths.blueprint,
    strengths.comparisons,
    simulations.blueprint,
    jobs.blueprint,
    *operations(lambda: None, when="once the service is about to stop, or the processes for heavy requests have ended"),
)


def pass_on_unless_light() -> None:
    """Pass a request with a body on before it is parsed, unless it may be a short correlation."""
    if request.method == "POST":
        is_light = (
            request.endpoint == "correlations.correlate"
            and len(g.body) <= correlations.MOST_LIGHT_BYTES
            and g.body.count(b",") <= correlations.MOST_LIGHT_VALUES
        )
        if not is_light:
            state().pool.pass_on()


for blueprint in BLUEPRINTS:
    blueprint.before_request(pass_on_unless_light)
