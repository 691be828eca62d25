"""The resources, a file each: its routes, and the library calls behind them.

What two of them share: `weighing` translates options for the library, `work` estimates what they cost, and `ballots`
finds labels for `scores` too, and `strengths` fits for `comparisons`.
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
