"""`rankcorr compare`: its numbers against the library's, and errors in one line with exit code 2."""

import gzip
import inspect
import json
from pathlib import Path

import pytest

from rankcorr import Ranking, TopK, Uniform, correlate, weighted_rho, weighted_tau
from rankcorr._coefficients import named_coefficient
from rankcorr._contributions import contributions
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._null import null_distribution, permutation_test
from tests.rankcorr.cli.conftest import GOLD, LONG, SYSTEM, refusal, run, run_json, run_ok, write_scores
from tests.results import with_coefficient

COEFFICIENTS = ("rho_w", "tau_w", "rho", "tau")
FILES = ("long_gold.csv", "long_a.csv", "long_b.csv")
GOLD_RANKING, A, B = (LONG[name] for name in FILES)
PARTIAL_SCORES = {"b": 9, "a": 4, "x": 5}  # two items of gold, and another one
pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--n0", "-0.5", "--scheme", "multiplicative"], {"n0": -0.5, "scheme": "multiplicative"}),
        (["--weigher", "top-k:3", "--scheme", "first"], {"weigher": TopK(3), "scheme": "first"}),
        (["--tied-weights", "expected", "--variant", "a"], {"tied_weights": "expected", "variant": "a"}),
    ],
)
def test_options_are_those_of_the_library(arguments, options):
    (row,) = json.loads(run_ok("compare", "gold.csv", "system.csv", "--json", *arguments))["systems"]
    variant = {"variant": options.pop("variant", "b")}
    assert row == {
        "system": "system.csv",
        "rho_w": weighted_rho(GOLD, SYSTEM, **options).statistic,
        "tau_w": weighted_tau(GOLD, SYSTEM, **options, **variant).statistic,
        "rho": weighted_rho(GOLD, SYSTEM, weigher=Uniform()).statistic,
        "tau": weighted_tau(GOLD, SYSTEM, weigher=Uniform(), **variant).statistic,
        "n": 5,
        "ties": 2,
        "n_shared": 5,
        "n_other": 0,
    }


def test_numbers_are_read_as_ranks_on_request():
    (row,) = json.loads(run_ok("compare", "gold.csv", "system.csv", "--json", "--ranks"))["systems"]
    ranked = [Ranking.from_ranks(list(scores.values()), list(scores)) for scores in (GOLD, SYSTEM)]
    assert row["tau_w"] == weighted_tau(*ranked).statistic


def test_json_records_the_options():
    document = json.loads(run_ok("compare", "--id", "left,right", "--score", "g", "--json", "both.tsv", "both.tsv"))
    assert document["gold"] == {"name": "both.tsv:g", "n": 5, "ties": 0}
    assert document["warnings"] == []
    assert document["options"] == {
        "id": ["left", "right"],
        "score": ["g"],
        "ranks": False,
        "header": True,
        "missing": "raise",
        "unordered": False,
        "duplicates": "error",
        "n0": 2.0,
        "weigher": None,
        "scheme": "additive",
        "tied_weights": "midrank",
        "variant": "b",
    }
    options = json.loads(run_ok("compare", "--weigher", "top-k:2", "--json", "gold.csv", "gold.csv"))["options"]
    assert (options["n0"], options["weigher"], options["id"]) == (None, "top-k:2", None)


@pytest.mark.parametrize("ids", [["--id", "left,right"], ["--id", "left", "--id", "right"], ["--id", '"left",right']])
def test_columns_of_one_file_are_compared(ids):
    columns = ["--score", "g", "--score", "s", "--score", "g"]
    document = json.loads(run_ok("compare", *ids, *columns, "--json", "both.tsv", "both.tsv", "both.tsv"))
    assert [row["system"] for row in document["systems"]] == ["both.tsv:s", "both.tsv:g"]
    assert document["systems"][0]["tau_w"] == weighted_tau(GOLD, SYSTEM).statistic
    assert document["systems"][1]["tau_w"] == 1


