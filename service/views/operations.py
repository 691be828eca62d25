"""Probes and metrics, at the root."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, abort, current_app, request

from rankcorr import __version__
from service import metrics
from service.fields import settings

blueprint = Blueprint("operations", __name__)


@blueprint.get("/health/live")
def live() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@blueprint.get("/health/ready")
def ready() -> dict[str, Any]:
    """Say that requests are welcome, and what the limits are."""
    return {
        "status": "ok",
        "version": __version__,
        "limits": {name: value for name, value, _ in settings().table() if name.startswith("RANKCORR_MAX")},
    }


@blueprint.get("/metrics")
def prometheus() -> Response:
    """Metrics, for whom the settings allow it."""
    if settings().metrics == "off":
        abort(404)
    if settings().metrics == "token":
        current_app.extensions["rankcorr"].tokens.check(request)
    return metrics.exposition()
