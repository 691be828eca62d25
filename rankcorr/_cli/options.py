"""Options that several commands share: files to read, matching of their items, weights, and resamples."""

from __future__ import annotations

import csv
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, ClassVar, Final, NamedTuple

import click
from click.core import ParameterSource

from rankcorr import Coefficient, InverseSquare, OptionError, Ranking, RankingError, TableError, Uniform, WeightError
from rankcorr._checks import ALTERNATIVES, alpha_of, checked_level, collected_notices, counted, default_of, repeated
from rankcorr._cli import console
from rankcorr._cli.console import whole
from rankcorr._coefficients import BY_NAME, COEFFICIENTS, Pearson, TauW, named_coefficient
from rankcorr._io.rankings import DUPLICATES, read_ranking
from rankcorr._io.trec import is_trec
from rankcorr._ranking import MISSING, Missing, align
from rankcorr._weights import named_weigher
from rankcorr.evaluation._metrics import Metric, as_metric, check_different
from rankcorr.evaluation._sources import read_clusters
from rankcorr.inference._exchange import SWAPS
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._null import MAX_EXACT_ITEMS
from rankcorr.inference._system_comparison import LeftOut

UNIFORM: Final = [name for name, coefficient in BY_NAME.items() if type(coefficient.weighting.weigher) is Uniform]
PLAIN: Final = (*UNIFORM, Pearson.name)  # without weights
SYSTEM_COEFFICIENTS: Final = (*COEFFICIENTS, Pearson.name)  # where systems are compared: these have scores
DEFAULT_LEVEL: Final = default_of(correlation_interval, "level")
_ENDING: Final = re.compile(r"\.(csv|tsv|txt|jsonl?|parquet)(\.gz)?(?=:|$)")
MAX_RESAMPLES: Final = 10_000_000  # 80 MB for each interval


