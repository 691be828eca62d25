"""Reports: golden texts of eight situations, every number from `to_dict`, and the three forms of text."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import rankcorr
from adaptive import Comparisons, bradley_terry, plan_ballots, thurstone
from adaptive.ledger import Ledger
from rankcorr import OptionError, TauW, TopK, compare_many, compare_systems, leaderboard
from rankcorr._output.report import (
    Report,
    coefficient_text,
    interval_text,
    list_text,
    number_text,
    pvalue_text,
    save_reports,
)
from rankcorr.evaluation import compare_runs, evaluate, leaderboard_of_scores

GOLDEN = Path(__file__).with_name("reports.txt")
# Computing the results at import would cost each process 20 s of compilation, whichever tests it runs.
NAMES = [
    name
    for name in re.findall(r"^=== (.*)$", GOLDEN.read_text(encoding="utf-8"), re.MULTILINE)
    if not name.endswith((", Markdown", ", LaTeX", "sources"))
]
# Numbers in the text that are no results: constants of a formula or a rule, and a power
CONSTANTS = re.compile(
    r"1/\(n \+ ([0-9.]+)\)\^2|chance gives 0|power of 80 %|rankcorr [0-9.]+|p < 0\.001|nDCG@\d+|P@\d+"
)
NUMBER = re.compile(r"(?<![\w.@])-?[0-9][0-9,]*(?:\.[0-9]+)?(?![\w.]*\w)")  # outside names


@cache
def results():
    """A result for each situation by name, with the arguments of its report."""
    rng = np.random.default_rng(1)
    gold = {f"item {n}": float(value) for n, value in enumerate(rng.normal(size=60))}
    noisy = {
        name: {item: value + scale * rng.normal() for item, value in gold.items()}
        for name, scale in (("dense", 0.2), ("bm25_rm3", 0.4), ("tf*idf", 2.0))
    }
    few = dict(list(gold.items())[:9])
    lacking = {item: value for item, value in noisy["dense"].items() if item in few and item != "item 3"}
    poor = {item: noisy["tf*idf"][item] for item in few}
    sets = {"nouns": dict(list(gold.items())[:25]), "verbs": dict(list(gold.items())[25:])}
    flat = dict.fromkeys(gold, 1.0)
    tasks = [f"task {n}" for n in range(12)]
    scores = {
        name: dict(zip(tasks, rng.normal(shift, 1.0, 12).tolist(), strict=True))
        for name, shift in (("large", 3.0), ("medium", 2.7), ("small", 0.0))
    }
    scores["small"]["task 4"] = None
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(3)) for d in range(10)} for q in range(40)}
    qrels["tied"] = {"d0": 1, "d1": 1}
    runs = {
        name: {q: {d: rel + noise * rng.normal() for d, rel in rels.items()} for q, rels in qrels.items()}
        for name, noise in (("careful", 0.6), ("hasty", 0.8))
    }
    left, right = rng.integers(0, 8, 300), rng.integers(1, 8, 300)
    right = (left + right) % 8
    answers = np.where(rng.logistic(-left / 2) > rng.logistic(-right / 2), "left", "right")
    answers[::9] = "tie"
    voters = rng.integers(0, 12, 300)
    votes = Comparisons.from_labels(
        [f"fruit {n}" for n in left], [f"fruit {n}" for n in right], answers.tolist(), voter=voters.tolist()
    )
    small = {"n_resamples": 400}
    with pytest.warns(rankcorr.UndefinedCorrelationWarning):
        board = leaderboard(
            sets, noisy | {"flat": flat}, coefficient="rho_w", standardized=True, by="mean", swap="ranks", **small
        )
    return {
        "two systems": (compare_systems(gold, noisy["dense"], noisy["tf*idf"], n_resamples=2_000), "dense", "tf*idf"),
        "two systems that lack items, few items": (
            compare_systems(few, lacking, poor, coefficient=TauW(weigher=TopK(4)), missing="bottom", swap="ranks"),
        ),
        "a table of comparisons": (compare_many(gold, noisy, coefficients=["tau_w", "tau"], n_resamples=500),),
        "a leaderboard": (leaderboard(gold, noisy, **small),),
        "a leaderboard with two gold sets": (board,),
        "a leaderboard of scores": (
            leaderboard_of_scores(
                scores, missing="intersection", groups={task: task[-1] in "02468" for task in tasks}, **small
            ),
        ),
        "a comparison of runs": (compare_runs(qrels, runs, metric="ndcg@3", n_resamples=1_000),),
        "an evaluation": (evaluate(qrels, runs, metrics=["tau_w", "ap"]),),
        "strengths": (bradley_terry(votes, voters=True),),
        "a campaign": (_campaign_result(),),
    }


def _campaign_result():
    ledger = Ledger.in_memory()
    plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann", "Bob", "Cy"], seed=1)
    order = {"ash": 0, "fir": 1, "oak": 2, "yew": 3}
    for number in (1, 2):
        campaign.open_next()
        campaign.record(
            {pair.id: "left" if order[pair.left] < order[pair.right] else "right" for pair in campaign.asked()}
        )
        campaign.close(number)
    result = campaign.result()
    ledger.close()
    return result


def report_of(name):
    result, *names = results()[name]
    return result.report(*names)


def all_reports():
    """All reports in the format of the golden file: plain text, the first also in Markdown and LaTeX."""
    first = next(iter(results()))
    texts = {name: report_of(name).to_text() for name in results()}
    texts |= {f"{first}, Markdown": report_of(first).to_markdown(), f"{first}, LaTeX": report_of(first).to_latex()}
    texts["sources"] = report_of("a comparison of runs").to_bibtex()
    return "\n".join(f"=== {name}\n\n{text}" for name, text in texts.items())


def test_texts_of_reports_are_the_golden_ones():
    """To update them: python -c "from tests.test_report import *; GOLDEN.write_text(all_reports())"."""
    assert all_reports() == GOLDEN.read_text(encoding="utf-8")


def numbers_in(value):
    """All numbers in a document, including the lengths of its lists and the numbers of names."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", value))
    elif isinstance(value, dict):
        yield float(len(value))
        for key, entry in value.items():
            yield from numbers_in(key)
            yield from numbers_in(entry)
    else:
        yield float(len(value))
        for entry in value:
            yield from numbers_in(entry)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_one_of_the_result(name):
    result, *_ = results()[name]
    report = report_of(name)
    content = result.to_dict()
    known = set(numbers_in(content)) | set(numbers_in(getattr(result, "strengths", result).to_dict()))
    if hasattr(result, "rows") and not callable(result.rows):  # counts of first, significant or possible systems
        known |= set(range(len(result.rows) + 1))
    known |= {100 * value for value in known if 0 < value < 1}
    if name in ("strengths", "a campaign"):
        votes = getattr(result, "strengths", result).comparisons
        known |= {votes.n_voters, votes.n_items}
    text = CONSTANTS.sub(" ", " ".join((report.methods, report.results, *report.limits)))
    text = re.sub(r"\[@\w+\]|`[^`]*`", " ", text)
    numbers = [part.replace(",", "") for part in NUMBER.findall(text)]
    assert len(numbers) > 5

    def is_known(part):
        digits = len(part.partition(".")[2])
        return any(abs(float(part) - value) <= 0.5000001 * 10.0**-digits for value in known)

    assert [part for part in numbers if not is_known(part)] == []
    assert CONSTANTS.search("f(n) = 1/(n + 2)^2")[1] == "2"
    formula = re.search(r"1/\(n \+ ([0-9.]+)\)\^2", report.methods)
    assert formula is None or float(formula[1]) in known


