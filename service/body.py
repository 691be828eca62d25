"""From the bytes of a request to the fields of its schema."""

from __future__ import annotations

from typing import Any

from flask import Request, g
from marshmallow import RAISE
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import RequestEntityTooLarge

from service.fields import settings
from service.json_body import parse
from service.problems import Problem
from service.settings import variable


class BodyParser(FlaskParser):
    """Reads a JSON body within its limits; unknown fields, of a body or of a query, are errors."""

    DEFAULT_UNKNOWN_BY_LOCATION = {"json": RAISE, "query": RAISE}  # noqa: RUF012 - as webargs declares it

    def load_json(self, req: Request, schema: Any) -> Any:  # noqa: ARG002
        """Parse the body; a form or text that happens to be JSON is refused as what it says it is."""
        if req.mimetype != "application/json":
            came = f"got {req.mimetype[:60]!r}" if req.mimetype else "got none"
            raise Problem(415, f"the header Content-Type must be application/json; {came}")
        charset = req.mimetype_params.get("charset", "utf-8")
        if charset.lower() not in ("utf-8", "utf8"):
            raise Problem(415, f"JSON is UTF-8; the header Content-Type says charset={charset[:60]!r}")
        try:
            body = req.get_data(cache=False)
        except RequestEntityTooLarge as error:
            raise too_large(req) from error
        g.n_bytes = len(body)
        return parse(body)


def too_large(request: Request) -> Problem:
    """The problem for a body above the limit."""
    most = settings().limits.max_body_bytes
    length = request.content_length
    got = f"got {length}" if length is not None else "more came"
    return Problem(413, f"at most {most} bytes in a body ({variable('max_body_bytes')}); {got}")
