"""Print the level, power and coverage of tests of two systems, for many designs of data.

Each design draws a gold ranking and two exchangeable systems, or two exchangeable runs over queries. A test at the
level 0.05 should reject one pair in twenty. Items and queries are as unequal as in practice: some fail completely,
some are missing, and in one design a single item decides. The first table has a column for each kind of exchange:
"scores" treats both systems as having one scale, "ranks" uses only the order, "auto" chooses as `compare_systems` does.

Run it with ``.venv/bin/python benchmarks/bank_of_designs.py``. ``--only gross`` prints the designs with "gross" in
their name, and ``--json`` writes all cells to a file. The script checks nothing.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import Coefficient, Ranking, Rho, RhoW, Tau, TauW, compare_systems, leaderboard
from rankcorr._workers import Draws
from rankcorr.evaluation._comparison.query_tests import TESTS, compute_tests, judge_runs, pvalues
from rankcorr.evaluation._grouped import group_coefficients
from rankcorr.inference._exchange import Exchange, codes_of_scores, draw_exchanges, on_one_scale
from rankcorr.inference._gold_sets import align_systems, name_systems, read_gold_sets
from rankcorr.inference._joint_test import JointTest, RankedSystem
from rankcorr.inference._multiple_tests import PairTests

Array = np.ndarray
Rng = np.random.Generator

COEFFICIENTS: dict[str, Coefficient] = {"tau_w": TauW(), "rho_w": RhoW(), "tau": Tau(), "rho": Rho()}
SIZES, QUERIES = (10, 30, 65, 200, 1_000), (10, 15, 30, 100, 1_000)
SWAPS = ("auto", "scores", "ranks")
LEVEL, FAILS = 0.05, -10.0


def noisy(rng: Rng, n: int, k: int = 2, shared: float = 0.0, spreads: tuple[float, ...] = ()) -> Array:
    """Draw gold and systems with normal noise; the systems share part of the noise and may differ in its size."""
    gold, common = rng.standard_normal((2, n))
    noise = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.standard_normal((k, n))
    for system, spread in enumerate(spreads):
        noise[system] *= spread
    return np.vstack([gold, gold + noise])


def draw_coarse_scores(rng: Rng, n: int, k: int = 2, shared: float = 0.0, how: str = "levels") -> Array:
    """Draw systems with normal noise whose scores are grouped into ten levels, rounded, or censored below."""
    scores_with_gold = noisy(rng, n, k, shared)
    scores = scores_with_gold[1:]
    if how == "levels":
        scores = np.digitize(scores, np.linspace(-2, 2, 9)).astype(float)
    elif how == "rounded":
        scores = np.round(scores, 1)
    else:
        scores = np.maximum(scores, -0.5)
    return np.vstack([scores_with_gold[:1], scores])


def failing(rng: Rng, n: int, k: int = 2, share: float = 0.05, noise: float = 0.05, tied: bool = False) -> Array:
    """Draw systems that each put random items at the bottom, in random order or tied as if they were missing."""
    gold = rng.standard_normal(n)
    scores = gold + noise * rng.standard_normal((k, n))
    fails = rng.random((k, n)) < share
    scores[fails] = FAILS if tied else FAILS + rng.standard_normal(int(fails.sum()))
    return np.vstack([gold, scores])


def heavy(rng: Rng, n: int, k: int = 2, skewed: bool = False) -> Array:
    """Draw gold and systems with Cauchy noise, or with log-normal noise that only lowers scores."""
    gold = rng.standard_normal(n)
    noise = -rng.lognormal(0, 1.5, (k, n)) if skewed else 0.3 * rng.standard_cauchy((k, n))
    return np.vstack([gold, gold + noise])


def decisive(rng: Rng, n: int, k: int = 2) -> Array:
    """Draw systems; a random one of them puts the best item at the bottom."""
    scores = noisy(rng, n, k, spreads=(0.05,) * k)
    scores[1 + rng.integers(k), scores[0].argmax()] = FAILS
    return scores


def draw_contaminated(rng: Rng, n: int, k: int = 2) -> Array:
    """Draw systems that correlate with gold by 0.95, except on 30 % of the items, where they are unrelated to it."""
    gold = rng.standard_normal(n)
    scores = 0.95 * gold + np.sqrt(1 - 0.95**2) * rng.standard_normal((k, n))
    return np.vstack([gold, np.where(rng.random((k, n)) < 0.3, rng.standard_normal((k, n)), scores)])


def in_part(rng: Rng, n: int, k: int = 2, top: bool = True) -> Array:
    """Draw systems that can rank only the best fifth of the items, or only the others."""
    gold = rng.standard_normal(n)
    best = gold >= np.quantile(gold, 0.8)
    noise = rng.standard_normal((k, n))
    known = gold + 0.3 * noise
    return np.vstack([gold, np.where(best, known, -2 + noise) if top else np.where(best, noise, known)])


def on_two_scales(rng: Rng, n: int, k: int = 2) -> Array:
    """Draw systems that differ only in the scale of their scores."""
    scores = noisy(rng, n, k)
    scores[2:] = np.exp(1 + scores[2:])
    return scores


DESIGNS: dict[str, Callable[..., Array]] = {
    "normal": noisy,
    **{f"noise shared {share:.2%}": partial(noisy, shared=share) for share in (0.9, 0.98, 0.995, 0.999, 0.9995)},
    "ten levels": draw_coarse_scores,
    "ten levels, shared 98 %": partial(draw_coarse_scores, shared=0.98),
    "rounded to 0.1": partial(draw_coarse_scores, how="rounded"),
    "censored below": partial(draw_coarse_scores, how="censored"),
    "gross 5 %": failing,
    "lack 5 %": partial(failing, noise=1.0, tied=True),
    "lack 10 %": partial(failing, share=0.1, noise=1.0, tied=True),
    "skewed": partial(heavy, skewed=True),
    "Cauchy": heavy,
    "two scales": on_two_scales,
    "one decisive item": decisive,
    "30 % contaminated": draw_contaminated,
    "top only": in_part,
    "rest only": partial(in_part, top=False),
}


def pvalues_of(scores: Array, name: str, n_resamples: int, seed: int) -> dict[str, tuple[float, float, float, float]]:
    """Return the difference, p-value and interval of two systems for each kind of exchange."""
    gold, *systems = (Ranking.from_scores(system_scores) for system_scores in scores)
    codes = np.unique(-scores[1:], return_inverse=True)[1].reshape(2, -1)
    pvalues_by_name = {}
    for kind in ("scores", "ranks"):
        exchange = Exchange.of(COEFFICIENTS[name], gold, systems, codes if kind == "scores" else None)
        (distribution,) = draw_exchanges([[exchange]], Draws(n_resamples, seed))
        pvalues_by_name[kind] = (
            distribution.observed,
            distribution.pvalue(),
            *distribution.interval(1 - LEVEL, bound=2.0),
        )
    pvalues_by_name["auto"] = pvalues_by_name["scores" if on_one_scale(codes) else "ranks"]
    return pvalues_by_name


def pearson_pvalue(draw: Callable[..., Array], n: int, n_resamples: int, seed: int) -> float:
    """Return the p-value of two systems by Pearson's correlation, the second of which has another scale."""
    gold, first, second = draw(np.random.default_rng([14, n, seed]), n)
    return compare_systems(gold, first, 20 + 3 * second, coefficient="pearson", n_resamples=n_resamples).pvalue