def test_a_column_without_a_name_can_be_the_id(folder):
    (folder / "pandas.csv").write_text(",x,score\na,0,2\nb,0,1\n")
    assert "1.0000" in run_ok("compare", "--id", "", "--score", "score", "pandas.csv", "pandas.csv")


def test_a_score_column_for_each_file(folder):
    (folder / "right.csv").write_text("id,other\na,1\nb,2\n")
    write_scores("left.csv", {"a": 1, "b": 2})
    assert "\nright.csv " in run_ok("compare", "left.csv", "right.csv", "--score", "score", "--score", "other")


def test_a_file_may_have_no_header(folder):
    (folder / "bare.csv").write_text("a,2\nb,1\n")
    assert "gold: bare.csv (2 items, 0 ties)" in run_ok("compare", "bare.csv", "bare.csv", "--no-header")


def test_either_file_may_be_standard_input(folder):
    text = (folder / "system.csv").read_text()
    assert "\n-  " in run_ok("compare", "gold.csv", "-", stdin=text)
    assert run_ok("compare", "-", "gold.csv", stdin=text).startswith("gold: - (5 items, 2 ties)\n")


def test_names_are_shown_on_one_line_and_aligned(folder):
    text = (folder / "gold.csv").read_text()
    for name in ("a\nb.csv", "日本.csv", "e\N{COMBINING ACUTE ACCENT}.csv"):
        (folder / name).write_text(text)
    lines = run_ok("compare", "gold.csv", "a\nb.csv", "日本.csv", "e\N{COMBINING ACUTE ACCENT}.csv").splitlines()
    assert lines[2:] == [
        "system     rho_w   tau_w     rho     tau  n  ties",
        "a\\nb.csv  1.0000  1.0000  1.0000  1.0000  5     0",
        "日本.csv  1.0000  1.0000  1.0000  1.0000  5     0",
        "e\N{COMBINING ACUTE ACCENT}.csv     1.0000  1.0000  1.0000  1.0000  5     0",
    ]


# Real data


def test_items_in_one_file_only():
    write_scores("less.csv", PARTIAL_SCORES)
    assert "labels in gold.csv only: 'c', 'd', 'e'; labels in" in refusal("compare", "gold.csv", "less.csv")
    for missing, n_items, ties in (("intersection", 2, 0), ("bottom", 6, 3), ("gold", 5, 3)):
        options = ("--missing", missing, "--standardize", "--worst", 1, "--json")
        (row,) = json.loads(run_ok("compare", "gold.csv", "less.csv", *options))["systems"]
        expected = weighted_tau(GOLD, PARTIAL_SCORES, missing=missing)
        assert row["coefficients"]["tau_w"]["chance"] == null_distribution(GOLD, PARTIAL_SCORES, missing=missing).mean
        assert row["worst"][0]["label"] == contributions(GOLD, PARTIAL_SCORES, missing=missing).worst(1)[0].label
        assert (row["tau_w"], row["n"], row["ties"]) == (expected.statistic, n_items, ties)
        assert (row["n_shared"], row["n_other"]) == (2, 1)
        (line,) = run_json("leaderboard", "gold.csv", "less.csv", "--missing", missing)["rows"]
        assert line["total"]["statistic"] == pytest.approx(expected.statistic, abs=1e-13)
        assert line["total"]["n_items"] == n_items


def test_ties_are_counted_over_the_compared_items():
    write_scores("more.csv", {"a": 1, "b": 2, "c": 2, **{f"x{item}": 3 for item in range(9)}})
    lines = run_ok("compare", "gold.csv", "more.csv", "--missing", "intersection").splitlines()
    assert lines[1] == "coverage: more.csv has 3 of gold's 5 items, and 9 others"
    assert lines[-1].split()[-2:] == ["3", "2"]


