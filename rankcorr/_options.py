"""Declare an option once, as a field of a frozen dataclass: its default, its bounds and its help.

The defaults of public functions are in their signatures, where `default_of` finds them.

A command derives its option from the declaration (`rankcorr._cli.console.declared_option`), and the service the field
of a request (`service.schemas.fields.declared_field`). `check_declared` enforces the bounds in the dataclass itself.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final

from rankcorr._checks import real_number, shown, whole_number

_KEY: Final = "declaration"


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
            return value in self.choices
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
