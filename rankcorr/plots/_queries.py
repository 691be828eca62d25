"""The differences of two runs by query as a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, overload

import numpy as np

from rankcorr._checks import counted, shown
from rankcorr._input.numbers import ROUNDING
from rankcorr.errors import OptionError
from rankcorr.evaluation._comparison.results import RunComparison
from rankcorr.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
MOST_PANELS: Final = 12
SEPARATE: Final = 60  # with more queries there are no gaps between bars


@overload
def plot_queries(
    comparison: RunComparison, *, first: str | None = None, second: str | None = None, ax: None = None
) -> Figure: ...


@overload
def plot_queries(
    comparison: RunComparison, *, first: str | None = None, second: str | None = None, ax: Axes
) -> Axes: ...


def plot_queries(
    comparison: RunComparison, *, first: str | None = None, second: str | None = None, ax: Axes | None = None
) -> Figure | Axes:
    """Draw the differences of two runs by query, sorted, with their mean and a band over its interval.

    Parameters
    ----------
    comparison : RunComparison
    first, second : str, optional
        Names of two compared runs; by default the first pair of the comparison. The difference is that of the first
        minus the second.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    OptionError
        The runs were not compared, or no query has a value for both.

    See Also
    --------
    plot_pairs : Several pairs of runs.
    rankcorr.evaluation.compare_runs : Compares the runs.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> from rankcorr.plots import plot_queries
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(3)}
    >>> good = {q: {"a": 3, "b": 2, "c": 1} for q in qrels}
    >>> poor = {"q0": {"a": 1, "b": 2, "c": 3}, "q1": {"a": 2, "b": 3, "c": 1}, "q2": {"a": 3, "b": 2, "c": 1}}
    >>> figure = plot_queries(compare_runs(qrels, {"good": good, "poor": poor}))
    >>> figure.axes[0].get_title(loc="left").splitlines()[1]
    'better in 2, equal in 1, worse in 0'
    """
    _style.figure_class()  # before the work
    if not isinstance(comparison, RunComparison):
        raise OptionError(f"a RunComparison is expected, as compare_runs returns; got {shown(comparison)}")
    if (first is None) != (second is None):
        raise OptionError("first and second go together: name both runs or neither")
    pair = comparison.pairs[0] if first is None or second is None else comparison.pair(first, second)
    one, other, mean, low, high = pair.first, pair.second, pair.difference, pair.low, pair.high
    values = comparison.differences(one, other)
    values = np.sort(values[~np.isnan(values)])[::-1]
    if values.size == 0:
        raise OptionError(f"no query has a value for both {shown(one)} and {shown(other)}")

    from matplotlib.ticker import MaxNLocator

    metric = f"{_style.symbol(comparison.metric)}{', standardized' * comparison.standardized}"
    better, worse = int((values > ROUNDING).sum()), int((values < -ROUNDING).sum())
    counts = f"better in {better:,}, equal in {values.size - better - worse:,}, worse in {worse:,}"
    difference = f"{_style.label_text(one)} \N{MINUS SIGN} {_style.label_text(other)}"
    axes = _style.own_axes(ax, "Queries, sorted by difference", f"{metric}: {difference}", 7.0)
    _style.break_y_label(axes)
    ink = _style.Ink.of(axes)
    places = np.arange(1, values.size + 1)
    width, colours = 0.8 if values.size <= SEPARATE else 1.0, [ink.colour(5 if value > 0 else 4) for value in values]
    axes.bar(places, values, width, color=colours, linewidth=0)
    axes.axhline(0, color=ink.full, linewidth=0.8)
    axes.axhline(mean, color=ink.full, linestyle="--", linewidth=1.6, label="mean")
    # Of few queries an interval may have no end.
    ends = ""
    if math.isfinite(high - low):
        ends = f", {100 * comparison.level:g} % interval {_style.signed(low)} to {_style.signed(high)}"
        axes.axhspan(low, high, facecolor=ink.full, alpha=0.15, zorder=2, label="interval")
        for end in (low, high):
            axes.axhline(end, color=ink.full, linewidth=0.7)
    axes.set_xlim(0.5 - 0.01 * values.size, values.size + 0.5 + 0.01 * values.size)
    ticks = MaxNLocator(integer=True, steps=[1, 2, 5, 10]).tick_values(1, values.size)
    axes.set_xticks([1, *(tick for tick in ticks if 1 < tick <= values.size)])  # there is no query 0
    queries = counted(values.size, "query", "queries")
    _style.entitle(axes, f"{metric} of {difference}, {queries}\n{counts}\nmean {_style.signed(mean)}{ends}", ax)
    return _style.axes_or_figure(axes, ax)


def plot_pairs(pairs: Sequence[tuple[RunComparison, str, str]]) -> Figure:
    """Draw the differences of several pairs of runs by query, a panel for each.

    Parameters
    ----------
    pairs : sequence of (RunComparison, first, second)
        As `plot_queries` takes them; up to 12.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError, OptionError
        As `plot_queries`; `OptionError` for no pair, or too many.

    See Also
    --------
    plot_queries : One pair of runs.
    rankcorr.evaluation.compare_runs : Compares the runs.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> from rankcorr.plots import plot_pairs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(3)}
    >>> runs = {name: dict.fromkeys(qrels, {"a": name > "x", "b": 2, "c": name > "y"}) for name in "xyz"}
    >>> comparison = compare_runs(qrels, runs)
    >>> len(plot_pairs([(comparison, pair.first, pair.second) for pair in comparison.pairs]).axes)
    3
    """
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 3 for pair in pairs
    ):
        raise OptionError(f"pairs must be a list of (RunComparison, first, second); got {shown(pairs)}")
    if not 0 < len(pairs) <= MOST_PANELS:
        raise OptionError(f"1 to {MOST_PANELS} pairs of runs can be drawn; got {len(pairs)}")
    if len(pairs) == 1:
        ((comparison, first, second),) = pairs
        return plot_queries(comparison, first=first, second=second)
    n_columns = min(math.ceil(math.sqrt(len(pairs))), _style.most_columns(3.4))
    n_rows = math.ceil(len(pairs) / n_columns)
    figure = _style.canvas(5.2 * n_columns, 3.6 * n_rows)
    for number, (comparison, first, second) in enumerate(pairs, start=1):
        axes = _style.add_axes(figure, (n_rows, n_columns, number), "", "")
        plot_queries(comparison, first=first, second=second, ax=axes)
    _share_ranges([comparison.metric for comparison, _, _ in pairs], figure.axes)
    return figure


def _share_ranges(metrics: Sequence[str], panels: Sequence[Axes]) -> None:
    """Give the panels of a metric one range, so that their bars can be compared."""
    for metric in set(metrics):
        metric_panels = [axes for axes, name in zip(panels, metrics, strict=True) if name == metric]
        lows, highs = zip(*(axes.get_ylim() for axes in metric_panels), strict=True)
        for axes in metric_panels:
            axes.set_ylim(min(lows), max(highs))
