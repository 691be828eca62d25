"""Serve probes and metrics at the root of each application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, request

from rankcorr import __version__
from service.http import metrics
from service.http.state import settings, state
from service.openapi.blueprint import Blueprint, operation
from service.schemas.base import Answer
from service.schemas.fields import Dumped
from service.schemas.shapes import NUMBER, TEXT

__all__ = ["LiveAnswer", "ReadyAnswer", "operations"]


class LiveAnswer(Answer):
    """The process answers."""

    status = Dumped({"type": "string", "const": "ok"})


class ReadyAnswer(LiveAnswer):
    """The service accepts requests, within these limits."""

    version = Dumped(TEXT)
    limits = Dumped({"type": "object", "additionalProperties": NUMBER})


def operations(check: Callable[[], None], *, when: str) -> tuple[Blueprint, Blueprint]:
    """Make the blueprints of /health and /metrics.

    Parameters
    ----------
    check : callable
        Raises a problem with status 503 if the application lacks something it needs.
    when : str
        When this happens, for the document.
    """
    probes = Blueprint("health", __name__, url_prefix="/health", errors=(500, 503), description="Probes")
    measures = Blueprint(
        "metrics", __name__, url_prefix="/metrics", errors=(401, 404, 500), description="For Prometheus"
    )

    @probes.route("/live", methods=["GET"])
    @operation("checkLive")
    @probes.response(200, LiveAnswer)
    def live() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    def ready() -> dict[str, Any]:
        state().stopping.check()
        check()
        limits = {name: value for name, value, _ in settings().table() if name.startswith("RANKCORR_MAX")}
        return {"status": "ok", "version": __version__, "limits": limits}

    ready.__doc__ = f"Say that requests are welcome, and what the limits are; 503 {when}."
    answer_ready = operation("checkReady")(probes.response(200, ReadyAnswer)(ready))
    probes.route("/ready", methods=["GET"])(answer_ready)

    @measures.route("", methods=["GET"])
    @operation("readMetrics")
    @measures.response(200, TEXT, content_type="text/plain")
    def prometheus() -> Response:
        """Return counts and times of all workers, if the settings allow it for this caller; 404 if metrics are off."""
        state().check_metrics(request)
        return metrics.exposition()

    return probes, measures
