"""Serve /v1/campaigns/{key}/results, plots and exports: the ranking in numbers and figures, and files of a campaign.

Files are for other programs; one of them is the whole campaign as a zip.
"""

import io
import threading
import zipfile
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, Final, cast

from flask import Response

from adaptive.ledger import MOST_WITH_INTERVALS, Campaign, CampaignResult
from adaptive.plots import plot_in_top, plot_strengths, plot_voters
from rankcorr.plots._style import figure_bytes
from service.collect.access import organiser
from service.collect.api.blueprints import Remembered, of_organisers, tagged
from service.collect.content import ASSETS
from service.collect.schemas.answers import EXPORTS, ExportQuery, ResultsAnswer, ResultsQuery
from service.collect.state import collecting
from service.http.problems import Problem
from service.http.state import state

blueprint = of_organisers("results", __name__, "The ranking")
files = of_organisers("exports", __name__, "Files of a campaign")

_results = Remembered(4)  # with posterior draws, 24 MB for 3,000 items
_plots = Remembered(16)
_drawing = threading.Lock()  # all threads share matplotlib's font caches
_LEVEL: Final = 0.9
PLOTS: Final = ("strengths", "ranks", "in-top", "voters")
_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "zip": "application/zip",
}
_FILE: Final = {"schema": {"type": "string", "format": "binary"}}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # date of all members of a zip, so that equal exports give equal files


@blueprint.get("/<key>/results", name="readResults")
@blueprint.arguments(ResultsQuery, location="query")
@blueprint.response(200, ResultsAnswer)
def read(key: str, interim: bool, top: int | None = None) -> Any:
    """Return the ranking of all items, best first; `interim` ranks by strengths before the last ballot closes."""
    campaign = organiser(key)
    check_top(campaign, top)
    stamp = campaign.stamp()
    make = partial(campaign.result, interim=interim)
    answer = partial(answer_of, campaign, top=top)
    return tagged(_results, (key, interim), stamp, make, answer, interim, top, is_heavy=True)


@blueprint.get("/<key>/plots/<name>.svg", name="drawPlot")
@blueprint.arguments(ResultsQuery, location="query")
@blueprint.response(200, {"type": "string"}, content_type="image/svg+xml")
def plot(key: str, name: str, interim: bool, top: int | None = None) -> Any:
    """Draw a figure as SVG: strengths or ranks with intervals, in-top, or voters by agreement with the others."""
    campaign = organiser(key)
    if name not in PLOTS:
        raise Problem(404, f"there is no plot of this name; there are {', '.join(PLOTS)}", kind="no-such-plot")
    check_top(campaign, top)
    stamp = campaign.stamp()

    def drawn(data: bytes) -> Response:
        # Opened as a separate page, the SVG may run or load nothing.
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(data, headers=policy, content_type="image/svg+xml")

    make = partial(figure, campaign, stamp, name, interim, top)
    return tagged(_plots, (key, name, interim, top), stamp, make, drawn, name, interim, top, is_heavy=True)


@files.get(
    "/<key>/exports/<form>",
    name="exportCampaign",
    parameters=[{"in": "path", "name": "form", "schema": {"type": "string", "enum": list(EXPORTS)}}],
)
@files.arguments(ExportQuery, location="query")
@files.doc(responses={200: {"content": {kind.partition(";")[0]: _FILE for kind in _TYPES.values()}}})
@files.response(200)
def export(key: str, form: str, names: bool, unanswered: bool, guard: bool) -> Response:
    """Download a file: the whole campaign as a zip (bundle), the ranking, or the votes in a format.

    The file identifies voters by random keys unless you set `names`. The header Rankcorr-Votes counts the votes in the
    file; Rankcorr-Left-Out counts those that its format cannot express.
    """
    campaign = organiser(key)
    if form not in EXPORTS:
        raise Problem(404, f"there is no export of this name; there are {', '.join(EXPORTS)}", kind="no-such-format")
    state().pool.pass_on()
    if form == "bundle":
        return file_of("campaign.zip", campaign.bundle(names=names), key)
    if form == "ranking":
        found = campaign.result(interim=True)
        return file_of("ranking.csv", found.to_csv(guard=guard).encode(), key)
    made = campaign.export_votes(cast(Any, form), unanswered=unanswered, names=names, guard=guard)
    if len(made.files) == 1:
        ((name, text),) = made.files.items()
        response = file_of(name, text.encode(), key)
    else:
        response = file_of(f"{form}.zip", zipped(made.files), key)
    response.headers["Rankcorr-Votes"] = str(made.n_votes)
    response.headers["Rankcorr-Left-Out"] = str(sum(made.left_out.values()))
    return response


def check_top(campaign: Campaign, top: int | None) -> None:
    """Refuse a cut outside 1 to n - 1.

    Raises
    ------
    Problem
        422 for a cut outside this range.
    """
    n_items = campaign.info.n_items
    if top is not None and top >= n_items:
        message = f"must be below the number of items, {n_items}; got {top}"
        raise Problem(422, f"/top: {message}", errors={"/top": [message]})


def answer_of(campaign: Campaign, result: CampaignResult, *, top: int | None) -> dict[str, Any]:
    """Return the ranking as JSON, with the addresses of images."""
    result = result if top is None else result.with_top(top)
    images = {
        item: {"image": ASSETS + (content.content or ""), "alt_text": content.alt_text or ""}
        for item, content in zip(campaign.info.items, collecting().campaigns.contents(campaign), strict=True)
        if content.kind == "image"
    }
    same = ("n_votes", "top", "cut", "signal", "circles", "n_voters", "expected", "excluded", "agreement")
    return {
        "final": result.is_final,
        **{name: getattr(result, name) for name in same},
        "rows": [{**row, **images.get(row["item"], {})} for row in result.rows()],
    }


def figure(campaign: Campaign, stamp: str, name: str, interim: bool, top: int | None) -> bytes:
    """Draw a figure as SVG.

    Raises
    ------
    Problem
        409 if there are too many items for intervals, or no voter to show.
    """
    if name == "voters":
        quality = campaign.quality()
        shown: dict[Hashable, tuple[float, float, float]] = {
            voter.key[:8]: (voter.agreement.share, *ends)
            for voter in quality.voters
            if voter.agreement.share is not None and (ends := voter.agreement.interval(_LEVEL)) is not None
        }
        if not shown:
            raise Problem(409, "no two voters have answered the same pair yet", kind="not-possible")
        with _drawing:
            return figure_bytes(plot_voters(shown, quantity="Agreement with the others"), "svg")
    if campaign.info.n_items > MOST_WITH_INTERVALS:
        raise Problem(409, f"intervals are known for up to {MOST_WITH_INTERVALS:,} items", kind="not-possible")
    ranked = partial(campaign.result, interim=interim)
    latest = _results.get((campaign.key, interim), stamp, ranked)
    # While another request makes the ranking, this is the previous one; a figure of it must not be stored as current.
    result = latest.value if latest.stamp == stamp else ranked()
    with _drawing:
        if name == "in-top":
            return figure_bytes(plot_in_top(result.strengths, result.top if top is None else top), "svg")
        return figure_bytes(plot_strengths(result.strengths, scale="rank" if name == "ranks" else "strength"), "svg")


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
