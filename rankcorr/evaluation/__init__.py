"""Evaluate runs of search systems against qrels: values by query, their means, and tests over queries.

- input: `Qrels` and `Run`, from dicts, columns, data frames, files (`read_qrels`, `read_run`), and objects of ranx and
  ir_measures. Every function also takes these sources directly
- values by query and their means, raw and standardized: `evaluate`; for plain arrays and columns: `correlate_groups`
- comparison of runs, with intervals and tests: `compare_runs`, or `compare_evaluated` for an `Evaluation`
- the queries and documents that cause a difference: `worst`
- means that combine human judgements of some queries with judgements by a program of all: `judged_means`
- fusion of several runs into one: `fuse`
- systems ranked by a table of scores over tasks: `leaderboard_of_scores`
- values by query and their means for data that does not fit in memory, one partition at a time: `QueryEvaluator`,
  `partial_means`, `combined_means`, `read_batches`, `streamed_means`
- metrics with options: the coefficients of `rankcorr`, `RBO`, `TauAP`, `AveragePrecision`, `PrecisionAt`
- errors: all are subclasses of `rankcorr.RankingError`

>>> from rankcorr.evaluation import evaluate
>>> evaluation = evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 9.5, "c": 7.0, "b": 3.5}})
>>> round(evaluation.mean(), 4)
0.6252
"""

from rankcorr.errors import (
    ColumnError,
    DuplicateDocumentError,
    FewTasksWarning,
    MetricError,
    MissingArrowError,
    MissingMeasuresError,
    PartialMismatchError,
    QueryMismatchError,
    RankColumnWarning,
    SelfHitWarning,
    SplitQueryError,
    UndefinedQueryError,
    UnjudgedError,
)
from rankcorr.evaluation._comparison.compare import (
    DocumentDifference,
    QueryDifference,
    compare_evaluated,
    compare_runs,
    corrected_together,
    worst,
)
from rankcorr.evaluation._comparison.results import GroupComparison, PairedDifference, RunComparison, RunScore
from rankcorr.evaluation._evaluate import (
    ChanceLevel,
    Evaluation,
    GroupCorrelations,
    RunMean,
    Undefined,
    correlate_groups,
    evaluate,
)
from rankcorr.evaluation._fuse import fuse
from rankcorr.evaluation._judged import JudgedMean, JudgedMeans, judged_means
from rankcorr.evaluation._matching import Coverage
from rankcorr.evaluation._metrics import RBO, AveragePrecision, PrecisionAt, TauAP
from rankcorr.evaluation._partitions.evaluator import QueryEvaluator
from rankcorr.evaluation._partitions.joined_columns import read_batches
from rankcorr.evaluation._partitions.means import (
    MeanDifference,
    PartialMeans,
    QueryMean,
    QueryMeans,
    combined_means,
    merged_means,
    partial_means,
    streamed_means,
)
from rankcorr.evaluation._qrels import Qrels, Run
from rankcorr.evaluation._scores.leaderboard import ScoreLeaderboard, leaderboard_of_scores
from rankcorr.evaluation._scores.sample_size import NeededItems, needed_items
from rankcorr.evaluation._sources import read_groups, read_qrels, read_run

__all__ = ["ColumnError", "DuplicateDocumentError", "MetricError", "MissingArrowError", "MissingMeasuresError"]
__all__ += ["PartialMismatchError", "QueryMismatchError", "RankColumnWarning", "SelfHitWarning", "SplitQueryError"]
__all__ += ["FewTasksWarning", "UndefinedQueryError", "UnjudgedError"]
__all__ += ["NeededItems", "ScoreLeaderboard", "leaderboard_of_scores", "needed_items"]
__all__ += ["GroupComparison", "PairedDifference", "RunComparison", "RunScore"]
__all__ += ["compare_evaluated", "compare_runs", "corrected_together"]
__all__ += ["ChanceLevel", "Evaluation", "GroupCorrelations", "RunMean", "Undefined"]
__all__ += ["correlate_groups", "evaluate"]
__all__ += ["Coverage", "Qrels", "Run", "read_groups", "read_qrels", "read_run"]
__all__ += ["RBO", "AveragePrecision", "PrecisionAt", "TauAP"]
__all__ += ["MeanDifference", "PartialMeans", "QueryEvaluator", "QueryMean", "QueryMeans"]
__all__ += ["combined_means", "merged_means", "partial_means", "read_batches", "streamed_means"]
__all__ += ["DocumentDifference", "QueryDifference", "fuse", "worst"]
__all__ += ["JudgedMean", "JudgedMeans", "judged_means"]
