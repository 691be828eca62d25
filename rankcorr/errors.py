"""Errors and warnings by name.

Bad input is a `RankingError`, and so a `ValueError`; a missing package is an `ImportError`.
"""


class RankingError(ValueError):
    """Base of every error that rankcorr raises on bad input.

    See Also
    --------
    OptionError, LengthError, LabelError, WeightError : Some of its subclasses.
    rankcorr.vectors.VectorError : Base of the errors of word vectors.

    Examples
    --------
    >>> from rankcorr import LengthError, RankingError
    >>> issubclass(LengthError, RankingError), issubclass(RankingError, ValueError)
    (True, True)
    """


class DimensionError(RankingError):
    """Scores, ranks or an order that are not one-dimensional.

    See Also
    --------
    LengthError : Vectors of different lengths.
    Ranking : How to create a ranking.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([[3, 2], [1, 4]], [4, 3])
    Traceback (most recent call last):
    rankcorr.errors.DimensionError: scores must have one dimension; got an array of shape (2, 2)
    """


class TooFewItemsError(RankingError):
    """Fewer items than needed: none to rank, or fewer than two to correlate.

    See Also
    --------
    Ranking : How to create a ranking.
    align : Alignment that leaves out items.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([1], [1])
    Traceback (most recent call last):
    rankcorr.errors.TooFewItemsError: a ranking needs at least two items; got 1
    """


class NonNumericError(RankingError):
    """A score or rank that is not a real number.

    See Also
    --------
    MissingValueError : A score that is nan.
    Ranking : How to create a ranking.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau(["3", "2", "1"], [3, 2, 1])
    Traceback (most recent call last):
    rankcorr.errors.NonNumericError: every score must be a real number; got '3' at scores[0], scores[1], ...
    """


class MissingValueError(RankingError):
    """A score or rank that is nan, or masked.

    See Also
    --------
    NonNumericError : A score that is not a number at all.
    Ranking : How to create a ranking.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([3, float("nan"), 1], [3, 2, 1])
    Traceback (most recent call last):
    rankcorr.errors.MissingValueError: every item needs a score (leave out items without one); nan: scores[1]
    """


class LengthError(RankingError):
    """Two rankings, or scores and their labels, that differ in length.

    See Also
    --------
    DimensionError : Input that is not a vector.
    LabelMismatchError : The same for rankings with labels.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([3, 2, 1], [2, 1])
    Traceback (most recent call last):
    rankcorr.errors.LengthError: rankings without labels must have the same length; x has 3 items and y has 2
    """


class LabelError(RankingError):
    """Labels that cannot serve as keys, or a labelled ranking against one without labels.

    See Also
    --------
    DuplicateLabelError, LabelMismatchError : Its subclasses.
    align : How labels are matched.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau({"ant": 2, "bee": 1}, [2, 1])
    Traceback (most recent call last):
    rankcorr.errors.LabelError: x has labels and y has none, so their items cannot be matched: give both ...
    """


class DuplicateLabelError(LabelError):
    """A label that names more than one item.

    See Also
    --------
    LabelError : Its base.
    Ranking : How to create a ranking.

    Examples
    --------
    >>> from rankcorr import Ranking
    >>> Ranking.from_order(["ant", "bee", "ant"])
    Traceback (most recent call last):
    rankcorr.errors.DuplicateLabelError: labels must be unique; more than once: 'ant'
    """


class LabelMismatchError(LabelError):
    """Labels that are in one ranking only.

    See Also
    --------
    LabelError : Its base.
    align : The option `missing`, which accepts such labels.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau({"ant": 2, "bee": 1}, {"ant": 2, "cat": 1})
    Traceback (most recent call last):
    rankcorr.errors.LabelMismatchError: labels in x only: 'bee'; labels in y only: 'cat' ...
    """


class WeightError(RankingError):
    """An offset n0 or a weigher that does not give usable weights.

    See Also
    --------
    item_weights : The weights of items.
    InverseSquare : The default weigher.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([3, 2, 1], [3, 1, 2], n0=-1)
    Traceback (most recent call last):
    rankcorr.errors.WeightError: n0 must be a finite number greater than -1; got -1
    """


