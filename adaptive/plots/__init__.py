"""Draw figures of strengths, voters and accuracy (extra `plot` of rankcorr)."""

from adaptive.plots.accuracy import plot_accuracy
from adaptive.plots.rows import agreement, plot_in_top, plot_strengths, plot_voters
from rankcorr.plots.style import MissingMatplotlibError, save_figure

__all__ = [
    "MissingMatplotlibError",
    "agreement",
    "plot_accuracy",
    "plot_in_top",
    "plot_strengths",
    "plot_voters",
    "save_figure",
]
