"""Build the application: settings -> hooks around every request -> views."""

from __future__ import annotations

from typing import Final

from flask import Flask, Request, Response

from service.collect.access import check_host, check_origin, count
from service.collect.api import BLUEPRINTS
from service.collect.document import COMPONENTS, CONFIGURATION, SECURITY
from service.collect.pages import PAGES
from service.collect.problems import from_ledger
from service.collect.settings import CollectSettings
from service.collect.state import CollectState
from service.http.access import site_of
from service.http.hooks import API, add_hooks, new_app
from service.http.problems import ALL_STATUSES
from service.http.state import State
from service.openapi.page import register_page
from service.openapi.specification import Api

# Prefixes of the paths whose requests may need the ledger; caches must not store their answers.
WITH_LEDGER: Final = (API, "/v/", "/o/")
POLICY: Final = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "media-src 'self'"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)


def app_of(chosen: CollectSettings) -> Flask:
    """Make the application from its settings."""
    app = new_app(__name__, chosen, static_folder="static", static_url_path="/static", template_folder="templates")
    app.config.update(CONFIGURATION)
    CollectState.of(chosen).attach(app)
    api = Api(app, components=COMPONENTS, statuses=ALL_STATUSES, security=SECURITY)
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    for pages in PAGES:
        app.register_blueprint(pages)
    register_page(app, is_root=False)
    add_hooks(
        app,
        admit=admit,
        refuse=from_ledger,
        tagged=frozenset(("/openapi.json",)),
        headers=add_headers,
        screen=check_host,
    )
    return app


def admit(shared: State, request: Request) -> str:
    """Count a request against its address's rate, and refuse other sites; the views identify the caller.

    Raises
    ------
    Problem
        429 above the rate limit, 403 for a page of another site.
    """
    check_origin(request)
    address = site_of(request.remote_addr)
    count(shared.rate, address)
    return address


def add_headers(request: Request, response: Response) -> None:
    """Add default headers: pages load nothing from other hosts, and caches do not store private answers."""
    response.headers.setdefault("Content-Security-Policy", POLICY)
    if request.path.startswith(WITH_LEDGER):
        response.headers.setdefault("Cache-Control", "no-store")
