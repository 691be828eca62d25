"""GET /assets/<path>: images and sounds of items, from one folder, as nothing that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Blueprint, Response, abort, send_file

from service.collect.assets import TYPES, asset_file

# An SVG may hold scripts. In a page it is an image, which runs none; opened by its address, it is in a sandbox.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400

blueprint = Blueprint("assets", __name__)


@blueprint.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve a file of the folder; 404 for what is outside it, hidden, or neither image nor sound."""
    found = asset_file(name)
    if found is None:
        abort(404)
    kind = TYPES[Path(name).suffix.lower()]
    response = send_file(found, mimetype=kind, conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response
