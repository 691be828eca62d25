"""Print how matching, ballots and random pairs do with many kinds of crowds, and how far they know it.

Crowds differ in what they judge (strengths that are exponential, in clusters, heavy-tailed, not one-dimensional) and in
how they vote (careless, biased, colluding, drifting, undecided, few). Each crowd answers as many votes in each of four
ways of asking: `matched` (`run_matching`), `random` (random pairs), `ballots` (the paper's) and `matched ballots`.
Where a plan needs fewer votes, the rest are on random pairs. The same model is fitted to the answers of all. The truth
is the expected win share against a random opponent, which in one-dimensional crowds has the order of the strengths.

With ``--targets .8 .9`` it prints where matched campaigns stop by `stopping_rule`, and how accurate they are then. With
``--careless`` it prints how many of the voters who flip coins, and of the others, are said to flip coins.

Run it with ``.venv/bin/python benchmarks/crowds.py``; ``--only clusters`` takes crowds with that in their names,
``--json FILE`` writes all figures, and ``--ways matched switched`` compares matching with a switch to random pairs once
votes contradict the model. Nothing here asserts.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from report import heading, machine, row

from adaptive import embedding_similarity, exponential_similarity, power_law_similarity
from adaptive._budget import plan_for_budget
from adaptive._draw import draw_ballot
from adaptive._protocol import run_protocol
from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger import batch_for
from adaptive.matching._matched_ballots import MATCHED_BALLOTS, run_matched_ballots
from adaptive.matching._matching import Matching, next_comparisons
from adaptive.matching._rounds import interim_strengths, no_votes, run_matching, with_answers
from adaptive.matching._stopping import SHORT, stopping_rule
from adaptive.model._misfit import MISFIT_LIMIT
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import Strengths
from adaptive.model._voters import voter_report
from rankcorr import Ranking, weighted_rho, weighted_tau

Array = np.ndarray
Rng = np.random.Generator

SIZES = {"30": (30, 200), "100": (100, 500), "200": (200, 2_000), "990": (990, 6_000)}
BUDGETS = {"30": 450, "100": 1_500, "200": 3_000, "990": 10_000}  # of campaigns with a target
WAYS = ("matched", "random", "ballots", "matched ballots")
SWITCH = 4.0  # misfit of pairs above which `switched` asks random pairs
TOP = 10  # a tenth of the items at most


@dataclass
class Crowd:
    """What a crowd judges, and how.

    Voter v prefers the item of the larger opinion: value plus `spread` times a normal number that stays the same for
    voter and item. `noise` is added anew in each vote. An oversight turns the answer round. Opinions closer than
    `indifference` tie. `attributes`, shape (n_items, 2), add `twist` times the sine of their difference, which is
    intransitive.
    """

    values: Array
    spread: Array | float = 0.5
    noise: float = 0.0
    oversight: float = 0.02
    indifference: float = 0.0
    n_voters: int = 30
    careless: float = 0.0
    left: float = 0.0
    colluding: float = 0.0
    random: float = 0.0
    drift: float = 0.0
    twist: float = 0.0
    opinions: int = 1

    def seat(self, rng: Rng) -> "Voters":
        """Its voters, drawn at random."""
        return Voters(self, rng)


class Voters:
    """The voters of a crowd, with their opinions; they answer whatever is asked."""

    def __init__(self, crowd: Crowd, rng: Rng) -> None:
        self.crowd, self.rng = crowd, rng
        n = crowd.values.size
        self.stray = crowd.spread * rng.standard_normal((crowd.n_voters, n))
        kind = np.full(crowd.n_voters, "honest", dtype="<U9")
        seats = rng.permutation(crowd.n_voters)
        for name in ("careless", "left", "colluding"):
            number = round(getattr(crowd, name) * crowd.n_voters)
            kind[seats[:number]], seats = name, seats[number:]
        self.kind = kind
        self.phase = rng.uniform(0, 2 * np.pi, n)
        self.moving = rng.standard_normal(n)
        self.asked = 0
        # Colluding voters prefer the lower half, in their own order.
        self.praised = np.where(np.argsort(np.argsort(-crowd.values)) >= n // 2, 10.0, 0.0) + rng.standard_normal(n)

    def truth(self) -> Array:
        """Expected win share of each item against a random other one, up to a rising function."""
        crowd = self.crowd
        if not crowd.twist:
            return crowd.values
        distance = crowd.values[:, np.newaxis] - crowd.values
        distance = distance + crowd.twist * np.sin(self.phase[:, np.newaxis] - self.phase)
        spread = np.broadcast_to(crowd.spread, crowd.values.shape)
        width = np.sqrt(spread[:, np.newaxis] ** 2 + spread**2 + 1e-12)
        from scipy.special import ndtr

        return ndtr(distance / width).mean(axis=1)

    def answer(self, comparisons: Any) -> Array:
        """1 for the left item, -1 for the right one, 0 for a tie."""
        crowd, rng, number = self.crowd, self.rng, comparisons.left.size
        items = np.asarray(comparisons.items)
        left, right, voter = items[comparisons.left], items[comparisons.right], comparisons.voter
        values = crowd.values + crowd.drift * self.moving * self.asked / 1_000
        stray = self.stray if crowd.opinions else crowd.spread * rng.standard_normal((2, number))
        of_left, of_right = (
            values[side] + (stray[voter, side] if crowd.opinions else stray[place])
            for place, side in enumerate((left, right))
        )
        distance = of_left - of_right + crowd.noise * rng.standard_normal(number)
        distance += crowd.twist * np.sin(self.phase[left] - self.phase[right])
        answers = (distance > crowd.indifference).astype(np.int8) - (distance < -crowd.indifference).astype(np.int8)
        answers = np.where(rng.random(number) < crowd.oversight, -answers, answers)
        coin = rng.choice(np.array([-1, 1], np.int8), number)
        kind = self.kind[voter]
        chance = (kind == "careless") | (rng.random(number) < crowd.random)
        answers = np.where(chance, coin, answers)
        answers = np.where(kind == "left", 1, answers)
        praised = np.sign(self.praised[left] - self.praised[right])
        answers = np.where(kind == "colluding", praised, answers)
        self.asked += number
        return answers.astype(np.int8)


def of_paper(similarity: Callable[[int], Array], n: int, rng: Rng, **options: Any) -> Crowd:
    """The paper's voters: nonconformity from .02 to .2 times 1 - z^2, oversights of half a percent to five."""
    values = rng.permutation(similarity(n))
    return Crowd(values, spread=0.11 * (1 - values**2), oversight=0.0275, n_voters=100, **options)


