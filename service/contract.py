"""Print the OpenAPI document: ``python -m service.contract``."""

import sys

import orjson

from service import Settings, create_app
from service.openapi.specification import document_of


def contract() -> bytes:
    """Return the OpenAPI document of the service with its default settings."""
    return orjson.dumps(document_of(create_app(Settings())), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    sys.stdout.buffer.write(contract())
