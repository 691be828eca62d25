"""Prometheus metrics, of all workers together where PROMETHEUS_MULTIPROC_DIR is set."""

from __future__ import annotations

import os
import time

from flask import Request, Response, g
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from service.logs import route

_METHODS = frozenset(("GET", "HEAD", "POST", "OPTIONS"))

REQUESTS = Counter("rankcorr_requests_total", "Requests by route and status", ["method", "route", "status"])
SECONDS = Histogram(
    "rankcorr_request_seconds",
    "Time to answer",
    ["route"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
ITEMS = Counter("rankcorr_items_total", "Ranked items received", ["route"])
IN_PROGRESS = Gauge("rankcorr_requests_in_progress", "Requests that are being answered", multiprocess_mode="livesum")


def count(request: Request, response: Response) -> Response:
    """Count an answered request."""
    method = request.method if request.method in _METHODS else "other"
    REQUESTS.labels(method, route(request), str(response.status_code)).inc()
    SECONDS.labels(route(request)).observe(time.perf_counter() - g.started)
    if g.get("n_items"):
        ITEMS.labels(route(request)).inc(g.n_items)
    return response


def exposition() -> Response:
    """All metrics as Prometheus reads them."""
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
