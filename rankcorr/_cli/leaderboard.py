"""`rankcorr leaderboard` and `rankcorr rank-sets`: systems ranked by gold sets or by scores, and ranks of estimates."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

import click

from rankcorr._checks import collected_notices, counted, default_of, first_few, offending, real_text
from rankcorr._cli import console, options
from rankcorr._cli.options import Files, Named, Weights
from rankcorr._io.rankings import read_numbers
from rankcorr._io.table import TextTable, list_names
from rankcorr._output.report import percent_text
from rankcorr._output.tables import TableNotes
from rankcorr.errors import ColumnError, MissingValueError, OptionError, TableError, TooFewItemsError
from rankcorr.evaluation._scores.leaderboard import (
    AGGREGATES,
    MEAN_RANK,
    MISSING_SCORES,
    ONLY_GROUP,
    ScoreLeaderboard,
    leaderboard_of_scores,
)
from rankcorr.evaluation._scores.sample_size import needed_items
from rankcorr.evaluation._sources import read_clusters
from rankcorr.inference._gold_sets import MEAN, SUM, TOTALS, group_items
from rankcorr.inference._leaderboard import Leaderboard, leaderboard
from rankcorr.inference._multiple_tests import rank_sets

SETTINGS: Final = ("groups", "level", "resamples", "seed")  # of both kinds of leaderboards
SHARED: Final = frozenset(
    {"gold", "systems", *SETTINGS, "report_path", "table", "as_json", "out", "theme", "width", "dpi", "no_title"}
)
RESAMPLES: Final = default_of(leaderboard, "n_resamples")
MODELS: Final = re.compile(r"(model|method|submission|team|participant)s?([ _-]?(name|id))?", re.I)


@dataclass(frozen=True)
class BoardOptions:
    """The options of a leaderboard, except for the files of gold and systems."""

    golds: tuple[str, ...] = console.several_option(
        "--gold", "FILE", "Another gold set; may be repeated. In --score, it comes after GOLD."
    )
    by: str = console.text_option(
        "sum|mean|NAME",
        "Rank and test by the sum or the mean over the gold sets, or by the one of this name.",
        default=SUM,
    )
    standardized: bool = console.flag_option("Standardize coefficients, so that chance gives 0 in each gold set.")
    groups: str | None = console.text_option(
        "FILE",
        "Groups of items, such as genres: CSV or TSV with the id, in as many columns as --id names, and the group. "
        "Shows a column for each group; systems are ranked by all items of GOLD unless --by says otherwise. "
        "With a table of scores: groups of tasks, with columns of tasks and groups; systems are ranked by the mean.",
    )
    unranked: tuple[str, ...] = console.several_option(
        "--unranked", "SYSTEM", "Show this system without a rank or a test, such as a late submission; may be repeated."
    )
    swap: Any = options.swap_option()
    clusters: str | None = options.clusters_option()
    coefficient: Any = options.coefficient_option(choices=options.SYSTEM_COEFFICIENTS)
    level: float = options.level_option("Confidence level of the intervals, and of the tests that form the groups.")
    resamples: int = options.resamples_option(RESAMPLES)
    seed: int = console.seed_option()

    def compute(
        self, gold: str, systems: tuple[str, ...], files: Files, weights: Weights
    ) -> tuple[Leaderboard, list[Named], list[Named], list[console.Note]]:
        """Read the files and rank the systems; return also gold sets, systems, and the library's warnings."""
        computation = console.values_of(self, "by", "standardized", "swap", "level", "seed")
        computation |= {"coefficient": weights.of_one(self.coefficient), "missing": files.missing}
        computation["clusters"] = files.read_clusters(self.clusters)
        n_golds = 1 + len(self.golds)
        benchmarks = benchmarks_of_models(gold)
        columns = options.columns_of(files.scores, n_golds + len(systems))
        if benchmarks and {*zip([gold, *self.golds], columns, strict=False)} & {
            *zip(systems, columns[n_golds:], strict=True)
        }:
            raise OptionError(_rows_are_models(gold, benchmarks))
        read = files.read([gold, *self.golds], systems)
        gold_sets = read[:n_golds]
        golds: dict[str, Any] = options.by_name(gold_sets)
        others = options.by_name(read[n_golds:])
        computation["unranked"] = self._unranked_names(read[n_golds:])
        if (groups := files.read_clusters(self.groups)) is not None:
            if self.golds:
                raise OptionError("--groups divides one gold set, so it cannot be combined with --gold")
            ((name, ranking),) = golds.items()
            golds = group_items(ranking, groups, name=name)
            computation["by"] = name if self.by == SUM else self.by
            gold_sets = [Named(label, part, label) for label, part in golds.items()]
        with console.progress_bar(None, "resample", "leaderboard") as advance, collected_notices() as notices:
            board = leaderboard(golds, others, **computation, n_resamples=self.resamples, progress=advance)
        advice = f"{gold} has a row for each model, but this ranks its columns; to rank the models, give the file alone"
        caveat = "tests respect the clusters, but intervals do not, and may be too narrow"
        about = [advice] * bool(benchmarks) + [caveat] * (self.clusters is not None)
        notes = options.reading_notes(read) + console.notes_of(about, [])
        notes += console.notes_of(notices, [self.coefficient])
        return board, gold_sets, read[n_golds:], notes

    def _unranked_names(self, systems: Sequence[Named]) -> list[str]:
        """Return the names of the systems that --unranked gives by name or by file."""
        names = {text: system.name for system in systems for text in (system.short, system.name)}
        if unknown := [text for text in self.unranked if text not in names]:
            raise OptionError(offending("--unranked must name systems; unknown", unknown))
        return [names[text] for text in self.unranked]


