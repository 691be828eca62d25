"""Serve the resources, one file each: their routes, and the library calls behind them.

Modules that several resources share: `weighing` translates options for the library, `work` estimates the cost,
`ballots` also finds labels for `scores`, and `strengths` also fits for `comparisons`.
"""

from service.api import (
    ballots,
    comparisons,
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
    comparisons.blueprint,
    simulations.blueprint,
    *operations(lambda: None, when="from the moment on when the service is to stop"),
)
