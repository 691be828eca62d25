"""GET /assets/<path>: images and sounds of items, from one folder, as nothing that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Blueprint, Response, abort, send_file

from adaptive.ledger.contents import is_asset
from service.collect.state import collecting

# What a browser shows or plays; anything else in the folder is not served. The types are ours, not the system's.
TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".weba": "audio/webm",
}
# An SVG may hold scripts. In a page it is an image, which runs none; opened by its address, it is in a sandbox.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400

blueprint = Blueprint("assets", __name__)


@blueprint.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve a file of the folder; 404 for what is outside it, hidden, or neither image nor sound."""
    folder = collecting().settings.assets
    kind = TYPES.get(Path(name).suffix.lower())
    if not folder or kind is None or not is_asset(name):
        abort(404)
    root, found = Path(folder).resolve(), Path(folder, name).resolve()  # where links lead
    if not found.is_relative_to(root) or not found.is_file():
        abort(404)
    response = send_file(found, mimetype=kind, conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response
