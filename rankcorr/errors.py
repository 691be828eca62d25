"""Errors and warnings by name, and how a program with threads collects the warnings that come with a result.

Bad input is a `RankingError`, and so a `ValueError`; a missing package is an `ImportError`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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
    """A distribution whose standardized values would be indistinguishable as floats."""


class OptionError(RankingError):
    """An option that is not one of the choices, or that contradicts another."""


class TableError(RankingError):
    """A file that does not hold a ranking; the message names file, line and column."""


class MissingPandasError(ImportError):
    """A data frame was requested, and pandas is not installed."""


class UndefinedCorrelationWarning(UserWarning):
    """An undefined correlation, because one ranking ties all items that have weight."""


class ManyGoldSetsWarning(UserWarning):
    """Intervals and tests over many gold sets, which they do not treat as a sample of gold sets."""


class SelfPairWarning(UserWarning):
    """Gold scores of a word with itself, whose cosine is 1 for any vectors."""


class LowCoverageWarning(UserWarning):
    """Word vectors that have fewer than half of the pairs of the gold scores."""


class ColumnError(RankingError):
    """Columns of queries, documents and values that cannot be used: a missing one, ids of mixed types, a null."""


class DuplicateDocumentError(RankingError):
    """A document that one query has more than once."""


class QueryMismatchError(RankingError):
    """Qrels and runs that share no query, or ids of different types."""


class UnjudgedError(RankingError):
    """A retrieved document without a judgement, where each must have one."""


class UndefinedQueryError(RankingError):
    """A query without a value of a metric, where every query needs one."""


class MetricError(RankingError):
    """A metric that is unknown, or that does not suit the relevance given."""


class SplitQueryError(RankingError):
    """A query in two partitions or folds, or twice in a result, or whose rows in a stream do not follow each other."""


class PartialMismatchError(RankingError):
    """Parts of a result that were computed with different metrics, columns or options."""


class MissingArrowError(ImportError):
    """A Parquet or Arrow file, or a partition, is to be evaluated, and pyarrow is not installed."""


class MissingMeasuresError(ImportError):
    """A measure of ir_measures was requested, and ir_measures is not installed."""


class RankColumnWarning(UserWarning):
    """Ranks in a run that contradict its scores; the scores are used."""


_collected: ContextVar[list[str] | None] = ContextVar("rankcorr_notices", default=None)


def warn_undefined(why: str, *, what: str = "the correlation", stacklevel: int = 4) -> None:
    """Warn that a statistic is nan; by default at the line that called the public function."""
    give_notice(f"{what} is undefined: {why}", UndefinedCorrelationWarning, stacklevel=stacklevel + 1)


def give_notice(message: str, category: type[Warning], *, stacklevel: int = 3) -> None:
    """Warn, or leave the message to `collected_notices`; by default at the line that called the public function."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(message, category, stacklevel=stacklevel)
    else:
        collected.append(message)


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Collect, only in this thread, messages that would otherwise be warnings.

    `warnings.catch_warnings` changes the whole process, so the threads of a server would see each other's warnings.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> with collected_notices() as notices:
    ...     result = weighted_tau([1, 2], [3, 3])
    >>> notices
    ['the correlation is undefined: all items that have weight are tied in one ranking']
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)
