"""Errors by name. Bad input is a `RankingError`, and so a `ValueError`; a missing package is an `ImportError`."""


class RankingError(ValueError):
    """Base of every error that rankcorr raises on bad input."""


class DimensionError(RankingError):
    """Scores, ranks or an order that are not one-dimensional."""


class TooFewItemsError(RankingError):
    """Fewer than two items: there is nothing to rank."""


class NonNumericError(RankingError):
    """A score or rank that is not a real number."""


class MissingValueError(RankingError):
    """A score or rank that is nan, or masked."""


class LengthError(RankingError):
    """Two rankings, or scores and their labels, that differ in length."""


class LabelError(RankingError):
    """Labels that cannot serve as keys, or a labelled ranking against one without labels."""


class DuplicateLabelError(LabelError):
    """A label that names more than one item."""


class LabelMismatchError(LabelError):
    """Labels that are in one ranking only."""


class WeightError(RankingError):
    """An offset n0 or a weigher that does not give usable weights."""


class ShareError(RankingError):
    """A share of the weight that is out of range, or that no offset n0 attains."""


class StandardizationError(RankingError):
    """A distribution whose standardized values could not be told apart as floats."""


class OptionError(RankingError):
    """An option that is not one of the choices, or that contradicts another."""


class TableError(RankingError):
    """A file that does not hold a ranking; the message names file, line and column."""


class MissingPandasError(ImportError):
    """A data frame was asked for, and pandas is not installed."""


class UndefinedCorrelationWarning(UserWarning):
    """A correlation that does not exist, because one ranking does not tell the weighted items apart."""


class ManyGoldSetsWarning(UserWarning):
    """Intervals and tests over many gold sets, of which they take none as a sample."""
