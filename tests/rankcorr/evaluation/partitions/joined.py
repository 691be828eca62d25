"""Joined columns for the tests of partitions, and what is asked of them."""

import numpy as np
import pandas as pd

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


def means_of(frames, evaluator=EVALUATOR, **options):
    """Means of frames of values by query."""
    return combined_means(partial_means(frame, evaluator, **options) for frame in frames)
