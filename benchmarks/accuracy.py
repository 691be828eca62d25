"""Print how accurate a ranking is after a number of votes, for every approach of `simulate`.

The three tables use the paper's 990 items, voters and similarities. The first shows matching at several numbers of
votes, the second every approach at the largest of them. The third compares matching with the paper's protocol for
voters that the model does not describe. Cells are means (standard errors) for the exponential, power-law and embedding
similarities. --curve FILE draws accuracy against 2,000 to 20,000 votes instead. The script checks nothing.
"""

import argparse
import json
from collections import defaultdict
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from paper import FRACTION, N_BALLOTS, N_ITEMS, row_seeds
from report import heading, machine, row
from table2_as_published import published_amplitude

from adaptive import AccuracyCurve, VoterPopulation, simulate_curve
from adaptive.simulation._approaches import APPROACHES, Approach
from adaptive.simulation._similarity import SIMILARITIES
from rankcorr._output.tables import SYMBOLS
from rankcorr.plots._style import COLOURS, STYLES, add_axes, canvas, save_figure

Curves = dict[str, AccuracyCurve]  # by similarity

VOTES = (6_000, 9_830, 19_660)
CURVE = (2_000, 3_000, 4_500, 6_000, 8_000, 9_830, 12_500, 16_000, 19_660)
PRINTED_COEFFICIENTS = ("tau_w", "rho_w")
MARKERS = "osD^vP"
TIE_SHARE = 0.23


class Bench:
    """Simulations that share their options."""

    def __init__(self, n_simulations: int, seed: int, similarities: list[str], executor: Executor | None) -> None:
        self.n_simulations, self.seed, self.executor = n_simulations, seed, executor
        self.similarities = {name: SIMILARITIES[name](N_ITEMS) for name in similarities}

    def curves(
        self,
        budgets: tuple[int, ...],
        approaches: tuple[Approach, ...],
        voters: dict[str, VoterPopulation] | None = None,
    ) -> Curves:
        """Return the accuracy of the approaches for each similarity, with `voters` or, by default, the paper's."""
        return {
            name: simulate_curve(
                budgets,
                VoterPopulation() if voters is None else voters[name],
                similarity,
                n_simulations=self.n_simulations,
                seed=row_seeds(self.seed)[name],
                n_ballots=N_BALLOTS,
                fraction=FRACTION,
                approaches=approaches,
                executor=self.executor,
            )
            for name, similarity in self.similarities.items()
        }

    def unknown_voters(self) -> dict[str, dict[str, VoterPopulation]]:
        """Return, for each similarity, voters that the fitted model does not describe."""
        same = {
            "amplitude s z (1 - z)": VoterPopulation(amplitude=published_amplitude),
            "20 % of the voters answer at random": VoterPopulation(random_share=0.2),
            "12 voters": VoterPopulation(12),
        }
        populations = {title: dict.fromkeys(self.similarities, voters) for title, voters in same.items()}
        populations[f"{TIE_SHARE:.0%} ties between random items"] = {
            name: VoterPopulation(indifference=indifference(similarity))
            for name, similarity in self.similarities.items()
        }
        return populations


def indifference(similarity: np.ndarray) -> float:
    """Return the `TIE_SHARE` quantile of the difference of opinions between random items."""
    rng = np.random.default_rng(0)
    opinions = VoterPopulation().draw(rng).opinions(similarity, rng)
    others = rng.permuted(opinions, axis=1)
    return float(np.quantile(np.abs(opinions - others), TIE_SHARE))


def accuracy(result: AccuracyCurve, budget: int, approach: str, coefficient: str) -> str:
    estimates = result.results[budget]
    return f"{estimates.mean[approach][coefficient]:.4f} ({estimates.se[approach][coefficient]:.4f})"


def cells(curves: Curves, budget: int, approach: str) -> list[str]:
    """Return one cell for each coefficient: means and standard errors for each similarity."""
    return [
        " / ".join(accuracy(curve, budget, approach, name) for curve in curves.values())
        for name in PRINTED_COEFFICIENTS
    ]


def bench_matched(bench: Bench, votes: tuple[int, ...]) -> Curves:
    curves = bench.curves(votes, ("matched",))
    heading(f"Matching: states of one run, {bench.n_simulations} simulations", "votes", *PRINTED_COEFFICIENTS)
    for budget in votes:
        row(f"{budget:,}", *cells(curves, budget, "matched"))
    return curves