def test_word_pairs_in_either_order_and_twice(tmp_path):
    (tmp_path / "gold.tsv").write_text("a\tb\ts\nsun\tmoon\t3\ngem\tjewel\t2\ncar\tbus\t1\n", encoding="utf-8")
    text = "a\tb\ts\nmoon\tsun\t9\ngem\tjewel\t5\njewel\tgem\t4\nbus\tcar\t5\n"
    (tmp_path / "system.tsv.gz").write_bytes(gzip.compress(text.encode()))
    files = [str(tmp_path / "gold.tsv"), str(tmp_path / "system.tsv.gz"), "--id", "a,b", "--score", "s"]
    assert "labels in" in refusal("compare", *files)
    assert '"jewel", "gem" is also on line 3' in refusal("compare", *files, "--unordered")
    for duplicates, system in (("first", [9, 5, 5]), ("mean", [9, 4.5, 5])):
        arguments = [*files, "--unordered", "--duplicates", duplicates, "--json"]
        document = json.loads(run_ok("compare", *arguments, "--worst", 3))
        (row,) = document["systems"]
        assert row["tau_w"] == weighted_tau([3, 2, 1], system)
        assert (document["options"]["unordered"], document["options"]["duplicates"]) == (True, duplicates)
        effect = {"first": "dropped; its first number counts", "mean": "merged into its mean"}[duplicates]
        assert [note["message"].rpartition("/")[2] for note in document["warnings"]] == [
            f"system.tsv.gz: 1 line that repeats an item was {effect}"
        ]
        assert {tuple(item["label"]) for item in row["worst"]} <= {("gem", "jewel"), ("moon", "sun"), ("bus", "car")}


def test_names_of_systems_can_be_given():
    table = run_ok("compare", "gold.csv", "system.csv", "gold.csv", "--name", "lch", "--name", "the path")
    assert [line.split("  ")[0] for line in table.splitlines()[-2:]] == ["lch", "the path"]
    for command in ("test", "leaderboard"):
        assert "lch" in run_ok(command, "long_gold.csv", "long_a.csv", "--name", "lch")


@pytest.mark.parametrize("command", [["compare"], ["leaderboard"], ["test"], ["plot", "ranks", "--out", "a.png"]])
@pytest.mark.parametrize(
    ("gold", "system"),
    [("q1 0 a 2\nq1 0 b 0\n", "q1 Q0 a 1 9.5 bm25\n"), ("q1\tQ0\ta\t1\t9.5\tbm25\n", "q1\t0\ta\t2\n")],
)
def test_trec_files_give_a_hint_at_evaluate(command, gold, system):
    Path("first").write_text(gold)
    Path("second").write_text(system)
    message = refusal(*command, "first", "second")
    assert message.startswith("first:1: ")
    assert message.endswith("; this looks like a TREC file, which 'rankcorr evaluate QRELS RUN' reads")


def test_other_files_give_no_hint_at_evaluate():
    for text in ("a b c d\n", "a 0 b c\n", "a,b\n1,x\n", "", "a\tb\tc\td\te\tf\n"):
        Path("first").write_text(text)
        assert "TREC" not in refusal("compare", "first", "first")
    assert "TREC" not in refusal("compare", "-", "absent", stdin="q1 0 a 2\n")


def rows_of(*options):
    return run_json("compare", *FILES, *options)["systems"]


def weight_options(name, **options):
    """Options for a coefficient; unweighted ones have no n0."""
    return {"coefficient": name} | (options if name.endswith("_w") else {})


@pytest.mark.needs_numba
def test_defaults_are_those_of_the_library():
    def default(function, option):
        return inspect.signature(function).parameters[option].default

    options = run_json("compare", *FILES, "--ci", "--standardize", "--worst", 1)["options"]
    names = {"level": "level", "method": "method", "resamples": "n_resamples", "seed": "seed"}
    assert options["ci"] == {name: default(correlation_interval, option) for name, option in names.items()}
    assert options["standardize"] == {"resamples": default(permutation_test, "n_resamples"), "seed": 0}
    assert options["worst"] == {"k": 1, "coefficient": "tau_w"}


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--level", 0.5, "--seed", 3], {"level": 0.5, "seed": 3}),
        (["--method", "percentile"], {"method": "percentile"}),
    ],
)
def test_intervals_are_those_of_the_library(arguments, options):
    rows = rows_of("--ci", "--resamples", 60, "--n0", 1, *arguments)
    for row, scores in zip(rows, (A, B), strict=True):
        for name in COEFFICIENTS:
            expected = correlation_interval(
                GOLD_RANKING, scores, n_resamples=60, **with_coefficient(**weight_options(name, n0=1), **options)
            )
            fields = ("statistic", "low", "high", "standard_error", "jackknife_share", "jackknife_item")
            assert row["coefficients"][name] == {field: getattr(expected, field) for field in fields}
            assert row[name] == expected.statistic


