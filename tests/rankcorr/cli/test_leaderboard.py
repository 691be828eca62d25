"""`rankcorr leaderboard` prints the leaderboard of the library."""

import csv
import inspect
import io
import json
import re

import numpy as np
import pytest

from rankcorr import UndefinedCorrelationWarning, compare_systems
from rankcorr.evaluation import leaderboard_of_scores, needed_items
from rankcorr.inference._leaderboard import leaderboard
from tests.rankcorr.cli.conftest import CONSTANT, GOLD, LONG, SYSTEM, refusal, run, run_json, run_ok, write_scores
from tests.results import with_coefficient

FILES = ("long_gold.csv", "long_a.csv", "long_b.csv", "long_c.csv")
GOLDS = {"long_gold.csv": LONG["long_gold.csv"]}
SYSTEMS = {name: LONG[name] for name in FILES[1:]}
HALF_OF_ITEMS = {label: float(int(label.split()[1]) % 5) for label in list(GOLDS["long_gold.csv"])[:15]}


@pytest.fixture(autouse=True)
def half_file(folder):  # noqa: ARG001
    write_scores("half.csv", HALF_OF_ITEMS)


def document(*arguments):
    return run_json("leaderboard", *arguments)


@pytest.mark.needs_numba
def test_defaults_are_those_of_the_library():
    parameters = inspect.signature(leaderboard).parameters
    result = document(*FILES)
    assert result["options"].pop("seed") == parameters["seed"].default
    for name in ("by", "coefficient", "level", "n_resamples"):
        assert result[name] == parameters[name].default
    assert parameters["swap"].default == "auto"
    assert result["swap"] == leaderboard(GOLDS, SYSTEMS).swap


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--n0", 0, "--scheme", "first", "--seed", 4], {"n0": 0, "scheme": "first", "seed": 4}),
        (["--level", 0.5], {"level": 0.5}),
        (["--by", "long_gold.csv"], {"by": "long_gold.csv"}),
        (["--swap", "scores"], {"swap": "scores"}),
    ],
)
@pytest.mark.parametrize("golds", [{}, {"half.csv": HALF_OF_ITEMS}])
def test_the_leaderboard_is_that_of_the_library(arguments, options, golds):
    more = [argument for name in golds for argument in ("--gold", name)]
    result = document(*FILES, *more, "--resamples", 200, *arguments)
    expected = leaderboard(GOLDS | golds, SYSTEMS, n_resamples=200, **with_coefficient(**options)).to_dict()
    assert result.pop("warnings") == []
    used_options = result.pop("options")
    assert result == json.loads(json.dumps(expected))
    assert used_options["seed"] == options.get("seed", 0)
    assert used_options["missing"] == "raise"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (FILES[:2], " (200 resamples of items, seed 0)"),
        ((*FILES[:3], "--swap", "ranks"), ", TESTS (200 resamples of items and swaps of ranks, seed 0)"),
        ((*FILES[:3], "--swap", "scores"), ", TESTS (200 resamples of items and swaps of scores, seed 0)"),
        (("gold.csv", "system.csv", "second.csv"), " (200 resamples of items, seed 0), TESTS (all swaps of scores)"),
        (("gold.csv", "system.csv", "constant.csv"), " (200 resamples of items, seed 0)"),
    ],
)
def test_the_line_above_the_table_describes_the_ranking(arguments, text):
    write_scores("second.csv", {"a": 1, "b": 5, "c": 2, "d": 4, "e": 3})
    lines = run("leaderboard", *arguments, "--resamples", 200).stdout.splitlines()
    assert lines[1] == "tau_w: 95 % intervals" + text.replace("TESTS", "tests against the best")


def test_several_gold_sets_have_a_column_each():
    arguments = ("leaderboard", *FILES, "--gold", "half.csv", "--resamples", 200, "--level", 0.9)
    for by, heading in (("sum", "ranked by the sum"), ("half.csv", "ranked by half.csv")):
        lines = run_ok(*arguments, "--by", by).splitlines()
        assert lines[:2] == ["gold 1: long_gold.csv (20 items, 20 ties)", "gold 2: half.csv (15 items, 15 ties)"]
        assert lines[2] == (
            f"tau_w: {heading}, its 90 % intervals, tests against the best (200 resamples of items and swaps of ranks, "
            "seed 0)"
        )
        assert " ".join(lines[4].split()[3:]) == "system gold 1 gold 2 sum low high p (two-sided, step-down) n"
        board = leaderboard(GOLDS | {"half.csv": HALF_OF_ITEMS}, SYSTEMS, by=by, level=0.9, n_resamples=200)
        for line, row in zip(lines[5:], board.rows, strict=True):
            ranked = row.total if by == "sum" else row.scores[1]
            numbers = [*(score.statistic for score in (*row.scores, row.total)), ranked.low, ranked.high]
            assert line.split()[3:-2] == [row.system, *(f"{number:z.4f}" for number in numbers)]


