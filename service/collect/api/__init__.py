"""The JSON resources, a file each."""

from service.collect.api import operations

BLUEPRINTS = (
    operations.probes,
    operations.measures,
)
