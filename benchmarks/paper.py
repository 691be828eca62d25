"""Simulate Table 2 of the paper, as its text defines it, and draw its Figures 2, 3 and 4 from simulations.

Table 2 is section 4.2: three similarities, two approaches of equal cost. Each row has separate simulations. Items that
tie in an estimate share their mid-rank. The numbers differ from those in the paper, because its code differs from its
text: see table2_as_published.py. Figure 2 shows how the scores of ballot 2 are rescaled, Figure 3 the three similarity
distributions, Figure 4 the scores against the true rank; markers and line styles distinguish the series, so the figures
can be read in black and white.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._plan import plan_ballots
from adaptive._protocol import run_protocol
from adaptive._record import ProtocolResult
from adaptive.errors import SimilarityError
from adaptive.simulation._approaches import Approach
from adaptive.simulation._similarity import SIMILARITIES, checked_similarity, exponential_similarity, read_similarities
from adaptive.simulation._simulate import LEGEND, SimulationResult, simulate
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking
from rankcorr._checks import checked_seed
from rankcorr._cli.console import progress_bar
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._workers import Progress
from rankcorr.plots._style import Ink, add_axes, add_legend, canvas, figure_bytes, figure_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The setting of section 4.2; its 100 voters and their levels are the defaults of `VoterPopulation`.
N_ITEMS: Final = 990
N_BALLOTS: Final = 7
FRACTION: Final = 0.5
PRESENTATIONS: Final = 20

APPROACHES: Final[tuple[Approach, ...]] = ("uniform", "adaptive")  # in the order of the paper


def table2(
    *,
    n_simulations: int = 50,
    seed: int,
    executor: Executor | None = None,
    embedding: ArrayLike | None = None,
    progress: Progress | None = None,
) -> dict[str, SimulationResult]:
    """Simulate Table 2: 7 ballots of 990 items at M = 20 and a fraction of 0.5, against a uniform ballot at M = 40.

    Voters judge relatedness; each simulation draws 100 new ones. The results are by similarity distribution; each has
    the numbers that `simulate` gives with the row's seed of `row_seeds`. `embedding` has your own cosines, enough of
    them for seven ballots.
    """
    seeds = row_seeds(seed)
    similarities = {name: similarity(N_ITEMS) for name, similarity in SIMILARITIES.items()}
    if embedding is not None:
        similarities["embedding"] = checked_similarity(embedding)
    # Make all plans first, so that an invalid one does not waste the simulations of the others.
    plans = {
        name: plan_ballots(values.size, n_ballots=N_BALLOTS, fraction=FRACTION, presentations=PRESENTATIONS)
        for name, values in similarities.items()
    }
    return {
        name: simulate(
            plans[name],
            VoterPopulation(),
            values,
            n_simulations=n_simulations,
            seed=seeds[name],
            approaches=APPROACHES,
            executor=executor,
            progress=progress,
        )
        for name, values in similarities.items()
    }


def table_text(table: dict[str, SimulationResult]) -> str:
    """Return the lines of a table: similarity, approach, and mean +- sd (se) of each coefficient."""
    lines = [_line("similarity", "approach", COEFFICIENTS)]
    for name, result in table.items():
        lines += [_line(name, approach, cells) for approach, cells in result.cells().items()]
    return "\n".join(lines)


def row_seeds(seed: int) -> dict[str, int]:
    """Return a seed for each similarity distribution: with a common one, the rows would be nearly one experiment."""
    words = np.random.SeedSequence(checked_seed(seed, SimilarityError)).generate_state(len(SIMILARITIES))
    return dict(zip(SIMILARITIES, words.tolist(), strict=True))


def _line(name: str, approach: str, cells: Sequence[str]) -> str:
    return "  ".join([f"{name:<11}", f"{approach:<8}", *(f"{cell:>26}" for cell in cells)])


N_VOTERS: Final = 100  # of Figure 2 (its caption) and of section 4.2
NONCONFORMITY, OVERSIGHT = 0.1, 0.01  # s and e of every voter in Figure 2

_SHOWN_BALLOTS = 5
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Marker and line style of each distribution, marker of each ballot.
_LINES = {"exponential": ("o", "-"), "power_law": ("s", "--"), "embedding": ("^", ":")}
_MARKERS = ("o", "s", "^", "D", "v")


def draw_rescaling(result: ProtocolResult) -> Figure:
    """Draw Figure 2: ybar^(1) against x^(2) for the items of ballot 2, and the line of the rescaling (Eq. 6).

    Scores are multiples of 1/M, so many items share a point; its area is proportional to their number.
    """
    first, second = result.ballots[:2]
    before = np.empty(len(result.items))
    before[first.places] = first.ybar
    points, counts = np.unique(np.column_stack([second.x, before[second.places]]), axis=0, return_counts=True)
    figure = canvas()
    axes = add_axes(figure, (1, 1, 1), "Score in ballot 2, x⁽²⁾", "Score after ballot 1, ȳ⁽¹⁾")
    ink = Ink.of(axes)
    markers = axes.scatter(
        points[:, 0],
        points[:, 1],
        s=12.0 * counts,
        facecolors=[ink.grey(0.85)],
        edgecolors=[ink.grey(0.3)],
        linewidths=0.7,
        label="items of ballot 2 (area: how many)",
    )
    ends = np.array([0.0, 1.0])
    (line,) = axes.plot(
        ends,
        1 - second.b + second.b * ends,
        color=ink.full,
        lw=2,
        label=f"y = 1 \N{MINUS SIGN} b + bx, b = {second.b:.3f}",
    )
    add_legend(axes, [markers, line], None)
    return figure


def draw_similarities(similarities: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw Figure 3: similarities of each distribution, best first, and the relatedness of pairs of one semantic area.

    The paper's other relatedness, of random pairs of its vocabulary, needs its word embedding, which is not published.
    """
    figure = canvas()
    axes = add_axes(figure, (1, 1, 1), "Item, most similar first", "Similarity z, relatedness |z|")
    ink = Ink.of(axes)
    for shift, (name, values) in enumerate(similarities.items()):
        marker, style = _LINES[name]
        every = max(1, values.size // 9)
        axes.plot(
            np.arange(values.size),
            values,
            color=ink.full,
            ls=style,
            lw=1.5,
            marker=marker,
            mfc=ink.paper,
            ms=6,
            markevery=(shift * every // 3, every),
            label=name.replace("_", " "),
        )
    related = np.sort(np.abs(similarities["embedding"]))[::-1]
    axes.plot(np.arange(related.size), related, color=ink.colour(1), lw=1.2, marker="+", markevery=related.size // 9)
    axes.lines[-1].set_label("relatedness of pairs of one semantic area")
    axes.axhline(0, color=ink.grey(0.6), lw=0.6, zorder=0)
    axes.legend()
    return figure


def draw_scores(result: ProtocolResult, gold: Ranking) -> Figure:
    """Draw Figure 4: x^(k) of the first ballots and the final ybar, against the true rank."""
    figure = canvas()
    # One panel for each: in a single one, 1,000 and more markers would hide each other.
    for place, (record, marker) in enumerate(zip(result.ballots[:_SHOWN_BALLOTS], _MARKERS, strict=False), start=1):
        ballot = f"x⁽{str(record.number).translate(_SUPERSCRIPTS)}⁾, {len(record.items)} items"
        _draw_panel(figure, place, ballot, gold.ranks[record.places], record.x, marker)
    _draw_panel(figure, _SHOWN_BALLOTS + 1, f"final ȳ, {len(result.items)} items", gold.ranks, result.ybar, ".")
    return figure


def _draw_panel(
    figure: Figure, place: int, title: str, ranks: NDArray[np.float64], scores: NDArray[np.float64], marker: str
) -> None:
    lower, left = place > 3, place % 3 == 1
    axes = add_axes(figure, (2, 3, place), "True rank" if lower else "", "Score" if left else "")
    ink = Ink.of(axes)
    face = ink.full if marker == "." else "none"
    axes.plot(ranks, scores, marker, ms=3.2, color=ink.full, mfc=face, mew=0.5, alpha=0.5)
    axes.set_title(title, fontsize=11)
    axes.set_xscale("log")
    axes.set_xlim(0.8, 1.3 * ranks.max() if place == 1 else figure.axes[0].get_xlim()[1])
    axes.set_ylim(-0.04, 1.04)
    decades = [10**power for power in range(int(np.log10(axes.get_xlim()[1])) + 1)]
    axes.set_xticks(decades, labels=[str(rank) for rank in decades] if lower else [])
    axes.tick_params(labelleft=left)


def simulate_protocol(pool: VoterPool, similarity: NDArray[np.float64], rng: np.random.Generator) -> ProtocolResult:
    """Run the paper's seven ballots once, with voters who judge relatedness."""
    plan = plan_ballots(similarity.size, n_ballots=N_BALLOTS, fraction=FRACTION, presentations=PRESENTATIONS)
    opinions = pool.opinions(similarity, rng)
    return run_protocol(
        plan, lambda ballot: pool.answer(ballot, opinions, rng), items=plan.n_items, rng=rng, voters=pool.n_voters
    )


def write_figures(out: str | Path, *, seed: int, n_items: int = N_ITEMS) -> tuple[Path, ...]:
    """Simulate and draw Figures 2, 3 and 4, and write each as PNG and SVG.

    Figure 2 has voters of equal levels, as in its caption; Figure 4 has the voters of section 4.2.
    """
    figure_class()  # before the simulations
    for_figure_2, for_figure_4 = np.random.default_rng(checked_seed(seed, SimilarityError)).spawn(2)
    similarity = exponential_similarity(n_items)
    equal_voters = VoterPool(np.full(N_VOTERS, NONCONFORMITY), np.full(N_VOTERS, OVERSIGHT))
    varied = VoterPopulation(N_VOTERS).draw(for_figure_4)
    figures = {
        "figure_2": draw_rescaling(simulate_protocol(equal_voters, similarity, for_figure_2)),
        "figure_3": draw_similarities({name: distribution(n_items) for name, distribution in SIMILARITIES.items()}),
        "figure_4": draw_scores(simulate_protocol(varied, similarity, for_figure_4), true_ranking(similarity)),
    }
    files = {
        Path(out, f"{name}.{form}"): figure_bytes(figure, form)
        for name, figure in figures.items()
        for form in ("png", "svg")
    }
    Path(out).mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        path.write_bytes(data)
    return tuple(files)


def main() -> None:
    """Print Table 2, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=50, help="of each distribution and approach")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    parser.add_argument("--embedding", metavar="FILE", help="your own cosines: a CSV file with the column similarity")
    parser.add_argument("--figures", metavar="DIR", help="write the figures into this folder (needs matplotlib)")
    options = parser.parse_args()
    embedding = None if options.embedding is None else read_similarities(options.embedding)
    total = options.simulations * len(SIMILARITIES)
    with ProcessPoolExecutor(options.workers) as executor, progress_bar(total, "simulation", "Table 2") as advance:
        table = table2(
            n_simulations=options.simulations,
            seed=options.seed,
            executor=executor,
            embedding=embedding,
            progress=advance,
        )
    print(f"{options.simulations} simulations, seed {options.seed}\n\n{table_text(table)}\n\n{LEGEND}")
    if options.figures is not None:
        print(*write_figures(options.figures, seed=options.seed), sep="\n")


if __name__ == "__main__":
    main()
