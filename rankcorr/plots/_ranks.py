"""Figures of systems against gold: rank against rank, a panel for each system, and coefficients by n0."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import ManyRankings, correlate_many
from rankcorr._checks import checked_count, counted, shown
from rankcorr._coefficients import CoefficientLike, RhoW, TauW, as_coefficient
from rankcorr._contributions import Contributions, contributions
from rankcorr._input.frames import by_name
from rankcorr._ranking import Missing, Ranking, RankingLike
from rankcorr._shares import first_rank_share
from rankcorr.errors import OptionError, RankingError
from rankcorr.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE: Final = 5.6  # of the axes of one system, in inches
PANEL: Final = 3.7  # of each of several
MOST_COLUMNS: Final = 3  # of one row
LONGEST_NAME: Final = 28
LABEL_WIDTH: Final = 1.6  # left of the axes, in inches
LONGEST_ITEM: Final = 20

EXPLAINED: Final = "larger markers weigh more; coloured ones cost most"
FIRST_EDGE: Final = 0.65  # rank where the axes begin: the largest marker fits

SMALLEST_AREA, WHOLE_AREA = 8.0, 2_000.0  # of a marker, and of all weight together, in square points
FULL_SIDE: Final = 4.2  # of axes where markers have these areas, in inches

# From this number of places on, places of little weight are dots without an edge, the paler the more there are.
DENSE: Final = 400
HEAVY: Final = 0.02  # of the largest weight; with n0 = 2, rank 19 has it
DOT_AREA: Final = 5.0
MOST_HEAVY: Final = 100


class _OffsetOptions(TypedDict, total=False):
    coefficient: CoefficientLike
    missing: Missing


class _PlotOptions(_OffsetOptions, total=False):
    names: tuple[str, str]
    n_named: int


@overload
def plot_ranks(
    x: RankingLike, y: RankingLike | ManyRankings, *, ax: None = None, **options: Unpack[_PlotOptions]
) -> Figure: ...
@overload
def plot_ranks(x: RankingLike, y: RankingLike | ManyRankings, *, ax: Axes, **options: Unpack[_PlotOptions]) -> Axes: ...
def plot_ranks(
    x: RankingLike,
    y: RankingLike | ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    names: tuple[str, str] = ("x", "y"),
    n_named: int = 5,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the rank of each item in y against its rank in x; the area of a marker grows with the weight.

    Both axes are logarithmic, because the top has most of the weight. Items that share both ranks share a marker, with
    their weights added. Items on the diagonal agree. The items that cost the coefficient most are coloured, and
    labelled on the right. If there are many items, those of little weight are dots.

    Parameters
    ----------
    x : Ranking, mapping of label to score, or array_like of shape (n_items,)
        As in `weighted_tau`.
    y : the same, or several of them
        Several rankings, as in `correlate_many`, have a panel each.
    coefficient, missing
        As in `contributions`.
    names : pair of str
        Names of the two rankings, for the axes. With several rankings, each has its own name, and the second is not
        used.
    n_named : int
        Number of items to label, from the largest cost down; by position if there are no labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw one ranking; labels lie on the right, where ``layout="constrained"`` makes room for them.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    RankingError
        The subclass tells what is wrong with the rankings or the options; for several, its message names the ranking.

    See Also
    --------
    rankcorr.contributions : The numbers behind the colours.
    save_figure : Write the figure to a file.

    Examples
    --------
    >>> from rankcorr.plots import plot_ranks
    >>> figure = plot_ranks([4, 3, 2, 1], [3, 4, 1, 2], names=("gold", "system"))
    >>> figure.axes[0].get_xlabel()
    'Rank in gold'
    >>> figure = plot_ranks([4, 3, 2, 1], {"good": [3, 4, 2, 1], "poor": [1, 3, 2, 4]}, names=("gold", ""))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['Rank in good', 'Rank in poor']
    """
    _style.figure_class()  # before the work
    count = checked_count(n_named, "n_named", least=0)
    rankings = _rankings_by_name(y)
    if rankings is None:
        parts = contributions(x, y, coefficient=coefficient, missing=missing)  # type: ignore[arg-type]
        axes = _style.own_axes(ax, *_axis_labels(names), SIDE + LABEL_WIDTH, SIDE)
        _draw(axes, parts, count)
        x_name, y_name = (_style.label_text(name, LONGEST_NAME) for name in names)
        subject = f"{y_name} against {x_name}, {counted(parts.n_items, 'item')}"
        _style.entitle(axes, f"{subject}: {_style.coefficient_text(parts, parts.statistic)}\n{EXPLAINED}", ax)
        return _style.axes_or_figure(axes, ax)
    if ax is not None:
        raise OptionError(f"ax takes one ranking; got {len(rankings)}: draw each into separate axes")
    panels = {}
    for name, ranking in rankings.items():
        try:
            panels[name] = contributions(x, ranking, coefficient=coefficient, missing=missing)
        except RankingError as error:
            raise type(error)(f"system {name!r}: {error}") from error
    return _panels(panels, names[0], count)


def _rankings_by_name(y: Any) -> dict[Any, RankingLike] | None:
    """Rankings by name, or by number from 0; None for a single one."""
    if isinstance(y, Ranking) or getattr(y, "ndim", 2) == 1:
        return None
    named = by_name(y)
    if named is not None:
        rows = {name: named[name] for name in dict.fromkeys(named.keys())}
    elif isinstance(y, list | tuple | np.ndarray):
        rows = dict(enumerate(y))
    else:
        return None
    hold = [hasattr(row, "__len__") and not isinstance(row, str | bytes) for row in rows.values()]
    return rows if rows and all(hold) else None


