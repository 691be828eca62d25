"""Figures have the stored content; ``python -m tests.test_figures > tests/figures.json`` updates it.

Look at the figures before updating: ``python -m tests.test_figures FOLDER`` writes them as PNG, light and dark.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from adaptive import Comparisons, bradley_terry
from adaptive.plots import agreement, plot_accuracy, plot_in_top, plot_strengths, plot_voters
from rankcorr import correlate_many, leaderboard
from rankcorr.evaluation import compare_runs
from rankcorr.inference._null import null_distribution
from rankcorr.plots import (
    chance_levels,
    plot_leaderboard,
    plot_null,
    plot_offset,
    plot_pairs,
    plot_ranks,
    save_figure,
    theme,
)

pytestmark = pytest.mark.wide

STORED_FIGURES = Path(__file__).parent / "figures.json"
ITEMS = [f"item {number}" for number in range(30)]
GOLD = {item: float(30 - number) for number, item in enumerate(ITEMS)}


def systems_of(number):
    """Systems that depart more and more from gold, with ties."""
    return {
        f"system {system}": {item: float(score * (7 + system) % (11 + 3 * system)) for item, score in GOLD.items()}
        for system in range(number)
    }


def strengths():
    """Strengths of 60 items, by votes of 12 voters."""
    left = np.arange(600) % 60
    right = (left + 1 + np.arange(600) // 60) % 60
    winner = np.where((left < right) ^ (np.arange(600) % 7 == 0), 1, -1)
    names = [f"item {number}" for number in range(60)]
    return bradley_terry(Comparisons(names, left, right, winner, 12, np.arange(600) // 5 % 12))


def figures():
    """All kinds of figures, by name."""
    few = systems_of(4)
    golds = {"one": GOLD, "two": {item: float(score * 7 % 31) for item, score in GOLD.items()}}
    qrels = {f"q{q}": {f"d{d}": (q * d) % 4 for d in range(8)} for q in range(20)}
    runs = {
        f"run {run}": {
            q: {d: g + 1 / (1 + (run + n) % 5) * run for n, (d, g) in enumerate(grades.items())}
            for q, grades in qrels.items()
        }
        for run in range(3)
    }
    compared = compare_runs(qrels, runs, n_resamples=50)
    nulls = {name: null_distribution(GOLD, scores, n_resamples=100) for name, scores in few.items()}
    values = {name: float(correlate_many(GOLD, [scores]).statistic[0]) for name, scores in few.items()}
    fitted = strengths()
    pairs = [(compared, pair.first, pair.second) for pair in compared.pairs]
    return {
        "ranks": plot_ranks(GOLD, few["system 1"], names=("gold", "system 1")),
        "ranks of several": plot_ranks(GOLD, few, names=("gold", "")),
        "offset": plot_offset(GOLD, few),
        "offset of many": plot_offset(GOLD, systems_of(9)),
        "leaderboard": plot_leaderboard(
            leaderboard(GOLD, few, n_resamples=100), chance=chance_levels(GOLD, few, n_resamples=100)
        ),
        "leaderboard of gold sets": plot_leaderboard(leaderboard(golds, few, n_resamples=100)),
        "null": plot_null(nulls["system 1"], values["system 1"]),
        "null of several": plot_null(nulls, values),
        "queries": plot_pairs(pairs[:1]),
        "queries of several": plot_pairs(pairs),
        "strengths": plot_strengths(fitted, top=40),
        "top": plot_in_top(fitted, 5),
        "voters": plot_voters(agreement(fitted), reference=(0.5, "answers at random")),
        "accuracy": plot_accuracy({"one": ([1_000, 2_000], [0.5, 0.75], [0.1, 0.05])}),
    }


def elements(figure):
    """Size, texts, numbers of marks and limits of a figure, which barely depend on the machine."""
    return {
        "pixels": [round(150 * side) for side in figure.get_size_inches()],
        "title": figure.get_suptitle(),
        "legend": [text.get_text() for legend in figure.legends for text in legend.get_texts()],
        "axes": [
            {
                "title": axes.get_title(loc="left") or axes.get_title(),
                "labels": [axes.get_xlabel(), axes.get_ylabel()],
                "ticks": [[text.get_text() for text in axis.get_ticklabels()] for axis in (axes.xaxis, axes.yaxis)],
                "texts": [text.get_text() for text in axes.texts],
                "marks": {
                    "lines": len(axes.lines),
                    "patches": len(axes.patches),
                    "points": sum(len(collection.get_offsets()) for collection in axes.collections),
                },
                "limits": [[float(f"{end:.2g}") for end in ends] for ends in (axes.get_xlim(), axes.get_ylim())],
            }
            for axes in figure.axes
        ],
    }


def main(folder=None):
    """Print the content of the figures, or write them into a folder."""
    if folder is None:
        print(json.dumps({name: elements(figure) for name, figure in figures().items()}, indent=1, ensure_ascii=False))
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    for ground in ("light", "dark"):
        with theme(ground):
            for name, figure in figures().items():
                save_figure(figure, Path(folder, f"{name}-{ground}.png"))


@pytest.mark.needs_numba
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_figures_have_the_stored_content():
    pytest.importorskip("matplotlib")
    stored = json.loads(STORED_FIGURES.read_text(encoding="utf-8"))
    drawn_figures = {name: elements(figure) for name, figure in figures().items()}
    assert list(drawn_figures) == list(stored)
    for name, figure in drawn_figures.items():
        assert figure == stored[name], f"{name}: if this is meant, renew tests/figures.json"
        assert figure["pixels"][1] <= 1_200
        assert figure["title"] or figure["axes"][0]["title"]


if __name__ == "__main__":
    main(*sys.argv[1:])
