"""Serve /v1/campaigns/{key}/results, plots and exports: the ranking in numbers and figures, and files of a campaign.

Files are for other programs; one of them is the whole campaign as a zip.
"""

import io
import threading
import zipfile
from collections import ChainMap
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, Final, cast

from flask import Response

from adaptive import ledger
from adaptive._tables import CampaignRow, names_of
from adaptive.plots import plot_in_top, plot_strengths, plot_voters
from rankcorr._output.report import ENDINGS, report_files
from rankcorr.plots._style import figure_bytes
from service.collect.api import blueprints
from service.collect.content import ASSETS
from service.collect.state import collecting
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED
from service.schemas import shapes
from service.schemas.base import Request
from service.schemas.fields import QueryWhole


class ResultsQuery(Request):
    """Which ranking to return."""

    interim = blueprints.QueryFlag(load_default=False, about="By the votes so far, before the last ballot.")
    top = QueryWhole(least=1, most=2**31, about="k of the cut.")


EXPORTS: Final = ("bundle", "ranking", "report", *ledger.FORMATS)


class ExportQuery(blueprints.NamesQuery):
    """Options for the content of a file."""

    unanswered = blueprints.QueryFlag(load_default=False, about="Comparisons without a vote too.")
    guard = blueprints.QueryFlag(
        load_default=True, about="Whether cells that a spreadsheet would run have an apostrophe in front."
    )


_OPTIONAL: Final = [name for name in names_of(CampaignRow) if name not in ("item", "rank", "strength")]
_ROW: Final = shapes.exactly(
    **shapes.properties_of(CampaignRow, optional=_OPTIONAL, ybar=shapes.NUMBER_OR_NULL),
    image=shapes.TEXT("Path of the image that the item is, if it is one."),
    alt_text=shapes.TEXT,
    optional=[*_OPTIONAL, "image", "alt_text"],
)

# Read from the result by name.
RESULT_FIELDS: Final = ("n_votes", "top", "cut", "signal", "circles", "n_voters", "expected", "excluded", "agreement")


class ResultsAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ledger.CampaignResult,
        *RESULT_FIELDS,
        top={"description": "k of the cut."},
        expected={"description": "Expected tau_w of the strengths; null without a signal."},
        agreement={"description": "tau_w with the ranking of all votes."},
    ),
):
    """A ranking of all items, best first, with its uncertainty."""

    final = shapes.TRUTH("Whether all ballots are closed, or the campaign has ended.")
    rows = shapes.list_of(_ROW)


blueprint = blueprints.organiser_blueprint("results", __name__, "The ranking")
files = blueprints.organiser_blueprint("exports", __name__, "Files of a campaign")

_results = blueprints.ValueCache(4)  # with posterior draws, 24 MB for 3,000 items
_plots = blueprints.ValueCache(16)
_drawing = threading.Lock()  # all threads share matplotlib's font caches
_LEVEL: Final = 0.9
_SVG_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"  # as a page, a figure loads nothing

PLOTS: Final = ("strengths", "ranks", "in-top", "voters")

_FILE: Final = {"schema": {"type": "string", "format": "binary"}}
# Of Label Studio, the only file that is JSON.
_TASKS: Final = {"schema": {"type": "array", "items": {"type": "object"}}}

_CONTENT: Final = {
    kind.partition(";")[0]: _TASKS if ending == "json" else _FILE for ending, kind in blueprints.DOWNLOAD_TYPES.items()
}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # date of all members of a zip, so that equal exports give equal files


@blueprint.get("/<key>/results", name="readResults")
@blueprint.arguments(ResultsQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, ResultsAnswer)
def read(campaign: ledger.Campaign, interim: bool, top: int | None = None) -> Any:
    """Return the ranking of all items, best first; `interim` ranks by strengths before the last ballot closes."""
    check_top(campaign, top)
    compute = partial(campaign.result, interim=interim)
    answer = partial(ranking_answer, campaign, top=top)
    return blueprints.answer_if_changed(
        _results, (campaign.key, interim), campaign.stamp(), compute, answer, interim, top, is_heavy=True
    )


@blueprint.get("/<key>/plots/<name>.svg", name="drawPlot")
@blueprint.arguments(ResultsQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, {"type": "string"}, content_type="image/svg+xml")
def plot(campaign: ledger.Campaign, name: str, interim: bool, top: int | None = None) -> Any:
    """Draw a figure as SVG: strengths or ranks with intervals, in-top, or voters by agreement with the others."""
    if name not in PLOTS:
        raise Problem(404, f"there is no plot of this name; there are {', '.join(PLOTS)}", kind="no-such-plot")
    check_top(campaign, top)
    stamp = campaign.stamp()

    def answer(svg: bytes) -> Response:
        return Response(svg, headers={"Content-Security-Policy": _SVG_POLICY}, content_type="image/svg+xml")

    compute = partial(draw_figure, campaign, stamp, name, interim, top)
    return blueprints.answer_if_changed(
        _plots, (campaign.key, name, interim, top), stamp, compute, answer, name, interim, top, is_heavy=True
    )


