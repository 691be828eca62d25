"""The resources, a file each: its routes, and the library calls behind them.

What two of them share: `weighing` translates options for the library, `work` estimates what they cost, and `ballots`
finds labels for `scores` too, and `strengths` fits for `comparisons`.
"""

from service.api import (
    ballots,
    comparisons,
    correlations,
    leaderboards,
    operations,
    pairings,
    plans,
    scores,
    simulations,
    strengths,
    weights,
)

BLUEPRINTS = (
    correlations.blueprint,
    leaderboards.blueprint,
    weights.blueprint,
    pairings.blueprint,
    plans.blueprint,
    ballots.blueprint,
    scores.blueprint,
    strengths.blueprint,
    comparisons.blueprint,
    simulations.blueprint,
    operations.probes,
    operations.measures,
)
