"""Evaluation by query: qrels and runs in, values of each query, their means and tests out."""

from rankcorr.evaluation.errors import (
    ColumnError,
    DuplicateDocumentError,
    MetricError,
    MissingMeasuresError,
    QueryMismatchError,
    RankColumnWarning,
    UndefinedQueryError,
    UnjudgedError,
)
from rankcorr.evaluation.evaluate import evaluate
from rankcorr.evaluation.evaluation import ChanceLevel, Evaluation, Undefined
from rankcorr.evaluation.files import read_qrels, read_run
from rankcorr.evaluation.judgements import Qrels, Run
from rankcorr.evaluation.matching import Coverage
from rankcorr.evaluation.metrics import RBO, AveragePrecision, PrecisionAt, TauAP

__all__ = [
    "RBO",
    "AveragePrecision",
    "ChanceLevel",
    "ColumnError",
    "Coverage",
    "DuplicateDocumentError",
    "Evaluation",
    "MetricError",
    "MissingMeasuresError",
    "PrecisionAt",
    "Qrels",
    "QueryMismatchError",
    "RankColumnWarning",
    "Run",
    "TauAP",
    "Undefined",
    "UndefinedQueryError",
    "UnjudgedError",
    "evaluate",
    "read_qrels",
    "read_run",
]
