import gzip
import io
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankcorr import null_distribution
from rankcorr.evaluation import (
    compare_evaluated,
    compare_runs,
    corrected_together,
    evaluate,
    fuse,
    needed_items,
    read_qrels,
    read_run,
    worst,
)
from rankcorr.evaluation._comparison.compare import DIRECTIONS
from rankcorr.evaluation._matching import join_run
from tests.rankcorr.cli.conftest import refusal, run, run_json, run_ok
from tests.rankcorr.evaluation.comparison.test_compare import case


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Qrels and three runs as TREC files in the current folder."""
    monkeypatch.chdir(tmp_path)
    qrels, runs = case(15)
    lines = [f"{query} 0 {document} {rel}\n" for query, grades in qrels.items() for document, rel in grades.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, result in runs.items():
        with gzip.open(tmp_path / f"{name}.run.gz", "wt") as file:
            for query, scores in result.items():
                best_first = sorted(scores, key=scores.get, reverse=True)
                file.writelines(f"{query} Q0 {d} {rank} {scores[d]} {name}\n" for rank, d in enumerate(best_first, 1))
    return read_qrels("qrels.txt"), {name: read_run(f"{name}.run.gz") for name in runs}


RUNS = ["a.run.gz", "b.run.gz", "c.run.gz"]


def test_means_are_those_of_the_library(files):
    output = run_ok("evaluate", "qrels.txt", *RUNS, "--metric", "tau_w", "--metric", "ndcg@5", "--standardized")
    result = evaluate(*files, metrics=["tau_w", "ndcg@5"])
    lines = output.splitlines()
    assert lines[:2] == ["qrels: qrels.txt (15 queries, 150 judgements)", "a: 150 documents compared"]
    rows = [line.split() for line in lines[lines.index("") + 2 :]]
    assert rows == [
        [
            row["run"],
            row["metric"],
            f"{row['mean']:.4f}",
            "-" if row["metric"] != "tau_w" else f"{row['standardized']:.4f}",
            "15",
        ]
        for row in result.table()
    ]


def test_json_has_all_figures(files):
    arguments = ["evaluate", "qrels.txt", *RUNS, "--json", "--versus", "c", "--test", "t", "--resamples", "200"]
    content = json.loads(run_ok(*arguments))
    comparison = compare_runs(*files, baseline="c", test="t", n_resamples=200)
    assert content["means"][0]["mean"] == evaluate(*files, standardized=False).mean("tau_w", "a")
    assert content["standardized"] is None
    assert content["comparisons"]["tau_w"]["pairs"] == comparison.to_dict()["pairs"]
    assert content["weights"]["n0"] == 2.0
    assert content["coverage"][0]["n_compared"] == 150


@pytest.mark.usefixtures("files")
def test_a_run_is_tested_against_another_by_its_file_or_its_name():
    by_file = run_ok("evaluate", "qrels.txt", *RUNS, "--versus", "c.run.gz", "--resamples", "200")
    assert by_file == run_ok("evaluate", "qrels.txt", *RUNS, "--versus", "c", "--resamples", "200")
    assert "tau_w, standardized: difference from c" in run_ok(
        "evaluate", "qrels.txt", *RUNS, "--versus", "c", "--resamples", "200", "--standardized"
    )


@pytest.mark.parametrize("arguments", [[], ["--standardized"], ["--versus", "c", "--resamples", "99"]])
def test_values_by_query_are_one_table_that_pandas_reads(files, arguments, tmp_path):
    (tmp_path / "few.run").write_text("q0 Q0 d0 1 3.0 x\nq0 Q0 d1 2 2.0 x\n")
    options = [*RUNS, "few.run", "--metric", "ap", "--metric", "tau_w", "--by-query", *arguments]
    text = run("evaluate", "qrels.txt", *options, "--table", "csv").stdout
    frame = pd.read_csv(io.StringIO(text), dtype=str)  # older versions of pandas lose a bit of a number
    assert list(frame) == ["metric", "query", "a", "b", "c", "few"]
    runs = files[1] | {"few": read_run("few.run")}
    result = evaluate(files[0], runs, metrics=["ap", "tau_w"], standardized="--standardized" in arguments).to_frame()
    wide = result.melt(["run", "query"], var_name="metric").pivot(
        index=["metric", "query"], columns="run", values="value"
    )
    read = frame.set_index(["metric", "query"]).astype(float)
    pd.testing.assert_frame_equal(read.sort_index(), wide, check_names=False, check_exact=True)
    assert read["few"].isna().sum() == 14 * (1 + ("--standardized" in arguments))
    text = run_ok("evaluate", "qrels.txt", *options).splitlines()
    start = next(place for place, line in enumerate(text) if line.startswith("metric"))
    assert [line.split() for line in text[start:]] == [
        list(frame),
        *(
            [*row[0].split(), row[1], *("-" if np.isnan(value) else f"{value:z.4f}" for value in row[2:])]
            for row in read.reset_index().values.tolist()
        ),
    ]


def test_a_negative_mean_is_printed_with_the_chance_level(files, tmp_path):
    reverse = "".join(
        f"{query} Q0 {document} 0 {-relevance} x\n"
        for query in files[0].queries
        for document, relevance in files[0][query].items()
    )
    (tmp_path / "reverse.run").write_text(reverse)
    metrics = [argument for name in ("tau_w", "tau", "ap") for argument in ("--metric", name)]
    arguments = ["evaluate", "qrels.txt", "c.run.gz", "reverse.run", *metrics]
    (line,) = (line for line in run_ok(*arguments).splitlines() if "random order" in line)
    level = re.fullmatch(
        r"reverse: a random order of its documents would have a mean tau_w of about (-0\.[0-9]{2}), not 0; "
        "--standardized also prints values with a chance level of 0",
        line,
    )[1]
    qrels = files[0].to_dict()
    nulls = [null_distribution(gold, {d: -rel for d, rel in gold.items()}, n_resamples=2000) for gold in qrels.values()]
    assert float(level) == pytest.approx(np.mean([null.mean for null in nulls]), abs=0.02)
    assert "random order" not in run_ok(*arguments, "--standardized")
    assert "random order" not in run_ok("evaluate", "qrels.txt", "a.run.gz")


@pytest.fixture
def folds(files, tmp_path):
    """The same files in folders of two folds."""
    lines = {"qrels.txt": Path("qrels.txt").read_text().splitlines(keepends=True)}
    lines |= {
        f"{name}.run": gzip.decompress(Path(f"{name}.run.gz").read_bytes()).decode().splitlines(keepends=True)
        for name in files[1]
    }
    for number, fold_queries in enumerate((files[0].queries[:6], files[0].queries[6:])):
        (tmp_path / str(number)).mkdir()
        for name, rows in lines.items():
            (tmp_path / str(number) / name).write_text("".join(row for row in rows if row.split()[0] in fold_queries))
    return ["0/qrels.txt", "--fold", "1/qrels.txt"]


PARTS = ["0/a.run", "1/a.run", "1/c.run", "0/c.run"]


def test_folds_are_pooled(files, folds):
    comparing = ["--versus", "c", "--resamples", "99"]
    pooled = run_json("evaluate", *folds, *PARTS, *comparing)
    unsplit = run_json("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", *comparing)
    for part in ("means", "queries", "values", "comparisons"):
        assert pooled[part] == unsplit[part]
    assert run_ok("evaluate", *folds, "a.run.gz", "c.run.gz") == run_ok("evaluate", *folds, *PARTS)
    names = [part for name in ("x", "x", "y", "y") for part in ("--name", name)]
    assert "difference from y over" in run_ok(
        "evaluate", *folds, *PARTS, *names, "--versus", "1/c.run", "--resamples", "39"
    )
    result = evaluate(["0/qrels.txt", "1/qrels.txt"], {"a": PARTS[:2], "c": PARTS[2:]})
    assert result == evaluate(files[0], {name: files[1][name] for name in ("a", "c")})


def test_options_of_weights_reach_the_coefficients(files):  # noqa: ARG001
    output = run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "TAU_W", "--metric", "tau", "--n0", "10")
    assert "TauW(n0=10)" in output
    assert " tau " in output


def test_exclusions_are_noted(files, tmp_path):  # noqa: ARG001
    (tmp_path / "odd.run").write_text("q0 Q0 d0 1 3.0 x\nq0 Q0 new 2 2.0 x\nq0 Q0 d1 3 1.0 x\nzz Q0 d0 1 1.0 x\n")
    output = run_ok("evaluate", "qrels.txt", "odd.run", "--depth", "2", "--metric", "tau_w")
    line = "odd: 11 documents compared, 1 unjudged (of relevance 0), 9 not retrieved (last), 1 beyond the depth"
    assert f"{line}, 14 queries not in the run, 1 query not in qrels, left out\n" in output
    left_out = "odd: tau_w is undefined for 14 queries (left out of the mean; the run does not have the query)"
    assert f"{left_out}: q1, q2, q3, q4, q5, ...\n" in output
    (tmp_path / "wrong.run").write_text("q0 Q0 d0 2 3.0 x\nq0 Q0 d1 1 1.0 x\n")
    result = run("evaluate", "qrels.txt", "wrong.run")
    assert result.exit_code == 0
    assert result.stderr.startswith("rankcorr: note: wrong.run:1: this document has a larger score than one ranked")


VERSUS = ["a.run.gz", "b.run.gz", "--versus"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run.gz", "--metric", "nonsense"], "unknown metric 'nonsense': use rho_w"),
        (["nothing.run"], "nothing.run: cannot be read: No such file"),
        (["a.run.gz", "--versus", "a"], "--versus needs at least two runs"),
        ([*VERSUS, "z"], "--versus must be one of the runs, a, b, or the file of one; got"),
        (["a.run.gz", "a.run.gz"], "unless --name gives each a different name; repeated: a.run.gz"),
        (["a.run.gz", "b.run.gz", "--name", "x"], "--name must be given once for each run; got 1 for 2 runs"),
        (["a.run.gz", "b.run.gz", "--name", "x", "--name", "x"], "--name must be different; repeated: x"),
        (["a.run.gz", "a.run.gz", "--name", "x", "--name", "y", "--versus", "a.run.gz"], "the runs, x, y; got"),
        (["a.run.gz", "--worst", "3"], "--worst has no effect without --versus"),
        (["a.run.gz", "--plot", "d.svg"], "--plot has no effect without --versus"),
        ([*VERSUS, "b", "--plot", "d.txt"], "must end with .png, .svg or .pdf"),
        (["a.run.gz", "--groups", "few.csv"], "few.csv: every query of qrels needs a group; without one: 'q1', 'q2',"),
        (["a.run.gz", "--groups", "other.csv"], "'q4', ... (15 in all); the file has: 'Q0', 'Q1'"),
        (["a.run.gz", "--fail-if-worse"], "--fail-if-worse has no effect without --versus"),
        (["--fail-if-worse", "a.run.gz"], "'a.run.gz' is not a valid level; to use the option without a level, put"),
        ([*VERSUS, "b", "--fail-if-worse=1.0"], "a number above 0 and below 1; got 1.0"),
        ([*VERSUS, "b", "--fail-if-worse=nan"], "'nan' is not a valid level; to use the option without a level"),
        (["twice.run"], "; --duplicates first or --duplicates max keeps one"),
        (["--fold", "-", "-"], "'-' (standard input) can be given only once"),
    ],
)
@pytest.mark.usefixtures("folds")
def test_invalid_arguments_are_refused(tmp_path, arguments, message):
    (tmp_path / "twice.run").write_text("q0 Q0 d1 1 2.5 x\nq0 Q0 d1 2 1.5 x\n")
    (tmp_path / "few.csv").write_text("q0,drama\n")
    (tmp_path / "other.csv").write_text("query,group\nQ0,drama\nQ1,war\n")
    assert message in refusal("evaluate", "qrels.txt", *arguments)


def test_parts_of_a_run_that_overlap(folds):
    assert "run 'a': a query may be in one fold only" in refusal("evaluate", *folds, "0/a.run", "a.run.gz")
    message = refusal("evaluate", *folds, *PARTS[:2], "--name", "x")
    assert "--name must be given once for each run" in message


def test_files_of_one_name_in_two_folders(files, tmp_path):  # noqa: ARG001
    (tmp_path / "old").mkdir()
    shutil.copy("b.run.gz", "old/a.run.gz")
    paths = ["evaluate", "qrels.txt", "a.run.gz", "old/a.run.gz", "--resamples", "99"]
    result = run(*paths, "--versus", "old/a.run.gz")
    assert result.exit_code == 0
    assert "difference from old/a.run.gz over the queries" in result.stdout
    assert result.stderr == (
        "rankcorr: note: more than one run is called a, so runs are named by their paths; --name gives other names\n"
    )
    named = run_ok(*paths, "--name", "new", "--name", "old", "--versus", "old")
    assert "difference from old over the queries" in named
    assert named.splitlines()[1].startswith("new: ")
    assert named == run_ok(*paths, "--name", "new", "--name", "old", "--versus", "old/a.run.gz")


def test_runs_of_three_columns_are_read_as_scores_or_ranks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1\t0\td1\t2\nq1\t0\td2\t0\nq1\t0\td3\t1\n")
    (tmp_path / "scores.txt").write_text("q1 d1 0.9\nq1 d3 0.7\nq1 d2 0.5\n")
    (tmp_path / "whole.txt").write_text("q1 d1 9\nq1 d2 5\nq1 d3 7\n")
    (tmp_path / "falling.txt").write_text("q1 d1 9\nq1 d3 7\nq1 d2 5\n")
    assert run_json("evaluate", "qrels.txt", "scores.txt")["means"][0]["mean"] == 1
    assert run_json("evaluate", "qrels.txt", "falling.txt")["means"][0]["mean"] == 1
    content = run_json("evaluate", "qrels.txt", "whole.txt")
    (note,) = content["warnings"]
    assert content["means"][0]["mean"] == -1
    assert note["message"].endswith("are read as ranks (1 is best); --form scores reads them as scores")
    assert run_json("evaluate", "qrels.txt", "whole.txt", "--form", "scores")["means"][0]["mean"] == 1
    assert "if larger is better, read the file with --form scores" in refusal(
        "evaluate", "qrels.txt", "scores.txt", "--form", "msmarco"
    )


def test_queries_among_their_own_hits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (tmp_path / "x.run").write_text("q1 Q0 q1 1 0.9 x\nq1 Q0 d1 2 0.7 x\nq1 Q0 d2 3 0.5 x\n")
    arguments = ["evaluate", "qrels.txt", "x.run", "--metric", "ap"]
    (note,) = run_json(*arguments)["warnings"]
    assert note["message"] == (
        "the run: 1 query has a hit with the id of the query itself; --self-hits omit leaves it out, as BEIR does"
    )
    text = run_ok(*arguments, "--self-hits", "omit")
    assert "x: 2 documents compared, 1 with the id of the query (left out)" in text
    assert "x    ap      1.0000        1" in text


DRAWS = ["--resamples", "100"]


@pytest.fixture
def genres(files, tmp_path):
    """Queries by genre, as a mapping; the file has one query that is not in the qrels."""
    result = {query: "drama" if place % 3 else "war" for place, query in enumerate(files[0].queries)}
    lines = "".join(f"{query},{genre}\n" for query, genre in {**result, "q99": "farce"}.items())
    (tmp_path / "genres.csv").write_text("query,group\n" + lines)
    return result


def rows_below(output, heading):
    """Cells of the table below a line that begins with `heading`."""
    lines = output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading)) + 1
    start += not lines[start]
    end = next((place for place in range(start, len(lines)) if not lines[place]), len(lines))
    return [line.split() for line in lines[start:end]]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("options", [["--standardized", "--json"], []])
def test_runs_are_joined_with_qrels_once(monkeypatch, options):
    """One join serves values, comparisons, worst queries and chance levels (the latter without --standardized)."""
    names = []

    def count(*args, name, **settings):
        names.append(name)
        return join_run(*args, name=name, **settings)

    monkeypatch.setattr("rankcorr.evaluation._matching.join_run", count)
    run_ok("evaluate", "qrels.txt", *RUNS, "--metric", "tau_w", "--versus", "c", "--worst", "1", *options, *DRAWS)
    assert names == ["run 'a'", "run 'b'", "run 'c'"]


def test_comparisons_are_those_of_the_library(files):
    options = ["--metric", "ap", "--metric", "tau_w", "--standardized", "--versus", "c", "--worst", "1", "--json"]
    content = json.loads(run_ok("evaluate", "qrels.txt", *RUNS, *options, *DRAWS))
    alone = [
        compare_runs(*files, metric=metric, standardized=standardized, baseline="c", n_resamples=100)
        for metric, standardized in (("ap", False), ("tau_w", True))
    ]
    for comparison in corrected_together(alone):
        assert content["comparisons"][comparison.metric]["pairs"] == comparison.to_dict()["pairs"]


def test_groups_of_one_run_and_in_json(files, genres):
    alone = run_ok("evaluate", "qrels.txt", "a.run.gz", "--groups", "genres.csv", "--metric", "ap")
    result = evaluate(files[0], files[1]["a"], metrics="ap")
    assert rows_below(alone, "group ") == [
        [row["group"], "a", "ap", f"{row['mean']:.4f}", str(row["n_queries"])] for row in result.group_table(genres)
    ]
    assert "groups: genres.csv (2 groups; queries that qrels do not have: 'q99')\n" in run_ok(
        "evaluate", "qrels.txt", "a.run.gz", "--groups", "genres.csv"
    )
    content = run_json("evaluate", "qrels.txt", *RUNS, "--groups", "genres.csv", "--versus", "c", *DRAWS)
    assert content["groups"] == evaluate(*files, standardized=False).group_table(genres)
    compared = compare_runs(*files, baseline="c", groups=genres, n_resamples=100)
    assert content["comparisons"]["tau_w"]["groups"] == compared.to_dict()["groups"]


def test_unjudged_documents_and_queries_missing_in_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 0\n")
    Path("x.run").write_text("q1 Q0 new 1 3 x\nq1 Q0 a 2 2 x\nq1 Q0 b 3 1 x\nq2 Q0 a 1 2 x\nq2 Q0 b 2 1 x\n")
    Path("y.run").write_text("q1 Q0 a 2 2 x\nq1 Q0 b 3 1 x\n")
    output = run_ok("evaluate", "q.txt", "x.run", "y.run", "--metric", "ap", "--versus", "y", "--worst", "2", *DRAWS)
    _, *judged = rows_below(output, "cost: tau_w lost")
    _, lacking = rows_below(output.partition("x is better than y")[2], "cost: tau_w lost")
    assert lacking == ["q2", "1.0000", "0.0000", "1.0000", "-", "-", "-", "-", "-"]
    assert ["new", "unjudged"] in [row[-5:-3] for row in judged]


@pytest.mark.parametrize(("direction", "first", "second"), [("worse", "c", "a"), ("better", "a", "c")])
def test_queries_with_the_largest_differences_and_their_documents(files, direction, first, second):
    runs = {name: files[1][name] for name in ("a", "c")}
    options = ["a.run.gz", "c.run.gz", "--metric", "ap", "--versus", second, "--worst", "2", *DRAWS]
    expected = worst(files[0], runs, metric="ap", first=first, second=second, k=2, direction=direction)
    title = f"ap: queries on which {first} is {direction} than {second}, largest differences first\n"
    output = run_ok("evaluate", "qrels.txt", *options).partition(title)[2]
    _, *rows = rows_below(output, "cost: tau_w lost")
    documents = [row[-5] for row in rows]
    assert documents == [row.document for query in expected for row in query.documents]
    content = run_json("evaluate", "qrels.txt", *options)
    (entry,) = content["worst"]
    assert (entry["metric"], entry["coefficient"], entry["first"], entry["second"]) == ("ap", "tau_w", first, second)
    assert [query["query"] for query in entry[direction]] == [query.query for query in expected]
    assert [row["cost"] for row in entry[direction][0]["documents"]] == [d.cost for d in expected[0].documents]


def test_each_direction_of_the_largest_differences(files):
    runs = {name: files[1][name] for name in ("a", "b")}
    differences = {name: worst(files[0], runs, k=999, direction=name) for name in DIRECTIONS}
    values = {name: [entry.difference for entry in entries] for name, entries in differences.items()}
    assert values["worse"] == sorted(value for value in values["either"] if value < 0)
    assert values["better"] == sorted((value for value in values["either"] if value > 0), reverse=True)
    assert [*map(abs, values["either"])] == sorted(map(abs, values["either"]), reverse=True)
    assert values["worse"]
    assert values["better"]
    arguments = ["evaluate", "qrels.txt", "c.run.gz", "c.run.gz", "--name", "x", "--name", "y", "--versus", "y", *DRAWS]
    assert "tau_w: queries on which x is worse than y, largest differences first: none\n" in run_ok(
        *arguments, "--worst", "1"
    )


@pytest.mark.wide
def test_the_figure_has_a_panel_for_each_pair(files, tmp_path):  # noqa: ARG001
    pytest.importorskip("matplotlib")
    options = ["--versus", "c", "--metric", "ap", "--metric", "tau", *DRAWS]
    output = run_ok("evaluate", "qrels.txt", *RUNS, *options, "--plot", "d.svg")
    assert output.endswith("\n\nd.svg\n")
    text = (tmp_path / "d.svg").read_text()
    for label in ("ap: a \N{MINUS SIGN} c", "ap: b \N{MINUS SIGN} c", ": a \N{MINUS SIGN} c"):
        assert label in text
    assert run_json("evaluate", "qrels.txt", *RUNS, *options, "--plot", "e.svg")["means"]
    assert (tmp_path / "e.svg").read_text() == text


@pytest.mark.parametrize("form", [[], ["--json"], ["--table", "csv"]])
@pytest.mark.parametrize(("level", "code"), [(None, 3), (1e-4, 0), (0.999, 3)])
def test_a_worse_run_has_its_own_exit_code(files, level, code, form):
    pairs = compare_runs(*files, baseline="a", n_resamples=1000).pairs
    worse = [pair.first for pair in pairs if pair.difference < 0 and pair.corrected_pvalue <= (level or 0.05)]
    assert bool(worse) == bool(code)
    flag = "--fail-if-worse" if level is None else f"--fail-if-worse={level}"
    arguments = ["evaluate", "qrels.txt", *RUNS, "--versus", "a", "--resamples", 1000, *form]
    result = run(*arguments, flag)
    assert result.exit_code == code
    stdout_without_flag = run(*arguments).stdout
    if "--json" in form:
        sentences = [f"{name} is worse than a by tau_w" for name in worse]
        assert json.loads(result.stdout) == json.loads(stdout_without_flag) | {"worse": sentences}
    else:
        assert result.stdout == stdout_without_flag
    messages = [line for line in result.stderr.splitlines() if line.startswith("rankcorr: ")]
    assert sorted(messages) == sorted(f"rankcorr: {name} is worse than a by tau_w" for name in worse)


def test_a_better_run_is_no_failure_and_p_values_are_corrected_over_metrics(files):  # noqa: ARG001
    flags = ["--metric", "ap", "--metric", "tau_w", "--resamples", 1000, "--json"]
    assert (
        run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "c", "--fail-if-worse", *flags).exit_code == 0
    )
    result = run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "a", "--fail-if-worse", *flags)
    comparisons = json.loads(result.stdout)["comparisons"]
    worse = [name for name, comparison in comparisons.items() if comparison["pairs"][0]["corrected_pvalue"] <= 0.05]
    assert [line.split()[-1] for line in result.stderr.splitlines()] == worse
    smallest = min(comparison["pairs"][0]["corrected_pvalue"] for comparison in comparisons.values())
    level = ["--fail-if-worse", smallest / 2 if smallest else 1e-9]
    assert run("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", "--versus", "a", *level, *flags).exit_code == 0


def test_a_run_with_missing_queries_is_a_failure(files):
    few = files[1]["a"].queries[:5]
    lines = gzip.decompress(Path("a.run.gz").read_bytes()).decode().splitlines(keepends=True)
    Path("few.run").write_text("".join(line for line in lines if line.split()[0] in few))
    arguments = ["evaluate", "qrels.txt", "a.run.gz", "few.run", "--versus", "a", "--resamples", 200, "--fail-if-worse"]
    result = run(*arguments)
    values = dict(zip(files[0].queries, evaluate(*files).of(run="a"), strict=True))
    n_lost = sum(not math.isnan(value) for query, value in values.items() if query not in few)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1] == f"rankcorr: few has no tau_w for {n_lost} queries for which a has one"


def test_an_untestable_difference_is_no_success(files, tmp_path):
    (tmp_path / "tied.run").write_text("".join(f"{query} Q0 d0 1 1.0 x\n" for query in files[0].queries))
    arguments = ["qrels.txt", "a.run.gz", "tied.run", "--versus", "a", "--unretrieved", "omit", "--fail-if-worse"]
    assert "cannot compare tied and a by tau_w: no query has a value for both" in run("evaluate", *arguments).stderr


@pytest.mark.usefixtures("genres")
def test_latex_tables_mark_the_best_and_differences(files):
    options = ["--metric", "tau_w", "--metric", "ap", "--versus", "c", "--worst", "1", "--groups", "genres.csv", *DRAWS]
    text = run("evaluate", "qrels.txt", *RUNS, *options, "--table", "latex").stdout
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
    arguments = ("evaluate", "qrels.txt", *RUNS, "--clusters", "genres.csv", "--versus", "c", *DRAWS)
    content = run_json(*arguments)
    assert content["options"]["clusters"] == "genres.csv"
    assert "clusters: genres.csv; tests flip whole clusters" in run_ok(*arguments)
    result = compare_runs(*files, baseline="c", clusters=genres, n_resamples=100)
    (comparison,) = content["comparisons"].values()
    assert [pair["pvalue"] for pair in comparison["pairs"]] == [pair.pvalue for pair in result.pairs]
    assert comparison["correction"] == result.correction == "step-down"


def test_too_few_queries_for_an_interval_are_noted(tmp_path, monkeypatch):
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
    Path("clusters.csv").write_text("".join(f"{q},one\n" for q in queries))
    command = ("evaluate", "q.txt", "x.run", "y.run", "--metric", "ap", "--versus", "y", "--clusters", "clusters.csv")
    assert "-inf, inf: the clusters are too few to bound a difference at 95 %\n" in run_ok(*command)
    assert "randomization test (10,000 resamples of clusters, seed 0)\n" in run_ok(*command)


def test_a_fused_run_is_that_of_the_library(files):
    _, runs = files
    output = run_ok("fuse", *RUNS, "--method", "combmnz", "--norm", "z", "-o", "fused.run")
    assert output == "combmnz: 3 runs fused (15 queries, 150 documents)\n"
    expected = fuse(runs, method="combmnz", norm="z")
    assert read_run("fused.run") == expected
    ranks = [line.split()[3:5] for line in Path("fused.run").read_text().splitlines()[:10]]
    assert ranks == [[str(rank), repr(score)] for rank, score in enumerate(expected[expected.queries[0]].values(), 1)]
    assert run_ok("fuse", *RUNS, "--method", "combmnz", "--norm", "z", "-o", "-") == Path("fused.run").read_text()
    Path("-").touch()  # "-" is the standard input and output also if a file has this name
    assert len(run_ok("fuse", "-", RUNS[0], "-o", "-", stdin=Path("fused.run").read_text()).splitlines()) == 150


def test_a_fused_run_is_tested_against_the_merged_runs(files):
    qrels, runs = files
    arguments = ["fuse", *RUNS, "--qrels", "qrels.txt", "--metric", "ap", "--metric", "ndcg@5", "--resamples", "200"]
    evaluation = evaluate(qrels, {"rrf": fuse(runs), **runs}, metrics=["ap", "ndcg@5"])
    options = {"baseline": "rrf", "n_resamples": 200}
    expected = corrected_together(compare_evaluated(evaluation, metric, **options) for metric in evaluation.metrics)
    content = run_json(*arguments)
    for comparison in expected:
        assert content["comparisons"][comparison.metric]["pairs"] == comparison.to_dict()["pairs"]
    assert (content["method"], content["runs"], content["n_queries"]) == ("rrf", ["a", "b", "c"], 15)
    result = run(*arguments, "--table", "csv")
    rows = {line.split(",")[0]: line.split(",") for line in result.stdout.splitlines()[:5]}
    for pair in expected[0].pairs:
        assert rows[pair.first][2:5] == [f"{value:z.4f}" for value in (pair.difference, pair.low, pair.high)]
    assert rows["rrf"][2:5] == ["-", "-", "-"]
    assert "rrf: 3 runs fused" in result.stderr


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ([], "by the sum of 1/(60 + rank) (Cormack et al. 2009)."),
        (["--method", "combsum", "--norm", "z"], "sum of their scores, standardized within each query (CombSUM)"),
        (["--method", "combmnz"], "scaled to 0 to 1, times the number of runs that retrieved the document (CombMNZ)"),
    ],
)
@pytest.mark.usefixtures("files")
def test_the_report_of_a_fusion(options, how):
    run_ok("fuse", *RUNS, *options, "--qrels", "qrels.txt", "--metric", "ap", "--resamples", "99", "--report", "r.txt")
    text = Path("r.txt").read_text()
    assert text.startswith("Methods. We fused a, b and c into ")
    assert how in text.split("\n")[0]
    assert "P-values are corrected for all pairs" in text
    assert "were not tested" not in text


@pytest.mark.usefixtures("files")
def test_runs_with_one_name_are_named_by_their_paths(tmp_path):
    (tmp_path / "other").mkdir()
    shutil.copy("b.run.gz", "other/a.run.gz")
    content = run_json("fuse", "a.run.gz", "other/a.run.gz", "--qrels", "qrels.txt", "--resamples", "50")
    assert content["runs"] == ["a.run.gz", "other/a.run.gz"]
    named = ["--name", "one", "--name", "two", "-o", "fused.run"]
    assert run_json("fuse", "a.run.gz", "other/a.run.gz", *named)["runs"] == ["one", "two"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run.gz", "b.run.gz"], "nothing to do: give -o FILE"),
        (["a.run.gz", "b.run.gz", "-o", "x.run", "--report", "r.md"], "--report describes the comparison, so it needs"),
        (["a.run.gz", "a.run.gz", "-o", "x.run"], "each run can be given only once; repeated: a.run.gz"),
        (["a.run.gz", "b.run.gz", "-o", "-", "--qrels", "qrels.txt"], "-o - writes the run to stdout"),
        (["a.run.gz", "b.run.gz", "-o", "no/x.run"], "no/x.run: cannot be written: No such file or directory"),
        (["a.run.gz", "b.run.gz", "-o", "x.run", "--norm", "z"], "--norm has no effect without --method combsum or"),
        (["a.run.gz", "b.run.gz", "-o", "x.run", "--method", "combsum", "--k", "1"], "--k has no effect without --met"),
        (["a.run.gz", "b.run.gz", "-o", "x.run", "--name", "rrf", "--name", "b"], "each run can be given only once"),
    ],
)
def test_invalid_fusions_are_refused(arguments, message):
    assert message in refusal("fuse", *arguments)
    assert not Path("x.run").exists()


def test_verdicts_and_needed_queries_are_those_of_the_library(files):
    qrels, runs = files
    arguments = ["evaluate", "qrels.txt", *RUNS, "--versus", "a", "--resamples", 200]
    options = ["--equivalent-within", 0.4, "--needed", 0.1]
    evaluation = evaluate(qrels, runs)
    expected = compare_evaluated(evaluation, baseline="a", n_resamples=200, equivalent_within=0.4)
    content = run_json(*arguments, *options)
    assert content["comparisons"]["tau_w"]["pairs"] == expected.to_dict()["pairs"]
    needed = [needed_items(pair, 0.1) for pair in expected.pairs]
    assert [entry["queries"] for entry in content["needed"]] == [number.to_dict() for number in needed]
    few = run_json(
        "evaluate", "qrels.txt", "a.run.gz", "a.run.gz", "--name", "x", "--name", "y", "--versus", "x", *options
    )
    assert few["needed"][0]["queries"] is None
    message = refusal("evaluate", "qrels.txt", *RUNS, "--needed", 0.1)
    assert "--needed has no effect without --versus" in message
