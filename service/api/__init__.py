"""The endpoints: a view is a schema in, one call, a schema out."""

from service.api import ballots, correlations, leaderboards, operations, plans, scores, simulations, weights

BLUEPRINTS = (
    correlations.blueprint,
    leaderboards.blueprint,
    weights.blueprint,
    plans.blueprint,
    ballots.blueprint,
    scores.blueprint,
    simulations.blueprint,
    operations.probes,
    operations.measures,
)
