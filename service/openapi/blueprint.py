"""Make blueprints that limit request bodies, and document the errors of their operations."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flask_smorest import Blueprint as SmorestBlueprint

from service.http.body import BodyParser
from service.http.problems import ALL_STATUSES
from service.schemas.shapes import Answer, Shape

# Error statuses of any request, of any request to /v1, and of any request with a body.
ERRORS_OF_HTTP: Final = (400, 408, 414, 431)
ERRORS_OF_ALL: Final = (401, 422, 429, 500, 503, 507)
ERRORS_OF_BODIES: Final = (413, 415)


# By operation: an example of its request; OpenAPI's links, which name requests that can follow its answer; and the
# status of that answer if it is not 200.
EXAMPLES: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("examples.json").read_bytes())


_PREFER: Final = {
    "in": "header",
    "name": "Prefer",
    "schema": {"type": "string"},
    "description": "respond-async (RFC 7240): a request that takes long becomes a job.",
}
_ACCEPTED: Final = {
    "description": "The request has become a job.",
    "headers": {"Location": {"schema": {"type": "string"}, "description": "/v1/jobs/{job}, where the answer will be."}},
}
# What an operation adds to the document if it answers 304 to a client that has its answer already.
UNLESS_CHANGED: Final[Mapping[str, Any]] = {
    "responses": {
        200: {
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "For If-None-Match of a later request."}}
        },
        304: {"description": "Nothing has changed since the answer whose ETag is in If-None-Match."},
    }
}


class Blueprint(SmorestBlueprint):  # type: ignore[misc]
    """A blueprint whose operations document their errors and the credentials that they require.

    Parameters
    ----------
    errors : tuple of int
        Statuses of errors; by default, those of /v1.
    security : sequence of mapping
        Alternative security schemes, required if 401 is among the errors; by default none, or a bearer token.
    headers : sequence of mapping
        Parameters of OpenAPI for the headers that every operation needs.
    """

    ARGUMENTS_PARSER = BodyParser()

    def __init__(
        self,
        *args: Any,
        errors: tuple[int, ...] = ERRORS_OF_ALL,
        security: Sequence[Mapping[str, list[str]]] = ({}, {"token": []}),
        headers: Sequence[Mapping[str, Any]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._headers = [dict(header) for header in headers]
        self._errors = errors
        self._answers: list[Shape] = []
        self._security = [dict(scheme) for scheme in security]
        self._prepare_doc_cbks.append(self._prepare_errors_doc)

    def route(self, rule: str, *, name: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Serve an operation at a path; `get`, `post` and `put` call this. Its example is in `examples.json`.

        Parameters
        ----------
        rule : str
            The path.
        name : str
            The operation's id in the document, which generated clients use for their functions.
        **options
            As in flask-smorest.
        """
        example, description = EXAMPLES.get(name, {}), dict[str, Any](operationId=name)
        if "example" in example:
            description["requestBody"] = {"content": {"application/json": {"example": example["example"]}}}
        if "links" in example:
            description["responses"] = {example.get("status", 200): {"links": example["links"]}}

        def register(view: Callable[..., Any]) -> Callable[..., Any]:
            described_view = self.doc(**description)(view)
            registered_view: Callable[..., Any] = super(Blueprint, self).route(rule, **options)(described_view)
            return registered_view

        return register

    def arguments(self, schema: Any, *, as_kwargs: bool = True, **options: Any) -> Any:
        """Read a request by its schema; the view takes its fields by name, or one value without `as_kwargs`."""
        return super().arguments(schema, as_kwargs=as_kwargs, **options)

    def response(self, status: int, schema: Any = None, **options: Any) -> Any:
        """Write what a view returns: by an `Answer`, unless it is a response."""
        if isinstance(schema, type) and issubclass(schema, Answer):
            self._answers.append(schema.component.reference)
        return super().response(status, schema, **options)

    @staticmethod
    def _make_doc_response_schema(schema: Any) -> Any:
        return dict(schema.component.reference) if isinstance(schema, Answer) else schema

    def register_views_in_doc(self, api: Any, *args: Any, **options: Any) -> None:
        """Describe the operations when the document is requested: this takes half the time of making an application."""
        describe = super().register_views_in_doc

        def describe_all() -> None:
            api.resolve(self._answers)
            describe(api, *args, **options)

        api.undescribed.append(describe_all)

    def _prepare_errors_doc(self, doc: dict[str, Any], _info: Any, *, method: str, **_: Any) -> dict[str, Any]:
        statuses = ERRORS_OF_HTTP + self._errors + (ERRORS_OF_BODIES if method in ("post", "put") else ())
        responses = doc.setdefault("responses", {})
        if self._headers:
            doc.setdefault("parameters", []).extend(self._headers)
        if method == "post" and self._errors is ERRORS_OF_ALL:
            doc.setdefault("parameters", []).append(_PREFER)
            responses[202] = _ACCEPTED
        for status in sorted(statuses):
            responses[status] = ALL_STATUSES[status][0]
        if 401 in statuses:
            doc["security"] = self._security
        return doc
