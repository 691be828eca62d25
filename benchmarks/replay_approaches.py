"""Print how well each approach predicts held-out votes when real votes answer its comparisons.

The votes are those of `replay_real_votes.py`: 16 topics of 25 to 35 arguments, each pair judged by 4 or 5 workers.
Three votes on each pair can be drawn, each once; the gold ranking is the Borda ranking of the others. When all three
votes on a pair have been drawn, a comparison of that pair stays unanswered. The paper's protocol therefore cannot
always spend its budget: its last ballot asks about the same few items more often than there are votes. It ends as soon
as an item of a ballot gets no answer. The tables show how many votes were used.

The votings are a uniform ballot, the paper's protocol (3 ballots, fraction 0.5), matched ballots, and matching in
batches of 20. The scores are Borda's, or the protocol's own means, and Bradley-Terry strengths. Strengths are fitted
without voters, because the three voters of a replay represent all workers.

Intervals are Student's over the topics, so they hold for other topics like these.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from replay_real_votes import VOTES, Topic, finding, read_topics, workers
from report import heading, row

from adaptive._budget import plan_for_budget
from adaptive._draw import Ballot, draw_ballot
from adaptive._protocol import run_protocol
from adaptive._scores import borda_scores, rescale
from adaptive._votes import UNANSWERED
from adaptive.comparisons._comparisons import Comparisons
from adaptive.matching._matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.matching._matching import Matching
from adaptive.matching._rounds import run_matching
from adaptive.model._models import bradley_terry
from adaptive.model._scoring import borda
from adaptive.simulation._simulate import coefficients
from rankcorr import Ranking
from rankcorr._cli.console import progress_bar
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._workers import Progress

SHARES = (0.1, 0.2, 0.3, 0.5)
VOTINGS = ("uniform", "adaptive", "matched ballots", "matched")
SCORES = ("Borda", "strengths")
N_DRAWN = 3
BATCH = 20


class SpentError(Exception):
    """An item of a ballot has no answer, because all votes on its pairs have been drawn."""


@dataclass(eq=False)
class Urn:
    """The votes on each pair; each can be drawn once.

    Attributes
    ----------
    topic : Topic
    rng : Generator
    asked : list of (Ballot or Matches, ndarray of int8)
        Ballots and matches so far, with their answers.
    """

    topic: Topic
    rng: np.random.Generator
    asked: list[tuple[Any, NDArray[np.int8]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        first, second = self.topic.pairs.T
        pair = first * self.topic.n_items + second
        order = np.lexsort((self.rng.random(pair.size), pair))
        self.votes = self.topic.votes[order]
        counts = self.topic.votes_per_pair().ravel()
        self.next = np.cumsum(counts) - counts
        self.end = self.next + counts

    def answer(self, comparisons: Any) -> NDArray[np.int8]:
        """Answer with votes that have not been drawn yet; UNANSWERED where all have been."""
        items = np.asarray(comparisons.items)
        answers = np.full(comparisons.n_comparisons, UNANSWERED, np.int8)
        columns = zip(items[comparisons.left].tolist(), items[comparisons.right].tolist(), strict=True)
        for k, (left, right) in enumerate(columns):
            pair = min(left, right) * self.topic.n_items + max(left, right)
            if self.next[pair] < self.end[pair]:
                vote = self.votes[self.next[pair]]
                answers[k] = vote if left < right else -vote
                self.next[pair] += 1
        self.asked.append((comparisons, answers))
        if isinstance(comparisons, Ballot):
            places = np.concatenate([comparisons.left[answers != UNANSWERED], comparisons.right[answers != UNANSWERED]])
            if np.bincount(places, minlength=len(comparisons.items)).min() == 0:
                raise SpentError
        return answers

    def comparisons(self) -> Comparisons:
        """Return all votes so far."""
        return Comparisons.from_ballots(self.asked, n_items=self.topic.n_items)


def rankings(topic: Topic, voting: str, budgets: Sequence[int], seed: int) -> list[tuple[Ranking, Ranking, int]]:
    """Return the rankings by Borda scores and by strengths, and the votes used, for each budget."""
    if voting == "matched":  # one run: a smaller budget takes its first votes
        urn = Urn(topic, np.random.default_rng(seed))
        matching = Matching(batch=BATCH)
        votes = run_matching(
            topic.n_items, urn.answer, max(budgets), rng=urn.rng, voters=N_DRAWN, matching=matching
        ).comparisons
        return [_score_votes(votes.select(range(min(budget, votes.n_comparisons)))) for budget in budgets]
    return [_ballots(topic, voting, budget, np.random.default_rng(seed)) for budget in budgets]


def _ballots(topic: Topic, voting: str, budget: int, rng: np.random.Generator) -> tuple[Ranking, Ranking, int]:
    urn = Urn(topic, rng)
    if voting == "uniform":
        urn.answer(draw_ballot(topic.n_items, 2 * budget // topic.n_items, N_DRAWN, rng))
        return _score_votes(urn.comparisons())
    if voting == "adaptive":
        plan = plan_for_budget(topic.n_items, n_ballots=3, fraction=0.5, comparisons=budget)
        try:
            result = run_protocol(plan, urn.answer, items=topic.n_items, rng=rng, voters=N_DRAWN)
            means = Ranking.from_scores(result.ybar)
        except SpentError:
            means = Ranking.from_scores(_means(urn, topic.n_items))
        _, strengths, used = _score_votes(urn.comparisons())
        return means, strengths, used
    match = MatchedBallots()
    with suppress(SpentError):  # the ballots until then are scored
        run_matched_ballots(
            match.plan(topic.n_items, budget), urn.answer, items=topic.n_items, rng=rng, voters=N_DRAWN, match=match
        )
    return _score_votes(urn.comparisons())


def _means(urn: Urn, n_items: int) -> NDArray[np.float64]:
    """Return the means ybar after the last ballot that was answered completely."""
    total, number = np.zeros(n_items), np.zeros(n_items)
    for ballot, answers in urn.asked[:-1]:
        items = np.asarray(ballot.items)
        scores = borda_scores(ballot, answers)
        if number.any():
            scores = rescale(scores, total[items] / number[items]).y
        total[items] += scores
        number[items] += 1
    return total / number


def _score_votes(votes: Comparisons) -> tuple[Ranking, Ranking, int]:
    plain = Comparisons(votes.items, votes.left, votes.right, votes.winner)
    return (
        Ranking.from_scores(borda(plain).scores),
        Ranking.from_scores(bradley_terry(plain).theta),
        plain.n_comparisons,
    )


@dataclass(frozen=True, eq=False)
class Task:
    """One repetition on one topic, which can be sent to another process."""

    topic: Topic
    seed: np.random.SeedSequence

    def __call__(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients, shape (n_votings, n_scores, n_shares, n_coefficients), and the shares of votes used."""
        rng = np.random.default_rng(self.seed)
        drawn, judges = self.topic.split(N_DRAWN, rng)
        gold = Ranking.from_scores(judges.borda_scores())
        budgets = [round(share * self.topic.votes.size) for share in SHARES]
        values = np.empty((len(VOTINGS), len(SCORES), len(SHARES), len(COEFFICIENTS)))
        used = np.empty((len(VOTINGS), len(SHARES)))
        seed = int(rng.integers(2**62))
        for v, voting in enumerate(VOTINGS):
            for b, (by_borda, by_strength, n_votes) in enumerate(rankings(drawn, voting, budgets, seed)):
                values[v, :, b] = coefficients(gold, by_borda), coefficients(gold, by_strength)
                used[v, b] = n_votes / self.topic.votes.size
        return values, used


