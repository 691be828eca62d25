"""Every setting of the service, read once from the environment; a wrong value stops the start with a clear message."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

Metrics: TypeAlias = Literal["open", "token", "off"]

PREFIX: Final = "RANKCORR_"


class SettingError(ValueError):
    """An environment variable with a value that it cannot have."""


def _setting(default: Any, parse: Callable[[str, str], Any], about: str) -> Any:
    return field(default=default, metadata={"parse": parse, "about": about})


def _whole(least: int, most: int = 2**40) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= most):
            raise SettingError(f"{name} must be a whole number from {least} to {most}; got {text!r}")
        return int(text)

    return parse


def _seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86_400:
        raise SettingError(f"{name} must be a number of seconds above 0, at most 86400; got {text!r}")
    return value


def _one_of(*choices: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in choices:
            raise SettingError(f"{name} must be one of {', '.join(choices)}; got {text!r}")
        return text

    return parse


def _words(name: str, text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    if not all(words) or any(character.isspace() for word in words for character in word):
        raise SettingError(f"{name} must be a list with commas between the entries, none of them empty")
    return words


def _tokens(name: str, text: str) -> tuple[str, ...]:
    words = _words(name, text)
    if any(not word.isascii() or len(word) < 16 for word in words):  # never shows a token
        raise SettingError(f"{name} must hold tokens of at least 16 ASCII characters each, with commas between them")
    return words


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one request may ask for."""

    max_body_bytes: int = _setting(16 * 2**20, _whole(1_000), "bytes of a request body")
    max_items: int = _setting(200_000, _whole(2), "items of a ranking, a plan or a ballot")
    max_systems: int = _setting(1_000, _whole(1), "systems of a batch")
    max_matrix_cells: int = _setting(10_000, _whole(1), "cells of a matrix: rankings times rankings")
    max_comparisons: int = _setting(500_000, _whole(1), "comparisons of a ballot, and of all ballots to score")
    max_simulated_votes: int = _setting(50_000_000, _whole(1), "votes of all simulations of a request")
    max_opinions: int = _setting(10_000_000, _whole(1), "opinions of a simulation: voters times items")
    max_resamples: int = _setting(100_000, _whole(1), "resamples of a test or an interval")
    max_label_bytes: int = _setting(
        64 * 2**20, _whole(1), "bytes of the labels in an answer, each as often as it is written"
    )
    max_resampled_values: int = _setting(
        20_000_000, _whole(1), "values of a leaderboard: gold sets times systems times resamples"
    )
    max_seconds: float = _setting(30.0, _seconds, "seconds of work for a request")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the service runs.

    Examples
    --------
    >>> Settings.from_environment({"RANKCORR_MAX_ITEMS": "1000"}).limits.max_items
    1000
    """

    limits: Limits = field(default_factory=Limits)
    tokens: tuple[str, ...] = _setting(
        (), _tokens, "bearer tokens for /v1 with commas, 16 characters or more; none: open to all"
    )
    metrics: Metrics = _setting("open", _one_of("open", "token", "off"), "who may read /metrics: open, token or off")
    cors_origins: tuple[str, ...] = _setting((), _words, "origins whose pages may call /v1, with commas")
    requests_per_minute: int = _setting(0, _whole(0), "requests of a client to /v1 in a minute, 0: no limit")
    trusted_proxies: int = _setting(0, _whole(0, 10), "proxies in front, whose X-Forwarded-For is believed")
    max_concurrent: int = _setting(2, _whole(1, 64), "requests that a worker works on at once")
    max_waiting: int = _setting(16, _whole(0, 1_000), "requests that wait for their turn in a worker")
    max_body_seconds: float = _setting(60.0, _seconds, "seconds in which a request body must arrive")
    max_wait_seconds: float = _setting(10.0, _seconds, "seconds that a request waits before it is turned away")

    def __post_init__(self) -> None:
        if self.metrics == "token" and not self.tokens:
            raise SettingError(f"{PREFIX}METRICS is 'token', but {PREFIX}TOKENS holds none")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables RANKCORR_*; what is not set has its default, and an unknown one is left to others.

        Raises
        ------
        SettingError
            For a value that a variable cannot have; the message names the variable.
        """
        return cls(limits=Limits(**_read(Limits, environment)), **_read(cls, environment))

    def table(self) -> list[tuple[str, Any, str]]:
        """Variable, value and meaning of each setting; the number of tokens stands for the tokens."""
        rows = [
            (variable(entry.name), getattr(owner, entry.name), entry.metadata["about"])
            for owner in (self.limits, self)
            for entry in fields(owner)
            if entry.metadata
        ]
        return [(name, len(value) if name == variable("tokens") else value, about) for name, value, about in rows]


def variable(name: str) -> str:
    """Environment variable of a setting."""
    return PREFIX + name.upper()


def _read(owner: type[Limits] | type[Settings], environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        entry.name: entry.metadata["parse"](variable(entry.name), environment[variable(entry.name)])
        for entry in fields(owner)
        if entry.metadata and environment.get(variable(entry.name))
    }
