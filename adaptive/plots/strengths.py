"""Plot strengths with their intervals, and the probability of each item to be in the top k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

import numpy as np
from scipy.special import ndtri

from adaptive.errors import ModelError
from adaptive.model.accuracy import N_SAMPLES
from adaptive.model.strengths import Strengths
from adaptive.plots.rows import (
    MOST_NAMED,
    checked_top,
    draw_intervals,
    figure_height,
    name_rows,
    title_of_part,
)
from adaptive.record import Places, places_best_first
from rankcorr.checks import check_choice, checked_level, shown
from rankcorr.plots.style import Ink, add_legend, drawn, figure_class, own_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale: TypeAlias = Literal["strength", "rank"]

LEVEL: Final = 0.9
TOP: Final = 50
SCALES: Final = ("strength", "rank")
_LEAST: Final = 0.005  # an item with a smaller probability is left out below the cut


@overload
def plot_strengths(
    strengths: Strengths, *, top: int | None = TOP, level: float = LEVEL, scale: Scale = "strength", ax: None = None
) -> Figure: ...
@overload
def plot_strengths(
    strengths: Strengths, *, top: int | None = TOP, level: float = LEVEL, scale: Scale = "strength", ax: Axes
) -> Axes: ...
def plot_strengths(
    strengths: Strengths,
    *,
    top: int | None = TOP,
    level: float = LEVEL,
    scale: Scale = "strength",
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the strengths of the best items, or their ranks, with intervals, best first.

    The interval of a strength is ± z standard errors; strengths are known up to a constant, and their mean is 0. The
    interval of a rank is that of `Strengths.rank_intervals`. With more than 100 items, the intervals form a band, and
    places replace names.

    Parameters
    ----------
    strengths : Strengths
    top : int or None
        Number of items; None for all.
    level : float
        Of the intervals.
    scale : {"strength", "rank"}
        Quantity to draw.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    ModelError
        Anything but `Strengths`.
    OptionError
        `top` or `level` out of range, or an unknown scale.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> figure = plot_strengths(bradley_terry(votes, prior=2))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['fig', 'kiwi', 'plum']
    """
    figure_class()
    _check(strengths)
    n_rows = checked_top(top, len(strengths.items))
    confidence = checked_level(level)
    check_choice("scale", scale, SCALES)
    places = places_best_first(strengths.items, strengths.ranking.ranks)[:n_rows]
    if scale == "rank":
        intervals = strengths.rank_intervals(confidence)
        values, low, high = intervals.rank[places], intervals.low[places], intervals.high[places]
    else:
        values = strengths.theta[places]
        half = float(ndtri((1 + confidence) / 2)) * strengths.standard_errors[places]
        low, high = values - half, values + half
    axes = own_axes(ax, f"{scale.capitalize()}, with its {100 * level:g} % interval", "", 6.4, figure_height(n_rows))
    draw_intervals(axes, values, low, high)
    _name_items(axes, strengths, places, ours=ax is None)
    return drawn(axes, ax)


@overload
def plot_in_top(
    strengths: Strengths, k: int, *, top: int | None = None, n_samples: int = N_SAMPLES, seed: int = 0, ax: None = None
) -> Figure: ...
@overload
def plot_in_top(
    strengths: Strengths, k: int, *, top: int | None = None, n_samples: int = N_SAMPLES, seed: int = 0, ax: Axes
) -> Axes: ...
def plot_in_top(
    strengths: Strengths,
    k: int,
    *,
    top: int | None = None,
    n_samples: int = N_SAMPLES,
    seed: int = 0,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the probability of each item to be in the top k, in the order of the ranking, with a line at the cut.

    Items above the cut have dark bars, those below pale ones. Below the cut, items after the last one with a
    probability of 0.005 or more are left out.

    Parameters
    ----------
    strengths : Strengths
    k : int
        From 1 to the number of items.
    top : int or None
        Maximum number of items to draw; by default 50, or 2 k if that is more.
    n_samples, seed : int
        As in `Strengths.in_top`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    ModelError
        Anything but `Strengths`, or a k, n_samples or seed out of range.
    OptionError
        `top` out of range.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> axes = plot_in_top(bradley_terry(votes, prior=2), 1).axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['fig', 'kiwi', 'plum']
    """
    figure_class()
    _check(strengths)
    probabilities = strengths.in_top(k, n_samples=n_samples, seed=seed).probability
    places = places_best_first(strengths.items, strengths.ranking.ranks)
    likely = np.flatnonzero(probabilities[places] >= _LEAST)
    n_likely = max(k, int(likely[-1]) + 1 if likely.size else 0)
    n_rows = checked_top(max(TOP, 2 * k) if top is None else top, n_likely)
    places = places[:n_rows]
    axes = own_axes(ax, f"Probability of being in the top {k:,}", "", 6.4, figure_height(n_rows) + 0.3)
    ink, rows, lengths = Ink.of(axes), np.arange(n_rows), probabilities[places]
    dense = n_rows > MOST_NAMED
    handles: list[Any] = [
        axes.barh(rows[part], lengths[part], height=1.0 if dense else 0.7, color=ink.grey(paleness), lw=0, label=label)
        for part, paleness, label in (
            (slice(0, k), 0.35, f"the best {k:,} of the ranking"),
            (slice(k, None), 0.75, "items after them"),
        )
        if rows[part].size
    ]
    if k < n_rows:
        axes.axhline(k - 0.5, color=ink.full, lw=1, ls="--")
    axes.set_xlim(0, 1)
    axes.xaxis.grid(visible=True, color=ink.grey(0.88), lw=0.6)
    axes.set_axisbelow(True)
    _name_items(axes, strengths, places, "first", ours=ax is None)
    add_legend(axes, handles, ax)
    return drawn(axes, ax)


def _name_items(axes: Axes, strengths: Strengths, places: Places, which: str = "best", *, ours: bool) -> None:
    """Write the names of the rows, and the number of items shown out of all."""
    name_rows(axes, [strengths.items[place] for place in places.tolist()], "best", ours=ours)
    axes.set_title(title_of_part(places.size, len(strengths.items), which, "items"), fontsize=11)


def _check(strengths: Strengths) -> None:
    if not isinstance(strengths, Strengths):
        raise ModelError(f"the figure is one of Strengths; got {shown(strengths)}")
