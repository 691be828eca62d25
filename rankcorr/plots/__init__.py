"""Figures of rankings, coefficients, their chance level, leaderboards, and differences by query (extra `plot`)."""

from rankcorr.plots._chance import plot_null
from rankcorr.plots._leaderboards import chance_levels, plot_leaderboard
from rankcorr.plots._queries import plot_pairs, plot_queries
from rankcorr.plots._ranks import plot_offset, plot_ranks
from rankcorr.plots._style import MissingMatplotlibError, save_figure, theme

__all__ = ["chance_levels", "plot_leaderboard", "plot_null", "plot_offset", "plot_pairs", "plot_queries"]
__all__ += ["MissingMatplotlibError", "plot_ranks", "save_figure", "theme"]
