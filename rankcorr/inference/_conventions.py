"""What all tests share: alternatives, levels, and up to which size every case is enumerated."""

from typing import Final, Literal, TypeAlias, get_args

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

ALTERNATIVES: Final[tuple[Alternative, ...]] = get_args(Alternative)
MAX_EXACT_ITEMS: Final = 8  # items with 40,320 permutations
MAX_EXACT: Final = 12  # items or queries with 4,096 exchanges
POWER: Final = 0.8  # of a difference that is called detectable


def alpha_of(level: float) -> float:
    """Return 1 - level, rounded: 1 - 0.95 exceeds 0.05 in the last digit, and a p-value of 3/60 is not below 0.05."""
    return round(1 - level, 12)
