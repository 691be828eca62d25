"""Serve the probes, the metrics and the page to try the service, which every application has at its root."""

from importlib.resources import files
from typing import Any

from flask import Flask, Response, abort, redirect, request, send_from_directory

from rankcorr import __version__
from service.http import metrics
from service.http.state import settings, state
from service.openapi.document import Blueprint
from service.schemas.shapes import NUMBER, TEXT, Answer, map_of


class LiveAnswer(Answer):
    """The process answers."""

    status = TEXT(const="ok")


class ReadyAnswer(Answer):
    """The service accepts requests, within these limits."""

    status = TEXT(const="ok")
    version = TEXT
    limits = map_of(NUMBER)


probes = Blueprint("health", __name__, url_prefix="/health", errors=(500, 503), description="Probes")
measures = Blueprint("metrics", __name__, url_prefix="/metrics", errors=(401, 404, 500), description="For Prometheus")


@probes.get("/live", name="checkLive")
@probes.response(200, LiveAnswer)
def live() -> dict[str, str]:
    """Confirm that the process answers."""
    return {"status": "ok"}


@probes.get("/ready", name="checkReady")
@probes.response(200, ReadyAnswer)
def ready() -> dict[str, Any]:
    """Report readiness and the limits on requests; 503 before a stop, and while the service lacks what it needs."""
    state().check()
    limits = {name: value for name, value, _ in settings().table() if name.startswith("RANKCORR_MAX")}
    return {"status": "ok", "version": __version__, "limits": limits}


@measures.get("", name="readMetrics")
@measures.response(200, TEXT, content_type="text/plain")
def prometheus() -> Response:
    """Return counts and times of all workers if the settings let this caller read them; 404 if metrics are off."""
    shared = state()
    if shared.settings.metrics == "off":
        abort(404)
    if shared.settings.metrics == "token":
        shared.tokens.check(request)
    return metrics.exposition()


def register_page(app: Flask, *, is_root: bool = True) -> None:
    """Serve Swagger UI at /docs, with files of flask-swagger-ui; redirect the root there unless it has a page."""
    scripts = str(files("flask_swagger_ui") / "dist")
    page_folder = str(files("service.openapi") / "static")
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    text = (files("service.openapi") / "static" / "docs.html").read_bytes()

    def page() -> Response:
        return Response(text, headers={"Content-Security-Policy": policy}, content_type="text/html; charset=utf-8")

    def asset(name: str) -> Response:
        return send_from_directory(scripts if name.startswith("swagger-ui") else page_folder, name, max_age=86_400)

    if is_root:
        app.add_url_rule("/", "root", lambda: redirect("/docs"))
    app.add_url_rule("/docs", "docs", page)
    app.add_url_rule("/docs/<name>", "docs_asset", asset)
