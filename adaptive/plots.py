"""Draw figures of strengths, voters and accuracy (extra `plot` of rankcorr).

Items and voters have a row each, from top to bottom, with names and intervals. Accuracy has a line for each approach.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, Unpack, cast, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from adaptive._record import places_best_first
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.errors import ModelError
from adaptive.model._strengths import Strengths
from adaptive.model._voters import wilson_interval
from rankcorr._checks import check_choice, checked_level, counted, shown, whole_number
from rankcorr.errors import OptionError
from rankcorr.plots import _style
from rankcorr.plots._style import MissingMatplotlibError, save_figure, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["agreement", "plot_accuracy", "plot_in_top", "plot_strengths", "plot_voters"]
__all__ += ["MissingMatplotlibError", "save_figure", "theme"]  # those of all figures

Values: TypeAlias = NDArray[np.float64]

MOST_NAMED: Final = 100  # rows; more of them are numbered
IN_COLUMN: Final = 34  # most rows in a column of a new figure
ROW_HEIGHT: Final = 0.2  # in inches
SMALLEST: Final = 8.0  # height of a row with a name, in points


def checked_top(top: int | None, n_rows: int) -> int:
    """Return the number of rows to draw, at most all.

    Raises
    ------
    OptionError
        `top` is neither None nor a positive whole number.
    """
    if top is None:
        return n_rows
    number = whole_number(top)
    if number is None or number < 1:
        raise OptionError(f"top must be a positive whole number, or None for all; got {shown(top)}")
    return min(number, n_rows)


def columns_of(n_rows: int, ax: Axes | None, x_label: str, around: float = 1.3) -> list[tuple[Axes, slice]]:
    """Axes for parts of some rows, side by side so that a new figure is not too high; or all in `ax`."""
    n_columns = 1 if ax is not None or n_rows > MOST_NAMED else math.ceil(n_rows / IN_COLUMN)
    rows_per_column = math.ceil(n_rows / n_columns)
    if n_columns == 1:
        height = _style.height_of_rows(n_rows, ROW_HEIGHT, around)
        return [(_style.own_axes(ax, x_label, "", 6.4, height), slice(0, n_rows))]
    figure = _style.canvas(1.2 + 4.2 * n_columns, _style.height_of_rows(rows_per_column, ROW_HEIGHT, around))
    places = range(1, n_columns + 1)
    panels = [_style.add_axes(figure, (1, n_columns, place), x_label, "") for place in places]
    for other in panels[1:]:
        other.sharex(panels[0])
    return [
        (axes, slice(start, min(start + rows_per_column, n_rows)))
        for axes, start in zip(panels, range(0, n_rows, rows_per_column), strict=True)
    ]


def draw_intervals(axes: Axes, values: Values, low: Values, high: Values) -> None:
    """Draw a point with its interval in each row; if there are many rows, a line with a band."""
    ink, rows = _style.Ink.of(axes), np.arange(values.size)
    if values.size > MOST_NAMED:
        axes.fill_betweenx(rows, low, high, color=ink.grey(0.8), lw=0)
        axes.plot(values, rows, color=ink.colour(0), lw=1)
    else:
        size = min(4.5, 0.75 * _style.tall(axes) / values.size)
        axes.hlines(rows, low, high, color=ink.colour(0), lw=0.3 * size)
        axes.plot(values, rows, ls="", marker="o", ms=size, color=ink.colour(0))
    axes.xaxis.grid(visible=True, color=ink.grey(0.88), lw=0.6)
    axes.set_axisbelow(True)


def name_rows(axes: Axes, names: Sequence[Hashable], order: str, ours: bool) -> None:
    """Write names of rows on the left: all, or every second or third if axes are low; numbers if rows are many."""
    n_rows = len(names)
    axes.set_ylim(n_rows - 0.4, -0.6)
    if n_rows > MOST_NAMED:
        axes.set_ylabel(f"Place, {order} first")
        ticks = [0, *(place - 1 for place in axes.get_yticks().astype(int).tolist() if 1 < place <= n_rows)]
        axes.set_yticks(ticks, labels=[f"{place + 1:,}" for place in ticks])
        return
    axes.set_ylabel("")
    height = _style.tall(axes) / n_rows
    step = 1 if ours else max(1, math.ceil(SMALLEST / height))
    longest = _style.longest_label() if ours else min(_style.longest_label(), max(12, int(_style.room(axes) / 12)))
    places = range(0, n_rows, step)
    axes.set_yticks(places, labels=[_style.label_text(names[place], longest) for place in places])
    axes.tick_params(axis="y", length=0 if step == 1 else 2, labelsize=9.0 if ours else min(9.0, 0.85 * step * height))


def part_of(n_shown: int, n_all: int, place: str, noun: str) -> str:
    """Describe what a figure shows, and how many; `noun` is one of the things.

    >>> part_of(2, 2, "best", "item"), part_of(1, 2_000, "best", "item"), part_of(1, 1, "best", "item")
    ('all 2 items', 'the best 1 of 2,000 items', '1 item')
    """
    everything = counted(n_all, noun)
    return f"{'all ' * (n_all > 1)}{everything}" if n_shown == n_all else f"the {place} {n_shown:,} of {everything}"


def finish_figure(panels: Sequence[tuple[Axes, slice]], title: str, ax: Axes | None) -> Figure | Axes:
    """Write the title, and return the figure, or `ax`."""
    axes = panels[0][0]
    for panel, _ in panels if ax is None else ():
        _style.break_x_label(panel, len(panels))
    _style.entitle(axes if len(panels) == 1 else cast("Figure", axes.figure), title, ax)
    return _style.axes_or_figure(axes, ax)


Scale: TypeAlias = Literal["strength", "rank"]
AnyStrengths: TypeAlias = Strengths | ChoiceStrengths

LEVEL: Final = 0.9
TOP: Final = 50
SCALES: Final[tuple[Scale, ...]] = get_args(Scale)
_LEAST: Final = 0.005  # an item with a smaller probability is left out below the cut


class _OfStrengths(TypedDict, total=False):
    top: int | None
    level: float
    scale: Scale


@overload
def plot_strengths(strengths: AnyStrengths, *, ax: None = None, **options: Unpack[_OfStrengths]) -> Figure: ...
@overload
def plot_strengths(strengths: AnyStrengths, *, ax: Axes, **options: Unpack[_OfStrengths]) -> Axes: ...
def plot_strengths(
    strengths: AnyStrengths,
    *,
    top: int | None = TOP,
    level: float = LEVEL,
    scale: Scale = "strength",
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw the strengths of the best items, or their ranks, with intervals, best first.

    The interval of a strength is ± z standard errors, or ± t if there are clusters; strengths are known up to a
    constant, and their mean is 0. The interval of a rank is that of `Strengths.rank_intervals`. With more than 100
    items, the intervals form a band, and places replace names.

    Parameters
    ----------
    strengths : Strengths or ChoiceStrengths
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
        Anything but `Strengths` or `ChoiceStrengths`.
    OptionError
        `top` or `level` out of range, or an unknown scale.

    See Also
    --------
    plot_in_top : Each item's probability of being in the top.
    adaptive.Strengths : The numbers.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> from adaptive.plots import plot_strengths
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> figure = plot_strengths(bradley_terry(votes, prior=2))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['fig', 'kiwi', 'plum']
    """
    _style.figure_class()
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
        if isinstance(strengths, ChoiceStrengths):
            quantile = strengths.quantile(confidence)
        else:
            quantile = float(ndtri((1 + confidence) / 2))
        half = quantile * strengths.standard_errors[places]
        low, high = values - half, values + half
    from matplotlib.ticker import MaxNLocator

    panels = columns_of(n_rows, ax, f"{scale.capitalize()}, with its {100 * level:g} % interval")
    for axes, part in panels:
        draw_intervals(axes, values[part], low[part], high[part])
        if scale == "rank":
            axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        name_rows(axes, [strengths.items[place] for place in places[part].tolist()], "best", ours=ax is None)
    shown_items = part_of(n_rows, len(strengths.items), "best", "item")
    return finish_figure(panels, f"{scale.capitalize()}s of {shown_items}, {_basis(strengths)}", ax)


