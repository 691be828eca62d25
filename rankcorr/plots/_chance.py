"""The chance level of a coefficient as a figure: a histogram, or a row for each system; and coefficients by n0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import ManyRankings, correlate_many
from rankcorr._checks import ALTERNATIVES, Alternative, check_choice, counted, offending, shown
from rankcorr._coefficients import CoefficientLike, RhoW, TauW, as_coefficient
from rankcorr._output.results import RankCorrelation
from rankcorr._ranking import Missing, RankingLike
from rankcorr._shares import first_rank_share
from rankcorr.errors import OptionError, RankingError
from rankcorr.inference._null import NullDistribution
from rankcorr.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Observed: TypeAlias = float | RankCorrelation
Nulls: TypeAlias = NullDistribution | Mapping[Any, NullDistribution]
Statistics: TypeAlias = Observed | Mapping[Any, Observed]

MOST_BINS: Final = 60
ROW_BINS: Final = 40
ROW_HEIGHT: Final = 0.42  # in inches
PEAK: Final = 0.78  # of the highest row, in rows


@overload
def plot_null(
    null: Nulls, statistic: Statistics, *, alternative: Alternative = "two-sided", ax: None = None
) -> Figure: ...
@overload
def plot_null(null: Nulls, statistic: Statistics, *, alternative: Alternative = "two-sided", ax: Axes) -> Axes: ...
def plot_null(
    null: Nulls, statistic: Statistics, *, alternative: Alternative = "two-sided", ax: Axes | None = None
) -> Figure | Axes:
    """Draw the values of a coefficient by chance alone, and the position of an observed value.

    Several systems have a row each, with bins of the same width and heights on the same scale, and the p-value on the
    right.

    Parameters
    ----------
    null : NullDistribution, or mapping of name to NullDistribution
        From `null_distribution`; those of several systems are of one coefficient with the same options.
    statistic : float or RankCorrelation, or mapping of name to them
        The observed coefficient, or those of the same systems. Among several, nan is shown as undefined.
    alternative : {"two-sided", "greater", "less"}
        The kind of p-value that is shown.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the legend of several systems lies below, where ``layout="constrained"`` makes room for it.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    OptionError
        A distribution has no values, a statistic is nan or was computed with other options, the alternative is unknown,
        or several systems do not match.

    See Also
    --------
    rankcorr.null_distribution : Computes the values of chance.
    rankcorr.permutation_test : The p-value alone.

    Examples
    --------
    >>> from rankcorr import null_distribution
    >>> from rankcorr.plots import plot_null
    >>> null = null_distribution(range(4), range(4))
    >>> plot_null(null, 0.5, alternative="greater").axes[0].get_ylabel()
    'Share of the permutations'
    >>> rows = plot_null({"good": null, "poor": null}, {"good": 0.5, "poor": -0.2}).axes[0]
    >>> [label.get_text() for label in rows.get_yticklabels()]
    ['good', 'poor']
    """
    _style.figure_class()
    check_choice("alternative", alternative, ALTERNATIVES)
    if isinstance(null, Mapping) != isinstance(statistic, Mapping):
        raise OptionError("null and statistic must both be of one system, or both mappings of the names of systems")
    for distribution in null.values() if isinstance(null, Mapping) else [null]:
        if not isinstance(distribution, NullDistribution):
            raise OptionError(f"null must be a NullDistribution, such as that of a test; got {shown(distribution)}")
    if isinstance(null, Mapping):
        assert isinstance(statistic, Mapping)
        return _rows(null, statistic, alternative, ax)
    assert not isinstance(statistic, Mapping)
    return _histogram(null, statistic, alternative, ax)


def _histogram(null: NullDistribution, statistic: Observed, alternative: Alternative, ax: Axes | None) -> Figure | Axes:
    if null.values.size == 0:
        raise OptionError("there is nothing to draw: the coefficient is undefined for every permutation")
    pvalue = null.pvalue(statistic, alternative)
    observed = float(statistic)
    if math.isnan(observed):
        raise OptionError("the statistic is nan and cannot be drawn")
    axes = _style.own_axes(ax, f"Coefficient {_style.coefficient_text(null)}", "Share of the permutations")
    ink = _style.Ink.of(axes)
    n_bins = min(MOST_BINS, max(10, int(np.sqrt(null.values.size))))
    counts, edges = np.histogram(null.values, n_bins)
    axes.stairs(counts / null.values.size, edges, fill=True, facecolor=ink.grey(0.85), edgecolor=ink.grey(0.4), lw=0.8)
    axes.axvline(null.mean, color=ink.full, ls=":", lw=1.5)
    axes.axvline(observed, color=ink.colour(1), lw=2.2)
    axes.margins(x=0.06)
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])  # for two labels
    place = 0.97
    for value, label, colour in (
        (observed, f"observed {_style.signed(observed)}, {_pvalue_text(pvalue)} ({alternative})", ink.colour(1)),
        (null.mean, f"mean by chance {_style.signed(null.mean)}", ink.full),
    ):
        lines = wrap(label, max(12, int(_style.room(axes) / _style.LABEL)))
        low, high = axes.get_xlim()
        left = value > (low + high) / 2
        axes.annotate(
            "\n".join(lines),
            (value, place),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            fontsize=_style.LABEL,
            color=colour,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": ink.paper, "edgecolor": "none", "alpha": 0.85},
        )
        place -= 1.5 * len(lines) * _style.LABEL / _style.tall(axes)
    _style.entitle(
        axes, f"{_style.symbol(null.coefficient)} by chance: {_permutations([null], f'of {null.n_items:,} items')}", ax
    )
    return _style.axes_or_figure(axes, ax)


def _rows(
    nulls: Mapping[Any, NullDistribution], statistics: Mapping[Any, Observed], alternative: Alternative, ax: Axes | None
) -> Figure | Axes:
    names = _checked_names(nulls, statistics)
    pvalues = {}
    for name in names:
        try:
            pvalues[name] = nulls[name].pvalue(statistics[name], alternative)
        except RankingError as error:
            raise type(error)(f"system {name!r}: {error}") from error
    defined_names = [name for name in names if not math.isnan(pvalues[name])]
    if not defined_names:
        raise OptionError("there is nothing to draw: the coefficient is undefined for every system")
    first = nulls[defined_names[0]]
    axes = _style.own_axes(
        ax, f"Coefficient {_style.coefficient_text(first)}", "", 6.8, _style.height_of_rows(len(names), ROW_HEIGHT, 1.6)
    )
    ink = _style.Ink.of(axes)
    ends = [nulls[name].values[[0, -1]] for name in defined_names]
    edges = np.linspace(np.min(ends), np.max(ends), ROW_BINS + 1)
    if np.ptp(ends) == 0:
        edges = ends[0][0] + np.array([-0.01, 0.01])
    shares = {name: np.histogram(nulls[name].values, edges)[0] / nulls[name].values.size for name in defined_names}
    scale = PEAK / max(share.max() for share in shares.values())
    handles: list[Any] = []
    size = _style.size_of_names(axes, len(names))
    for row, name in enumerate(names):
        text = "undefined"
        if name in shares:
            handles = _draw_row(axes, row, edges, scale * shares[name], nulls[name].mean, float(statistics[name]), ink)
            text = _pvalue_text(pvalues[name])
        axes.text(1.01, row, text, transform=axes.get_yaxis_transform(), va="bottom", fontsize=min(_style.LABEL, size))
    for handle, label in zip(handles, ("by chance", "mean by chance", f"observed, with p, {alternative}"), strict=True):
        handle.set_label(label)
    n_items = {nulls[name].n_items for name in defined_names}
    of = f"of {n_items.pop():,} items" if len(n_items) == 1 else "each"
    permutations = _permutations([nulls[name] for name in defined_names], of)
    axes.set_yticks(range(len(names)), labels=[_style.label_text(name) for name in names], va="bottom", fontsize=size)
    _style.entitle(
        axes, f"{_style.symbol(first.coefficient)} of {counted(len(names), 'system')} and by chance: {permutations}", ax
    )
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.75, -1)
    axes.margins(x=0.04)
    axes.spines["left"].set_visible(False)
    _style.add_legend(axes, handles, ax)
    return _style.axes_or_figure(axes, ax)


def _draw_row(
    axes: Axes, row: int, edges: NDArray[Any], heights: NDArray[Any], mean: float, observed: float, ink: _style.Ink
) -> list[Any]:
    """Draw a histogram with its base on a row; its outline, the mean, and the observed value on top."""
    filled = axes.stairs(
        row - heights, edges, baseline=row, fill=True, facecolor=ink.grey(0.85), edgecolor=ink.grey(0.3), lw=0.6
    )
    axes.axhline(row, color=ink.grey(0.6), lw=0.6, zorder=1)
    (middle,) = axes.plot([mean, mean], [row, row - PEAK], color=ink.full, ls=":", lw=1.3)
    (line,) = axes.plot([observed, observed], [row, row - PEAK], color=ink.colour(1), lw=2.2, solid_capstyle="butt")
    return [filled, middle, line]


def _checked_names(nulls: Mapping[Any, NullDistribution], statistics: Mapping[Any, Observed]) -> list[Any]:
    """Names of the systems, in the order of the distributions, which are of the same coefficient and options."""
    if only := [name for name in dict.fromkeys([*nulls, *statistics]) if name not in nulls or name not in statistics]:
        raise OptionError(offending("null and statistic must name the same systems; in one of them only", only))
    if not nulls:
        raise OptionError("there is nothing to draw: null and statistic name no system")
    if len(computed := {_style.coefficient_text(null) for null in nulls.values()}) > 1:
        raise OptionError(
            offending("the distributions must be of one coefficient with the same options; got", list(computed))
        )
    return list(nulls)


def _permutations(nulls: list[NullDistribution], of: str) -> str:
    """Describe the permutations behind distributions, for a title."""
    null = nulls[0]
    number = f"{null.values.size:,}" if len({distribution.values.size for distribution in nulls}) == 1 else ""
    exact = all(null.exact for null in nulls)
    every = "all" if exact and all(null.n_undefined == 0 for null in nulls) else ""
    return " ".join(filter(None, [every, number, "" if exact else "random", "permutations", of]))


def _pvalue_text(pvalue: float) -> str:
    return f"p = {pvalue:.3f}" if pvalue >= 0.001 else f"p = {pvalue:.1e}"


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
