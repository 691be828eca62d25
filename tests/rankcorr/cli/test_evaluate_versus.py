"""`rankcorr evaluate --versus` with groups of queries, the queries that differ most, and the figure."""

import gzip
import json
import math
from pathlib import Path

import pytest

from rankcorr.evaluation import compare_runs, corrected_together, evaluate, worst
from rankcorr.evaluation._matching import join_run
from rankcorr.evaluation._worst import DIRECTIONS
from tests.rankcorr.cli.commands import run, run_json, run_ok
from tests.rankcorr.cli.test_evaluate import RUNS, files
from tests.rankcorr.evaluation.test_compare import decided_by_one

__all__ = ["files"]  # a fixture

FEW = ["--resamples", "100"]


@pytest.fixture
def genres(files, tmp_path):
    """Queries by genre, as a mapping; the file has one query that qrels do not have."""
    found = {query: "drama" if place % 3 else "war" for place, query in enumerate(files[0].queries)}
    lines = "".join(f"{query},{genre}\n" for query, genre in {**found, "q99": "farce"}.items())
    (tmp_path / "genres.csv").write_text("query,group\n" + lines)
    return found


def rows_below(output, heading):
    """Cells of the table below a line that begins so."""
    lines = output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading)) + 1
    start += not lines[start]
    end = next((place for place in range(start, len(lines)) if not lines[place]), len(lines))
    return [line.split() for line in lines[start:end]]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("options", [["--standardized", "--json"], []])
def test_runs_are_joined_with_qrels_once(monkeypatch, options):
    """For values, comparisons, worst queries and chance levels together; without --standardized means below 0 are."""
    names = []

    def count(*args, name, **settings):
        names.append(name)
        return join_run(*args, name=name, **settings)

    monkeypatch.setattr("rankcorr.evaluation._matching.join_run", count)
    run_ok("evaluate", "qrels.txt", *RUNS, "--metric", "tau_w", "--versus", "c", "--worst", "1", *options, *FEW)
    assert names == ["run 'a'", "run 'b'", "run 'c'"]


def test_comparisons_are_those_of_the_library(files):
    chosen = ["--metric", "ap", "--metric", "tau_w", "--standardized", "--versus", "c", "--worst", "1", "--json"]
    content = json.loads(run_ok("evaluate", "qrels.txt", *RUNS, *chosen, *FEW))
    alone = [
        compare_runs(*files, metric=metric, standardized=standardized, baseline="c", n_resamples=100)
        for metric, standardized in (("ap", False), ("tau_w", True))
    ]
    for each in corrected_together(alone):
        assert content["comparisons"][each.metric]["pairs"] == each.to_dict()["pairs"]


def test_the_query_that_decides_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qrels, runs = decided_by_one()
    Path("q.txt").write_text("".join(f"{query} 0 d1 1\n" for query in qrels))
    for name, found in runs.items():
        lines = [f"{q} Q0 {d} 0 {score} {name}\n" for q, own in found.items() for d, score in own.items()]
        Path(f"{name}.run").write_text("".join(lines))
    chosen = ("evaluate", "q.txt", "good.run", "poor.run", "--metric", "ap", "--versus", "poor")
    (pair,) = compare_runs(qrels, runs, metric="ap", baseline="poor").pairs
    _, row, decides = rows_below(run_ok(*chosen), "ap: difference from poor")
    assert row[6] == f"{pair.detectable:.4f}"
    without = pair.least
    assert " ".join(decides) == (
        f"good: one query decides: without tiger the difference is {without.difference:.4f}, p {without.pvalue:.4f}"
    )
    (found,) = json.loads(run_ok(*chosen, "--json"))["comparisons"]["ap"]["pairs"]
    assert (found["fragile"], found["least"]["label"], found["detectable"]) == (True, "tiger", pair.detectable)


