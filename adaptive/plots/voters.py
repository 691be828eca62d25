"""Plot a value with an interval for each voter: their agreement with the common order, or any other number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, overload

import numpy as np
from scipy.special import ndtri

from adaptive.errors import ModelError
from adaptive.model.strengths import Strengths
from adaptive.model.voters import wilson_interval
from adaptive.plots.rows import checked_top, draw_intervals, figure_height, name_rows, title_of_part
from adaptive.plots.strengths import LEVEL, TOP
from rankcorr.checks import checked_level, shown
from rankcorr.errors import OptionError
from rankcorr.plots.style import Ink, add_legend, drawn, figure_class, own_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Intervals: TypeAlias = Mapping[Hashable, tuple[float, float, float]]

AT_RANDOM: Final = 0.5


@overload
def plot_voters(
    voters: Intervals,
    *,
    what: str = "Agreement",
    reference: tuple[float, str] | None = None,
    top: int | None = TOP,
    ax: None = None,
) -> Figure: ...
@overload
def plot_voters(
    voters: Intervals,
    *,
    what: str = "Agreement",
    reference: tuple[float, str] | None = None,
    top: int | None = TOP,
    ax: Axes,
) -> Axes: ...
def plot_voters(
    voters: Intervals,
    *,
    what: str = "Agreement",
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
    what : str
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

    Examples
    --------
    >>> figure = plot_voters({"Ann": (0.9, 0.8, 0.95), "Bob": (0.5, 0.4, 0.6)}, reference=(0.5, "answers at random"))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['Bob', 'Ann']
    """
    figure_class()
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
    axes = own_axes(ax, what, "", 6.4, figure_height(n_rows))
    draw_intervals(axes, values, low, high)
    name_rows(axes, names, "lowest", ours=ax is None)
    axes.set_title(title_of_part(n_rows, len(voters), "lowest", "voters"), fontsize=11)
    if reference is not None:
        value, meaning = reference
        line = axes.axvline(value, color=Ink.of(axes).full, lw=1.2, ls="--", label=meaning)
        add_legend(axes, [line], ax)
    return drawn(axes, ax)


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

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
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
    found: dict[Hashable, tuple[float, float, float]] = {}
    for name, n, number in zip(votes.voters, counts.tolist(), agreed.tolist(), strict=True):
        if n:
            share = number / n
            found[name] = share, *wilson_interval(share, n, z)
    return found
