"""Shared parts of the commands: options, one-line errors, tables, numbers, notes, JSON, figure files, progress bars.

This module imports click, which the libraries do not need, and nothing that takes long to import.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from copy import copy
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import click

from rankcorr._checks import Declaration, counted, declaration_of, shell_options
from rankcorr._input.numbers import LARGEST_EXACT
from rankcorr._io.source import printable, write_atomically
from rankcorr._io.table import parse_number
from rankcorr._output.report import check_ending, percent_text
from rankcorr._output.results import json_ready
from rankcorr._output.tables import NO_NOTES, TableNotes, latex_table, markdown_table, significance_notes, text_table
from rankcorr._workers import silent
from rankcorr.errors import MissingArrowError, MissingMeasuresError, OptionError, RankingError, TableError
from rankcorr.plots._style import FORMS, THEMES, MissingMatplotlibError, Paper, figure_class, save_figure, theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Note: TypeAlias = dict[str, Any]
CellText: TypeAlias = Callable[..., str] | str  # a function of the values, or a format of the value
Column: TypeAlias = CellText | tuple[str | tuple[str, ...], CellText]  # the format, after names unlike the heading

_ASIDE: Final = f"{__name__}.aside"
_OUTPUTS: Final = frozenset({"out", "report_path"})  # parameters that name a file to write
TABLES: Final = ("text", "markdown", "latex", "csv")
_PARAMETERS: Final = "parameters"  # in the metadata of a default: a function of the name that makes them
_GROUP: Final = "group"  # in the metadata of a default: what makes a value of several options
_MOST_WRITTEN: Final = 1e12  # with four decimals, a larger number has more digits than a float
DETECTABLE: Final = "detectable: smallest true difference that the test finds four times out of five"
# A message of the library on an option; it may begin with a place, such as a file and a line.
_OPTION_ERROR: Final = re.compile(r"((?:.*: )?)([a-z][a-z_0-9]*)( (?:must be .*; got|is an option of) .*)", re.DOTALL)


class WithExample(click.Command):
    """A command whose options are the defaults of its function's parameters; its docstring may end with an example.

    The help shows the example last, without wrapping its lines. `more` is a further paragraph of the help, for text
    that several commands share.
    """

    def __init__(self, *args: Any, more: str = "", **settings: Any) -> None:
        if function := settings.get("callback"):
            settings["callback"], parameters = _of_command_line(function)
            settings["params"] = [*parameters, *settings.get("params", ())]
        super().__init__(*args, **settings)
        for parameter in self.params:
            parameter.type = _reading_decimals(parameter.type)
        text, title, lines = inspect.cleandoc(self.help or "").partition("\n\nExample")
        self.help: str | None = f"{text}\n\n{inspect.cleandoc(more)}".rstrip()
        if title:
            self.epilog: str | None = f"\b\nExample{lines}"

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless it would write over a file that it reads, such as the votes."""
        inputs = [item for item in self.params if isinstance(item, click.Argument) or item.metavar == "FILE"]
        for output in _OUTPUTS & ctx.params.keys():
            path = ctx.params[output]
            for value in (ctx.params[item.name] for item in inputs if item.name in ctx.params.keys() - _OUTPUTS):
                if any(_is_same_file(path, text) for text in (value if isinstance(value, tuple) else [value])):
                    raise click.ClickException(f"{path}: this command reads the file; write to another one")
        try:
            return super().invoke(ctx)
        except ValueError as error:  # the library names options as Python does
            flags = {item.name: max(item.opts, key=len) for item in self.params if isinstance(item, click.Option)}
            match = _OPTION_ERROR.match(str(error))
            if match and (flag := flags.get(match[2].removeprefix("n_"))):
                error.args = (match[1] + flag + match[3],)
            raise


def _reading_decimals(kind: Any) -> Any:
    """Return a type of numbers that reads them as files do; Python also takes 1_0, nan and the digits of any script."""
    if not isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return kind
    strict = copy(kind)
    strict.convert = partial(_convert_decimal, kind)  # type: ignore[method-assign]
    return strict


