"""The chance level of a coefficient as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankcorr.checks import check_choice
from rankcorr.errors import OptionError
from rankcorr.inference.distribution import ALTERNATIVES, Alternative, NullDistribution
from rankcorr.plots.style import add_axes, canvas, figure_class, signed
from rankcorr.results import RankCorrelation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BINS = 60


def plot_null(
    null: NullDistribution, statistic: float | RankCorrelation, *, alternative: Alternative = "two-sided"
) -> Figure:
    """Draw the values of a coefficient by chance alone, and where an observed value lies.

    Parameters
    ----------
    null : NullDistribution
        From `null_distribution`.
    statistic : float or RankCorrelation
        The observed coefficient.
    alternative : {"two-sided", "greater", "less"}
        Which p-value the legend gives.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    OptionError
        For a distribution without values, a statistic that is nan or was computed with other options, or an unknown
        alternative.

    Examples
    --------
    >>> from rankcorr.inference.null import null_distribution
    >>> figure = plot_null(null_distribution(range(4), range(4)), 0.5, alternative="greater")
    >>> figure.axes[0].get_xlabel()
    'Coefficient tau_w'
    """
    figure_class()
    check_choice("alternative", alternative, ALTERNATIVES)
    if null.values.size == 0:
        raise OptionError("there is nothing to draw: the coefficient is undefined for every permutation")
    pvalue = null.pvalue(statistic, alternative)
    observed = float(statistic)
    if np.isnan(observed):
        raise OptionError("the statistic is nan and cannot be drawn")
    figure = canvas()
    axes = add_axes(figure, (1, 1, 1), f"Coefficient {null.coefficient}", "Share of the permutations")
    number = f"{null.values.size:,}"
    which = f"all {number}" if null.exact and null.n_undefined == 0 else f"{number} {'' if null.exact else 'random '}"
    n_bins = min(MOST_BINS, max(10, int(np.sqrt(null.values.size))))
    axes.hist(
        null.values,
        bins=n_bins,
        weights=np.full(null.values.size, 1 / null.values.size),
        histtype="stepfilled",
        facecolor="0.85",
        edgecolor="k",
        lw=0.8,
        label=f"{which.strip()} permutations of {null.n_items} items",
    )
    axes.axvline(null.mean, color="k", ls=":", lw=1.5, label=f"mean by chance, {signed(null.mean)}")
    axes.axvline(
        observed, color="k", lw=2.2, label=f"observed, {signed(observed)}: {_pvalue_text(pvalue)}, {alternative}"
    )
    axes.margins(x=0.06)
    figure.legend(loc="outside upper left", frameon=False, fontsize=10)
    return figure


def _pvalue_text(pvalue: float) -> str:
    return f"p = {pvalue:.3f}" if pvalue >= 0.001 else f"p = {pvalue:.1e}"