class ShareError(RankingError):
    """A share of the weight that is out of range, or that no offset n0 attains.

    See Also
    --------
    offset_for_share, top_share : Raise it.
    WeightError : An n0 that is not usable.

    Examples
    --------
    >>> from rankcorr import offset_for_share
    >>> offset_for_share(0.05, n_items=10)
    Traceback (most recent call last):
    rankcorr.errors.ShareError: share must lie in the open interval (k/n_items, 1) = (1/10, 1); got 0.05
    """


class StandardizationError(RankingError):
    """A distribution whose standardized values would be indistinguishable as floats.

    See Also
    --------
    rankcorr.evaluation.evaluate : Raises it; its option `standardized` avoids it.
    NullDistribution.saturates : Tells whether a distribution has this fault.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> from rankcorr.evaluation import evaluate
    >>> evaluate({"q": dict(a=2, b=1, c=0)}, {"q": dict(a=3, b=1, c=2)}, metrics=TauW(n0=-0.999999))
    Traceback (most recent call last):
    rankcorr.errors.StandardizationError: chance alone gives nearly the same value for almost every ...
    """


class OptionError(RankingError):
    """An option that is not one of the choices, or that contradicts another.

    See Also
    --------
    WeightError : An n0 or a weigher that is not usable.
    RankingError : Its base.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> weighted_tau([3, 2, 1], [3, 1, 2], scheme="both")
    Traceback (most recent call last):
    rankcorr.errors.OptionError: scheme must be one of 'additive', 'multiplicative', 'first', 'second'; ...
    """


class TableError(RankingError):
    r"""A file with invalid content; the message names file, line and column. Raised by adaptive too.

    See Also
    --------
    rankcorr.evaluation.read_run, rankcorr.vectors.read_pairs : Raise it.
    RankingError : Its base.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr import TableError
    >>> from rankcorr.evaluation import read_groups
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "genres.csv")
    ...     _ = file.write_text("q1,drama\nq2,war,1914\n")
    ...     try:
    ...         read_groups(file)
    ...     except TableError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    genres.csv:2: expected 2 columns (query and group); got 3
    """


class MissingPandasError(ImportError):
    """A data frame was requested, and pandas is not installed.

    See Also
    --------
    RankCorrelations.to_frame : One of the methods that need pandas.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from rankcorr import correlate_many
    >>> result = correlate_many([3, 2, 1], {"system": [3, 1, 2]})
    >>> with patch.dict(sys.modules, pandas=None):  # as if it were not installed
    ...     result.to_frame()
    Traceback (most recent call last):
    rankcorr.errors.MissingPandasError: to_frame needs pandas, which is not installed: pip install pandas
    """


class UndefinedCorrelationWarning(UserWarning):
    """An undefined correlation, because one ranking ties all items that have weight.

    See Also
    --------
    weighted_tau, weighted_rho : Say when a coefficient is undefined.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr import UndefinedCorrelationWarning, weighted_tau
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UndefinedCorrelationWarning)
    ...     weighted_tau([1, 2], [3, 3])
    Traceback (most recent call last):
    rankcorr.errors.UndefinedCorrelationWarning: the correlation is undefined: all items that have weight ...
    """


class ManyGoldSetsWarning(UserWarning):
    """Intervals and tests over many gold sets, which they do not treat as a sample of gold sets.

    See Also
    --------
    leaderboard : Warns if there are more than five gold sets.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr import ManyGoldSetsWarning, leaderboard
    >>> gold = {name: {f"{name}{item}": item for item in range(10)} for name in "abcdef"}
    >>> scores = {item: score for ranking in gold.values() for item, score in ranking.items()}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ManyGoldSetsWarning)
    ...     board = leaderboard(gold, {"a": scores, "b": scores}, coefficient="tau", n_resamples=100)
    >>> len(board.gold_sets)
    6
    """


class FewTasksWarning(UserWarning):
    """A leaderboard of few tasks, which tell little about further ones.

    See Also
    --------
    rankcorr.evaluation.leaderboard_of_scores : Warns if there are fewer than 8 tasks.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr.evaluation import FewTasksWarning, leaderboard_of_scores
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FewTasksWarning)
    ...     board = leaderboard_of_scores({"a": {"x": 2, "y": 3}, "b": {"x": 1, "y": 1}})
    >>> [row.group for row in board.rows]
    [1, 1]
    """