def _convert_decimal(kind: Any, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
    if isinstance(value, str):
        try:
            is_number = parse_number(value) is not None
        except OverflowError:
            kind.fail(f"{value!r} is beyond the range of a 64-bit float", parameter, context)
        if not is_number:
            kind.fail(f"{value!r} is not a valid {kind.name}", parameter, context)
    return kind.convert(value, parameter, context)


def _is_same_file(path: object, other: object) -> bool:
    is_file = all(isinstance(text, str) and text != "-" and os.path.isfile(text) for text in (path, other))
    return is_file and os.path.samefile(str(path), str(other))


class WithExamples(WithExample, click.Group):
    """A group of commands with examples; the group itself may have an example, too."""

    command_class: type[click.Command] | None = WithExample


class OneLineErrors(WithExamples):
    """A group that reports every expected failure in one line on stderr, with exit status 2.

    Exceptions of other types are bugs, and are not caught.
    """

    bad_input: tuple[type[Exception], ...] = (RankingError, MissingArrowError, MissingMeasuresError)

    def __init__(self, *args: Any, **options: Any) -> None:
        shared: dict[str, Any] = {"no_args_is_help": False, "context_settings": {"help_option_names": ["-h", "--help"]}}
        super().__init__(*args, **(shared | options))

    def main(self, *args: Any, **options: Any) -> Any:
        """Run as click does, but report errors in one line."""
        if not options.setdefault("standalone_mode", True):
            return super().main(*args, **options)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a letter that the terminal lacks is not a failure
        if sys.stderr is not None and sys.stderr.isatty():  # show log messages such as "compiling" to a waiting user
            logging.basicConfig(format=f"{self.name}: note: %(message)s")
            logging.getLogger("rankcorr").setLevel(logging.INFO)
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except click.Abort:
            sys.exit(130)  # the shell's exit status after Ctrl-C
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else self.name
            message = error.format_message().strip().rstrip(".")
            self._fail(f"{message}; '{command} --help' lists the options")
        except click.ClickException as error:
            self._fail(shell_options(error.format_message()))
        except self.bad_input as error:
            self._fail(shell_options(str(error)))
        except OSError as error:
            # Otherwise Python fails a second time when it flushes the rest of the output at exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._fail(f"cannot write the output: {error.strerror or error}")
        sys.exit(code)

    def _fail(self, message: str) -> NoReturn:
        line = re.sub(r"\s*\n\s*", " ", message)
        click.echo(f"{self.name}: error: {whole(line)}", err=True)
        sys.exit(2)


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], WithExample]:
    """Make a command of a function: the defaults of its parameters are made by `option`, `argument` or `options_of`."""
    return click.command(name, cls=WithExample, **settings)


def made_by(parameters_of: Callable[[str], list[click.Parameter]]) -> Any:
    """Make a default from a function that takes the name of the parameter, and returns what the command line has."""
    return field(metadata={_PARAMETERS: parameters_of})


def option(*flags: str, **settings: Any) -> Any:
    """Make an option: the default of a parameter of a command, or of a field of a dataclass for `options_of`.

    The flag is the name of the parameter unless there are `flags`. The help shows the default, if there is one.
    """
    settings = {"show_default": settings.get("default") is not None, **settings}
    return made_by(lambda name: [click.Option([*(flags or (f"--{name.replace('_', '-')}",)), name], **settings)])


def argument(**settings: Any) -> Any:
    """Make an argument of a command, as `option` makes options."""
    return made_by(lambda name: [click.Argument([name], **settings)])


def options_of(kind: Callable[..., Any], *left_out: str, **members: Any) -> Any:
    """Make a parameter of a command from several options: its value is what `kind` returns for theirs.

    The options of a dict are its `members`; otherwise they are the fields of the dataclass `kind`, or the parameters of
    the function. The fields `left_out` have no option, and are None.
    """
    return field(metadata={_GROUP: (kind, left_out, members if kind is dict else declared(kind))})


