"""`rankcorr compare` with --ci, --standardize and --worst: the numbers are those of the library."""

import inspect
import json

import pytest

from rankcorr import Ranking, correlate
from rankcorr.cli.details import CI_RESAMPLES, PERMUTATIONS
from rankcorr.coefficients import named_coefficient
from rankcorr.contributions import contributions
from rankcorr.inference.bootstrap import bootstrap_interval
from rankcorr.inference.null import null_distribution
from tests.coefficients import collapsed
from tests.rankcorr.cli.commands import GOLD, LONG, SYSTEM, refusal, run, run_ok, write_rankings

COEFFICIENTS = ("rho_w", "tau_w", "rho", "tau")
FILES = ("long_gold.csv", "long_a.csv", "long_b.csv")
GOLD_RANKING, A, B = (LONG[name] for name in FILES)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rankings(tmp_path)
    return tmp_path


def rows_of(*options, files=FILES):
    return json.loads(run_ok("compare", *files, *options, "--json"))["systems"]


def weighing(name, **options):
    """Options for a coefficient; the plain ones take no n0."""
    return {"coefficient": name} | (options if name.endswith("_w") else {})


@pytest.mark.needs_numba
def test_defaults_are_those_of_the_library():
    def default(function, option):
        return inspect.signature(function).parameters[option].default

    assert default(bootstrap_interval, "n_resamples") == CI_RESAMPLES
    assert default(null_distribution, "n_resamples") == PERMUTATIONS
    options = json.loads(run_ok("compare", *FILES, "--ci", "--standardize", "--worst", 1, "--json"))["options"]
    names = {"level": "level", "method": "method", "resamples": "n_resamples", "seed": "seed"}
    assert options["ci"] == {name: default(bootstrap_interval, option) for name, option in names.items()}
    assert options["standardize"] == {"resamples": PERMUTATIONS, "seed": 0}
    assert options["worst"] == {"k": 1, "coefficient": "tau_w"}


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--level", 0.5, "--seed", 3], {"level": 0.5, "seed": 3}),
        (["--method", "percentile"], {"method": "percentile"}),
        (["--method", "bca"], {"method": "bca"}),
    ],
)
def test_intervals_are_those_of_the_library(arguments, options):
    rows = rows_of("--ci", "--resamples", 60, "--n0", 1, *arguments)
    for row, scores in zip(rows, (A, B), strict=True):
        for name in COEFFICIENTS:
            expected = bootstrap_interval(
                GOLD_RANKING, scores, n_resamples=60, **collapsed(**weighing(name, n0=1), **options)
            )
            assert row["coefficients"][name] == {
                "statistic": expected.statistic,
                "low": expected.low,
                "high": expected.high,
                "standard_error": expected.standard_error,
            }
            assert row[name] == expected.statistic


def test_standardized_values_are_those_of_the_library():
    rows = rows_of("--standardize", "--resamples", 200, "--seed", 5, "--tied-weights", "expected")
    for row, scores in zip(rows, (A, B), strict=True):
        for name in COEFFICIENTS:
            null = null_distribution(
                GOLD_RANKING,
                scores,
                coefficient=named_coefficient(name, tied_weights="expected"),
                n_resamples=200,
                seed=5,
            )
            assert row["coefficients"][name] == {
                "statistic": row[name],
                "chance": null.mean,
                "standardized": null.standardize(row[name]),
                "percentile": null.percentile(row[name]),
                "zscore": null.zscore(row[name]),
            }


def test_the_long_table():
    table = run_ok("compare", *FILES, "--ci", "--standardize", "--resamples", 100, "--level", 0.9, "--method", "bca")
    results = correlate(GOLD_RANKING, A)
    lines = table.splitlines()
    assert lines[:5] == [
        "gold: long_gold.csv (20 items, 20 ties)",
        "standardized: chance is 0; percentile: per cent of chance below the value (100 permutations, seed 0)",
        "low, high: 90 % interval (bca, 100 resamples of the items, seed 0)",
        "",
        "system      coefficient    value  standardized  percentile      low    high   n  ties",
    ]
    assert [line.split()[:2] for line in lines[5:]] == [[name, c] for name in FILES[1:] for c in COEFFICIENTS]
    for line, name in zip(lines[5:9], COEFFICIENTS, strict=True):
        options = {"coefficient": name, "n_resamples": 100}
        interval = bootstrap_interval(GOLD_RANKING, A, level=0.9, method="bca", **collapsed(**options))
        null, value = null_distribution(GOLD_RANKING, A, **collapsed(**options)), results[name].statistic
        numbers = [f"{number:.4f}" for number in (value, null.standardize(value), interval.low, interval.high)]
        numbers.insert(2, f"{null.percentile(value):.2f}")
        assert line.split()[2:] == [*numbers, "20", str(Ranking.from_scores(A).n_ties)]