def test_a_report_changes_with_its_result():
    """This checks the other test: changed numbers are not among those of the result."""
    report = report_of("two systems")
    content = results()["two systems"][0].to_dict()
    assert number_text(content["statistic_a"]) in report.results
    assert number_text(content["statistic_a"] + 0.01) not in report.results


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"coefficient": "pearson"}, "Pearson's correlation"),
        ({"coefficient": "rho"}, "Spearman's rank correlation"),
        ({"coefficient": "tau", "variant": "a"}, "(variant a)"),
        (
            {"coefficient": "tau_w", "scheme": "second", "n0": None, "weigher": "Logarithmic()"}
            | {"tied_weights": "expected", "variant": "a"},
            "the rank of an item in the ranking of the system and f is the function Logarithmic() [@lombardo2020top]. "
            "Tied items have the mean weight of their positions; pairs tied in",
        ),
    ],
)
def test_coefficients_are_described_with_their_options(options, text):
    assert text in coefficient_text(options)


def test_numbers_and_counts_in_words():
    assert list_text(map(str, range(15))).endswith("10, 11 and 3 others")
    assert (list_text(["a"]), list_text(["a", "b"]), list_text(["a, b", "c"], "; ")) == ("a", "a and b", "a, b; c")
    assert [pvalue_text(p) for p in (0.0009, 0.05, 0.0996, float("nan"))] == [
        *("p < 0.001", "p = 0.050", "p = 0.10", "p undefined")
    ]
    normal = thurstone(Comparisons.from_labels(["a", "b"], ["b", "c"], ["left", "left"]), prior=1).report()
    assert normal.sources == ("thurstone1927law", "rankcorr")
    assert normal.limits[0] == "The votes do not rule out chance: the order may be random."


def test_names_are_escaped():
    report = Report("a_b & 50 % τ_w -0.5 [@rankcorr]", "*bold* <b> [link](x) `τ_w_2 [@rankcorr]*`", ())
    assert report.to_latex().startswith(r"\paragraph{Methods.} a\_b \& 50 \% $\tau_w$ $-$0.5~\cite{rankcorr}")
    assert r"\texttt{τ\_w\_2 [@rankcorr]*}" in report.to_latex()
    assert report.to_markdown().endswith("[link](x) `τ_w_2 [@rankcorr]*`\n")
    assert report.to_text().endswith(" τ_w_2 [@rankcorr]*\n")
    assert report.sources == ("rankcorr",)
    assert r"\*bold\* \<b> \[link](x)" in report.to_markdown()
    assert "**Limits.**" not in report.to_markdown()