def _parameters_of(default: Any, name: str) -> list[click.Parameter]:
    return default.metadata[_PARAMETERS](name)  # type: ignore[no-any-return]


def declared(kind: Any) -> dict[str, Any]:
    """Return what `option` and the like, or `rankcorr._checks.declare`, made for the fields or parameters of `kind`."""
    if is_dataclass(kind):
        of_fields = {member.name: member for member in fields(kind)}
        return {
            name: member if member.metadata.keys() & {_PARAMETERS, _GROUP} else declared_option(cast(type, kind), name)
            for name, member in of_fields.items()
        }
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
    return {name: default for name, default in defaults.items() if isinstance(default, Field)}


def _of_command_line(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[click.Parameter]]:
    """Return a function that takes the values of the command line, and what the command line has."""
    groups: dict[str, tuple[Callable[..., Any], tuple[str, ...], list[str]]] = {}
    parameters: list[click.Parameter] = []
    for name, default in declared(function).items():
        members = {name: default}
        if _GROUP in default.metadata:
            kind, left_out, members = default.metadata[_GROUP]
            members = {member: value for member, value in members.items() if member not in left_out}
            groups[name] = kind, left_out, list(members)
        for member, value in members.items():
            parameters += _parameters_of(value, member)

    @wraps(function)
    def called(**values: Any) -> Any:
        for name, (kind, left_out, members) in groups.items():
            values[name] = kind(**{member: values.pop(member) for member in members}, **dict.fromkeys(left_out))
        return function(**values)

    return called, parameters


def declared_option(owner: type, name: str, *flags: str, **settings: Any) -> Any:
    """Make an option from a field that `rankcorr._checks.declare` made; `settings` are passed to `option`."""
    declaration = declaration_of(owner, name)
    derived: dict[str, Any] = {"help": declaration.about}
    if declaration.kind is bool:
        derived |= {"is_flag": True}
    else:
        derived |= {"type": _click_type(declaration), "default": declaration.default}
    return option(*flags, **{**derived, **settings})


def _click_type(declaration: Declaration) -> Any:
    if declaration.choices:
        return click.Choice(declaration.choices)
    if declaration.kind is str:
        return click.STRING
    lower, upper = max(declaration.above, declaration.least), min(declaration.below, declaration.most)
    bounds: dict[str, Any] = {
        **({"min": lower, "min_open": declaration.above > declaration.least} if math.isfinite(lower) else {}),
        # The help omits bounds above 2^53, which help nobody to choose a number; the library checks them.
        **({"max": upper, "max_open": declaration.below < declaration.most} if upper < LARGEST_EXACT else {}),
    }
    number = (click.IntRange if declaration.kind is int else click.FloatRange)(**bounds)
    number.name = "integer" if declaration.kind is int else "float"  # not "integer range"
    return number


def choice_option(choices: Sequence[str], help_text: str, *flags: str, **settings: Any) -> Any:
    """Make an option that takes one of the `choices`; the first is the default."""
    return option(*flags, **{"type": click.Choice(choices), "default": choices[0], "help": help_text, **settings})


def flag_option(help_text: str, *flags: str) -> Any:
    """Make an option without a value."""
    return option(*flags, is_flag=True, help=help_text)


def count_option(help_text: str, *flags: str, **settings: Any) -> Any:
    """Make an option for a positive whole number."""
    return option(*flags, type=click.IntRange(min=1), help=help_text, **settings)


def text_option(metavar: str, help_text: str, *flags: str, **settings: Any) -> Any:
    """Make an option for a text, such as a name, by default without a value."""
    return option(*flags, metavar=metavar, help=help_text, **settings)


def several_option(flag: str, metavar: str, help_text: str, **settings: Any) -> Any:
    """Make an option that may be repeated."""
    return option(flag, multiple=True, metavar=metavar, help=help_text, **settings)


