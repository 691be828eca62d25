"""What the blueprints of organisers share: who may call, and the errors that may come."""

from __future__ import annotations

from typing import Any, Final

from service.http.problems import ALL_STATUSES

CAMPAIGNS: Final = "/v1/campaigns"
_ERRORS: Final = (401, 403, 404, 409, 422, 429, 500, 503)
OF_ADMINS: Final[dict[str, Any]] = {"errors": _ERRORS, "security": ({"token": []},)}
OF_ORGANISERS: Final[dict[str, Any]] = {"errors": _ERRORS, "security": ({"token": []}, {"organiser": []})}
CONDITIONAL: Final = {"responses": {status: ALL_STATUSES[status][0] for status in (412, 428)}}
