"""Build the application, settings -> hooks around every request -> views, and describe it in OpenAPI."""

from pkgutil import resolve_name
from typing import Any, Final

from flask import Flask
from flask_cors import CORS

from service.api import BLUEPRINTS
from service.http import logs
from service.http.hooks import add_hooks, new_app
from service.http.jobs import Jobs
from service.http.problems import LIBRARY_KINDS, STATUSES, from_library
from service.http.state import State, client_with_token
from service.openapi.document import Api, configuration, problem_component, register_page
from service.settings import Settings

TAGGED: Final = frozenset(("/openapi.json", "/v1/weights"))

_KINDS: Final = (
    ", ".join(kind for kind, _ in STATUSES.values())
    + ", duplicate-key, too-much-work, malformed-request, stopping, too-many-jobs, no-such-job, or the "
    "class of an error of the libraries: " + ", ".join(LIBRARY_KINDS)
)

CONFIGURATION: Final = configuration(
    "rankcorr",
    "Tie-aware, top-weighted rank correlation, and the ballots that collect gold rankings. The service stores only "
    "jobs: the same request has the same answer on every copy. Every error is application/problem+json.",
)


def app_of(settings: Settings) -> Flask:
    """Make the application from its settings."""
    jobs: Any = Jobs(settings.max_jobs)
    if settings.jobs_url:
        make_jobs = resolve_name("service.http.redis_jobs:RedisJobs")  # needs the extra `redis`
        jobs = make_jobs(settings.jobs_url, settings.max_jobs, settings.job_seconds)
    app = new_app(__name__, State(settings, jobs), static_folder=None)
    app.config.update(CONFIGURATION)
    api = Api(app, problem=problem_component(_KINDS))
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    register_page(app)
    add_hooks(app, admit=client_with_token, refuse=from_library, tagged=TAGGED)
    if settings.cors_origins:
        CORS(
            app,
            resources={r"/v1/.*": {"origins": list(settings.cors_origins)}},
            methods=["DELETE", "GET", "HEAD", "POST"],
            expose_headers=[logs.ID_HEADER, logs.TRACE_HEADER, "Location", "Preference-Applied", "Retry-After"],
        )
    return app
