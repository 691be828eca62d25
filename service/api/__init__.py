"""Serve the resources: their routes, and the library calls behind them; plans, ballots and scores share a file.

`work` estimates the cost of each request; `ballots` also finds labels for `strengths`.
"""

from service.api import (
    ballots,
    correlations,
    evaluations,
    jobs,
    leaderboards,
    pairings,
    simulations,
    strengths,
    weights,
)
from service.openapi.operations import operations

BLUEPRINTS = (
    correlations.blueprint,
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
    *operations(lambda: None, when="once the service is about to stop"),
)
