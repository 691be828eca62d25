"""Answers to what never became a request: counted, logged and written as every other error, without the application."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus

from service.http import logs, metrics
from service.http.access import SECURITY_HEADERS
from service.http.problems import MEDIA_TYPE, Problem

_METHOD = _ROUTE = "none"


def refusal(problem: Problem) -> bytes:
    """The whole answer, after which the connection ends."""
    request_id = logs.new_id()
    body = problem.body(request_id)
    headers = {
        "Date": formatdate(usegmt=True),
        "Connection": "close",
        "Content-Type": MEDIA_TYPE,
        "Content-Length": str(len(body)),
        logs.ID_HEADER: request_id,
        **SECURITY_HEADERS,
        **problem.headers,
    }
    metrics.count_refusal(problem.status, problem.kind)
    logs.write(request_id, method=_METHOD, route=_ROUTE, status=problem.status)
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{head}{lines}\r\n".encode("latin-1") + body