def test_missing_items_are_counted():
    less = dict(list(LONG["long_b.csv"].items())[:16])
    write_scores("less.csv", less)
    arguments = ("leaderboard", *FILES[:2], "less.csv", "--missing", "intersection", "--resamples", 200)
    lines = run_ok(*arguments).splitlines()
    assert lines[3].split()[-2:] == ["n", "missing"]
    systems = {"long_a.csv": LONG["long_a.csv"], "less.csv": less}
    board = leaderboard(GOLDS, systems, missing="intersection", n_resamples=200)
    assert {row.total.n_missing for row in board.rows} == {0, 4}
    assert [line.split()[-2:] for line in lines[4:]] == [
        [str(row.total.n_items), str(row.total.n_missing)] for row in board.rows
    ]


def test_an_undefined_system_has_no_rank():
    result = run("leaderboard", "gold.csv", "constant.csv", "system.csv", "--resamples", 100)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].split() == ["-", "-", "-", "constant.csv", "nan", "nan", "nan", "-", "5"]
    with pytest.warns(UndefinedCorrelationWarning) as caught:
        leaderboard({"gold.csv": GOLD}, {"constant.csv": CONSTANT, "system.csv": SYSTEM}, n_resamples=100)
    messages = [str(warning.message) for warning in caught]
    assert result.stderr.splitlines() == [f"rankcorr: note: tau_w: {message}" for message in messages]
    content = document("gold.csv", "constant.csv", "system.csv", "--resamples", 100)
    assert content["warnings"] == [{"coefficients": ["tau_w"], "message": message} for message in messages]
    assert (content["rows"][-1]["rank"], content["rows"][-1]["group"]) == (None, None)


@pytest.mark.parametrize("arguments", [("leaderboard", *FILES), ("compare", *FILES), ("test", *FILES, "--versus")])
def test_other_formats_print_only_the_table_on_stdout(arguments):
    resample_options = () if arguments[0] == "compare" else ("--resamples", 200)
    lines = run_ok(*arguments, *resample_options).splitlines()
    start = next(place for place, line in enumerate(lines) if not line) + 1
    expected = [line.split() for line in lines[start:] if "decides" not in line]
    result = {form: run(*arguments, *resample_options, "--table", form) for form in ("csv", "markdown", "latex")}
    assert all(outcome.exit_code == 0 for outcome in result.values())
    rows = list(csv.reader(io.StringIO(result["csv"].stdout)))
    assert [" ".join(row).split() for row in rows] == expected
    cells = [line.strip("| ").split(" | ") for line in result["markdown"].stdout.splitlines()]
    assert [cells[0], *cells[2:]] == rows
    assert result["latex"].stdout.count(r" \\") == len(rows)
    assert all(outcome.stderr.splitlines()[0] == lines[0] for outcome in result.values())


def test_only_json_is_on_stdout():
    plain, formed = (run_ok("compare", *FILES, "--json", *more) for more in ((), ("--table", "csv")))
    assert json.loads(plain) == json.loads(formed)


class TestModelsByBenchmarks:
    """A table with a row for each model, while the command ranks columns."""

    @pytest.fixture(autouse=True)
    def bench(self, folder):
        (folder / "bench.csv").write_text("Model,arc,mmlu,note,avg\ng1,50,70,x,60\ng2,40,60,y,55\ng3,30,10,z,20\n")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["bench.csv", "bench.csv"],
            ["bench.csv", "bench.csv", "--id", "Model", "--score", "avg"],
            ["bench.csv", "bench.csv", "--id", "Model", "--score", "avg", "--score", "avg"],
        ],
    )
    def test_a_table_of_models_by_benchmarks_is_recognised(self, arguments):
        message = refusal("leaderboard", *arguments)
        assert 'bench.csv has a row for each model and 3 columns of benchmarks ("arc", "mmlu", "avg")' in message
        assert "does not rank the rows" in message
        assert "correlation_matrix" in message

    def test_columns_can_be_ranked_with_a_note(self):
        arguments = ["bench.csv", "bench.csv", "--id", "Model", "--score", "avg", "--score", "mmlu", "--resamples", 40]
        content = json.loads(run("leaderboard", *arguments, "--json").stdout)
        assert content["rows"][0]["system"] == "bench.csv:mmlu"
        assert "bench.csv has a row for each model, but this ranks its columns" in content["warnings"][0]["message"]

    def test_other_tables_give_no_note(self, folder):
        (folder / "items.csv").write_text("item,a,b\nx,1,2\ny,2,1\n")
        assert "has a row for each model" not in refusal("leaderboard", "items.csv", "items.csv")