def benchmarks_of_models(path: str) -> list[str]:
    """Columns of benchmarks in a table of models by benchmarks; none if the file is another one, or standard input.

    Its first column is named model, method, submission, team or participant, and at least two others hold numbers.
    """
    if path == "-":
        return []
    table = TextTable(path)
    try:
        text = table.text()
        header, first = islice(table.records(text, table.delimiter(text, ())), 2)
    except (TableError, ValueError):
        return []
    if not MODELS.fullmatch(header.cells[0].strip()) or real_text(first.cells[0]):
        return []
    numeric = [name for name, cell in zip(header.cells[1:], first.cells[1:], strict=False) if real_text(cell)]
    return numeric if len(numeric) > 1 else []


def _rows_are_models(path: str, benchmarks: Sequence[str]) -> str:
    return (
        f"{path} has a row for each model and {len(benchmarks)} columns of benchmarks ({list_names(benchmarks)}). This "
        "command then ranks columns by their agreement with another column, gold, and does not rank the rows. To rank "
        "them, give the file alone. To see how benchmarks agree, use correlation_matrix in Python, or give two "
        "different columns by --score"
    )


@dataclass(frozen=True)
class ScoreOptions:
    """How a table of scores is read and ranked."""

    aggregate: Any = console.choice_option(
        AGGREGATES, "With a table of scores: rank by the mean score, Borda points or the mean rank."
    )
    tasks: tuple[str, ...] = console.several_option(
        "--tasks", "NAME", "With a table of scores: use this task; may be repeated.  [default: all]"
    )
    lower_is_better: tuple[str, ...] = console.several_option(
        "--lower-is-better", "NAME", "With a table of scores: smaller is better on this task; may be repeated."
    )
    missing_scores: Any = console.choice_option(
        MISSING_SCORES,
        "With a table of scores: if one is missing, report an error, leave out its task, or use the task's worst.",
    )
    equivalent_within: float | None = console.text_option(
        "MARGIN",
        "With a table of scores: give a verdict on the difference from the best: equivalent if one-sided tests show "
        "that it is smaller than MARGIN, else worse or undecided.",
        type=float,
    )
    needed: float | None = console.text_option(
        "DIFFERENCE",
        "With a table of scores: estimate how many tasks a test needs to find this true difference (power 0.8).",
        type=float,
    )


