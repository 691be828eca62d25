"""Unusual qrels and runs for the C code behind ir_measures: values equal the naive ones, and nothing crashes.

A crash ends the process, so tests run this file in a separate one. The long version, 100,000 cases in three
minutes, is ``python -m tests.rankcorr.evaluation.odd_judgements --cases 100000``. The number of a case determines it:
``--first 4711 --cases 1 --verbose`` prints and repeats one.
"""

import argparse
import collections
import math
import random
import warnings

import ir_measures

from rankcorr import UndefinedCorrelationWarning
from rankcorr.evaluation import MetricError, Qrels, Run, evaluate
from tests import naive

QUERIES = ["q", "no query", "no_query", "0", "1", "a-1", "b-1", "a b"]
QUERIES += ["tab\t", "n\0", "n\0l", "\ud800", "q" * 3_000, "é"]
DOCUMENTS = ["a", "b", "c", "d", "none", "é", "\U0001f600", "a b", "a  b"]
DOCUMENTS += ["\n", "a\0b", "a\0c", "\udfff", "d" * 3_000, "0", "-1"]
DOCUMENT_NUMBERS = [0, 1, 2, 9, 10, -1, 2**53, -(2**53)]
GRADES = [-(2**53), -(2**31) - 1, -(2**31), -1000, -3, -2, -1, 0, 0, 1, 1, 2, 4, 999, 1000]
LARGE_GRADES = [1001, 2**31 - 1, 2**31, 2**53]
SCORES = [math.inf, -math.inf, 1e308, -1e308, 3.5e38, 3.4e38, 5e-324, 1e-46, 0.0, -0.0, 1.0, 1.0, 1 + 1e-12, 2**53, -7]

NAIVE = {
    "rr": naive.reciprocal_rank,
    "ndcg": naive.ndcg,
    "ndcg@1": lambda grades, ranked: naive.ndcg(grades, ranked, 1),
    "ndcg@10": lambda grades, ranked: naive.ndcg(grades, ranked, 10),
    "r@2": lambda grades, ranked: naive.recall_at(grades, ranked, 2),
    "r@100": lambda grades, ranked: naive.recall_at(grades, ranked, 100),
    "ap": naive.average_precision,
    "ap(rel=1)": naive.average_precision,
    "bpref": naive.bpref,
    "numret": lambda _, ranked: len(ranked),
    "nDCG(gains={-2:3,1:0,2:1000})": lambda grades, ranked: naive.ndcg(
        {document: {-2: 3, 1: 0, 2: 1000}.get(grade, grade) for document, grade in grades.items()}, ranked
    ),
}
FURTHER_METRICS = [
    "bpref(rel=1000)", "bpref(rel=3)", "bpref(rel=0)", "ap(rel=2)@3", "p(rel=1000)@3", "p(judged_only=True)@2", "rprec",
    "ndcg(judged_only=True)@3", "ndcg@2147483647", "r@2147483647", "ap@1", "infap", "iprec@0.1", "setf",
    "setp(relative=True)", "setr(rel=2)", "setap", "numrel", "numret(rel=2)", "rr@3", "rr(rel=0)", "judged@2",
    "success@1", "compat", "accuracy",
]  # fmt: skip
PARTIAL = ("err@", "accuracy")  # they refuse some rankings, and pytrec_eval refuses rel=0
INVALID_METRICS = ["r@0", "bpref(rel=1001)", "bpref(rel=1000000000)", "ap@2147483648", "ndcg(gains={0:.5})"]
LARGE_GAINS = {1: 2**31 - 1, 0: 1001, -1: 1001, -2: 1001}
INVALID_METRICS += [ir_measures.R @ -1, ir_measures.P(rel=-5) @ 3, ir_measures.nDCG(gains=LARGE_GAINS)]
GAINS = ir_measures.nDCG(gains={-2: 3, 1: 0, 2: 1000})


def case_of(number):
    """Qrels, run and metrics of a case, and whether they must raise an error."""
    rng = random.Random(number)
    documents = rng.choice([DOCUMENTS, DOCUMENTS[:6], DOCUMENT_NUMBERS])
    names = rng.sample(rng.choice([QUERIES, QUERIES, [0, 1, -1, 2**53, 7]]), rng.randint(1, 4))
    grades = [grade for grade in GRADES if grade < 0] if rng.random() < 0.3 else GRADES
    qrels = {}
    for name in names:
        possible_grades = [grade for grade in grades if grade < rng.choice([-1, 0, 3, math.inf])]
        qrels[name] = {d: rng.choice(possible_grades) for d in rng.sample(documents, rng.randint(1, 6))}
    retrieved = rng.sample(names, rng.randint(1, len(names)))
    run = {name: {d: rng.choice(SCORES) for d in rng.sample(documents, rng.randint(1, 6))} for name in retrieved}
    metrics = [GAINS if "gains" in metric else metric for metric in rng.sample([*NAIVE], rng.randint(1, 5))]
    metrics += rng.sample(FURTHER_METRICS, rng.randint(0, 2))
    if rng.random() < 0.001:
        metrics.append("err@20")  # runs a separate script, which takes 10 ms
    kind = rng.random()
    if kind < 0.05:
        qrels[names[-1]][next(iter(qrels[names[-1]]))] = rng.choice(LARGE_GRADES)
        metrics.append("rprec(rel=2)")  # "ap" alone takes any grade
    elif kind < 0.1:
        metrics.append(rng.choice(INVALID_METRICS))
    return qrels, run, metrics, kind < 0.1


def check(number, counts, verbose=False):
    """Evaluate a case, and compare."""
    qrels, run, metrics, is_wrong = case_of(number)
    if verbose:
        print(number, qrels, run, metrics, sep="\n", flush=True)
    counts["cases"] += 1
    try:
        result = evaluate(
            Qrels.from_dict(qrels), Run.from_dict(run), metrics=metrics, standardized=False, self_hits="keep", workers=1
        )
    except MetricError as error:
        if not is_wrong and not any(str(metric).startswith(PARTIAL) or "rel=0" in str(metric) for metric in metrics):
            raise AssertionError(number) from error
        counts["refused"] += 1
        return
    assert not is_wrong, (number, metrics)
    for name in NAIVE.keys() & set(map(str, metrics)):
        for query, value in zip(result.queries, result.of(name).tolist(), strict=True):
            ranked = naive.best_first(run.get(query, {}))
            expected = NAIVE[name](qrels[query], ranked)
            assert abs(value - expected) < 1e-9, (number, name, query, value, expected)
            counts["compared"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UndefinedCorrelationWarning)
    counts = collections.Counter()
    for number in range(options.first, options.first + options.cases):
        check(number, counts, options.verbose)
    print(f"{counts['cases']} cases, {counts['refused']} refused, {counts['compared']} values compared")


if __name__ == "__main__":
    main()
