"""Rankings and their coefficients as figures: rank against rank, and a coefficient as a function of n0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.alignment import Missing
from rankcorr.batch import ManyRankings, RankCorrelations, correlate_many
from rankcorr.checks import offending, shown, whole_number
from rankcorr.coefficients import (
    CoefficientLike,
    RhoW,
    TauW,
    as_coefficient,
)
from rankcorr.contributions import ItemContribution, contributions
from rankcorr.errors import OptionError
from rankcorr.plots.style import add_axes, canvas, figure_class, label_text, signed
from rankcorr.ranking import RankingLike
from rankcorr.shares import first_rank_share
from rankcorr.weights import check_offset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Marker and line style of each highlighted system.
LINES: Final = (("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."), ("v", "-"), ("x", "--"), ("P", ":"), ("*", "-."))
OFFSETS: Final = np.geomspace(1, 1001, 61) - 1
LINE_HEIGHT: Final = 0.17  # of a legend, in inches
SMALLEST_AREA, LARGEST_AREA = 8.0, 400.0  # of a marker, in square points


def plot_ranks(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    names: tuple[str, str] = ("x", "y"),
    n_named: int = 5,
) -> Figure:
    """Draw the rank of each item in y against its rank in x; the area of a marker grows with the weight.

    Both axes are logarithmic, because the top is where the weight is. Items that share both ranks share a marker, with
    their weights added. Items on the diagonal agree; those that cost the coefficient most are numbered, and listed
    below with their labels.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        As in `weighted_tau`.
    coefficient, missing
        As in `contributions`.
    names : pair of str
        Names of the two rankings, for the axes.
    n_named : int
        How many items to number, from the largest cost down, and to list by label, or by position where there are no
        labels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    RankingError
        The subclass says what is wrong with the rankings or the options.

    Examples
    --------
    >>> figure = plot_ranks([4, 3, 2, 1], [3, 4, 1, 2], names=("gold", "system"))
    >>> figure.axes[0].get_xlabel()
    'Rank in gold'
    """
    figure_class()  # before the work
    from matplotlib.lines import Line2D

    count = whole_number(n_named)
    if count is None or count < 0:
        raise OptionError(f"n_named must be a whole number, not negative; got {shown(n_named)}")
    parts = contributions(
        x,
        y,
        coefficient=coefficient,
        missing=missing,
    )
    worst = [] if count == 0 or math.isnan(parts.statistic) else [row for row in parts.worst(count) if row.cost > 0]
    figure = canvas(5.6, 5.4 + LINE_HEIGHT * len(worst))
    axes = add_axes(figure, (1, 1, 1), f"Rank in {label_text(names[0])}", f"Rank in {label_text(names[1])}")
    ends = (0.75, 1.35 * parts.n_items)
    axes.plot(ends, ends, color="0.6", lw=0.8, zorder=0)
    points, place = np.unique(np.column_stack([parts.x.ranks, parts.y.ranks]), axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1), parts.weights)
    areas = SMALLEST_AREA + LARGEST_AREA * weights / max(weights.max(), np.finfo(float).tiny)
    axes.scatter(points[:, 0], points[:, 1], s=areas, facecolors="0.85", edgecolors="k", linewidths=0.7)
    for set_scale, set_limits, axis in (
        (axes.set_xscale, axes.set_xlim, axes.xaxis),
        (axes.set_yscale, axes.set_ylim, axes.yaxis),
    ):
        set_scale("log")
        set_limits(*ends)
        ticks = _round_numbers(1, parts.n_items) if parts.n_items > 10 else list(range(1, parts.n_items + 1))
        axis.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    axes.set_aspect("equal")
    axes.set_title(f"{parts.coefficient} = {signed(parts.statistic)} (area of a marker: weight)", fontsize=11)
    _number_worst(axes, worst, dict(zip(map(tuple, points.tolist()), areas.tolist(), strict=True)))
    if worst:
        labelled = parts.x.labels is not None
        labels = [label_text(row.label if labelled else f"item at position {row.label}") for row in worst]
        figure.legend(
            [Line2D([], [], ls="") for _ in worst],
            [f"{number}  {label}" for number, label in enumerate(labels, start=1)],
            title="Items that cost most",
            alignment="left",
            handlelength=0,
            handletextpad=0,
            loc="outside lower center",
            frameon=False,
            fontsize=9,
        )
    return figure


def _number_worst(axes: Axes, worst: list[ItemContribution], areas: dict[tuple[float, ...], float]) -> None:
    """Write 1, 2, .. at the upper right of the markers of items; those of items that share a marker stand together."""
    places: dict[tuple[float, float], list[str]] = {}
    for number, row in enumerate(worst, start=1):
        places.setdefault((row.x_rank, row.y_rank), []).append(str(number))
    for place, numbers in places.items():
        beside = 1 + 0.36 * math.sqrt(areas[place])  # in points: half the marker's width, at 45 degrees
        axes.annotate(
            ", ".join(numbers),
            place,
            xytext=(beside, beside),
            textcoords="offset points",
            fontsize=10,
            fontweight="bold",
        )


def plot_offset(
    x: RankingLike,
    systems: ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    n0s: ArrayLike = OFFSETS,
    missing: Missing = "raise",
    highlighted: Sequence[Any] | None = None,
) -> Figure:
    """Draw the coefficient of each system as a function of n0, and R(n0), the weight of the first rank.

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
    highlighted : sequence of names, optional
        At most 8 systems to draw with their own marker and line style; the others are thin grey lines. Rows of a
        matrix are named by their number, from 0. By default all systems if there are at most 8, and otherwise the 5
        that are best at the smallest offset.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    RankingError
        The subclass says what is wrong with the rankings or the options.

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
    shown_apart = _highlighted(highlighted, names, values)
    one_column = max(len(label_text(name)) for name in names) > 20
    n_lines = len(shown_apart) + 2
    figure = canvas(6.8, 4.4 + LINE_HEIGHT * (n_lines if one_column else (n_lines + 3) // 4))
    axes = add_axes(figure, (1, 1, 1), "Offset n0", f"Coefficient {chosen.name}")
    places = np.array(offsets) + 1  # n0 > -1, and a logarithmic axis of n0 + 1 gives the top-heavy offsets room
    others = [row for row in range(len(names)) if row not in shown_apart]
    for number, row in enumerate(others):
        label = f"{len(others)} other systems" if number == 0 else "_"
        axes.plot(places, values[row], color="0.7", lw=0.7, zorder=1, label=label)
    every = max(1, len(offsets) // 8)
    for number, row in enumerate(shown_apart):
        marker, style = LINES[number]
        start = number * every // len(shown_apart)
        axes.plot(
            places,
            values[row],
            color="k",
            ls=style,
            lw=1.3,
            marker=marker,
            mfc="w",
            ms=6,
            markevery=(start, every),
            label=label_text(names[row]),
        )
    axes.set_xscale("log")
    _offset_ticks(axes, offsets)
    handles = [*axes.get_legend_handles_labels()[0], _draw_first_share(axes, results[0], offsets, places)]
    figure.legend(handles=handles, loc="outside lower center", ncols=1 if one_column else 4, frameon=False, fontsize=9)
    return figure


def _draw_first_share(
    axes: Axes, result: RankCorrelations, offsets: list[float], places: NDArray[np.float64]
) -> Line2D:
    right = axes.twinx()
    shares = [first_rank_share(n0, result.n_items) for n0 in offsets]
    (line,) = right.plot(places, shares, color="0.45", lw=2.4, zorder=0, label="R(n0), right axis")
    right.set_ylabel("Weight of rank 1, R(n0)", fontsize=12, color="0.35")
    right.set_ylim(0, 1)
    right.tick_params(colors="0.35")
    right.spines["top"].set_visible(False)
    # The lines of the systems lie above that of R(n0).
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return line


def _offset_ticks(axes: Axes, offsets: list[float]) -> None:
    low, high = offsets[0], offsets[-1]
    ticks = [tick for tick in (-0.9, -0.5, 0, 1, 2, *_round_numbers(5, high)) if low <= tick <= high] or [low]
    axes.set_xticks([tick + 1 for tick in ticks], labels=[f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)


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


def _highlighted(wanted: Sequence[Any] | None, names: tuple[Any, ...], values: NDArray[np.float64]) -> list[int]:
    """Rows of the systems that have their own style."""
    if wanted is None:
        if len(names) <= len(LINES):
            return list(range(len(names)))
        best = np.where(np.isnan(values[:, 0]), -np.inf, values[:, 0])
        return [int(row) for row in np.argsort(-best, kind="stable")[:5]]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise OptionError(offending("highlighted must name systems; unknown", unknown))
    rows = [names.index(name) for name in dict.fromkeys(wanted)]
    if len(rows) > len(LINES):
        raise OptionError(f"highlighted must name at most {len(LINES)} systems; got {len(rows)}")
    return rows


def _round_numbers(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5, 10, 20, .. from `low` to `high`, or only 1, 10, 100, .. if those are more than 10."""
    numbers = [float(digit * 10**power) for power in range(19) for digit in (1, 2, 5)]
    found = [number for number in numbers if low <= number <= high]
    return found if len(found) <= 10 else [number for number in found if np.log10(number) % 1 == 0]
