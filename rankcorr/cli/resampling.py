"""Options of the commands that compute one coefficient or draw resamples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import click

from rankcorr import OptionError
from rankcorr.checks import checked_level
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.inference.exchange import SWAPS
from rankcorr.inference.null import ALTERNATIVES

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_LEVEL: Final = 0.95
DEFAULT_SEED: Final = 0
MAX_RESAMPLES: Final = 10_000_000  # 80 MB for each interval


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
        help=f"{what} Scores must mean the same in all systems.",
    )


def json_option() -> Decorator:
    """Option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