class SelfPairWarning(UserWarning):
    """Gold scores of a word with itself, whose cosine is 1 for any vectors.

    See Also
    --------
    evaluate_vectors : Its option ``self_pairs="omit"`` leaves these pairs out.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr.vectors import SelfPairWarning, evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0]}
    >>> gold = {("cat", "cat"): 10.0, ("cat", "dog"): 8.0, ("cat", "car"): 2.0}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SelfPairWarning)
    ...     evaluate_vectors(vectors, gold)
    Traceback (most recent call last):
    rankcorr.errors.SelfPairWarning: pairs of a word with itself have the cosine 1 whatever the vectors; ...
    """


class LowCoverageWarning(UserWarning):
    """Word vectors that have fewer than half of the pairs of the gold scores.

    See Also
    --------
    evaluate_vectors, common_pairs : Issue this warning.
    UnknownWordError : Fewer than two pairs have vectors.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr.vectors import LowCoverageWarning, evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0]}
    >>> gold = {("cat", "dog"): 8.0, ("cat", "car"): 2.0} | {("cat", word): 1.0 for word in ("van", "bus", "bike")}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", LowCoverageWarning)
    ...     evaluation = evaluate_vectors(vectors, gold, coefficients=["rho"])
    >>> evaluation.n_compared, evaluation.n_pairs
    (2, 5)
    """


class ColumnError(RankingError):
    """Columns of queries, documents and values that cannot be used: a missing one, ids of mixed types, a null.

    See Also
    --------
    Qrels.from_frame : The names of columns that are recognized.
    read_batches : Raises it for a column that a file lacks.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import Qrels
    >>> Qrels.from_frame(pd.DataFrame({"query": ["q"], "document": ["a"]}))
    Traceback (most recent call last):
    rankcorr.errors.ColumnError: no column for the relevance, such as 'relevance', 'rel', ...
    """


class DuplicateDocumentError(RankingError):
    """A document that one query has more than once.

    See Also
    --------
    read_run, read_qrels : The option `duplicates`, which accepts such documents.

    Examples
    --------
    >>> from rankcorr.evaluation import Run
    >>> Run.from_columns(["q", "q"], ["a", "a"], [2.5, 1.5])
    Traceback (most recent call last):
    rankcorr.errors.DuplicateDocumentError: each document may appear only once in a query; repeated ...
    """


class QueryMismatchError(RankingError):
    """Qrels and runs that share no query, ids of different types, or runs of different queries that are fused.

    See Also
    --------
    evaluate : Raises it.
    Coverage : The queries that are in one of the two.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> evaluate({"q1": {"a": 1, "b": 0}}, {"q2": {"a": 2, "b": 1}}, metrics="tau_w")
    Traceback (most recent call last):
    rankcorr.errors.QueryMismatchError: qrels and the run share no query; qrels have 'q1', the run has 'q2'
    """


class UnjudgedError(RankingError):
    """A retrieved document without a judgement, where each must have one.

    See Also
    --------
    evaluate : The option `unjudged`, which accepts such documents.
    Coverage : Counts such documents.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 2, "x": 1}}, metrics="tau_w", unjudged="error")
    Traceback (most recent call last):
    rankcorr.errors.UnjudgedError: every retrieved document needs a judgement; without one ...
    """


class UndefinedQueryError(RankingError):
    """A query without a value of a metric, where every query needs one.

    See Also
    --------
    evaluate : The option `undefined`, which accepts such queries.
    Undefined : The queries without a value, and why.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "b": 1}}, metrics="tau_w", undefined="error")
    Traceback (most recent call last):
    rankcorr.errors.UndefinedQueryError: run 'run', tau_w: all gold scores are tied; queries: 'q'
    """


class MetricError(RankingError):
    """A metric that is unknown, or that does not suit the relevance given.

    See Also
    --------
    evaluate : Lists the metrics.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 2, "b": 1}}, metrics="tau_b")
    Traceback (most recent call last):
    rankcorr.errors.MetricError: unknown metric 'tau_b': use rho_w, tau_w, rho, tau, ap, ndcg, tau_ap, rbo, ...
    """