def bench_all(bench: Bench, budget: int) -> Curves:
    others = tuple(approach for approach in APPROACHES if approach != "matched")
    curves = bench.curves((budget,), others)
    heading(f"Other approaches, {budget:,} votes, {bench.n_simulations} simulations", "approach", *PRINTED_COEFFICIENTS)
    for approach in others:
        row(approach, *cells(curves, budget, approach))
    return curves


def bench_unknown_voters(bench: Bench, votes: tuple[int, ...]) -> None:
    """Compare matching with the paper's protocol for the same voters, and mark rows where it is less accurate."""
    title = f"Voters that the model does not know, {bench.n_simulations} simulations; behind: lower mean than adaptive"
    heading(title, "voters", "votes", "approach", *PRINTED_COEFFICIENTS, "behind")
    approaches: tuple[Approach, ...] = ("adaptive", "matched", "matched_ballots")
    for crowd, voters in bench.unknown_voters().items():
        curves = bench.curves(votes, approaches, voters)
        for budget in votes:
            for approach in approaches:
                behind = [
                    f"{name} {similarity}"
                    for similarity, curve in curves.items()
                    for name in PRINTED_COEFFICIENTS
                    if curve.results[budget].mean[approach][name] < curve.results[budget].mean["adaptive"][name]
                ]
                row(crowd, f"{budget:,}", approach, *cells(curves, budget, approach), ", ".join(behind) or "-")


def draw_curve(bench: Bench, votes: tuple[int, ...], file: Path) -> Curves:
    """Draw accuracy against votes, one column for each similarity; the dotted line is that of full rankings."""
    approaches = tuple(approach for approach in APPROACHES if approach != "full_rankings")
    curves = bench.curves(votes, approaches)
    most = bench.curves((max(votes),), ("full_rankings",))
    figure = canvas(4.0 * len(curves), 7.0)
    for line, name in enumerate(PRINTED_COEFFICIENTS):
        for column, (similarity, curve) in enumerate(curves.items()):
            place = (len(PRINTED_COEFFICIENTS), len(curves), line * len(curves) + column + 1)
            axes = add_axes(figure, place, "Votes", SYMBOLS[name])
            axes.set_title(similarity.replace("_", " "))
            axes.set_prop_cycle(color=COLOURS)
            for marker, style, approach in zip(MARKERS, STYLES, approaches, strict=False):
                results = curve.results.values()
                axes.errorbar(
                    list(curve.results),
                    [result.mean[approach][name] for result in results],
                    [result.se[approach][name] for result in results],
                    ls=style,
                    elinewidth=1,
                    marker=marker,
                    markersize=4,
                    label=approach.replace("_", " "),
                )
            axes.axhline(most[similarity].results[max(votes)].mean["full_rankings"][name], ls=":", color="0.3")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(approaches), frameon=False)
    save_figure(figure, file)
    return curves


def merge_curves(parts: list[Curves]) -> dict[str, Any]:
    """Return ``{approach: {similarity: {votes: {coefficient: {mean, se}}}}}``."""
    tree: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for curves in parts:
        for similarity, curve in curves.items():
            for budget, result in curve.results.items():
                for approach, coefficient, mean, _, se in result.rows():
                    tree[approach][similarity][str(budget)][coefficient] = {"mean": mean, "se": se}
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100, help="simulations of each approach and similarity")
    parser.add_argument("--votes", type=int, nargs="+", help="numbers of votes; by default 6,000, 9,830 and 19,660")
    parser.add_argument("--similarity", nargs="+", default=list(SIMILARITIES), choices=list(SIMILARITIES))
    parser.add_argument("--only", nargs="+", choices=["matched", "all", "voters"], default=["matched", "all", "voters"])
    parser.add_argument("--curve", type=Path, metavar="FILE", help="draw accuracy against votes; print no tables")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the means and standard errors")
    parser.add_argument("--seed", type=int, default=2020)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    curves: list[Curves] = []
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as executor:
        bench = Bench(options.simulations, options.seed, options.similarity, executor)
        if options.curve:
            curves.append(draw_curve(bench, tuple(options.votes or CURVE), options.curve))
        else:
            votes = tuple(options.votes or VOTES)
            if "matched" in options.only:
                curves.append(bench_matched(bench, votes))
            if "all" in options.only:
                curves.append(bench_all(bench, max(votes)))
            if "voters" in options.only:
                bench_unknown_voters(bench, votes)  # not in the JSON, which covers the paper's voters only
    if options.json:
        options.json.write_text(json.dumps(merge_curves(curves), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