def seed_option(help_text: str = "Random seed: the same seed gives the same numbers.", **settings: Any) -> Any:
    """Make the option --seed."""
    return option("--seed", **{"type": click.IntRange(min=0), "default": 0, "help": help_text, **settings})


def values_of(owner: object, *names: str) -> dict[str, Any]:
    """Return attributes of options or of a result by their names."""
    return {name: getattr(owner, name) for name in names}


def needed_text(needed: Mapping[str, Any] | None, units: str) -> str:
    """Describe how many queries or tasks a test needs for a difference; `needed` is None if a pilot is too small."""
    if needed is None:
        return f"cannot estimate how many {units} are needed: there are too few {units}, or all differences are equal"
    return (
        f"a difference of {needed['difference']:g} needs about {needed['n']:,} {units} for a power of "
        f"{needed['power']:g} ({needed['low']:,} to {needed['high']:,}, by the noise of these {needed['n_pilot']:,})"
    )


def _report_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        if value is not None:
            check_ending(value)
    except OptionError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


def report_option() -> Any:
    """Make the option --report."""
    help_text = "Also write methods, results and limits for a paper: .md, .txt, or .tex, which also gets a .bib file."
    return text_option("FILE", help_text, "--report", callback=_report_name)


def json_option(more: str = ", with null where undefined") -> Any:
    """Make the option --json."""
    return flag_option(f"Print JSON{more}.", "--json")


def output_options(more: str = ", with null where undefined") -> Any:
    """Make the options --table, which has no parameter, and --json."""
    help_text = "Format of tables. With any format but text, only tables go to stdout; other output goes to stderr."
    table = choice_option(TABLES, help_text, expose_value=False, callback=_into_tables)
    return made_by(lambda name: [*_parameters_of(table, "table"), *_parameters_of(json_option(more), name)])


def _into_tables(context: click.Context, _parameter: click.Parameter, form: str) -> None:
    if form != TABLES[0]:
        context.meta[__name__] = form, sys.stdout
        context.with_resource(redirect_stdout(sys.stderr))


def _tables() -> tuple[str, Any]:
    """Return the format of tables, and the file to write them to."""
    context = click.get_current_context(silent=True)
    form, file = (TABLES[0], None) if context is None else context.meta.get(__name__, (TABLES[0], None))
    return form, None if context is not None and context.meta.get(_ASIDE) else file


def put_tables_aside(aside: bool) -> None:
    """While `aside` is true, send tables to stderr with the other output, so that one table is alone on stdout."""
    click.get_current_context().meta[_ASIDE] = aside


def print_json(document: Any) -> None:
    """Print JSON, with null for numbers that are not finite."""
    click.echo(json.dumps(json_ready(document), indent=2, allow_nan=False), file=_tables()[1])


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str | float]],
    *,
    left: Collection[int] = (),
    notes: TableNotes = NO_NOTES,
) -> None:
    """Print a table; the first column and the columns numbered in `left` are left-aligned, the others right-aligned.

    Numbers have four decimals, or all their digits in CSV. Only LaTeX shows the `notes`.
    """
    form, file = _tables()
    # CSV has all digits, and no text for nan, which other programs read as missing.
    write = (lambda value: "" if math.isnan(value) else repr(value)) if form == "csv" else number_text
    table = [header, *([cell if isinstance(cell, str) else write(cell) for cell in row] for row in rows)]
    right = [column not in {0, *left} for column in range(len(header))]
    if form == "csv":
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(table)
        click.echo(text.getvalue(), nl=False, file=file)
        return
    if form == "latex":
        click.echo(latex_table(table, right, notes), file=file)
    else:
        click.echo({"text": text_table, "markdown": markdown_table}[form](table, right), file=file)


def text_columns(text: CellText, *names: str) -> dict[str, Column]:
    """Make columns of the same format whose headings are the names of the values."""
    return dict.fromkeys(names, text)