def split_columns(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> list[str]:
    """Names of columns, separated by commas as in CSV."""
    try:
        return [name for value in values for name in (next(csv.reader([value], strict=True)) if value else [""])]
    except (csv.Error, StopIteration) as error:
        raise click.BadParameter(f"not a list of columns ({error})") from error


def names_option(role: str) -> Any:
    """Option --name, once for each file of this role."""
    help_text = f"Name to show for a {role} instead of its file's; once for each {role.upper()}, in order."
    return console.several_option("--name", "NAME", help_text)


def header_option() -> Any:
    """Option --no-header."""
    return console.flag_option("The first line is data; columns are named 1, 2, ...")


def coefficient_option(help_text: str = "Coefficient to compute.", choices: tuple[str, ...] = COEFFICIENTS) -> Any:
    """Option --coefficient."""
    return console.choice_option(choices, help_text, default="tau_w")


def resamples_option(
    default: int | None, help_text: str = "Number of resamples of each interval and of each test."
) -> Any:
    """Option --resamples."""
    return console.text_option("N", help_text, type=click.IntRange(1, MAX_RESAMPLES), default=default)


def _level(context: click.Context, parameter: click.Parameter, value: float) -> float:
    try:
        return checked_level(value, "the level")
    except OptionError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def level_option(help_text: str = "Confidence level of the intervals.") -> Any:
    """Option --level."""
    return console.option(type=float, default=DEFAULT_LEVEL, callback=_level, help=help_text)


def alternative_option(more: str = "better agreement than by chance") -> Any:
    """Option --alternative."""
    return console.choice_option(ALTERNATIVES, f"Alternative of the p-value; 'greater': {more}.")


def swap_option(tests: str = "tests") -> Any:
    """Option --swap."""
    help_text = (
        f"Exchange scores or ranks in {tests}. Scores must be on one scale in all systems; auto exchanges them if "
        "their distributions agree."
    )
    return console.choice_option(SWAPS, help_text)


@dataclass(frozen=True)
class Named:
    """A ranking, its names in tables and in figures, and notes on how the file was read."""

    name: str
    ranking: Ranking
    short: str = ""
    title: str = ""
    messages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The name as a terminal can show it."""
        return whole(self.name)

    @property
    def in_figures(self) -> Named:
        """The ranking with its short name, without the ending of the file, which fits into a figure."""
        return replace(self, name=self.title or self.short)


def reading_notes(rankings: Iterable[Named]) -> list[console.Note]:
    """Notes on how files were read."""
    return console.notes_of([message for ranking in rankings for message in ranking.messages], [])


def check_stdin(paths: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if paths.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")


def check_repeats(names: Iterable[str], role: str) -> None:
    """Refuse a repeated name of a file or a set, since a table could not tell the two apart."""
    if again := repeated(names):
        raise OptionError(f"each {role} can be given only once; repeated: {', '.join(map(str, again))}")


def clusters_option() -> Any:
    """Return --clusters, a file with the cluster of each item."""
    return console.text_option(
        "FILE",
        "Items that are not independent, such as those of one topic: CSV or TSV with the id, in as many columns as "
        "--id names, and the cluster. Tests exchange whole clusters.",
    )


def systems_argument() -> Any:
    """Return the argument SYSTEM, one or more files."""
    return console.argument(nargs=-1, required=True, metavar="SYSTEM...")


def command_line_flags() -> dict[str, str]:
    """Return the flags that are on the command line, by the names of their parameters."""
    context = click.get_current_context()
    return {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }


def check_owner(owner: str, present: bool, *flags: str) -> None:
    """Refuse flags on the command line that have no effect, because what they belong to is missing."""
    if not present and (ineffective := [flag for flag in flags if flag in command_line_flags().values()]):
        raise OptionError(f"{ineffective[0]} has no effect without {owner}")


def check_names(names: Sequence[str], n_files: int, role: str, *, unique: bool = True) -> None:
    """Refuse names of --name unless there is one for each file, or none at all; with `unique` they must differ."""
    if names and len(names) != n_files:
        raise OptionError(f"--name must be given once for each {role}; got {len(names)} for {n_files} {role}s")
    if "" in names:
        raise OptionError("--name must not be empty")
    if unique and (again := repeated(names)):
        raise OptionError(f"each --name must be different; repeated: {', '.join(map(str, again))}")


def by_name(rankings: Sequence[Named]) -> dict[str, Ranking]:
    """Rankings by their names."""
    return {named.name: named.ranking for named in rankings}


def columns_of(scores: Sequence[str], n_files: int, hint: str = "") -> list[str | None]:
    """Column of the scores of each file: --score is given once, or once for each; None where it is not given."""
    if len(scores) > 1 and len(scores) != n_files:
        raise OptionError(
            f"--score must be given once, or once for each file; got {len(scores)} for {n_files} files{hint}"
        )
    return list(scores) if len(scores) > 1 else [*scores, None][:1] * n_files


def _with_column(path: str, column: str | None) -> str:
    return path if column is None else f"{path}:{column}"


def _short_names(
    names: Sequence[str], titles: Sequence[str], paths: Sequence[str], columns: Sequence[str | None]
) -> list[str]:
    """Names without what all files share: columns of one file, or the last parts of paths, as many as tell them apart.

    Entries of `titles` that are not empty are kept as they are.
    """
    choices: list[list[str]] = []
    if len(set(paths)) == 1:
        choices.append([column or path for path, column in zip(paths, columns, strict=True)])
    parts = [PurePath(path).parts for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        ends = [str(PurePath(*path_parts[-depth:])) for path_parts in parts]
        choices.append([_with_column(end, column) for end, column in zip(ends, columns, strict=True)])
    for choice in choices:
        short = [name or end for name, end in zip(titles, choice, strict=True)]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)


def _without_endings(short: Sequence[str], titles: Sequence[str]) -> list[str]:
    """Short names without the endings of their files, if these still differ; names that were given stay."""
    stems = [title or _ENDING.sub("", name) for name, title in zip(short, titles, strict=True)]
    return stems if len(set(stems)) == len(set(short)) else list(short)


@dataclass(frozen=True)
class Files:
    """How files are read."""

    role: ClassVar = "system"

    ids: list[str] = console.several_option(
        "--id", "COLUMN[,COLUMN]", "Columns that name the item, in all files.", callback=split_columns
    )
    scores: tuple[str, ...] = console.several_option(
        "--score",
        "COLUMN",
        "Column of the numbers: once, or once for each file. Give a file with several rankings once for each.",
    )
    ranks: bool = console.flag_option("The numbers in all files are ranks: smaller is better.")
    no_header: bool = header_option()
    missing: Any = console.choice_option(
        MISSING,
        "Items in one file only: report an error, leave them out, keep all (tied last where they are missing), or keep "
        "only those of gold.",
    )
    unordered: bool = console.flag_option(
        "Treat the two columns of --id as an unordered pair: a, b is the same item as b, a."
    )
    duplicates: Any = console.choice_option(
        DUPLICATES, "Items repeated in a file: report an error, or use the mean or the first of their numbers."
    )
    names: tuple[str, ...] = names_option("system")

    def read(self, golds: Sequence[str], systems: Sequence[str]) -> list[Named]:
        """Read a ranking from each file; the name of a file that is given several times includes the column.

        Two gold sets or two systems of the same name are an error, because a system would be compared with itself.
        """
        paths = [*golds, *systems]
        check_names(self.names, len(systems), self.role)
        check_stdin(paths)
        columns = columns_of(self.scores, len(paths), " (for several columns of one file, repeat the file)")
        titles = ["" for _ in golds] + ([*self.names] or ["" for _ in systems])
        repeated_columns = [
            column if paths.count(path) > 1 else None for path, column in zip(paths, columns, strict=True)
        ]
        names = [
            name or _with_column(path, column)
            for name, path, column in zip(titles, paths, repeated_columns, strict=True)
        ]
        check_repeats(names[: len(golds)], "gold set")
        check_repeats(names[len(golds) :], self.role)
        short = _short_names(names, titles, paths, repeated_columns)
        return [
            replace(self._one(name, path, column), short=label, title=title)
            for name, path, column, label, title in zip(
                names, paths, columns, short, _without_endings(short, titles), strict=True
            )
        ]

    def _one(self, name: str, path: str, column: str | None) -> Named:
        try:
            with collected_notices() as notices:
                ranking = read_ranking(
                    path,
                    id_columns=self.ids or None,
                    score_column=column,
                    ranks=self.ranks,
                    header=not self.no_header,
                    unordered=self.unordered,
                    duplicates=self.duplicates,
                )
        except TableError as error:
            if is_trec(path):
                raise TableError(
                    f"{error}; this looks like a TREC file, which 'rankcorr evaluate QRELS RUN' reads"
                ) from error
            raise
        return Named(name, ranking, messages=tuple(notices))

    def read_clusters(self, path: str | None) -> dict[Hashable, str] | None:
        """Read the cluster of each item, with labels as in the other files."""
        return None if path is None else read_clusters(path, max(1, len(self.ids)), unordered=self.unordered)

    def to_dict(self) -> dict[str, Any]:
        """The options, ready for JSON."""
        read: dict[str, Any] = {"id": self.ids or None, "score": list(self.scores) or None}
        read |= {"ranks": self.ranks, "header": not self.no_header}
        return read | console.values_of(self, "missing", "unordered", "duplicates")


@dataclass(frozen=True)
class Weights:
    """How items are weighed."""

    # The library refuses an n0 out of its bounds; None tells an n0 that was given from the default.
    n0: float | None = console.declared_option(TauW, "n0", type=float, default=None, show_default="2")
    weigher: str | None = console.declared_option(TauW, "weigher", metavar="NAME")
    scheme: Any = console.declared_option(TauW, "scheme")
    tied_weights: Any = console.declared_option(TauW, "tied_weights")
    variant: Any = console.declared_option(TauW, "variant")

    def of(self, name: str) -> Coefficient:
        """Return the coefficient of a name with these options; the plain rho and tau have no weight to choose."""
        return named_coefficient(name, weigher=self._weigher(), **self.forms)

    def of_one(self, name: str) -> Coefficient:
        """Return the coefficient where it is the only one computed: an option that it cannot use is an error."""
        if name in PLAIN and (self.n0 is not None or self.weigher is not None):
            raise OptionError(f"--coefficient {name} weighs all items alike, so leave out --n0 and --weigher")
        return self.of(name)

    @property
    def forms(self) -> dict[str, Any]:
        """Options except for the weight itself."""
        return {"scheme": self.scheme, "tied_weights": self.tied_weights, "variant": self.variant}

    def _weigher(self) -> Any:
        if self.weigher is None:
            return InverseSquare() if self.n0 is None else InverseSquare(self.n0)
        if self.n0 is not None:
            raise OptionError("give --n0 or --weigher, not both: n0 is the offset of the weight 1/(n + n0)^2")
        try:
            return named_weigher(self.weigher)
        except WeightError as error:
            raise OptionError(f"--weigher: {error}") from error

    def to_dict(self, coefficient: str | None = None) -> dict[str, Any]:
        """The options, ready for JSON."""
        weigher = self._weigher()
        has_offset = isinstance(weigher, InverseSquare) and coefficient not in PLAIN
        return {"n0": weigher.n0 if has_offset else None, "weigher": self.weigher, **self.forms}


def metrics_of(names: Sequence[str], weights: Weights) -> list[Metric]:
    """Metrics by name, coefficients with the options of weights."""
    lower = [name.strip().lower() for name in names]
    requested = [weights.of(low) if low in COEFFICIENTS else name for low, name in zip(lower, names, strict=True)]
    metrics = [as_metric(metric) for metric in requested]
    check_different(metrics, names)
    return metrics


@contextmanager
def errors_of(*files: Named | str) -> Iterator[None]:
    """Begin the message of an error with the names of the files, or of their rankings, if there are any."""
    try:
        yield
    except RankingError as error:
        if not files:
            raise
        *names, last = [file if isinstance(file, str) else file.name for file in files]
        raise RankingError(f"{', '.join(names)}{' and ' * bool(names)}{last}: {error}") from error


class ItemMatch(NamedTuple):
    """How the items of a system match those of gold, and its ties among the items compared."""

    n_shared: int
    n_gold: int
    n_other: int
    ties: int

    def to_dict(self) -> dict[str, int]:
        """The numbers, ready for JSON."""
        return {"ties": self.ties, "n_shared": self.n_shared, "n_other": self.n_other}

    def line(self, system: Named) -> str:
        """How many of gold's items a system has, as a line above a table."""
        others = f", and {counted(self.n_other, 'other')}" if self.n_other else ""
        return f"coverage: {system.text} has {self.n_shared:,} of gold's {self.n_gold:,} items{others}"


def match_items(gold: Named, system: Named, missing: Missing) -> ItemMatch:
    """Match a system with gold; errors name the files."""
    with errors_of(gold, system):
        _, aligned = align(gold.ranking, system.ranking, names=(gold.name, system.name), missing=missing)
    n_shared = len(set(gold.ranking.labels or ()) & set(system.ranking.labels or ()))
    return ItemMatch(n_shared, gold.ranking.n_items, system.ranking.n_items - n_shared, aligned.n_ties)


def coverage_lines(matches: Sequence[ItemMatch], systems: Sequence[Named], missing: Missing) -> list[str]:
    """Lines on coverage, where files may differ in their items."""
    pairs = zip(matches, systems, strict=True)
    return [] if missing == "raise" else [match.line(system) for match, system in pairs]


def describe_ranking(ranking: Named) -> dict[str, Any]:
    """A ranking, ready for JSON."""
    return {"name": ranking.name, "n": ranking.ranking.n_items, "ties": ranking.ranking.n_ties}


def gold_line(ranking: Named, role: str = "gold") -> str:
    """A gold ranking, as the line above a table."""
    return f"{role}: {ranking.text} ({ranking.ranking.n_items} items, {ranking.ranking.n_ties} ties)"


def permutations_text(number: int, seed: int, sizes: Sequence[int]) -> str:
    """How many permutations were drawn; `sizes` are the numbers of items of the comparisons."""
    draw_text = f"{counted(number, 'permutation')}, seed {seed}"
    exact = [size <= MAX_EXACT_ITEMS for size in sizes]
    if all(exact):
        return "all permutations"
    return f"{draw_text}; all of {MAX_EXACT_ITEMS} items or fewer" if any(exact) else draw_text


def decisive_text(unit: str, pvalue: float, results: Sequence[LeftOut | None], level: float) -> str:
    """Say which single item or query decides whether a test rejects; `results` are those without one of them.

    The p-value is that of the test itself, before any correction.
    """
    alpha = alpha_of(level)
    changed = (result for result in results if result and (result.pvalue <= alpha) != (pvalue <= alpha))
    result = next(changed)
    return (
        f"one {unit} decides whether p is at most {alpha:g}: without {console.label_text(result.label)} the difference "
        f"is {result.difference:z.4f}, p {console.pvalue_text(result.pvalue)}"
    )
