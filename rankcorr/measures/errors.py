"""Errors that only the measures raise; each is a `RankingError`."""

from rankcorr.errors import RankingError


class RelevanceError(RankingError):
    """Gold relevance that is not 0 or 1, or a gold standard without a relevant item."""


class AnnotatorError(RankingError):
    """Too few annotators, or annotators with too few items in common, to measure how they agree."""


class ComparisonError(RankingError):
    """A comparison that does not name two items and a share of votes between 0 and 1."""
