"""Serve images and sounds of items: files of one folder, of types that a browser shows or plays."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Blueprint, Response, abort, send_file

from adaptive.ledger import is_asset
from service.collect.state import collecting

__all__ = ["POLICY", "TYPES", "asset", "asset_file", "blueprint", "why_no_asset"]


# Types that a browser shows or plays; no other file in the folder is served. The table is ours, not the system's.
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


def asset_file(name: str) -> Path | None:
    """Return the file at a path below the assets folder; None if it is outside, hidden, or neither image nor sound."""
    folder = collecting().settings.assets
    if not folder or Path(name).suffix.lower() not in TYPES or not is_asset(name):
        return None
    root, found = Path(folder).resolve(), Path(folder, name).resolve()  # after following symbolic links
    return found if found.is_relative_to(root) and found.is_file() else None


def why_no_asset(name: str) -> str | None:
    """Return why an item cannot use this file, for its organiser; None if it can."""
    if asset_file(name) is not None:
        return None
    if not collecting().settings.assets:
        return "this server has no folder for images and sounds (RANKCORR_ASSETS)"
    if Path(name).suffix.lower() not in TYPES:
        return f"a file that ends with {', '.join(TYPES)} is wanted; got {name}"
    return f"there is no file {name} in the folder for images and sounds"


# An SVG may contain scripts. They do not run in an image on a page; opened by its address, the SVG is sandboxed.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400

blueprint = Blueprint("assets", __name__)


@blueprint.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve a file of the folder; 404 if it is outside, hidden, or neither image nor sound."""
    found = asset_file(name)
    if found is None:
        abort(404)
    kind = TYPES[Path(name).suffix.lower()]
    response = send_file(found, mimetype=kind, conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response