def test_groups_are_judged_alone(files, genres):
    output = run_ok("evaluate", "qrels.txt", *RUNS, "--groups", "genres.csv", "--versus", "c", *FEW)
    assert "groups: genres.csv (3 groups; 1 queries that qrels do not have)\n" in output
    found = compare_runs(*files, baseline="c", groups=genres, n_resamples=100)
    means = {
        (each.group, run): f"{mean:.4f}"
        for each in found.groups
        for run, mean in zip(found.runs, each.means, strict=True)
    }
    table = rows_below(output, "group ")
    assert {(group, run): mean for group, run, _, mean, _ in table} == means
    below = rows_below(
        output, "tau_w: difference from c over the queries of each group where both have a value, 95 % intervals"
    )
    _, *rows, note = below
    assert " ".join(note) == "-inf, inf: 5 queries are too few to bound a difference at 95 %"
    assert [row[:3] for row in rows] == [
        [each.group, pair.first, f"{pair.difference:.4f}"] for each in found.groups for pair in each.pairs
    ]


def test_groups_of_one_run_and_in_json(files, genres):
    alone = run_ok("evaluate", "qrels.txt", "a.run.gz", "--groups", "genres.csv", "--metric", "ap")
    found = evaluate(files[0], files[1]["a"], metrics="ap")
    assert rows_below(alone, "group ") == [
        [row["group"], "a", "ap", f"{row['mean']:.4f}", str(row["n_queries"])] for row in found.group_table(genres)
    ]
    content = run_json("evaluate", "qrels.txt", *RUNS, "--groups", "genres.csv", "--versus", "c", *FEW)
    assert content["groups"] == evaluate(*files, standardized=False).group_table(genres)
    compared = compare_runs(*files, baseline="c", groups=genres, n_resamples=100)
    assert content["comparisons"]["tau_w"]["groups"] == compared.to_dict()["groups"]


def test_documents_without_judgement_and_queries_that_a_run_lacks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 0\n")
    Path("x.run").write_text("q1 Q0 new 1 3 x\nq1 Q0 a 2 2 x\nq1 Q0 b 3 1 x\nq2 Q0 a 1 2 x\nq2 Q0 b 2 1 x\n")
    Path("y.run").write_text("q1 Q0 a 2 2 x\nq1 Q0 b 3 1 x\n")
    output = run_ok("evaluate", "q.txt", "x.run", "y.run", "--metric", "ap", "--versus", "y", "--worst", "2", *FEW)
    _, *judged = rows_below(output, "cost: tau_w lost")
    _, lacking = rows_below(output.partition("x is better than y")[2], "cost: tau_w lost")
    assert lacking == ["q2", "1.0000", "0.0000", "1.0000", "-", "-", "-", "-", "-"]
    assert ["new", "unjudged"] in [row[-5:-3] for row in judged]


@pytest.mark.parametrize(("direction", "first", "second"), [("worse", "c", "a"), ("better", "a", "c")])
def test_the_queries_that_differ_most_and_their_documents(files, direction, first, second):
    runs = {name: files[1][name] for name in ("a", "c")}
    chosen = ["a.run.gz", "c.run.gz", "--metric", "ap", "--versus", second, "--worst", "2", *FEW]
    expected = worst(files[0], runs, metric="ap", first=first, second=second, k=2, direction=direction)
    title = f"ap: queries on which {first} is {direction} than {second}, largest differences first\n"
    output = run_ok("evaluate", "qrels.txt", *chosen).partition(title)[2]
    assert output.startswith(f"cost: tau_w lost through this document by {first}, minus that lost by {second}\n")
    header, *rows = rows_below(output, "cost: tau_w lost")
    assert " ".join(header) == (
        f"query {first} {second} difference document relevance rank in {first} rank in {second} cost"
    )
    values = (expected[0].first, expected[0].second, expected[0].difference)
    assert rows[0][:4] == [expected[0].query, *(f"{value:z.4f}" for value in values)]
    documents = [row[-5] for row in rows]
    assert documents == [document.document for each in expected for document in each.documents]
    content = json.loads(run_ok("evaluate", "qrels.txt", *chosen, "--json"))
    (entry,) = content["worst"]
    assert (entry["metric"], entry["coefficient"], entry["first"], entry["second"]) == ("ap", "tau_w", first, second)
    assert [each["query"] for each in entry[direction]] == [each.query for each in expected]
    assert [each["cost"] for each in entry[direction][0]["documents"]] == [d.cost for d in expected[0].documents]


