"""Blueprints whose operations read their bodies within limits, and document the errors that they can meet."""

from __future__ import annotations

from typing import Any, Final

from flask_smorest import Blueprint as SmorestBlueprint

from service.http.body import BodyParser
from service.http.problems import STATUSES

# Statuses that any request can meet, any to /v1, and any with a body.
ERRORS_OF_HTTP: Final = (400, 408, 414, 431)
ERRORS_OF_ALL: Final = (401, 422, 429, 500, 503)
ERRORS_OF_BODIES: Final = (413, 415)


class Blueprint(SmorestBlueprint):  # type: ignore[misc]
    """A blueprint whose operations document the errors that they can meet: by default, those of /v1."""

    ARGUMENTS_PARSER = BodyParser()

    def __init__(self, *args: Any, errors: tuple[int, ...] = ERRORS_OF_ALL, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._errors = errors
        self._prepare_doc_cbks.append(self._prepare_errors_doc)

    def _prepare_errors_doc(self, doc: dict[str, Any], _info: Any, *, method: str, **_: Any) -> dict[str, Any]:
        statuses = ERRORS_OF_HTTP + self._errors + (ERRORS_OF_BODIES if method == "post" else ())
        responses = doc.setdefault("responses", {})
        for status in sorted(statuses):
            responses[status] = STATUSES[status][0]
        if 401 in statuses:
            doc["security"] = [{}, {"token": []}]
        return doc
