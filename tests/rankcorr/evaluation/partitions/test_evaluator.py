import math
import pickle
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankcorr import RhoW, TauW, null_distribution
from rankcorr._checks import collected_notices
from rankcorr.errors import MetricError
from rankcorr.evaluation import QueryEvaluator, UndefinedQueryError, evaluate
from rankcorr.evaluation._metrics import METRIC_NAMES
from rankcorr.measures import rank_biased_overlap, tau_ap
from tests.rankcorr.evaluation.cases import QRELS, RUNS, joined_rows

RANK_METRICS = ["tau_w", RhoW(n0=0), "tau", "tau_ap", "rbo", "ap", "p@3"]
EVALUATOR = QueryEvaluator(["tau_w", "rho_w"], scores=("bm25", "dense"), standardized=True)


def outer_join(qrels, **runs):
    """One row for each document of either side, with nan if the other lacks it; in random order."""
    frames = []
    for name, side in {"relevance": qrels, **runs}.items():
        rows = [(query, document, value) for query, grades in side.items() for document, value in grades.items()]
        frames.append(pd.DataFrame(rows, columns=["query", "document", name]).astype({name: float}))
    joined = frames[0]
    for frame in frames[1:]:
        joined = joined.merge(frame, how="outer", on=["query", "document"])
    return joined.sample(frac=1, random_state=0)


def bits(values):
    return [value.hex() if isinstance(value, float) else value for value in values]


@given(QRELS, RUNS, RUNS, st.sampled_from(["zero", "omit"]), st.sampled_from(["last", "omit"]))
def test_joined_columns_give_what_evaluate_gives(qrels, first, second, unjudged, unretrieved):
    assume(set(qrels) & set(first) and set(qrels) & set(second))
    options = {"unjudged": unjudged, "unretrieved": unretrieved}
    evaluator = QueryEvaluator(RANK_METRICS, scores=("a", "b"), document="document", standardized=True, **options)
    result = evaluator.frame(outer_join(qrels, a=first, b=second)).set_index("query")
    with collected_notices():
        expected = evaluate(qrels, {"a": first, "b": second}, metrics=RANK_METRICS, **options)
    for column, (run, metric, standardized) in evaluator.columns.items():
        values = expected.of(metric, run, standardized=standardized)
        np.testing.assert_allclose(result.loc[list(expected.queries), column], values, atol=1e-12)
        others = result.index.difference(expected.queries)
        assert result.loc[others, column].isna().all()  # queries without qrels


def test_measures_of_ir_measures_are_computed():
    qrels = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1, "d": 0}}
    run = {"q": {"a": 0.5, "c": 0.5, "e": 0.9}, "r": {"d": 3.0, "a": 1.0}}
    evaluator = QueryEvaluator(["ndcg@2", "rr"], document="document", unjudged="zero", unretrieved="last")
    result = evaluator.frame(outer_join(qrels, score=run)).set_index("query")
    expected = evaluate(qrels, run, metrics=["ndcg@2", "rr"])
    for metric in ("ndcg@2", "rr"):
        np.testing.assert_allclose(result.loc[list(expected.queries), metric], expected.of(metric))


@pytest.mark.wide
@pytest.mark.needs_numba
def test_values_depend_only_on_the_rows_of_the_query():
    rows = joined_rows(60)
    expected = EVALUATOR.frame(rows).set_index("query")
    for seed in range(3):
        alone = EVALUATOR.frame(rows.sample(frac=1, random_state=seed)).set_index("query").loc[expected.index]
        np.testing.assert_allclose(alone, expected, rtol=0, atol=1e-12)
    for query, query_rows in rows.groupby("query"):
        (row,) = EVALUATOR.frame(query_rows).set_index("query").to_numpy().tolist()
        np.testing.assert_allclose(row, expected.loc[query].astype(float), rtol=0, atol=1e-12)


