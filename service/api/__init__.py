"""Serve the resources, those of one kind in one file: request schema -> view, with one library call -> answer schema.

A worker's thread compares two short rankings; the pool answers all other requests with a body.
"""

from flask import g, request

from service.api import ballots, correlations, evaluations, jobs, leaderboards, simulations, strengths
from service.http.state import state
from service.openapi import document

RESOURCES = (
    *(correlations.blueprint, correlations.rankings, leaderboards.blueprint, evaluations.blueprint),
    *(correlations.weights, ballots.pairings, ballots.plans, ballots.ballots, ballots.scores),
    *(strengths.blueprint, strengths.comparisons, simulations.blueprint, jobs.blueprint),
)
BLUEPRINTS = (*RESOURCES, document.probes, document.measures)


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


for blueprint in RESOURCES:
    blueprint.before_request(pass_on_unless_light)
