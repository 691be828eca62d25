"""Share rules among the blueprints of organisers: who may call, and which errors are possible."""

from __future__ import annotations

from typing import Any, Final

from service.collect.access import know_organiser
from service.http.problems import ALL_STATUSES
from service.openapi.blueprint import Blueprint

CAMPAIGNS: Final = "/v1/campaigns"
_ERRORS: Final = (401, 403, 404, 409, 422, 429, 500, 503)
OF_ADMINS: Final[dict[str, Any]] = {"errors": _ERRORS, "security": ({"token": []},)}
CONDITIONAL: Final = {"responses": {status: ALL_STATUSES[status][0] for status in (412, 428)}}


def of_organisers(name: str, module: str, about: str, *, prefix: str = CAMPAIGNS) -> Blueprint:
    """Make a blueprint for a campaign's organiser alone; other callers are refused before their body is parsed."""
    security: Any = ({"token": []}, {"organiser": []})
    made = Blueprint(name, module, url_prefix=prefix, description=about, errors=_ERRORS, security=security)
    made.before_request(know_organiser)
    return made