@pytest.mark.needs_numba
@pytest.mark.parametrize("coefficient", [TauW(), RhoW(n0=0, tied_weights="expected")])
def test_values_are_standardized_by_the_null_of_their_query(coefficient):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 3, 12), rng.permutation(12)
    evaluator = QueryEvaluator(coefficient, standardized=True, n_resamples=20_000)
    result = evaluator.frame(pd.DataFrame({"query": "q", "relevance": x, "score": y}))
    null = null_distribution(x, y, coefficient=coefficient, n_resamples=20_000)
    raw = coefficient(x, y)
    (name,) = (column for column in result if column.endswith("standardized"))
    assert result[name][0] == pytest.approx(float(null.standardize(raw)), abs=0.01)


@pytest.mark.needs_numba
def test_another_seed_draws_another_null():
    rows = joined_rows(10)
    evaluators = (QueryEvaluator("tau_w", scores="bm25", standardized=True, seed=seed) for seed in (0, 0, 1))
    values = [evaluator.frame(rows)["tau_w standardized"] for evaluator in evaluators]
    assert bits(values[0]) == bits(values[1]) != bits(values[2])


@pytest.mark.parametrize("encoded", [{"relevance"}, {"bm25", "dense"}, {"relevance", "bm25", "query"}])
def test_numbers_that_arrow_keeps_in_a_dictionary(encoded):
    table = pa.Table.from_pandas(joined_rows(20).sort_values("query"), preserve_index=False)
    expected = EVALUATOR.batch(table)
    columns = {name: table[name].dictionary_encode() if name in encoded else table[name] for name in table.column_names}
    assert EVALUATOR.batch(pa.table(columns)).equals(expected)
    batches = [pa.table(columns).slice(0, 70), table.slice(70, 40), pa.table(columns).slice(110)]
    assert pa.Table.from_batches(EVALUATOR.batches(batches)).equals(pa.Table.from_batches([expected]))
    assert EVALUATOR.batch(pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)).equals(expected)


@pytest.mark.parametrize(
    "numbers",
    [pl.Series([2, 1, 3], dtype=pl.Int128), pl.Series([2, 1.5, 3], dtype=pl.Object)],
    ids=["Int128", "Object"],
)
def test_types_of_polars_that_arrow_lacks(numbers):
    frame = pl.DataFrame({"query": ["q"] * 3, "relevance": numbers, "score": [2.0, 1.0, 3.0]})
    assert QueryEvaluator("tau").frame(frame)["tau"].to_list() == [1.0]


@pytest.mark.parametrize("ids", [["q", "r", "q", "s"], [7, -3, 7, 12]])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.int32(), pa.int64(), pa.uint8()])
@pytest.mark.parametrize("as_dictionary", [False, True])
def test_ids_may_be_of_every_kind(ids, kind, as_dictionary):
    if isinstance(ids[0], str) == pa.types.is_integer(kind) or (ids[1] == -3 and kind == pa.uint8()):
        return
    column = pa.array(ids, kind)
    if as_dictionary and kind != pa.string_view():
        column = column.dictionary_encode()
    table = pa.table({"query": column, "relevance": [1, 2, 0, 1], "score": [3.0, 2.0, 1.0, 0.5]})
    result = QueryEvaluator("tau").batch(table)
    kind_of_id = "string" if isinstance(ids[0], str) else "int64"
    assert result.schema.equals(QueryEvaluator("tau").schema(kind_of_id), check_metadata=True)
    assert result.to_pydict() == {"query": [ids[0], ids[1], ids[3]], "n_documents": [2, 1, 1], "tau": [1.0, None, None]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_result_is_a_frame_of_the_same_library(kind):
    columns = {"query": ["q", "q", "r"], "relevance": [1, 0, 2], "score": [0.5, 0.25, 1.0], "other": [None, "x", "y"]}
    result = QueryEvaluator("tau").frame(kind(columns))
    assert type(result) is type(kind(columns))
    assert next(iter(result["tau"])) in (1.0, pa.scalar(1.0))
    empty = QueryEvaluator("tau").frame(kind(columns)[:0])
    assert (len(empty), list(getattr(empty, "column_names", empty.columns))) == (0, ["query", "n_documents", "tau"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.decimal128(5, 2)])
def test_numbers_may_be_of_every_kind(kind):
    numbers = [list(map(Decimal, column)) if "decimal" in str(kind) else column for column in ([1, 2, 0], [1, 3, 2])]
    table = pa.table({"query": [1, 1, 1], "relevance": pa.array(numbers[0], kind), "score": pa.array(numbers[1], kind)})
    assert QueryEvaluator("tau").batch(table)["tau"].to_pylist() == pytest.approx([1 / 3])


def test_lists_need_no_ids():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 3, 9), rng.integers(0, 5, 9)
    rows = pd.DataFrame({"query": "q", "relevance": x, "score": y})
    (values,) = QueryEvaluator(["tau_ap", "rbo"]).frame(rows)[["tau_ap", "rbo"]].to_numpy().tolist()
    assert values == pytest.approx([tau_ap(x, y), rank_biased_overlap(x, y).extrapolated])


