import gzip
import json
import shutil
import sys

import pytest

from rankcorr.evaluation import compare_runs, evaluate, read_qrels, read_run
from tests.rankcorr.cli.commands import refusal, run, run_ok
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
        "tau_w: difference from c over the queries that both have, 95 % intervals, randomization test (200 resamples of"
        in by_file
    )
    last = by_file.splitlines()[-2].split()
    assert last[0] == pairs[0].first
    assert last[1] == f"{pairs[0].difference:.4f}"
    assert "tau_w, standardized: difference from c" in run_ok(
        "evaluate", "qrels.txt", *RUNS, "--versus", "c", "--resamples", "200", "--standardized"
    )


def test_values_by_query(files):
    output = run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "ap", "--by-query")
    values = evaluate(files[0], files[1]["a"], metrics="ap").of()
    assert [line.split() for line in output.splitlines()[-15:]] == [
        ["a", f"q{place}", f"{value:.4f}"] for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(("arguments", "first", "second"), [([], "c", "a"), (["--versus", "c"], "a", "c")])
def test_values_of_two_runs_are_side_by_side(files, arguments, first, second):
    chosen = ["--metric", "ap", "--metric", "tau_w", "--by-query", "--resamples", "99", *arguments]
    lines = run_ok("evaluate", "qrels.txt", "a.run.gz", "c.run.gz", *chosen).splitlines()
    runs = {name: files[1][name] for name in ("a", "c")}
    found = evaluate(files[0], runs, metrics=["ap", "tau_w"])
    for metric in ("ap", "tau_w"):
        start = lines.index(f"{metric} by query; difference: {first} minus {second}")
        assert lines[start + 2].split() == ["query", first, second, "difference"]
        values = [found.of(metric, run) for run in (first, second)]
        assert [line.split() for line in lines[start + 3 : start + 18]] == [
            [query, f"{ours:z.4f}", f"{theirs:z.4f}", f"{ours - theirs:z.4f}"]
            for query, ours, theirs in zip(found.queries, *values, strict=True)
        ]


def test_options_of_weights_reach_the_coefficients(files):  # noqa: ARG001
    output = run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "TAU_W", "--metric", "tau", "--n0", "10")
    assert "TauW(n0=10)" in output
    assert " tau " in output


def test_what_was_left_out_is_said(files, tmp_path):  # noqa: ARG001
    (tmp_path / "odd.run").write_text("q0 Q0 d0 1 3.0 x\nq0 Q0 new 2 2.0 x\nq0 Q0 d1 3 1.0 x\nzz Q0 d0 1 1.0 x\n")
    output = run_ok("evaluate", "qrels.txt", "odd.run", "--depth", "2", "--metric", "tau_w")
    line = "odd: 11 documents compared, 1 unjudged (of relevance 0), 9 not retrieved (last), 1 beyond the depth"
    assert f"{line}, 14 queries not in the run, 1 query not in qrels, left out\n" in output
    left_out = "odd: no tau_w for 14 queries (left out of the mean), the run does not have the query"
    assert f"{left_out}: q1, q2, q3, q4, q5, ...\n" in output
    (tmp_path / "wrong.run").write_text("q0 Q0 d0 2 3.0 x\nq0 Q0 d1 1 1.0 x\n")
    result = run("evaluate", "qrels.txt", "wrong.run")
    assert result.exit_code == 0
    assert result.stderr.startswith("rankcorr: note: wrong.run:1: the rank contradicts the score")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run.gz", "--metric", "nonsense"], "'nonsense' is no metric"),
        (["nothing.run"], "nothing.run: cannot be read: No such file"),
        (["a.run.gz", "--versus", "a"], "--versus needs at least two runs"),
        (["a.run.gz", "b.run.gz", "--versus", "z"], "--versus must be one of the runs, a, b, or the file of one; got"),
        (["a.run.gz", "a.run.gz"], "each run can be given only once, unless --name names it; more than once: a.run.gz"),
        (["a.run.gz", "b.run.gz", "--name", "x"], "--name must be given once for each run; got 1 for 2 runs"),
        (["a.run.gz", "b.run.gz", "--name", "x", "--name", "x"], "--name must differ; more than once: x"),
        (
            ["a.run.gz", "a.run.gz", "--name", "x", "--name", "y", "--versus", "a.run.gz"],
            "--versus must be one of the runs, x, y; got 'a.run.gz'",
        ),
        (
            ["a.run.gz", "--metric", "ap", "--metric", "map"],
            "metrics must be a list of different metrics; 'ap' and 'map' are one metric, ap",
        ),
        (["-", "-"], "'-' (standard input) can be given only once"),
        (["a.run.gz", "--undefined", "nan"], "Invalid value for '--undefined'"),
        (["qrels.txt"], "6 fields separated by white space are wanted"),
    ],
)
def test_refusals(files, arguments, message):  # noqa: ARG001
    assert message in refusal("evaluate", "qrels.txt", *arguments)


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
    assert "pip install 'rankcorr[trec]'" in refusal("evaluate", "qrels.txt", "a.run.gz", "--metric", "rr")
    assert "ndcg@10" in run_ok("evaluate", "qrels.txt", "a.run.gz", "--metric", "ndcg@10")
