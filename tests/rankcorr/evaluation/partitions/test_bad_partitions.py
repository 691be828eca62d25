import math
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankcorr import DuplicateLabelError, MissingValueError, NonNumericError, OptionError
from rankcorr.evaluation import (
    ColumnError,
    DuplicateDocumentError,
    MetricError,
    MissingArrowError,
    QueryEvaluator,
    UnjudgedError,
)

COLUMNS = {"query": ["q", "q", "r"], "relevance": [1, 0, 2], "score": [0.5, 0.25, 1.0]}
EVALUATOR = QueryEvaluator("tau")


def encoded(codes, values):
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))


def evaluated(**changes):
    return EVALUATOR.batch(pa.table(COLUMNS | changes))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"score": [0.5, math.nan, 1.0]}, MissingValueError, "'score' .* finite numbers; it is nan .* query 'q'"),
        ({"score": [0.5, 0.25, math.inf]}, ColumnError, "column 'score' .* finite numbers; it is inf .* query 'r'"),
        ({"relevance": [1.0, -math.inf, 1.0]}, ColumnError, "column 'relevance' .* it is -inf .* query 'q'"),
        ({"score": ["high", "low", "high"]}, NonNumericError, "every score must be a real number"),
        ({"relevance": [1, 2**60, 0]}, NonNumericError, r"beyond 2\^53"),
        ({"query": ["q", None, "r"]}, ColumnError, "each row needs a query id; 1 of 3 rows have none"),
        ({"query": ["q", "", "r"]}, ColumnError, "each query needs an id; one is empty"),
        ({"query": encoded([0, 1, 0], ["q", None])}, ColumnError, "each row needs a query id; 1 of 3 rows have none"),
        ({"score": ["high", None, "low"]}, NonNumericError, "every score must be a real number"),
        ({"score": encoded([0, 1, 0], ["1", "2"])}, NonNumericError, r"every score .* \.cast\(pl\.String\)"),
        ({"relevance": encoded([0, 1, 0], [2.0, None])}, UnjudgedError, "has score, no relevance; queries: 'q'"),
        ({"score": [[1], None, [2]]}, NonNumericError, "every score must be a real number"),
        ({"score": [True, None, False]}, MissingValueError, "a document has a relevance, no score; queries: 'q'"),
        ({"query": [1.5, 1.5, 2.5]}, ColumnError, "must be text or whole numbers; got a column of type double"),
        ({"query": pa.array([1, 2, 2**64 - 1], pa.uint64())}, ColumnError, "a query id is beyond 64 bits"),
        ({"relevance": [1, None, 2]}, UnjudgedError, 'no relevance; queries: \'q\'; set unjudged="zero" or "omit"'),
        ({"score": [1.0, 0.5, None]}, MissingValueError, 'no score; queries: \'r\'; set unretrieved="last" or "omit"'),
    ],
)
def test_bad_columns_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        evaluated(**changes)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_missing_column_is_named(kind):
    frame = kind({"query": ["q"], "rel": [1]})
    with pytest.raises(ColumnError, match="the frame has no columns 'relevance', 'score'; it has 'query', 'rel'"):
        EVALUATOR.frame(frame)


def test_what_is_no_frame():
    with pytest.raises(ColumnError, match="a record batch, a table or a data frame is expected; got ndarray"):
        EVALUATOR.batch(np.ones((3, 3)))
    with pytest.raises(DuplicateLabelError, match="names of columns must be unique"):
        EVALUATOR.frame(pd.DataFrame([[1, 2, 3]], columns=["query", "query", "score"]))
    with pytest.raises(ColumnError, match="a column comes more than once: 'query'"):
        EVALUATOR.batch(pa.Table.from_arrays([pa.array([1])] * 4, names=["query", "query", "relevance", "score"]))


@pytest.mark.parametrize("query", ["tau", "n_documents"])
def test_the_columns_of_the_result_have_names_of_their_own(query):
    with pytest.raises(OptionError, match=f"names of columns of the result .*'{query}'"):
        QueryEvaluator("tau", query=query)


@pytest.mark.parametrize("ids", [["q", "\ud800", "r"], [1, 2**70, 3]])
def test_ids_that_arrow_cannot_hold(ids):
    with pytest.raises(ColumnError, match="column 'query' holds a value that Arrow cannot"):
        EVALUATOR.frame(pd.DataFrame(COLUMNS | {"query": pd.Series(ids, dtype=object)}))


def test_dictionaries_of_documents_with_a_null_or_a_value_twice():
    evaluator = QueryEvaluator("ap", document="document")

    def batch(codes, values):
        return evaluator.batch(pa.table(COLUMNS | {"query": ["q"] * 3, "document": encoded(codes, values)}))

    with pytest.raises(DuplicateDocumentError, match=r"more than once \(query, document\): \('q', 'a'\)"):
        batch([0, 1, 2], ["a", "a", "b"])
    with pytest.raises(ColumnError, match="each row needs a document id; 1 row have none"):
        batch([0, 1, 2], ["a", None, "b"])
    assert batch([0, 1, 3], ["a", "b", None, "c"]).equals(batch([0, 1, 2], ["a", "b", "c"]))


def test_ids_of_two_types():
    frame = pd.DataFrame({"query": ["q", 3, "r"], "relevance": [1, 0, 2], "score": [0.5, 0.25, 1.0]})
    with pytest.raises(ColumnError, match="column 'query' holds values of several types"):
        EVALUATOR.frame(frame)


def test_a_document_twice():
    evaluator = QueryEvaluator("ap", document="document")
    table = pa.table(COLUMNS | {"document": ["a", "a", "a"]})
    with pytest.raises(DuplicateDocumentError, match=r"more than once \(query, document\): \('q', 'a'\)"):
        evaluator.batch(table)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metrics": "ap"}, MetricError, "ap: documents with equal scores go by their ids; .* document="),
        ({"metrics": ["p@3", "ndcg@5", "tau"]}, MetricError, "p@3, ndcg@5: documents with equal scores"),
        ({"metrics": []}, MetricError, "metrics must be a list of different metrics"),
        ({"scores": ()}, OptionError, "scores must name a column at least"),
        ({"scores": ("a", "a")}, OptionError, "names of columns must be unique; more than once: 'a'"),
        ({"scores": 3}, OptionError, "scores must be a name or a list of names; got 3"),
        ({"query": ""}, OptionError, "names of columns must be text; got: ''"),
        ({"unjudged": "ignore"}, OptionError, "unjudged must be one of 'error', 'zero', 'omit'; got 'ignore'"),
        ({"unretrieved": "zero"}, OptionError, "unretrieved must be one of 'error', 'last', 'omit'"),
        ({"undefined": "null"}, OptionError, "undefined must be one of"),
        ({"standardized": "yes"}, OptionError, "standardized must be True or False"),
        ({"n_resamples": 0}, OptionError, "n_resamples must be a positive whole number"),
        ({"seed": -1}, OptionError, "seed must be a whole number"),
    ],
)
def test_bad_options(arguments, error, message):
    with pytest.raises(error, match=message):
        QueryEvaluator(**arguments)


def test_an_unknown_type_of_ids():
    with pytest.raises(OptionError, match="query_type must be one of 'string', 'int64'; got 'text'"):
        EVALUATOR.schema("text")


def test_pyarrow_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingArrowError, match=r"pip install pyarrow"):
        EVALUATOR.schema()


@pytest.mark.wide
def test_importing_leaves_pyarrow_alone():
    program = "import sys, rankcorr.evaluation; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
