"""`rankcorr plot`: files of rankings -> a figure -> a PNG, SVG or PDF file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rankcorr._checks import collected_notices
from rankcorr._cli import console, leaderboard, options
from rankcorr._cli.compare import TEST_RESAMPLES
from rankcorr._cli.console import FigureFile, Note, progress_bar
from rankcorr._cli.options import Files, Named, Weights
from rankcorr._coefficients import COEFFICIENTS
from rankcorr.errors import OptionError
from rankcorr.inference._gold_sets import COLUMNS, TOTALS
from rankcorr.inference._null import permutation_test
from rankcorr.plots import chance_levels, plot_leaderboard, plot_null, plot_offset, plot_ranks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Drawing: TypeAlias = Callable[[], Figure]


@click.group(cls=console.WithExamples, no_args_is_help=False, short_help="Draw figures as PNG, SVG or PDF.")
def plot() -> None:
    """Draw figures of rankings and their coefficients. Needs matplotlib: pip install matplotlib.

    Example:
      rankcorr plot ranks gold.csv system_a.csv system_b.csv --out ranks.png
      rankcorr plot offset gold.csv system_a.csv system_b.csv --out offset.svg
      rankcorr plot leaderboard gold.csv system_a.csv system_b.csv --out leaderboard.svg
      rankcorr plot null gold.csv system_a.csv system_b.csv --alternative greater --out null.pdf
    """


def _matching(files: Files, gold: str, systems: Sequence[str]) -> tuple[Named, list[Named]]:
    """Read gold and systems, whose items must match."""
    reference, *others = files.read([gold], systems)
    console.print_notes(options.reading_notes([reference, *others]))
    for other in others:
        options.match_items(reference, other, files.missing)
    return reference, others


@plot.command(short_help="Draw ranks in systems against those in gold.")
def ranks(
    gold: str = console.argument(),
    systems: tuple[str, ...] = options.systems_argument(),
    figure: FigureFile = console.options_of(FigureFile),
    files: Files = console.options_of(Files),
    coefficient: str = options.coefficient_option(),
    weights: Weights = console.options_of(Weights),
    worst: int = console.text_option("K", "Name the K items that cost most.", type=click.IntRange(min=0), default=5),
) -> None:
    """Draw the rank of each item in SYSTEM against its rank in GOLD; the area of a marker grows with the weight.

    Several systems have a panel each.

    Example:
      rankcorr plot ranks gold.csv system_a.csv system_b.csv --out ranks.png
    """
    coefficient_value = weights.of_one(coefficient)
    reference, others = _matching(files, gold, systems)
    named = {other.in_figures.name: other.ranking for other in others}

    def draw() -> Figure:
        return plot_ranks(
            reference.ranking,
            others[0].ranking if len(others) == 1 else named,
            missing=files.missing,
            names=(reference.in_figures.name, others[0].in_figures.name),
            n_named=worst,
            coefficient=coefficient_value,
        )

    _write(figure, draw, coefficient, [reference, *others])


@plot.command(short_help="Draw coefficients as functions of n0.")
def offset(
    gold: str = console.argument(),
    systems: tuple[str, ...] = options.systems_argument(),
    figure: FigureFile = console.options_of(FigureFile),
    files: Files = console.options_of(Files),
    coefficient: Any = options.coefficient_option(
        choices=tuple(name for name in COEFFICIENTS if name not in options.PLAIN)
    ),
    weights: Weights = console.options_of(Weights, "n0", "weigher"),  # a figure of many n0 has the weight itself
) -> None:
    """Draw the coefficient of each SYSTEM as a function of n0, and R(n0), the weight of the first rank.

    With more than 8 systems, only the best 5 have different lines, and the others are grey.

    Example:
      rankcorr plot offset gold.csv system_a.csv system_b.csv --out offset.svg
    """
    reference, others = _matching(files, gold, systems)
    named = {other.in_figures.name: other.ranking for other in others}

    def draw() -> Figure:
        return plot_offset(reference.ranking, named, coefficient=weights.of(coefficient), missing=files.missing)

    _write(figure, draw, coefficient, [reference, *others])


@plot.command("leaderboard", short_help="Draw systems with intervals and groups.")
def leaderboard_figure(
    gold: str = console.argument(),
    systems: tuple[str, ...] = console.argument(nargs=-1, metavar="SYSTEM..."),
    figure: FigureFile = console.options_of(FigureFile),
    settings: leaderboard.BoardOptions = console.options_of(leaderboard.BoardOptions),
    files: Files = console.options_of(Files),
    weights: Weights = console.options_of(Weights),
    score_settings: leaderboard.ScoreOptions = console.options_of(leaderboard.ScoreOptions),
) -> None:
    """Draw what `rankcorr leaderboard` prints: the coefficient of each system, its interval, and the groups.

    Bars behind the systems show the values that chance alone gives, from as many permutations as resamples. With
    several gold sets, each has a panel, next to the panel of the sum or mean that ranks the systems. A file given alone
    is a table of scores, as for `rankcorr leaderboard`.

    Example:
      rankcorr plot leaderboard gold.csv system_a.csv system_b.csv --out leaderboard.svg
      rankcorr plot leaderboard scores.csv --out leaderboard.svg
    """
    if not systems:
        if score_settings.needed is not None or score_settings.equivalent_within is not None:
            raise OptionError("--needed and --equivalent-within have no effect on a figure; use rankcorr leaderboard")
        of_scores, notes = leaderboard.rank_table(gold, score_settings, settings)
        _write(figure, lambda: plot_leaderboard(of_scores), settings.coefficient, notes=notes)
        return
    leaderboard.refuse_options(is_table=False)
    board, golds, others, notes = settings.compute(gold, systems, files, weights)
    # A table of a leaderboard has columns of these names, too, so a gold set needs another.
    reserved_names = (*TOTALS, *COLUMNS)
    sets = {
        gold_set.name: gold_set if gold_set.in_figures.name in reserved_names else gold_set.in_figures
        for gold_set in golds
    }
    rows = {compared.name: compared.in_figures for compared in others}

    def draw() -> Figure:
        draws: dict[str, Any] = {"n_resamples": settings.resamples, "seed": settings.seed, "missing": files.missing}
        draws["coefficient"] = weights.of_one(settings.coefficient)
        named = [options.by_name(list(entries.values())) for entries in (sets, rows)]
        with progress_bar(None, "permutation", "chance levels") as advance:
            chance = chance_levels(*named, **draws, progress=advance)
        renamed = replace(
            board,
            gold_sets=tuple(sets[name].name for name in board.gold_sets),
            by=sets[board.by].name if board.by in sets else board.by,
            rows=tuple(replace(row, system=rows[row.system].name) for row in board.rows),
        )
        return plot_leaderboard(renamed, chance=chance)

    _write(figure, draw, settings.coefficient, notes=notes)


@plot.command(short_help="Draw what chance gives, and where systems lie.")
def null(
    gold: str = console.argument(),
    systems: tuple[str, ...] = options.systems_argument(),
    figure: FigureFile = console.options_of(FigureFile),
    files: Files = console.options_of(Files),
    coefficient: str = options.coefficient_option(),
    weights: Weights = console.options_of(Weights),
    alternative: Any = options.alternative_option(),
    resamples: int = options.resamples_option(TEST_RESAMPLES, "Number of random permutations."),
    seed: int = console.seed_option(),
) -> None:
    """Draw the coefficients of the permuted ranks of SYSTEM with GOLD, and where the observed one lies.

    Several systems have a row each.

    Example:
      rankcorr plot null gold.csv system_a.csv system_b.csv --alternative greater --out null.pdf
    """
    null_options: dict[str, Any] = {"coefficient": weights.of_one(coefficient), "missing": files.missing}
    null_options |= {"n_resamples": resamples, "seed": seed}
    reference, others = _matching(files, gold, systems)

    def draw() -> Figure:
        with progress_bar(resamples * len(others), "permutation", "values by chance") as advance:
            null_options["progress"] = advance
            tests = [permutation_test(reference.ranking, other.ranking, **null_options) for other in others]
        if len(tests) == 1:
            return plot_null(tests[0].null, tests[0].statistic, alternative=alternative)
        named = {other.in_figures.name: test for other, test in zip(others, tests, strict=True)}
        nulls = {name: test.null for name, test in named.items()}
        return plot_null(nulls, {name: test.statistic for name, test in named.items()}, alternative=alternative)

    _write(figure, draw, coefficient, [reference, *others])


def _write(
    figure: FigureFile, draw: Drawing, coefficient: str, files: Sequence[Named] = (), *, notes: Sequence[Note] = ()
) -> None:
    """Draw a figure, write it, and print its path and any notes; errors name its files, and notes a single system."""
    with collected_notices() as notices, options.errors_of(*files):
        lacking = figure.write(draw)
    system = files[1].name if len(files) == 2 else None
    interval_notes = console.notes_of(notices, [coefficient], system)
    console.print_notes([*notes, *interval_notes, *({"message": message} for message in lacking)])
