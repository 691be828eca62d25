"""Draw rows for figures with one for each item or voter: from top to bottom, with names and intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import shown, whole_number
from rankcorr.errors import OptionError
from rankcorr.plots.style import LONGEST_LABEL, Ink, label_text, room

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values: TypeAlias = NDArray[np.float64]

MOST_NAMED: Final = 100  # rows; more of them are numbered
ROW_HEIGHT: Final = 0.2  # in inches
SMALLEST: Final = 8.0  # height of a row with a name, in points
_DENSE_HEIGHT: Final = 8.0


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


def figure_height(n_rows: int) -> float:
    """Return the height in inches of a figure with `n_rows` rows."""
    return 1.3 + (ROW_HEIGHT * max(4, n_rows) if n_rows <= MOST_NAMED else _DENSE_HEIGHT)


def draw_intervals(axes: Axes, values: Values, low: Values, high: Values) -> None:
    """Draw a point with its interval in each row; if there are many rows, a line with a band."""
    ink, rows = Ink.of(axes), np.arange(values.size)
    if values.size > MOST_NAMED:
        axes.fill_betweenx(rows, low, high, color=ink.grey(0.8), lw=0)
        axes.plot(values, rows, color=ink.full, lw=1)
    else:
        size = min(4.5, 0.75 * _row_height(axes, values.size))
        axes.hlines(rows, low, high, color=ink.full, lw=0.27 * size)
        axes.plot(values, rows, ls="", marker="o", ms=size, mfc=ink.paper, mec=ink.full, mew=0.25 * size)
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
    height = _row_height(axes, n_rows)
    step = 1 if ours else max(1, math.ceil(SMALLEST / height))
    longest = LONGEST_LABEL if ours else min(LONGEST_LABEL, max(12, int(room(axes) / 12)))
    places = range(0, n_rows, step)
    axes.set_yticks(places, labels=[label_text(names[place], longest) for place in places])
    axes.tick_params(axis="y", length=0 if step == 1 else 2, labelsize=9.0 if ours else min(9.0, 0.85 * step * height))


def _row_height(axes: Axes, n_rows: int) -> float:
    """Return the height of a row in points, before a layout changes it."""
    figure: Any = axes.figure
    return float(72 * axes.get_position().height * float(figure.bbox.height) / figure.dpi / n_rows)


def title_of_part(n_shown: int, n_all: int, which: str, what: str) -> str:
    """Describe the part that a figure shows, unless it shows all."""
    return "" if n_shown == n_all else f"The {which} {n_shown:,} of {n_all:,} {what}"