def test_each_direction_of_the_largest_differences(files):
    runs = {name: files[1][name] for name in ("a", "b")}
    differences = {name: worst(files[0], runs, k=999, direction=name) for name in DIRECTIONS}
    values = {name: [entry.difference for entry in entries] for name, entries in differences.items()}
    assert values["worse"] == sorted(value for value in values["either"] if value < 0)
    assert values["better"] == sorted((value for value in values["either"] if value > 0), reverse=True)
    assert [*map(abs, values["either"])] == sorted(map(abs, values["either"]), reverse=True)
    assert values["worse"]
    assert values["better"]
    arguments = ["evaluate", "qrels.txt", "c.run.gz", "c.run.gz", "--name", "x", "--name", "y", "--versus", "y", *FEW]
    assert "tau_w: queries on which x is worse than y, largest differences first: none\n" in run_ok(
        *arguments, "--worst", "1"
    )


@pytest.mark.wide
def test_the_figure_has_a_panel_for_each_pair(files, tmp_path):  # noqa: ARG001
    pytest.importorskip("matplotlib")
    chosen = ["--versus", "c", "--metric", "ap", "--metric", "tau", *FEW]
    output = run_ok("evaluate", "qrels.txt", *RUNS, *chosen, "--plot", "d.svg")
    assert output.endswith("\n\nd.svg\n")
    text = (tmp_path / "d.svg").read_text()
    for label in ("ap: a \N{MINUS SIGN} c", "ap: b \N{MINUS SIGN} c", ": a \N{MINUS SIGN} c"):
        assert label in text
    assert json.loads(run_ok("evaluate", "qrels.txt", *RUNS, *chosen, "--plot", "e.svg", "--json"))["means"]
    assert (tmp_path / "e.svg").read_text() == text


@pytest.mark.parametrize("form", [[], ["--json"], ["--table", "csv"]])
@pytest.mark.parametrize(("level", "code"), [(None, 3), (1e-4, 0), (0.999, 3)])
def test_a_run_that_is_worse_is_a_failure_of_its_own(files, level, code, form):
    pairs = compare_runs(*files, baseline="a", n_resamples=1000).pairs
    worse = [pair.first for pair in pairs if pair.difference < 0 and pair.corrected_pvalue <= (level or 0.05)]
    assert bool(worse) == bool(code)
    flag = "--fail-if-worse" if level is None else f"--fail-if-worse={level}"
    arguments = ["evaluate", "qrels.txt", *RUNS, "--versus", "a", "--resamples", 1000, *form]
    result = run(*arguments, flag)
    assert result.exit_code == code
    without = run(*arguments).stdout
    if "--json" in form:
        sentences = [f"{name} is worse than a by tau_w" for name in worse]
        assert json.loads(result.stdout) == json.loads(without) | {"worse": sentences}
    else:
        assert result.stdout == without
    told = [line for line in result.stderr.splitlines() if line.startswith("rankcorr: ")]
    assert sorted(told) == sorted(f"rankcorr: {name} is worse than a by tau_w" for name in worse)


def test_a_better_run_is_no_failure_and_p_values_are_those_of_all_metrics(files):  # noqa: ARG001
    chosen = ["--metric", "ap", "--metric", "tau_w", "--resamples", 1000, "--json"]
    assert (
        run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "c", "--fail-if-worse", *chosen).exit_code == 0
    )
    result = run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "a", "--fail-if-worse", *chosen)
    comparisons = json.loads(result.stdout)["comparisons"]
    worse = [name for name, each in comparisons.items() if each["pairs"][0]["corrected_pvalue"] <= 0.05]
    assert [line.split()[-1] for line in result.stderr.splitlines()] == worse
    smallest = min(each["pairs"][0]["corrected_pvalue"] for each in comparisons.values())
    level = ["--fail-if-worse", smallest / 2 if smallest else 1e-9]
    assert run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "a", *level, *chosen).exit_code == 0


