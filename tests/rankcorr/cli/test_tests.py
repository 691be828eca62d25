"""`rankcorr test`: p-values against chance and of paired tests are those of the library."""

import inspect
import json
import re

import pytest

from rankcorr import Ranking, UndefinedCorrelationWarning
from rankcorr._cli.console import pvalue_text
from rankcorr._output.results import json_ready
from rankcorr.inference._multiple_tests import holm
from rankcorr.inference._null import permutation_test
from rankcorr.inference._system_comparison import compare_systems
from tests.rankcorr.cli.conftest import CONSTANT, GOLD, LONG, SYSTEM, refusal, run, run_json, run_ok, write_scores
from tests.rankcorr.inference.cases import case_of_one_pair
from tests.results import with_coefficient

FILES = ("long_gold.csv", "long_a.csv", "long_b.csv", "long_c.csv")
GOLD_RANKING, A, B, C = (LONG[name] for name in FILES)
TIES = Ranking.from_scores(A).n_ties
pytestmark = pytest.mark.usefixtures("folder")


# Fields that the JSON shares with the library's result.
CHANCE_COLUMNS = ("statistic", "standardized", "percentile", "zscore", "pvalue")
PAIRED_COLUMNS = ("statistic_a", "statistic_b", "difference", "low", "high", "pvalue", "swap", "detectable", "fragile")
PAIRED_COLUMNS += ("least", "most")


def document(*arguments):
    return run_json("test", *arguments)


@pytest.mark.needs_numba
@pytest.mark.parametrize("function", [permutation_test, compare_systems])
def test_defaults_are_those_of_the_library(function):
    parameters = inspect.signature(function).parameters
    options = document(*FILES, *(["--versus"] if function is compare_systems else []))["options"]
    assert parameters["n_resamples"].default == options["resamples"]
    for name in ("alternative", "coefficient", "seed", *(["level"] if function is compare_systems else [])):
        assert options[name] == parameters[name].default


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--coefficient", "rho_w", "--n0", 1, "--alternative", "greater"], {"coefficient": "rho_w", "n0": 1}),
        (["--tied-weights", "expected", "--alternative", "less", "--seed", 7], {"tied_weights": "expected", "seed": 7}),
    ],
)
def test_tests_against_chance_are_those_of_the_library(arguments, options):
    alternative = arguments[arguments.index("--alternative") + 1] if "--alternative" in arguments else "two-sided"
    result = document(*FILES, "--resamples", 300, *arguments)
    for row, name in zip(result["systems"], FILES[1:], strict=True):
        expected = permutation_test(
            GOLD_RANKING, LONG[name], n_resamples=300, alternative=alternative, **with_coefficient(**options)
        )
        assert row == {
            "system": name,
            **{field: getattr(expected, field) for field in CHANCE_COLUMNS},
            "chance": expected.null.mean,
            "exact": False,
            "permutations": 300,
            "n": 20,
            "ties": Ranking.from_scores(LONG[name]).n_ties,
            "n_shared": 20,
            "n_other": 0,
        }
    assert result["warnings"] == []


def test_few_items_have_exact_tests():
    (row,) = document("gold.csv", "system.csv")["systems"]
    assert (row["exact"], row["permutations"], row["ties"]) == (True, 120, 2)
    assert row["pvalue"] == permutation_test(GOLD, SYSTEM).pvalue
    assert "tau_w against chance, two-sided (all permutations)\n" in run_ok("test", "gold.csv", "system.csv")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--coefficient", "rho", "--alternative", "greater"], {"coefficient": "rho", "alternative": "greater"}),
        (["--n0", 0, "--level", 0.5, "--seed", 3], {"n0": 0, "level": 0.5, "seed": 3}),
        (["--swap", "scores"], {"swap": "scores"}),
        (["--swap", "ranks"], {"swap": "ranks"}),
    ],
)
def test_paired_tests_are_those_of_the_library(arguments, options):
    result = document(*FILES, "--versus", "--resamples", 300, *arguments)
    expected = [
        compare_systems(GOLD_RANKING, A, other, n_resamples=300, **with_coefficient(**options)) for other in (B, C)
    ]
    corrected = holm([comparison.pvalue for comparison in expected])
    assert result["a"] == {"name": "long_a.csv", "n": 20, "ties": TIES}
    assert result["comparisons"] == [
        {
            "b": name,
            **{field: json_ready(getattr(comparison, field)) for field in PAIRED_COLUMNS},
            "corrected_pvalue": corrected_pvalue,
            "exact": False,
            "n": 20,
        }
        for name, comparison, corrected_pvalue in zip(FILES[2:], expected, corrected, strict=True)
    ]


