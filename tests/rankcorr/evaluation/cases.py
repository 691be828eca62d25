"""Qrels and runs for property tests: few documents, so that all kinds of coverage occur; ties are common."""

import numpy as np
from hypothesis import strategies as st

DOCUMENTS = st.sampled_from([f"d{number}" for number in range(12)])


def judged(values):
    return st.dictionaries(DOCUMENTS, values, min_size=1, max_size=9)


def by_query(values, max_queries=4):
    queries = st.sampled_from([f"q{number}" for number in range(max_queries)])
    return st.dictionaries(queries, judged(values), min_size=1, max_size=max_queries)


QRELS = by_query(st.integers(-1, 3))
RUNS = by_query(st.integers(0, 4).map(lambda level: level / 2))


def flat(pairs):
    """Columns of both sides of groups, and where the groups begin and end."""
    x, y = (np.concatenate([pair[side] for pair in pairs]).astype(float) for side in range(2))
    return x, y, np.append(0, np.cumsum([len(pair[0]) for pair in pairs]))


def naive_match(qrels, run, unjudged, unretrieved):
    """Gold value and score of each document of each query, by the words of the options."""
    found = {}
    for query, gold in qrels.items():
        own = run.get(query, {})
        rows = {}
        for document, score in own.items():
            if document in gold:
                rows[document] = (float(gold[document]), float(score))
            elif unjudged == "zero":
                rows[document] = (0.0, float(score))
        if unretrieved == "last" and own:
            rows |= {document: (float(rel), float("-inf")) for document, rel in gold.items() if document not in own}
        found[query] = rows
    return found


def naive_order(run):
    """Documents best first as trec_eval has them: ties by descending id."""
    return sorted(run, key=lambda document: (run[document], document), reverse=True)
