"""Build the application: settings -> hooks around every request -> views."""

from __future__ import annotations

from typing import Final

from flask import Flask
from flask_cors import CORS

from service.api import BLUEPRINTS
from service.http import logs
from service.http.hooks import add_hooks, new_app
from service.http.problems import from_library
from service.http.state import State
from service.openapi.document import COMPONENTS, CONFIGURATION
from service.openapi.page import register_page
from service.openapi.specification import Api
from service.settings import Settings

TAGGED: Final = frozenset(("/openapi.json", "/v1/weights"))


def app_of(chosen: Settings) -> Flask:
    """Make the application from its settings."""
    app = new_app(__name__, chosen, static_folder=None)
    app.config.update(CONFIGURATION)
    api = Api(app, components=COMPONENTS)
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    register_page(app)
    add_hooks(app, admit=State.count_client, refuse=from_library, tagged=TAGGED)
    if chosen.cors_origins:
        CORS(
            app,
            resources={r"/v1/.*": {"origins": list(chosen.cors_origins)}},
            methods=["GET", "HEAD", "POST"],
            expose_headers=[logs.ID_HEADER, logs.TRACE_HEADER],
        )
    return app
