"""Systems as a function of n0 as a figure."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._batch import ManyRankings, correlate_many
from rankcorr._checks import counted, shown
from rankcorr._coefficients import CoefficientLike, RhoW, TauW, as_coefficient
from rankcorr._ranking import Missing, RankingLike
from rankcorr._shares import first_rank_share
from rankcorr._weights import check_offset
from rankcorr.errors import OptionError
from rankcorr.plots._style import (
    LABEL,
    OFFSET_SYMBOL,
    SHARE_SYMBOL,
    STYLES,
    TICK,
    Ink,
    described,
    drawn,
    entitle,
    figure_class,
    label_beside,
    label_text,
    own_axes,
    room,
    symbol,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OFFSETS: Final = np.geomspace(1, 1001, 61) - 1


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

    The axis at the top gives R(n0), the share of the weight f that the first rank has, at ticks of n0. Of more than 8
    systems, the 5 that are best at the smallest offset have their own colour, line style and label, and the others are
    thin grey lines. A system that is undefined for every n0 is named in the title.

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
    axes = own_axes(ax, f"Offset {OFFSET_SYMBOL}", what, 7.4, 4.6)
    ink = Ink.of(axes)
    places = np.array(offsets) + 1  # n0 > -1, and a logarithmic axis of n0 + 1 gives the top-heavy offsets room
    others = [row for row in range(len(names)) if row not in shown_apart]
    for row in others:
        axes.plot(places, values[row], color=ink.grey(0.7), lw=0.7, zorder=1)
    ends, labels, colours, undefined = [], [], [], []
    for number, row in enumerate(shown_apart):
        label, colour = label_text(names[row], max(12, int(room(axes) / 14))), ink.colour(number)
        axes.plot(places, values[row], color=colour, ls=STYLES[number], lw=1.8, label=label)
        known = np.flatnonzero(~np.isnan(values[row]))
        if known.size:
            ends.append((places[known[-1]], values[row, known[-1]]))
            labels.append(label)
            colours.append(colour)
        else:
            undefined.append(label)
    axes.set_xscale("log")
    axes.margins(x=0.02)
    ticks = _offset_ticks(axes, offsets)
    _draw_first_share(axes, ticks, results[0].n_items)
    label_beside(axes, ends, labels, colours)
    lacking = f"; undefined: {', '.join(undefined)}" if undefined else ""
    best = f" (best {len(shown_apart)} at the left coloured)" if others else ""
    counts = f"{counted(len(names), 'system')}{best}, {counted(results[0].n_items, 'item')}"
    entitle(axes, f"{symbol(chosen.name)} by offset {OFFSET_SYMBOL}: {counts}{lacking}", ax)
    return drawn(axes, ax)


def _draw_first_share(axes: Axes, ticks: list[float], n_items: int) -> None:
    """Give R(n0) at the ticks of n0 on an axis at the top, where it crosses no line."""
    ink = Ink.of(axes).grey(0.3)
    top = axes.secondary_xaxis("top")
    shares = [f"{100 * first_rank_share(n0, n_items):.2g}" for n0 in ticks]
    labels = [share if place == 0 or share != shares[place - 1] else "" for place, share in enumerate(shares)]
    top.set_ticks([n0 + 1 for n0 in ticks], labels=labels)
    top.set_ticks([], minor=True)
    top.set_xlabel(f"Weight of rank 1, {SHARE_SYMBOL}, in %", color=ink, fontsize=LABEL)
    top.tick_params(colors=ink, labelsize=LABEL)
    top.spines["top"].set_visible(True)
    top.spines["top"].set_color(ink)


def _offset_ticks(axes: Axes, offsets: list[float]) -> list[float]:
    """Set round offsets as ticks, and return them."""
    low, high = offsets[0], offsets[-1]
    gap = ((high + 1) / (low + 1)) ** (TICK / room(axes))
    ticks: list[float] = []
    for tick in (0, *(10**power for power in range(19)), -0.9, -0.5, 1, 5, 2, 20, 50, 200, 500, low, high):
        apart = all(max(tick + 1, other + 1) >= gap * min(tick + 1, other + 1) for other in ticks)
        if low <= tick <= high and apart and (tick == round(tick, 1)):
            ticks.append(tick)
    ticks = sorted(ticks) or [low]
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
    if len(values) <= len(STYLES):
        return list(range(len(values)))
    best = np.where(np.isnan(values[:, 0]), -np.inf, values[:, 0])
    return [int(row) for row in np.argsort(-best, kind="stable")[:5]]
