"""What all tests share: alternatives, levels, and up to which size every case is enumerated."""

from typing import Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

FloatOrValues = TypeVar("FloatOrValues", float, NDArray[np.float64])
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

ALTERNATIVES: Final[tuple[Alternative, ...]] = get_args(Alternative)
MAX_EXACT_ITEMS: Final = 8  # items with 40,320 permutations
MAX_EXACT: Final = 12  # items or queries with 4,096 exchanges
POWER: Final = 0.8  # of a difference that is called detectable


def power_margin(freedom: FloatOrValues) -> FloatOrValues:
    """Return the factor by which an estimate of a detectable difference grows, so that its mean power is `POWER`.

    The noise is estimated from few values. An estimate that is too small loses more power than one that is too large
    wins. For t tests of normal differences, this factor makes the mean of the power over the estimates `POWER`, within
    0.01 from 6 values.
    """
    return 1 + 0.9 / freedom


def alpha_of(level: float) -> float:
    """Return 1 - level, rounded: 1 - 0.95 exceeds 0.05 in the last digit, and a p-value of 3/60 is not below 0.05."""
    return round(1 - level, 12)
