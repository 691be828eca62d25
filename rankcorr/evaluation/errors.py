"""Errors of evaluation by query; bad input is a `RankingError`, a missing package an `ImportError`."""

from rankcorr.errors import RankingError


class ColumnError(RankingError):
    """Columns of queries, documents and values that cannot be used: a missing one, ids of mixed types, a null."""


class DuplicateDocumentError(RankingError):
    """A document that one query has more than once."""


class QueryMismatchError(RankingError):
    """Qrels and runs that share no query, or ids of different types."""


class UnjudgedError(RankingError):
    """A retrieved document without a judgement, where each must have one."""


class UndefinedQueryError(RankingError):
    """A query for which a metric does not exist, where it must exist for each."""


class MetricError(RankingError):
    """A metric that is unknown, or that the relevance at hand does not suit."""


class SplitQueryError(RankingError):
    """A query in more than one partition, or twice in a result, or whose rows in a stream do not follow each other."""


class PartialMismatchError(RankingError):
    """Parts of a result that were computed with different metrics, columns or options."""


class MissingArrowError(ImportError):
    """Partitions are to be evaluated, and pyarrow is not installed."""


class MissingMeasuresError(ImportError):
    """A metric of ir_measures was asked for, and ir_measures is not installed."""


class RankColumnWarning(UserWarning):
    """The ranks that a run states contradict its scores, which decide."""
