"""Write the OpenAPI document: operations with their errors and credentials, shared components, the head.

Every application also has probes, metrics, and a page to try the service at its root.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, Final

import orjson
from flask import Flask, Response, abort, redirect, request, send_from_directory
from flask_smorest import Api as SmorestApi
from flask_smorest import Blueprint as SmorestBlueprint
from marshmallow import missing
from werkzeug.exceptions import HTTPException

from rankcorr import __version__
from service.http import metrics
from service.http.body import BodyParser
from service.http.problems import ALL_STATUSES, MEDIA_TYPE, STATUSES, from_http
from service.http.state import settings, state
from service.schemas.fields import Documented, Limit
from service.schemas.shapes import NUMBER, TEXT, WHOLE, Answer, Component, Reference, Shape, list_of, map_of

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

    def _openapi_json(self) -> Any:
        with self._describing:
            while self.undescribed:
                self.undescribed.pop(0)()
        return super()._openapi_json()

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
        if field.load_default is not missing and not callable(field.load_default):
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


class LiveAnswer(Answer):
    """The process answers."""

    status = TEXT(const="ok")


class ReadyAnswer(Answer):
    """The service accepts requests, within these limits."""

    status = TEXT(const="ok")
    version = TEXT
    limits = map_of(NUMBER)


probes = Blueprint("health", __name__, url_prefix="/health", errors=(500, 503), description="Probes")
measures = Blueprint("metrics", __name__, url_prefix="/metrics", errors=(401, 404, 500), description="For Prometheus")


@probes.get("/live", name="checkLive")
@probes.response(200, LiveAnswer)
def live() -> dict[str, str]:
    """Confirm that the process answers."""
    return {"status": "ok"}


@probes.get("/ready", name="checkReady")
@probes.response(200, ReadyAnswer)
def ready() -> dict[str, Any]:
    """Report readiness and the limits on requests; 503 before a stop, and while the service lacks what it needs."""
    state().check()
    limits = {name: value for name, value, _ in settings().table() if name.startswith("RANKCORR_MAX")}
    return {"status": "ok", "version": __version__, "limits": limits}


@measures.get("", name="readMetrics")
@measures.response(200, TEXT, content_type="text/plain")
def prometheus() -> Response:
    """Return counts and times of all workers if the settings let this caller read them; 404 if metrics are off."""
    shared = state()
    if shared.settings.metrics == "off":
        abort(404)
    if shared.settings.metrics == "token":
        shared.tokens.check(request)
    return metrics.exposition()


def register_page(app: Flask, *, is_root: bool = True) -> None:
    """Serve Swagger UI at /docs, with files of flask-swagger-ui; redirect the root there unless it has a page."""
    scripts = str(files("flask_swagger_ui") / "dist")
    page_folder = str(files("service.openapi") / "static")
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    text = (files("service.openapi") / "static" / "docs.html").read_bytes()

    def page() -> Response:
        return Response(text, headers={"Content-Security-Policy": policy}, content_type="text/html; charset=utf-8")

    def asset(name: str) -> Response:
        return send_from_directory(scripts if name.startswith("swagger-ui") else page_folder, name, max_age=86_400)

    if is_root:
        app.add_url_rule("/", "root", lambda: redirect("/docs"))
    app.add_url_rule("/docs", "docs", page)
    app.add_url_rule("/docs/<name>", "docs_asset", asset)
