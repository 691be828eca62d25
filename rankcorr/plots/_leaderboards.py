"""A leaderboard as a figure: coefficients, intervals and groups, with the values that chance alone gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

import numpy as np

from rankcorr._checks import check_choice, counted, offending, shown
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._output.report import percent_text
from rankcorr._ranking import MISSING, Missing, RankingLike
from rankcorr._workers import Draws, Progress, Values
from rankcorr.errors import OptionError
from rankcorr.inference._gold_sets import SUM, align_systems, count_unused_labels, name_systems, read_gold_sets
from rankcorr.inference._leaderboard import Leaderboard
from rankcorr.inference._null import NullDistribution, null_of
from rankcorr.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ChanceLevels: TypeAlias = Mapping[str, Mapping[str, NullDistribution]]

MARKERS: Final = ("o", "s", "^", "D", "v")
ROW_HEIGHT: Final = 0.28  # in inches
VALUE: Final = 3.5  # least width of the column of values, in sizes of the font: that of -0.384
DIGIT: Final = 0.64  # width of a digit, in sizes of the font
PANEL_WIDTH: Final = 2.3
CHANCE_LEVEL: Final = 0.95  # of the values of chance, in the bars
N_SUMS: Final = 10_000
_OPTIONS: Final = attrgetter("coefficient", "scheme", "n0", "weigher", "tied_weights", "variant", "missing")


class _Chance(NamedTuple):
    """Values of chance for a system; without spread, the ends are nan."""

    mean: float
    low: float
    high: float


class _Column(NamedTuple):
    """Content of one panel, best system first: values with the ends of their intervals, and values of chance."""

    name: str
    values: list[tuple[float, float, float]]
    chance: list[_Chance | None]


def chance_levels(
    gold: RankingLike | Mapping[str, RankingLike],
    systems: Mapping[str, RankingLike],
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    n_resamples: int = 1_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, NullDistribution]]:
    """Compute the values of chance for each system of a leaderboard in each gold set, for `plot_leaderboard`.

    Parameters
    ----------
    gold, systems, coefficient, missing
        As in `leaderboard`.
    n_resamples, seed, workers, progress
        As in `null_distribution`; systems with equal ties share permutations, and so are done once.

    Returns
    -------
    dict of str to dict of str to NullDistribution
        By the name of the gold set, and then of the system. A distribution without values belongs to an undefined
        coefficient.

    Raises
    ------
    RankingError
        The message names the system and the gold set; the subclass tells what is wrong.

    See Also
    --------
    plot_leaderboard : Draws them.
    rankcorr.null_distribution : Chance for one pair of rankings.

    Examples
    --------
    >>> from rankcorr.plots import chance_levels
    >>> gold = {word: place for place, word in enumerate(["ant", "bee", "cat", "dog", "eel", "fox"])}
    >>> levels = chance_levels(gold, {"good": gold, "ties": gold | {"ant": 1, "cat": 1}})
    >>> {system: round(null.mean, 3) for system, null in levels["gold"].items()}
    {'good': -0.094, 'ties': -0.105}
    """
    coefficient_value = as_coefficient(coefficient)
    check_choice("missing", missing, MISSING)
    draws = Draws.checked(n_resamples, seed, workers, progress)
    sets, rankings = name_systems(systems, read_gold_sets(gold))
    count_unused_labels(sets, rankings, missing)
    entries = align_systems(sets, rankings, missing)
    levels: dict[str, dict[str, NullDistribution]] = {name: {} for name in sets}
    for number, of_set in enumerate(levels.values()):
        nulls: dict[tuple[bytes, bytes], NullDistribution] = {}
        for system, row in zip(rankings, entries, strict=True):
            entry = row[number]
            ties = np.sort(entry.gold.ranks).tobytes(), np.sort(entry.system.ranks).tobytes()
            if ties not in nulls:
                nulls[ties] = null_of(
                    coefficient_value, entry.gold, entry.system, draws.of_part(2, number), missing=missing
                )
            of_set[system] = nulls[ties]
    return levels


@overload
def plot_leaderboard(leaderboard: Leaderboard, *, chance: ChanceLevels | None = None, ax: None = None) -> Figure: ...
@overload
def plot_leaderboard(leaderboard: Leaderboard, *, chance: ChanceLevels | None = None, ax: Axes) -> Axes: ...
def plot_leaderboard(
    leaderboard: Leaderboard, *, chance: ChanceLevels | None = None, ax: Axes | None = None
) -> Figure | Axes:
    """Draw the coefficient of each system with its interval, best first; each group has its own band and marker.

    On the right of each system are its value and the ranks that tests of all pairs leave possible. Of more than 60
    systems, the best 60 are drawn, as the title says.

    The first panel shows the column that the leaderboard is ranked by. If there are several gold sets, each gets a
    further panel, with the systems in the same order. The line of a system without a coefficient says "undefined".

    Parameters
    ----------
    leaderboard : Leaderboard
    chance : mapping of gold set to mapping of system to NullDistribution, optional
        From `chance_levels`, with the options of the leaderboard. A bar below each system then spans the middle 95 %
        of the values of chance, with a line at their mean. Without it, the mean of chance is drawn only for rho and
        tau, where it is 0 whatever the rankings.
    ax : matplotlib.axes.Axes, optional
        Where to draw the first panel alone. The legend lies below, where ``layout="constrained"`` makes room for it.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingMatplotlibError
        matplotlib is not installed.
    OptionError
        Chance levels that lack a system or were computed with other options.

    See Also
    --------
    rankcorr.leaderboard : Computes the leaderboard.
    chance_levels : Computes the levels of chance.
    save_figure : Write the figure to a file.

    Examples
    --------
    >>> from rankcorr import leaderboard
    >>> from rankcorr.plots import chance_levels, plot_leaderboard
    >>> gold = {word: place for place, word in enumerate(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])}
    >>> systems = {"poor": {word: -place for word, place in gold.items()}, "good": gold | {"hen": 5.5}}
    >>> board = leaderboard(gold, systems, n_resamples=200)
    >>> figure = plot_leaderboard(board, chance=chance_levels(gold, systems))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['good', 'poor']
    """
    _style.figure_class()
    if not isinstance(leaderboard, Leaderboard):
        raise OptionError(f"leaderboard must be a Leaderboard or a ScoreLeaderboard; got {shown(leaderboard)}")
    names = tuple(dict.fromkeys([leaderboard.by, *leaderboard.gold_sets]))
    if ax is not None or len(leaderboard.gold_sets) == 1:
        names = (leaderboard.by,)
    if chance is not None:
        _check_chance(leaderboard, chance)
    n_all = len(leaderboard.rows)
    leaderboard = replace(leaderboard, rows=leaderboard.rows[: _style.MOST_ROWS])
    columns = [_column(leaderboard, name, chance) for name in names]
    height = _style.height_of_rows(len(leaderboard.rows), ROW_HEIGHT, 1.7)
    title = _title(leaderboard, n_all)
    if len(columns) == 1:
        axes = _style.own_axes(ax, _interval_text(leaderboard), "", 7.4, height)
        handles = _draw_panel(axes, leaderboard, columns[0])
        subtitle = f"\n{_name_of(leaderboard, names[0])}" if len(leaderboard.gold_sets) > 1 else ""
        _style.entitle(axes, f"{title}{subtitle}", ax)
        # Half of narrow axes is left for the coefficients.
        _name_systems(axes, leaderboard, _style.longest_label() if ax is None else max(12, int(_style.room(axes) / 12)))
        _name_groups(axes, leaderboard, columns[0].values, _style.LABEL if ax is None else _style.room(axes) / 36)
        _style.add_legend(axes, handles, ax)
        return _style.axes_or_figure(axes, ax)
    figure = _style.canvas(3.0 + PANEL_WIDTH * len(columns), height + 0.3)
    of_one: Axes | None = None  # a sum has another scale than the values of gold sets
    for place, column in enumerate(columns, start=1):
        axes = _style.add_axes(figure, (1, len(columns), place), "", "")
        if of_one is not None:
            axes.sharex(of_one)
        elif column.name != SUM:
            of_one = axes
        handles = _draw_panel(axes, leaderboard, column)
        weight = "bold" if place == 1 else "normal"
        axes.set_title(_name_of(leaderboard, column.name), fontsize=_style.NAMES, fontweight=weight)
        if place == 1:
            _name_systems(axes, leaderboard, _style.longest_label())
        else:
            axes.set_yticks(range(len(leaderboard.rows)), labels=[])
    _name_groups(axes, leaderboard, columns[0].values, _style.LABEL)
    _style.entitle(figure, f"{title}: {_interval_text(leaderboard)}")
    _style.add_legend(axes, handles, None)
    return figure


def _check_chance(leaderboard: Leaderboard, chance: ChanceLevels) -> None:
    """Refuse chance levels that do not belong to the leaderboard."""
    cells = [(name, row.system) for name in leaderboard.gold_sets for row in leaderboard.rows]
    if absent := [(name, system) for name, system in cells if system not in chance.get(name, {})]:
        raise OptionError(offending("chance must have every system in every gold set; without", absent))
    options = _OPTIONS(leaderboard)
    if other := [(name, system) for name, system in cells if _OPTIONS(chance[name][system]) != options]:
        raise OptionError(offending("chance must have the options of the leaderboard; others for", other))
    sizes = {
        (name, row.system): score.n_items
        for row in leaderboard.rows
        for name, score in zip(leaderboard.gold_sets, row.scores, strict=True)
    }
    if other := [(name, system) for name, system in cells if chance[name][system].n_items != sizes[name, system]]:
        raise OptionError(offending("chance must have as many items as the leaderboard; others for", other))


def _column(leaderboard: Leaderboard, name: str, chance: ChanceLevels | None) -> _Column:
    """Values, intervals and chance of a gold set, or of the column that the leaderboard is ranked by."""
    sets = leaderboard.gold_sets
    standardized = leaderboard.standardized
    if name in sets:
        scores = [row.scores[sets.index(name)] for row in leaderboard.rows]
        values = [(score.statistic, score.low, score.high) for score in scores]
    else:
        values = [(row[name], row["low"], row["high"]) for row in leaderboard.table()]
    if chance is None:
        zero = leaderboard.coefficient in _style.UNWEIGHTED or standardized
        return _Column(name, values, [_Chance(0.0, math.nan, math.nan) if zero else None] * len(values))
    summed = (name,) if name in sets else sets

    def of_chance(system: str) -> _Chance | None:
        nulls = [chance[set_name][system] for set_name in summed]
        parts = [null.standardize(null.values) if standardized else null.values for null in nulls]
        return _sum_of_chance(parts, 1 if name in (*sets, SUM) else len(sets))

    return _Column(name, values, [of_chance(row.system) for row in leaderboard.rows])


def _sum_of_chance(parts: list[Values], divisor: int) -> _Chance | None:
    """The sum of independent values over a divisor; None if one of them has no values."""
    if any(part.size == 0 for part in parts):
        return None
    if len(parts) == 1:
        (sums,) = parts
    else:
        rng = np.random.default_rng(0)
        sums = np.sum([rng.choice(part, N_SUMS) for part in parts], axis=0)
    tail = (1 - CHANCE_LEVEL) / 2
    low, high = np.quantile(sums, [tail, 1 - tail]) / divisor
    return _Chance(sum(float(part.mean()) for part in parts) / divisor, float(low), float(high))


def _title(leaderboard: Leaderboard, n_all: int) -> str:
    """Return the title: the number of systems (with those that are not drawn), the coefficient and the items."""
    n_rows, n_sets = len(leaderboard.rows), len(leaderboard.gold_sets)
    n_items = leaderboard.column_score(leaderboard.rows[0]).n_items
    systems = counted(n_all, "system") if n_rows == n_all else f"The best {n_rows} of {n_all:,} systems"
    sets = f" on {n_sets} {_sets(leaderboard)}" if n_sets > 1 else ""
    size = counted(n_items, "task" if leaderboard.unit == "tasks" else "item")
    return f"{systems} by {_style.symbol(leaderboard.coefficient)}{sets}, {size}"


def _sets(leaderboard: Leaderboard) -> str:
    return "groups" if leaderboard.unit == "tasks" else "gold sets"


def _name_of(leaderboard: Leaderboard, name: str) -> str:
    if name in leaderboard.gold_sets:
        return _style.label_text(name, longest=24)
    return f"{name.capitalize()} over {len(leaderboard.gold_sets)} {_sets(leaderboard)}"


def _interval_text(leaderboard: Leaderboard) -> str:
    standardized = ", standardized" * leaderboard.standardized
    return f"{_style.coefficient_text(leaderboard)}{standardized}, with its {percent_text(leaderboard.level)} interval"


def _draw_panel(axes: Axes, leaderboard: Leaderboard, column: _Column) -> list[Any]:
    """Draw the systems from top to bottom in bands of groups; return the entries of the legend."""
    ink = _style.Ink.of(axes)
    size = min(6.5, 0.4 * _style.tall(axes) / len(leaderboard.rows))
    place, open_lines = 0, []
    for number, members in groupby(leaderboard.rows, key=lambda row: row.group):
        count = len(list(members))
        if number is not None and number % 2 == 1:
            axes.axhspan(place - 0.5, place + count - 0.5, color=ink.grey(0.94), lw=0, zorder=0)
        marker = MARKERS[((number or 1) - 1) % len(MARKERS)]
        colour = ink.grey(0.4) if number is None else ink.colour(number - 1)
        for line in range(place, place + count):
            value, low, high = column.values[line]
            if not math.isnan(low):
                ends = [end if math.isfinite(end) else value for end in (low, high)]
                (interval,) = axes.plot(ends, [line, line], color=colour, lw=1.6)
                open_lines += [] if math.isfinite(high - low) else [(interval, low, high)]
            if not math.isnan(value):
                axes.plot([value], [line], ls="", marker=marker, ms=size, color=colour)
        place += count
    axes.set_ylim(place - 0.35, -0.65)
    axes.use_sticky_edges = False
    axes.margins(x=0.05)
    handles = _draw_chance(axes, column.chance, ink)
    if open_lines:
        left, right = axes.set_xlim(axes.get_xlim())
        for interval, low, high in open_lines:  # of few tasks an interval may have no end
            interval.set_xdata([max(low, left), min(high, right)])
    axes.xaxis.grid(visible=True, color=ink.grey(0.85), lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    return handles


def _draw_chance(axes: Axes, chance: list[_Chance | None], ink: _style.Ink) -> list[Any]:
    """Draw a bar and a mean below each system, clear of its interval; return the entries of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    known = [(line, bar) for line, bar in enumerate(chance) if bar is not None]
    if not known:
        return []
    look: dict[str, Any] = {"color": ink.grey(0.25), "lw": 1.4}
    for line, (mean, _, _) in known:
        axes.plot([mean, mean], [line + 0.2, line + 0.5], zorder=0.8, **look)
    handles: list[Any] = [
        Line2D([], [], ls="", marker="|", ms=8, mew=1.4, color=ink.grey(0.25), label="mean by chance alone")
    ]
    spread = [(line, bar) for line, bar in known if not math.isnan(bar.low)]
    if spread:
        for line, (_, low, high) in spread:
            axes.barh(line + 0.35, high - low, left=low, height=0.2, color=ink.grey(0.75), lw=0, zorder=0.5)
        handles.append(Patch(facecolor=ink.grey(0.75), label=f"{100 * CHANCE_LEVEL:g} % of the values by chance alone"))
    return handles