def _axis_labels(names: tuple[str, str]) -> tuple[str, str]:
    first, second = (f"Rank in {_style.label_text(name, LONGEST_NAME)}" for name in names)
    return first, second


def _panels(panels: dict[Any, Contributions], gold: str, count: int) -> Figure:
    n_rows = 1 if len(panels) <= MOST_COLUMNS else 2
    n_columns = min(math.ceil(len(panels) / n_rows), _style.most_columns(3.4))
    n_rows = math.ceil(len(panels) / n_columns)
    figure = _style.canvas((PANEL + LABEL_WIDTH / 2) * n_columns, PANEL * n_rows + 0.5)
    for place, (name, parts) in enumerate(panels.items(), start=1):
        axes = _style.add_axes(figure, (n_rows, n_columns, place), *_axis_labels((gold, name)))
        _draw(axes, parts, count)
        value = _style.coefficient_text(parts, parts.statistic, offset=False)
        axes.set_title(f"{_style.label_text(name, LONGEST_NAME)}: {value}", loc="left", fontsize=_style.NAMES)
    parts = next(iter(panels.values()))
    gold_text = _style.label_text(gold, LONGEST_NAME)
    subject = f"{counted(len(panels), 'system')} against {gold_text}, {counted(parts.n_items, 'item')}"
    _style.entitle(figure, f"{subject}: {_style.coefficient_text(parts)}\n{EXPLAINED}")
    return figure


def _draw(axes: Axes, parts: Contributions, count: int) -> None:
    """Draw a marker for each place, coloured and labelled for at most `count` items that cost most."""
    ink = _style.Ink.of(axes)
    ends = (FIRST_EDGE, parts.n_items / FIRST_EDGE)
    axes.plot(ends, ends, color=ink.grey(0.4), lw=0.8, zorder=0)
    pairs: NDArray[Any] = np.column_stack([parts.x.ranks, parts.y.ranks])
    places, place_index = np.unique(pairs, axis=0, return_inverse=True)
    areas = _draw_places(axes, places, np.bincount(place_index.reshape(-1), parts.weights), ink)
    gap = (ends[1] / ends[0]) ** (_style.TICK / _style.room(axes))
    for set_scale, set_limits, axis in (
        (axes.set_xscale, axes.set_xlim, axes.xaxis),
        (axes.set_yscale, axes.set_ylim, axes.yaxis),
    ):
        set_scale("log")
        set_limits(*ends)
        ticks = _style.round_numbers(1, parts.n_items, gap)
        axis.set_ticks(ticks, labels=[f"{tick:,.0f}" for tick in ticks])
        axis.set_ticks([], minor=True)
    longest = max(8, min(LONGEST_ITEM, int(_style.room(axes) / 10)))
    has_cost = count > 0 and not math.isnan(parts.statistic)
    worst = [row for row in parts.worst(count) if row.cost > 0] if has_cost else []
    labels = [
        _style.label_text(row.label if parts.x.labels is not None else f"position {row.label}", longest)
        for row in worst
    ]
    area_of, colour = dict(zip(map(tuple, places.tolist()), areas.tolist(), strict=True)), ink.colour(1)
    worst_places = [(row.x_rank, row.y_rank) for row in worst]
    for place in dict.fromkeys(worst_places):
        axes.scatter(*place, s=area_of[place], facecolors=[colour], linewidths=0, zorder=2.5)
    _style.label_beside(axes, worst_places, labels, [colour] * len(labels))


def _draw_places(axes: Axes, places: NDArray[Any], weights: NDArray[Any], ink: _style.Ink) -> NDArray[np.float64]:
    """Draw a marker for each place, and return their areas."""
    box, of_figure = axes.get_position(), axes.figure.bbox
    side = min(of_figure.width * box.width, of_figure.height * box.height) / axes.figure.dpi  # in inches
    scale = min(1.0, (side / FULL_SIDE) ** 2)
    areas: NDArray[np.float64] = (SMALLEST_AREA + WHOLE_AREA * weights) * scale
    (x, y), heavy = places.T, np.ones(len(places), bool)
    if len(places) >= DENSE:
        heavy = weights > max(HEAVY * weights.max(), np.sort(weights)[-MOST_HEAVY - 1])
        areas[~heavy] = DOT_AREA * scale
        # As vectors, thousands of dots would make large and slow files.
        alpha = min(1.0, max(0.03, 17 / math.sqrt(len(places))))
        look: dict[str, Any] = {"color": [ink.grey(0.25)], "alpha": alpha, "linewidths": 0}
        axes.scatter(x[~heavy], y[~heavy], s=areas[~heavy], **look, rasterized=True, zorder=1)
    axes.scatter(
        x[heavy], y[heavy], s=areas[heavy], facecolors=[ink.grey(0.85)], edgecolors=[ink.full], linewidths=0.8, zorder=2
    )
    return areas


OFFSETS: Final = (np.geomspace(1, 1001, 61) - 1).tolist()
GAP: Final = 12.0  # between the labels of two ticks, in points


@overload
def plot_offset(
    x: RankingLike, systems: ManyRankings, *, ax: None = None, **options: Unpack[_OffsetOptions]
) -> Figure: ...


@overload
def plot_offset(x: RankingLike, systems: ManyRankings, *, ax: Axes, **options: Unpack[_OffsetOptions]) -> Axes: ...


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