def refuse_options(is_table: bool) -> None:
    """Refuse options on the command line that belong to the other kind of leaderboard."""
    flags, names_of_scores = options.command_line_flags(), set(ScoreOptions.__dataclass_fields__)
    others = flags.keys() - names_of_scores - SHARED if is_table else flags.keys() & names_of_scores
    if wrong := [flag for name, flag in flags.items() if name in others]:
        kind = "SYSTEM files, not with a table of scores" if is_table else "a table of scores, given alone"
        advice = "; for missing scores use --missing-scores" if is_table and "--missing" in wrong else ""
        raise OptionError(f"{first_few(wrong)} can be used only with {kind}{advice}")


def rank_table(path: str, scores: ScoreOptions, settings: BoardOptions) -> tuple[ScoreLeaderboard, list[console.Note]]:
    """Rank the systems of a table of scores; return also the notes on it."""
    refuse_options(is_table=True)
    ranking = console.values_of(scores, "aggregate", "lower_is_better", "equivalent_within")
    ranking |= {"tasks": scores.tasks or None, "missing": scores.missing_scores}
    ranking |= {"groups": None if settings.groups is None else dict(read_clusters(settings.groups))}
    draws: dict[str, Any] = {"level": settings.level, "n_resamples": settings.resamples, "seed": settings.seed}
    with console.progress_bar(None, "resample", "leaderboard") as advance, collected_notices() as notices:
        try:
            board = leaderboard_of_scores(path, **ranking, **draws, progress=advance)
        except MissingValueError as error:
            raise OptionError(str(error).replace("missing=", "missing_scores=")) from error
        except (ColumnError, TooFewItemsError) as error:
            advice = "to rank systems by it as gold, add at least one SYSTEM file"
            raise OptionError(f"{path}, as a table of scores: {error}; {advice}") from error
    return board, console.notes_of(notices, [])


def _print_score_leaderboard(
    path: str, scores: ScoreOptions, settings: BoardOptions, report_path: str | None, as_json: bool
) -> None:
    """Rank the systems of a table as `rank_table` does, and print them."""
    board, notes = rank_table(path, scores, settings)
    has_needed = scores.needed is not None and not math.isnan(board.detectable)
    needed = needed_items(board, scores.needed or 0.0, level=board.level).to_dict() if has_needed else None
    if report_path is not None:
        board.report().save(report_path)
    if as_json:
        option_values = asdict(scores) | console.values_of(settings, *SETTINGS)
        console.print_json({**board.to_dict(), "needed": needed, "options": option_values, "warnings": notes})
        return
    size = f"{counted(len(board.rows), 'system')}, {counted(len(board.tasks), 'task')}"
    click.echo(f"scores: {console.whole(path)} ({size})")
    if board.left_out:
        click.echo(f"left out: {', '.join(map(console.whole, board.left_out))}")
    draw_text = partial(console.resamples_text, board.n_resamples, settings.seed)
    swaps = "all swaps of tasks" if board.exact else draw_text("swaps of tasks")
    direction = ", smaller is better" if board.aggregate == MEAN_RANK else ""
    intervals = f"{percent_text(board.level)} intervals ({draw_text('tasks')})"
    click.echo(f"{board.coefficient}{direction}: {intervals}, tests against the best ({swaps})")
    detectable = "none" if math.isnan(board.detectable) else console.score_text(board.detectable)
    click.echo(f"detectable: {detectable} from the best, with a power of 0.8 (median over systems)")
    if scores.needed is not None:
        click.echo(console.needed_text(needed, "tasks"))
    click.echo()
    groups: Collection[str] = () if board.gold_sets == (ONLY_GROUP,) else board.gold_sets
    rows = board.table()
    if board.verdicts is not None:
        for row, (verdict, *_) in zip(rows, board.verdicts, strict=True):
            row["verdict"] = verdict
        rows[0]["verdict"] = "-"
    more: dict[str, console.Column] = {} if board.verdicts is None else {"verdict": "{}"}
    columns = _standing_columns(rows, console.text_columns(console.score_text, *groups, "mean", "low", "high"), more)
    console.print_rows(rows, columns, board.notes_of(list(columns)))
    console.print_too_few([row.mean for row in board.rows], board, "mean", "n_items")
    console.print_notes(notes)


