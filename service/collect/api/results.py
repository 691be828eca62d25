"""Serve /v1/campaigns/{key}/results and plots: the ranking in numbers and in figures."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, Final

from flask import Response

from adaptive.ledger import MOST_WITH_INTERVALS, Campaign, CampaignResult
from adaptive.plots import plot_in_top, plot_strengths, plot_voters
from rankcorr.plots.style import figure_bytes
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import Remembered, tagged
from service.collect.content import ASSETS
from service.collect.schemas.answers import ResultsAnswer, ResultsQuery
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("results", __name__, "The ranking")

_results = Remembered(4)  # with posterior draws, 24 MB for 3,000 items
_plots = Remembered(16)
_drawing = threading.Lock()  # all threads share matplotlib's font caches
_LEVEL: Final = 0.9
PLOTS: Final = ("strengths", "ranks", "in-top", "voters")


@blueprint.route("/<key>/results", methods=["GET"])
@blueprint.arguments(ResultsQuery, location="query")
@operation("readResults")
@blueprint.response(200, ResultsAnswer)
def read(query: dict[str, Any], key: str) -> Any:
    """Return the ranking of all items, best first; `interim` ranks by strengths before the last ballot closes."""
    campaign, interim, top = organiser(key), query["interim"], query.get("top")
    check_top(campaign, top)
    stamp = campaign.stamp()

    def answer(found: CampaignResult) -> dict[str, Any]:
        return answer_of(campaign, found)

    return tagged(_results, (key, interim, top), stamp, lambda: ranked(campaign, interim, top), answer, interim, top)


@blueprint.route("/<key>/plots/<name>.svg", methods=["GET"])
@blueprint.arguments(ResultsQuery, location="query")
@operation("drawPlot")
@blueprint.response(200, {"type": "string"}, content_type="image/svg+xml")
def plot(query: dict[str, Any], key: str, name: str) -> Any:
    """Draw a figure as SVG: strengths or ranks with intervals, in-top, or voters by agreement with the others."""
    campaign, top = organiser(key), query.get("top")
    if name not in PLOTS:
        raise Problem(404, f"there is no plot of this name; there are {', '.join(PLOTS)}", kind="no-such-plot")
    check_top(campaign, top)
    stamp = campaign.stamp()
    interim = query["interim"]

    def drawn(data: bytes) -> Response:
        # Opened as a separate page, the SVG may run or load nothing.
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(data, headers=policy, content_type="image/svg+xml")

    def make() -> bytes:
        return figure(campaign, stamp, name, interim, top)

    return tagged(_plots, (key, name, interim, top), stamp, make, drawn, name, interim, top)


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


def ranked(campaign: Campaign, interim: bool, top: int | None) -> CampaignResult:
    """Return the ranking of a campaign."""
    return campaign.result(interim=interim, top=top)


def answer_of(campaign: Campaign, found: CampaignResult) -> dict[str, Any]:
    """Return the ranking as JSON, with the addresses of images."""
    images = {
        item: {"image": ASSETS + (content.content or ""), "alt_text": content.alt_text or ""}
        for item, content in zip(campaign.info.items, collecting().campaigns.contents(campaign), strict=True)
        if content.kind == "image"
    }
    return {
        "final": found.paper is not None,
        "n_votes": found.n_votes,
        "top": found.top,
        "cut": found.cut,
        "expected": found.expected,
        "excluded": found.excluded,
        "agreement": found.agreement,
        "rows": [{**row, **images.get(row["item"], {})} for row in found.rows()],
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
            made = plot_voters(shown, what="Agreement with the others")
            return figure_bytes(made, "svg")
    if campaign.info.n_items > MOST_WITH_INTERVALS:
        raise Problem(409, f"intervals are known for up to {MOST_WITH_INTERVALS:,} items", kind="not-possible")
    kept = _results.get((campaign.key, interim, top), stamp, lambda: ranked(campaign, interim, top))
    # While another request makes the ranking, `kept` is the previous one; a figure of it must not be stored as current.
    found = kept.value if kept.stamp == stamp else ranked(campaign, interim, top)
    with _drawing:
        if name == "in-top":
            return figure_bytes(plot_in_top(found.strengths, found.top), "svg")
        return figure_bytes(plot_strengths(found.strengths, scale="rank" if name == "ranks" else "strength"), "svg")
