"""The differences of two runs by query as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, overload

import numpy as np

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.evaluation.comparison import RunComparison
from rankcorr.inference.inversion import ROUNDING
from rankcorr.plots.style import SYMBOLS, Ink, add_legend, drawn, figure_class, label_text, own_axes, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEPARATE: Final = 60  # up to so many queries have a gap between their bars


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
    """Draw the differences of two runs by query, sorted, with their mean and its interval.

    Parameters
    ----------
    comparison : RunComparison
    first, second : str, optional
        Names of two runs that were compared; by default the first pair of the comparison. The difference is that of
        the first less the second.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    OptionError
        The runs were not compared, or no query has a value for both.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(3)}
    >>> good = {q: {"a": 3, "b": 2, "c": 1} for q in qrels}
    >>> poor = {"q0": {"a": 1, "b": 2, "c": 3}, "q1": {"a": 2, "b": 3, "c": 1}, "q2": {"a": 3, "b": 2, "c": 1}}
    >>> figure = plot_queries(compare_runs(qrels, {"good": good, "poor": poor}))
    >>> figure.axes[0].get_xlabel()
    '3 queries, sorted: better in 2, equal in 1, worse in 0'
    """
    figure_class()  # before the work
    if not isinstance(comparison, RunComparison):
        raise OptionError(f"a RunComparison is wanted, as compare_runs returns; got {shown(comparison)}")
    if (first is None) != (second is None):
        raise OptionError("first and second go together: name both runs or neither")
    pair = comparison.pairs[0] if first is None or second is None else comparison.pair(first, second)
    one, other = (pair.first, pair.second) if first is None or second is None else (first, second)
    turned = one != pair.first
    low, high = (-pair.high, -pair.low) if turned else (pair.low, pair.high)
    mean = -pair.difference if turned else pair.difference
    values = comparison.differences(one, other)
    values = np.sort(values[~np.isnan(values)])[::-1]
    if values.size == 0:
        raise OptionError(f"no query has a value for both {shown(one)} and {shown(other)}")

    from matplotlib.ticker import MaxNLocator

    metric = SYMBOLS.get(comparison.metric, label_text(comparison.metric))
    what = f"{metric}{', standardized' * comparison.standardized}: {label_text(one)} less {label_text(other)}"
    better, worse = int((values > ROUNDING).sum()), int((values < -ROUNDING).sum())
    counts = f"better in {better:,}, equal in {values.size - better - worse:,}, worse in {worse:,}"
    queries = f"{'1 query' if values.size == 1 else f'{values.size:,} queries'}, sorted: {counts}"
    axes = own_axes(ax, queries, what)
    ink = Ink.of(axes)
    places = np.arange(1, values.size + 1)
    axes.bar(places, values, width=0.8 if values.size <= SEPARATE else 1.0, color=ink.grey(0.55), linewidth=0)
    axes.axhline(0, color=ink.full, linewidth=0.8)
    line = axes.axhline(mean, color=ink.full, linestyle="--", linewidth=1.6, label=f"mean {signed(mean)}")
    handles = [line]
    if math.isfinite(high - low):  # of few queries an interval may have no end
        label = f"{100 * comparison.level:g} % interval of the mean, {signed(low)} to {signed(high)}"
        handles.append(axes.axhspan(low, high, color=ink.grey(0.2), alpha=0.25, linewidth=0, label=label))  # type: ignore[arg-type]
    axes.set_xlim(0.5 - 0.01 * values.size, values.size + 0.5 + 0.01 * values.size)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(axes, handles, ax)
    return drawn(axes, ax)