def _standing_columns(
    rows: Sequence[Mapping[str, Any]], scores: Mapping[str, console.Column], more: Mapping[str, console.Column]
) -> dict[str, console.Column]:
    """Columns of the table of a leaderboard: ranks, systems, `scores` with their interval, the test, and `more`."""
    return {
        "rank": console.rank_text,
        "ranks": (("least_rank", "largest_rank"), console.ranks_text),
        "group": lambda group: "-" if group is None else str(group),
        "system": console.whole,
        **scores,
        "p (two-sided, step-down)": ("corrected_pvalue", console.pvalue_text),
        **more,
        **({"missing": ("n_missing", "{}")} if any(row["n_missing"] for row in rows) else {}),
    }


@console.command("leaderboard", short_help="Rank systems by gold sets, or by a table of scores.")
def leaderboard_command(
    gold: str = console.argument(),
    systems: tuple[str, ...] = console.argument(nargs=-1, metavar="SYSTEM..."),
    settings: BoardOptions = console.options_of(BoardOptions),
    files: Files = console.options_of(Files),
    weights: Weights = console.options_of(Weights),
    score_settings: ScoreOptions = console.options_of(ScoreOptions),
    report_path: str | None = console.report_option(),
    as_json: bool = console.output_options(),
) -> None:
    """Rank the SYSTEM files by their agreement with GOLD and further gold sets, or the rows of a table of scores.

    The p-values are those against the best system, corrected for all pairs of systems (step-down). 'ranks' are the
    places that these tests do not rule out: a system with 1 among them may be the best. The first system of a group is
    significantly better than all systems of later groups; other neighbours may not differ. With several gold sets, a
    SYSTEM file holds the items of all of them. Items are resampled within each set, so the results do not extend to
    other gold sets.

    A file given alone is a table of scores, CSV or Parquet: a row for each system and a column for each task, or
    columns of systems, tasks and scores. Systems are then ranked over tasks, which are resampled and exchanged.

    Example:
      rankcorr leaderboard gold.csv system_a.csv system_b.csv
      rankcorr leaderboard gold.csv system_a.csv system_b.csv --gold gold2.csv --by gold2.csv --missing intersection
      rankcorr leaderboard scores.csv
    """
    if not systems:
        _print_score_leaderboard(gold, score_settings, settings, report_path, as_json)
        return
    refuse_options(is_table=False)
    board, golds, _, notes = settings.compute(gold, systems, files, weights)
    if report_path is not None:
        board.report().save(report_path)
    if as_json:
        option_values = {**files.to_dict(), **weights.to_dict(settings.coefficient)}
        option_values |= console.values_of(settings, "clusters", "groups", "unranked", "seed")
        console.print_json({**board.to_dict(), "options": option_values, "warnings": notes})
        return
    _print_leaderboard(board, golds, settings)
    console.print_notes(notes)


def _print_leaderboard(board: Leaderboard, golds: list[Named], settings: BoardOptions) -> None:
    has_several = len(golds) > 1
    for number, gold in enumerate(golds, start=1):
        role = f"gold {number}" if has_several and settings.groups is None else ("group" if number > 1 else "gold")
        click.echo(options.gold_line(gold, role))
    criterion = f"the {board.by}" if board.by in TOTALS else console.whole(board.by)
    ranked = f"ranked by {criterion}, its " if has_several else ""
    name = f"{board.coefficient}{', standardized' * board.standardized}"
    heading = f"{name}: {ranked}{percent_text(board.level)} intervals{_resampling_text(board, settings.seed)}"
    click.echo(f"{heading}\n")
    columns, headings = [SUM], [board.coefficient]
    if settings.groups is not None:
        columns, headings = list(board.gold_sets), ["all", *board.gold_sets[1:]]
    elif has_several:
        totals = [MEAN if board.by == MEAN else SUM]
        columns = [*board.gold_sets, *totals]
        headings = [*(f"gold {number}" for number in range(1, len(golds) + 1)), *totals]
    rows = board.table()
    for row, board_row in zip(rows, board.rows, strict=True):
        row["n_items"] = board.column_score(board_row).n_items
    scores: dict[str, console.Column] = {
        **{title: (column, "{:z.4f}") for title, column in zip(headings, columns, strict=True)},
        **console.text_columns("{:z.4f}", "low", "high"),
    }
    table_columns = _standing_columns(rows, scores, {"n": ("n_items", "{}")})
    first = list(table_columns).index(headings[0])
    notes = board.emphasis(heading, {column: place for place, column in enumerate(columns, first)})
    console.print_rows(rows, table_columns, notes)


