"""Build the OpenAPI document of an application: shared components, and errors as problem+json."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final

import orjson
from flask import Flask
from flask_smorest import Api as SmorestApi
from marshmallow import missing
from werkzeug.exceptions import HTTPException

from rankcorr import __version__
from service.http.problems import MEDIA_TYPE, STATUSES, from_http
from service.http.state import state
from service.schemas.fields import Documented, Limit
from service.schemas.shapes import TEXT, WHOLE, Component, Reference, list_of, map_of

TOKEN_SCHEME: Final = {"type": "http", "scheme": "bearer", "description": "Needed where RANKCORR_TOKENS is set."}


def configuration(title: str, about: str) -> dict[str, Any]:
    """Return what flask-smorest reads from an application's configuration: the head of the document."""
    licence = {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"}
    return {
        "API_TITLE": title,
        "API_VERSION": "v1",
        "OPENAPI_VERSION": "3.1.0",
        "OPENAPI_URL_PREFIX": "/",
        "OPENAPI_JSON_PATH": "openapi.json",
        "API_SPEC_OPTIONS": {"info": {"description": about, "license": licence, "x-library-version": __version__}},
    }


def problem_component(kinds: str, **members: Any) -> Component:
    """Return the schema of an error.

    Parameters
    ----------
    kinds : str
        The kinds of problems, for the description of `type`.
    **members : Shape
        Schemas of further members, which some kinds have.
    """
    return Component.exactly(
        "Problem",
        "An error, as RFC 9457 has it.",
        type=TEXT(f"Kind of the problem, for programs: urn:rankcorr:problem: and {kinds}."),
        title=TEXT("Meaning of the status."),
        status=WHOLE(minimum=400, maximum=599),
        detail=TEXT("Expected and given value."),
        request_id=TEXT("The same as the header X-Request-ID and in the log."),
        errors=map_of(
            list_of(TEXT),
            about="Where a field is to blame: JSON pointer to it (of the query: its name after a slash) -> messages.",
        ),
        **members,
        optional=["errors", *members],
    )


class Api(SmorestApi):  # type: ignore[misc]
    """flask-smorest's document and error handling, with problem+json for every error.

    Parameters
    ----------
    app : Flask
    problem : Component
        The `problem_component`.
    statuses : mapping
        Statuses of errors, with the last part of their type and their title.
    security : mapping
        Security schemes by name.
    """

    DEFAULT_ERROR_RESPONSE_NAME = None

    def __init__(
        self,
        app: Flask,
        *,
        problem: Component,
        statuses: Mapping[int, tuple[str, str]] = STATUSES,
        security: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._problem, self._statuses = problem, statuses
        self.undescribed: list[Callable[[], None]] = []
        self._describing = Lock()  # two threads may be the first to ask for the document
        self._security = {"token": TOKEN_SCHEME} if security is None else security
        super().__init__(app)

    def handle_http_exception(self, error: HTTPException) -> Any:
        """Answer an error of Flask, werkzeug or webargs."""
        problem = from_http(error)
        return problem if isinstance(problem, HTTPException) else problem.response()

    def document(self) -> dict[str, Any]:
        """Return the OpenAPI document, with every operation."""
        self._describe_operations()
        document: dict[str, Any] = self.spec.to_dict()
        return document

    def _openapi_json(self) -> Any:
        self._describe_operations()
        return super()._openapi_json()

    def _describe_operations(self) -> None:
        with self._describing:
            while self.undescribed:
                self.undescribed.pop(0)()

    def _init_spec(self, **options: Any) -> None:
        super()._init_spec(**options)
        converter = self.ma_plugin.converter
        converter.attribute_functions.remove(converter.field2default)
        converter.attribute_functions.append(self._document_field)
        self.resolve(self._problem.reference)
        for name, scheme in self._security.items():
            self.spec.components.security_scheme(name, dict(scheme))

    def resolve(self, schema: Any) -> Any:
        """Return a schema with the limits of the application filled in; add the components that it refers to."""
        if isinstance(schema, Limit):
            return schema.of(getattr(state(self._app).settings.limits, schema.name))
        if isinstance(schema, Reference) and schema.component.name not in self.spec.components.schemas:
            self.spec.components.schema(schema.component.name, self.resolve(schema.component.schema))
        if isinstance(schema, Mapping):
            return {key: self.resolve(value) for key, value in schema.items()}
        return list(map(self.resolve, schema)) if isinstance(schema, list | tuple) else schema

    def _document_field(self, field: Any, ret: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the schema of one of our fields; its description names the default.

        The keyword `default` is not used: openapi-typescript would make the field required, and other generators would
        send values that the caller left out.
        """
        if not isinstance(field, Documented):
            return {}
        documented: dict[str, Any] = self.resolve(field.documented)
        if field.load_default is not missing:
            about = ret.get("description", documented.get("description", ""))
            documented["description"] = f"{about} Default: {orjson.dumps(field.load_default).decode()}.".lstrip()
        return documented

    def _register_pagination_header(self) -> None:
        """Leave out what no operation has."""

    def _register_etag_headers(self) -> None:
        """Leave out what no operation has."""

    def _register_responses(self) -> None:
        for kind, title in self._statuses.values():
            content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
            self.spec.components.response(kind, {"description": title, "content": content})


def document_of(app: Flask) -> dict[str, Any]:
    """Return the OpenAPI document of an application."""
    api: Api = app.extensions["flask-smorest"]["apis"][""]["ext_obj"]
    return api.document()