class TestTableOfScores:
    """A single file: its rows are ranked by its columns."""

    @pytest.fixture(autouse=True)
    def scores(self, folder):
        rng = np.random.default_rng(5)
        rows = {name: quality + rng.normal(0, 0.05, 9) for name, quality in {"a": 0.7, "b": 0.6, "c": 0.3}.items()}
        self.table = {name: {f"t{task}": float(x) for task, x in enumerate(row)} for name, row in rows.items()}
        lines = ["model," + ",".join(self.table["a"])]
        lines += [f"{name},{','.join(map(repr, row.values()))}" for name, row in self.table.items()]
        (folder / "scores.csv").write_text("\n".join(lines))
        (folder / "groups.csv").write_text("task,group\n" + "".join(f"t{t},{'xy'[t % 2]}\n" for t in range(9)))

    def test_the_board_is_that_of_the_library(self):
        options = ["--groups", "groups.csv", "--aggregate", "borda", "--resamples", 200]
        content = run_json("leaderboard", "scores.csv", *options)
        groups = {f"t{task}": "xy"[task % 2] for task in range(9)}
        expected = leaderboard_of_scores(self.table, groups=groups, aggregate="borda", n_resamples=200).to_dict()
        assert content["rows"] == json.loads(json.dumps(expected["rows"]))
        assert content["options"]["aggregate"] == "borda"
        lines = run_ok("leaderboard", "scores.csv", *options).splitlines()
        assert lines[0] == "scores: scores.csv (3 systems, 9 tasks)"
        assert (
            "Borda score: 95 % intervals (200 resamples of tasks, seed 0), tests against the best (all swaps"
            in lines[1]
        )
        row = expected["rows"][0]
        values = [row["scores"][group]["statistic"] for group in "xy"] + [row["mean"]["statistic"]]
        assert lines[5].split()[:7] == ["1", "1", "1", "a", *(f"{value:.4f}" for value in values)]

    def test_chosen_tasks_and_their_direction(self):
        options = ["--lower-is-better", "t0", *(f"--tasks=t{task}" for task in range(8)), "--resamples", 100]
        content = run_json("leaderboard", "scores.csv", *options)
        tasks = [f"t{task}" for task in range(8)]
        expected = leaderboard_of_scores(self.table, lower_is_better=["t0"], tasks=tasks, n_resamples=100)
        assert content["tasks"] == tasks
        assert content["rows"][0]["mean"]["statistic"] == expected.rows[0].mean.statistic

    def test_verdicts_and_the_number_of_tasks(self):
        options = ["--equivalent-within", 0.5, "--needed", 0.2, "--resamples", 100]
        content = run_json("leaderboard", "scores.csv", *options)
        board = leaderboard_of_scores(self.table, equivalent_within=0.5, n_resamples=100)
        assert content["verdicts"] == json.loads(json.dumps(board.verdicts))
        needed = needed_items(board, 0.2)
        assert content["needed"] == needed.to_dict()
        output = run_ok("leaderboard", "scores.csv", *options).splitlines()
        assert output[3].startswith(f"a difference of 0.2 needs about {needed.n:,} tasks for a power of 0.8")
        assert [line.split()[-1] for line in output[5:]] == ["verdict", "-", *(row[0] for row in board.verdicts[1:])]
        assert run_json("leaderboard", "scores.csv", "--resamples", 100)["needed"] is None

    def test_missing_scores_follow_the_policy(self, folder):
        text = (folder / "scores.csv").read_text().splitlines()
        text[2] = text[2].rpartition(",")[0] + ","
        (folder / "gaps.csv").write_text("\n".join(text))
        message = refusal("leaderboard", "gaps.csv")
        assert "without one (system, task): ('b', 't8') (accept them with --missing-scores intersection or" in message
        result = run("leaderboard", "gaps.csv", "--missing-scores", "intersection", "--resamples", 50)
        assert "left out: t8" in result.stdout
        assert "tasks that some system lacks are left out: 't8'" in result.stderr
        output = run_ok("leaderboard", "gaps.csv", "--missing-scores", "worst", "--resamples", 50)
        assert output.splitlines()[4].endswith("missing")

    def test_too_few_tasks_for_an_interval_are_noted(self, folder):
        (folder / "few.csv").write_text("model,x,y,z\na,0.5,0.5,0.5\nb,0.3,0.4,0.2\n")
        note = "-inf, inf: 3 tasks are too few to bound a mean at 95 %\n"
        assert note in run("leaderboard", "few.csv", "--resamples", 200).stdout
        assert "-inf, inf" not in run_ok("leaderboard", "scores.csv", "--resamples", 200)

    def test_latex_marks_the_best(self):
        result = run("leaderboard", "scores.csv", "--resamples", 50, "--table", "latex")
        assert r"Bold: best; $\dagger$: significantly worse than the best" in result.stdout
        assert r"1 & 1 & 1 & a & \textbf{0." in result.stdout

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["scores.csv", "--id", "model"], "--id can be used only with SYSTEM files, not with a table of scores"),
            (["scores.csv", "scores.csv", "--tasks", "t0"], "--tasks can be used only with a table of scores, given"),
            (["gold.csv"], "gold.csv, as a table of scores: a leaderboard needs at least two tasks; got 1; to rank"),
            (["percent.csv"], "system 'a', task 'x': '85%' is not a number: write all scores without the percent sign"),
            (
                ["total.csv"],
                "columns that look like totals of other tasks: 'avg'; remove or rename them, or name each task, as in "
                '--tasks "x"',
            ),
            (["comma.csv"], "system 'a', task 'x': '0,5' is not a number; use a decimal point, not a comma"),
            (["harness.json"], "harness.json: is JSON: save it as CSV or Parquet"),
            (["thousands.csv"], 'thousands.csv:2: column "x": "1.250" may mean 1250, as other cells are whole'),
            (["average.csv"], "'Average' is the total or the mean of the other systems: remove it"),
        ],
    )
    def test_tables_that_cannot_be_ranked(self, folder, arguments, message):
        (folder / "percent.csv").write_text("model,x,y\na,85%,1\nb,2,2\n")
        (folder / "comma.csv").write_text("name of it;x;y\na;0,5;1,0\nb;,25;2\n")
        (folder / "total.csv").write_text("model,x,y,avg\na,1,1,1\nb,2,2,2\n")
        (folder / "harness.json").write_text('{"results": {"arc": {"acc,none": 0.5}}}')
        (folder / "thousands.csv").write_text("model;x;y\na;1.250;2\nb;980;3\n")
        (folder / "average.csv").write_text("model,x,y\na,1,2\nb,3,3\nc,2,7\nAverage,2,4\n")
        assert message in refusal("leaderboard", *arguments)


