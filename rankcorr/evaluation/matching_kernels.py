"""The loops that match the documents of qrels and runs, query by query, compiled by numba; linear time.

Documents are codes, and a table of all codes says where the query at hand has each. It is filled and cleared with the
rows of the query alone.
"""

import numpy as np

from rankcorr.kernels import Array, kernel


@kernel
def first_rows(offsets: Array, codes: Array, table: Array, firsts: Array) -> None:
    """Set, for each row, the first row of the same query with the same document; `table` holds -1 for each code."""
    for group in range(offsets.size - 1):
        start, stop = offsets[group], offsets[group + 1]
        for row in range(start, stop):
            if table[codes[row]] < start:  # -1, or left by an earlier query
                table[codes[row]] = row
            firsts[row] = table[codes[row]]


@kernel
def count_matches(
    gold_offsets: Array,
    gold_codes: Array,
    run_starts: Array,
    run_stops: Array,
    run_codes: Array,
    table: Array,
    n: Array,
) -> None:
    """Set how many documents of each query are in both, in the run alone and in qrels alone: a row of `n` each.

    The run of a query is the rows from `run_starts` to `run_stops`; `table` holds -1 for each code, and does so again
    at the end.
    """
    for group in range(gold_offsets.size - 1):
        start, stop = gold_offsets[group], gold_offsets[group + 1]
        for row in range(start, stop):
            table[gold_codes[row]] = row
        n_both = 0
        for row in range(run_starts[group], run_stops[group]):
            n_both += table[run_codes[row]] >= 0
        for row in range(start, stop):
            table[gold_codes[row]] = -1
        n[group, 0] = n_both
        n[group, 1] = run_stops[group] - run_starts[group] - n_both
        n[group, 2] = stop - start - n_both


@kernel
def fill_matches(
    gold_offsets: Array,
    gold_codes: Array,
    gold_values: Array,
    run_starts: Array,
    run_stops: Array,
    run_codes: Array,
    run_values: Array,
    zero_unjudged: bool,
    unretrieved_last: bool,
    table: Array,
    offsets: Array,
    x: Array,
    y: Array,
    codes: Array,
) -> None:
    """Set the gold value, the run's score and the document of each row that is compared, in the order of the run.

    Documents that only the run has are of value 0 or left out; those that only qrels has are tied below all others, in
    the order of qrels, or left out. A query that the run does not have has no rows.
    """
    lowest = -1.7976931348623157e308
    for group in range(gold_offsets.size - 1):
        start, stop = gold_offsets[group], gold_offsets[group + 1]
        place = offsets[group]
        if place == offsets[group + 1]:
            continue
        for row in range(start, stop):
            table[gold_codes[row]] = row
        for row in range(run_starts[group], run_stops[group]):
            code = run_codes[row]
            found = table[code]
            if found >= 0 or zero_unjudged:
                x[place] = gold_values[found] if found >= 0 else 0.0
                y[place] = max(run_values[row], lowest)  # a score of -inf is above what was not retrieved
                codes[place] = code
                place += 1
                table[code] = -1
        for row in range(start, stop):
            code = gold_codes[row]
            if table[code] >= 0:
                if unretrieved_last:
                    x[place] = gold_values[row]
                    y[place] = -np.inf
                    codes[place] = code
                    place += 1
                table[code] = -1


@kernel
def mark_relevant(
    gold_offsets: Array,
    gold_codes: Array,
    is_relevant: Array,
    run_starts: Array,
    run_stops: Array,
    run_codes: Array,
    table: Array,
    relevant: Array,
) -> None:
    """Set whether each row of the run is relevant to its query; `table` holds False for each code, then and again."""
    for group in range(gold_offsets.size - 1):
        start, stop = gold_offsets[group], gold_offsets[group + 1]
        for row in range(start, stop):
            table[gold_codes[row]] = is_relevant[row]
        for row in range(run_starts[group], run_stops[group]):
            relevant[row] = table[run_codes[row]]
        for row in range(start, stop):
            table[gold_codes[row]] = False


@kernel
def best_first(starts: Array, stops: Array, scores: Array, rows: Array) -> bool:
    """Set the rows of each query by descending score, one query after the other; return whether any scores tie."""
    place, tied = 0, False
    for group in range(starts.size):
        start, stop = starts[group], stops[group]
        order = np.argsort(-scores[start:stop])
        for position in range(stop - start):
            rows[place + position] = start + order[position]
            if position > 0 and scores[start + order[position]] == scores[start + order[position - 1]]:
                tied = True
        place += stop - start
    return tied
