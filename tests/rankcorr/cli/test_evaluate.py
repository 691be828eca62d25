import gzip
import io
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankcorr import null_distribution
from rankcorr.evaluation import compare_runs, evaluate, read_qrels, read_run
from tests.rankcorr.cli.commands import refusal, run, run_json, run_ok
from tests.rankcorr.evaluation.test_compare import case


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Qrels and three runs as files of TREC, in the current folder."""
    monkeypatch.chdir(tmp_path)
    qrels, runs = case(15)
    lines = [f"{query} 0 {document} {rel}\n" for query, own in qrels.items() for document, rel in own.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, found in runs.items():
        with gzip.open(tmp_path / f"{name}.run.gz", "wt") as file:
            for query, own in found.items():
                best_first = sorted(own, key=own.get, reverse=True)
                file.writelines(f"{query} Q0 {d} {rank} {own[d]} {name}\n" for rank, d in enumerate(best_first, 1))
    return read_qrels("qrels.txt"), {name: read_run(f"{name}.run.gz") for name in runs}


RUNS = ["a.run.gz", "b.run.gz", "c.run.gz"]


def test_means_are_those_of_the_library(files):
    output = run_ok("evaluate", "qrels.txt", *RUNS, "--metric", "tau_w", "--metric", "ndcg@5", "--standardized")
    found = evaluate(*files, metrics=["tau_w", "ndcg@5"])
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
        for row in found.table()
    ]


def test_the_json_has_everything(files):
    arguments = ["evaluate", "qrels.txt", *RUNS, "--json", "--versus", "c", "--test", "t", "--resamples", "200"]
    content = json.loads(run_ok(*arguments))
    comparison = compare_runs(*files, baseline="c", test="t", n_resamples=200)
    assert content["means"][0]["mean"] == evaluate(*files, standardized=False).mean("tau_w", "a")
    assert content["standardized"] is None
    assert content["comparisons"]["tau_w"]["pairs"] == comparison.to_dict()["pairs"]
    assert content["weights"]["n0"] == 2.0
    assert content["coverage"][0]["n_compared"] == 150


def test_a_run_is_tested_against_another_by_its_file_or_its_name(files):
    by_file = run_ok("evaluate", "qrels.txt", *RUNS, "--versus", "c.run.gz", "--resamples", "200")
    assert by_file == run_ok("evaluate", "qrels.txt", *RUNS, "--versus", "c", "--resamples", "200")
    pairs = compare_runs(*files, baseline="c", n_resamples=200).pairs
    assert (
        "tau_w: difference from c over the queries where both have a value, 95 % intervals, randomization test "
        "(200 resamples of" in by_file
    )
    last = by_file.splitlines()[-2].split()
    assert last[0] == pairs[0].first
    assert last[1] == f"{pairs[0].difference:.4f}"
    assert "tau_w, standardized: difference from c" in run_ok(
        "evaluate", "qrels.txt", *RUNS, "--versus", "c", "--resamples", "200", "--standardized"
    )


@pytest.mark.parametrize("arguments", [[], ["--standardized"], ["--versus", "c", "--resamples", "99"]])
def test_values_by_query_are_one_table_that_pandas_reads(files, arguments, tmp_path):
    (tmp_path / "few.run").write_text("q0 Q0 d0 1 3.0 x\nq0 Q0 d1 2 2.0 x\n")
    chosen = [*RUNS, "few.run", "--metric", "ap", "--metric", "tau_w", "--by-query", *arguments]
    text = run("evaluate", "qrels.txt", *chosen, "--table", "csv").stdout
    frame = pd.read_csv(io.StringIO(text), dtype=str)  # older versions of pandas lose a bit of a number
    assert list(frame) == ["metric", "query", "a", "b", "c", "few"]
    runs = files[1] | {"few": read_run("few.run")}
    found = evaluate(files[0], runs, metrics=["ap", "tau_w"], standardized="--standardized" in arguments).to_frame()
    wide = found.melt(["run", "query"], var_name="metric").pivot(
        index=["metric", "query"], columns="run", values="value"
    )
    read = frame.set_index(["metric", "query"]).astype(float)
    pd.testing.assert_frame_equal(read.sort_index(), wide, check_names=False, check_exact=True)
    assert read["few"].isna().sum() == 14 * (1 + ("--standardized" in arguments))
    text = run_ok("evaluate", "qrels.txt", *chosen).splitlines()
    start = next(place for place, line in enumerate(text) if line.startswith("metric"))
    assert [line.split() for line in text[start:]] == [
        list(frame),
        *(
            [*row[0].split(), row[1], *("-" if np.isnan(value) else f"{value:z.4f}" for value in row[2:])]
            for row in read.reset_index().values.tolist()
        ),
    ]


def test_a_negative_mean_comes_with_the_level_of_chance(files, tmp_path):
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
    nulls = [null_distribution(own, {d: -rel for d, rel in own.items()}, n_resamples=2000) for own in qrels.values()]
    assert float(level) == pytest.approx(np.mean([null.mean for null in nulls]), abs=0.02)
    assert "random order" not in run_ok(*arguments, "--standardized")
    assert "random order" not in run_ok("evaluate", "qrels.txt", "a.run.gz")


@pytest.fixture
def folds(files, tmp_path):
    """The files again, in folders of two folds."""
    lines = {"qrels.txt": Path("qrels.txt").read_text().splitlines(keepends=True)}
    lines |= {
        f"{name}.run": gzip.decompress(Path(f"{name}.run.gz").read_bytes()).decode().splitlines(keepends=True)
        for name in files[1]
    }
    for number, own in enumerate((files[0].queries[:6], files[0].queries[6:])):
        (tmp_path / str(number)).mkdir()
        for name, rows in lines.items():
            (tmp_path / str(number) / name).write_text("".join(row for row in rows if row.split()[0] in own))
    return ["0/qrels.txt", "--fold", "1/qrels.txt"]


PARTS = ["0/a.run", "1/a.run", "1/c.run", "0/c.run"]


def test_folds_are_pooled(files, folds):
    comparing = ["--versus", "c", "--resamples", "99"]
    pooled = run_json("evaluate", *folds, *PARTS, *comparing)
    whole = run_json("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", *comparing)
    for part in ("means", "queries", "values", "comparisons"):
        assert pooled[part] == whole[part]
    lines = run_ok("evaluate", *folds, *PARTS).splitlines()
    assert lines[0] == "qrels: 0/qrels.txt, 1/qrels.txt (15 queries, 150 judgements)"
    assert run_ok("evaluate", *folds, "a.run.gz", "c.run.gz").splitlines() == lines
    names = [part for name in ("x", "x", "y", "y") for part in ("--name", name)]
    assert "difference from y over" in run_ok(
        "evaluate", *folds, *PARTS, *names, "--versus", "1/c.run", "--resamples", "9"
    )
    found = evaluate(["0/qrels.txt", "1/qrels.txt"], {"a": PARTS[:2], "c": PARTS[2:]})
    assert found == evaluate(files[0], {name: files[1][name] for name in ("a", "c")})


def test_options_of_weights_reach_the_coefficients(files):  # noqa: ARG001
    output = run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "TAU_W", "--metric", "tau", "--n0", "10")
    assert "TauW(n0=10)" in output
    assert " tau " in output


def test_what_was_left_out_is_said(files, tmp_path):  # noqa: ARG001
    (tmp_path / "odd.run").write_text("q0 Q0 d0 1 3.0 x\nq0 Q0 new 2 2.0 x\nq0 Q0 d1 3 1.0 x\nzz Q0 d0 1 1.0 x\n")
    output = run_ok("evaluate", "qrels.txt", "odd.run", "--depth", "2", "--metric", "tau_w")
    line = "odd: 11 documents compared, 1 unjudged (of relevance 0), 9 not retrieved (last), 1 beyond the depth"
    assert f"{line}, 14 queries not in the run, 1 query not in qrels, left out\n" in output
    left_out = "odd: tau_w is undefined for 14 queries (left out of the mean; the run does not have the query)"
    assert f"{left_out}: q1, q2, q3, q4, q5, ...\n" in output
    (tmp_path / "wrong.run").write_text("q0 Q0 d0 2 3.0 x\nq0 Q0 d1 1 1.0 x\n")
    result = run("evaluate", "qrels.txt", "wrong.run")
    assert result.exit_code == 0
    assert result.stderr.startswith("rankcorr: note: wrong.run:1: the rank contradicts the score")


VERSUS = ["a.run.gz", "b.run.gz", "--versus"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run.gz", "--metric", "nonsense"], "'nonsense' is no metric"),
        (["nothing.run"], "nothing.run: cannot be read: No such file"),
        (["a.run.gz", "--versus", "a"], "--versus needs at least two runs"),
        ([*VERSUS, "z"], "--versus must be one of the runs, a, b, or the file of one; got"),
        (["a.run.gz", "a.run.gz"], "each run can be given only once, unless --name names it; more than once: a.run.gz"),
        (["a.run.gz", "b.run.gz", "--name", "x"], "--name must be given once for each run; got 1 for 2 runs"),
        (["a.run.gz", "b.run.gz", "--name", "x", "--name", "x"], "--name must differ; more than once: x"),
        (
            ["a.run.gz", "a.run.gz", "--name", "x", "--name", "y", "--versus", "a.run.gz"],
            "--versus must be one of the runs, x, y; got 'a.run.gz'",
        ),
        (["qrels.txt"], "6 fields separated by spaces or tabs are expected"),
        (["a.run.gz", "--worst", "3"], "--worst belongs to --versus, which is missing"),
        (["a.run.gz", "--plot", "d.svg"], "--plot belongs to --versus, which is missing"),
        ([*VERSUS, "b", "--plot", "d.txt"], "must end with .png, .svg or .pdf"),
        (["a.run.gz", "--groups", "few.csv"], "few.csv: every query of qrels needs a group; without one: 'q1', 'q2',"),
        (["a.run.gz", "--groups", "other.csv"], "'q4', ... (15 in all); the file has: 'Q0', 'Q1'"),
        (["a.run.gz", "--groups", "none.csv"], "none.csv: cannot be read"),
        (["a.run.gz", "--fail-if-worse"], "--fail-if-worse belongs to --versus, which is missing"),
        (["--fail-if-worse", "a.run.gz"], "'a.run.gz' is not a valid level; if it has none, give the option after"),
        ([*VERSUS, "b", "--fail-if-worse=1.0"], "a number between 0 and 1, both excluded; got 1.0"),
        ([*VERSUS, "b", "--fail-if-worse=nan"], "a number between 0 and 1, both excluded; got nan"),
        (["--fold", "0/qrels.txt", "a.run.gz"], "a query may be in one fold only; in more than one: 'q0'"),
        (["twice.run"], "twice.run:2: a query may have each document once"),
        (["twice.run"], "; --duplicates first or --duplicates max keeps one"),
        (["--fold", "-", "-"], "'-' (standard input) can be given only once"),
    ],
)
@pytest.mark.usefixtures("folds")
def test_refusals(tmp_path, arguments, message):
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


def test_relevance_that_measures_of_ir_measures_cannot_take(files):  # noqa: ARG001
    with open("qrels.txt", "a") as file:
        file.write("q0 0 large 2147483647\n")
    message = refusal("evaluate", "qrels.txt", "a.run.gz", "--metric", "rr")
    assert "relevance must be at most 1,000; it is 2147483647 for (query, document) ('q0', 'large')" in message
    assert "cutoff must be a whole number from 1" in refusal("evaluate", "qrels.txt", "a.run.gz", "--metric", "r@0")


def test_without_ir_measures(files, monkeypatch):  # noqa: ARG001
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert "pip install ir_measures" in refusal("evaluate", "qrels.txt", "a.run.gz", "--metric", "rr")
    assert "ndcg@10" in run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "ndcg@10")


def test_runs_of_three_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1\t0\td1\t2\nq1\t0\td2\t0\nq1\t0\td3\t1\n")
    (tmp_path / "scores.txt").write_text("q1 d1 0.9\nq1 d3 0.7\nq1 d2 0.5\n")
    (tmp_path / "whole.txt").write_text("q1 d1 9\nq1 d3 7\nq1 d2 5\n")
    assert run_json("evaluate", "qrels.txt", "scores.txt")["means"][0]["mean"] == 1
    content = run_json("evaluate", "qrels.txt", "whole.txt")
    (note,) = content["warnings"]
    assert content["means"][0]["mean"] == -1
    assert note["message"].endswith("are read as ranks (1 is best); --form scores reads them as scores")
    assert run_json("evaluate", "qrels.txt", "whole.txt", "--form", "scores")["means"][0]["mean"] == 1
    assert "--form scores reads scores" in refusal("evaluate", "qrels.txt", "scores.txt", "--form", "msmarco")


def test_queries_among_their_hits(tmp_path, monkeypatch):
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
