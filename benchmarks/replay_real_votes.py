"""Print how near the protocol comes to all votes when its comparisons are answered by real votes.

The votes are half of UKPConvArg1 (Habernal & Gurevych 2016, CC BY 4.0): 16 topics of 25 to 35 arguments, each pair of a
topic judged by 4 or 5 crowd workers, 23 % ties. Every comparison drawn is answered by a randomly chosen vote on its
pair, ties included, so any ballot can be replayed; which worker voted plays no part. The gold ranking of
a topic is the Borda ranking of all its votes: (wins + ties / 2) / votes.

The plan has 3 ballots, fraction 0.5 and 10 presentations, and leaves 6 to 9 items for the last ballot; a fourth would
have 3 to 5. The library advises 100 presentations of the top items, not these 30; but at that cost a uniform ballot of
such short lists presents every pair twice or nearly so, and either approach sees most of what there is. The last ballot
has so few items that pairs repeat; a repeated pair is answered by another draw from the same votes. The uniform
presentations are rounded, so that the costs differ by up to 3 %, mostly in favour of the uniform ballot.

What is replayed is also part of the gold ranking, which raises the figures, and not equally for both approaches. A
second run holds votes out: two random votes on each pair can be drawn, and the gold ranking is that of the
others. It is noisier with fewer votes, which lowers the figures too; the two effects are not separated.
"""

import argparse
import csv
import gzip
import math
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot, draw_ballot
from adaptive.plan import BallotPlan, plan_ballots
from adaptive.protocol import run_protocol
from adaptive.scores import Scores, borda_scores
from adaptive.simulation.simulate import APPROACHES, coefficients
from adaptive.votes import LEFT, RIGHT, TIE
from rankcorr import Ranking

VOTES = Path(__file__).resolve().parents[2] / "shared" / "data" / "ukpconvarg1_votes.csv.gz"
CODES = {"a1": LEFT, "a2": RIGHT, "equal": TIE}
SHOWN = ("rho_w", "tau_w")
N_DRAWN = 2  # of the 4 or 5 votes on a pair, where the others are held out


@dataclass(frozen=True, eq=False)
class Topic:
    """All votes on the items of a topic; a pair is the indices of its two items, the smaller one first.

    Attributes
    ----------
    name : str
    items : tuple of str
    pairs : ndarray of intp, shape (n_votes, 2)
        Of each vote, sorted.
    votes : ndarray of int8, shape (n_votes,)
        LEFT where the first item of the pair wins, RIGHT where the second does, or TIE.
    """

    name: str
    items: tuple[str, ...]
    pairs: NDArray[np.intp]
    votes: NDArray[np.int8]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def votes_per_pair(self) -> NDArray[np.intp]:
        """Number of votes on each pair, shape (n_items, n_items); 0 except above the diagonal."""
        first, second = self.pairs.T
        counts = np.bincount(first * self.n_items + second, minlength=self.n_items**2)
        return counts.reshape(self.n_items, self.n_items)

    def borda_scores(self) -> Scores:
        """Score of each item over all votes: (wins + ties / 2) / votes."""
        credit = (1 + self.votes / LEFT) / 2  # 1, 1/2 or 0 for the first item of the pair
        earned = np.bincount(self.pairs.T.ravel(), np.concatenate([credit, 1 - credit]), minlength=self.n_items)
        return earned / np.bincount(self.pairs.ravel(), minlength=self.n_items)

    def answer(self, ballot: Ballot, rng: np.random.Generator) -> NDArray[np.int8]:
        """Answer each comparison by a random one of the votes on its pair; the ballot's items are indices."""
        items = np.asarray(ballot.items)
        left, right = items[ballot.left], items[ballot.right]
        pair = np.minimum(left, right) * self.n_items + np.maximum(left, right)
        counts = self.votes_per_pair().ravel()
        starts = np.cumsum(counts) - counts
        votes = self.votes[starts[pair] + rng.integers(counts[pair])]
        return np.where(left < right, votes, -votes)

    def split(self, n_drawn: int, rng: np.random.Generator) -> tuple["Topic", "Topic"]:
        """Put `n_drawn` random votes on each pair into one topic and the rest of them into another."""
        pair = self.pairs[:, 0] * self.n_items + self.pairs[:, 1]  # sorted, as the votes are
        shuffled = np.lexsort((rng.random(pair.size), pair))
        place = np.arange(pair.size) - np.searchsorted(pair, pair)  # of a vote among those on its pair
        parts = np.sort(shuffled[place < n_drawn]), np.sort(shuffled[place >= n_drawn])
        drawn, rest = (replace(self, pairs=self.pairs[part], votes=self.votes[part]) for part in parts)
        return drawn, rest


def read_topics(path: Path) -> list[Topic]:
    """Topics of a CSV of topic, item_a, item_b, worker, vote."""
    rows = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["topic"]].append((row["item_a"], row["item_b"], CODES[row["vote"]]))
    topics = []
    for name, judged in sorted(rows.items()):
        items = tuple(sorted({item for a, b, _ in judged for item in (a, b)}))
        index = {item: i for i, item in enumerate(items)}
        votes = np.array([(index[a], index[b], vote) for a, b, vote in judged])
        turned = votes[:, 0] > votes[:, 1]
        votes[turned] = votes[turned][:, [1, 0, 2]] * [1, 1, -1]
        votes = votes[np.lexsort((votes[:, 1], votes[:, 0]))]
        topics.append(Topic(name, items, votes[:, :2].astype(np.intp), votes[:, 2].astype(np.int8)))
    return topics


