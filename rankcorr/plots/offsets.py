"""Systems as a function of n0 as a figure."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.alignment import Missing
from rankcorr.batch import ManyRankings, correlate_many
from rankcorr.checks import shown
from rankcorr.coefficients import CoefficientLike, RhoW, TauW, as_coefficient
from rankcorr.errors import OptionError
from rankcorr.plots.style import (
    OFFSET_SYMBOL,
    SHARE_SYMBOL,
    TICK,
    Ink,
    add_legend,
    described,
    drawn,
    figure_class,
    label_text,
    own_axes,
    room,
    round_numbers,
)
from rankcorr.ranking import RankingLike
from rankcorr.shares import first_rank_share
from rankcorr.weights import check_offset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Marker and line style of each system shown apart.
LINES: Final = (("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."), ("v", "-"), ("x", "--"), ("P", ":"), ("*", "-."))
OFFSETS: Final = np.geomspace(1, 1001, 61) - 1
LINE_HEIGHT: Final = 0.17  # of a legend, in inches


class _Options(TypedDict, total=False):
    coefficient: CoefficientLike
    n0s: ArrayLike
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
    n0s: ArrayLike = OFFSETS,
    missing: Missing = "raise",
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the coefficient of each system as a function of n0.

    The axis at the top gives R(n0), the share of the weight f that the first rank has, at the ticks of n0. The legend
    names the systems that are undefined for every n0. Of more than 8 systems, the 5 that are best at the smallest
    offset have their own marker and line style, and the others are thin grey lines.

    Parameters
    ----------
    x, systems
        Gold ranking and systems, as in `correlate_many`.
    coefficient : TauW, RhoW or {"tau_w", "rho_w"}
        A coefficient with an offset, which takes the values of `n0s` in turn; its other options stay.
    n0s : array_like of shape (n_offsets,)
        Offsets, increasing, each greater than -1.
    missing
        As in `correlate_many`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the legend lies below, where ``layout="constrained"`` makes room for it.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    Examples
    --------
    >>> figure = plot_offset([4, 3, 2, 1], {"good": [4, 3, 1, 2], "poor": [1, 3, 2, 4]}, n0s=[0, 2, 10])
    >>> [line.get_label() for line in figure.axes[0].lines[:2]]
    ['good', 'poor']
    """
    figure_class()  # before the work
    chosen = as_coefficient(coefficient)
    if not isinstance(chosen, TauW | RhoW) or chosen.n0 is None:
        raise OptionError(f"coefficient must be one with an offset n0, tau_w or rho_w; got {shown(coefficient)}")
    offsets = _checked_offsets(n0s)
    results = [correlate_many(x, systems, coefficient=replace(chosen, n0=n0), missing=missing) for n0 in offsets]
    values = np.array([result.statistic for result in results]).T
    names = results[0].names or tuple(range(len(values)))
    shown_apart = _shown_apart(values)
    what = f"Coefficient {described(results[0], offset=False)}"
    axes = own_axes(ax, f"Offset {OFFSET_SYMBOL}", what, 6.8, 4.6 + LINE_HEIGHT * math.ceil(len(shown_apart) / 2))
    ink = Ink.of(axes)
    places = np.array(offsets) + 1  # n0 > -1, and a logarithmic axis of n0 + 1 gives the top-heavy offsets room
    others = [row for row in range(len(names)) if row not in shown_apart]
    handles = []
    for row in others:
        (line,) = axes.plot(places, values[row], color=ink.grey(0.7), lw=0.7, zorder=1)
        if row == others[0]:
            line.set_label(f"{len(others)} other systems")
            handles.append(line)
    every = max(1, len(offsets) // 8)
    for number, row in enumerate(shown_apart):
        marker, style = LINES[number]
        start = number * every // len(shown_apart)
        (line,) = axes.plot(
            places,
            values[row],
            color=ink.full,
            ls=style,
            lw=1.3,
            marker=marker,
            mfc=ink.full if marker == "x" else ink.paper,
            ms=6,
            markevery=(start, every),
            label=f"{label_text(names[row])}{' (undefined)' if np.isnan(values[row]).all() else ''}",
        )
        handles.append(line)
    axes.set_xscale("log")
    ticks = _offset_ticks(axes, offsets)
    _draw_first_share(axes, ticks, results[0].n_items)
    add_legend(axes, handles, ax)
    return drawn(axes, ax)


def _draw_first_share(axes: Axes, ticks: list[float], n_items: int) -> None:
    """Give R(n0) at the ticks of n0 on an axis at the top, where it crosses no line."""
    ink = Ink.of(axes).grey(0.3)
    top = axes.secondary_xaxis("top")
    shares = [100 * first_rank_share(n0, n_items) for n0 in ticks]
    top.set_ticks([n0 + 1 for n0 in ticks], labels=[f"{share:.2g}" for share in shares])
    top.set_ticks([], minor=True)
    top.set_xlabel(f"Weight of rank 1, {SHARE_SYMBOL}, in %", color=ink)
    top.tick_params(colors=ink)
    top.spines["top"].set_visible(True)
    top.spines["top"].set_color(ink)


def _offset_ticks(axes: Axes, offsets: list[float]) -> list[float]:
    """Set round offsets as ticks, and return them."""
    low, high = offsets[0], offsets[-1]
    most = int(room(axes) / TICK)
    few = (-0.9, 0, 1, *round_numbers(5, high, 0))
    ticks = [tick for tick in (-0.9, -0.5, 0, 1, 2, *round_numbers(5, high)) if low <= tick <= high] or [low]
    if len(ticks) > most:
        ticks = [tick for tick in ticks if tick in few] or [low]
    axes.set_xticks([tick + 1 for tick in ticks], labels=[f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])
    axes.set_xticks([], minor=True)
    return ticks


def _checked_offsets(n0s: ArrayLike) -> list[float]:
    try:
        offsets = np.asarray(n0s)
    except ValueError:  # how numpy reports rows of different lengths
        offsets = np.empty(0)
    if offsets.ndim != 1 or offsets.size < 2:
        raise OptionError(f"n0s must hold at least two offsets in one dimension; got {shown(n0s)}")
    numbers = [check_offset(n0) for n0 in offsets.tolist()]
    if any(after <= before for before, after in pairwise(numbers)):
        raise OptionError(f"n0s must increase; got {shown(numbers)}")
    return numbers


def _shown_apart(values: NDArray[np.float64]) -> list[int]:
    """Rows of the systems with a separate style."""
    if len(values) <= len(LINES):
        return list(range(len(values)))
    best = np.where(np.isnan(values[:, 0]), -np.inf, values[:, 0])
    return [int(row) for row in np.argsort(-best, kind="stable")[:5]]
