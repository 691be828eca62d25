"""What `rankcorr evaluate` shows: tables of means, differences, groups, queries and documents, and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from rankcorr.checks import counted
from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.output import (
    Note,
    label_text,
    left_aligned,
    number_text,
    percent_text,
    pvalue_text,
    rank_text,
    resamples_text,
)
from rankcorr.evaluation.comparison import PairedDifference, RunComparison
from rankcorr.evaluation.evaluation import Evaluation
from rankcorr.evaluation.judgements import Qrels
from rankcorr.evaluation.matching import Coverage
from rankcorr.evaluation.worst import QueryDifference
from rankcorr.io.records import printable
from rankcorr.results import json_ready

_DIFFERENCES = ("difference", "low", "high", "p", "p (corrected)", "effect size", "better", "worse", "queries")


@dataclass(frozen=True)
class PairedQueries:
    """The queries on which two runs differ most by a metric; `coefficient` is what documents cost parts of."""

    metric: str
    coefficient: str
    first: str
    second: str
    queries: tuple[QueryDifference, ...]


@dataclass(frozen=True)
class Evaluated:
    """What was computed, and how it is shown."""

    evaluation: Evaluation
    comparisons: tuple[RunComparison, ...]
    groups: Mapping[str, str] | None
    worst: tuple[PairedQueries, ...]

    def print_json(self, weights: dict[str, Any], notes: Sequence[Note]) -> None:
        """Print everything as JSON."""
        content = self.evaluation.to_dict()
        content["groups"] = None if self.groups is None else self.evaluation.group_table(self.groups)
        content["comparisons"] = {each.metric: _compared_json(each) for each in self.comparisons} or None
        content["worst"] = [json_ready(each) for each in self.worst] or None
        print_json({**content, "weights": weights, "warnings": notes})

    def print(
        self, gold: Qrels, qrels: str, groups: str | None, *, by_query: bool, baseline: str | None = None
    ) -> None:
        """Print tables; `qrels` and `groups` are the names of the files, `baseline` is the run to compare with."""
        click.echo(
            f"qrels: {_name(qrels)} ({counted(gold.n_queries, 'query', 'queries')}, {counted(len(gold), 'judgement')})"
        )
        if self.groups is not None:
            others = sum(query not in gold.places for query in self.groups)
            more = f"; {others:,} queries that qrels do not have" * bool(others)
            click.echo(f"groups: {_name(str(groups))} ({len(set(self.groups.values())):,} groups{more})")
        _print_means(self.evaluation)
        for comparison in self.comparisons:
            _print_comparison(comparison)
        if self.groups is not None:
            _print_groups(self.evaluation.group_table(self.groups))
            for comparison in self.comparisons:
                _print_group_differences(comparison)
        for pair in self.worst:
            _print_worst(pair)
        if by_query and len(self.evaluation.runs) == 2:
            _print_side_by_side(self.evaluation, baseline or self.evaluation.runs[0])
        elif by_query:
            _print_queries(self.evaluation)


def _compared_json(comparison: RunComparison) -> dict[str, Any]:
    """A comparison without the values by query, which the evaluation has."""
    content = comparison.to_dict()
    return {name: content[name] for name in content if name not in ("values", "queries", "coverage", "metric")}


def _print_means(evaluation: Evaluation) -> None:
    for run, coverage in zip(evaluation.runs, evaluation.coverage, strict=True):
        click.echo(f"{_name(run)}: {_coverage_text(coverage, evaluation.options)}")
    for each in evaluation.undefined:
        shown = ", ".join(label_text(query) for query in each.queries[:5]) + ", ..." * (len(each.queries) > 5)
        queries = counted(len(each.queries), "query", "queries")
        fate = {"omit": "left out of the mean", "zero": "counted as 0", "error": ""}[evaluation.options["undefined"]]
        click.echo(f"{_name(each.run)}: no {each.metric} for {queries} ({fate}), {each.reason}: {shown}")
    click.echo()
    _print_rows(evaluation.table(), ("run", "metric"))


def _print_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """A table of means; the columns `names` come first, aligned to the left."""
    columns = [column for column in ("mean", "standardized") if column in rows[0]]
    left = [left_aligned([name, *(_name(str(row[name])) for row in rows)]) for name in names]
    numbers = [[*(number_text(row[column]) for column in columns), f"{row['n_queries']:,}"] for row in rows]
    header = [*columns, "queries"]
    cells = [[*head, *tail] for head, tail in zip(zip(*left, strict=True), [header, *numbers], strict=True)]
    print_table(cells[0], cells[1:])


def _coverage_text(coverage: Coverage, options: dict[str, Any]) -> str:
    """What of a run was compared, on one line."""
    unjudged = {"zero": "of relevance 0", "omit": "left out", "error": ""}[options["unjudged"]]
    unretrieved = {"last": "last", "omit": "left out"}[options["unretrieved"]]
    parts = [
        f"{coverage.n_compared:,} documents compared",
        f"{coverage.n_unjudged:,} unjudged ({unjudged})" if coverage.n_unjudged else "",
        f"{coverage.n_unretrieved:,} not retrieved ({unretrieved})" if coverage.n_unretrieved else "",
        f"{coverage.n_cut:,} beyond the depth" if coverage.n_cut else "",
        f"{counted(len(coverage.not_in_run), 'query', 'queries')} not in the run" if coverage.not_in_run else "",
        f"{counted(len(coverage.not_in_qrels), 'query', 'queries')} not in qrels, left out"
        if coverage.not_in_qrels
        else "",
        f"{coverage.n_negative:,} negative judgements" if coverage.n_negative else "",
    ]
    return ", ".join(part for part in parts if part)


def _print_comparison(comparison: RunComparison) -> None:
    click.echo(f"\n{_heading(comparison)}\n")
    print_table(["run", *_DIFFERENCES], [[_name(pair.first), *_difference_cells(pair)] for pair in comparison.pairs])


def _heading(comparison: RunComparison, within: str = "") -> str:
    """What a table of differences shows."""
    standardized = ", standardized" * comparison.standardized
    drawn = resamples_text(comparison.n_resamples, comparison.seed, "queries")
    baseline = _name(str(comparison.baseline))
    return (
        f"{comparison.metric}{standardized}: difference from {baseline} over the queries{within} that both have, "
        f"{percent_text(comparison.level)} intervals, {comparison.test} test ({drawn})"
    )


def _difference_cells(pair: PairedDifference) -> list[str]:
    return [
        *(number_text(value) for value in (pair.difference, pair.low, pair.high)),
        pvalue_text(pair.pvalue),
        pvalue_text(pair.corrected_pvalue),
        number_text(pair.effect_size),
        *(f"{number:,}" for number in (pair.n_better, pair.n_worse, pair.n_queries)),
    ]


def _print_groups(rows: Sequence[Mapping[str, Any]]) -> None:
    click.echo()
    _print_rows(rows, ("group", "run", "metric"))


def _print_group_differences(comparison: RunComparison) -> None:
    """Differences within each group; p-values are corrected over all of them."""
    click.echo(f"\n{_heading(comparison, ' of each group')}\n")
    rows = [(group, pair) for group in comparison.groups for pair in group.pairs]
    run, *names = left_aligned(["run", *(_name(pair.first) for _, pair in rows)])
    print_table(
        ["group", run, *_DIFFERENCES],
        [
            [label_text(group.group), name, *_difference_cells(pair)]
            for (group, pair), name in zip(rows, names, strict=True)
        ],
    )


def _print_worst(found: PairedQueries) -> None:
    """Queries with their documents; what the two runs score stands in the first line of a query."""
    first, second = _name(found.first), _name(found.second)
    click.echo(f"\n{found.metric}: queries on which {first} and {second} differ most, and their documents")
    click.echo(f"cost: how much more {found.coefficient} the place of a document costs {first} than {second}\n")
    rows = list(_worst_rows(found.queries))
    document, *documents = left_aligned(["document", *(row[4] for row in rows)])
    print_table(
        ["query", first, second, "difference", document, "relevance", f"rank in {first}", f"rank in {second}", "cost"],
        [[*row[:4], shown, *row[5:]] for row, shown in zip(rows, documents, strict=True)],
    )


def _worst_rows(queries: Iterable[QueryDifference]) -> Iterable[list[str]]:
    for each in queries:
        head = [label_text(each.query), *(number_text(value) for value in (each.first, each.second, each.difference))]
        if not each.documents:
            yield [*head, "-", "-", "-", "-", "-"]
        for row in each.documents:
            ranks = rank_text(row.first_rank), rank_text(row.second_rank)
            relevance = "unjudged" if math.isnan(row.relevance) else f"{row.relevance:g}"
            yield [*head, label_text(row.document), relevance, *ranks, number_text(row.cost)]
            head = ["", "", "", ""]


def _print_side_by_side(evaluation: Evaluation, second: str) -> None:
    """A table of queries for each metric: values of both runs, and how much the first is above the second."""
    columns, n_queries = evaluation.by_query(), len(evaluation.queries)
    (first,) = (run for run in evaluation.runs if run != second)
    starts = {run: place * n_queries for place, run in enumerate(evaluation.runs)}
    for metric, values in columns.items():
        if metric in ("run", "query"):
            continue
        click.echo(f"\n{metric} by query; difference: {_name(first)} minus {_name(second)}\n")
        ours, theirs = (values[starts[run] : starts[run] + n_queries] for run in (first, second))
        print_table(
            ["query", _name(first), _name(second), "difference"],
            [
                [label_text(query), *map(number_text, (own, other, own - other))]
                for query, own, other in zip(evaluation.queries, ours, theirs, strict=True)
            ],
        )


def _print_queries(evaluation: Evaluation) -> None:
    columns = evaluation.by_query()
    click.echo()
    query, *names = left_aligned(["query", *map(label_text, columns["query"])])
    others = [name for name in columns if name not in ("run", "query")]
    print_table(
        ["run", query, *others],
        [
            [_name(run), name, *(number_text(columns[other][row]) for other in others)]
            for row, (run, name) in enumerate(zip(columns["run"], names, strict=True))
        ],
    )


def _name(text: str) -> str:
    """A name as a terminal can show it, whole."""
    return printable(text, limit=None)
