"""Coefficients of systems as functions of n0, as a figure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import ManyRankings, correlate_many
from rankcorr._checks import counted, shown
from rankcorr._coefficients import CoefficientLike, RhoW, TauW, as_coefficient
from rankcorr._ranking import Missing, RankingLike
from rankcorr._shares import first_rank_share
from rankcorr.errors import OptionError
from rankcorr.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
OFFSETS: Final = (np.geomspace(1, 1001, 61) - 1).tolist()
GAP: Final = 12.0  # between the labels of two ticks, in points


class _Options(TypedDict, total=False):
    coefficient: CoefficientLike
    missing: Missing


@overload
def plot_offset(x: RankingLike, systems: ManyRankings, *, ax: None = None, **options: Unpack[_Options]) -> Figure: ...


@overload
def plot_offset(x: RankingLike, systems: ManyRankings, *, ax: Axes, **options: Unpack[_Options]) -> Axes: ...


def plot_offset(
    x: RankingLike,
    systems: ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the coefficient of each system as a function of n0.

    The axis at the top gives R(n0), the share of the weight f that the first rank has, at ticks of n0. Of more than 8
    systems, the 5 that are best at the smallest offset have their own colour, line style and label, and the others are
    thin grey lines. A system that is undefined for every n0 is named in the title.

    Parameters
    ----------
    x, systems
        Gold ranking and systems, as in `correlate_many`.
    coefficient : TauW, RhoW or {"tau_w", "rho_w"}
        A coefficient with an offset, which takes values from 0 to 1,000 in turn; its other options stay.
    missing
        As in `correlate_many`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; labels lie on the right, where ``layout="constrained"`` makes room for them.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    rankcorr.offset_for_share : Choose n0 by the weight of the top ranks.
    rankcorr.correlate_many : The values for one n0.

    Examples
    --------
    >>> from rankcorr.plots import plot_offset
    >>> figure = plot_offset([4, 3, 2, 1], {"good": [4, 3, 1, 2], "poor": [1, 3, 2, 4]})
    >>> [line.get_label() for line in figure.axes[0].lines[:2]]
    ['good', 'poor']
    """
    _style.figure_class()  # before the work
    weighted_coefficient = as_coefficient(coefficient)
    if not isinstance(weighted_coefficient, TauW | RhoW) or weighted_coefficient.n0 is None:
        raise OptionError(f"coefficient must be one with an offset n0, tau_w or rho_w; got {shown(coefficient)}")
    results = [
        correlate_many(x, systems, coefficient=replace(weighted_coefficient, n0=n0), missing=missing) for n0 in OFFSETS
    ]
    values = np.array([result.statistic for result in results]).T
    names = results[0].names or tuple(range(len(values)))
    separate = _separate_rows(values)
    value_label = f"Coefficient {_style.coefficient_text(results[0], offset=False)}"
    axes = _style.own_axes(ax, f"Offset {_style.OFFSET_SYMBOL}", value_label, 7.4, 4.6)
    ink = _style.Ink.of(axes)
    places = np.array(OFFSETS) + 1  # a logarithmic axis of n0 + 1 gives the top-heavy offsets room
    others = [row for row in range(len(names)) if row not in separate]
    for row in others:
        axes.plot(places, values[row], color=ink.grey(0.7), lw=0.7, zorder=1)
    ends, labels, colours, undefined = [], [], [], []
    for number, row in enumerate(separate):
        label, colour = _style.label_text(names[row], max(12, int(_style.room(axes) / 14))), ink.colour(number)
        axes.plot(places, values[row], color=colour, ls=_style.STYLES[number], lw=1.8, label=label)
        known = np.flatnonzero(~np.isnan(values[row]))
        if known.size:
            ends.append((places[known[-1]], values[row, known[-1]]))
            labels.append(label)
            colours.append(colour)
        else:
            undefined.append(label)
    axes.set_xscale("log")
    axes.margins(x=0.02)
    ticks = _offset_ticks(axes)
    _draw_first_share(axes, ticks, results[0].n_items)
    _style.label_beside(axes, ends, labels, colours)
    lacking = f"; undefined: {', '.join(undefined)}" if undefined else ""
    best = f" (best {len(separate)} at the left coloured)" if others else ""
    counts = f"{counted(len(names), 'system')}{best}, {counted(results[0].n_items, 'item')}"
    _style.entitle(
        axes, f"{_style.symbol(weighted_coefficient.name)} by offset {_style.OFFSET_SYMBOL}: {counts}{lacking}", ax
    )
    return _style.axes_or_figure(axes, ax)


def _draw_first_share(axes: Axes, ticks: list[int], n_items: int) -> None:
    """Give R(n0) at the ticks of n0 on an axis at the top, where it crosses no line."""
    ink = _style.Ink.of(axes).grey(0.3)
    top = axes.secondary_xaxis("top")
    shares = [f"{100 * first_rank_share(n0, n_items):.2g}" for n0 in ticks]
    labels = [share if place == 0 or share != shares[place - 1] else "" for place, share in enumerate(shares)]
    top.set_ticks([n0 + 1 for n0 in ticks], labels=labels)
    top.set_ticks([], minor=True)
    top.set_xlabel(f"Weight of rank 1, {_style.SHARE_SYMBOL}, in %", color=ink, fontsize=_style.LABEL)
    top.tick_params(colors=ink, labelsize=_style.LABEL)
    top.spines["top"].set_visible(True)
    top.spines["top"].set_color(ink)


def _offset_ticks(axes: Axes) -> list[int]:
    """Set round offsets as ticks, and return them."""
    scale = _style.room(axes) / math.log(OFFSETS[-1] + 1)
    ticks: list[int] = []
    for tick in (0, 1, 10, 100, 1000, 5, 2, 20, 50, 200, 500):
        for other in ticks:
            labels_width = 0.5 * len(f"{tick}{other}") * _style.CHARACTER * _style.NAMES
            if scale * abs(math.log((tick + 1) / (other + 1))) < labels_width + GAP:
                break
        else:
            ticks.append(tick)
    ticks.sort()
    axes.set_xticks([tick + 1 for tick in ticks], labels=[str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    return ticks


def _separate_rows(values: NDArray[np.float64]) -> list[int]:
    """Rows of the systems with a separate style."""
    if len(values) <= len(_style.STYLES):
        return list(range(len(values)))
    best = np.where(np.isnan(values[:, 0]), -np.inf, values[:, 0])
    return [int(row) for row in np.argsort(-best, kind="stable")[:5]]