def test_reports_are_saved_with_their_sources(tmp_path):
    report = report_of("a comparison of runs")
    for ending in ("md", "tex", "txt"):
        report.save(tmp_path / f"report.{ending}")
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.tex", "report.bib", "report.txt"}
    assert (tmp_path / "report.bib").read_text() == report.to_bibtex()
    assert (tmp_path / "report.md").read_text().endswith("}\n```\n")
    cited = set(re.findall(r"\\cite\{(\w+)\}", (tmp_path / "report.tex").read_text()))
    assert cited == set(report.sources) == set(re.findall(r"@\w+\{(\w+),", report.to_bibtex()))
    save_reports([report, report_of("an evaluation")], tmp_path / "both.md")
    assert (tmp_path / "both.md").read_text().count("**Methods.**") == 2
    assert f"version = {{{rankcorr.__version__}}}" in report.to_bibtex()
    with pytest.raises(
        OptionError, match=r"the file name of a report must end in \.md, \.tex, \.txt; got 'report\.pdf'"
    ):
        report.save("report.pdf")


def test_results_are_json():
    """`to_dict` of each result with a report can be written as JSON."""
    for result, *_ in results().values():
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False))


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_ties_undefined_values_and_hostile_names():
    gold = {f"i{n}": float(n) for n in range(20)}
    turned, flat = {item: -value for item, value in gold.items()}, dict.fromkeys(gold, 1.0)
    small = {"n_resamples": 50}
    report = leaderboard(gold, {"a": gold, "b\n[@rankcorr]": gold, "c": turned, "d": flat}, **small).report()
    assert report.results.startswith(
        "`a` and `b [@rankcorr]` share the first rank, with a τ_w of 1.000 (95 % interval "
    )
    assert "They are significantly better than `c` (-1.000, p = 0.020)." in report.results
    assert report.results.endswith("2 systems: `a` and `b [@rankcorr]`. `d` has no rank.")
    assert report.sources == ("lombardo2020top", "romano2005exact", "mogstad2024inference", "rankcorr")
    alone = leaderboard(gold, {"only": gold}, **small).report()
    assert alone.results.endswith("1.000).")
    assert leaderboard(gold, {"a": flat}, **small).report().results == "No system has a τ_w."
    undefined = compare_systems(gold, flat, turned, **small).report()
    assert undefined.results == "The τ_w of the first system is undefined; that of the second system is -1.000."


def test_a_table_of_differences_says_which_are_significant():
    gold = {f"i{n}": float(n) for n in range(20)}
    near = gold | {"i3": 4.5}
    turned, flat = {item: -value for item, value in gold.items()}, dict.fromkeys(gold, 1.0)
    with pytest.warns(rankcorr.UndefinedCorrelationWarning):
        table = compare_many(gold, {"a": near, "b": turned, "c": flat}, coefficients=["tau"], n_resamples=200)
    results = table.report().results
    assert results.startswith("Of 3 differences, 1 is significant: `a` and `b`, τ 0.9")
    assert " 2 are undefined: `a` and `c`, τ 0.9" in results
    none = compare_many(gold, {"a": near, "b": gold}, coefficients=["tau"], n_resamples=200).report().results
    assert none.startswith("Of 1 difference, none is significant. 1 is not significant: `a` and `b`")


def test_clusters_directions_and_small_numbers_are_named():
    qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(16)}
    runs = {
        "good": {query: {"a": 3, "b": 2, "c": 1} for query in qrels},
        "poor": {query: {"a": 1 + int(query[1:]) % 3, "b": 2.5, "c": 0} for query in qrels},
    }
    clusters = {query: str(int(query[1:]) // 2) for query in qrels}
    comparison = compare_runs(qrels, runs, metric="ap", clusters=clusters, n_resamples=200)
    assert comparison.unit == "clusters"
    assert "assume independent clusters of queries" in comparison.report().limits[0]
    rng = np.random.default_rng(1)
    seconds = {
        name: {f"t{n}": scale * 1e-6 * (1 + rng.random()) for n in range(10)} for name, scale in (("x", 3), ("y", 1))
    }
    board = leaderboard_of_scores(seconds, lower_is_better=["t3", "t7"])
    assert board.to_dict()["lower_is_better"] == ["t3", "t7"]
    report = board.report()
    assert "Smaller scores are better on `t3` and `t7`." in report.methods
    assert f"mean score of {board.rows[0].mean.statistic:.1e} " in report.results
    assert number_text(2.5e-5) == "2.5e-05"
    assert interval_text(0.1, None, 0.9) == "90 % interval above 0.100"