def one(draw: Callable[..., Array], n: int, name: str, n_resamples: int, seed: int) -> list[tuple[float, ...]]:
    """Return the result of each kind of exchange for one data set."""
    pvalues_of_draw = pvalues_of(draw(np.random.default_rng([n, seed]), n), name, n_resamples, seed)
    return [pvalues_of_draw[kind] for kind in SWAPS]


def board(draw: Callable[..., Array], k: int, name: str, swap: str, n_resamples: int, seed: int) -> bool:
    """Return whether a leaderboard over 50 items finds a difference between exchangeable systems."""
    gold, *systems = draw(np.random.default_rng([k, seed]), 50, k)
    named = {str(number): scores for number, scores in enumerate(systems)}
    options = {"coefficient": COEFFICIENTS[name], "n_resamples": n_resamples, "seed": seed, "workers": 1}
    return leaderboard(gold, named, swap=swap, **options).rows[-1].group != 1


def by_query(rng: Rng, n: int, k: int, share: float = 0.0, spread: float = 0.0) -> Array:
    """Draw values of runs by query: difficulty is shared, failures are independent, and noise may vary by query."""
    noise = 0.1 * np.exp(spread * rng.standard_normal((n, 1)))
    values = 0.5 + 0.2 * rng.standard_normal((n, 1)) + noise * rng.standard_normal((n, k))
    return np.where(rng.random((n, k)) < share, 0.0, np.clip(values, 0, 1))