class _OfTop(TypedDict, total=False):
    top: int | None
    seed: int


@overload
def plot_in_top(strengths: AnyStrengths, k: int, *, ax: None = None, **options: Unpack[_OfTop]) -> Figure: ...
@overload
def plot_in_top(strengths: AnyStrengths, k: int, *, ax: Axes, **options: Unpack[_OfTop]) -> Axes: ...
def plot_in_top(
    strengths: AnyStrengths, k: int, *, top: int | None = None, seed: int = 0, ax: Axes | None = None
) -> Figure | Axes:
    """Draw each item's probability of being in the top k, in the order of the ranking, with a line at the cut.

    Items above the cut have dark bars, those below pale ones, each with its value. Below the cut, items after the last
    one with a probability of 0.005 or more are left out.

    Parameters
    ----------
    strengths : Strengths or ChoiceStrengths
    k : int
        From 1 to the number of items.
    top : int or None
        Maximum number of items to draw; by default 50, or 2 k if that is more.
    seed : int
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
        Anything but `Strengths` or `ChoiceStrengths`, or a k or seed out of range.
    OptionError
        `top` out of range.

    See Also
    --------
    plot_strengths : Strengths or ranks with intervals.
    adaptive.TopProbabilities : The numbers.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> from adaptive.plots import plot_in_top
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> axes = plot_in_top(bradley_terry(votes, prior=2), 1).axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['fig', 'kiwi', 'plum']
    """
    _style.figure_class()
    _check(strengths)
    probabilities = strengths.in_top(k, seed=seed).probability
    places = places_best_first(strengths.items, strengths.ranking.ranks)
    likely = np.flatnonzero(probabilities[places] >= _LEAST)
    n_likely = max(k, int(likely[-1]) + 1 if likely.size else 0)
    n_rows = checked_top(max(TOP, 2 * k) if top is None else top, n_likely)
    places = places[:n_rows]
    panels = columns_of(n_rows, ax, f"Probability of being in the top {k:,}", 1.6)
    dense = n_rows > MOST_NAMED
    handles: dict[str, Any] = {}
    for axes, part in panels:
        ink, first, lengths = _style.Ink.of(axes), part.start, probabilities[places[part]]
        cut = min(max(k - first, 0), lengths.size)
        for rows, number, label in (
            (range(cut), 0, f"the best {k:,} of the ranking"),
            (range(cut, lengths.size), 5, "items after them"),
        ):
            if rows:
                bars, height = lengths[rows.start : rows.stop], 1.0 if dense else 0.7
                handles[label] = axes.barh(rows, bars, height=height, color=ink.colour(number), lw=0, label=label)
                if not dense and ax is None:
                    texts = [f"{length:.2f}" for length in bars]
                    axes.bar_label(handles[label], texts, padding=2, fontsize=_style.LABEL - 2, color=ink.full)
        if 0 < cut < lengths.size:
            axes.axhline(cut - 0.5, color=ink.full, lw=1, ls="--")
        axes.set_xlim(0, 1.12 if ax is None and not dense else 1)
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.xaxis.grid(visible=True, color=ink.grey(0.88), lw=0.6)
        axes.set_axisbelow(True)
        name_rows(axes, [strengths.items[place] for place in places[part].tolist()], "best", ours=ax is None)
    _style.add_legend(panels[0][0], list(handles.values()), ax)
    shown_items = part_of(n_rows, len(strengths.items), "first", "item")
    return finish_figure(panels, f"Probability of the top {k:,}: {shown_items}, {_basis(strengths)}", ax)


