"""Sample size: the number of queries, items or tasks that a comparison needs, given the noise of a pilot."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from rankcorr import _checks as checks
from rankcorr._input.numbers import ROUNDING
from rankcorr._output.results import Result
from rankcorr.errors import OptionError
from rankcorr.evaluation._comparison.results import PairedDifference
from rankcorr.evaluation._scores.leaderboard import ScoreLeaderboard
from rankcorr.inference._exchange_distribution import POWER, power_margin
from rankcorr.inference._system_comparison import SystemComparison

_MOST_NEEDED: Final = 10**15  # smaller numbers are exact in floats and JSON


@dataclass(frozen=True, eq=False)
class NeededItems(Result):
    """The number of queries, items or tasks needed to detect a difference.

    Attributes
    ----------
    n : int
        The number with which the test has this power, if the noise is that of the pilot.
    low, high : int
        The same at the ends of a 95 % interval of the noise, which a small pilot estimates poorly.
    n_pilot : int
        Number of queries, items or tasks of the pilot.
    difference, power, level : float
        The true difference to detect, the power, and the level of confidence of the test.

    See Also
    --------
    needed_items : Returns it.

    Examples
    --------
    >>> from rankcorr.evaluation import NeededItems
    >>> NeededItems(n=90, low=60, high=160, n_pilot=30, difference=0.05, power=0.8, level=0.95).n
    90
    """

    n: int
    low: int
    high: int
    n_pilot: int
    difference: float
    power: float
    level: float


def needed_items(
    pilot: PairedDifference | SystemComparison | ScoreLeaderboard,
    difference: float,
    *,
    power: float = POWER,
    level: float = 0.95,
) -> NeededItems:
    """Return the number of queries, items or tasks with which the paired test detects a true difference.

    The noise is taken from `detectable` of the pilot, and decreases with the square root of the number. Further queries
    or items must be of the same kind. The interval assumes that differences are normally distributed.

    Parameters
    ----------
    pilot : PairedDifference, SystemComparison or ScoreLeaderboard
        From `compare_runs`, `rankcorr.compare_systems` or `leaderboard_of_scores`. It should have more than 12
        queries, items or tasks: with fewer, its p-values have few possible values, and the result is rough.
    difference : float
        The smallest true difference to detect, in the units of the pilot; its sign is ignored.
    power : float, default 0.8
        Probability of detecting it.
    level : float, default 0.95
        Level of the pilot and of the planned test.

    Returns
    -------
    NeededItems

    Raises
    ------
    OptionError
        The pilot has no detectable difference; the difference is 0, not a number, or so small that more than 10^15
        would be needed; or power or level are not between 0 and 1.

    See Also
    --------
    compare_runs : Its differences have `detectable`, the detectable difference with the given queries.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import compare_systems
    >>> from rankcorr.evaluation import needed_items
    >>> rng = np.random.default_rng(0)
    >>> gold = rng.normal(size=60)
    >>> pilot = compare_systems(gold, gold + rng.normal(size=60), gold + rng.normal(size=60), n_resamples=1_000)
    >>> needed = needed_items(pilot, pilot.detectable)
    >>> abs(needed.n - 60) <= 1, needed.low < 60 < needed.high
    (True, True)
    """
    from scipy.special import chdtri, ndtri

    if isinstance(pilot, PairedDifference):
        n_pilot = pilot.n_queries
    elif isinstance(pilot, SystemComparison | ScoreLeaderboard):
        n_pilot = pilot.n_items
    else:
        raise OptionError(
            f"pilot must be a comparison of two runs or systems, or a leaderboard of scores; got {checks.shown(pilot)}"
        )
    effect, chance = abs(checks.real_number(difference)), checks.checked_level(power, "power")
    alpha = checks.alpha_of(checks.checked_level(level))
    if not (math.isfinite(effect) and effect > 0):
        raise OptionError(f"difference must be a finite number other than 0; got {checks.shown(difference)}")
    if math.isnan(pilot.detectable):
        raise OptionError(
            "the pilot has no detectable difference: it has too few values, or all its differences are equal"
        )
    critical = float(ndtri(1 - alpha / 2))
    shift = (critical + float(ndtri(chance))) / (critical + float(ndtri(POWER)))
    freedom = n_pilot - 1
    noise = pilot.detectable / power_margin(float(freedom)) * math.sqrt(n_pilot) * max(shift, 0.0)
    # With fewer, the smallest possible p-value 2^(1 - n) is above alpha.
    fewest = 1 + math.ceil(math.log2(1 / alpha) - 1e-9)
    ends = (1.0, freedom / float(chdtri(freedom, 0.025)), freedom / float(chdtri(freedom, 0.975)))
    ratios = [noise * math.sqrt(ratio) / effect for ratio in ends]
    if not max(ratios) < math.sqrt(_MOST_NEEDED) / 2:  # `_number` searches up to 4 times the square
        raise OptionError(
            f"difference must be larger; with the noise of this pilot, {checks.shown(difference)} needs more than "
            "10^15 values"
        )
    n, low, high = (_number(ratio, fewest) for ratio in ratios)
    return NeededItems(n, low, high, n_pilot, effect, chance, 1 - alpha)


def _number(ratio: float, fewest: int) -> int:
    """Return the smallest n such that power_margin(n - 1) * ratio / sqrt(n) is at most 1."""

    def is_enough(n: int) -> bool:
        return bool(power_margin(float(n - 1)) * ratio <= math.sqrt(n) + ROUNDING)

    return fewest + bisect_left(range(fewest, fewest + math.ceil(4 * ratio**2)), True, key=is_enough)
