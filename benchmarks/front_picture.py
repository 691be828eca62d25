"""Draw docs/images/leaderboard.png: eight made-up systems against made-up gold scores of 500 items."""

from pathlib import Path

import numpy as np

from rankcorr import TauW, leaderboard
from rankcorr.plots import chance_levels, plot_leaderboard

N_ITEMS, SEED = 500, 4
COEFFICIENT = TauW(n0=50)
# Standard deviation of the noise of each system, a part of which all share.
NOISE = {
    "dense, large": 0.2,
    "dense, base": 0.22,
    "hybrid": 0.34,
    "bm25 + feedback": 0.9,
    "bm25": 0.8,
    "tf-idf": 1.5,
    "link counts": 3.0,
    "title length": 30.0,
}


def draw() -> None:
    """Write the figure."""
    rng = np.random.default_rng(SEED)
    gold = {f"document {number}": score for number, score in enumerate(rng.exponential(size=N_ITEMS))}
    scores, shared = np.array(list(gold.values())), rng.normal(size=N_ITEMS)
    systems = {
        name: dict(zip(gold, scores + noise * (0.6 * shared + 0.8 * rng.normal(size=N_ITEMS)), strict=True))
        for name, noise in NOISE.items()
    }
    board = leaderboard(gold, systems, coefficient=COEFFICIENT)
    figure = plot_leaderboard(board, chance=chance_levels(gold, systems, coefficient=COEFFICIENT))
    figure.savefig(Path(__file__).resolve().parents[1] / "docs/images/leaderboard.png", dpi=110)


if __name__ == "__main__":
    draw()
