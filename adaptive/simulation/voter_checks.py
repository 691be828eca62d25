"""Checks of what voters are made of: levels, intervals of levels, amplitude and indifference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.errors import SimilarityError
from rankcorr.checks import real_number, shown

Amplitude: TypeAlias = Callable[[NDArray[np.float64]], Any]
Interval: TypeAlias = tuple[float, float]


def checked_levels(name: str, levels: ArrayLike, most: float) -> NDArray[np.float64]:
    """Copy of the levels of voters, read-only; SimilarityError for one that is negative or above `most`."""
    values = np.array(levels)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf":
        raise SimilarityError(f"{name} must hold one number for each voter; got {values.dtype} of shape {values.shape}")
    wrong = np.flatnonzero(~((values >= 0) & (values <= most) & np.isfinite(values)))
    if wrong.size:
        raise SimilarityError(f"{name}[{wrong[0]}] is {values[wrong[0]]:g}; {_bounds(most)}")
    values = values.astype(np.float64)
    values.flags.writeable = False
    return values


def check_interval(name: str, interval: object, most: float) -> None:
    """Refuse anything but a pair of levels in order."""
    ends = interval if isinstance(interval, tuple | list) else ()
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, float | int | np.number) for end in ends):
        raise SimilarityError(f"{name} must be a pair of numbers, the least and the largest; got {shown(interval)}")
    if not (0 <= ends[0] <= ends[1] <= most and ends[1] < np.inf):
        raise SimilarityError(f"{name} must be a pair of numbers in order; {_bounds(most)}; got {shown(interval)}")


def check_amplitude(amplitude: object) -> None:
    """Refuse what cannot be called."""
    if not callable(amplitude):
        raise SimilarityError(f"an amplitude is a callable from similarities to amplitudes; got {shown(amplitude)}")


def check_indifference(indifference: object) -> None:
    """Refuse anything but a finite number of 0 or more."""
    if not 0 <= real_number(indifference) < np.inf:
        raise SimilarityError(f"indifference must be a finite number, not negative; got {shown(indifference)}")


def _bounds(most: float) -> str:
    return "it must lie in [0, 1]" if most == 1 else "it must be finite and not negative"