def _basis(strengths: AnyStrengths) -> str:
    if isinstance(strengths, ChoiceStrengths):
        return strengths.basis or f"{strengths.n_events:,.12g} choices"
    return f"{strengths.comparisons.left.size:,} votes"


def _check(strengths: AnyStrengths) -> None:
    if not isinstance(strengths, Strengths | ChoiceStrengths):
        raise ModelError(f"the figure is one of Strengths; got {shown(strengths)}")


Intervals: TypeAlias = Mapping[Hashable, tuple[float, float, float]]

AT_RANDOM: Final = 0.5
MOST_WRITTEN: Final = 1e7  # votes; larger numbers would overlap if all digits were written


class _OfVoters(TypedDict, total=False):
    quantity: str
    reference: tuple[float, str] | None
    top: int | None


@overload
def plot_voters(voters: Intervals, *, ax: None = None, **options: Unpack[_OfVoters]) -> Figure: ...
@overload
def plot_voters(voters: Intervals, *, ax: Axes, **options: Unpack[_OfVoters]) -> Axes: ...
def plot_voters(
    voters: Intervals,
    *,
    quantity: str = "Agreement",
    reference: tuple[float, str] | None = None,
    top: int | None = TOP,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw a number for each voter with its interval, the lowest first, because those need a closer look.

    Parameters
    ----------
    voters : mapping of hashable to (float, float, float)
        Value, lower and upper end of the interval of each voter, as `agreement` returns them; discriminations are drawn
        in the same way.
    quantity : str
        Label of the numbers.
    reference : (float, str), optional
        A number to draw as a line, and its label, such as ``(0.5, "answers at random")``.
    top : int or None
        Number of voters; None for all.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    OptionError
        No voter, a voter without three finite numbers in order, or `top` out of range.

    See Also
    --------
    agreement : The agreement of each voter.
    adaptive.voter_report : More about each voter.

    Examples
    --------
    >>> from adaptive.plots import plot_voters
    >>> figure = plot_voters({"Ann": (0.9, 0.8, 0.95), "Bob": (0.5, 0.4, 0.6)}, reference=(0.5, "answers at random"))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['Bob', 'Ann']
    """
    _style.figure_class()
    if not isinstance(voters, Mapping) or not voters:
        raise OptionError(f"voters must be a mapping of at least one name to numbers; got {shown(voters)}")
    for name, numbers in voters.items():
        if np.shape(numbers) != (3,) or not np.isfinite(numbers).all() or not numbers[1] <= numbers[0] <= numbers[2]:
            raise OptionError(
                f"voter {shown(name)} needs a value between the ends of its interval (value, low, high); "
                f"got {shown(numbers)}"
            )
    n_rows = checked_top(top, len(voters))
    names = sorted(voters, key=lambda name: voters[name])[:n_rows]
    values, low, high = np.array([voters[name] for name in names], np.float64).T
    panels = columns_of(n_rows, ax, quantity)
    lines = []
    for axes, part in panels:
        draw_intervals(axes, values[part], low[part], high[part])
        name_rows(axes, names[part], "lowest", ours=ax is None)
        if reference is not None:
            value, meaning = reference
            lines = [axes.axvline(value, color=_style.Ink.of(axes).colour(1), lw=1.2, ls="--", label=meaning)]
    if lines:
        _style.add_legend(panels[0][0], lines, ax)
    return finish_figure(panels, f"Votes of {part_of(n_rows, len(voters), 'lowest', 'voter')}", ax)


def agreement(strengths: Strengths, *, level: float = LEVEL) -> dict[Hashable, tuple[float, float, float]]:
    """Return the share of each voter's votes that agree with the common order, with Wilson's (1927) interval.

    A tie counts as half an agreement. The order is fitted to the voter's own votes too, so voters with many votes agree
    a little more.

    Parameters
    ----------
    strengths : Strengths
    level : float

    Returns
    -------
    dict of hashable to (float, float, float)
        Value, lower and upper end; voters without a vote are left out.

    Raises
    ------
    ModelError
        The voters are not known.
    OptionError
        `level` out of range.

    See Also
    --------
    plot_voters : Draws it.
    adaptive.voter_report : Agreement with all others' votes, and more.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> from adaptive.plots import agreement
    >>> votes = Comparisons.from_labels(["fig", "fig"], ["kiwi", "plum"], ["left", "left"], voter=["Ann", "Ann"])
    >>> [round(number, 3) for number in agreement(bradley_terry(votes, prior=2))["Ann"]]
    [1.0, 0.425, 1.0]
    """
    votes = strengths.comparisons
    if votes.voter is None or votes.voters is None:
        raise ModelError("the voters of these votes are not known")
    z = float(ndtri((1 + checked_level(level)) / 2))
    order = np.sign(strengths.theta[votes.left] - strengths.theta[votes.right])
    counts = np.bincount(votes.voter, minlength=votes.n_voters)
    agreed = np.bincount(votes.voter, (1 + order * votes.winner) / 2, votes.n_voters)
    shares: dict[Hashable, tuple[float, float, float]] = {}
    for name, n, number in zip(votes.voters, counts.tolist(), agreed.tolist(), strict=True):
        if n:
            share = number / n
            shares[name] = share, *wilson_interval(share, n, z)
    return shares


Curves: TypeAlias = Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]


@overload
def plot_accuracy(curves: Curves, *, coefficient: str = "tau_w", ax: None = None) -> Figure: ...
@overload
def plot_accuracy(curves: Curves, *, coefficient: str = "tau_w", ax: Axes) -> Axes: ...
def plot_accuracy(curves: Curves, *, coefficient: str = "tau_w", ax: Axes | None = None) -> Figure | Axes:
    """Draw the mean accuracy of each approach against votes, with a band of one standard error on either side.

    Parameters
    ----------
    curves : mapping of str to (votes, means, standard errors)
        By the name of the approach, arrays of one length. An approach with a single number is drawn as a point.
    coefficient : str
        The coefficient: "tau_w", "rho_w", "tau", "rho", or any other text for the axis.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    OptionError
        No approach or more than eight, or columns that differ in length or are not finite, votes that are not positive,
        negative standard errors; the message names the approach.

    See Also
    --------
    adaptive.simulate_curve : Accuracy of several budgets.
    adaptive.votes_needed : The votes that an accuracy takes.

    Examples
    --------
    >>> from adaptive.plots import plot_accuracy
    >>> curves = {"matched": ([1000, 2000], [0.8, 0.9], [0.01, 0.01]), "uniform": ([1000, 2000], [0.3, 0.4], [0, 0])}
    >>> figure = plot_accuracy(curves)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['matched', 'uniform']
    """
    _style.figure_class()
    from matplotlib.ticker import MaxNLocator

    if not isinstance(curves, Mapping) or not 1 <= len(curves) <= len(_style.STYLES):
        raise OptionError(f"curves must be a mapping of 1 to {len(_style.STYLES)} approaches; got {shown(curves)}")
    columns = {name: _checked(name, curve) for name, curve in curves.items()}
    axes = _style.own_axes(ax, "Votes", f"Accuracy, {_style.symbol(coefficient)}", 7.4, 4.6)
    ink = _style.Ink.of(axes)
    longest = _style.longest_label() if ax is None else max(12, int(_style.room(axes) / 14))
    labels = [_style.label_text(name, longest) for name in columns]
    for number, ((votes, means, errors), label) in enumerate(zip(columns.values(), labels, strict=True)):
        colour = ink.colour(number)
        axes.fill_between(votes, means - errors, means + errors, color=colour, lw=0, alpha=0.25)
        axes.plot(votes, means, color=colour, ls=_style.STYLES[number], lw=1.6, marker="o", ms=4, label=label)
    every = np.concatenate([votes for votes, _, _ in columns.values()])
    if every.max() > 30 * every.min():
        axes.set_xscale("log")
    else:
        ticks = max(2, int(_style.room(axes) / 50))
        axes.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10], integer=True))
    if every.max() < MOST_WRITTEN:
        axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.grid(visible=True, color=ink.grey(0.88), lw=0.6)
    axes.set_axisbelow(True)
    ends = [(votes[-1], means[-1]) for votes, means, _ in columns.values()]
    axes.set_xlim(axes.get_xlim())  # no automatic limits from here on
    _style.label_beside(axes, ends, labels, list(map(ink.colour, range(len(columns)))))
    approaches = counted(len(columns), "approach", "approaches")
    _style.entitle(axes, f"{_style.symbol(coefficient)} of {approaches}, by votes; bands: one standard error", ax)
    return _style.axes_or_figure(axes, ax)


def _checked(name: str, curve: tuple[ArrayLike, ArrayLike, ArrayLike]) -> tuple[Values, Values, Values]:
    """Check the columns of one approach and return them in the order of votes."""
    try:
        votes, means, errors = (np.atleast_1d(np.asarray(column, np.float64)) for column in curve)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"approach {shown(name)} needs votes, means and standard errors; got {shown(curve)}"
        ) from error
    if votes.ndim != 1 or not votes.shape == means.shape == errors.shape or not votes.size:
        raise OptionError(
            f"approach {shown(name)} needs as many means and standard errors as votes; got shapes "
            f"{votes.shape}, {means.shape} and {errors.shape}"
        )
    if not (np.isfinite([votes, means, errors]).all() and (votes > 0).all() and (errors >= 0).all()):
        raise OptionError(f"approach {shown(name)} needs positive votes, finite means and standard errors of 0 or more")
    order = np.argsort(votes, kind="stable")
    return votes[order], means[order], errors[order]
