"""The commands `ballots fit`, `next` and `plot`: votes -> strengths of the items, with what is uncertain about them.

A ranking, the comparisons that say most about the top of the list, or a figure as a PNG, SVG or PDF file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click
import numpy as np

from adaptive._cli import vote_files
from adaptive._cli.fit_choices import CHOICES_HELP, answers_of_choices, choice_options, fit_choices, fit_of_choices
from adaptive._cli.output import emit, item_text, out_option, print_items, print_note, write_items
from adaptive._cli.vote_files import Reading
from adaptive._formats.votes import votes_csv
from adaptive._record import json_label, places_best_first
from adaptive._tables import check_decimals
from adaptive.choices._strengths import ChoiceStrengths, elo_ratings
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError
from adaptive.matching._matching import Matches, Matching, next_comparisons
from adaptive.model._accuracy import MOST_WITH_INTERVALS, N_SAMPLES, Better
from adaptive.model._models import MODELS, STRENGTH_MODELS, bradley_terry, fit_named
from adaptive.model._reliability import N_SPLITS, Reliability, reliability
from adaptive.model._scoring import BordaScores
from adaptive.model._strengths import Strengths
from adaptive.plots import AT_RANDOM, LEVEL, SCALES, TOP, Scale, agreement, plot_in_top, plot_strengths, plot_voters
from rankcorr import OptionError
from rankcorr._checks import checked_level, counted, repeated
from rankcorr._cli import console
from rankcorr._cli.console import progress_bar
from rankcorr._io.source import printable
from rankcorr._output.results import json_ready

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = TypeVar("Draw", bound="Callable[..., Figure]")

_MOST_PRINTED: Final = 20


@console.command("fit", more=vote_files.FILES_HELP + CHOICES_HELP, short_help="Rank items by votes, with uncertainty.")
def fit_command(
    votes: tuple[str, ...] = vote_files.votes_argument(),
    items: str | None = vote_files.items_option(),
    reading: Reading = console.options_of(Reading),
    fitting: dict[str, Any] = vote_files.model_options(list(MODELS)),
    of_choices: dict[str, Any] = choice_options(),
    top: int | None = console.count_option(
        f"Print or write only the best N items.  [default: {_MOST_PRINTED} printed, all in files]"
    ),
    out: str | None = console.text_option("FILE", "Write the ranking here, as CSV."),
    level: float = console.option(type=float, default=0.9, help="Probability that an interval contains the true rank."),
    pairs: tuple[tuple[str, str], ...] = console.several_option(
        "--better", "A B", "Also print the probability that item A is better than item B; may be repeated.", nargs=2
    ),
    with_reliability: bool = console.flag_option(
        "Also print how reliable the strengths are, and the infit of each item.", "--reliability"
    ),
    report_path: str | None = console.report_option(),
    as_json: bool = console.output_options(", with all that was fitted"),
) -> None:
    """Fit strengths to all votes of the VOTES files, and rank the items by them.

    A win over a strong item counts more than one over a weak item. The standard error shows how certain a strength is.
    The true rank lies between rank low and rank high with the probability of --level (up to 3,000 items). The CSV of
    --out has the columns item (or item_1, item_2, ...), rank, strength, standard_error, rank_low, rank_high,
    presentations, wins, ties and losses; with --model borda or rank-centrality, score instead of strength to rank_high.
    For graded votes, best-worst answers, rankings and clustered votes, it also has strength_low and strength_high, the
    ends of the interval of the strength.
    With --reliability, separation and scale separation reliability compare the spread of the strengths with their
    errors, and split-half correlates strengths from halves of the voters; pairs that were chosen by earlier votes make
    all three too large. The infit of an item is above 1 if votes on it depart from the order. Warnings about the
    ranking go to stderr.

    Example:
      ballots fit votes.csv
      ballots fit votes1.csv votes2.csv --voters --out ranking.csv
      ballots fit voting.db --top 10 --better tea coffee
      ballots fit battles.jsonl --swapped tie --cluster prompt --without gpt
      ballots fit people.csv battles.jsonl --powered-by gpt
      ballots fit scripts.csv --reliability
    """
    if as_json and out is not None:
        raise OptionError("give --json or --out, not both: --out writes CSV")
    share = checked_level(level)
    model, options = fitting["model"], {**fitting, **of_choices}
    of_pairs = {"items": items, "report": report_path, "reliability": with_reliability}
    if answers := answers_of_choices(votes, reading, model, {**options, **of_pairs}):
        settings: dict[str, Any] = {"level": share, "pairs": pairs, "top": top, "out": out, "as_json": as_json}
        choices_fit = fit_choices(answers, options, most_printed=_MOST_PRINTED, **settings)
        _print_better([] if as_json else choices_fit.better)
        for note in choices_fit.warnings:
            print_note(note)
        return
    has_elo = options["elo"]
    needs_strengths = {"--elo": has_elo, "--better": pairs, "--report": report_path, "--reliability": with_reliability}
    for option, is_used in needs_strengths.items():
        if is_used and model not in STRENGTH_MODELS:
            raise OptionError(f"{option} needs a model with strengths, not {model}")
    if has_elo and model == "thurstone":
        raise OptionError("--elo is a scale of logistic strengths, and those of thurstone are normal")
    comparisons = vote_files.read_files(votes, reading, items).votes
    comparisons = vote_files.select_voters(comparisons, options["only"], options["without"])
    better_pairs = vote_files.named_pairs(pairs, comparisons.items)
    fitted = fit_named(comparisons, **fitting)
    if isinstance(fitted, Strengths) and report_path is not None:
        fitted.report().save(report_path)
    content, better = fitted.to_dict(), []
    if isinstance(fitted, Strengths):
        better = [fitted.better(first, second, level=share) for first, second in better_pairs]
        if comparisons.n_items <= MOST_WITH_INTERVALS:
            content["items"] = _with_intervals(fitted, content["items"], share)
    if has_elo:
        content["items"] = [_with_elo(row) for row in content["items"]]
    measures = None
    if isinstance(fitted, Strengths) and with_reliability:
        with progress_bar(N_SPLITS, "split", "halves of the votes") as advance:
            measures = reliability(fitted, progress=advance)
        infit = json_ready(measures.infit[places_best_first(fitted.items, fitted.ranking.ranks)])
        content["items"] = [{**row, "infit": ratio} for row, ratio in zip(content["items"], infit, strict=True)]
        content["reliability"] = _summary_of(measures)
    content["items"] = content["items"][:top]
    notes = _notes(fitted)
    if as_json:
        content["better"] = [pair.to_dict() for pair in better]
        counts = console.values_of(comparisons, "n_items", "n_comparisons", "n_ties", "n_unanswered")
        n_voters = None if comparisons.voters is None else comparisons.n_voters
        console.print_json({**counts, "n_voters": n_voters, "model": model, **content})
    elif out is not None:
        write_items(content["items"], out)
    else:
        click.echo(_counts(comparisons))
        click.echo(_model(fitted, model))
        if measures is not None:
            click.echo(_reliability_text(measures))
        click.echo()
        rows = content["items"][: _MOST_PRINTED if top is None else top]
        print_items(rows, comparisons.n_items, {"rank": "{:g}"})
    _print_better([] if as_json else better)
    for note in notes:
        print_note(note)


_MEASURES: Final = ("separation", "scale_separation", "split_half", "unit", "n_splits")


def _summary_of(measures: Reliability) -> dict[str, Any]:
    """Return the measures as JSON has them, with the infit of voters."""
    summary: dict[str, Any] = json_ready(console.values_of(measures, *_MEASURES))
    if measures.voters is None or measures.voter_infit is None:
        return {**summary, "voters": None}
    rows = zip(map(json_label, measures.voters), json_ready(measures.voter_infit), strict=True)
    return {**summary, "voters": [{"voter": voter, "infit": infit} for voter, infit in rows]}


def _reliability_text(measures: Reliability) -> str:
    halves = "-" if math.isnan(measures.split_half) else f"{measures.split_half:.3f}"
    return (
        f"separation {measures.separation:.2f}, scale separation reliability {measures.scale_separation:.3f}, "
        f"split-half of {measures.unit} {halves} ({measures.n_splits} splits)"
    )


def _print_better(better: Sequence[Better]) -> None:
    for pair in better:
        low, high = pair.interval
        click.echo(
            f"{item_text(pair.first)} is better than {item_text(pair.second)} with probability {pair.probability:.3f}"
            f"{f' +- {pair.standard_error:.3f}' if pair.n_samples else ''}; "
            f"strengths differ by {pair.difference:+z.3f} "
            f"({100 * pair.level:g} % interval {low:+.3f} to {high:+.3f})"
        )


def _with_intervals(fitted: Strengths, rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Return the rows of items, best first, with an interval of each rank after the standard error."""
    intervals = fitted.rank_intervals(level)
    best_first = places_best_first(fitted.items, fitted.ranking.ranks)
    ends = zip(intervals.low[best_first].tolist(), intervals.high[best_first].tolist(), strict=True)
    first = ("item", "rank", "strength", "standard_error")
    return [
        {**{name: row[name] for name in first}, "rank_low": int(low), "rank_high": int(high), **row}
        for row, (low, high) in zip(rows, ends, strict=True)
    ]