def print_rows(rows: Iterable[Any], columns: Mapping[str, Column], notes: TableNotes = NO_NOTES) -> None:
    """Print rows, which are mappings or objects, as a table; names and labels are left-aligned."""
    sources = [column if isinstance(column, tuple) else (name, column) for name, column in columns.items()]
    left = [place for place, (_, text) in enumerate(sources) if text in (whole, label_text)]
    cells = [[_cell(row, *source) for source in sources] for row in rows]
    print_table(list(columns), cells, left=left, notes=notes)


def print_tests(
    heading: str,
    rows: Sequence[Any],
    columns: Mapping[str, Column],
    level: float,
    below: str = "",
    of: str = "difference",
) -> None:
    """Print a table of tests with a heading and a text below it; LaTeX marks significant values in the column `of`."""
    click.echo(f"\n{heading}\n{below}")
    pvalues = [_value(row, "corrected_pvalue") for row in rows]
    print_rows(rows, columns, significance_notes(f"{heading}.", pvalues, list(columns).index(of), level))


def _cell(row: Any, source: str | tuple[str, ...], text: CellText) -> str:
    values = [_value(row, name) for name in ((source,) if isinstance(source, str) else source)]
    return text.format(*values) if isinstance(text, str) else text(*values)


def _value(row: Any, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else attrgetter(name)(row)


def notes_of(messages: Sequence[str], coefficients: Sequence[str], system: str | None = None) -> list[Note]:
    """Return the library's warnings as notes, without repeated messages."""
    system_field = {} if system is None else {"system": system}
    return [
        {**system_field, "coefficients": list(coefficients), "message": shell_options(message)}
        for message in dict.fromkeys(messages)
    ]


def print_notes(notes: Sequence[Note]) -> None:
    """Print notes on stderr, one on each line."""
    for note in notes:
        parts = [note.get("system", ""), ", ".join(note.get("coefficients", ())), note["message"]]
        text = ": ".join(part for part in parts if part)
        click.echo(f"rankcorr: note: {whole(text)}", err=True)


def whole(text: object) -> str:
    """Return a name or a path as a terminal can show it, uncut."""
    return printable(str(text), limit=None)


def resamples_text(number: int, seed: int, of: str | None = None) -> str:
    """Describe resamples by their number, their unit `of` (None for draws from a model) and the seed."""
    return f"{counted(number, 'resample')}{'' if of is None else f' of {of}'}, seed {seed}"


def print_too_few(intervals: Iterable[Any], result: Any, noun: str, size: str) -> None:
    """Print why intervals are unbounded: their numbers of units, in the attribute `size`, are too small."""
    sizes = sorted({getattr(row, size) for row in intervals if math.isinf(row.low) or math.isinf(row.high)})
    if sizes:
        numbers = "the " if result.unit == "clusters" else f"{' or '.join(map(str, sizes))} "
        units = "query is" if (result.unit, sizes) == ("queries", [1]) else f"{result.unit} are"
        click.echo(f"-inf, inf: {numbers}{units} too few to bound a {noun} at {percent_text(result.level)}")


def detectable_text(difference: float, pvalue: float) -> str:
    """Format a detectable difference for a table; "none" if the test can find no difference."""
    return "none" if math.isnan(difference) and not math.isnan(pvalue) else number_text(difference)


def pvalue_text(pvalue: float) -> str:
    """Format a p-value; "-" if it is undefined."""
    if math.isnan(pvalue):
        return "-"
    return f"{pvalue:.4f}" if pvalue >= 0.001 or pvalue == 0 else f"{pvalue:.1e}"


def number_text(value: float) -> str:
    """Format a number with four decimals; "-" if it is nan."""
    return "-" if math.isnan(value) else f"{value:z.4f}"


def score_text(value: float) -> str:
    """Format a number in any unit as `number_text` does, or with four digits if it needs more room; "-" if nan."""
    needs_room = 0 < abs(value) < 5e-5 or _MOST_WRITTEN <= abs(value) < math.inf
    return f"{value:.3e}" if needs_room else number_text(value)


def rank_text(rank: float) -> str:
    """Format a mid-rank (a multiple of 0.5); "-" if it is undefined."""
    return "-" if math.isnan(rank) else f"{rank:.1f}".removesuffix(".0")


def ranks_text(least: int | None, largest: int | None) -> str:
    """Format the range of ranks that tests leave possible."""
    if least is None:
        return "-"
    return str(least) if least == largest else f"{least}-{largest}"


def label_text(label: Hashable) -> str:
    """Return a label as a terminal can show it; commas separate the parts of a label of several columns."""
    return printable(", ".join(label) if isinstance(label, tuple) else str(label))


def _ready(context: click.Context, parameter: click.Parameter, out: str | None) -> str | None:
    """Check before any work that a figure can be written to the file."""
    if out is None:
        return None
    if Path(out).suffix.lower().removeprefix(".") not in FORMS:
        raise click.BadParameter(f"'{out}' must end with .png, .svg or .pdf", context, parameter)
    if not Path(out).parent.is_dir():
        raise click.ClickException(f"{out}: cannot be written: there is no folder {Path(out).parent}")
    try:
        figure_class()
    except MissingMatplotlibError as error:
        raise click.ClickException(str(error)) from error
    return out


def figure_option(help_text: str, **settings: Any) -> Any:
    """Make an option for the file of a figure."""
    help_text = f"{help_text}; an existing file is replaced."
    return text_option("FILE.png|.svg|.pdf", help_text, callback=_ready, **settings)


@dataclass(frozen=True)
class FigureFile:
    """Where to write a figure, and how it looks."""

    out: str = figure_option("Write the figure here", required=True)
    theme: Any = choice_option(THEMES, "Background of the figure.")
    width: float | None = declared_option(Paper, "width", metavar="INCHES")
    dpi: int = declared_option(Paper, "dpi")
    no_title: bool = flag_option("Draw no title, for a figure with a caption.")

    def save(self, draw: Callable[[], Figure]) -> list[str]:
        """Draw a figure, write it, and return matplotlib's warnings about letters that the font lacks."""
        with warnings.catch_warnings(record=True) as font_warnings:
            warnings.filterwarnings("always", "Glyph", UserWarning)
            with named_errors(self.out), theme(self.theme, width=self.width, has_title=not self.no_title):
                save_figure(draw(), self.out, dpi=self.dpi)
        return list(dict.fromkeys(str(warning.message) for warning in font_warnings))

    def write(self, draw: Callable[[], Figure]) -> list[str]:
        """Write a figure as `save` does, print its path, and return the warnings."""
        font_warnings = self.save(draw)
        click.echo(whole(Path(self.out)))
        return font_warnings


def write_whole(path: str, text: str) -> None:
    """Write a file, or leave the old one; a link stays a link, and a device or pipe is written to.

    Raises
    ------
    TableError
        When the file cannot be written.
    """
    target, data = Path(path), text.encode()
    with named_errors(path):
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            write_atomically(target, data)


@contextmanager
def named_errors(path: str) -> Iterator[None]:
    """Name the file in an error of a block that writes it."""
    try:
        yield
    except OSError as error:
        raise TableError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def progress_bar(total: int | None, unit: str, of: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar on stderr, for the argument `progress` of the library.

    It does nothing if stderr is not a terminal, tqdm is not installed, or there are no steps. The bar appears only if
    the work takes longer than 0.3 s, and disappears at the end of the block.

    Parameters
    ----------
    total : int or None
        Number of steps; None if it is unknown.
    unit : str
        Name of one step.
    of : str
        What the steps are for, such as "tests against chance".

    Examples
    --------
    >>> from rankcorr.inference._null import null_distribution
    >>> with progress_bar(100, "permutation", "null distribution") as advance:
    ...     null = null_distribution(range(9), range(9), n_resamples=100, progress=advance)
    """
    if total == 0 or sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield silent
        return
    with tqdm(desc=of, total=total, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield bar.update