def test_the_table_of_paired_tests():
    lines = run_ok("test", *FILES, "--versus", "--resamples", 300, "--level", 0.9).splitlines()
    results = [compare_systems(GOLD_RANKING, A, other, n_resamples=300, level=0.9) for other in (B, C)]
    swapped = " or ".join(dict.fromkeys(comparison.swap for comparison in results))
    assert lines[:7] == [
        "gold: long_gold.csv (20 items, 20 ties)",
        f"a: long_a.csv (20 items, {TIES} ties)",
        f"p: two-sided, paired test of tau_w (300 random swaps of {swapped}, seed 0); corrected by Holm",
        "low, high: 90 % interval of a - b, by the same test",
        "detectable: smallest true difference that the test finds four times out of five",
        "",
        "b           tau_w of a     of b   a - b      low    high  p (two-sided)  p (Holm)  detectable   n",
    ]
    fragile = [name for name, comparison in zip(FILES[2:], results, strict=True) if comparison.fragile]
    decides = "one item decides whether p is at most 0.1"
    assert [line.split(": ")[:2] for line in lines[9:]] == [[name, decides] for name in fragile]


def test_the_item_that_decides_is_named():
    for name, scores in zip(("gold", "good", "poor"), case_of_one_pair(), strict=True):
        write_scores(f"{name}.csv", scores)
    arguments = ("gold.csv", "good.csv", "poor.csv", "--versus", "--resamples", 2_000)
    expected = compare_systems(*case_of_one_pair(), n_resamples=2_000)
    lines = run_ok("test", *arguments).splitlines()
    assert f"  {expected.detectable:.4f}  14" in lines[-2]
    least = expected.least
    assert lines[-1] == (
        f"poor.csv: one item decides whether p is at most 0.05: without {least.label} the difference is "
        f"{least.difference:.4f}, p {pvalue_text(least.pvalue)}"
    )
    assert least.label == "tiger tiger"
    (row,) = document(*arguments)["comparisons"]
    assert (row["fragile"], row["least"], row["most"]) == (True, json_ready(least), json_ready(expected.most))


def test_the_kind_of_exchange_is_printed():
    arguments = (*FILES[:3], "--versus", "--resamples", 50, "--swap", "scores")
    assert "paired test of tau_w (50 random swaps of scores, seed 0)\n" in run_ok("test", *arguments)
    output = run_ok("test", *FILES, "--resamples", 50, "--alternative", "greater")
    assert "\ntau_w against chance, greater (50 permutations, seed 0)\n" in output
    assert document(*arguments)["options"]["swap"] == "scores"
    assert document(*FILES[:3], "--versus", "--resamples", 50)["options"]["swap"] == "auto"
    ranks = document(*FILES[:3], "--versus", "--resamples", 50, "--ranks")["comparisons"]
    assert [row["swap"] for row in ranks] == ["ranks"]
    message = refusal("test", *arguments, "--ranks")
    assert message.startswith("long_gold.csv, long_a.csv and long_b.csv: ")
    assert "--swap scores exchanges scores, but a has only ranks; give its scores" in message


def test_one_paired_test_has_no_correction():
    text = run_ok("test", *FILES[:3], "--versus", "--resamples", 50)
    assert "Holm" not in text
    (row,) = document(*FILES[:3], "--versus", "--resamples", 50)["comparisons"]
    assert row["corrected_pvalue"] == row["pvalue"]


