"""Qrels and runs with few documents for property tests, so that all kinds of coverage occur; and large joined columns.

Ties are common in both.
"""

from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means

DOCUMENTS = st.sampled_from([f"d{number}" for number in range(12)])


def values_by_query(values, max_queries=4):
    queries = st.sampled_from([f"q{number}" for number in range(max_queries)])
    grades = st.dictionaries(DOCUMENTS, values, min_size=1, max_size=9)
    return st.dictionaries(queries, grades, min_size=1, max_size=max_queries)


QRELS = values_by_query(st.integers(-1, 3))
RUNS = values_by_query(st.integers(0, 4).map(lambda level: level / 2))


def flatten(pairs):
    """Columns of both sides of groups, and the offsets of the groups."""
    x, y = (np.concatenate([pair[side] for pair in pairs]).astype(float) for side in range(2))
    return x, y, np.append(0, np.cumsum([len(pair[0]) for pair in pairs]))


def naive_match(qrels, run, unjudged, unretrieved):
    """Gold value and score of each document of each query, as the options are documented."""
    result = {}
    for query, gold in qrels.items():
        scores = run.get(query, {})
        rows = {}
        for document, score in scores.items():
            if document in gold:
                rows[document] = (float(gold[document]), float(score))
            elif unjudged == "zero":
                rows[document] = (0.0, float(score))
        if unretrieved == "last" and scores:
            rows |= {document: (float(rel), float("-inf")) for document, rel in gold.items() if document not in scores}
        result[query] = rows
    return result


def naive_order(run):
    """Documents best first as in trec_eval: ties by descending id."""
    return sorted(run, key=lambda document: (run[document], document), reverse=True)


EVALUATOR = QueryEvaluator(["tau_w", "rho_w"], scores=("bm25", "dense"))


def joined_rows(n_queries=200):
    """Rows of queries with 1 to 20 documents, of four levels; scores of two runs, with ties; in random order."""
    rng = np.random.default_rng(0)
    query = np.repeat([f"q{number}" for number in range(n_queries)], rng.integers(1, 21, n_queries))
    relevance = rng.integers(0, 4, query.size)
    scores = {
        name: np.round(relevance + noise * rng.standard_normal(query.size), 1)
        for name, noise in {"bm25": 2.0, "dense": 1.5}.items()
    }
    rows = pd.DataFrame({"query": query, "relevance": relevance, **scores})
    return rows.sample(frac=1, random_state=0, ignore_index=True)


def split_rows(rows, n_parts, seed):
    """Rows of the queries in partitions, each query in one of them; some may be empty."""
    queries = rows["query"].unique()
    place = dict(zip(queries, np.random.default_rng(seed).integers(0, n_parts, queries.size), strict=True))
    number = rows["query"].map(place)
    return [rows[number == part].sample(frac=1, random_state=seed + part) for part in range(n_parts)]


def assert_same_means(means, expected):
    """Check that the figures of two results agree to 12 digits, and everything else is equal."""
    first, second = means.to_dict(), expected.to_dict()
    assert first.keys() == second.keys()
    for name, rows in first.items():
        if not isinstance(rows, list):
            assert rows == second[name]
            continue
        for row, other in zip(rows, second[name], strict=True):
            numbers = {key: value for key, value in row.items() if isinstance(value, float)}
            assert {**row, **numbers} == {**other, **dict.fromkeys(numbers, ANY)}
            assert numbers == pytest.approx({key: other[key] for key in numbers}, rel=1e-12, abs=1e-12, nan_ok=True)


def means_of(frames, evaluator=EVALUATOR, **options):
    """Means of frames of values by query."""
    return combined_means(partial_means(frame, evaluator, **options) for frame in frames)