def normal(n: int, rng: Rng, **options: Any) -> Crowd:
    """Normal strengths; opinions stray by half of their spread."""
    return Crowd(rng.standard_normal(n), **options)


def clusters(n: int, rng: Rng) -> Crowd:
    return Crowd(np.where(rng.random(n) < 0.5, 1.5, -1.5) + 0.2 * rng.standard_normal(n))


def plateau(n: int, rng: Rng) -> Crowd:
    """A fifth of the items are spread out above a plateau."""
    return Crowd(np.where(rng.random(n) < 0.2, 1 + rng.exponential(1, n), 0.02 * rng.standard_normal(n)))


def uniform(n: int, rng: Rng) -> Crowd:
    return Crowd(rng.uniform(-2, 2, n))


def heavy(n: int, rng: Rng) -> Crowd:
    return Crowd(rng.standard_t(2, n))


def skew(n: int, rng: Rng) -> Crowd:
    return Crowd(rng.exponential(1, n))


def attributes(n: int, rng: Rng) -> Crowd:
    """Voters weigh three attributes differently, so that opinions on similar items go together."""
    return Crowd(rng.standard_normal((3, n)).sum(axis=0) / np.sqrt(3), spread=0.7)


def twist_crowd(n: int, rng: Rng, by: float) -> Crowd:
    return of_paper(exponential_similarity, n, rng, twist=by)