def test_standardized_values_are_those_of_the_library():
    rows = rows_of("--standardize", "--resamples", 200, "--seed", 5, "--tied-weights", "expected")
    for row, scores in zip(rows, (A, B), strict=True):
        for name in COEFFICIENTS:
            coefficient = named_coefficient(name, tied_weights="expected")
            null = null_distribution(GOLD_RANKING, scores, coefficient=coefficient, n_resamples=200, seed=5)
            assert row["coefficients"][name] == {
                "statistic": row[name],
                "chance": null.mean,
                "standardized": null.standardize(row[name]),
                "percentile": null.percentile(row[name]),
                "zscore": null.zscore(row[name]),
            }


def test_the_long_table_has_all_figures():
    result = run(
        "compare", *FILES, "--ci", "--standardize", "--resamples", 100, "--level", 0.9, "--method", "percentile"
    )
    assert result.exit_code == 0
    interval = correlation_interval(GOLD_RANKING, A, coefficient="tau_w", n_resamples=39)
    assert f"rankcorr: note: {FILES[1]}: rho_w, tau_w: {interval.note}" in result.stderr.splitlines()
    results = correlate(GOLD_RANKING, A)
    lines = result.stdout.splitlines()
    assert lines[:5] == [
        "gold: long_gold.csv (20 items, 20 ties)",
        "standardized: chance averages 0; percentile: % of chance values below (100 permutations, seed 0)",
        "low, high: 90 % interval (percentile, 100 resamples of the items, seed 0)",
        "",
        "system      coefficient    value  standardized  percentile      low    high   n  ties",
    ]
    assert [line.split()[:2] for line in lines[5:]] == [[name, c] for name in FILES[1:] for c in COEFFICIENTS]
    for line, name in zip(lines[5:9], COEFFICIENTS, strict=True):
        options = {"coefficient": name, "n_resamples": 100}
        interval = correlation_interval(GOLD_RANKING, A, level=0.9, method="percentile", **with_coefficient(**options))
        null, value = null_distribution(GOLD_RANKING, A, **with_coefficient(**options)), results[name].statistic
        numbers = [f"{number:.4f}" for number in (value, null.standardize(value), interval.low, interval.high)]
        numbers.insert(2, f"{null.percentile(value):.2f}")
        assert line.split()[2:] == [*numbers, "20", str(Ranking.from_scores(A).n_ties)]


def test_columns_follow_the_options():
    header = run("compare", *FILES, "--ci", "--resamples", 40).stdout.splitlines()[3]
    assert header.split() == ["system", "coefficient", "value", "low", "high", "n", "ties"]
    header = run_ok("compare", *FILES, "--standardize", "--resamples", 1).splitlines()[3]
    assert header.split() == ["system", "coefficient", "value", "standardized", "percentile", "n", "ties"]


def test_all_permutations_of_few_items():
    assert "chance averages 0; percentile: % of chance values below (all permutations)\n" in run_ok(
        "compare", "gold.csv", "system.csv", "--standardize"
    )
    write_scores("more.csv", {label: number for number, label in enumerate([*GOLD, *"vwxyz"])})
    options = ("--standardize", "--missing", "bottom", "--resamples", 9)
    text = run_ok("compare", "gold.csv", "system.csv", "more.csv", *options)
    assert "(9 permutations, seed 0; all of 8 items or fewer)" in text


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_the_worst_items_are_those_of_the_library(coefficient):
    rows = rows_of("--worst", 3, "--coefficient", coefficient, "--n0", 1)
    for row, scores in zip(rows, (A, B), strict=True):
        expected = contributions(GOLD_RANKING, scores, **with_coefficient(**weight_options(coefficient, n0=1))).worst(3)
        assert row["worst"] == [
            {
                "label": item.label,
                "gold_rank": item.x_rank,
                "system_rank": item.y_rank,
                "weight": item.weight,
                "contribution": item.contribution,
                "cost": item.cost,
            }
            for item in expected
        ]


