"""Common features of results: equality and hash by content, read-only arrays, dicts, frames and notebook tables."""

import datetime
import json
import math
import re
import sys
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
import pytest

import rankcorr
from rankcorr import MissingPandasError, UndefinedCorrelationWarning
from rankcorr._output.results import Computed, Result, TableResult, json_ready
from rankcorr._output.tables import MAX_HTML_ROWS, latex_table
from rankcorr._shares import weight_table
from rankcorr.evaluation import compare_runs
from rankcorr.measures import mean_pairwise_agreement, rank_biased_overlap
from tests.results import check_copies, check_equality

RNG = np.random.default_rng(0)
GOLD, A, B = (RNG.normal(size=12) for _ in range(3))
LABELS = [f"item <{number}>" for number in range(12)]


def label_scores(scores):
    return dict(zip(LABELS, scores.tolist(), strict=True))


def agreement(system):
    return mean_pairwise_agreement({"ann <1>": GOLD, "bob": system, "cat": B + GOLD})


MAKERS = {
    "RankCorrelations": lambda system: rankcorr.correlate_many(GOLD, {"a": system, "gold": GOLD}),
    "matrix": lambda system: rankcorr.correlation_matrix({"gold": label_scores(GOLD), "a": label_scores(system)}),
    "Contributions": lambda system: rankcorr.contributions(label_scores(GOLD), label_scores(system)),
    "CoefficientBounds": lambda system: rankcorr.coefficient_bounds(
        label_scores(GOLD), label_scores(system), coefficient="tau", n_items=14
    ),
    "NullDistribution": lambda system: rankcorr.null_distribution(GOLD, system.round(0), n_resamples=50),
    "PermutationTest": lambda system: rankcorr.permutation_test(GOLD, system, n_resamples=50),
    "CorrelationInterval": lambda system: rankcorr.correlation_interval(GOLD, system, n_resamples=50),
    "SystemComparison": lambda system: rankcorr.compare_systems(GOLD, system, GOLD, n_resamples=50),
    "Leaderboard": lambda system: rankcorr.leaderboard(GOLD, {"a": system, "gold": GOLD}, n_resamples=50),
    "ItemContribution": lambda system: rankcorr.contributions(label_scores(GOLD), label_scores(system)).worst(1)[0],
    "PairwiseAgreement": agreement,
    "RankBiasedOverlap": lambda system: rank_biased_overlap(label_scores(GOLD), label_scores(system)),
    "WeightTable": lambda system: weight_table(abs(float(system[0])), n_items=12),
}
CASES = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@CASES
def test_each_result_is_a_value(make):
    result = make(A)
    check_equality(result, make(A), make(B))
    check_copies(result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


def subclasses(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_no_result_overrides_equality():
    overriding = [kind.__name__ for kind in subclasses(Result) if "__eq__" in vars(kind)]
    assert overriding == []


def test_nan_equals_nan_in_a_result():
    with pytest.warns(UndefinedCorrelationWarning):
        one, again = (rankcorr.correlate_many([1, 2, 3], [[1, 1, 1]]) for _ in range(2))
    assert math.isnan(one.statistic[0])
    assert one == again
    assert hash(one) == hash(again)


def test_results_with_different_options_differ_even_if_the_numbers_agree():
    one = rankcorr.correlate_many([1, 2, 3], [[1, 2, 3]], coefficient="tau")
    other = rankcorr.correlate_many([1, 2, 3], [[1, 2, 3]], coefficient="rho")
    assert one.statistic.tolist() == other.statistic.tolist()
    assert one != other


# Tables

TABLES = ["RankCorrelations", "matrix", "Contributions", "Leaderboard", "PairwiseAgreement", "WeightTable"]


@pytest.mark.parametrize("name", TABLES)
def test_results_with_a_table_become_dicts_frames_and_html(name):
    result = MAKERS[name](A)
    assert isinstance(result, TableResult)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    html = result._repr_html_()
    assert html.count("<tr>") == len(frame) + 1
    assert "item <" not in html
    assert "<1>" not in html
    columns = len(result._columns())
    assert [line.count(" | ") for line in result.to_markdown().splitlines()] == [columns - 1] * (len(frame) + 2)
    body = [line for line in result.to_latex().splitlines() if line.endswith(r" \\")]
    assert [line.count(" & ") for line in body] == [columns - 1] * (len(frame) + 1)


def test_names_cannot_break_tables():
    result = rankcorr.correlate_many(GOLD, {"a|b_1 {100 %}": A})
    assert r"| a\|b_1 {100 %} |" in result.to_markdown()
    assert r"a|b\_1 \{100 \%\} &" in result.to_latex()
    assert r"\textbackslash{}\textasciicircum{}" in rankcorr.correlate_many(GOLD, {"\\^": A}).to_latex()


def test_frames_hold_the_numbers():
    many = MAKERS["RankCorrelations"](A)
    assert many.to_frame().to_dict("list") == {"name": ["a", "gold"], "tau_w": many.statistic.tolist()}
    matrix = MAKERS["matrix"](A)
    assert matrix.to_frame().loc["gold", "a"] == matrix.statistic[0, 1]
    unnamed = rankcorr.correlation_matrix([GOLD, A])
    assert unnamed.to_frame().loc[1, 0] == unnamed.statistic[1, 0]
    parts = MAKERS["Contributions"](A)
    frame = parts.to_frame()
    assert frame["item"].tolist() == LABELS
    assert frame["contribution"].sum() == pytest.approx(parts.statistic, abs=1e-12)
    frame.loc[0, "cost"] = 5  # each call returns a new frame
    assert parts.cost[0] != 5
    board = MAKERS["Leaderboard"](A)
    assert board.to_frame()["system"].tolist() == ["gold", "a"]
    missing = rankcorr.correlate_many(label_scores(GOLD), {"half": label_scores(A[:12])}, missing="bottom").to_frame()
    assert missing.columns.tolist() == ["name", "tau_w", "n_items", "n_missing"]


def test_frames_of_measures_hold_the_numbers():
    agreed = MAKERS["PairwiseAgreement"](A)
    expected = {"annotator": ["ann <1>", "bob", "cat"], "with_others": agreed.with_others.tolist()}
    assert agreed.to_frame().to_dict("list") == expected
    table = weight_table(2, top=3)
    assert table.to_frame().to_dict("records") == [asdict(rank) for rank in table.ranks]
    assert table._repr_html_().startswith("<p>weights at n0 = 2, an endless list</p>")
    assert weight_table(2, n_items=1_000)._repr_html_().startswith("<p>weights at n0 = 2, 1,000 items</p>")


def test_the_notebook_table_of_a_matrix_has_every_name_once():
    rows = [GOLD, A, B]
    html = rankcorr.correlation_matrix(dict(zip(["name", 1, 2], rows, strict=True)))._repr_html_()
    assert re.findall("<th>(.*?)</th>", html) == ["", "name", "1", "2"]
    assert [row.count("<td") for row in html.split("<tr>")[2:]] == [4, 4, 4]
    assert "<td>name</td>" in html


def test_notebooks_show_results_without_a_table_by_their_values():
    comparison = rankcorr.compare_systems(GOLD, A, B)
    html = comparison._repr_html_()
    assert f'<tr><td>difference</td><td style="text-align: right">{comparison.difference:.4g}</td></tr>' in html
    assert "<td>most</td>" not in html  # a nested result
    items = rankcorr.contributions(label_scores(GOLD), label_scores(A)).worst(3)
    assert isinstance(items, tuple)
    assert items._repr_html_().count("<tr>") == 4
    assert "<th>label</th>" in items._repr_html_()
    assert items[:0] == ()


def test_a_notebook_shows_a_leaderboard_of_one_gold_set_without_its_sum():
    names = re.findall("<th>(.*?)</th>", MAKERS["Leaderboard"](A)._repr_html_())
    assert [name for name in MAKERS["Leaderboard"](A).table()[0] if name not in names] == ["sum", "mean", "n_missing"]


def test_long_tables_are_truncated_in_a_notebook():
    many = rankcorr.correlate_many(GOLD, RNG.normal(size=(MAX_HTML_ROWS + 1_000, 12)))
    html = many._repr_html_()
    assert html.count("<tr>") == MAX_HTML_ROWS + 1
    assert "… 1,000 more rows" in html


def test_without_pandas_a_frame_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = "to_frame needs pandas, which is not installed: pip install pandas"
    for name in TABLES:
        with pytest.raises(MissingPandasError, match=message):
            MAKERS[name](A).to_frame()


# JSON


@dataclass(frozen=True, eq=False)
class Nested(Result):
    """For `json_ready`."""

    number: float
    rows: tuple


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([math.nan, math.inf, -math.inf], [None, None, None]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        ((np.float64(0.5), np.int64(3), True, "x", None), [0.5, 3, True, "x", None]),
        (Nested(math.nan, (Nested(1.0, ()),)), {"number": None, "rows": [{"number": 1.0, "rows": []}]}),
        (range(2), [0, 1]),
        ({("a", 1): datetime.date(2026, 1, 31)}, {"('a', 1)": "2026-01-31"}),
    ],
)
def test_values_without_json_become_null(value, expected):
    assert json_ready({"in a": value}) == {"in a": expected}
    assert json.loads(json.dumps(json_ready(value), allow_nan=False)) == expected


def test_json_ready_of_a_number_with_attributes():
    assert json_ready(rankcorr.weighted_tau([1, 2], [1, 2])) == 1.0


def test_a_table_class_must_define_columns():
    @dataclass(frozen=True, eq=False)
    class NoColumns(TableResult, Computed):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?_columns"):
        NoColumns(n_items=2, coefficient="tau")


# LaTeX


def test_latex_has_metric_caption_and_bold_best_values_but_no_nan():
    scores = {"a_1": [4, 3, 2, 1], "b": [4, 3, 1, 2], "none": [1, 1, 1, 1]}
    with pytest.warns(rankcorr.UndefinedCorrelationWarning):
        text = rankcorr.correlate_many([4, 3, 2, 1], scores).to_latex()
    assert r"\caption{Systems by $\tau_w$. Bold: best.}" in text
    assert r"name & $\tau_w$ \\" in text
    assert r"a\_1 & \textbf{1} \\" in text
    assert r"none & -- \\" in text
    assert "nan" not in text


def test_latex_has_a_sign_of_infinity():
    text = latex_table([["inf", "low", "high"], ["inf", "-inf", "inf"]], [False, True, True])
    assert r"inf & $-\infty$ & $\infty$ \\" in text


def test_latex_has_the_names_of_rankings():
    text = rankcorr.correlation_matrix({"a_b": [3, 2, 1], "nan": [3, 1, 2]}).to_latex()
    assert r" & a\_b & nan \\" in text
    assert "\nnan & " in text


def test_latex_marks_systems_below_the_best():
    gold = dict(zip("abcdefgh", range(8), strict=True))
    systems = {"good": gold, "poor": {item: -score for item, score in gold.items()}}
    board = rankcorr.leaderboard(gold, systems, coefficient="tau", n_resamples=100)
    assert board.rows[1].corrected_pvalue <= 0.05
    text = board.to_latex()
    head, first, second = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert head.startswith("rank & group & least rank & largest rank & system & ")
    assert r"\_" not in head
    assert (r"\textbf{1}" in first, r"$^{\dagger}$" in first) == (True, False)
    assert (r"\textbf" in second, second.count(r"$-$1$^{\dagger}$")) == (False, 1)
    assert r"$\dagger$: significantly below the best (corrected p at most 0.05).}" in text
    pair = rankcorr.compare_many(gold, systems, coefficients=["tau"]).to_latex()
    assert r"\caption{Differences between systems in $\tau$. $\dagger$: corrected p at most 0.05.}" in pair
    assert r"2$^{\dagger}$" in pair


def test_latex_of_compared_runs_marks_the_best_and_differences():
    qrels = {f"q{query}": {f"d{place}": int(place < 3) for place in range(8)} for query in range(12)}
    good = {query: {document: -place for place, document in enumerate(grades)} for query, grades in qrels.items()}
    poor = {query: {document: place for place, document in enumerate(grades)} for query, grades in qrels.items()}
    text = compare_runs(qrels, {"my_run_2": good, "poor": poor}, metric="ap", n_resamples=200).to_latex()
    assert r"\caption{Runs by mean ap over 12 queries. Bold: best; $\dagger$: differs" in text
    assert r"my\_run\_2 & \textbf{1} &" in text
    assert text.count(r"$^{\dagger}$") == 1