CROWDS: dict[str, Callable[[int, Rng], Crowd]] = {
    "exponential": partial(of_paper, exponential_similarity),
    "power law": partial(of_paper, power_law_similarity),
    "embedding": partial(of_paper, embedding_similarity),
    "normal": normal,
    "clusters": clusters,
    "plateau": plateau,
    "uniform": uniform,
    "heavy tails": heavy,
    "skewed": skew,
    "constant noise": partial(normal, spread=0.0, noise=0.7),
    "noisy": partial(normal, spread=1.5),
    "forgetful": partial(normal, opinions=0),
    "25 % careless": partial(normal, careless=0.25),
    "50 % careless": partial(normal, careless=0.5),
    "half of the answers at random": partial(normal, random=0.5),
    "25 % always left": partial(normal, left=0.25),
    "20 % colluding": partial(normal, colluding=0.2),
    "drifting": partial(normal, drift=0.3),
    "ties .1": partial(normal, indifference=0.16),
    "ties .2": partial(normal, indifference=0.33),
    "ties .3": partial(normal, indifference=0.5),
    "intransitive .3": partial(twist_crowd, by=0.3),
    "intransitive .6": partial(twist_crowd, by=0.6),
    "three attributes": attributes,
    "1 voter": partial(normal, n_voters=1),
    "5 voters": partial(normal, n_voters=5),
    "5 noisy voters": partial(normal, n_voters=5, spread=1.5),
    "12 voters": partial(normal, n_voters=12),
    "100 voters": partial(normal, n_voters=100),
    "oversights 10 %": partial(normal, oversight=0.1),
    "coin flips": partial(normal, random=1.0),
}


CARELESS: dict[str, Callable[[int, Rng], Crowd]] = {
    "half flip coins": partial(normal, n_voters=20, careless=0.5),
    "a tenth flip coins": partial(normal, n_voters=20, careless=0.1),
    "all very noisy": partial(normal, n_voters=20, spread=1.5),
    "all flip coins": partial(normal, n_voters=20, random=1.0),
}


def switch_to_random_pairs(n: int, voters: Voters, n_votes: int, rng: Rng) -> Strengths:
    """Match pairs until the misfit is above `SWITCH`, and ask random pairs from then on."""
    votes, strengths, is_random = no_votes(n, voters.crowd.n_voters), None, False
    batch = Matching().batch_of(n)
    while votes.n_comparisons < n_votes:
        strengths = interim_strengths(votes, strengths)
        is_random = is_random or strengths.misfit.pairs > SWITCH
        size = n // 2 if votes.n_comparisons < n // 2 * Matching().first else batch
        matches = next_comparisons(strengths, min(size, n_votes - votes.n_comparisons), rng=rng)
        if is_random:  # of the items with the fewest votes
            fewest = np.lexsort((rng.random(n), votes.presentations))[: 2 * len(matches)]
            sides = rng.permutation(fewest).astype(np.int32).reshape(2, -1)
            matches = replace(matches, left=sides[0], right=sides[1])
        votes = with_answers(votes, matches, voters.answer(matches))
    return bradley_terry(votes, voters=True)


