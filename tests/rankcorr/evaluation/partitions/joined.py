"""Joined columns for the tests of partitions, their means, and a comparison of two results."""

from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means

EVALUATOR = QueryEvaluator(["tau_w", "rho_w"], scores=("bm25", "dense"))


def joined_rows(n_queries=200, seed=0):
    """Rows of queries with 1 to 20 documents, of four levels; scores of two runs, with ties; in random order."""
    rng = np.random.default_rng(seed)
    query = np.repeat([f"q{number}" for number in range(n_queries)], rng.integers(1, 21, n_queries))
    relevance = rng.integers(0, 4, query.size)
    scores = {
        name: np.round(relevance + noise * rng.standard_normal(query.size), 1)
        for name, noise in {"bm25": 2.0, "dense": 1.5}.items()
    }
    rows = pd.DataFrame({"query": query, "relevance": relevance, **scores})
    return rows.sample(frac=1, random_state=seed, ignore_index=True)


def parts_of(rows, n_parts, seed=0):
    """Rows of the queries in partitions, each query in one of them; some may be empty."""
    queries = rows["query"].unique()
    place = dict(zip(queries, np.random.default_rng(seed).integers(0, n_parts, queries.size), strict=True))
    number = rows["query"].map(place)
    return [rows[number == part].sample(frac=1, random_state=seed + part) for part in range(n_parts)]


def assert_same_means(means, expected):
    """The figures of two results agree to 12 digits, and all else is equal."""
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