def test_columns_are_what_was_asked_for():
    header = run_ok("compare", *FILES, "--ci", "--resamples", 20).splitlines()[3]
    assert header.split() == ["system", "coefficient", "value", "low", "high", "n", "ties"]
    header = run_ok("compare", *FILES, "--standardize", "--resamples", 1).splitlines()[3]
    assert header.split() == ["system", "coefficient", "value", "standardized", "percentile", "n", "ties"]


def test_all_permutations_of_few_items(folder):
    assert "chance is 0; percentile: per cent of chance below the value (all permutations)\n" in run_ok(
        "compare", "gold.csv", "system.csv", "--standardize"
    )
    long = "".join(f"{label},{number}\n" for number, label in enumerate([*GOLD, *"vwxyz"]))
    (folder / "more.csv").write_text("id,score\n" + long, encoding="utf-8")
    text = run_ok(
        "compare", "gold.csv", "system.csv", "more.csv", "--standardize", "--missing", "bottom", "--resamples", 9
    )
    assert "(9 permutations, seed 0; all of 8 items or fewer)" in text


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_the_worst_items_are_those_of_the_library(coefficient):
    rows = rows_of("--worst", 3, "--coefficient", coefficient, "--n0", 1)
    for row, scores in zip(rows, (A, B), strict=True):
        expected = contributions(GOLD_RANKING, scores, **collapsed(**weighing(coefficient, n0=1))).worst(3)
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


def test_the_worst_items_below_the_table():
    lines = run_ok("compare", "gold.csv", "system.csv", "gold.csv", "--worst", 2).splitlines()
    parts = contributions(GOLD, SYSTEM)
    first, second = parts.worst(2)
    assert lines[:5] == run_ok("compare", "gold.csv", "system.csv", "gold.csv").splitlines()
    assert lines[5:8] == [
        "",
        f"system.csv: 2 of 5 items cost {first.cost + second.cost:.4f} of the {1 - parts.statistic:.4f} "
        "that tau_w is short of 1",
        "item  gold rank  system rank  weight  contribution    cost",
    ]
    # By hand: a and c share the second place of the system, b comes before them.
    assert [line.split()[:3] for line in lines[8:10]] == [["a", "1", "2.5"], ["b", "2", "1"]]
    assert lines[8].split()[3:] == [f"{each:.4f}" for each in (first.weight, first.contribution, first.cost)]
    assert lines[10:] == ["", "gold.csv: tau_w is 1: no item costs anything"]


def test_small_costs_keep_their_digits(folder):
    # Two neighbours out of 400 swapped cost 2/79800 each in Kendall's tau.
    for name, swapped in (("x.csv", False), ("y.csv", True)):
        scores = {f"i{n}": float(n + swapped * 1.5 * (n == 0)) for n in range(400)}
        text = "id,score\n" + "".join(f"{label},{score}\n" for label, score in scores.items())
        (folder / name).write_text(text, encoding="utf-8")
    lines = run_ok("compare", "x.csv", "y.csv", "--worst", 1, "--coefficient", "tau").splitlines()
    assert lines[-1].split()[-1] == f"{1 / 79800:.2e}"


def test_ids_of_several_columns(folder):
    (folder / "pairs.tsv").write_text("left\tright\tg\ts\na\tb\t3\t1\na\tc\t2\t2\nd\ta\t1\t3\n", encoding="utf-8")
    arguments = ("compare", "pairs.tsv", "pairs.tsv", "--id", "left,right", "--score", "g", "--score", "s")
    (row,) = json.loads(run_ok(*arguments, "--worst", 1, "--json"))["systems"]
    expected = contributions(
        Ranking.from_scores([3, 2, 1], [("a", "b"), ("a", "c"), ("d", "a")]),
        Ranking.from_scores([1, 2, 3], [("a", "b"), ("a", "c"), ("d", "a")]),
    ).worst(1)
    assert [tuple(item["label"]) for item in row["worst"]] == [item.label for item in expected]
    assert run_ok(*arguments, "--worst", 1).splitlines()[-1].startswith(f"{', '.join(expected[0].label)} ")


