"""Figures of rankings, coefficients, their chance level, and leaderboards (extra `plot`)."""

from rankcorr.plots.chance import plot_null
from rankcorr.plots.leaderboards import plot_leaderboard
from rankcorr.plots.rankings import plot_offset, plot_ranks
from rankcorr.plots.style import MissingMatplotlibError, save_figure

__all__ = ["MissingMatplotlibError", "plot_leaderboard", "plot_null", "plot_offset", "plot_ranks", "save_figure"]
