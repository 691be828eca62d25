"""Build the application (settings -> hooks around every request -> views), and turn errors into problems."""

from typing import Any, Final

from flask import Flask, Request, Response

from adaptive import ledger
from service.collect.access import admit, check_host
from service.collect.api import BLUEPRINTS
from service.collect.pages import PAGES
from service.collect.settings import CollectSettings
from service.collect.state import CollectState
from service.http import logs
from service.http.hooks import API, add_hooks, new_app
from service.http.problems import ALL_STATUSES, LIBRARY_KINDS, Problem, from_library, name_options
from service.openapi.document import TOKEN_SCHEME, Api, configuration, problem_component, register_page
from service.schemas.shapes import TEXT, TEXT_OR_NULL, WHOLE

# Prefixes of the paths whose requests may need the ledger; caches must not store their answers.
WITH_LEDGER: Final = (API, "/v/", "/o/")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# Class -> status and kind, subclasses first; the status shows what a client can do. Clients must not see a database's
# name, so 503 has a fixed detail.
KINDS: Final = (
    (ledger.LedgerBusyError, 503, "busy"),
    (ledger.LedgerMovedError, 503, "ledger-moved"),
    (ledger.UnreachableError, 503, "ledger-unreachable"),
    (ledger.RevisionError, 503, "ledger-unreachable"),
    (ledger.NoVoterError, 404, "no-such-voter"),
    (ledger.ChangedError, 412, "changed"),
    (ledger.ConflictError, 409, "conflict"),
    (ledger.LateVoteError, 409, "late"),
    (ledger.FinishedError, 409, "finished"),
    (ledger.NotReadyError, 409, "not-ready"),
    (ledger.LedgerError, 409, "not-possible"),
)
_DETAILS: Final = {
    "busy": "the ledger is busy, and nothing was changed; try again",
    "ledger-moved": "the file of the ledger was moved, deleted or replaced while the server runs, so nothing is "
    "recorded; the operator must put it back or restart the server",
    "ledger-unreachable": "the ledger cannot be read or written; try again later",
}

_VIEW_KINDS: Final = (
    *(kind for _, _, kind in KINDS),
    *("consent-needed", "consent-changed", "event-reused", "unfinished"),
    *("cross-site", "link-unknown", "nothing-left", "not-invited", "quota-full", "session-needed", "unknown-host"),
    *(f"no-such-{noun}" for noun in ("ballot", "campaign", "format", "list", "pair", "plot", "token", "vote", "voter")),
)
_KINDS: Final = (
    ", ".join(dict.fromkeys((*(kind for kind, _ in ALL_STATUSES.values()), *_VIEW_KINDS)))
    + ", duplicate-key, malformed-request, stopping, or the class of an error of the libraries: "
    + ", ".join(LIBRARY_KINDS)
)

PROBLEM: Final = problem_component(
    _KINDS,
    answer=TEXT("After a conflict: the recorded answer."),
    consent_version=TEXT("If consent is needed, or to another version: the version to agree to."),
    completion_code=TEXT_OR_NULL("If the quota is full: the code for the platform."),
    completion_url=TEXT_OR_NULL("If the quota is full: the address that returns the participant."),
    missing=WHOLE("If the voter is not done: the number of pairs or sheets still to answer."),
    unit=TEXT("If the voter is not done: what `missing` counts, pairs or sheets."),
)

_TOKEN: Final = "Token of a campaign's organiser; to make a campaign, one of RANKCORR_TOKENS."


def _cookie(name: str, setter: str) -> dict[str, str]:
    about = (
        f"Send the cookie that POST {setter} sets. Its name is {name}_ and the first 12 letters of the campaign's key; "
        "over https, __Host- comes before that."
    )
    return {"type": "apiKey", "in": "cookie", "name": name, "description": about}


SECURITY: Final = {
    "token": {**TOKEN_SCHEME, "description": _TOKEN},
    "organiser": _cookie("organiser", "/v1/organiser/sessions"),
    "voter": _cookie("voter", "/v1/sessions"),
}

CONFIGURATION: Final = configuration(
    "rankcorr-collect",
    "Collect votes on pairs of items from a crowd, and rank the items by them. Every error is "
    "application/problem+json.",
)


def app_of(settings: CollectSettings) -> Flask:
    """Make the application from its settings."""
    app = new_app(
        __name__, CollectState(settings), static_folder="static", static_url_path="/static", template_folder="templates"
    )
    app.config.update(CONFIGURATION)
    api = Api(app, problem=PROBLEM, statuses=ALL_STATUSES, security=SECURITY)
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


def add_headers(request: Request, response: Response) -> None:
    """Add default headers: pages load nothing from other hosts, and caches do not store private answers."""
    response.headers.setdefault("Content-Security-Policy", POLICY)
    if request.path.startswith(WITH_LEDGER):
        response.headers.setdefault("Cache-Control", "no-store")


def from_ledger(error: Any) -> Problem:
    """Return the problem for an error of the ledger or the libraries.

    >>> problem = from_ledger(ledger.NotReadyError("12 votes are missing"))
    >>> problem.status, problem.kind, problem.detail
    (409, 'not-ready', '12 votes are missing')
    """
    for owner, status, kind in KINDS:
        if isinstance(error, owner):
            if status == 503:
                logs.log.error("the ledger failed: %s", error)
                return Problem(status, _DETAILS[kind], kind=kind, headers={"Retry-After": "2"})
            return Problem(status, name_options(str(error)), kind=kind)
    return from_library(error)