def test_undefined_has_neither_interval_nor_costs():
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
    assert set(row["coefficients"]["tau"].values()) == {None}
    assert [note["coefficients"] for note in document["warnings"]] == [list(COEFFICIENTS)]


def test_resamples_left_out_are_noted_once_for_all_coefficients():
    result = run("compare", "gold.csv", "system.csv", "--ci", "--method", "percentile", "--resamples", 5000)
    with pytest.warns(UserWarning, match="resamples, which are left out") as caught:
        interval = bootstrap_interval(GOLD, SYSTEM, method="percentile", n_resamples=5000)
    assert interval.n_undefined > 0
    left_out = [str(each.message) for each in caught if "left out" in str(each.message)]
    lines = [line for line in result.stderr.splitlines() if "left out" in line]
    assert lines == [f"rankcorr: note: system.csv: rho_w, tau_w, rho, tau: {message}" for message in left_out]
    options = ("--ci", "--method", "percentile", "--resamples", 5000, "--json")
    document = json.loads(run_ok("compare", "gold.csv", "system.csv", *options))
    assert {"system": "system.csv", "coefficients": list(COEFFICIENTS), "message": left_out[0]} in document["warnings"]


def test_missing_items_are_passed_on(folder):
    (folder / "less.csv").write_text("id,score\nb,9\na,4\nx,5\n", encoding="utf-8")
    options = ("--missing", "bottom", "--standardize", "--worst", 1)
    (row,) = json.loads(run_ok("compare", "gold.csv", "less.csv", *options, "--json"))["systems"]
    less = {"b": 9, "a": 4, "x": 5}
    null = null_distribution(GOLD, less, missing="bottom")
    assert row["coefficients"]["tau_w"]["chance"] == null.mean
    assert row["worst"][0]["label"] == contributions(GOLD, less, missing="bottom").worst(1)[0].label


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--worst 0", "Invalid value for '--worst': 0 is not in the range"),
        ("--worst x", "Invalid value for '--worst': 'x' is not a valid integer"),
        ("--worst 2 --coefficient ap", "'ap' is not one of 'rho_w', 'tau_w', 'rho', 'tau'"),
        ("--coefficient tau", "--coefficient belongs to --worst, which is missing"),
        ("--ci --coefficient tau", "--coefficient belongs to --worst, which is missing"),
        ("--level 0.9", "--level belongs to --ci, which is missing"),
        ("--standardize --level 0.9", "--level belongs to --ci, which is missing"),
        ("--method bca", "--method belongs to --ci, which is missing"),
        ("--worst 1 --seed 1", "--seed belongs to --ci or --standardize, which is missing"),
        ("--resamples 10", "--resamples belongs to --ci or --standardize, which is missing"),
        ("--ci --resamples 0", "Invalid value for '--resamples': 0 is not in the range"),
        ("--ci --resamples 10000001", "Invalid value for '--resamples': 10000001 is not in the range"),
        ("--ci --seed -1", "Invalid value for '--seed': -1 is not in the range"),
        ("--ci --level 1", "'--level': the level must be a number between 0 and 1, both excluded; got 1.0"),
        ("--ci --level 0", "'--level': the level must be a number between 0 and 1, both excluded; got 0.0"),
        ("--ci --level nan", "'--level': the level must be a number between 0 and 1, both excluded; got nan"),
        ("--ci --level high", "Invalid value for '--level': 'high' is not a valid float"),
        ("--ci --method basic", "'basic' is not one of 'copula', 'percentile', 'bca'"),
    ],
)
def test_refusals(arguments, message):
    assert message in refusal("compare", "gold.csv", "system.csv", *arguments.split(" "))


@pytest.mark.needs_numba
@pytest.mark.real_data
def test_the_chance_level_of_a_real_list(data_dir):
    path = data_dir / "EN-RG-65_wordnet30.tsv"
    columns = ("--id", "word1,word2", "--score", "gold", "--score", "path", "--score", "wup")
    rows = json.loads(run_ok("compare", path, path, path, *columns, "--standardize", "--json"))["systems"]
    for row in rows:
        found = row["coefficients"]
        assert found["tau_w"]["chance"] < -0.3
        assert found["tau_w"]["standardized"] > row["tau_w"] + 0.1
        assert found["tau"]["standardized"] == row["tau"]  # equal weights: chance is 0 already
