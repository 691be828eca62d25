"""Print how well the protocol recovers the ranking by all votes when real votes answer its comparisons.

The votes are half of UKPConvArg1 (Habernal & Gurevych 2016, CC BY 4.0): 16 topics of 25 to 35 arguments, each pair of a
topic judged by 4 or 5 crowd workers, 23 % ties. A randomly chosen vote on the same pair answers each comparison, ties
included, so any ballot can be replayed; the workers' names are not used. The gold ranking of a topic is the Borda
ranking of all its votes: (wins + ties / 2) / votes.

The plan has 3 ballots, fraction 0.5 and 10 presentations, and leaves 6 to 9 items for the last ballot; a fourth would
have 3 to 5. The library advises 100 presentations of the top items, not these 30. At that cost, however, a uniform
ballot of so short a list presents every pair twice or nearly so, and both approaches see most of the votes. Pairs
repeat in the last ballot because it has few items; another draw from the same votes answers a repeated pair. The
uniform presentations are rounded, so the costs differ by up to 3 %, mostly in favour of the uniform ballot.

The replayed votes are also part of the gold ranking. That raises the figures, and not equally for both approaches. A
second run therefore holds votes out: two random votes on each pair can be drawn, and the others give the gold ranking.
With fewer votes the gold ranking is noisier, which lowers the figures too; the two effects are not separated.

The interval of a mean difference is Student's over the topics, and holds for other topics like these. Repetitions only
reduce the noise within each topic. The noise that remains is part of the interval; the column "simulation error" shows
it separately.

Items that tie in an estimate share their mid-rank, as everywhere in the library. The coefficients are also computed
with these ties broken at random, because a uniform ballot leaves more of them.
"""

import argparse
import csv
import gzip
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import heading, row
from scipy.stats import t
from ties import ties_at_random

from adaptive._draw import Ballot, draw_ballot
from adaptive._plan import BallotPlan, plan_ballots
from adaptive._protocol import run_protocol
from adaptive._scores import Scores, borda_scores
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.simulation._approaches import PAPER_APPROACHES
from adaptive.simulation._simulate import coefficients
from rankcorr import Ranking
from rankcorr._cli.console import progress_bar
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._workers import Progress

VOTES = Path(__file__).resolve().parents[2] / "shared" / "data" / "ukpconvarg1_votes.csv.gz"
CODES = {"a1": LEFT, "a2": RIGHT, "equal": TIE}
CONVENTIONS = ("mid-ranks", "at random")
N_DRAWN = 2  # votes on a pair that can be drawn; the other 2 or 3 are held out
LARGEST_TASK = 20  # repetitions; they take a quarter of a second


@dataclass(frozen=True, eq=False)
class Topic:
    """All votes on the items of a topic; a pair is the indices of its two items, the smaller one first.

    Attributes
    ----------
    name : str
    items : tuple of str
    pairs : ndarray of intp, shape (n_votes, 2)
        Pair of each vote, sorted.
    votes : ndarray of int8, shape (n_votes,)
        LEFT where the first item of the pair wins, RIGHT where the second does, or TIE.
    """

    name: str
    items: tuple[str, ...]
    pairs: NDArray[np.intp]
    votes: NDArray[np.int8]

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def votes_per_pair(self) -> NDArray[np.intp]:
        """Return the number of votes on each pair, shape (n_items, n_items); 0 except above the diagonal."""
        first, second = self.pairs.T
        counts = np.bincount(first * self.n_items + second, minlength=self.n_items**2)
        return counts.reshape(self.n_items, self.n_items)

    def borda_scores(self) -> Scores:
        """Return the score of each item over all votes: (wins + ties / 2) / votes."""
        credit = (1 + self.votes / LEFT) / 2  # 1, 1/2 or 0 for the first item of the pair
        earned = np.bincount(self.pairs.T.ravel(), np.concatenate([credit, 1 - credit]), minlength=self.n_items)
        return earned / np.bincount(self.pairs.ravel(), minlength=self.n_items)

    def answer(self, ballot: Ballot, rng: np.random.Generator) -> NDArray[np.int8]:
        """Answer each comparison with a random vote on its pair; the ballot's items are indices."""
        items = np.asarray(ballot.items)
        left, right = items[ballot.left], items[ballot.right]
        pair = np.minimum(left, right) * self.n_items + np.maximum(left, right)
        counts = self.votes_per_pair().ravel()
        starts = np.cumsum(counts) - counts
        votes = self.votes[starts[pair] + rng.integers(counts[pair])]
        return np.where(left < right, votes, -votes)

    def split(self, n_drawn: int, rng: np.random.Generator) -> tuple["Topic", "Topic"]:
        """Put `n_drawn` random votes on each pair into one topic and the other votes into a second one."""
        pair = self.pairs[:, 0] * self.n_items + self.pairs[:, 1]  # sorted, like the votes
        shuffled = np.lexsort((rng.random(pair.size), pair))
        place = np.arange(pair.size) - np.searchsorted(pair, pair)  # place of a vote among those on its pair
        parts = np.sort(shuffled[place < n_drawn]), np.sort(shuffled[place >= n_drawn])
        drawn, rest = (replace(self, pairs=self.pairs[part], votes=self.votes[part]) for part in parts)
        return drawn, rest


