"""Print the OpenAPI document: ``python -m service.contract``."""

import sys

import orjson

from service import Settings, create_app


def contract() -> bytes:
    """Return the OpenAPI document of the service with its default settings."""
    api = create_app(Settings()).extensions["flask-smorest"]["apis"][""]["ext_obj"]
    return orjson.dumps(api.spec.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    sys.stdout.buffer.write(contract())
