"""Serve /v1/campaigns/{key}/exports/{format}: files for other programs, and the whole campaign as one zip."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any, Final, cast

from flask import Response

from adaptive.ledger import FORMATS
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.schemas.answers import ExportQuery
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("exports", __name__, "Files of a campaign")

_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "zip": "application/zip",
}
_FILE: Final = {"schema": {"type": "string", "format": "binary"}}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # date of all members of a zip, so that equal exports give equal files


@blueprint.route("/<key>/exports/<form>", methods=["GET"])
@blueprint.arguments(ExportQuery, location="query")
@operation("exportCampaign")
@blueprint.doc(responses={200: {"content": {kind.partition(";")[0]: _FILE for kind in _TYPES.values()}}})
@blueprint.response(200)
def export(query: dict[str, bool], key: str, form: str) -> Response:
    """Download a file: bundle (a zip of the whole campaign), ranking, csv, arena, label_studio, potato or choix.

    The file identifies voters by random keys unless you set `names`. The header Rankcorr-Votes counts the votes in the
    file; Rankcorr-Left-Out counts those that its format cannot express.
    """
    campaign = organiser(key)
    if form == "bundle":
        return file_of("campaign.zip", campaign.bundle(names=query["names"]), key)
    if form == "ranking":
        found = campaign.result(interim=True)
        return file_of("ranking.csv", found.to_csv(guard=query["guard"]).encode(), key)
    if form not in FORMATS:
        known = ", ".join(("bundle", "ranking", *FORMATS))
        raise Problem(404, f"there is no export of this name; there are {known}", kind="no-such-format")
    made = campaign.export_votes(
        cast(Any, form), unanswered=query["unanswered"], names=query["names"], guard=query["guard"]
    )
    if len(made.files) == 1:
        ((name, text),) = made.files.items()
        response = file_of(name, text.encode(), key)
    else:
        response = file_of(f"{form}.zip", zipped(made.files), key)
    response.headers["Rankcorr-Votes"] = str(made.n_votes)
    response.headers["Rankcorr-Left-Out"] = str(sum(made.left_out.values()))
    return response


def file_of(name: str, content: bytes, key: str) -> Response:
    """Return a file to save, with a name that tells campaigns apart."""
    stem, _, ending = name.rpartition(".")
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{key[:8]}.{ending}"'}
    return Response(content, headers=headers, content_type=_TYPES[ending])


def zipped(files: Mapping[str, str]) -> bytes:
    """Pack several files into one zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text, zipfile.ZIP_DEFLATED)
    return made.getvalue()