@pytest.mark.parametrize("name", [name.replace("@K", "@1") for name in METRIC_NAMES])
def test_without_ids_no_value_depends_on_the_order_of_rows(name):
    rows = pd.DataFrame({"query": "q", "relevance": [1, 0, 2], "score": [2, 2, 1]})
    with suppress(MetricError):  # it needs ids
        evaluator = QueryEvaluator([name])
        assert evaluator.frame(rows)[name].tolist() == pytest.approx(evaluator.frame(rows[::-1])[name].tolist())


@pytest.mark.parametrize("relevance", [[None, None], [math.nan, math.nan]])
def test_queries_without_any_judgement_are_no_queries_of_qrels(relevance):
    rows = pd.DataFrame({"query": ["q", "q"], "relevance": relevance, "score": [1.0, 2.0]})
    result = QueryEvaluator(["tau_w", "rbo"], unjudged="zero", undefined="zero", standardized=True).frame(rows)
    assert result["n_documents"].tolist() == [2]
    assert result.iloc[:, 2:].isna().all(axis=None)


def test_empty_frames_and_record_batches():
    empty = pd.DataFrame({"query": [], "relevance": [], "score": []}, dtype=object)
    assert QueryEvaluator("tau").batch(empty).num_rows == 0
    batch = pa.RecordBatch.from_pydict({"query": ["q", "q"], "relevance": [1, 0], "score": [2.0, 1.0]})
    assert QueryEvaluator("tau").frame(batch).to_pylist() == [{"query": "q", "n_documents": 2, "tau": 1.0}]


def test_undefined_values_follow_the_policy():
    rows = pd.DataFrame({"query": ["q", "r", "r"], "relevance": [1, 1, 0], "score": [1.0, 2.0, 1.0]})
    assert math.isnan(QueryEvaluator("tau").frame(rows)["tau"][0])
    assert QueryEvaluator("tau", undefined="zero").frame(rows)["tau"].tolist() == [0.0, 1.0]
    with pytest.raises(UndefinedQueryError, match="'score, tau': no value for queries: 'q'"):
        QueryEvaluator("tau", undefined="error").frame(rows)


def test_evaluators_are_compared_by_value():
    evaluator = QueryEvaluator(["tau_w", TauW(n0=10)], scores=["a", "b"], standardized=True)
    assert pickle.loads(pickle.dumps(evaluator)) == evaluator
    assert hash(evaluator) == hash(QueryEvaluator([TauW(), TauW(n0=10)], scores=("a", "b"), standardized=True))
    names = ["a tau_w", "a tau_w standardized", "a TauW(n0=10)", "a TauW(n0=10) standardized"]
    assert list(evaluator.columns)[:4] == names
    assert list(QueryEvaluator(["tau", "tau_w"]).columns) == ["tau", "tau_w"]