def _with_elo(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an item with its rating after the strength."""
    rows = {"item": row["item"], "rank": row["rank"], "strength": row["strength"]}
    return {**rows, "elo": float(elo_ratings(np.array(row["strength"]))), **row}


def _notes(fitted: Strengths | BordaScores) -> tuple[str, ...]:
    if isinstance(fitted, Strengths):
        return fitted.warnings
    n_never = len(fitted.never_compared)
    return (f"items never compared are last, without a score: {n_never:,}",) if n_never else ()


def _counts(comparisons: Comparisons) -> str:
    """Return the counts of votes and voters, in one line."""
    n_ties, n_silent = comparisons.n_ties, comparisons.n_unanswered
    parts = [
        counted(comparisons.n_items, "item"),
        counted(comparisons.n_comparisons, "vote") + (f" ({counted(n_ties, 'tie')})" if n_ties else ""),
        *([f"{counted(n_silent, 'comparison')} without an answer"] if n_silent else []),
        "voters not known" if comparisons.voters is None else counted(comparisons.n_voters, "voter"),
    ]
    return ", ".join(parts)


SCORES_OF: Final = {
    "borda": "borda: wins and half the ties, by presentations",
    "rank-centrality": "rank-centrality: logarithms of the stationary distribution of a walk from losers to winners",
}


def _model(fitted: Strengths | BordaScores, model: str) -> str:
    """Return the model and its parameters, in one line."""
    if isinstance(fitted, BordaScores):
        return SCORES_OF[model]
    steps = counted(fitted.n_iterations, "iteration")
    parts = [
        f"{model}: {'converged in' if fitted.converged else 'not converged after'} {steps}",
        f"prior sd {fitted.prior_sd:.3g}" + (" (from the votes)" if fitted.prior.sd is None else ""),
        *([f"oversight {fitted.oversight:.2g} (from the votes)"] if fitted.model.slips else []),
        *([f"tie parameter {fitted.tie_parameter:.3g}"] if fitted.tie_parameter else []),
        *([f"side bias {fitted.side_bias:+.3g}"] if fitted.model.side_bias else []),
    ]
    return ", ".join(parts)


@console.command("next", more=vote_files.FILES_HELP, short_help="Choose the next comparisons by the votes so far.")
def next_command(
    votes: tuple[str, ...] = vote_files.votes_argument(required=False),
    items: str | None = vote_files.items_option(),
    reading: Reading = console.options_of(Reading),
    size: int = console.text_option("N", "Number of comparisons.", type=int, required=True),
    seed: int = console.seed_option(
        "Random seed: the same votes and seed give the same comparisons.", default=None, required=True
    ),
    voters: tuple[str, ...] = console.several_option("--voter", "NAME", "Voter who gets comparisons; may be repeated."),
    prompts: str | None = console.text_option(
        "FILE", "Compare within these prompts: CSV with the column prompt, which VOTES have too."
    ),
    n0: float = console.declared_option(Matching, "n0"),
    focus: float = console.declared_option(Matching, "focus"),
    out: str | None = out_option("comparisons"),
) -> None:
    """Choose the next comparisons, those that tell most about the top given all votes in the VOTES files.

    Strengths are fitted, and items whose rank is uncertain meet their neighbours. No voter gets a pair that they were
    shown before, answered or not. The voter who was shown the fewest pairs gets the next one. The comparisons are CSV,
    in the order to show them, with the columns comparison (ids above those of VOTES), voter (if voters are known),
    left, right (or left_1, left_2, ...) and an empty winner to fill in: left, right or tie. Pass the filled file as
    another VOTES file next time. Small batches choose better: a tenth of the items is a good size, up to 50.

    With --prompts, as for answers of language models, each comparison is within one prompt, in a column after voter. A
    voter may get the same pair again with another prompt, and the prompts that were shown least come first.

    Example (the first line starts from items alone, the others continue with the votes so far):
      ballots next --items items.csv --voter Ann --voter Bob --size 50 --seed 1 --out batch1.csv
      ballots next batch1.csv --size 50 --seed 2 --out batch2.csv
      ballots next batch1.csv batch2.csv --size 50 --seed 3 --out batch3.csv
      ballots next --items models.csv --prompts prompts.csv --size 50 --seed 1 --out batch1.csv
    """
    if again := repeated(voters):
        raise OptionError(f"each --voter must be different; {printable(str(again[0]))} is repeated")
    for name in voters:
        vote_files.check_voter_name(name)
    names = None if prompts is None else vote_files.read_prompts(prompts)
    comparisons, first, history = vote_files.read_files(votes, reading, items, with_prompts=names is not None)
    check_decimals((*(names or ()), *history), "prompt", ComparisonError)
    if voters and comparisons.n_comparisons and comparisons.voters is None:
        raise OptionError("--voter needs a column of voters, which the votes lack")
    strengths = bradley_terry(comparisons)
    rng = np.random.default_rng(seed)
    prompt_options: dict[str, Any] = {} if names is None else {"prompts": names, "prompt_history": history}
    matches = next_comparisons(strengths, size, rng=rng, voters=voters or None, n0=n0, focus=focus, **prompt_options)
    known = bool(voters) or comparisons.voters is not None
    emit(_csv(matches, first, known=known), out, f"{matches.n_comparisons:,} comparisons written to {out}")
    if matches.reason:
        print_note(f"{matches.n_comparisons:,} of {size:,} comparisons: {matches.reason}")


def _csv(matches: Matches, first: int, *, known: bool) -> str:
    """Comparisons to be filled in, numbered from `first`, which is above all ids so far: the files can be joined."""
    labels = {side: [matches.items[place] for place in getattr(matches, side).tolist()] for side in ("left", "right")}
    voter = {"voter": [matches.voters[who] for who in matches.voter.tolist()]} if known else {}
    prompt: dict[str, Any] = {}
    if matches.prompts is not None and matches.prompt is not None:
        prompt = {"prompt": [matches.prompts[place] for place in matches.prompt.tolist()]}
    numbers = range(first, first + matches.n_comparisons)
    return votes_csv({"comparison": numbers, **voter, **prompt, **labels, "winner": [""] * len(numbers)})


@click.group(cls=console.WithExamples, no_args_is_help=False, short_help="Draw strengths and voters.")
def plot() -> None:
    """Draw figures of what votes say. Needs matplotlib: pip install matplotlib.

    Example:
      ballots plot strengths votes.csv --out strengths.png
      ballots plot top votes.csv --k 10 --out top.svg
      ballots plot voters votes.csv --out voters.pdf
    """


def _command(short_help: str, of_choices: Any) -> Callable[[Draw], Draw]:
    """Add a command that fits strengths to VOTES, and writes what the decorated function draws of them.

    The docstring of the function is the help, and its parameters after the strengths are options.
    """

    def add(draw: Draw) -> Draw:
        def run(
            votes: tuple[str, ...] = vote_files.votes_argument(),
            file: console.FigureFile = console.options_of(console.FigureFile),
            items: str | None = vote_files.items_option(),
            reading: Reading = console.options_of(Reading),
            fitting: dict[str, Any] = vote_files.model_options(STRENGTH_MODELS),
            of_figure: dict[str, Any] = console.options_of(dict, **console.declared(draw)),
            of_choices: dict[str, Any] = of_choices,
        ) -> None:
            if "level" in of_figure:
                checked_level(of_figure["level"])  # before a fit that may take long
            options = {**fitting, **of_choices, "items": items}
            fitted: Strengths | ChoiceStrengths
            if of_choices and (answers := answers_of_choices(votes, reading, fitting["model"], options)):
                result = fit_of_choices(answers, options)
                fitted, warnings = result.strengths, result.warnings
            else:
                comparisons = vote_files.read_files(votes, reading, items).votes
                selection = options.get("only", ()), options.get("without", ())
                fitted = cast("Strengths", fit_named(vote_files.select_voters(comparisons, *selection), **fitting))
                warnings = fitted.warnings
            for message in [*file.write(lambda: draw(fitted, **of_figure)), *warnings]:
                print_note(message)

        plot.command(draw.__name__, help=draw.__doc__, more=vote_files.FILES_HELP, short_help=short_help)(run)
        return draw

    return add


def _draw(fitted: Strengths | ChoiceStrengths, seed: int) -> None:
    """Draw the rankings that a figure shows, which are kept, behind a progress bar."""
    with progress_bar(N_SAMPLES, "draw", "possible rankings") as advance:
        fitted.drawn(N_SAMPLES, seed, progress=advance)


def _note_rest(top: int, n_rows: int, noun: str) -> None:
    if top < n_rows:
        print_note(f"{top:,} of {n_rows:,} {noun} are drawn; --top {n_rows} draws all")


def _level_option() -> Any:
    return console.option(type=float, default=LEVEL, help="Level of the intervals.")


@_command("Draw strengths of the best items, with intervals.", choice_options("judge", "elo"))
def strengths(
    fitted: Strengths | ChoiceStrengths,
    *,
    top: int = console.count_option("Number of items.", default=TOP),
    level: float = _level_option(),
    scale: Scale = console.choice_option(SCALES, "Draw strengths or ranks."),
) -> Figure:
    """Draw the strength of each of the best items with its interval, best first; or its rank.

    With more than 100 items, the intervals are drawn as a band. Answers of any kind are drawn, as `ballots fit` reads
    them.

    Example:
      ballots plot strengths votes.csv --out strengths.png
    """
    if scale == "rank":
        _draw(fitted, 0)
    _note_rest(top, len(fitted.items), "items")
    return plot_strengths(fitted, top=top, level=level, scale=scale)


@_command("Draw how likely each item is in the top k.", choice_options("judge", "elo"))
def top(
    fitted: Strengths | ChoiceStrengths,
    *,
    k: int = console.count_option("Size of the top.", required=True),
    top: int | None = console.count_option(f"Most items to draw.  [default: {TOP}, or 2 k]"),
    seed: int = console.seed_option("Same seed, same draws."),
) -> Figure:
    """Draw the probability of each item to be in the top k, in the order of the ranking.

    Example:
      ballots plot top votes.csv --k 10 --out top.svg
    """
    _draw(fitted, seed)
    return plot_in_top(fitted, k, top=top, seed=seed)


@_command("Draw how often each voter agrees with the rest.", console.options_of(dict))
def voters(
    fitted: Strengths,
    *,
    top: int = console.count_option("Number of voters.", default=TOP),
    level: float = _level_option(),
) -> Figure:
    """Draw the share of each voter's votes that agree with the common order, lowest first, with its interval.

    Example:
      ballots plot voters votes.csv --out voters.pdf
    """
    quantity = f"Votes that agree with the common order, with a {100 * level:g} % interval"
    shares = agreement(fitted, level=level)
    _note_rest(top, len(shares), "voters")
    return plot_voters(shares, quantity=quantity, reference=(AT_RANDOM, "answers at random"), top=top)
