"""Declare, check, read and show settings from environment variables.

A setting is a field of a dataclass. Its variable is the name of the field in capitals, after RANKCORR_. `HttpSettings`
has the settings that both applications share.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, get_args

PREFIX: Final = "RANKCORR_"


class SettingError(ValueError):
    """An environment variable has an invalid value.

    See Also
    --------
    Settings, service.collect.CollectSettings : Raise it.

    Examples
    --------
    >>> from service import Settings
    >>> Settings.from_environment({"RANKCORR_MAX_ITEMS": "many"})
    Traceback (most recent call last):
        ...
    service.environment.SettingError: RANKCORR_MAX_ITEMS must be a whole number from 2 to 1099511627776; ...
    """


def setting(default: Any, parse: Callable[[str, str], Any], about: str) -> Any:
    """Declare a setting: its default, its parser, and its meaning.

    Parameters
    ----------
    default : object
        The value if the variable is not set, or empty.
    parse : callable
        Takes the variable's name and text; returns the value or raises a `SettingError`. The parsers are below.
    about : str
        The meaning, for the table in the help and in docs/reference/settings.md.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Kettle(FromEnvironment):
    ...     cups: int = setting(2, whole_number(1, 8), "cups to heat")
    >>> Kettle.from_environment({"RANKCORR_CUPS": "5"})
    Kettle(cups=5)
    >>> Kettle().table()
    [('RANKCORR_CUPS', 2, 'cups to heat')]
    """
    return field(default=default, metadata={"parse": parse, "about": about})


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("max_items")
    'RANKCORR_MAX_ITEMS'
    """
    return PREFIX + name.upper()


@dataclass(frozen=True, kw_only=True)
class FromEnvironment:
    """Settings that are read from variables RANKCORR_*, and shown as a table."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **more: Any) -> Self:
        """Read the variables; an unset one keeps its default. `unknown` lists misspelt ones.

        Raises
        ------
        SettingError
            If a variable has an invalid value; the message names the variable.
        """
        settings = {
            entry.name: entry.metadata["parse"](variable(entry.name), environment[variable(entry.name)])
            for entry in fields(cls)
            if entry.metadata and environment.get(variable(entry.name))
        }
        return cls(**settings, **more)

    def table(self) -> list[tuple[str, Any, str]]:
        """Return variable, value and meaning of each setting."""
        entries = [(entry.name, entry.metadata["about"]) for entry in fields(self) if entry.metadata]
        return [(variable(name), getattr(self, name), about) for name, about in entries]


def unknown(environment: Mapping[str, str], *owners: type[Any]) -> list[str]:
    """Return a line for each variable that begins with RANKCORR_ but is not a setting of these dataclasses.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Kettle:
    ...     cups: int = setting(2, whole_number(1, 8), "cups to heat")
    >>> unknown({"RANKCORR_CUP": "5", "HOME": "/root"}, Kettle)
    ['RANKCORR_CUP is not a setting: did you mean RANKCORR_CUPS?']
    """
    names = [variable(entry.name) for owner in owners for entry in fields(owner) if entry.metadata]
    lines = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in names:
            suggestions = get_close_matches(name, names, n=1, cutoff=0.8)
            lines.append(f"{name} is not a setting" + (f": did you mean {suggestions[0]}?" if suggestions else ""))
    return lines


def whole_number(least: int, most: int = 2**40) -> Callable[[str, str], int]:
    """Make the parser of a whole number within bounds."""

    def parse(name: str, text: str) -> int:
        if not (re.fullmatch("[0-9]{1,19}", text) and least <= int(text) <= most):
            raise SettingError(f"{name} must be a whole number from {least} to {most}; got {text!r}")
        return int(text)

    return parse


def seconds(name: str, text: str) -> float:
    """Parse a duration: above 0, at most a day."""
    # The command, which gunicorn replaces, does not import the readers of numbers: numpy would delay each start.
    if not (re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.I) and 0 < float(text) <= 86_400):
        raise SettingError(f"{name} must be a number of seconds above 0, at most 86400; got {text!r}")
    return float(text)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a host name
        return False


def one_of(*choices: str) -> Callable[[str, str], str]:
    """Make the parser of a choice."""

    def parse(name: str, text: str) -> str:
        if text not in choices:
            raise SettingError(f"{name} must be one of {', '.join(choices)}; got {text!r}")
        return text

    return parse


def word_list(name: str, text: str) -> tuple[str, ...]:
    """Parse words separated by commas."""
    words = tuple(word.strip() for word in text.split(","))
    if not all(words) or any(character.isspace() for word in words for character in word):
        raise SettingError(f"{name} must be a list with commas between the entries, none of them empty")
    return words


def token_list(name: str, text: str) -> tuple[str, ...]:
    """Parse bearer tokens separated by commas; no message shows a token."""
    words = word_list(name, text)
    if any(not word.isascii() or len(word) < 16 for word in words):
        raise SettingError(f"{name} must hold tokens of at least 16 ASCII characters each, with commas between them")
    return words


Metrics: TypeAlias = Literal["open", "token", "off"]
READERS: Final[tuple[Metrics, ...]] = get_args(Metrics)


@dataclass(frozen=True, kw_only=True)
class HttpLimits(FromEnvironment):
    """The limits on one request; an application may add its own."""

    max_body_bytes: int = setting(16 * 2**20, whole_number(1_000), "bytes of a request body")
    max_seconds: float = setting(30.0, seconds, "seconds of processor time for a request, rounded up to a whole number")
    max_work_bytes: int = setting(2**30, whole_number(1), "bytes of memory for the work of a heavy request")


@dataclass(frozen=True, kw_only=True)
class HttpSettings(FromEnvironment):
    """The settings that the hooks around every request and the processes need from an application.

    Examples
    --------
    >>> HttpSettings.from_environment({"RANKCORR_MAX_BODY_BYTES": "1000"}).limits.max_body_bytes
    1000
    """

    limits_type: ClassVar[type[HttpLimits]] = HttpLimits

    limits: HttpLimits = field(default_factory=HttpLimits)
    tokens: tuple[str, ...] = setting(
        (), token_list, "bearer tokens for /v1, separated by commas, of 16 characters or more; none: open to all"
    )
    metrics: Metrics = setting("open", one_of(*READERS), f"who may read /metrics: {', '.join(READERS)}")
    trusted_proxies: int = setting(
        0, whole_number(0, 10), "number of proxies in front, whose X-Forwarded-For is trusted"
    )
    max_heavy: int = setting(0, whole_number(0, 64), "requests with long work at once, 0: as many as workers")
    max_waiting: int = setting(
        16,
        whole_number(1, 1_000),
        "heavy requests at once, running or waiting for their turn; long ones take at most half of them",
    )
    max_wait_seconds: float = setting(
        10.0, seconds, "seconds that a heavy request waits for its turn, before it is turned away"
    )

    def __post_init__(self) -> None:
        if self.metrics == "token" and not self.tokens:
            raise SettingError(f"{variable('metrics')} is 'token', but {variable('tokens')} holds none")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **more: Any) -> Self:
        """Read the variables of the settings and of their limits, as `FromEnvironment` does."""
        limits = cls.limits_type.from_environment(environment)
        return super().from_environment(environment, limits=limits, **more)

    def table(self) -> list[tuple[str, Any, str]]:
        """Return variable, value and meaning of each setting, with the number of tokens in place of the tokens."""
        rows = [*self.limits.table(), *super().table()]
        return [(name, len(value) if name == variable("tokens") else value, about) for name, value, about in rows]