def test_items_of_a_cluster_are_exchanged_together(folder):
    clusters = {label: f"topic {number // 3}" for number, label in enumerate(GOLDS["long_gold.csv"])}
    lines = ["id,cluster", *(f"{label},{cluster}" for label, cluster in clusters.items())]
    (folder / "topics.csv").write_text("\n".join(lines), encoding="utf-8")
    result = document(*FILES, "--resamples", 200, "--clusters", "topics.csv")
    expected = leaderboard(GOLDS, SYSTEMS, n_resamples=200, clusters=clusters).to_dict()
    assert result["rows"] == json.loads(json.dumps(expected["rows"]))
    pair = run_json("test", *FILES[:3], "--versus", "--resamples", 200, "--clusters", "topics.csv")["comparisons"][0]
    alone = run_json("test", *FILES[:3], "--versus", "--resamples", 200)["comparisons"][0]
    assert (pair["difference"], pair["exact"], alone["exact"]) == (alone["difference"], True, False)
    assert "--clusters has no effect without --versus" in refusal("test", *FILES[:2], "--clusters", "topics.csv")


def test_clusters_of_items_with_two_ids(folder):
    pairs = [(f"left {number}", f"right {number}") for number in range(13)]
    for name, step in {"pairs.csv": 1, "one.csv": 5, "other.csv": 7}.items():
        rows = [f"{first},{second},{step * number % 13}" for number, (first, second) in enumerate(pairs)]
        (folder / name).write_text("\n".join(["word1,word2,score", *rows]))
    topics = {pair: f"topic {number // 3}" for number, pair in enumerate(pairs)}
    rows = [f"{second},{first},{topic}" for (first, second), topic in topics.items()]
    (folder / "turned.csv").write_text("\n".join(["word1,word2,cluster", *rows]))
    files = ("pairs.csv", "one.csv", "other.csv", "--id", "word1,word2")
    arguments = ("test", *files, "--versus", "--unordered", "--clusters", "turned.csv")
    assert "clusters: turned.csv; tests exchange whole clusters" in run_ok(*arguments)
    tests = run_json(*arguments)
    assert tests["options"]["clusters"] == "turned.csv"
    (pair,) = tests["comparisons"]
    gold, one, other = (
        dict(zip(pairs, [step * number % 13 for number in range(13)], strict=True)) for step in (1, 5, 7)
    )
    expected = compare_systems(gold, one, other, clusters=topics)
    assert expected.exact
    assert pair["pvalue"] == expected.pvalue
    result = run_json("leaderboard", *files, "--unordered", "--clusters", "turned.csv")
    assert result["options"]["clusters"] == "turned.csv"
    assert result["warnings"][0]["message"].startswith("tests respect the clusters, but intervals do not")
    assert "every item needs a cluster; without one" in refusal("leaderboard", *files, "--clusters", "turned.csv")
    refused = refusal("leaderboard", *files[:3], "--id", "word1", "--clusters", "turned.csv")
    assert "turned.csv:1: expected 2 columns (id and cluster); got 3" in refused


