"""Sums without any rounding, which no order and no partition changes."""

from __future__ import annotations

import math
from collections.abc import Iterable


def exact_sum(numbers: Iterable[float]) -> tuple[float, ...]:
    """Sum as a few floats that hold it exactly: the nearest float, then that nearest to what is left, and so on.

    They depend on the sum alone, so that sums of parts, added, give the same floats as the sum of the whole.

    Examples
    --------
    >>> exact_sum([1.0, 1e-30, 1.0])
    (2.0, 1e-30)
    >>> exact_sum([*exact_sum([1.0, 1e-30]), *exact_sum([1.0])])
    (2.0, 1e-30)
    """
    listed = list(numbers)
    parts: list[float] = []
    while rest := math.fsum(listed):
        parts.append(rest)
        listed.append(-rest)
    return tuple(parts)
