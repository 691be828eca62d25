"""Describe rankcorr-collect in OpenAPI: the head of the document, its errors, and how callers are identified."""

from __future__ import annotations

from typing import Final

from rankcorr import __version__
from service.collect.problems import KINDS
from service.collect.schemas.campaigns import MODE
from service.collect.schemas.voting import VOTING_COMPONENTS
from service.http.problems import ALL_STATUSES, LIBRARY_KINDS
from service.openapi.specification import problem_component

_OWN: Final = (
    *(kind for _, _, kind in KINDS),
    *("consent-needed", "consent-changed", "event-reused", "unfinished"),
    *("cross-site", "link-unknown", "nothing-left", "not-invited", "quota-full", "session-needed", "unknown-host"),
    *(f"no-such-{what}" for what in ("ballot", "campaign", "format", "list", "pair", "plot", "token", "vote", "voter")),
)
_KINDS: Final = (
    ", ".join(dict.fromkeys((*(kind for kind, _ in ALL_STATUSES.values()), *_OWN)))
    + ", duplicate-key, malformed-request, stopping, or the class of an error of the libraries: "
    + ", ".join(LIBRARY_KINDS)
)

COMPONENTS: Final = (
    problem_component(
        _KINDS,
        members={
            "answer": {"type": "string", "description": "Of a conflict: the answer that stands."},
            "completion_code": {
                "type": ["string", "null"],
                "description": "Of a full quota: what the platform is told.",
            },
            "completion_url": {"type": ["string", "null"], "description": "Of a full quota: the way back."},
            "missing": {"type": "integer", "description": "Of what is unfinished: pairs without a counted answer."},
        },
    ),
    *VOTING_COMPONENTS,
    MODE,
)

SECURITY: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "Token of a campaign's organiser; to make a campaign, one of RANKCORR_TOKENS.",
    },
    "organiser": {
        "type": "apiKey",
        "in": "cookie",
        "name": "organiser",
        "description": (
            "Set by POST /v1/organiser/sessions. Its name is organiser_ and the first 12 letters of the campaign's key."
        ),
    },
    "voter": {
        "type": "apiKey",
        "in": "cookie",
        "name": "voter",
        "description": "Set by POST /v1/sessions. Its name is voter_ and the first 12 letters of the campaign's key.",
    },
}

CONFIGURATION: Final = {
    "API_TITLE": "rankcorr-collect",
    "API_VERSION": "v1",
    "OPENAPI_VERSION": "3.1.0",
    "OPENAPI_URL_PREFIX": "/",
    "OPENAPI_JSON_PATH": "openapi.json",
    "API_SPEC_OPTIONS": {
        "info": {
            "description": (
                "Votes on pairs of items, collected from a crowd, and the ranking that they make. Every error is "
                "application/problem+json."
            ),
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
            "x-library-version": __version__,
        }
    },
}
