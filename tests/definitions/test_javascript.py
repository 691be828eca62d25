"""JavaScript that was written only from the formulas in docs/reference gives the numbers of the library."""

import json
import math
import random
import re
import shutil
import subprocess
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankcorr import (
    Ranking,
    UndefinedCorrelationWarning,
    WeightError,
    compare_systems,
    contributions,
    holm,
    item_weights,
    permutation_test,
)
from rankcorr._checks import ALTERNATIVES
from rankcorr._coefficients import COEFFICIENTS, VARIANTS, named_coefficient
from rankcorr._ranking import MISSING
from rankcorr._weights import SCHEMES, TIED_WEIGHTS, WEIGHERS, named_weigher
from rankcorr._workers import Draws
from rankcorr.evaluation._comparison.query_tests import RANDOMIZATION, effect_sizes, pvalues
from tests.repository import PAGES

PROGRAM = Path(__file__).with_name("definitions.js")
X, Y = [9, 7, 7, 5, 3, 1], [8, 8, 6, 2, 5, 2]  # the worked example
EXAMPLES = [{"coefficient": "tau_w"}, {"coefficient": "tau_w", "variant": "a"}]
EXAMPLES += [{"coefficient": name} for name in ("rho_w", "tau", "rho")]
NAMES = {"coefficient": "statistic", "chance": "mean"}
NAMES |= {f"`{name}`": name for name in ("std", "exponent", "standardized", "zscore", "percentile")}
NAMES |= {'p, "greater"': "greater", 'p, "two-sided"': "pvalue"}

pytestmark = [pytest.mark.wide, pytest.mark.needs_numba]


def draw_scores(rng, n_items):
    """Scores on two to four levels, or on many, so that ties of every kind are common."""
    levels = rng.choice([1, 2, 3, 2 * n_items])
    return [rng.randint(0, levels) for _ in range(n_items)]


def draw_options(rng):
    names = [":".join([name, *("2" for _ in fields(kind))]) for name, kind in WEIGHERS.items()]
    weigher = rng.choice([None, None, None, *names])
    return {
        "coefficient": rng.choice(COEFFICIENTS),
        "scheme": rng.choice(SCHEMES),
        "tied_weights": rng.choice(TIED_WEIGHTS),
        "variant": rng.choice(VARIANTS),
        **({"n0": rng.choice([-0.9, 0, 2, 10, 300.5])} if weigher is None else {"weigher": weigher}),
    }


def draw_rankings(rng):
    """Two rankings of two to eight labels, at least two of them shared."""
    labels = rng.sample("abcdefgh", 8)
    n_common = rng.randint(2, 4)
    start, stop = sorted(rng.choices(range(n_common, 7), k=2))
    sides = labels[:start], rng.sample(labels[:n_common] + labels[start:stop], n_common + stop - start)
    return [dict(zip(side, draw_scores(rng, len(side)), strict=True)) for side in sides]


def questions():
    rng = random.Random(0)
    result = [{"x": X, "y": Y, "chance": True, **example} for example in EXAMPLES]
    for n_items in [*range(2, 7)] * 30 + [7, 7, 8] + [*range(9, 40)] * 3:
        x, y = draw_scores(rng, n_items), draw_scores(rng, n_items)
        result.append({"x": x, "y": y, "chance": n_items <= 8, **draw_options(rng)})
    for missing in MISSING[1:] * 20:
        x, y = draw_rankings(rng)
        result.append({"x": x, "y": y, "missing": missing, **draw_options(rng)})
    systems = []
    for n_items in [*range(3, 8)] * 6:
        sides = {name: draw_scores(rng, n_items) for name in ("gold", "a", "b")}
        systems.append({**sides, "alternative": rng.choice(ALTERNATIVES), **draw_options(rng)})
    runs = [{"differences": [rng.randint(-3, 5) / 7 for _ in range(n)]} for n in [*range(2, 11)] * 3]
    shares = [[rng.randint(0, 20) / 20 for _ in range(n)] for n in range(1, 20)]
    return {"correlations": result, "systems": systems, "runs": runs, "holm": shares}


