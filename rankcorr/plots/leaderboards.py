"""A leaderboard as a figure: coefficients, intervals and groups."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rankcorr.inference.gold_sets import SUM
from rankcorr.inference.leaderboard_rows import Leaderboard, LeaderboardRow, Score
from rankcorr.plots.style import add_axes, canvas, figure_class, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS: Final = ("o", "s", "^", "D", "v")
ROW_HEIGHT: Final = 0.26  # in inches


def plot_leaderboard(leaderboard: Leaderboard) -> Figure:
    """Draw the coefficient of each system with its interval, best first; each group has its own band and marker.

    The column drawn is the one that the leaderboard is ranked by. The line of a system without a
    coefficient says "undefined".

    Parameters
    ----------
    leaderboard : Leaderboard

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.

    Examples
    --------
    >>> from rankcorr.inference.leaderboard import leaderboard
    >>> gold = {word: place for place, word in enumerate(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])}
    >>> systems = {"poor": {word: -place for word, place in gold.items()}, "good": gold | {"hen": 5.5}}
    >>> figure = plot_leaderboard(leaderboard(gold, systems, n_resamples=200))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['good', 'poor']
    """
    figure_class()
    rows = leaderboard.rows
    figure = canvas(7.0, 1.5 + ROW_HEIGHT * max(3, len(rows)))
    what = f"{leaderboard.coefficient} with its {100 * leaderboard.level:g} % interval"
    if leaderboard.by != SUM:
        what = f"{what}, {label_text(leaderboard.by)}"
    elif len(leaderboard.gold_sets) > 1:
        what = f"Sum over {len(leaderboard.gold_sets)} gold sets of {what}"
    axes = add_axes(figure, (1, 1, 1), what, "")
    place = 0
    for number, members in groupby(rows, key=lambda row: row.group):
        systems = list(members)
        _draw_group(axes, number, place, [_score(leaderboard, row) for row in systems])
        place += len(systems)
    axes.set_yticks(range(len(rows)), labels=[label_text(row.system) for row in rows], fontsize=10)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.04)
    axes.xaxis.grid(visible=True, color="0.85", lw=0.6)
    axes.set_axisbelow(True)
    return figure


def _draw_group(axes: Axes, number: int | None, place: int, scores: list[Score]) -> None:
    """Draw the systems of one group from a line downwards: a band, points, and the number of the group on the right."""
    right = axes.get_yaxis_transform()  # across the axes from 0 to 1, and lines downwards
    if number is not None and number % 2 == 1:
        axes.axhspan(place - 0.5, place + len(scores) - 0.5, color="0.93", lw=0, zorder=0)
    text = "undefined" if number is None else f"group {number}"
    axes.text(1.01, place + (len(scores) - 1) / 2, text, transform=right, va="center", fontsize=10)
    if number is None:
        return
    marker = MARKERS[(number - 1) % len(MARKERS)]
    for line, score in enumerate(scores, start=place):
        if not math.isnan(score.low):
            axes.plot([score.low, score.high], [line, line], color="k", lw=1.3, marker="|", ms=5)
        axes.plot([score.statistic], [line], ls="", marker=marker, ms=6.5, mfc="w", mec="k", mew=1.2)


def _score(leaderboard: Leaderboard, row: LeaderboardRow) -> Score:
    return row.total if leaderboard.by == SUM else row.scores[leaderboard.gold_sets.index(leaderboard.by)]
