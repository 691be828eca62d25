"""The application: settings -> hooks around every request -> the views."""

from __future__ import annotations

from typing import Any

from flask import Flask, Request, Response, g, request
from flask_cors import CORS
from werkzeug.middleware.proxy_fix import ProxyFix

from adaptive.errors import AdaptiveError
from rankcorr import RankingError
from service.api import BLUEPRINTS
from service.http import deadline, logs, metrics
from service.http.access import secured
from service.http.body import received
from service.http.json_body import OrjsonProvider
from service.http.problems import Problem, from_library
from service.http.state import State, state
from service.http.transfer import transferred
from service.openapi.document import CONFIGURATION, Api
from service.openapi.page import register_page
from service.settings import Settings


def app_of(chosen: Settings) -> Flask:
    """Make the application of these settings."""
    app = Flask(__name__, static_folder=None)
    app.json = OrjsonProvider(app)
    app.config.update(CONFIGURATION, MAX_CONTENT_LENGTH=chosen.limits.max_body_bytes)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False  # a redirection is not one of the documented answers
    State.of(chosen).attach(app)
    api = Api(app)
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    register_page(app)
    _add_hooks(app)
    if chosen.cors_origins:
        CORS(
            app,
            resources={r"/v1/.*": {"origins": list(chosen.cors_origins)}},
            methods=["GET", "HEAD", "POST"],
            expose_headers=[logs.ID_HEADER, logs.TRACE_HEADER],
        )
    if chosen.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=chosen.trusted_proxies)  # type: ignore[method-assign]
    return app


def count_client(request: Request, shared: State) -> None:
    """Check the token of a request, and count it for the rate; wrong ones too, or they could be guessed at any rate.

    Raises
    ------
    Problem
        401 without a token that the service knows, 429 above the rate.
    """
    address = request.remote_addr or "unknown"
    try:
        client = shared.tokens.check(request) or address
    except Problem:
        if shared.rate is not None:
            shared.rate.count(address)
        raise
    if shared.rate is not None:
        shared.rate.count(client)


def _add_hooks(app: Flask) -> None:
    @app.before_request
    def admit() -> None:
        logs.begin(request)
        metrics.begin()
        g.counted = True
        if request.path.startswith("/v1/") and request.method != "OPTIONS":
            shared = state()
            count_client(request, shared)
            if request.url_rule is None:  # a path or a method that is not served
                return
            if request.method == "POST":
                g.body = received(request)  # before its turn: a client that sends slowly keeps nobody waiting
            shared.gate.enter()
            g.gate = shared.gate
            deadline.of_request()  # the work begins

    @app.after_request
    def finish(response: Response) -> Response:
        transferred(request, response)
        metrics.count(request, response)
        return logs.end(request, secured(response))

    @app.teardown_request
    def release(_error: BaseException | None) -> None:
        if g.pop("counted", False):
            metrics.end()
        if (gate := g.pop("gate", None)) is not None:
            gate.leave()

    @app.errorhandler(Problem)
    def answer(problem: Problem) -> Response:
        return problem.response()

    @app.errorhandler(RankingError)
    @app.errorhandler(AdaptiveError)
    def refuse(error: Any) -> Response:
        return from_library(error).response()

    @app.errorhandler(Exception)
    def fail(_error: Exception) -> Response:
        # The details go to the log only, under the id that the client sees.
        logs.log.exception("request %s failed", g.get("request_id", "?"))
        return Problem(500, "an unforeseen error; the log of the service has it under the request_id").response()