def ranked_queries(rng: Rng, n: int, k: int, coefficient: Coefficient | None = None) -> Array:
    """Draw a coefficient, or nDCG, of runs over queries with 20 documents of four levels."""
    gold = rng.choice(4, (n, 20), p=(0.6, 0.2, 0.1, 0.1)).astype(float)
    gold[:, 0], gold[:, 1] = 3.0, 0.0  # no query has all its documents tied
    rows = []
    for _ in range(k):
        scores = gold + rng.exponential(2.0, (n, 1)) * rng.standard_normal(gold.shape)
        if coefficient is None:
            discounts = 1 / np.log2(np.arange(20) + 2)
            gains = np.take_along_axis(gold, np.argsort(-scores, axis=1), axis=1) @ discounts
            rows.append(gains / (-np.sort(-gold, axis=1) @ discounts))
        else:
            rows.append(group_coefficients(coefficient, gold.ravel(), scores.ravel(), 20 * np.arange(n + 1)))
    return np.column_stack(rows)


QUERY_DESIGNS: dict[str, Callable[..., Array]] = {
    "normal queries": by_query,
    "bad queries 5 %": partial(by_query, share=0.05),
    "bad queries 10 %": partial(by_query, share=0.1),
    "heteroscedastic queries": partial(by_query, spread=1.5),
    "nDCG": ranked_queries,
    "tau_w by query": partial(ranked_queries, coefficient=TauW()),
    "rho_w by query": partial(ranked_queries, coefficient=RhoW()),
}


def one_of_queries(draw: Callable[..., Array], n: int, test: str, n_resamples: int, seed: int) -> float:
    """Return the p-value of two exchangeable runs."""
    values = draw(np.random.default_rng([n, seed]), n, 2)
    return float(compute_tests(np.diff(values, axis=1), test, 1 - LEVEL, Draws(n_resamples, seed)).pvalues[0])


def order_runs(values: Array, n_resamples: int, seed: int) -> tuple[Array, PairTests]:
    """Return the order of runs from best to worst, and the results of their tests."""
    order = np.argsort(-values.mean(axis=0), kind="stable")
    values, draws = values[:, order], Draws(n_resamples, seed)
    first, second = np.triu_indices(values.shape[1], 1)
    paired = pvalues(values[:, first] - values[:, second], "randomization", draws)
    return order, judge_runs(values, paired, 1 - LEVEL, draws)


