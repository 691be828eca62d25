"""Figures 2, 3 and 4 of the paper, from simulations of our own: result -> figure -> files.

matplotlib (extra `plot`) is imported by the calls that draw. Markers and line styles tell the series apart, so that the
figures can be read in black and white.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import TableError
from adaptive.plan import plan_ballots
from adaptive.protocol import run_protocol
from adaptive.record import ProtocolResult
from adaptive.similarity import SIMILARITIES, exponential_similarity
from adaptive.state import write_atomically
from adaptive.table2 import FRACTION, N_BALLOTS, N_ITEMS, PRESENTATIONS
from adaptive.voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MissingMatplotlibError",
    "draw_rescaling",
    "draw_scores",
    "draw_similarities",
    "simulate_protocol",
    "write_figures",
]

N_VOTERS: Final = 100  # of Figure 2 (its caption) and of section 4.2
NONCONFORMITY, OVERSIGHT = 0.1, 0.01  # s and e of every voter in Figure 2

_SHOWN_BALLOTS = 5
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Marker, line style and grey of each series.
_LINES = {"exponential": ("o", "-"), "power_law": ("s", "--"), "embedding": ("^", ":")}
_BALLOTS = (("o", "0.72"), ("s", "0.55"), ("^", "0.45"), ("D", "0.35"), ("v", "0.2"))


class MissingMatplotlibError(ImportError):
    """matplotlib is not installed."""


def draw_rescaling(result: ProtocolResult) -> Figure:
    """Figure 2: ybar^(1) against x^(2) for the items of ballot 2, and the line of the rescaling (Eq. 6).

    Raises
    ------
    MissingMatplotlibError
    """
    first, second = result.ballots[:2]
    before = np.full(len(result.items), np.nan)
    before[first.places] = first.ybar
    figure, axes = _canvas("Score in ballot 2, x⁽²⁾", "Mean score after ballot 1, ȳ⁽¹⁾")
    axes.plot(second.x, before[second.places], "o", ms=3.5, mfc="none", mec="0.45", mew=0.7, label="items of ballot 2")
    ends = np.array([0.0, 1.0])
    axes.plot(ends, 1 - second.b + second.b * ends, "k-", lw=2, label=f"y = 1 - b + bx, b = {second.b:.3f}")
    axes.legend(loc="lower right")
    return figure


def draw_similarities(similarities: dict[str, NDArray[np.float64]]) -> Figure:
    """Figure 3: similarities of each distribution, best first.

    Parameters
    ----------
    similarities : dict of str to ndarray of float64, shape (n_items,)
        By the name of the distribution, one of `SIMILARITIES`.

    Raises
    ------
    MissingMatplotlibError
    """
    figure, axes = _canvas("Item i, most similar first", "Similarity zᵢ")
    for shift, (name, values) in enumerate(similarities.items()):
        marker, style = _LINES[name]
        every = max(1, values.size // 9)
        axes.plot(
            np.arange(values.size),
            values,
            color="k",
            ls=style,
            lw=1.5,
            marker=marker,
            mfc="w",
            ms=6,
            markevery=(shift * every // 3, every),
            label=name.replace("_", " "),
        )
    axes.axhline(0, color="0.6", lw=0.6, zorder=0)
    axes.legend()
    return figure


def draw_scores(result: ProtocolResult, gold: Ranking) -> Figure:
    """Figure 4: x^(k) of the first ballots and the final ybar, against the true rank.

    Parameters
    ----------
    result : ProtocolResult
    gold : Ranking
        True ranks of its items, in their order.

    Raises
    ------
    MissingMatplotlibError
    """
    figure, axes = _canvas("True rank", "Score")
    for record, (marker, grey) in zip(result.ballots[:_SHOWN_BALLOTS], _BALLOTS, strict=False):
        label = f"x⁽{str(record.number).translate(_SUPERSCRIPTS)}⁾, {len(record.items)} items"
        axes.plot(gold.ranks[record.places], record.x, marker, ms=4, mfc="none", mec=grey, mew=0.7, label=label)
    axes.plot(gold.ranks, result.ybar, "k.", ms=4, label="final ȳ, all items")
    axes.set_xscale("log")
    axes.legend()
    return figure


def simulate_protocol(pool: VoterPool, similarity: NDArray[np.float64], rng: np.random.Generator) -> ProtocolResult:
    """Run the paper's seven ballots once, with voters who judge relatedness.

    Parameters
    ----------
    pool : VoterPool
    similarity : ndarray of float64, shape (n_items,)
    rng : Generator
        Draws opinions, ballots and answers.

    Raises
    ------
    SimilarityError, PlanError
        When the similarities lie outside [-1, 1], or are too few for seven ballots.
    """
    plan = plan_ballots(similarity.size, n_ballots=N_BALLOTS, fraction=FRACTION, presentations=PRESENTATIONS)
    opinions = pool.opinions(similarity, rng)
    return run_protocol(
        plan,
        lambda ballot: pool.answer(ballot, opinions, rng),
        items=plan.n_items,
        rng=rng,
        voters=pool.n_voters,
    )


def write_figures(out: str | os.PathLike[str], *, seed: int, n_items: int = N_ITEMS) -> tuple[Path, ...]:
    """Simulate and draw Figures 2, 3 and 4, and write each as PNG and SVG.

    Figure 2 has voters of equal levels, as its caption says; the voters of Figure 4 are those of section 4.2.
    Nothing is written before all is drawn, and each file is whole at every moment.

    Parameters
    ----------
    out : str or path-like
        A folder; it is made if it is missing.
    seed : int
        Not negative. The same seed gives the same figures.
    n_items : int
        Enough for seven ballots.

    Returns
    -------
    tuple of Path
        figure_2.png, figure_2.svg, figure_3.png, ... in `out`.

    Raises
    ------
    MissingMatplotlibError
        When matplotlib is not installed.
    TableError
        When a file cannot be written.
    SimilarityError, PlanError
        As `simulate_protocol`.
    """
    _figure_class()  # before the simulations
    for_figure_2, for_figure_4 = np.random.default_rng(seed).spawn(2)
    similarity = exponential_similarity(n_items)
    alike = VoterPool(np.full(N_VOTERS, NONCONFORMITY), np.full(N_VOTERS, OVERSIGHT))
    varied = VoterPopulation(N_VOTERS).draw(for_figure_4)
    figures = {
        "figure_2": draw_rescaling(simulate_protocol(alike, similarity, for_figure_2)),
        "figure_3": draw_similarities({name: distribution(n_items) for name, distribution in SIMILARITIES.items()}),
        "figure_4": draw_scores(simulate_protocol(varied, similarity, for_figure_4), true_ranking(similarity)),
    }
    files = {
        Path(out, f"{name}.{form}"): _saved(figure, form) for name, figure in figures.items() for form in ("png", "svg")
    }
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            write_atomically(path, data)
    except OSError as error:
        raise TableError(f"{os.fspath(out)}: figures cannot be written: {error.strerror or error}") from error
    return tuple(files)


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingMatplotlibError("figures need matplotlib: pip install 'rankcorr[plot]'") from error
    return Figure


def _canvas(x_label: str, y_label: str) -> tuple[Figure, Axes]:
    # Without pyplot: no state is shared, and no window system is asked for.
    figure = _figure_class()(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _saved(figure: Figure, form: str) -> bytes:
    from matplotlib import rc_context

    file = io.BytesIO()
    # Text stays text, and neither the date nor random ids make two equal figures differ.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rankcorr"}):
        figure.savefig(file, format=form, dpi=200, metadata={"Date": None} if form == "svg" else None)
    return file.getvalue()
