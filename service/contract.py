"""Print the OpenAPI document: ``python -m service.contract``."""

import sys

import orjson

from service import Settings, create_app


def contract() -> bytes:
    """Return the OpenAPI document of the service with its default settings."""
    app = create_app(Settings())
    with app.test_request_context("/openapi.json"):
        document = app.make_response(app.dispatch_request()).json
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    sys.stdout.buffer.write(contract())
