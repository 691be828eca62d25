"""What happens around every request of an application: id, log, metrics, turn, and errors in one format."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final

from flask import Flask, Request, Response, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from adaptive.errors import AdaptiveError
from rankcorr import RankingError
from service.http import deadline, logs, metrics
from service.http.access import secured
from service.http.body import received
from service.http.json_body import OrjsonProvider
from service.http.problems import Problem
from service.http.settings import HttpSettings
from service.http.state import State, state
from service.http.transfer import transferred

API: Final = "/v1/"
_WITH_BODY: Final = ("POST", "PUT")


def new_app(name: str, chosen: HttpSettings, **options: Any) -> Flask:
    """Make an application without views; `options` go to Flask."""
    app = Flask(name, **options)
    app.json = OrjsonProvider(app)
    app.config.update(MAX_CONTENT_LENGTH=chosen.limits.max_body_bytes)
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False  # a redirection is not one of the documented answers
    State.of(chosen).attach(app)
    if chosen.trusted_proxies:
        n_proxies = chosen.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n_proxies, x_proto=n_proxies)  # type: ignore[method-assign]
    return app


def add_hooks(
    app: Flask,
    *,
    admit: Callable[[State, Request], None],
    refuse: Callable[[Any], Problem],
    turns: tuple[str, ...] = (API,),
    streamed: AbstractSet[str] = frozenset(),
    tagged: AbstractSet[str] = frozenset(),
    headers: Callable[[Request, Response], None] | None = None,
) -> None:
    """Do what every request needs before its view and after it.

    Parameters
    ----------
    app : Flask
    admit : callable
        Raises a problem for a request to /v1 that may not be made.
    refuse : callable
        The problem for an error of the libraries.
    turns : tuple of str
        How the paths begin whose requests take a turn, and wait for it where all are taken.
    streamed : set of str
        Routes whose views read the body themselves, while they answer, and take a turn for each part of the work.
    tagged : set of str
        Routes whose answer is left out where the client has it already.
    headers : callable, optional
        Adds headers of the application to an answer.
    """

    @app.before_request
    def begin() -> None:
        logs.begin(request)
        metrics.begin()
        g.counted = True
        if not request.path.startswith(turns) or request.method == "OPTIONS":
            return
        shared = state()
        if is_api := request.path.startswith(API):
            admit(shared, request)
        if request.url_rule is None:  # a path or a method that is not served
            return
        if request.url_rule.rule in streamed:
            return
        if is_api and request.method in _WITH_BODY:
            g.body = received(request)  # before its turn: a client that sends slowly keeps nobody waiting
        shared.gate.enter()
        g.gate = shared.gate
        deadline.of_request()  # the work begins

    @app.after_request
    def finish(response: Response) -> Response:
        if headers is not None:
            headers(request, response)
        transferred(request, response, tagged=tagged)
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
    def refused(error: Any) -> Response:
        return refuse(error).response()

    @app.errorhandler(Exception)
    def fail(_error: Exception) -> Response:
        # The details go to the log only, under the id that the client sees.
        logs.log.exception("request %s failed", g.get("request_id", "?"))
        return Problem(500, "an unforeseen error; the log of the service has it under the request_id").response()
