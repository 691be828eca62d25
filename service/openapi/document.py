"""The OpenAPI document: its head, the components that operations share, and errors as problem+json."""

from __future__ import annotations

from typing import Any, Final

import orjson
from flask_smorest import Api as SmorestApi
from marshmallow import missing
from werkzeug.exceptions import HTTPException

from rankcorr import __version__
from service.http.problems import LIBRARY_KINDS, MEDIA_TYPE, STATUSES, from_http
from service.schemas.ballot_fields import FORM, VOTED_BALLOT
from service.schemas.ballots import VOTER_COMPARISONS
from service.schemas.comparison_fields import COMPARISON, COMPARISON_COLUMNS
from service.schemas.components import VOCABULARIES, Component
from service.schemas.fields import Documented
from service.schemas.inference import SCORE
from service.schemas.pairings import PAIR, TOKEN
from service.schemas.ranking_fields import RANKING, WAYS_TO_GIVE
from service.schemas.scores import NEXT_BALLOT, SCORED_BALLOT
from service.schemas.simulations import SIMULATED_APPROACH, SIMULATED_COEFFICIENT
from service.schemas.strengths import FITTED_PARAMETERS, FITTED_VOTER, ITEM_STRENGTH, NEXT_COMPARISONS

_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An error, as RFC 9457 has it.",
    "required": ["type", "title", "status", "detail", "request_id"],
    "additionalProperties": False,
    "properties": {
        "type": {
            "type": "string",
            "description": (
                "Kind of the problem, for programs: urn:rankcorr:problem: and "
                + ", ".join(kind for kind, _ in STATUSES.values())
                + ", duplicate-key, too-much-work, malformed-request, stopping, or the class of an error "
                "of the libraries: " + ", ".join(LIBRARY_KINDS) + "."
            ),
        },
        "title": {"type": "string", "description": "What the status means here."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What was wanted, and what came."},
        "request_id": {"type": "string", "description": "The same as the header X-Request-ID and in the log."},
        "errors": {
            "type": "object",
            "description": (
                "Where a field is to blame: JSON pointer to it (of the query: its name after a slash) -> messages."
            ),
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}

PROBLEM: Final = Component("Problem", _PROBLEM)
COMPONENTS: Final = (
    PROBLEM,
    *VOCABULARIES,
    *WAYS_TO_GIVE,
    RANKING,
    SCORE,
    *(TOKEN, PAIR),
    *(VOTER_COMPARISONS, FORM, VOTED_BALLOT, SCORED_BALLOT, NEXT_BALLOT),
    *(SIMULATED_COEFFICIENT, SIMULATED_APPROACH),
    *(COMPARISON_COLUMNS, COMPARISON, NEXT_COMPARISONS),
    *(ITEM_STRENGTH, FITTED_VOTER, FITTED_PARAMETERS),
)

CONFIGURATION: Final = {
    "API_TITLE": "rankcorr",
    "API_VERSION": "v1",
    "OPENAPI_VERSION": "3.1.0",
    "OPENAPI_URL_PREFIX": "/",
    "OPENAPI_JSON_PATH": "openapi.json",
    "API_SPEC_OPTIONS": {
        "info": {
            "description": (
                "Tie-aware, top-weighted rank correlation, and the ballots that collect gold rankings. The service "
                "keeps nothing: the same request has the same answer on every copy. Every error is "
                "application/problem+json."
            ),
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
            "x-library-version": __version__,
        },
    },
}


class Api(SmorestApi):  # type: ignore[misc]
    """flask-smorest's document and error handling, with problem+json for every error."""

    DEFAULT_ERROR_RESPONSE_NAME = None

    def handle_http_exception(self, error: HTTPException) -> Any:
        """Answer an error of Flask, werkzeug or webargs."""
        problem = from_http(error)
        return problem if isinstance(problem, HTTPException) else problem.response()

    def _init_spec(self, **options: Any) -> None:
        super()._init_spec(**options)
        converter = self.ma_plugin.converter
        converter.attribute_functions.remove(converter.field2default)
        converter.add_attribute_function(_documented)
        for component in COMPONENTS:
            self.spec.components.schema(component.name, dict(component.schema))
        self.spec.components.security_scheme(
            "token", {"type": "http", "scheme": "bearer", "description": "Needed where RANKCORR_TOKENS is set."}
        )

    def _register_pagination_header(self) -> None:
        """Leave out what no operation has."""

    def _register_etag_headers(self) -> None:
        """Leave out what no operation has."""

    def _register_responses(self) -> None:
        for kind, title in STATUSES.values():
            content = {MEDIA_TYPE: {"schema": PROBLEM.reference}}
            self.spec.components.response(kind, {"description": title, "content": content})


def _documented(_converter: Any, field: Any, ret: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The schema of a field of ours; its description names the default.

    The keyword `default` stands nowhere: openapi-typescript requires a field that has it, and other generators send
    what the caller left out.
    """
    if not isinstance(field, Documented):
        return {}
    documented = dict(field.documented)
    if field.load_default is not missing:
        about = ret.get("description", documented.get("description", ""))
        documented["description"] = f"{about} Default: {orjson.dumps(field.load_default).decode()}.".lstrip()
    return documented