def in_topics(rng: Rng, n: int, size: int, shared: float) -> Array:
    """Draw gold and two equally noisy systems; the items of a topic share part of the noise of each system."""
    lone, common = rng.standard_normal((2, 2, n))
    noise = np.sqrt(shared) * np.repeat(common[:, : n // size], size, axis=1) + np.sqrt(1 - shared) * lone
    gold = rng.standard_normal(n)
    return np.vstack([gold, gold + noise])


def three_times(rng: Rng, n: int) -> Array:
    """Draw gold and two equally noisy systems, in which each item occurs three times."""
    return np.repeat(noisy(rng, n // 3), 3, axis=1)


# Items that are not independent: how they are drawn, and the size of their clusters.
DEPENDENT_ITEMS: dict[str, tuple[Callable[..., Array], int]] = {
    "topics of 5 items, errors shared 50 %": (partial(in_topics, size=5, shared=0.5), 5),
    "each item three times": (three_times, 3),
}


def dependent_items(design: str, swap: str, n_resamples: int, seed: int) -> tuple[bool, bool]:
    """Return whether a test of 60 items rejects without clusters, and with them."""
    draw, size = DEPENDENT_ITEMS[design]
    gold, *systems = draw(np.random.default_rng([12, seed]), 60)
    options = {"coefficient": "tau_w", "swap": swap, "n_resamples": n_resamples, "seed": seed, "workers": 1}
    tails = [
        compare_systems(gold, *systems, clusters=clusters, **options).pvalue
        for clusters in (None, np.arange(60) // size)
    ]
    return tails[0] <= LEVEL, tails[1] <= LEVEL


def dependent_queries(n: int, test: str, n_resamples: int, seed: int) -> tuple[bool, bool]:
    """Return whether a test of families of five variants rejects without clusters, and with them."""
    rng, draws = np.random.default_rng([13, n, seed]), Draws(n_resamples, seed)
    families = np.repeat(rng.standard_normal((n // 5, 1)), 5, axis=0)
    differences = families + 0.5 * rng.standard_normal((n, 1))
    tails = [pvalues(differences, test, draws, clusters)[0] for clusters in (None, np.arange(n) // 5)]
    return tails[0] <= LEVEL, tails[1] <= LEVEL


def skewed_differences(n: int, test: str, n_resamples: int, seed: int) -> bool:
    """Return whether a test of differences with mean 0, of which a tenth are large losses, rejects."""
    rng = np.random.default_rng([14, n, seed])
    differences = np.where(rng.random((n, 1)) < 0.1, -0.9, 0.1) + 0.02 * rng.standard_normal((n, 1))
    return bool(pvalues(differences, test, Draws(n_resamples, seed))[0] <= LEVEL)


def found_again(n: int, test: str, n_resamples: int, seed: int) -> float:
    """Return whether a test finds the difference that one sample of queries says it can detect, in another sample."""
    draws, (sample, other) = Draws(n_resamples, seed), np.random.default_rng([11, n, seed]).standard_normal((2, n, 1))
    (difference,) = compute_tests(sample + 1, test, 1 - LEVEL, draws).detectable
    return float(compute_tests(other + difference, test, 1 - LEVEL, draws).pvalues[0] <= LEVEL)


def board_of_queries(draw: Callable[..., Array], k: int, n: int, n_resamples: int, seed: int) -> bool:
    """Return whether a board over n queries finds a difference between exchangeable runs."""
    values = draw(np.random.default_rng([k, n, seed]), n, k)
    return max(order_runs(values, n_resamples, seed)[1].least_ranks) > 1


def order_systems(
    gold: Array, systems: Array, name: str, swap: str, n_resamples: int, seed: int
) -> tuple[Array, PairTests]:
    """Return the order of systems from best to worst, and the results of their tests."""
    coefficient, sets = COEFFICIENTS[name], read_gold_sets(gold)
    named = {str(number): scores for number, scores in enumerate(systems)}
    entries = align_systems(sets, name_systems(named), "raise")
    totals = np.array([float(coefficient(entry.gold, entry.system)) for (entry,) in entries])
    rankings = name_systems(named)
    codes = codes_of_scores(rankings) if swap == "scores" else [None] * len(named)
    order = np.argsort(-totals, kind="stable")
    ranked_systems = [RankedSystem(str(row), entries[row], totals[row], codes[row]) for row in order.tolist()]
    return order, JointTest(coefficient, sets, ranked_systems, Draws(n_resamples, seed), swap).run(1 - LEVEL)


def judge(order: Array, tests: PairTests, qualities: Array) -> tuple[float, float]:
    """Return whether a board tells apart two systems of the same quality, and the share of other pairs told apart."""
    ordered = np.asarray(qualities)[order]
    first, second = np.triu_indices(len(ordered), 1)
    differs, is_told_apart = ordered[first] != ordered[second], tests.corrected[first, second] <= LEVEL
    return float((is_told_apart & ~differs).any()), float((is_told_apart & differs).sum() / max(1, differs.sum()))


def clusters_of_runs(rng: Rng, n: int, qualities: Array) -> Array:
    """Draw values of runs over n queries, lowered by the quality of each."""
    noise = 0.2 * rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, len(qualities)))
    return noise - 0.03 * np.asarray(qualities)


def near_duplicates(rng: Rng, n: int, qualities: Array) -> Array:
    """Draw values of equally good runs over n queries, the first 16 of which hardly differ."""
    values = 0.2 * rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, len(qualities)))
    values[:, :16] = values[:, :1] + 0.01 * rng.standard_normal((n, 16))
    return values


# Designs of boards with several qualities: queries, the quality of each run, and how values are drawn.
BOARDS_OF_RUNS: dict[str, tuple[int, Array, Callable[..., Array]]] = {
    "5 x 2 equal runs, 300 queries": (300, np.repeat(np.arange(5), 2), clusters_of_runs),
    "8 x 2 equal runs, 1,000 queries": (1_000, np.repeat(np.arange(8), 2), clusters_of_runs),
    "10 runs, 50 queries": (50, np.arange(10), clusters_of_runs),
    "20 runs, 15 queries": (15, np.arange(20), clusters_of_runs),
    **{f"16 of 20 runs alike, {n} queries": (n, np.zeros(20), near_duplicates) for n in (10, 15, 20, 60)},
}
# The same for items: number of items, and the noise of each system.
BOARDS_OF_SYSTEMS: dict[str, tuple[int, Array]] = {
    "5 x 2 equal systems, 200 items": (200, np.repeat([0.2, 0.4, 0.7, 1.1, 1.8], 2)),
    "10 systems, 200 items": (200, np.linspace(0.4, 1.5, 10)),
    "16 of 20 systems alike, 15 items": (15, np.ones(20)),
    "16 of 20 systems alike, 50 items": (50, np.ones(20)),
}


def judged_runs(design: str, n_resamples: int, seed: int) -> tuple[float, float]:
    """Judge one board of runs with several qualities."""
    n, qualities, draw = BOARDS_OF_RUNS[design]
    return judge(*order_runs(draw(np.random.default_rng([7, seed]), n, qualities), n_resamples, seed), qualities)


def judged_systems(design: str, name: str, swap: str, n_resamples: int, seed: int) -> tuple[float, float]:
    """Judge one board of systems with several qualities."""
    n, spreads = BOARDS_OF_SYSTEMS[design]
    gold, *systems = noisy(np.random.default_rng([9, seed]), n, len(spreads), spreads=tuple(spreads))
    if "alike" in design:
        noise = np.random.default_rng([10, seed]).standard_normal((16, n))
        systems[:16] = systems[0] + 0.05 * noise
    return judge(*order_systems(gold, np.array(systems), name, swap, n_resamples, seed), spreads)


def error(share: float, number: int) -> float:
    """Return the standard error of a share."""
    return float(np.sqrt(share * (1 - share) / number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000, help="data sets of each cell (a third for 1,000 items)")
    parser.add_argument("--boards", type=int, default=400, help="leaderboards of each cell")
    parser.add_argument("--resamples", type=int, default=199)
    parser.add_argument("--only", default="", help="run only the designs whose names contain this")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", help="write all cells to this file")
    options = parser.parse_args()
    machine("numpy", "numba")
    cells = []

    def add(table: str, design: str, quantity: str, n: int, share: float, number: int) -> str:
        cells.append(
            {
                "table": table,
                "design": design,
                "quantity": quantity,
                "n": n,
                "share": share,
                "error": error(share, number),
            }
        )
        return f"{share:.3f}"

    with ProcessPoolExecutor(os.cpu_count()) as pool:

        def ran(task: Callable[[int], object], number: int) -> Array:
            return np.array(list(pool.map(task, range(number), chunksize=max(1, number // 16))), dtype=float)

        designs = {name: draw for name, draw in DESIGNS.items() if options.only in name}
        heading(
            f"two exchangeable systems: share of {options.draws:,} p-values up to 0.05, {options.resamples} exchanges",
            *("design", "items", *(f"{name}: {', '.join(SWAPS)}" for name in COEFFICIENTS)),
        )
        for (design, draw), n in itertools.product(designs.items(), options.sizes):
            number = options.draws if n < 1_000 else options.draws // 3
            texts = []
            for name in COEFFICIENTS:
                tails = ran(partial(one, draw, n, name, options.resamples), number)[:, :, 1]
                levels = (tails <= LEVEL).mean(axis=0).tolist()
                texts.append(
                    " ".join(
                        add("level", design, f"{name} {kind}", n, level, number)
                        for kind, level in zip(SWAPS, levels, strict=True)
                    )
                )
            row(design, n, *texts)

        if not options.only:
            heading(
                "noise 0.8 against 1.3, and 0.5 against 1.5: share of p-values at most 0.05, and of intervals that "
                "contain the mean difference",
                *("noise", "items", *(f"{name}: {', '.join(SWAPS)}" for name in COEFFICIENTS)),
            )
            for spreads, n in itertools.product(((0.8, 1.3), (0.5, 1.5)), (30, 65, 200)):
                powers, coverages = [], []
                for name in COEFFICIENTS:
                    results = ran(
                        partial(one, partial(noisy, spreads=spreads), n, name, options.resamples), options.draws
                    )
                    truth = results[:, 0, 0].mean()
                    coverage = ((results[:, :, 2] <= truth) & (results[:, :, 3] >= truth)).mean(axis=0).tolist()
                    power = (results[:, :, 1] <= LEVEL).mean(axis=0).tolist()
                    label = f"{spreads[0]} and {spreads[1]}"
                    powers.append(
                        " ".join(
                            add("power", label, f"{name} {kind}", n, share, options.draws)
                            for kind, share in zip(SWAPS, power, strict=True)
                        )
                    )
                    coverages.append(
                        " ".join(
                            add("coverage", label, f"{name} {kind}", n, share, options.draws)
                            for kind, share in zip(SWAPS, coverage, strict=True)
                        )
                    )
                row(f"{label}, power", n, *powers)
                row(f"{label}, coverage", n, *coverages)

        if options.boards:
            heading(
                f"leaderboards of exchangeable systems, 50 items: share of {options.boards:,} that name a difference",
                *("design", "systems", *(f"{name}: auto, ranks" for name in ("tau_w", "rho_w"))),
            )
            for (design, draw), k in itertools.product(designs.items(), (2, 5, 20, 60)):
                number = options.boards if k < 60 else options.boards // 4
                texts = []
                for name in ("tau_w", "rho_w"):
                    shares = [
                        float(ran(partial(board, draw, k, name, swap, max(199, 25 * k)), number).mean())
                        for swap in ("auto", "ranks")
                    ]
                    texts.append(
                        " ".join(
                            add("boards", design, f"{name} {swap}, {k} systems", 50, share, number)
                            for swap, share in zip(("auto", "ranks"), shares, strict=True)
                        )
                    )
                row(design, k, *texts)

        designs = [name for name in (*BOARDS_OF_RUNS, *BOARDS_OF_SYSTEMS) if options.boards and options.only in name]
        if designs:
            heading(
                f"boards of several qualities: share of {options.boards:,} that tell apart equal ones, and share of "
                "the other pairs told apart",
                *("design", "runs, or coefficient and exchange", "wrong", "told apart"),
            )
        for design in designs:
            kinds = ["runs"] if design in BOARDS_OF_RUNS else itertools.product(("tau_w", "rho_w"), SWAPS[1:])
            for kind in kinds:
                task = (
                    partial(judged_runs, design, 499) if kind == "runs" else partial(judged_systems, design, *kind, 499)
                )
                wrong, share_told_apart = ran(task, options.boards).mean(axis=0).tolist()
                label = kind if kind == "runs" else " ".join(kind)
                row(design, label, add("qualities", design, label, 0, wrong, options.boards), f"{share_told_apart:.3f}")

        if options.only in "assumptions":
            heading(
                f"violated assumptions: share of {options.draws:,} tests of a true hypothesis that reject at 0.05",
                *("design", "test", "without clusters", "with clusters"),
            )
            for design, swap in itertools.product(DEPENDENT_ITEMS, SWAPS[1:]):
                shares = ran(partial(dependent_items, design, swap, options.resamples), options.draws).mean(axis=0)
                row(design, swap, *(f"{share:.3f}" for share in shares))
            for n, test in itertools.product((30, 100), TESTS):
                shares = ran(partial(dependent_queries, n, test, options.resamples), options.draws).mean(axis=0)
                row(f"families of 5 variants, {n} queries", test, *(f"{share:.3f}" for share in shares))
            for n, test in itertools.product((15, 50, 200), TESTS):
                share = ran(partial(skewed_differences, n, test, options.resamples), options.draws).mean()
                row(f"10 % large losses, {n} queries", test, f"{share:.3f}", "")

        if options.only in "pearson":
            heading(
                f"pearson, two scales: share of {options.draws:,} p-values at most 0.05", "design", "items", "level"
            )
            for design, n in itertools.product(("normal", "skewed", "Cauchy", "censored below"), (15, 40, 200)):
                tails = ran(partial(pearson_pvalue, DESIGNS[design], n, options.resamples), options.draws)
                row(design, n, add("pearson", design, "level", n, float((tails <= LEVEL).mean()), options.draws))

        if options.only in "detectable":
            heading(
                f"share of {options.draws:,} tests that find the detectable difference", "queries", "randomization", "t"
            )
            for n in (6, 8, 12, 15, 25, 60):
                shares = [ran(partial(found_again, n, test, options.resamples), options.draws).mean() for test in TESTS]
                row(
                    n,
                    *(
                        add("detectable", f"{n} queries", test, n, share, options.draws)
                        for test, share in zip(TESTS, shares, strict=True)
                    ),
                )

        designs = {name: draw for name, draw in QUERY_DESIGNS.items() if options.only in name}
        if designs:
            heading(
                f"two exchangeable runs: share of {2 * options.draws:,} p-values at most 0.05",
                *("design", "queries", "randomization", "t"),
            )
        for (design, draw), n in itertools.product(designs.items(), QUERIES):
            number = 2 * options.draws
            levels = [
                float((ran(partial(one_of_queries, draw, n, test, options.resamples), number) <= LEVEL).mean())
                for test in TESTS
            ]
            row(
                design,
                n,
                *(
                    add("queries", design, test, n, level, number)
                    for test, level in zip(("randomization", "t"), levels, strict=True)
                ),
            )
        if designs and options.boards:
            heading("boards of exchangeable runs: share that names a difference", "design", "runs", "queries", "share")
        for (design, draw), k, n in itertools.product(designs.items(), (2, 6, 20), (15, 100) if options.boards else ()):
            number = 2 * options.boards
            share = float(ran(partial(board_of_queries, draw, k, n, max(399, 25 * k)), number).mean())
            row(design, k, n, add("query boards", design, f"{k} runs", n, share, number))

    for table in ("level", "boards", "qualities", "queries", "query boards"):
        results = [cell for cell in cells if cell["table"] == table]
        if results:
            worst = max(results, key=lambda cell: cell["share"] - 2 * cell["error"])
            above = sum(cell["share"] - 2 * cell["error"] > 0.06 for cell in results)
            print(
                f"\n{table}: {len(results)} cells; highest {worst['design']}, {worst['quantity']}, {worst['n']}: "
                f"{worst['share']:.3f} (se {worst['error']:.3f}); {above} surely above 0.06"
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(cells, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