def read_topics(path: Path) -> list[Topic]:
    """Read the topics from a CSV with the columns topic, item_a, item_b, worker and vote."""
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


def replay_topic(topic: Topic, plan: BallotPlan, approach: str, rng: np.random.Generator) -> Ranking:
    """Rank the items of a topic by one replay; the ranking is unlabelled and in the order of the items."""
    # One voter represents all workers, whose names are not used.
    if approach == "uniform":
        ballot = draw_ballot(topic.n_items, uniform_presentations(plan), 1, rng)
        return Ranking.from_scores(borda_scores(ballot, topic.answer(ballot, rng)))
    result = run_protocol(plan, lambda ballot: topic.answer(ballot, rng), items=topic.n_items, rng=rng, voters=1)
    return Ranking.from_scores(result.ybar)


def replay(
    topic: Topic, plan: BallotPlan, seeds: Sequence[np.random.SeedSequence], *, hold_out: bool
) -> NDArray[np.float64]:
    """Return the coefficients with the gold ranking, one repetition for each seed.

    The shape is (n_repetitions, n_conventions, n_approaches, n_coefficients).
    """
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn, judges = topic.split(N_DRAWN, rng) if hold_out else (topic, topic)
        gold = Ranking.from_scores(judges.borda_scores())
        estimates = [replay_topic(drawn, plan, approach, rng) for approach in PAPER_APPROACHES]
        ordered = [ties_at_random(estimate, rng) for estimate in estimates]
        rows.append([[coefficients(gold, ranking) for ranking in group] for group in (estimates, ordered)])
    return np.array(rows)


@dataclass(frozen=True)
class Task:
    """Some repetitions on one topic, which can be sent to another process."""

    topic: Topic
    plan: BallotPlan
    seeds: tuple[np.random.SeedSequence, ...]
    hold_out: bool

    def __call__(self) -> NDArray[np.float64]:
        """Return the coefficients of `replay`."""
        return replay(self.topic, self.plan, self.seeds, hold_out=self.hold_out)


def tasks_of(
    topics: Sequence[Topic], plans: Sequence[BallotPlan], n_repetitions: int, seed: int, *, hold_out: bool
) -> list[list[Task]]:
    """Return the tasks of each topic; a seed per repetition makes results independent of the number of workers."""
    return [
        [
            Task(
                topic,
                plan,
                tuple(
                    np.random.SeedSequence(seed, spawn_key=(int(hold_out), number, repetition))
                    for repetition in range(start, min(start + LARGEST_TASK, n_repetitions))
                ),
                hold_out,
            )
            for start in range(0, n_repetitions, LARGEST_TASK)
        ]
        for number, (topic, plan) in enumerate(zip(topics, plans, strict=True))
    ]


def replay_all(tasks: list[list[Task]], executor: Executor | None, advance: Progress) -> NDArray[np.float64]:
    """Return all coefficients, shape (n_topics, n_repetitions, n_conventions, n_approaches, n_coefficients)."""
    futures = [[None if executor is None else executor.submit(task) for task in of_topic] for of_topic in tasks]
    topics = []
    for of_topic, waited in zip(tasks, futures, strict=True):
        blocks = []
        for task, future in zip(of_topic, waited, strict=True):
            blocks.append(task() if future is None else future.result())
            advance(len(task.seeds))
        topics.append(np.concatenate(blocks))
    return np.array(topics)


@dataclass(frozen=True)
class Finding:
    """The difference of two approaches, adaptive minus uniform, over all topics.

    Attributes
    ----------
    mean, low, high : float
        Mean over the topics, and its 95 % interval by Student's t.
    simulation_error : float
        Part of the mean's standard error that is due to the number of repetitions; nan for one repetition.
    n_better : int
        Topics whose mean difference is above 0.
    """

    mean: float
    low: float
    high: float
    simulation_error: float
    n_better: int

    @property
    def better(self) -> str:
        """Return the approach that is nearer to the gold ranking, or "unclear" if the interval contains 0."""
        return "adaptive" if self.low > 0 else "uniform" if self.high < 0 else "unclear"