@pytest.mark.needs_numba
def test_few_items_have_exact_paired_tests():
    second = {"a": 1, "b": 5, "c": 2, "d": 4, "e": 3}
    write_scores("second.csv", second)
    arguments = ("gold.csv", "system.csv", "second.csv", "--versus", "--resamples", 40)
    result = run("test", *arguments)
    expected = compare_systems(GOLD, SYSTEM, second, n_resamples=40)
    assert f"paired test of tau_w (all swaps of {expected.swap})\n" in result.stdout
    (row,) = document(*arguments)["comparisons"]
    assert (row["exact"], row["pvalue"]) == (True, expected.pvalue)
    write_scores("more.csv", {"v" * n: n for n in range(1, 14)})
    mixed = run("test", "gold.csv", "system.csv", "second.csv", "more.csv", "--versus", "--missing", "bottom")
    assert re.search(r"\(10,000 random swaps of [a-z ]+, all of 12 items or fewer, seed 0\)", mixed.stdout)


@pytest.mark.parametrize("versus", [[], ["--versus"]])
def test_undefined_is_nan_with_a_note(versus):
    result = run("test", "gold.csv", "constant.csv", "system.csv", *versus)
    assert result.exit_code == 0
    (note,) = result.stderr.splitlines()
    assert note.startswith(f"rankcorr: note: {'system.csv' if versus else 'constant.csv'}: tau_w: the correlation is ")
    row = result.stdout.splitlines()[-1 if versus else -2].split()
    assert row.count("nan") == 4
    assert row.count("-") == 1 + bool(versus)
    content = document("gold.csv", "constant.csv", "system.csv", *versus)
    assert content["comparisons" if versus else "systems"][0]["pvalue"] is None
    function = compare_systems if versus else permutation_test
    with pytest.warns(UndefinedCorrelationWarning) as caught:
        function(GOLD, CONSTANT, *([SYSTEM] if versus else []))
    assert [note["message"] for note in content["warnings"]] == [str(warning.message) for warning in caught]


def test_missing_items_are_passed_on():
    less = {"b": 9, "a": 4, "c": 5}
    write_scores("less.csv", less)
    (row,) = document("gold.csv", "less.csv", "--missing", "intersection")["systems"]
    assert (row["pvalue"], row["n"]) == (permutation_test(GOLD, less, missing="intersection").pvalue, 3)
    result = run("test", "gold.csv", "system.csv", "less.csv", "--missing", "intersection", "--versus", "--json")
    (row,) = json.loads(result.stdout)["comparisons"]
    expected = compare_systems(GOLD, SYSTEM, less, missing="intersection")
    assert (row["pvalue"], row["low"], row["n"]) == (expected.pvalue, expected.low, 3)


def test_json_records_the_options():
    options = document(*FILES, "--coefficient", "tau", "--resamples", 9)["options"]
    expected = {"coefficient": "tau", "alternative": "two-sided", "resamples": 9, "seed": 0}
    of_compare = run_json("compare", *FILES)["options"]  # covered by its own tests
    assert options == {**of_compare, "n0": None, **expected}  # tau has no n0
    assert document(*FILES, "--versus", "--level", 0.8, "--resamples", 9)["options"]["level"] == 0.8


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(1.0, "1.0000"), (0.001, "0.0010"), (0.00099, "9.9e-04"), (1e-7, "1.0e-07"), (0.0, "0.0000"), (float("nan"), "-")],
)
def test_pvalues_keep_their_digits(pvalue, text):
    assert pvalue_text(pvalue) == text


@pytest.mark.parametrize("command", ["compare", "test", "test --versus", "leaderboard"])
def test_a_system_is_not_compared_with_itself(command):
    message = refusal(*command.split(), "gold.csv", "system.csv", "system.csv")
    assert message == "each system can be given only once; repeated: system.csv"
    message = refusal(*command.split(), *["gold.csv"] * 3, *("--score", "score") * 3)
    assert message == "each system can be given only once; repeated: gold.csv:score"
