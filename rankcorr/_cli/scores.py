"""`rankcorr leaderboard` for a table of scores: options and output."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import click
from click.core import ParameterSource

from rankcorr._checks import collected_notices, counted, first_few
from rankcorr._cli import console
from rankcorr._cli.console import (
    Decorator,
    choice_setting,
    gathered,
    needed_text,
    number_text,
    pvalue_text,
    text_columns,
    whole,
)
from rankcorr._workers import progress_bar
from rankcorr.errors import ColumnError, MissingValueError, OptionError, TooFewItemsError
from rankcorr.evaluation._scores.leaderboard import (
    AGGREGATES,
    MEAN_RANK,
    MISSING_SCORES,
    ONLY_GROUP,
    ScoreLeaderboard,
    leaderboard_of_scores,
    table_notes,
)
from rankcorr.evaluation._scores.sample_size import needed_items
from rankcorr.evaluation._sources import read_clusters

SETTINGS: Final = ("groups", "level", "resamples", "seed")  # of both kinds of leaderboards
SHARED: Final = frozenset(
    {"gold", "systems", *SETTINGS, "report_path", "table", "as_json", "out", "theme", "width", "dpi", "no_title"}
)


@dataclass(frozen=True)
class ScoreOptions:
    """How a table of scores is read and ranked."""

    aggregate: Any = choice_setting(
        "--aggregate", AGGREGATES, "With a table of scores: rank by the mean score, Borda points or the mean rank."
    )
    tasks: tuple[str, ...] = console.several_setting(
        "--tasks", "NAME", "With a table of scores: use this task; may be repeated.  [default: all]"
    )
    lower_is_better: tuple[str, ...] = console.several_setting(
        "--lower-is-better", "NAME", "With a table of scores: smaller is better on this task; may be repeated."
    )
    missing_scores: Any = choice_setting(
        "--missing-scores",
        MISSING_SCORES,
        "With a table of scores: if one is missing, report an error, leave out its task, or use the task's worst.",
    )
    equivalent_within: float | None = console.setting(
        "--equivalent-within",
        type=float,
        metavar="MARGIN",
        help="With a table of scores: give a verdict on the difference from the best: equivalent if one-sided tests "
        "show that it is smaller than MARGIN, else worse or undecided.",
    )
    needed: float | None = console.setting(
        "--needed",
        type=float,
        metavar="DIFFERENCE",
        help="With a table of scores: estimate how many tasks a test needs to find this true difference (power 0.8).",
    )


score_options: Decorator = gathered("score_settings", ScoreOptions)


def refuse_options(is_table: bool) -> None:
    """Refuse options on the command line that belong to the other kind of leaderboard."""
    context = click.get_current_context()
    names_of_scores = set(ScoreOptions.__dataclass_fields__)
    flags = {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }
    wrong = [
        flag
        for name, flag in flags.items()
        if (name not in names_of_scores | SHARED if is_table else name in names_of_scores)
    ]
    if wrong:
        kind = "SYSTEM files, not with a table of scores" if is_table else "a table of scores, given alone"
        advice = "; for missing scores use --missing-scores" if is_table and "--missing" in wrong else ""
        raise OptionError(f"{first_few(wrong)} can be used only with {kind}{advice}")


def rank_table(
    path: str, scores: ScoreOptions, settings: Mapping[str, Any]
) -> tuple[ScoreLeaderboard, list[console.Note]]:
    """Rank the systems of a table; `settings` are groups, level, resamples and seed. Return also the notes on it."""
    refuse_options(is_table=True)
    groups = settings["groups"]
    with progress_bar(None, "resample", "leaderboard") as advance, collected_notices() as notices:
        try:
            board = leaderboard_of_scores(
                path,
                aggregate=scores.aggregate,
                groups=None if groups is None else dict(read_clusters(groups)),
                lower_is_better=scores.lower_is_better,
                missing=scores.missing_scores,
                equivalent_within=scores.equivalent_within,
                tasks=scores.tasks or None,
                level=settings["level"],
                n_resamples=settings["resamples"],
                seed=settings["seed"],
                progress=advance,
            )
        except MissingValueError as error:
            raise OptionError(str(error).replace("missing=", "missing_scores=")) from error
        except (ColumnError, TooFewItemsError) as error:
            message = f"{path} is not a table of scores ({error}); to rank systems by it, add at least one SYSTEM file"
            raise OptionError(message) from error
    return board, console.notes_of(notices, [])


def print_score_leaderboard(
    path: str, scores: ScoreOptions, settings: Mapping[str, Any], report_path: str | None, as_json: bool
) -> None:
    """Rank the systems of a table as `rank_table` does, and print them."""
    board, notes = rank_table(path, scores, settings)
    has_needed = scores.needed is not None and not math.isnan(board.detectable)
    needed = needed_items(board, scores.needed or 0.0, level=board.level).to_dict() if has_needed else None
    if report_path is not None:
        board.report().save(report_path)
    if as_json:
        content = {**board.to_dict(), "needed": needed}
        console.print_json({**content, "options": asdict(scores) | dict(settings), "warnings": notes})
        return
    _print(path, board, settings["seed"], None if scores.needed is None else needed_text(needed, "tasks"))
    console.print_notes(notes)


def _print(path: str, board: ScoreLeaderboard, seed: int, needed: str | None) -> None:
    click.echo(f"scores: {whole(path)} ({counted(len(board.rows), 'system')}, {counted(len(board.tasks), 'task')})")
    if board.left_out:
        click.echo(f"left out: {', '.join(map(whole, board.left_out))}")
    swaps = "all swaps of tasks" if board.exact else console.resamples_text(board.n_resamples, seed, "swaps of tasks")
    direction = ", smaller is better" if board.aggregate == MEAN_RANK else ""
    click.echo(
        f"{board.coefficient}{direction}: {console.percent_text(board.level)} intervals "
        f"({console.resamples_text(board.n_resamples, seed, 'tasks')}), tests against the best ({swaps})"
    )
    detectable = console.detectable_text(board.detectable, 1.0)
    click.echo(f"detectable: {detectable} from the best, with a power of 0.8 (median over systems)")
    if needed is not None:
        click.echo(needed)
    click.echo()
    groups: Collection[str] = () if board.gold_sets == (ONLY_GROUP,) else board.gold_sets
    rows = board.table()
    if board.verdicts is not None:
        for row, (verdict, *_) in zip(rows, board.verdicts, strict=True):
            row["verdict"] = verdict
        rows[0]["verdict"] = "-"
    columns: dict[str, console.Column] = {
        "rank": ("rank", console.rank_text),
        "ranks": (("least_rank", "largest_rank"), console.ranks_text),
        "group": ("group", "{}"),
        "system": ("system", whole),
        **text_columns(number_text, *groups, "mean", "low", "high"),
        "p (two-sided, step-down)": ("corrected_pvalue", pvalue_text),
        **({} if board.verdicts is None else {"verdict": ("verdict", "{}")}),
        **({"missing": ("n_missing", "{}")} if any(row["n_missing"] for row in rows) else {}),
    }
    console.print_rows(rows, columns, table_notes(board, list(columns)))