def _name_systems(axes: Axes, leaderboard: Leaderboard, longest: int) -> None:
    names = [_style.label_text(row.system, min(longest, _style.longest_label())) for row in leaderboard.rows]
    axes.set_yticks(range(len(names)), labels=names, fontsize=_style.size_of_names(axes, len(names)))


def _name_groups(
    axes: Axes, leaderboard: Leaderboard, values: list[tuple[float, float, float]], largest: float
) -> None:
    """Write the value and the possible ranks of each system on the right, and the number of each group."""
    right = axes.get_yaxis_transform()  # across the axes from 0 to 1, and lines downwards
    size = min(_style.LABEL, largest, _style.size_of_names(axes, len(leaderboard.rows)))
    has_several_rows = len(leaderboard.rows) > 1
    texts = _style.column_texts([value for value, _, _ in values])
    width = max(VALUE, DIGIT * max(map(len, texts)))

    def write(column: int, line: float, text: str, va: str = "center", ha: str = "left") -> None:
        place = 5 + (4.4 * column + (width - VALUE) * (column > 0) + width * (ha == "right")) * size, 0
        axes.annotate(
            text, (1, line), xycoords=right, xytext=place, textcoords="offset points", va=va, ha=ha, fontsize=size
        )

    write(0, -0.7, "value", "bottom", "right")
    if has_several_rows:
        write(1, -0.7, "ranks", "bottom")
    place = 0
    for number, members in groupby(leaderboard.rows, key=lambda row: row.group):
        listed = list(members)
        if number is not None:
            write(1 + has_several_rows, place + (len(listed) - 1) / 2, f"group {number}")
        for line, row in enumerate(listed, start=place):
            is_undefined = math.isnan(values[line][0])
            if is_undefined:
                write(0, line, "undefined")
            else:
                write(0, line, texts[line], ha="right")
            if number is None and not is_undefined and has_several_rows:
                write(1, line, "unranked")
            if has_several_rows and row.least_rank is not None:
                write(1, line, "–".join(map(str, dict.fromkeys((row.least_rank, row.largest_rank)))))  # noqa: RUF001
        place += len(listed)