def uniform_presentations(plan: BallotPlan) -> int:
    return max(1, round(plan.uniform_presentations))


def replay_once(topic: Topic, plan: BallotPlan, approach: str, rng: np.random.Generator) -> Ranking:
    """Rank the items of a topic by one replay, unlabelled, in the order of its items."""
    # One voter stands for all workers, whose names play no part.
    if approach == "uniform":
        ballot = draw_ballot(topic.n_items, uniform_presentations(plan), 1, rng)
        return Ranking.from_scores(borda_scores(ballot, topic.answer(ballot, rng)))
    result = run_protocol(plan, lambda ballot: topic.answer(ballot, rng), items=topic.n_items, rng=rng, voters=1)
    return Ranking.from_scores(result.ybar)


def replay(
    topic: Topic, plan: BallotPlan, n_repetitions: int, seed: np.random.SeedSequence, *, hold_out: bool = False
) -> NDArray[np.float64]:
    """Coefficients against the gold ranking, shape (n_repetitions, n_approaches, n_coefficients)."""
    rows = []
    for child in seed.spawn(n_repetitions):
        rng = np.random.default_rng(child)
        drawn, judges = topic.split(N_DRAWN, rng) if hold_out else (topic, topic)
        gold = Ranking.from_scores(judges.borda_scores())
        rows.append([coefficients(gold, replay_once(drawn, plan, approach, rng)) for approach in APPROACHES])
    return np.array(rows)


def finding(name: str, difference: NDArray[np.float64]) -> str:
    """What the mean differences of the topics, adaptive less uniform, say about a coefficient."""
    n_topics, n_better = difference.size, int((difference > 0).sum())
    mean, error = difference.mean(), difference.std(ddof=1) / math.sqrt(difference.size)
    if abs(mean) <= 2 * error:
        says = "no clear difference"
    else:
        says = f"the {'adaptive' if mean > 0 else 'uniform'} ballots come nearer to the gold ranking"
    return (
        f"{name}: {says}. Adaptive less uniform is {mean:+.4f} +- {error:.4f} (standard error over the topics), "
        f"above 0 in {n_better} of {n_topics} topics."
    )


def row(*values: object) -> None:
    print("| " + " | ".join(str(value) for value in values) + " |")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The protocol replayed on real votes, against a uniform ballot.")
    parser.add_argument("votes", type=Path, nargs="?", default=VOTES, help="CSV, gzipped (default: %(default)s)")
    parser.add_argument("--ballots", type=int, default=3)
    parser.add_argument("--fraction", type=float, default=0.5)
    parser.add_argument("--presentations", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2016)
    options = parser.parse_args(arguments)
    if not options.votes.is_file():
        print(f"there is no file of votes {options.votes}; give its path as the argument", file=sys.stderr)
        raise SystemExit(2)

    topics = read_topics(options.votes)
    row("topic", "items", "comparisons", *(f"{name} {approach}" for name in SHOWN for approach in APPROACHES))
    row(*["---"] * (3 + len(SHOWN) * len(APPROACHES)))
    means, held_out = [], []
    for topic, seed in zip(topics, np.random.SeedSequence(options.seed).spawn(len(topics)), strict=True):
        plan = plan_ballots(
            topic.n_items,
            n_ballots=options.ballots,
            fraction=options.fraction,
            presentations=options.presentations,
        )
        of_all, of_rest = seed.spawn(2)
        mean = replay(topic, plan, options.repetitions, of_all).mean(axis=0)[:, : len(SHOWN)]
        held_out.append(replay(topic, plan, options.repetitions, of_rest, hold_out=True).mean(axis=0)[:, : len(SHOWN)])
        uniform_cost = -(-uniform_presentations(plan) * topic.n_items // 2)
        figures = (f"{value:.4f}" for value in mean.T.ravel())
        row(topic.name[:40], topic.n_items, f"{plan.n_comparisons} / {uniform_cost}", *figures)
        means.append(mean)
    row("mean", "", "", *(f"{value:.4f}" for value in np.mean(means, axis=0).T.ravel()))
    row("mean, votes held out", "", "", *(f"{value:.4f}" for value in np.mean(held_out, axis=0).T.ravel()))
    for title, table in (("All votes are gold", np.array(means)), ("Gold is votes held out", np.array(held_out))):
        print(f"\n{title}:")
        for name, difference in zip(SHOWN, (table[:, 0] - table[:, 1]).T, strict=True):
            print(f"  {finding(name, difference)}")
    print(
        f"\n{options.repetitions} repetitions for each topic, seed {options.seed}; {options.ballots} ballots, fraction "
        f"{options.fraction}, {options.presentations} presentations; comparisons: adaptive / uniform.\n"
        "Where all votes are gold, those replayed are among them: trust the votes held out, whose ranking is noisier."
    )


if __name__ == "__main__":
    main()
