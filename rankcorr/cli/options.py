"""Options that several commands share, and what they mean: which files to read, how items are weighed, resamples."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeAlias, TypeVar, cast

import click

from rankcorr import Coefficient, InverseSquare, OptionError, Ranking, TableError, WeightError
from rankcorr.alignment import MISSING
from rankcorr.checks import checked_level, repeated
from rankcorr.coefficients import COEFFICIENTS, VARIANTS, named_coefficient
from rankcorr.evaluation.files import is_trec
from rankcorr.inference.exchange import SWAPS, Swap
from rankcorr.inference.null import ALTERNATIVES
from rankcorr.io.records import printable
from rankcorr.io.tables import DUPLICATES, Label, read_numbers
from rankcorr.ranking import RankingLike
from rankcorr.weights import SCHEMES, TIED_WEIGHTS, named_weigher

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

PLAIN: Final = ("rho", "tau")
DEFAULT_LEVEL: Final = 0.95
DEFAULT_SEED: Final = 0
MAX_RESAMPLES: Final = 10_000_000  # 80 MB for each interval


def split_columns(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> list[str]:
    """Names of columns, separated by commas as in CSV."""
    try:
        return [name for value in values for name in (next(csv.reader([value], strict=True)) if value else [""])]
    except (csv.Error, StopIteration) as error:
        raise click.BadParameter(f"not a list of columns ({error})") from error


def choice_option(name: str, choices: Sequence[str], what: str) -> Callable[[Any], Any]:
    """Make an option of one of some words, by default the first."""
    return click.option(name, type=click.Choice(choices), default=choices[0], show_default=True, help=what)


def duplicates_option(choices: Sequence[str], what: str) -> Callable[[Any], Any]:
    """Option --duplicates."""
    return choice_option("--duplicates", choices, what)


def names_option(whose: str) -> Callable[[Any], Any]:
    """Option --name of each `whose`."""
    what = f"Name of a {whose}, in place of its file's: once for each {whose.upper()}, in order."
    return click.option("--name", "names", multiple=True, metavar="NAME", help=what)


_FILE_OPTIONS = (
    click.option(
        "--id",
        "ids",
        multiple=True,
        metavar="COLUMN[,COLUMN]",
        callback=split_columns,
        help="Columns that name the item, in all files.",
    ),
    click.option(
        "--score", "scores", multiple=True, metavar="COLUMN", help="Column of the numbers: once, or once for each file."
    ),
    click.option("--ranks", is_flag=True, help="The numbers in all files are ranks: smaller is better."),
    click.option("--no-header", is_flag=True, help="The first line is data; columns are named 1, 2, ..."),
    choice_option(
        "--missing",
        MISSING,
        "Items in one file only: an error; left out; all kept, tied below what a file has; or only those of gold "
        "kept, tied below what a system has.",
    ),
    click.option(
        "--unordered", is_flag=True, help="The two columns of --id are a pair in either order: a, b is the item b, a."
    ),
    duplicates_option(
        DUPLICATES, "An item that a file has more than once: an error, or the mean or the first of its numbers counts."
    ),
    names_option("system"),
)
_WEIGHT_OPTIONS = (
    click.option("--n0", type=float, help="Offset of the weight 1/(n + n0)^2 of rank n.  [default: 2]"),
    click.option(
        "--weigher",
        metavar="NAME",
        help="Weight in place of that of --n0: hyperbolic, logarithmic, top-k:K (such as top-k:10), uniform.",
    ),
    choice_option(
        "--scheme",
        SCHEMES,
        "How the weights of an item's two ranks combine; 'first' is gold's alone.",
    ),
    choice_option(
        "--tied-weights",
        TIED_WEIGHTS,
        "A tied item weighs f(mid-rank), or the mean of f over its group's positions.",
    ),
    click.option(
        "--variant",
        type=click.Choice(VARIANTS),
        default="b",
        show_default=True,
        help="Denominator of tau_w and tau: 'b' leaves tied pairs out, 'a' keeps them.",
    ),
)


def file_options(command: Command) -> Command:
    """Add the options that say how files are read; the command takes them as a `Files` named `files`."""
    return gathered(command, _FILE_OPTIONS, "files", Files)


def weight_options(command: Command) -> Command:
    """Add the options of a weighted coefficient; the command takes them as a `Weights` named `weights`."""
    return gathered(command, _WEIGHT_OPTIONS, "weights", Weights)


def scheme_options(command: Command) -> Command:
    """Add the options of a weighted coefficient except for the weight itself; the command takes them as `weights`."""
    return gathered(command, _WEIGHT_OPTIONS[2:], "weights", Weights)


def gathered(command: Command, options: Sequence[Any], name: str, kind: Any) -> Command:
    """Add options to a command, which takes them as one value: a dataclass with a field for each."""

    def gathering(**given: Any) -> Any:
        given[name] = kind(**{field: given.pop(field) for field in kind.__dataclass_fields__ if field in given})
        return command(**given)

    gathering.__doc__, gathering.__name__ = command.__doc__, command.__name__
    gathering.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(options):
        gathering = option(gathering)
    return cast(Command, gathering)


@dataclass(frozen=True)
class Named:
    """A ranking, its names in tables and in figures, and the scores that it was made from unless these were ranks."""

    name: str
    ranking: Ranking
    scores: Mapping[Label, float] | None = None
    short: str = ""

    def exchanging(self, swap: Swap) -> RankingLike:
        """What a test takes that swaps ranks or scores; a ranking without scores is left to the library to refuse."""
        return self.scores if swap != "ranks" and self.scores is not None else self.ranking

    @property
    def shown(self) -> str:
        """The name as a terminal can show it."""
        return printable(self.name, limit=None)

    @property
    def in_figures(self) -> Named:
        """The ranking by its short name, for which a figure has room."""
        return replace(self, name=self.short)


def check_stdin(paths: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if paths.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")


def check_once(names: Iterable[str], whose: str) -> None:
    """Refuse a name that is given twice, since a table could not tell the two apart; `whose` name it is."""
    if again := repeated(names):
        raise OptionError(f"each {whose} can be given only once; more than once: {', '.join(map(str, again))}")


def check_names(names: Sequence[str], n_files: int, whose: str) -> None:
    """Refuse what --name gives, unless it is nothing, or a name for each file."""
    if names and len(names) != n_files:
        raise OptionError(f"--name must be given once for each {whose}; got {len(names)} for {n_files} {whose}s")
    if "" in names:
        raise OptionError("--name must not be empty")
    if again := repeated(names):
        raise OptionError(f"--name must differ; more than once: {', '.join(map(str, again))}")


def by_name(rankings: Sequence[Named], swap: Swap = "ranks") -> dict[str, RankingLike]:
    """Rankings by their names, or scores where tests swap these."""
    return {each.name: each.exchanging(swap) for each in rankings}


def _joined(path: str, column: str | None) -> str:
    return path if column is None else f"{path}:{column}"


def _short_names(
    names: Sequence[str], given: Sequence[str], paths: Sequence[str], columns: Sequence[str | None]
) -> list[str]:
    """Names without what all files share: columns of one file, or the last parts of paths, as many as tell them apart.

    Names that were `given` stay, where they are not empty.
    """
    choices: list[list[str]] = []
    if len(set(paths)) == 1:
        choices.append([column or path for path, column in zip(paths, columns, strict=True)])
    parts = [PurePath(path).parts for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        ends = [str(PurePath(*own[-depth:])) for own in parts]
        choices.append([_joined(end, column) for end, column in zip(ends, columns, strict=True)])
    for choice in choices:
        short = [name or end for name, end in zip(given, choice, strict=True)]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)


@dataclass(frozen=True)
class Files:
    """How files are read."""

    ids: list[str]
    scores: tuple[str, ...]
    ranks: bool
    no_header: bool
    missing: Any
    unordered: bool
    duplicates: Any
    names: tuple[str, ...]

    def read(self, golds: Sequence[str], systems: Sequence[str]) -> list[Named]:
        """Read a ranking from each file; the name of a file that is given several times includes the column.

        An error if two gold sets or two systems have the same name: such a system is compared with itself.
        """
        paths = [*golds, *systems]
        check_names(self.names, len(systems), "system")
        check_stdin(paths)
        if len(self.scores) > 1 and len(self.scores) != len(paths):
            raise OptionError(
                f"--score must be given once, or once for each file; got {len(self.scores)} for {len(paths)} files "
                "(for several columns of one file, repeat the file)"
            )
        columns = list(self.scores) if len(self.scores) > 1 else [*self.scores, None][:1] * len(paths)
        given = ["" for _ in golds] + ([*self.names] or ["" for _ in systems])
        several = [column if paths.count(path) > 1 else None for path, column in zip(paths, columns, strict=True)]
        names = [name or _joined(path, column) for name, path, column in zip(given, paths, several, strict=True)]
        check_once(names[: len(golds)], "gold set")
        check_once(names[len(golds) :], "system")
        short = _short_names(names, given, paths, several)
        return [
            replace(self._one(name, path, column), short=label)
            for name, path, column, label in zip(names, paths, columns, short, strict=True)
        ]

    def _one(self, name: str, path: str, column: str | None) -> Named:
        try:
            numbers = read_numbers(
                path,
                id_columns=self.ids or None,
                score_column=column,
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
        if self.ranks:
            return Named(name, Ranking.from_ranks(numbers))
        return Named(name, Ranking.from_scores(numbers), numbers)

    def described(self) -> dict[str, Any]:
        """The options, ready for JSON."""
        return {
            "id": self.ids or None,
            "score": list(self.scores) or None,
            "ranks": self.ranks,
            "header": not self.no_header,
            "missing": self.missing,
            "unordered": self.unordered,
            "duplicates": self.duplicates,
        }


@dataclass(frozen=True)
class Weights:
    """How items are weighed."""

    scheme: Any
    tied_weights: Any
    variant: Any
    n0: float | None = None
    weigher: str | None = None

    def of(self, name: str) -> Coefficient:
        """Return the coefficient of a name with these options; the plain rho and tau have no weight to choose."""
        return named_coefficient(name, weigher=self._weigher(), **self.forms)

    def of_one(self, name: str) -> Coefficient:
        """Return the coefficient where it is the only one computed: an option that it cannot use is an error."""
        if name in PLAIN and (self.n0 is not None or self.weigher is not None):
            raise OptionError(f"--coefficient {name} weighs all items alike, and takes neither --n0 nor --weigher")
        return self.of(name)

    @property
    def forms(self) -> dict[str, Any]:
        """Options except for the weight itself."""
        return {"scheme": self.scheme, "tied_weights": self.tied_weights, "variant": self.variant}

    def _weigher(self) -> Any:
        if self.weigher is None:
            return InverseSquare() if self.n0 is None else InverseSquare(self.n0)
        if self.n0 is not None:
            raise OptionError("--n0 and --weigher exclude each other: n0 belongs to the weight 1/(n + n0)^2")
        try:
            return named_weigher(self.weigher)
        except WeightError as error:
            raise OptionError(f"--weigher: {error}") from error

    def described(self, coefficient: str | None = None) -> dict[str, Any]:
        """The options, ready for JSON."""
        weigher = self._weigher()
        has_offset = isinstance(weigher, InverseSquare) and coefficient not in PLAIN
        return {"n0": weigher.n0 if has_offset else None, "weigher": self.weigher, **self.forms}


def coefficient_option(
    default: str | None = "tau_w", what: str = "Coefficient to compute.", choices: tuple[str, ...] = COEFFICIENTS
) -> Decorator:
    """Option --coefficient."""
    return click.option(
        "--coefficient",
        type=click.Choice(choices),
        default=default,
        show_default=default is not None,
        help=what,
    )


def resamples_option(default: int | None, what: str = "Number of random resamples.") -> Decorator:
    """Option --resamples."""
    return click.option(
        "--resamples",
        type=click.IntRange(1, MAX_RESAMPLES),
        default=default,
        show_default=default is not None,
        metavar="N",
        help=what,
    )


def seed_option(default: int | None = DEFAULT_SEED, what: str = "Same seed, same numbers.") -> Decorator:
    """Option --seed."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=default,
        show_default=default is not None,
        help=what,
    )


def _level(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    try:
        return None if value is None else checked_level(value, "the level")
    except OptionError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def level_option(
    default: float | None = DEFAULT_LEVEL, what: str = "Level of confidence of the intervals."
) -> Decorator:
    """Option --level."""
    return click.option(
        "--level",
        type=float,
        default=default,
        show_default=default is not None,
        callback=_level,
        help=what,
    )


def alternative_option(more: str = "better agreement than by chance") -> Decorator:
    """Option --alternative."""
    return click.option(
        "--alternative",
        type=click.Choice(ALTERNATIVES),
        default=ALTERNATIVES[0],
        show_default=True,
        help=f"Of the p-value; 'greater': {more}.",
    )


def swap_option(default: str | None = SWAPS[0], what: str = "What systems exchange in tests.") -> Decorator:
    """Option --swap."""
    return click.option(
        "--swap",
        type=click.Choice(SWAPS),
        default=default,
        show_default=default is not None,
        help=f"{what} Scores must mean the same in all systems; auto takes them if their distributions may be one.",
    )


def json_option() -> Decorator:
    """Option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