def test_no_item_has_a_cost_if_the_rankings_agree():
    assert run_ok("compare", "gold.csv", "gold.csv", "--worst", 2).endswith(
        "gold.csv: tau_w is 1: no item costs anything\n"
    )


def test_small_costs_keep_their_digits():
    # Two neighbours out of 400 swapped cost 2/79800 each in Kendall's tau.
    for name, swapped in (("x.csv", False), ("y.csv", True)):
        write_scores(name, {f"i{n}": float(n + swapped * 1.5 * (n == 0)) for n in range(400)})
    lines = run_ok("compare", "x.csv", "y.csv", "--worst", 1, "--coefficient", "tau").splitlines()
    assert lines[-1].split()[-1] == f"{1 / 79800:.2e}"


def test_ids_of_several_columns_are_joined(folder):
    (folder / "pairs.tsv").write_text("left\tright\tg\ts\na\tb\t3\t1\na\tc\t2\t2\nd\ta\t1\t3\n", encoding="utf-8")
    arguments = ("compare", "pairs.tsv", "pairs.tsv", "--id", "left,right", "--score", "g", "--score", "s")
    labels = [("a", "b"), ("a", "c"), ("d", "a")]
    gold, system = (Ranking.from_scores(scores, labels) for scores in ([3, 2, 1], [1, 2, 3]))
    expected = contributions(gold, system).worst(1)
    assert run_ok(*arguments, "--worst", 1).splitlines()[-1].startswith(f"{', '.join(expected[0].label)} ")


def test_undefined_coefficients_have_no_interval_and_no_costs():
    result = run("compare", "gold.csv", "constant.csv", "--ci", "--standardize", "--worst", 2)
    assert result.exit_code == 0
    assert len(result.stderr.splitlines()) == 1
    lines = result.stdout.splitlines()
    assert lines[5].split() == ["constant.csv", "rho_w", *["nan"] * 5, "5", "5"]
    assert lines[-1] == "constant.csv: tau_w is undefined, and cannot be taken apart"
    arguments = ("--ci", "--standardize", "--worst", 2, "--json")
    document = json.loads(run_ok("compare", "gold.csv", "constant.csv", *arguments))
    (row,) = document["systems"]
    assert row["worst"] is None
    assert [row[name] for name in COEFFICIENTS] == [None] * 4
    assert set(row["coefficients"]["tau"].values()) == {None}
    (note,) = document["warnings"]
    assert (note["system"], note["coefficients"]) == ("constant.csv", list(COEFFICIENTS))
    assert "undefined" in note["message"]


@pytest.mark.parametrize("command", ["compare", "test", "leaderboard"])
def test_a_column_of_ranks_is_never_read_as_scores(folder, command):
    order = {"x": 9.5, "y": 7, "z": 3, "v": 1}
    (folder / "export.csv").write_text(
        "item,rank,score\n" + "".join(f"{item},{rank},{score}\n" for rank, (item, score) in enumerate(order.items(), 1))
    )
    arguments = ["export.csv", "export.csv", "--id", "item", "--score", "score", "--score", "rank", "--json"]
    content = json.loads(run_ok(command, *arguments))
    (row,) = content["rows" if command == "leaderboard" else "systems"]
    assert row.get("tau_w", row.get("statistic", (row.get("total") or {}).get("statistic"))) == 1
    note = content["warnings"][0]
    message = 'export.csv: column "rank" is read as ranks (1 is best); rename it if larger numbers are better'
    assert note["message"] == message
    assert f"note: {message}" in run(command, *arguments[:-1]).stderr
