"""Blueprints whose operations read their bodies within limits, and document the errors that they can meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from flask_smorest import Blueprint as SmorestBlueprint

from service.http.body import BodyParser
from service.http.problems import ALL_STATUSES

_View = TypeVar("_View", bound=Callable[..., Any])

# Statuses that any request can meet, any to /v1, and any with a body.
ERRORS_OF_HTTP: Final = (400, 408, 414, 431)
ERRORS_OF_ALL: Final = (401, 422, 429, 500, 503)
ERRORS_OF_BODIES: Final = (413, 415)


def operation(name: str, **links: Mapping[str, Any]) -> Callable[[_View], _View]:
    """Name an operation, as generated clients name their functions, and say what its answer leads to.

    Parameters
    ----------
    name : str
        The operation's id in the document.
    **links : mapping
        By name, what `link` makes.
    """
    described: dict[str, Any] = {"operationId": name}
    if links:
        described["responses"] = {200: {"links": links}}
    decorate: Callable[[_View], _View] = Blueprint.doc(**described)
    return decorate


def link(target: str, about: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A link of OpenAPI: values of an answer, or of its request, that are part of the body of another request.

    Parameters
    ----------
    target : str
        Id of the other operation.
    about : str
        What the body needs besides.
    body : mapping
        Runtime expressions, such as ``$response.body#/plan``, and what is between them.
    """
    return {"operationId": target, "description": about, "requestBody": dict(body)}


class Blueprint(SmorestBlueprint):  # type: ignore[misc]
    """A blueprint whose operations document the errors that they can meet, and what they ask of who calls.

    Parameters
    ----------
    errors : tuple of int
        Statuses of errors; by default, those of /v1.
    security : sequence of mapping
        Security schemes of which one is asked for, where 401 is among the errors; by default none, or a bearer token.
    """

    ARGUMENTS_PARSER = BodyParser()

    def __init__(
        self,
        *args: Any,
        errors: tuple[int, ...] = ERRORS_OF_ALL,
        security: Sequence[Mapping[str, list[str]]] = ({}, {"token": []}),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._errors = errors
        self._security = [dict(scheme) for scheme in security]
        self._prepare_doc_cbks.append(self._prepare_errors_doc)

    def _prepare_errors_doc(self, doc: dict[str, Any], _info: Any, *, method: str, **_: Any) -> dict[str, Any]:
        statuses = ERRORS_OF_HTTP + self._errors + (ERRORS_OF_BODIES if method in ("post", "put") else ())
        responses = doc.setdefault("responses", {})
        for status in sorted(statuses):
            responses[status] = ALL_STATUSES[status][0]
        if 401 in statuses:
            doc["security"] = self._security
        return doc
