"""The chance level of a coefficient as a figure: a histogram, or a row for each system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import ALTERNATIVES, Alternative, check_choice, counted, offending, shown
from rankcorr._output.results import RankCorrelation
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
    right. A new figure has room for 60 systems: it shows the first 60, as its title says. With `ax`, all are drawn.

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
    systems = counted(len(names), "system")
    if ax is None and len(names) > _style.MOST_ROWS:
        systems = f"the first {_style.MOST_ROWS} of {systems}"
        names = names[: _style.MOST_ROWS]
    pvalues = {}
    for name in names:
        try:
            pvalues[name] = nulls[name].pvalue(statistics[name], alternative)
        except RankingError as error:
            raise type(error)(f"system {name!r}: {error}") from error
    defined_names = [name for name in names if not math.isnan(pvalues[name])]
    if not defined_names:
        raise OptionError(f"there is nothing to draw: the coefficient is undefined for {systems}")
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
    _style.entitle(axes, f"{_style.symbol(first.coefficient)} of {systems} and by chance: {permutations}", ax)
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