@pytest.fixture(scope="module")
def answers():
    """Questions with the answers of the program, by kind."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    cases = questions()
    run = subprocess.run([node, PROGRAM], input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    answers_ = json.loads(run.stdout)
    return {kind: list(zip(cases[kind], answers_[kind], strict=True)) for kind in cases}


def coefficient_of(question):
    names = ("scheme", "tied_weights", "variant", "n0")
    options = {name: question[name] for name in names if name in question}
    if "weigher" in question:
        options["weigher"] = named_weigher(question["weigher"])
    return named_coefficient(question["coefficient"], **options)


def check_figures(question, answer, figures_of_library):
    """Compare the figures of the program with those of the library; its null is nan."""
    for name, number in answer.items():
        expected = math.nan if number is None else number
        assert_allclose(figures_of_library[name], expected, rtol=1e-12, atol=1e-12, err_msg=f"{name} of {question}")


def figures(x, y, coefficient):
    """Figures of a test against chance; nan for an exponent that is too large for standardized values."""
    test = permutation_test(x, y, coefficient=coefficient)
    null = test.null
    result = {name: getattr(test, name) for name in ("statistic", "standardized", "percentile", "zscore", "pvalue")}
    result |= {name: getattr(null, name) for name in ("mean", "std", "n_undefined")}
    result |= {side: null.pvalue(test.statistic, side) for side in ("greater", "less")}
    return {**result, "exponent": math.nan if null.saturates else null.exponent}


def test_correlations_and_chance_agree(answers):
    n_saturated = n_without = 0
    for question, answer in answers["correlations"]:
        coefficient, scores = coefficient_of(question), (question["x"], question["y"])
        missing = question.get("missing", "raise")
        with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
            try:
                result = {"statistic": coefficient(*scores, missing=missing).statistic}
            except WeightError:  # no item has weight
                n_without += 1
                assert answer["statistic"] is None
                continue
            if question.get("chance"):
                result = figures(*scores, coefficient)
            else:
                result["cost"] = contributions(*scores, coefficient=coefficient, missing=missing).cost
        n_saturated += math.isnan(result.get("exponent", 0.0))
        check_figures(question, answer, result)
    assert min(n_saturated, n_without) > 0


def test_comparisons_of_two_systems_agree(answers):
    n_tested = 0
    for question, answer in answers["systems"]:
        lists = [question[name] for name in ("gold", "a", "b")]
        options = {"coefficient": coefficient_of(question), "alternative": question["alternative"], "swap": "scores"}
        with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
            try:
                result = compare_systems(*lists, **options, n_resamples=100)
            except WeightError:
                assert answer["difference"] is None
                continue
        n_tested += answer["pvalue"] is not None
        check_figures(question, answer, {name: getattr(result, name) for name in answer})
    assert n_tested > 10


def test_comparisons_of_two_runs_agree(answers):
    assert len(answers["runs"]) > 10
    for question, answer in answers["runs"]:
        column = np.array(question["differences"])[:, np.newaxis]
        tail = pvalues(column, RANDOMIZATION, Draws(100, 0))[0]
        check_figures(question, answer, {"pvalue": tail, "effect_size": effect_sizes(column)[0]})


def test_corrections_by_holm_agree(answers):
    for question, answer in answers["holm"]:
        assert_allclose(holm(question), answer, rtol=0, atol=1e-12)


def table(head):
    """Rows of numbers, by their first cells, of the table whose header begins with `head`."""
    page = PAGES["docs/reference/definitions.md"].replace("\N{MINUS SIGN}", "-")
    (rows,) = re.findall(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [row.strip("|").split("|") for row in rows.splitlines()]
    return {first.strip(): [float(cell) for cell in rest] for first, *rest in cells}


def test_the_page_shows_the_numbers_of_its_example():
    columns = [Ranking.from_scores(X).ranks, Ranking.from_scores(Y).ranks, item_weights(X, Y)]
    assert_allclose(list(table("item").values()), np.column_stack(columns), rtol=0, atol=1e-12)
    result = [figures(X, Y, coefficient_of(example)) for example in EXAMPLES]
    numbers_by_figure = table("figure")
    assert list(numbers_by_figure) == list(NAMES)
    for name, numbers in numbers_by_figure.items():
        assert_allclose(numbers, [values[NAMES[name]] for values in result], rtol=0, atol=1e-12, err_msg=name)