@files.get(
    "/<key>/exports/<form>",
    name="exportCampaign",
    parameters=[{"in": "path", "name": "form", "schema": {"type": "string", "enum": list(EXPORTS)}}],
)
@files.arguments(ExportQuery, location="query")
@files.doc(responses={200: {"content": _CONTENT}})
@files.response(200)
def export(campaign: ledger.Campaign, form: str, names: bool, unanswered: bool, guard: bool) -> Response:
    """Download a file: the whole campaign as a zip (bundle), the ranking, a report (zip), or the votes in a format.

    The file identifies voters by random keys unless you set `names`. The header Rankcorr-Votes counts the votes in the
    file; Rankcorr-Left-Out counts those that its format cannot express.
    """
    if form not in EXPORTS:
        raise Problem(404, f"there is no export of this name; there are {', '.join(EXPORTS)}", kind="no-such-format")
    state().pool.pass_on()
    if form == "bundle":
        return blueprints.download("campaign.zip", campaign.bundle(names=names), campaign)
    if form == "ranking":
        ranking = campaign.result(interim=True).to_csv(guard=guard)
        return blueprints.download("ranking.csv", ranking.encode(), campaign)
    if form == "report":
        reports = [campaign.result(interim=True).report()]
        texts = [report_files(reports, "report" + ending) for ending in ENDINGS]
        return blueprints.download("report.zip", zip_files(dict(ChainMap(*texts))), campaign)
    votes = campaign.export_votes(cast(Any, form), unanswered=unanswered, names=names, guard=guard)
    if len(votes.files) == 1:
        ((name, text),) = votes.files.items()
        response = blueprints.download(name, text.encode(), campaign)
    else:
        response = blueprints.download(f"{form}.zip", zip_files(votes.files), campaign)
    response.headers["Rankcorr-Votes"] = str(votes.n_votes)
    response.headers["Rankcorr-Left-Out"] = str(sum(votes.left_out.values()))
    return response


def check_top(campaign: ledger.Campaign, top: int | None) -> None:
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


def ranking_answer(campaign: ledger.Campaign, result: ledger.CampaignResult, *, top: int | None) -> dict[str, Any]:
    """Return the ranking as JSON, with the addresses of images."""
    result = result if top is None else result.with_top(top)
    images = {
        item: {"image": ASSETS + (content.content or ""), "alt_text": content.alt_text or ""}
        for item, content in zip(campaign.info.items, collecting().campaigns.contents(campaign), strict=True)
        if content.kind == "image"
    }
    return {
        "final": result.is_final,
        **{name: getattr(result, name) for name in RESULT_FIELDS},
        "rows": [{**row, **images.get(row["item"], {})} for row in result.rows()],
    }


def draw_figure(campaign: ledger.Campaign, stamp: str, name: str, interim: bool, top: int | None) -> bytes:
    """Draw a figure as SVG.

    Raises
    ------
    Problem
        409 if there are too many items for intervals, or no voter to show.
    """
    if name == "voters":
        quality = campaign.quality()
        agreements: dict[Hashable, tuple[float, float, float]] = {
            voter.key[:8]: (voter.agreement.share, *ends)
            for voter in quality.voters
            if voter.agreement.share is not None and (ends := voter.agreement.interval(_LEVEL)) is not None
        }
        if not agreements:
            raise Problem(409, "no two voters have answered the same pair yet", kind="not-possible")
        with _drawing:
            return figure_bytes(plot_voters(agreements, quantity="Agreement with the others"), "svg")
    if campaign.info.n_items > ledger.MOST_WITH_INTERVALS:
        raise Problem(409, f"intervals are known for up to {ledger.MOST_WITH_INTERVALS:,} items", kind="not-possible")
    rank = partial(campaign.result, interim=interim)
    latest = _results.get((campaign.key, interim), stamp, rank)
    # While another request computes the ranking, this is the previous one, whose figure must not be stored as current.
    result = latest.value if latest.stamp == stamp else rank()
    with _drawing:
        if name == "in-top":
            return figure_bytes(plot_in_top(result.best_fit, result.top if top is None else top), "svg")
        return figure_bytes(plot_strengths(result.best_fit, scale="rank" if name == "ranks" else "strength"), "svg")


def zip_files(files: Mapping[str, str]) -> bytes:
    """Pack several files into one zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
