"""Figures of rankings, coefficients, their chance level, leaderboards, and differences by query (extra `plot`)."""

from rankcorr.plots.chance import plot_null
from rankcorr.plots.leaderboards import chance_levels, plot_leaderboard
from rankcorr.plots.offsets import plot_offset
from rankcorr.plots.queries import plot_pairs, plot_queries
from rankcorr.plots.ranks import plot_ranks
from rankcorr.plots.style import MissingMatplotlibError, save_figure, theme

__all__ = ["chance_levels", "plot_leaderboard", "plot_null", "plot_offset", "plot_pairs", "plot_queries"]
__all__ += ["MissingMatplotlibError", "plot_ranks", "save_figure", "theme"]
