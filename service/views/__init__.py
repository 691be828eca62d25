"""The endpoints: a view is a schema in, one call, a schema out."""

from service.views import correlations, weights

BLUEPRINTS = (correlations.blueprint, weights.blueprint)