class SplitQueryError(RankingError):
    """A query in two partitions or folds, or twice in a result, or whose rows in a stream do not follow each other.

    See Also
    --------
    streamed_means : Needs the rows of a query together.
    merged_means, combined_means : Need each query in one part.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
    >>> rows = pd.DataFrame({"query": ["q", "r"], "n_documents": [5, 7], "tau": [0.5, 0.25]})
    >>> part = partial_means(rows, QueryEvaluator("tau"))
    >>> combined_means([part, part])
    Traceback (most recent call last):
    rankcorr.errors.SplitQueryError: queries occur in more than one partition, or twice: 'q', 'r'; all ...
    """


class PartialMismatchError(RankingError):
    """Parts of a result that were computed with different metrics, columns or options.

    See Also
    --------
    combined_means, merged_means : Raise it.
    SplitQueryError : A query that is in two parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
    >>> rows = pd.DataFrame({"query": ["q", "r"], "n_documents": [5, 7], "tau": [0.5, 0.25]})
    >>> parts = [partial_means(rows[k : k + 1], QueryEvaluator("tau"), seed=k) for k in range(2)]
    >>> combined_means(parts)
    Traceback (most recent call last):
    rankcorr.errors.PartialMismatchError: seed of intervals is 0 in one part, and 1 in another: only ...
    """


class MissingArrowError(ImportError):
    """A Parquet or Arrow file, or a partition, is to be evaluated, and pyarrow is not installed.

    See Also
    --------
    read_batches, QueryEvaluator : Need pyarrow.
    MissingMeasuresError : The same for ir_measures.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from rankcorr.evaluation import read_batches
    >>> with patch.dict(sys.modules, {"pyarrow": None, "pyarrow.parquet": None}):  # as if not installed
    ...     next(read_batches("rows.parquet", ["score"]))
    Traceback (most recent call last):
    rankcorr.errors.MissingArrowError: Parquet and Arrow files and partitions need pyarrow, which is not ...
    """


class MissingMeasuresError(ImportError):
    """A measure of ir_measures was requested, and ir_measures is not installed.

    See Also
    --------
    evaluate : The metrics that need no other package.
    MissingArrowError : The same for pyarrow.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from rankcorr.evaluation import evaluate
    >>> with patch.dict(sys.modules, ir_measures=None):  # as if it were not installed
    ...     evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 2, "b": 1}}, metrics="rr")
    Traceback (most recent call last):
    rankcorr.errors.MissingMeasuresError: 'rr' is not a built-in metric (...); ...: pip install ir_measures
    """


class RankColumnWarning(UserWarning):
    r"""A column that may hold ranks or scores: the message says which was taken, and how to choose.

    Ranks in a run that contradict its scores are reported too; the scores are used.

    See Also
    --------
    rankcorr.evaluation.read_run : Issues this warning.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.evaluation import RankColumnWarning, read_run
    >>> with TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", RankColumnWarning)
    ...     file = Path(folder, "bm25.run")
    ...     _ = file.write_text("q Q0 a 2 9.5 bm25\nq Q0 b 1 3.1 bm25\n")
    ...     read_run(file)["q"]
    {'a': 9.5, 'b': 3.1}
    """


class SelfHitWarning(UserWarning):
    """A run retrieved a document with the id of its query, which may be the query itself.

    See Also
    --------
    rankcorr.evaluation.evaluate : Issues this warning.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr.evaluation import SelfHitWarning, evaluate
    >>> qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"q": 3, "a": 2, "b": 1}}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SelfHitWarning)
    ...     evaluate(qrels, run, metrics="ap").mean()
    0.5
    >>> evaluate(qrels, run, metrics="ap", self_hits="omit").mean()
    1.0
    """


class UnicodeFormWarning(UserWarning):
    r"""Identifiers that look the same but differ in their Unicode normalisation (NFC, NFD), and so are not matched.

    See Also
    --------
    rankcorr.evaluation.evaluate, rankcorr.vectors.evaluate_vectors, align : Issue this warning.

    Examples
    --------
    >>> import warnings
    >>> from rankcorr import UnicodeFormWarning, align
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnicodeFormWarning)
    ...     align({"caf\u00e9": 2, "tea": 1}, {"cafe\u0301": 2, "tea": 1}, missing="bottom")
    Traceback (most recent call last):
    rankcorr.errors.UnicodeFormWarning: item ids that look the same differ in their Unicode normalisation ...
    """
