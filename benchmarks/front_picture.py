"""Draw the pictures of the front pages: docs/images/leaderboard.png and the cards, from data of the library.

The leaderboard is of eight made-up systems against made-up gold scores of 500 items.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from adaptive import read_choices
from adaptive.plots import plot_strengths
from rankcorr import TauW, leaderboard
from rankcorr.datasets import load_battles, load_search_runs, load_system_scores, load_word_similarity
from rankcorr.evaluation import compare_runs
from rankcorr.plots import chance_levels, plot_leaderboard, plot_offset, plot_queries, plot_ranks, theme
from rankcorr.vectors import common_pairs, evaluate_vectors, read_pairs

IMAGES = Path(__file__).resolve().parents[1] / "docs/images"
N_ITEMS, SEED = 500, 4
COEFFICIENT = TauW(n0=50)
CARD_WIDTH = 3.3  # inches
# Standard deviation of the noise of each system; part of the noise is shared
NOISE = {
    "dense, large": 0.2,
    "dense, base": 0.22,
    "hybrid": 0.3,
    "bm25 + feedback": 1.1,
    "bm25": 1.2,
    "tf-idf": 1.6,
    "link counts": 4.0,
    "title length": 30.0,
}


def draw_leaderboard() -> Figure:
    """Draw the systems with their chance levels."""
    rng = np.random.default_rng(SEED)
    gold = {f"document {number}": score for number, score in enumerate(rng.exponential(size=N_ITEMS))}
    scores, shared = np.array(list(gold.values())), rng.normal(size=N_ITEMS)
    systems = {
        name: dict(zip(gold, scores + noise * (0.6 * shared + 0.8 * rng.normal(size=N_ITEMS)), strict=True))
        for name, noise in NOISE.items()
    }
    board = leaderboard(gold, systems, coefficient=COEFFICIENT)
    return plot_leaderboard(board, chance=chance_levels(gold, systems, coefficient=COEFFICIENT))


def draw_cards() -> dict[str, Figure]:
    """Draw the cards by name, as wide as a column."""
    scores = load_system_scores().columns
    runs = dict(load_search_runs().paths)
    comparison = compare_runs(runs.pop("qrels"), runs, metric="ndcg@10")
    words = load_word_similarity()
    vectors = {name: words[name] for name in ("small", "medium", "large")}
    pairs = common_pairs(vectors.values(), read_pairs(words["similarity"]))
    cosines = {name: evaluate_vectors(path, pairs).scores for name, path in vectors.items()}
    models = read_choices(load_battles().paths["battles"]).choices(cluster="prompt").fit()
    with theme(width=CARD_WIDTH, has_title=False):
        return {
            "compare": plot_ranks(scores["gold"], scores["medium"], names=("gold", "system"), n_named=0),
            "search": plot_queries(comparison, first="dense", second="bm25"),
            "vectors": plot_offset(pairs, cosines),
            "models": plot_strengths(models),
        }


if __name__ == "__main__":
    mpl.use("Agg")
    draw_leaderboard().savefig(IMAGES / "leaderboard.png", dpi=110)
    for card, figure in draw_cards().items():
        figure.savefig(IMAGES / f"card-{card}.png", dpi=160)