@pytest.mark.needs_numba
def test_groups_of_items_are_columns(folder):
    genres = {label: "even" if int(label.split()[1]) % 2 == 0 else "odd" for label in GOLDS["long_gold.csv"]}
    (folder / "genres.csv").write_text("id,genre\n" + "".join(f"{label},{genre}\n" for label, genre in genres.items()))
    printed = run_ok("leaderboard", *FILES, "--groups", "genres.csv", "--resamples", "199")
    assert re.search(r"^rank .* system +all +even +odd +low", printed, re.MULTILINE)
    assert "ranked by long_gold.csv, its 95 % intervals" in printed
    result = document(*FILES, "--groups", "genres.csv", "--resamples", "199")
    alone = document(*FILES, "--resamples", "199")
    assert [row["group"] for row in result["rows"]] == [row["group"] for row in alone["rows"]]
    assert result["gold_sets"] == ["long_gold.csv", "even", "odd"]
    assert document(*FILES, "--groups", "genres.csv", "--by", "odd", "--resamples", "199")["by"] == "odd"
    message = refusal("leaderboard", *FILES, "--groups", "genres.csv", "--gold", "half.csv", "--missing", "gold")
    assert "--groups divides one gold set" in message


@pytest.mark.needs_numba
def test_an_unranked_system_has_no_rank():
    *ranked, late = document(*FILES, "--unranked", "long_a.csv", "--resamples", "199")["rows"]
    assert (late["system"], late["rank"], late["pvalue"]) == ("long_a.csv", None, None)
    assert [row["rank"] for row in ranked] == [1, 2]
    assert "--unranked must name systems; unknown: 'x'" in refusal("leaderboard", *FILES, "--unranked", "x")


@pytest.mark.parametrize(
    ("factor", "text"), [(1e15, "3.450e+15"), (1e7, "34500000.0000"), (1, "3.4500"), (1e-9, "3.450e-09")]
)
def test_scores_are_written_in_any_unit(folder, factor, text):
    rows = "".join(f"s{k},{','.join(str(factor * (k + j / 10 + 1.1)) for j in range(8))}\n" for k in range(3))
    (folder / "table.csv").write_text(f"model,{','.join(map('t{}'.format, range(8)))}\n{rows}")
    assert text in run_ok("leaderboard", "table.csv")
    (folder / "estimates.csv").write_text(f"name,estimate,standard_error\na,{3.45 * factor},{factor}\nb,0,{factor}\n")
    assert f"a     {text}" in re.sub(r"  +", "     ", run_ok("rank-sets", "estimates.csv"))
