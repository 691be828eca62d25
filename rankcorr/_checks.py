"""Check arguments, one by one or as declared, show values in messages, and give warnings, which threads can collect.

An option that belongs to a value, such as `TauW`, is declared once, as a field of a frozen dataclass: its default, its
bounds and its help. A command derives its option from the declaration (`rankcorr._cli.console.declared_option`), and
the service the field of a request (`service.schemas.fields.declared_field`). Options of public functions have their
defaults in the signature, where `default_of` finds them.
"""

import inspect
import math
import operator
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields
from numbers import Real
from typing import Any, Final, Literal, SupportsIndex, TypeAlias, cast, get_args

import numpy as np

from rankcorr.errors import OptionError, UndefinedCorrelationWarning

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
ALTERNATIVES: Final[tuple[Alternative, ...]] = get_args(Alternative)

N_SHOWN = 5
N_CHARACTERS = 60
N_READ = 600  # characters that are made before line breaks and rows of blanks become one blank
_KEY: Final = "declaration"  # of a field, in its metadata
_BRACKETS: Final[dict[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


def real_number(value: object) -> float:
    """Return a real number as a float, and nan for anything else; text, booleans and durations are not."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.timedelta64)):  # which numpy calls an integer
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or fraction beyond the largest float
        return math.inf


def real_text(text: str) -> bool:
    """Whether Python reads a text as a number, nan included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_number(value: object) -> int | None:
    """Return an integer of any type as an int, and None for any other value; a boolean is not a number."""
    try:
        return None if isinstance(value, (bool, np.bool_)) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def checked_count(value: object, name: str, error: type[ValueError] = OptionError, least: int = 1) -> int:
    """Return a whole number that is at least `least` as an int, or raise `error`."""
    number = whole_number(value)
    if number is None or number < least:
        requirement = "a positive whole number" if least == 1 else f"a whole number of {least} or more"
        raise error(f"{name} must be {requirement}; got {shown(value)}")
    return number


def checked_seed(seed: object, error: type[ValueError] = OptionError) -> int:
    """Return a seed as an int, or raise `error`, which each package sets to its own."""
    return checked_count(seed, "seed", error, least=0)


def check_rng(rng: object, error: type[ValueError] = OptionError) -> None:
    """Refuse anything but a generator of random numbers."""
    if not isinstance(rng, np.random.Generator):
        raise error(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(seed); got {shown(rng)}")


def checked_level(level: object, name: str = "level", error: type[ValueError] = OptionError) -> float:
    """Return a level of confidence as a float, or raise `error`."""
    value = real_number(level)
    if not 0 < value < 1:
        raise error(f"{name} must be a number above 0 and below 1; got {shown(level)}")
    return value


def checked_margin(margin: float | None, level: float) -> float | None:
    """Return a margin of equivalence as a float, or raise OptionError."""
    if margin is None:
        return None
    value = real_number(margin)
    if not (math.isfinite(value) and value > 0):
        raise OptionError(f"equivalent_within must be a positive number; got {shown(margin)}")
    if level <= 0.5:
        raise OptionError(f"equivalent_within needs a level above 0.5; got {level:g}")
    return value


def checked_flag(flag: object, name: str) -> bool:
    """Return a bool of Python or numpy as a bool, or raise OptionError: a text such as "no" would count as true."""
    if not isinstance(flag, bool | np.bool_):
        raise OptionError(f"{name} must be True or False; got {shown(flag)}")
    return bool(flag)


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse an unknown value of an option, with a message that lists the choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")


@dataclass(frozen=True)
class Declaration:
    """An option, for the library, the commands and the service: its help, default and bounds.

    Attributes
    ----------
    kind : type
        int, float, bool or str.
    about : str
        Its help. It names no flag, argument or field, because it is shown for all of them.
    default : object
        None without a default.
    above, least, below, most : float
        Bounds of a number.
    choices : tuple of str
        The possible words; empty where any text will do.
    """

    kind: type
    about: str
    default: Any
    above: float = -math.inf
    least: float = -math.inf
    below: float = math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()

    def admits(self, value: object) -> bool:
        """Return whether a value is a number within the bounds, or one of the choices.

        Examples
        --------
        >>> share = Declaration(float, "A share.", 0.5, least=0, below=1)
        >>> share.admits(0), share.admits(1), share.admits("0.5")
        (True, False, False)
        """
        if self.choices:
            return isinstance(value, str) and value in self.choices
        number = whole_number(value) if self.kind is int else real_number(value)
        return number is not None and self.above < number < self.below and self.least <= number <= self.most

    @property
    def range_text(self) -> str:
        """The values that it admits, as words for an error.

        Examples
        --------
        >>> Declaration(int, "A count.", None, least=1).range_text
        'a positive whole number'
        >>> Declaration(float, "A share.", 0, least=0, most=1).range_text
        'a number from 0 to 1'
        """
        if self.choices:
            return f"one of {', '.join(map(shown, self.choices))}"
        noun = "a whole number" if self.kind is int else "a finite number"
        if math.isfinite(self.least) and math.isfinite(self.most):
            return f"{noun.replace('finite ', '')} from {self.least:.15g} to {self.most:.15g}"
        if self.kind is int and self.least == 1:
            return "a positive whole number"
        if math.isfinite(self.least):
            return f"{noun} from {self.least:.15g} on"
        bounds = {"above": self.above, "below": self.below, "of at most": self.most}
        texts = [f"{word} {bound:.15g}" for word, bound in bounds.items() if math.isfinite(bound)]
        return " ".join([noun, " and ".join(texts)]).strip()


def declare(kind: type, default: Any = MISSING, *, about: str, **bounds: Any) -> Any:
    """Make a field of a frozen dataclass that is an option on every surface; see `Declaration`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Limits:
    ...     retries: int = declare(int, 3, about="Restarts.", least=0)
    >>> Limits().retries, declaration_of(Limits, "retries").least
    (3, 0)
    """
    declaration = Declaration(kind, about, None if default is MISSING else default, **bounds)
    return field(default=default, metadata={_KEY: declaration})


def declaration_of(owner: type, name: str) -> Declaration:
    """Return the declaration of a field."""
    declaration: Declaration = owner.__dataclass_fields__[name].metadata[_KEY]  # type: ignore[attr-defined]
    return declaration


def default_of(call: Callable[..., Any], name: str) -> Any:
    """Return the default of an option of a public function, for commands and requests that have the option too.

    Examples
    --------
    >>> from rankcorr import correlation_interval
    >>> default_of(correlation_interval, "level")
    0.95
    """
    return inspect.signature(call).parameters[name].default


def check_declared(options: Any, error: type[Exception]) -> None:
    """Raise `error` for the first declared field that is out of its bounds; None is admitted where it is the default.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Limits:
    ...     retries: int = declare(int, 3, about="Restarts.", least=0)
    ...     def __post_init__(self):
    ...         check_declared(self, ValueError)
    >>> Limits(-1)
    Traceback (most recent call last):
    ValueError: retries must be a whole number from 0 on; got -1
    """
    for member in fields(options):
        declaration, value = member.metadata.get(_KEY), getattr(options, member.name)
        if declaration is None or (value is None and member.default is None):
            continue
        if not declaration.admits(value):
            raise error(f"{member.name} must be {declaration.range_text}; got {shown(value)}")


# An option in Python's syntax: duplicates="first", interim=True, n0=2, or similarity= for any value.
_OPTION: Final = re.compile(
    r'(?<![\w.])(?<!\w\()([a-z][a-z_0-9]*)=("[^"]*"|\["[^"]*"\]|True|[0-9.]*[0-9]|(?![^\s;,)]))'
)


# Advice for readers of one surface, as "(in Python, of read_pairs)" or "(in a shell, `ballots run assign`)".
_FOR_PYTHON: Final = re.compile(r" \(in Python, [^)]*\)")
_FOR_SHELL: Final = re.compile(r" \(in a shell, ([^)]*)\)")


def shell_options(message: str) -> str:
    """Return a message in which options in Python's syntax read as those of a command.

    >>> shell_options('ids must be unique; duplicates="first" keeps one')
    'ids must be unique; --duplicates first keeps one'
    >>> shell_options('leave the column out with ignore=["a b"]')
    'leave the column out with --ignore "a b"'
    >>> shell_options('duplicates="mean" merges them (in Python, of read_pairs)')
    '--duplicates mean merges them'
    >>> shell_options("give the sheet to another voter (in a shell, `ballots run assign`)")
    'give the sheet to another voter (`ballots run assign`)'
    """

    def rewrite(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip('"').replace("True", "")
        if value.startswith("["):  # a list of one: its text may have spaces
            value = value[1:-1]
        return f"--{name.replace('_', '-')} {value}".rstrip()

    return _OPTION.sub(rewrite, _FOR_SHELL.sub(r" (\1)", _FOR_PYTHON.sub("", message)))


def _for_http(message: str) -> str:
    return _FOR_SHELL.sub("", _FOR_PYTHON.sub("", message))


def json_options(message: str) -> str:
    """Return a message in which options in Python's syntax read as fields of JSON.

    >>> json_options('ids must be unique; duplicates="first" keeps one')
    'ids must be unique; "duplicates": "first" keeps one'
    >>> json_options("give the sheet to another voter (in a shell, `ballots run assign`)")
    'give the sheet to another voter'
    """

    def rewrite(match: re.Match[str]) -> str:
        return f'"{match[1]}": {match[2].replace("True", "true")}'.removesuffix(": ")

    return _OPTION.sub(rewrite, _for_http(message))


def query_options(message: str) -> str:
    """Return a message in which options in Python's syntax read as parameters of a query.

    >>> query_options("rank by the votes so far with interim=True")
    'rank by the votes so far with interim=true'
    """

    def rewrite(match: re.Match[str]) -> str:
        return f"{match[1]}={match[2]}".replace('"', "").replace("=True", "=true")

    return _OPTION.sub(rewrite, _for_http(message))


def shown(value: object, *, written: Callable[[object], str] = repr) -> str:
    """Return the repr of a value for a message, cut to one line; `written` makes the repr of simple values.

    Only its beginning is made: the repr of a list of seven million numbers takes seconds and 700 MB.

    Examples
    --------
    >>> shown([1, "two", {"three": (4,)}])
    "[1, 'two', {'three': (4,)}]"
    >>> shown([[0] * 1_000_000] * 1_000_000)
    '[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0...'
    """
    parts: list[str] = []
    n_characters = 0
    is_cut = False
    for part in _beginning(value, N_CHARACTERS, written):
        parts.append(part)
        n_characters += len(part)
        if is_cut := n_characters > N_READ:
            break
    text = " ".join("".join(parts).split())
    return text if len(text) <= N_CHARACTERS and not is_cut else f"{text[: N_CHARACTERS - 3]}..."


def _beginning(value: object, n_levels: int, written: Callable[[object], str]) -> Iterator[str]:
    """Yield the repr of a value in parts; a container nested deeper than `n_levels` becomes an ellipsis."""
    kind = type(value)
    if kind in _BRACKETS:
        if n_levels == 0:
            yield "..."
            return
        opening, closing = _BRACKETS[kind]
        entries = cast("Collection[object]", value)
        if not entries and kind in (set, frozenset):
            yield f"{kind.__name__}()"
            return
        yield opening
        for place, entry in enumerate(entries):
            if place:
                yield ", "
            yield from _beginning(entry, n_levels - 1, written)
            if kind is dict:
                yield ": "
                yield from _beginning(cast("dict[object, object]", value)[entry], n_levels - 1, written)
        yield ("," if kind is tuple and len(entries) == 1 else "") + closing
    elif isinstance(value, str | bytes | bytearray):
        text = written(value[: N_READ + 1])
        yield text if len(value) <= N_READ else text[:-1]
    else:
        try:
            yield written(value)
        except Exception:  # an integer with too many digits for Python to print, a broken or endless __repr__
            yield f"{kind.__name__} that cannot be shown"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words; `plural` is by default the noun with an s.

    Examples
    --------
    >>> counted(1, "vote"), counted(2_000, "vote"), counted(2, "query", "queries")
    ('1 vote', '2,000 votes', '2 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def counted_need(number: int, noun: str) -> str:
    """Number and verb for a message about things that need something.

    Examples
    --------
    >>> counted_need(1, "vote"), counted_need(2, "vote")
    ('1 vote needs', '2 votes need')
    """
    return f"{counted(number, noun)} need{'s' * (number == 1)}"


def told_apart(value: float, limit: float, digits: int) -> str:
    """Write a number with `digits` decimals, or more if rounding would move it across the limit.

    Examples
    --------
    >>> told_apart(0.94996, 0.95, 3), told_apart(0.94996, 0.96, 3)
    ('0.94996', '0.950')
    """
    texts = (f"{value:.{n}f}" for n in range(digits, 18))
    return next((text for text in texts if (float(text) < limit) == (value < limit)), str(value))


def is_unhashable(value: object) -> bool:
    """Whether a value cannot be hashed, as a label must."""
    try:
        hash(value)
    except (TypeError, ValueError):  # numpy's for a duration without a unit
        return True
    return False


def equals_itself(label: object) -> bool:
    """Whether a label equals itself: nan, pandas' NA, and a tuple that holds one of them do not.

    Examples
    --------
    >>> equals_itself("a"), equals_itself(float("nan")), equals_itself(("a", float("nan")))
    (True, False, False)
    """
    if isinstance(label, tuple):
        return all(equals_itself(part) for part in label)
    try:
        return bool(label == label)  # noqa: PLR0124
    except (TypeError, ArithmeticError):  # pandas' NA, a signaling nan
        return False


def check_group_name(name: object, role: str, member: str) -> None:
    """Refuse the name of a group, called `role`, that is missing, or that cannot be hashed; `member` is in the group.

    Examples
    --------
    >>> check_group_name(["war"], "genre", "film")
    Traceback (most recent call last):
        ...
    rankcorr.errors.OptionError: the name of a genre must be hashable, such as text or a number; got ['war']
    """
    if is_unhashable(name):
        raise OptionError(f"the name of a {role} must be hashable, such as text or a number; got {shown(name)}")
    if name is None or not equals_itself(name) or name == "":
        raise OptionError(f"every {member} needs a {role}; got {shown(name)}")


def offending(message: str, values: Iterable[object], number: int | None = None) -> str:
    """Append up to five offending values, and the `number` of all if there are more; `values` may be the first ones."""
    listed = list(values)
    number = len(listed) if number is None else number
    more = f", ... ({number:,} in all)" if number > N_SHOWN else ""
    return f"{message}: {', '.join(shown(value) for value in listed[:N_SHOWN])}{more}"


def first_few(texts: Sequence[str], number: int = N_SHOWN) -> str:
    """Join the first of many texts by commas; an ellipsis stands for the others."""
    return ", ".join([*texts[:number], *["..."] * (len(texts) > number)])


def check_unique(names: Iterable[Hashable], role: str, error: type[ValueError]) -> None:
    """Refuse names that are not unique; the message begins with `role`, the kind of name.

    Raises
    ------
    TypeError
        A name cannot be hashed.
    """
    if again := repeated(names):
        raise error(offending(f"{role} must be unique; more than once", again))


def repeated(names: Iterable[Hashable]) -> list[Hashable]:
    """Names that occur more than once, each once, in the order of their second occurrence."""
    earlier_names: set[Hashable] = set()
    again = [name for name in names if name in earlier_names or earlier_names.add(name)]  # type: ignore[func-returns-value]
    return list(dict.fromkeys(again))


_collected: ContextVar[list[str] | None] = ContextVar("rankcorr_notices", default=None)


def warn_undefined(why: str, *, statistic: str = "the correlation", stacklevel: int = 4) -> None:
    """Warn that a statistic is nan; by default at the line that called the public function."""
    colon = "" if why.startswith("in ") else ":"
    give_notice(f"{statistic} is undefined{colon} {why}", UndefinedCorrelationWarning, stacklevel=stacklevel + 1)


def give_notice(message: str, category: type[Warning] | None, *, stacklevel: int = 3) -> None:
    """Warn, or leave the message to `collected_notices`; by default at the line that called the public function.

    With a category of None there is no warning, because the caller asked for what happened; collected notices still
    have the message.
    """
    collected = _collected.get()
    if collected is not None:
        collected.append(message)
    elif category is not None:
        warnings.warn(message, category, stacklevel=stacklevel)


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Collect, only in this thread, messages that would otherwise be warnings.

    `warnings.catch_warnings` changes the whole process, so the threads of a server would see each other's warnings.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> with collected_notices() as notices:
    ...     result = weighted_tau([1, 2], [3, 3])
    >>> notices
    ['the correlation is undefined: all items that have weight are tied in one ranking']
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


def alpha_of(level: float) -> float:
    """Return 1 - level, rounded: 1 - 0.95 exceeds 0.05 in the last digit, and a p-value of 3/60 is not below 0.05."""
    return round(1 - level, 12)
