"""Do what every request needs: id, log, metrics, choice of the process that answers, and one format for errors.

The thread that reads a request also answers it, unless the work takes long. Then a separate process does the work
(`answer_alone`), while the thread waits and still runs the hooks before and after the request.

Compression, and limits on the rate of requests, belong to the proxy in front (service/deploy).
"""

import io
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final

from flask import Flask, Request, Response, g, request
from werkzeug.http import generate_etag
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import IntegerConverter

from adaptive.errors import AdaptiveError
from rankcorr import RankingError
from service.environment import variable
from service.http import logs, metrics
from service.http.body import OrjsonProvider, read_body
from service.http.jobs import RETRY_SECONDS
from service.http.pool import Heavy
from service.http.problems import WITH_BODY, Problem
from service.http.state import ALONE, EXTENSION, State, is_job, state

API: Final = "/v1/"
# Browsers do not guess types, frame pages or send referrers.
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class _Whole(IntegerConverter):
    """A whole number in a path; the converter of werkzeug takes the digits of any script."""

    regex = "[0-9]+"


def new_app(name: str, shared: State, **options: Any) -> Flask:
    """Make an application without views, with its state; `options` are passed to Flask."""
    app = Flask(name, **options)
    app.json = OrjsonProvider(app)
    app.config.update(MAX_CONTENT_LENGTH=shared.settings.limits.max_body_bytes)
    app.url_map.converters["int"] = _Whole
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False  # the documented answers include no redirect
    app.extensions[EXTENSION] = shared
    if n_proxies := shared.settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n_proxies, x_proto=n_proxies)  # type: ignore[method-assign]
    return app


def add_hooks(
    app: Flask,
    *,
    admit: Callable[[], str],
    refuse: Callable[[Any], Problem],
    tagged: AbstractSet[str] = frozenset(),
    headers: Callable[[Request, Response], None] | None = None,
    screen: Callable[[], None] | None = None,
) -> None:
    """Add the hooks that run before and after the view of every request.

    Parameters
    ----------
    app : Flask
    admit : callable
        Returns the client's name for the current request to /v1; raises a problem if it is not allowed.
    refuse : callable
        Returns the problem for an error of the libraries.
    tagged : set of str
        Routes that answer 304 without a body if the client already has the answer.
    headers : callable, optional
        Adds the application's own headers to an answer.
    screen : callable, optional
        Raises a problem for a current request that is not meant for this application, whatever its path.
    """

    @app.before_request
    def begin() -> Response | None:
        logs.begin(request)
        is_alone = ALONE in request.environ
        if not is_alone:
            metrics.begin()
            g.counted = True
            if screen is not None:
                screen()
        if not request.path.startswith(API) or request.method == "OPTIONS":
            return None
        if not is_alone:
            g.client = admit()
        if request.url_rule is None:  # no route serves this path or method
            return None
        g.body = read_body(request) if request.method in WITH_BODY else b""
        return None

    @app.after_request
    def finish(response: Response) -> Response:
        if headers is not None:
            headers(request, response)
        if response.status_code == 200 and request.url_rule is not None and request.url_rule.rule in tagged:
            tag(request, response)
        if ALONE in request.environ:
            return response
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        metrics.count(request, response)
        return logs.end(request, response)

    @app.teardown_request
    def release(_error: BaseException | None) -> None:
        if g.pop("counted", False):
            metrics.end()

    @app.errorhandler(Heavy)
    def pass_on(_heavy: Heavy) -> Response:
        try:
            return _passed_on()
        except Problem as problem:
            return problem.response()

    @app.errorhandler(Problem)
    def answer(problem: Problem) -> Response:
        return problem.response()

    @app.errorhandler(RankingError)
    @app.errorhandler(AdaptiveError)
    def refuse_input(error: Any) -> Response:
        return refuse(error).response()

    @app.errorhandler(MemoryError)
    def refuse_size(error: MemoryError) -> Response:
        if ALONE not in request.environ:  # other requests took the memory
            return fail(error)
        detail = f"this request needs more memory than a request may take ({variable('max_work_bytes')}): ask for less"
        return Problem(422, detail, kind="too-much-work").response()

    @app.errorhandler(Exception)
    def fail(_error: Exception) -> Response:
        # The details go only to the log, under the id that the client sees.
        logs.log.exception("request %s failed", g.get("request_id", "?"))
        return Problem(500, "unexpected error; look for the request_id in the log of the service").response()


def answer_alone(app: Flask) -> Callable[[Any, bytes], tuple[Any, bytes]]:
    """Return the function that answers in a separate process, from environ and body, for `Pool.start`."""

    def answer(environ: dict[str, Any], body: bytes) -> tuple[Any, bytes]:
        environ = {**environ, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), ALONE: True}
        with app.request_context(environ):
            response = app.full_dispatch_request()
            about = {name: g.get(name) for name in ("n_items", "problem") if name in g}
            return (response.status_code, list(response.headers), about), response.get_data()

    return answer


def _passed_on() -> Response:
    """Return a separate process's answer to the current request."""
    environ = {name: value for name, value in request.environ.items() if isinstance(value, str)}
    environ.pop("HTTP_TRANSFER_ENCODING", None)  # the body is complete by now
    environ["HTTP_X_REQUEST_ID"] = g.request_id
    if is_job():
        return _as_job(environ, g.body)
    connection = request.environ.get("gunicorn.socket")
    (status, headers, about), body = state().pool.ask(
        g.client, environ, g.body, connection, operation=request.endpoint or ""
    )
    for name, value in about.items():
        setattr(g, name, value)
    return Response(body, status, headers)


def _as_job(environ: dict[str, str], body: bytes | bytearray) -> Response:
    """Begin a job for the current request, and return where its answer will be."""
    shared = state()
    environ.pop("HTTP_AUTHORIZATION", None)  # a token is not stored
    assert shared.jobs is not None
    name = shared.jobs.begin(shared.pool.client_key(g.client), environ, body)
    shared.pool.look_at_jobs()
    headers = {"Location": f"{API}jobs/{name}", "Retry-After": RETRY_SECONDS, "Preference-Applied": "respond-async"}
    return Response(status=202, headers=headers)


def tag(request: Request, response: Response) -> None:
    """Add an ETag, and omit a body that the client already has."""
    # Weak, because it identifies the content, which a proxy may compress.
    etag = generate_etag(response.get_data())
    response.set_etag(etag, weak=True)
    response.cache_control.no_cache = True  # clients may keep it, but must ask before they use it
    if request.if_none_match.contains_weak(etag):
        response.status_code = 304
