"""Plot accuracy against the number of votes, a line for each approach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.plots.style import Ink, add_legend, drawn, figure_class, label_text, own_axes, room, symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values: TypeAlias = NDArray[np.float64]
Curves: TypeAlias = Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]

# Marker and line of each approach, distinguishable without colours.
_LOOKS: Final = (("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."), ("v", "-"), ("P", "--"), ("X", ":"), ("*", "-."))


@overload
def plot_accuracy(
    curves: Curves, *, coefficient: str = "tau_w", limits: Mapping[str, float] | None = None, ax: None = None
) -> Figure: ...
@overload
def plot_accuracy(
    curves: Curves, *, coefficient: str = "tau_w", limits: Mapping[str, float] | None = None, ax: Axes
) -> Axes: ...
def plot_accuracy(
    curves: Curves, *, coefficient: str = "tau_w", limits: Mapping[str, float] | None = None, ax: Axes | None = None
) -> Figure | Axes:
    """Draw the mean accuracy of each approach against votes, with a band of one standard error on either side.

    Parameters
    ----------
    curves : mapping of str to (votes, means, standard errors)
        By the name of the approach, arrays of one length. An approach with a single number is drawn as a point.
    coefficient : str
        The coefficient: "tau_w", "rho_w", "tau", "rho", or any other text for the axis.
    limits : mapping of str to float, optional
        Numbers to draw as horizontal lines, by their labels, such as the accuracy of full rankings by all voters.
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

    Examples
    --------
    >>> curves = {"matched": ([1000, 2000], [0.8, 0.9], [0.01, 0.01]), "uniform": ([1000, 2000], [0.3, 0.4], [0, 0])}
    >>> figure = plot_accuracy(curves, limits={"every voter ranks every item": 0.99})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['matched', 'uniform', 'every voter ranks every item']
    """
    figure_class()
    from matplotlib.ticker import MaxNLocator

    if not isinstance(curves, Mapping) or not 1 <= len(curves) <= len(_LOOKS):
        raise OptionError(f"curves must be a mapping of 1 to {len(_LOOKS)} approaches; got {shown(curves)}")
    columns = {name: _checked(name, curve) for name, curve in curves.items()}
    axes = own_axes(ax, "Votes", f"Accuracy, {symbol(coefficient)}", 6.4, 4.6)
    ink, handles = Ink.of(axes), []
    for (name, (votes, means, errors)), (marker, style) in zip(columns.items(), _LOOKS, strict=False):
        axes.fill_between(votes, means - errors, means + errors, color=ink.grey(0.75), lw=0, alpha=0.7)
        (line,) = axes.plot(
            votes, means, color=ink.full, ls=style, lw=1.4, marker=marker, ms=5.5, mfc=ink.paper, label=label_text(name)
        )
        handles.append(line)
    for number, (name, value) in enumerate((limits or {}).items()):
        dashes = (0, (1 + 7 * (number + 1), 3))
        handles.append(axes.axhline(value, color=ink.grey(0.3), lw=1.1, ls=dashes, zorder=1, label=label_text(name)))
    every = np.concatenate([votes for votes, _, _ in columns.values()])
    if every.max() > 30 * every.min():
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(max(2, int(room(axes) / 50)), steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.grid(visible=True, color=ink.grey(0.88), lw=0.6)
    axes.set_axisbelow(True)
    add_legend(axes, handles, ax)
    return drawn(axes, ax)


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