def test_a_run_that_lacks_queries_is_a_failure(files):
    few = files[1]["a"].queries[:5]
    lines = gzip.decompress(Path("a.run.gz").read_bytes()).decode().splitlines(keepends=True)
    Path("few.run").write_text("".join(line for line in lines if line.split()[0] in few))
    arguments = ["evaluate", "qrels.txt", "a.run.gz", "few.run", "--versus", "a", "--resamples", 200, "--fail-if-worse"]
    result = run(*arguments)
    values = dict(zip(files[0].queries, evaluate(*files).of(run="a"), strict=True))
    n_lost = sum(not math.isnan(value) for query, value in values.items() if query not in few)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1] == f"rankcorr: few has no tau_w for {n_lost} queries for which a has one"


def test_a_difference_that_cannot_be_tested_is_no_success(files, tmp_path):
    (tmp_path / "tied.run").write_text("".join(f"{query} Q0 d0 1 1.0 x\n" for query in files[0].queries))
    arguments = ["qrels.txt", "a.run.gz", "tied.run", "--versus", "a", "--unretrieved", "omit", "--fail-if-worse"]
    assert "cannot compare tied and a by tau_w: no query has a value of both" in run("evaluate", *arguments).stderr


@pytest.mark.usefixtures("genres")
def test_latex_tables_for_a_paper(files):
    chosen = ["--metric", "tau_w", "--metric", "ap", "--versus", "c", "--worst", "1", "--groups", "genres.csv", *FEW]
    text = run("evaluate", "qrels.txt", *RUNS, *chosen, "--table", "latex").stdout
    compared = {
        metric: compare_runs(*files, metric=metric, baseline="c", n_resamples=100) for metric in ("tau_w", "ap")
    }
    corrected = corrected_together(compared.values())
    means, *others = text.split(r"\begin{table}")[1:]
    assert r"\caption{Mean $\tau_w$, ap over " in means
    assert r"$\dagger$: differs significantly from c (corrected p at most 0.05). Bold: best by each metric.}" in means
    rows = [line.removesuffix(r" \\").split(" & ") for line in means.splitlines() if line.endswith(r" \\")][1:]
    for comparison in corrected:
        best = max(comparison.rows, key=lambda row: row.mean).run
        marked = {pair.first for pair in comparison.pairs if pair.corrected_pvalue <= 0.05}
        symbol = {"tau_w": r"$\tau_w$"}.get(comparison.metric, comparison.metric)
        cells = {run: cell for run, metric, cell, _ in rows if metric == symbol}
        assert {run for run, cell in cells.items() if cell.startswith(r"\textbf{")} == {best}
        assert {run for run, cell in cells.items() if cell.endswith(r"$^{\dagger}$")} == marked
    assert len(others) >= 6
    assert all(r"\caption{" in table for table in others)
    assert "nan" not in text


def test_queries_of_a_cluster_are_flipped_together(files, genres):
    arguments = ("evaluate", "qrels.txt", *RUNS, "--clusters", "genres.csv", "--versus", "c", *FEW)
    content = run_json(*arguments)
    assert content["options"]["clusters"] == "genres.csv"
    assert "clusters: genres.csv; tests flip whole clusters" in run_ok(*arguments)
    found = compare_runs(*files, baseline="c", clusters=genres, n_resamples=100)
    (comparison,) = content["comparisons"].values()
    assert [pair["pvalue"] for pair in comparison["pairs"]] == [pair.pvalue for pair in found.pairs]
    assert comparison["correction"] == found.correction == "step-down"


def test_too_few_queries_for_an_interval_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queries = ("q1", "q2", "q3")
    Path("q.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in queries))
    for name, scores in {"x": (2, 1), "y": (1, 2)}.items():
        lines = [f"{q} Q0 {d} 1 {score} {name}\n" for q in queries for d, score in zip("ab", scores, strict=True)]
        Path(f"{name}.run").write_text("".join(lines))
    Path("groups.csv").write_text("q1,one\nq2,two\nq3,two\n")
    output = run_ok("evaluate", "q.txt", "x.run", "y.run", "--metric", "ap", "--versus", "y", "--groups", "groups.csv")
    assert "-inf, inf: 3 queries are too few to bound a difference at 95 %\n" in output
    assert "-inf, inf: 1 or 2 queries are too few to bound a difference at 95 %\n" in output
