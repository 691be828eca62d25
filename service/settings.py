"""The settings of the app, read once from the environment; a wrong value stops the start with a clear message."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from service.environment import (
    PREFIX,
    SettingError,
    one_of,
    read,
    rows,
    seconds,
    setting,
    token_list,
    variable,
    whole_number,
    word_list,
)

Metrics: TypeAlias = Literal["open", "token", "off"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one request may ask for."""

    max_body_bytes: int = setting(16 * 2**20, whole_number(1_000), "bytes of a request body")
    max_items: int = setting(200_000, whole_number(2), "items of a ranking, a pairing, a plan or a ballot")
    max_systems: int = setting(1_000, whole_number(1), "systems of a batch")
    max_matrix_cells: int = setting(10_000, whole_number(1), "cells of a matrix: rankings times rankings")
    max_comparisons: int = setting(
        500_000, whole_number(1), "comparisons of a ballot, and of all votes to score or to fit"
    )
    max_simulated_votes: int = setting(50_000_000, whole_number(1), "votes of all simulations of a request")
    max_opinions: int = setting(10_000_000, whole_number(1), "opinions of a simulation: voters times items")
    max_resamples: int = setting(100_000, whole_number(1), "resamples of a test or an interval")
    max_label_bytes: int = setting(
        64 * 2**20, whole_number(1), "bytes of the labels in an answer, each as often as it is written"
    )
    max_resampled_values: int = setting(
        20_000_000, whole_number(1), "values of a leaderboard: gold sets times systems times resamples"
    )
    max_work: int = setting(
        1_000_000_000,
        whole_number(1),
        "items to rank or match, over all rankings, coefficients, resamples and simulations",
    )
    max_work_bytes: int = setting(
        512 * 2**20, whole_number(1), "bytes of memory for the work of a request, as estimated before it begins"
    )
    max_seconds: float = setting(30.0, seconds, "seconds of work for a request")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the service runs.

    Examples
    --------
    >>> Settings.from_environment({"RANKCORR_MAX_ITEMS": "1000"}).limits.max_items
    1000
    """

    limits: Limits = field(default_factory=Limits)
    tokens: tuple[str, ...] = setting(
        (), token_list, "bearer tokens for /v1 with commas, 16 characters or more; none: open to all"
    )
    metrics: Metrics = setting("open", one_of("open", "token", "off"), "who may read /metrics: open, token or off")
    cors_origins: tuple[str, ...] = setting((), word_list, "origins whose pages may call /v1, with commas")
    requests_per_minute: int = setting(0, whole_number(0), "requests of a client to /v1 in a minute, 0: no limit")
    trusted_proxies: int = setting(0, whole_number(0, 10), "proxies in front, whose X-Forwarded-For is believed")
    max_concurrent: int = setting(2, whole_number(1, 64), "requests that a worker works on at once")
    max_waiting: int = setting(16, whole_number(0, 1_000), "requests that wait for their turn in a worker")
    max_wait_seconds: float = setting(10.0, seconds, "seconds that a request waits before it is turned away")

    def __post_init__(self) -> None:
        if self.metrics == "token" and not self.tokens:
            raise SettingError(f"{PREFIX}METRICS is 'token', but {PREFIX}TOKENS holds none")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables RANKCORR_*; one that is not set leaves the default; `unknown` finds those that are none.

        Raises
        ------
        SettingError
            For a value that a variable cannot have; the message names the variable.
        """
        return cls(limits=Limits(**read(Limits, environment)), **read(cls, environment))

    def table(self) -> list[tuple[str, Any, str]]:
        """Variable, value and meaning of each setting; the number of tokens stands for the tokens."""
        shown = [*rows(self.limits), *rows(self)]
        return [(name, len(value) if name == variable("tokens") else value, about) for name, value, about in shown]
