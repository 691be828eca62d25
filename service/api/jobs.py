"""Serve /v1/jobs/{job}: the answers to requests with `Prefer: respond-async`."""

from typing import Any

from flask import Response, jsonify

from service.http.jobs import RETRY_SECONDS
from service.http.state import state
from service.openapi.document import ERRORS_OF_ALL, Blueprint

blueprint = Blueprint(
    "jobs", __name__, url_prefix="/v1/jobs", errors=(*ERRORS_OF_ALL, 404), description="Requests that take long"
)
_RETRY = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds; only while the job is not done."}}


def _jobs() -> Any:
    jobs = state().jobs
    assert jobs is not None
    return jobs


@blueprint.get("/<job>", name="readJob")
@blueprint.doc(responses={200: {"headers": _RETRY}})
@blueprint.response(
    200, {}, description="The answer to the request; while it is not ready, the status, with Retry-After."
)
def read(job: str) -> Response:
    """Return the answer to a request, or its problem; while it is not ready, 200 with Retry-After."""
    result = _jobs().answer(job)
    if result is None:
        response = jsonify(status="running")
        response.headers["Retry-After"] = RETRY_SECONDS
        return response
    status, headers, body = result
    return Response(body, status, headers)


@blueprint.delete("/<job>", name="deleteJob")
@blueprint.response(204)
def delete(job: str) -> None:
    """Cancel a job, or delete its answer."""
    _jobs().delete(job)
    state().pool.look_at_jobs()