def replay_all(
    topics: Sequence[Topic], n_repetitions: int, seed: int, executor: Executor | None, advance: Progress
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients and shares of votes used; the first two axes are topic and repetition."""
    tasks = [
        Task(topic, np.random.SeedSequence(seed, spawn_key=(number, repetition)))
        for number, topic in enumerate(topics)
        for repetition in range(n_repetitions)
    ]
    futures = [None if executor is None else executor.submit(task) for task in tasks]
    results = []
    for task, future in zip(tasks, futures, strict=True):
        results.append(task() if future is None else future.result())
        advance(1)
    shape = (len(topics), n_repetitions)
    values, used = (np.array(part) for part in zip(*results, strict=True))
    return values.reshape(*shape, *values.shape[1:]), used.reshape(*shape, *used.shape[1:])


def print_means(values: NDArray[np.float64], used: NDArray[np.float64]) -> None:
    """Print one table for each share of the votes."""
    for b, share in enumerate(SHARES):
        heading(
            f"{share:.0%} of the votes: mean (95 % interval over topics)",
            "voting",
            "score",
            "votes used",
            *COEFFICIENTS,
        )
        for v, voting in enumerate(VOTINGS):
            for s, score in enumerate(SCORES):
                cells = [finding(values[:, :, v, s, b, c]) for c in range(len(COEFFICIENTS))]
                row(
                    voting,
                    score,
                    f"{used[:, :, v, b].mean():.1%}",
                    *(f"{cell.mean:.4f} ({cell.low:.4f} to {cell.high:.4f})" for cell in cells),
                )


def print_differences(values: NDArray[np.float64]) -> None:
    """Print the difference of each approach from the simplest one, the uniform ballot with Borda scores."""
    base = values[:, :, 0, 0]
    heading(
        "Difference from the uniform ballot with Borda scores (95 % interval over topics), topics above 0",
        "votes",
        "voting",
        "score",
        *COEFFICIENTS,
    )
    for b, share in enumerate(SHARES):
        for v, voting in enumerate(VOTINGS):
            for s, score in enumerate(SCORES):
                if (v, s) == (0, 0):
                    continue
                cells = [finding(values[:, :, v, s, b, c] - base[:, :, b, c]) for c in range(len(COEFFICIENTS))]
                row(
                    f"{share:.0%}",
                    voting,
                    score,
                    *(f"{c.mean:+.4f} ({c.low:+.4f} to {c.high:+.4f}), {c.n_better}" for c in cells),
                )
    errors = [
        finding(values[:, :, v, s, b, c] - base[:, :, b, c]).simulation_error
        for b, v, s, c in np.ndindex(len(SHARES), len(VOTINGS), len(SCORES), len(COEFFICIENTS))
        if (v, s) != (0, 0)
    ]
    print(f"\nLargest standard error due to the number of repetitions: {max(errors, default=math.nan):.4f}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Replay every approach on real votes.")
    parser.add_argument("votes", type=Path, nargs="?", default=VOTES, help="gzipped CSV (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=50, help="replays of each topic (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=2016, help="same seed, same figures")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    if not options.votes.is_file():
        print(f"there is no file of votes {options.votes}; give its path as the argument", file=sys.stderr)
        raise SystemExit(2)
    topics = read_topics(options.votes)
    total = len(topics) * options.repetitions
    with workers(options.workers) as executor, progress_bar(total, "replay", "replays") as advance:
        values, used = replay_all(topics, options.repetitions, options.seed, executor, advance)
    print_means(values, used)
    print_differences(values)
    print(f"\n{len(topics)} topics, {options.repetitions} repetitions of each, seed {options.seed}")


if __name__ == "__main__":
    main()
