"""Probes and metrics, at the root."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from rankcorr import __version__
from service.collect.state import collecting
from service.http import metrics
from service.http.state import settings, state
from service.openapi.blueprint import Blueprint, operation
from service.schemas.operations import LiveAnswer, ReadyAnswer

probes = Blueprint("health", __name__, url_prefix="/health", errors=(500, 503), description="Probes")
measures = Blueprint("metrics", __name__, url_prefix="/metrics", errors=(401, 404, 500), description="For Prometheus")


@probes.route("/live", methods=["GET"])
@operation("checkLive")
@probes.response(200, LiveAnswer)
def live() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@probes.route("/ready", methods=["GET"])
@operation("checkReady")
@probes.response(200, ReadyAnswer)
def ready() -> dict[str, Any]:
    """Say that requests are welcome, and what the limits are; 503 without the ledger, and before a stop."""
    state().stopping.check()
    collecting().own_ledger.check()
    limits = {name: value for name, value, _ in settings().table() if name.startswith("RANKCORR_MAX")}
    return {"status": "ok", "version": __version__, "limits": limits}


@measures.route("", methods=["GET"])
@operation("readMetrics")
@measures.response(200, {"type": "string"}, content_type="text/plain")
def prometheus() -> Response:
    """Counts and times of all workers, for whom the settings allow it; 404 where they are off."""
    state().check_metrics(request)
    return metrics.exposition()
