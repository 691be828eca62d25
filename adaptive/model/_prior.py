"""State what a fit assumes before any vote: normal strengths, similar voters, few oversights and small side biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from adaptive.errors import ModelError
from rankcorr._checks import real_number, shown
from rankcorr._output.results import Result

OVERSIGHT: Final = 0.03
SD_RANGE: Final = (0.05, 30.0)
SD_START: Final = 2.0


@dataclass(frozen=True, eq=False)
class Prior(Result):
    """Priors that keep every fit finite, even if an item won all its votes or the graph has several parts.

    Attributes
    ----------
    sd : float or None
        t of theta ~ N(0, t^2). None, the default, estimates t from 0.05 to 30: log t is normal around log 2 with
        standard deviation 1, and t is the peak next to 2 of its posterior, with the marginal likelihood of the votes in
        Laplace's approximation. A fit then takes three to ten times as long. Above 300 items (1,500 if there are many
        votes), the approximation is estimated with random signs, so t and the oversight depend a little on the order of
        the items: with 1,600 items and 8,000 votes, t varied by 2 %. Infinity means that the strengths have no prior;
        the other parameters keep theirs.
    discrimination_sd : float
        Standard deviation of log a_v, whose mean over the voters is 0. With the voters of the paper, whose
        nonconformities differ tenfold, 0.3 and 0.5 ranked best.
    oversight_votes : float
        Weight of the prior mean of an oversight, in votes: it has a beta prior whose two parameters have this sum.
    side_sd : float
        Standard deviation of the side bias s.

    Raises
    ------
    ModelError
        A number that is nan or not positive, or an infinite one other than `sd`.

    See Also
    --------
    bradley_terry, thurstone : Take it.

    Examples
    --------
    >>> from adaptive import Prior
    >>> Prior(sd=1).discrimination_sd
    0.3
    """

    sd: float | None = None
    discrimination_sd: float = 0.3
    oversight_votes: float = 50.0
    side_sd: float = 0.5

    def __post_init__(self) -> None:
        for name in ("sd", "discrimination_sd", "oversight_votes", "side_sd"):
            option = getattr(self, name)
            if name == "sd" and option is None:
                continue
            value = real_number(option)
            if not is_spread(value) or (math.isinf(value) and name != "sd"):
                requirement = "None or a positive number" if name == "sd" else "a positive number"
                range_ = "" if not 0 < value < math.inf else " from 1e-100 to 1e100"
                raise ModelError(f"{name} of a prior must be {requirement}{range_}; got {shown(option)}")
            object.__setattr__(self, name, value)


def is_spread(value: float) -> bool:
    """Return whether a number can be a standard deviation: its square and the inverse of that are floats."""
    return 1e-100 <= value <= 1e100 or value == math.inf


def checked_prior(prior: float | Prior | None) -> Prior:
    """Return a prior as it is; a number is the standard deviation of the strengths, None means all defaults.

    Raises
    ------
    ModelError
        As `Prior`.
    """
    if prior is None:
        return Prior()
    return prior if isinstance(prior, Prior) else Prior(prior)


def checked_oversight(oversight: float) -> float:
    """Return a probability of an oversight as a float.

    Raises
    ------
    ModelError
        When it is not a number from 0 to below 0.5: at 0.5 answers carry no information.
    """
    value = real_number(oversight)
    if not 0 <= value < 0.5:
        raise ModelError(f"oversight must be a number from 0 to below 0.5; got {shown(oversight)}")
    return value
