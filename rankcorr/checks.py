"""Checks of single arguments, and how messages show what was wrong: what was wanted, and what came."""

import math
import operator
from collections.abc import Iterable
from numbers import Real
from typing import SupportsIndex, cast

from rankcorr.errors import OptionError

N_SHOWN = 5


def real_number(value: object) -> float:
    """Return a real number as a float, and nan for anything else; text and booleans are no numbers."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or fraction beyond the largest float
        return math.inf


def whole_number(value: object) -> int | None:
    """Return an integer of any type as an int, and None for anything else; a boolean is no number."""
    try:
        return None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse an unknown value of an option with the list of choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")


def shown(value: object) -> str:
    """Return the repr of a value for a message, cut to one line."""
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits for Python to print
        text = f"{type(value).__name__} that cannot be shown"
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def offending(message: str, values: Iterable[object]) -> str:
    """Append up to five offending values, and the number of all of them where there are more."""
    listed = list(values)
    more = f", ... ({len(listed)} in all)" if len(listed) > N_SHOWN else ""
    return f"{message}: {', '.join(shown(value) for value in listed[:N_SHOWN])}{more}"