def _resampling_text(board: Leaderboard, seed: int) -> str:
    """Return how the resamples of intervals and tests were drawn."""
    if board.exact is False:
        swaps = f"items and swaps of {board.swap}"
        return f", tests against the best ({console.resamples_text(board.n_resamples, seed, swaps)})"
    tests = f", tests against the best (all swaps of {board.swap})" if board.exact else ""
    return f" ({console.resamples_text(board.n_resamples, seed, 'items')}){tests}"


@console.command("rank-sets", short_help="Find the ranks that estimates may have.")
def rank_sets_command(
    estimates: str = console.argument(),
    id_column: str = console.text_option("COLUMN", "Column of the names.", "--id", default="name"),
    estimate: str = console.text_option("COLUMN", "Column of the estimates: larger is better.", default="estimate"),
    error: str = console.text_option("COLUMN", "Column of their standard errors.", default="standard_error"),
    best: int | None = console.count_option("Also list those that may be among the TAU best.", metavar="TAU"),
    level: float = options.level_option("Probability that the sets hold all true ranks together."),
    resamples: int = options.resamples_option(default_of(rank_sets, "n_resamples"), "Number of draws of the noise."),
    seed: int = console.seed_option(),
    as_json: bool = console.output_options(),
) -> None:
    """Find the ranks that estimates may have, from a table of ESTIMATES with standard errors: CSV or TSV.

    The estimates are independent, and close to normally distributed. The simultaneous sets of ranks hold all true ranks
    together with the probability --level; a marginal set holds the true rank of its own estimate.

    Example:
      rankcorr rank-sets estimates.csv
      rankcorr rank-sets pisa.csv --id jurisdiction --estimate math_score --error math_se --best 1
    """
    if estimate == error:
        raise OptionError("--estimate and --error must be different columns")
    try:
        numbers, errors = (
            read_numbers(estimates, id_columns=[id_column], score_column=column, score_option=option).numbers
            for column, option in ((estimate, "--estimate"), (error, "--error"))
        )
    except TableError as refusal:  # this command cannot merge repeats
        raise OptionError(str(refusal).partition(": merge repeats with")[0]) from refusal
    draws: dict[str, Any] = {"level": level, "n_resamples": resamples, "seed": seed}
    with console.progress_bar(None, "draw", "rank sets") as advance:
        sets = rank_sets(numbers, standard_errors=errors, **draws, progress=advance)
    if as_json:
        content: dict[str, Any] = {**sets.to_dict(), "best": None if best is None else list(sets.best(best))}
        console.print_json({**content, "options": {"id": id_column, "estimate": estimate, "error": error}})
        return
    draw_text = console.resamples_text(resamples, seed)
    click.echo(f"{percent_text(level)} sets of ranks of {len(sets.names)} estimates ({draw_text})\n")
    columns: dict[str, console.Column] = {
        "rank": console.rank_text,
        "ranks": (("least_rank", "largest_rank"), console.ranks_text),
        "marginal ranks": (("marginal_least_rank", "marginal_largest_rank"), console.ranks_text),
        "group": "{}",
        "name": console.label_text,
        "estimate": console.score_text,
    }
    console.print_rows(sets.table(), columns, TableNotes("Estimates and the ranks that they leave possible."))
    if best is not None:
        names = ", ".join(map(console.label_text, sets.best(best)))
        click.echo(f"\nmay be among the {best} best: {names}" if best > 1 else f"\nmay be the best: {names}")