def finding(differences: NDArray[np.float64]) -> Finding:
    """Summarize the differences of all repetitions, shape (n_topics, n_repetitions)."""
    n_topics, n_repetitions = differences.shape
    of_topics = differences.mean(axis=1)
    mean, half = of_topics.mean(), t.ppf(0.975, n_topics - 1) * of_topics.std(ddof=1) / math.sqrt(n_topics)
    simulation_error = math.nan
    if n_repetitions > 1:
        simulation_error = math.sqrt((differences.var(axis=1, ddof=1) / n_repetitions).sum()) / n_topics
    return Finding(float(mean), float(mean - half), float(mean + half), simulation_error, int((of_topics > 0).sum()))


def print_findings(title: str, statistics: NDArray[np.float64]) -> None:
    """Print a table with one row for each coefficient and convention."""
    columns = ("difference", "95 % interval over topics", "simulation error", "topics above 0", "nearer to gold")
    heading(title, "coefficient", "ties of the estimate", *PAPER_APPROACHES, *columns)
    for convention, of_convention in zip(CONVENTIONS, np.moveaxis(statistics, 2, 0), strict=True):
        for name, values in zip(COEFFICIENTS, np.moveaxis(of_convention, 3, 0), strict=True):
            difference = finding(values[:, :, 0] - values[:, :, 1])
            row(
                name,
                convention,
                *(f"{mean:.4f}" for mean in values.mean(axis=(0, 1))),
                f"{difference.mean:+.4f}",
                f"{difference.low:+.4f} to {difference.high:+.4f}",
                f"{difference.simulation_error:.4f}",
                f"{difference.n_better} of {values.shape[0]}",
                difference.better,
            )


def print_topics(title: str, topics: Sequence[Topic], plans: Sequence[BallotPlan], statistics: NDArray) -> None:
    """Print the mean differences of each topic, with mid-ranks."""
    heading(title, "topic", "items", "comparisons", *COEFFICIENTS)
    differences = (statistics[:, :, 0, 0] - statistics[:, :, 0, 1]).mean(axis=1)
    for topic, plan, values in zip(topics, plans, differences, strict=True):
        uniform_cost = -(-uniform_presentations(plan) * topic.n_items // 2)
        cost = f"{plan.n_comparisons} / {uniform_cost}"
        row(topic.name[:40], topic.n_items, cost, *(f"{value:+.4f}" for value in values))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Replay the protocol and a uniform ballot on real votes.")
    parser.add_argument("votes", type=Path, nargs="?", default=VOTES, help="gzipped CSV (default: %(default)s)")
    parser.add_argument("--ballots", type=int, default=3)
    parser.add_argument("--fraction", type=float, default=0.5)
    parser.add_argument("--presentations", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=800, help="replays of each topic (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=2016, help="same seed, same figures")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    if not options.votes.is_file():
        print(f"there is no file of votes {options.votes}; give its path as the argument", file=sys.stderr)
        raise SystemExit(2)

    topics = read_topics(options.votes)
    shape = {"n_ballots": options.ballots, "fraction": options.fraction, "presentations": options.presentations}
    plans = [plan_ballots(topic.n_items, **shape) for topic in topics]
    held_out, of_all = (
        tasks_of(topics, plans, options.repetitions, options.seed, hold_out=hold_out) for hold_out in (True, False)
    )
    with (
        workers(options.workers) as executor,
        progress_bar(2 * len(topics) * options.repetitions, "replay", "replays") as advance,
    ):
        unseen, seen = (replay_all(tasks, executor, advance) for tasks in (held_out, of_all))
    print_findings("Gold is votes held out", unseen)
    print_findings("All votes are gold, those replayed among them", seen)
    print_topics("Adaptive less uniform by topic, gold is votes held out, mid-ranks", topics, plans, unseen)
    print(
        f"\n{len(topics)} topics, {options.repetitions} repetitions of each, seed {options.seed}; {options.ballots} "
        f"ballots, fraction {options.fraction}, {options.presentations} presentations; comparisons: adaptive / uniform."
        "\nWhere all votes are gold, those replayed are among them: trust the votes held out, whose ranking is noisier."
    )


@contextmanager
def workers(number: int) -> Iterator[Executor | None]:
    """Give an executor with that many processes, or None for one process."""
    if number == 1:
        yield None
        return
    with ProcessPoolExecutor(number, get_context("spawn")) as executor:
        yield executor


if __name__ == "__main__":
    main()