def with_random_pairs(votes: Comparisons, voters: Voters, n_votes: int, rng: Rng) -> Comparisons:
    """Add answers to random pairs until there are `n_votes` votes."""
    n, rest = votes.n_items, n_votes - votes.n_comparisons
    if rest <= 0:
        return votes
    ballot = draw_ballot(n, -(-2 * rest // n), voters.crowd.n_voters, rng)
    more = Comparisons.from_ballots([(ballot, voters.answer(ballot))], n_items=n)
    return votes.joined(more.select(np.sort(rng.permutation(more.n_comparisons)[:rest])))


def collect_strengths(way: str, voters: Voters, n: int, n_votes: int, rng: Rng) -> Strengths:
    """Strengths from the votes that a way of asking collects."""
    n_voters = voters.crowd.n_voters
    if way == "matched":
        return run_matching(n, voters.answer, n_votes, rng=rng, voters=n_voters)
    if way == "switched":
        return switch_to_random_pairs(n, voters, n_votes, rng)
    if way == "matched ballots":
        plan = MATCHED_BALLOTS.plan(n, n_votes)
        fitted = run_matched_ballots(plan, voters.answer, items=n, rng=rng, voters=n_voters, match=MATCHED_BALLOTS)
        return bradley_terry(with_random_pairs(fitted.comparisons, voters, n_votes, rng), voters=True)
    answered = []

    def vote(ballot: Any) -> Array:
        answered.append((ballot, voters.answer(ballot)))
        return answered[-1][1]

    if way == "random":
        vote(draw_ballot(n, max(1, 2 * n_votes // n), n_voters, rng))
    else:
        n_ballots = 3 if n < 90 else 5
        run_protocol(
            plan_for_budget(n, n_ballots=n_ballots, fraction=0.6, comparisons=n_votes),
            vote,
            items=n,
            rng=rng,
            voters=n_voters,
        )
    votes = with_random_pairs(Comparisons.from_ballots(answered, n_items=n), voters, n_votes, rng)
    return bradley_terry(votes, voters=True)


def true_accuracy(strengths: Strengths, truth: Array) -> dict[str, float]:
    """Accuracy reached, and the number of votes after which there was a signal."""
    gold, estimate = Ranking.from_scores(truth), Ranking.from_scores(strengths.theta)
    return {
        "tau_w": weighted_tau(gold, estimate).statistic,
        "rho_w": weighted_rho(gold, estimate).statistic,
        "signal": float(strengths.signal.n_votes_until_significant or np.inf),
        "pairs": strengths.misfit.pairs,
    }


def expected_accuracy(strengths: Strengths, truth: Array) -> dict[str, float]:
    """Accuracy stated, and how often statements on ranks hold."""
    ranks = Ranking.from_scores(truth).ranks
    intervals = strengths.rank_intervals(0.9)
    covered = (intervals.low <= ranks) & (ranks <= intervals.high)
    k = max(3, min(TOP, truth.size // 10))
    probability = strengths.in_top(k).probability
    likely = probability >= 0.5
    return {
        "stated": strengths.expected_correlation("tau_w").mean,
        "covered": float(covered.mean()),
        "covered top": float(covered[ranks <= k].mean()),
        "in top, stated": float(probability[likely].sum()),
        "in top, true": float((ranks[likely] <= k).sum()),
        "likely": float(likely.sum()),
    }


def one(name: str, size: str, ways: tuple[str, ...], seed: int) -> dict[str, dict[str, float]]:
    """Figures of each way of asking the same crowd."""
    n, n_votes = SIZES[size]
    figures = {}
    for way in ways:
        rng = np.random.default_rng([seed, n])
        voters = CROWDS[name](n, rng).seat(rng)
        strengths = collect_strengths(way, voters, n, n_votes, rng.spawn(1)[0])
        if strengths.comparisons.n_comparisons != n_votes:
            raise ValueError(f"{way}: {strengths.comparisons.n_comparisons} votes instead of {n_votes}")
        truth = voters.truth()[np.asarray(strengths.items)]
        figures[way] = true_accuracy(strengths, truth) | (expected_accuracy(strengths, truth) if way == ways[0] else {})
    return figures


def stops(name: str, size: str, targets: tuple[float, ...], seed: int) -> dict[float, tuple[int, float]]:
    """Votes and true tau_w where a campaign first stops at each target; the rule looks at the votes after each batch.

    The rule was chosen with other seeds, which lack the third number.
    """
    n, rng = SIZES[size][0], np.random.default_rng([seed, SIZES[size][0], 1])
    voters, batch = CROWDS[name](n, rng).seat(rng), batch_for(n)
    options: dict[str, Any] = {"voters": voters.crowd.n_voters, "matching": Matching(batch=batch)}
    cast = run_matching(n, voters.answer, BUDGETS[size], rng=rng.spawn(1)[0], **options).comparisons
    gold, stops_by_target = Ranking.from_scores(voters.truth()), {}
    for m in range(batch, cast.n_comparisons + 1, batch):
        fitted = bradley_terry(cast.select(range(m)), voters=True)
        left = [target for target in targets if target not in stops_by_target]
        # A hundred draws rule most looks out, at a third of the cost.
        rough = fitted.expected_correlation("tau_w", n_samples=100, workers=1).mean
        for target in left:
            if rough >= target - SHORT and stopping_rule(target)(fitted):
                stops_by_target[target] = m, weighted_tau(gold, Ranking.from_scores(fitted.theta)).statistic
    return stops_by_target


def describe_stops(ends: list[tuple[int, float]], target: float) -> list[str]:
    """Mean votes and tau_w of campaigns that stopped, and the share that is too low, with standard errors.

    That of the share s / n is the one of (s + 1) / (n + 2).
    """
    if len(ends) < 2:
        return [str(len(ends)), "-", "-", "-"]
    votes, tau_w = np.array(ends).T
    short = tau_w < target - SHORT
    share = (short.sum() + 1) / (short.size + 2)
    return [
        f"{votes.size}",
        f"{votes.mean():.0f}",
        f"{tau_w.mean():.3f} ({tau_w.std(ddof=1) / np.sqrt(tau_w.size):.3f})",
        f"{short.mean():.2f} ({np.sqrt(share * (1 - share) / (short.size + 2)):.2f})",
    ]


def print_stops(options: argparse.Namespace, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """Print a row for each crowd and target."""
    cells = []
    for size in options.sizes:
        heading(
            f"{size} items, at most {BUDGETS[size]:,} votes: where {options.simulations} campaigns stop at a target",
            *("crowd", "target", "stopped", "votes", "true tau_w", f"more than {SHORT:g} below the target"),
        )
        for name in [name for name in CROWDS if options.only in name]:
            runs = list(pool.map(partial(stops, name, size, tuple(options.targets)), range(options.simulations)))
            for target in options.targets:
                ends = [run[target] for run in runs if target in run]
                row(name, target, *describe_stops(ends, target))
                cells.append({"crowd": name, "n": size, "target": target, "stops": ends})
    return cells


def flagged_voters(name: str, n: int, way: str, seed: int) -> tuple[list[bool], list[float]]:
    """Which of 20 voters with 60 votes each are careless, and the stated probability that they are."""
    rng = np.random.default_rng([seed, n, 2])
    voters = CARELESS[name](n, rng).seat(rng)
    strengths = collect_strengths(way, voters, n, 60 * voters.crowd.n_voters, rng.spawn(1)[0])
    report = voter_report(strengths)
    is_careless = (voters.kind == "careless") | (voters.crowd.random == 1)
    return is_careless[np.asarray(report.voters)].tolist(), report.random.tolist()


def print_careless(options: argparse.Namespace, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """Print the share of the voters with a probability above one half, for each crowd, number of items and way."""
    columns = ("voters", "items", "votes", "coin flippers flagged", "others flagged", "mean probability of all")
    heading(f"{options.simulations} campaigns with 60 votes of each of 20 voters", *columns)
    cells = []
    for name in CARELESS:
        for n in (50, 100):
            for way in ("matched", "random"):
                runs = list(pool.map(partial(flagged_voters, name, n, way), range(options.simulations)))
                is_careless, probability = (np.array([run[part] for run in runs]).ravel() for part in (0, 1))
                shares = [
                    f"{(probability[group] > 0.5).mean():.0%}" if group.any() else "-"
                    for group in (is_careless, ~is_careless)
                ]
                row(name, n, way, *shares, f"{probability.mean():.2f}")
                cells.append({"crowd": name, "n": n, "way": way, "flagged": shares})
    return cells


def cell(*values: float, is_signed: bool = False) -> str:
    """Numbers as the page prints them: two decimals, and no zero before the point."""
    texts = [f"{value:+.2f}" if is_signed else f"{value:.2f}" for value in values]
    return ", ".join(text.replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}") for text in texts)


def print_comparisons(size: str, ways: tuple[str, ...], runs_by_crowd: dict[str, list[dict[str, Any]]]) -> None:
    """Print a row for each crowd, and the range of the standard errors of the leads."""
    n, n_votes = SIZES[size]
    first, *others = ways
    print(f"\n**{n} items, {n_votes:,} votes**\n")
    columns = ("crowd", "τ_w, \N{GREEK SMALL LETTER RHO}_w", *(f"over {way}" for way in others), "misfit")
    columns += ("expected \N{MINUS SIGN} true", "intervals: all, top", "in top: said, true", "signal: found, votes")
    row(*columns)
    row(*["---"] * len(columns))
    errors: dict[str, list[float]] = {"tau_w": [], "rho_w": []}
    shares_warned = {
        name: np.mean([run[first]["pairs"] > MISFIT_LIMIT for run in runs]) for name, runs in runs_by_crowd.items()
    }
    for name, runs in runs_by_crowd.items():
        figures = {way: {key: np.array([run[way][key] for run in runs]) for key in runs[0][way]} for way in ways}
        leads = []
        for way in others:
            differences = [figures[first][key] - figures[way][key] for key in errors]
            for key, values in zip(errors, differences, strict=True):
                errors[key].append(float(values.std(ddof=1)) / np.sqrt(values.size))
            leads.append(cell(*(float(values.mean()) for values in differences), is_signed=True))
        means = {key: float(values.mean()) for key, values in figures[first].items()}
        likely = max(1.0, figures[first]["likely"].sum())
        middle = float(np.median(figures[first]["signal"]))
        row(
            name,
            cell(means["tau_w"], means["rho_w"]),
            *leads,
            cell(means["pairs"], is_signed=True),
            cell(means["stated"] - means["tau_w"], is_signed=True),
            cell(means["covered"], means["covered top"]),
            cell(*(figures[first][key].sum() / likely for key in ("in top, stated", "in top, true"))),
            f"{cell(np.isfinite(figures[first]['signal']).mean())}, "
            + ("\N{MINUS SIGN}" if np.isinf(middle) else f"{middle:.0f}"),
        )
    warned = [f"{name} {cell(share)}" for name, share in shares_warned.items() if share]
    print(f"\nMisfit above {MISFIT_LIMIT:g}, as a share of matched campaigns: {', '.join(warned) or 'none'}.")
    if others:
        ranges = [f"{min(values):.3f} to {max(values):.3f} for {key}" for key, values in errors.items()]
        print(f"\nStandard errors of the leads: {', '.join(ranges)}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=30)
    parser.add_argument("--sizes", nargs="+", default=["30", "100", "200"], choices=list(SIZES))
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=(*WAYS, "switched"))
    parser.add_argument("--only", default="", help="crowds with this in their names")
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--targets", type=float, nargs="+", default=[], help="stop at these expected tau_w instead")
    parser.add_argument("--careless", action="store_true", help="print how many careless voters are flagged instead")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    cells = []
    with ProcessPoolExecutor(options.workers) as pool:
        if options.targets:
            cells = print_stops(options, pool)
        elif options.careless:
            cells = print_careless(options, pool)
        for size in [] if options.targets or options.careless else options.sizes:
            n, n_votes = SIZES[size]
            ways = tuple(options.ways)
            runs_by_crowd = {}
            for name in [name for name in CROWDS if options.only in name]:
                task = partial(one, name, size, ways)
                runs_by_crowd[name] = list(pool.map(task, range(options.simulations), chunksize=1))
                print(f"{name}: done", file=sys.stderr)
            print_comparisons(size, ways, runs_by_crowd)
            cells += [
                {"crowd": name, "n": n, "votes": n_votes, "way": way}
                | {key: [run[way][key] for run in runs] for key in runs[0][way]}
                for name, runs in runs_by_crowd.items()
                for way in ways
            ]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(cells, file)


if __name__ == "__main__":
    main()
