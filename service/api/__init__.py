"""Serve the resources, one file each: their routes, and the library calls behind them.

`work` estimates the cost of each request; `ballots` also finds labels for `scores` and `strengths`.
"""

from service.api import (
    ballots,
    correlations,
    evaluations,
    leaderboards,
    pairings,
    plans,
    scores,
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
    plans.blueprint,
    ballots.blueprint,
    scores.blueprint,
    strengths.blueprint,
    strengths.comparisons,
    simulations.blueprint,
    *operations(lambda: None, when="from the moment on when the service is to stop"),
)
