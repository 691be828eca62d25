"""What is known before any vote: how far strengths spread, and how much voters differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from adaptive.errors import ModelError
from rankcorr.checks import real_number, shown
from rankcorr.results import Result

__all__ = ["OVERSIGHT", "Prior", "checked_oversight", "checked_prior"]

OVERSIGHT: Final = 0.03


@dataclass(frozen=True, eq=False)
class Prior(Result):
    """Priors that keep every fit finite: an item that won all, or a graph in parts.

    Attributes
    ----------
    sd : float or None
        t of theta ~ N(0, t^2), by default 2: two of three strengths are within 2 of their mean, which says little.
        None: estimated, as the t of the largest marginal likelihood of the votes in Laplace's approximation, from 0.05
        to 30. On 100 items with 1,500 votes chosen by `next_comparisons` it is .9 to 1.1 of the true spread in the
        mean of 6 simulations. It takes some 25 fits. Infinity: no prior, so that the fit is one of maximum likelihood.
    discrimination_sd : float
        Standard deviation of log a_v, whose mean over the votes is 0. With the voters of the paper, whose
        nonconformities differ tenfold, 0.3 and 0.5 ranked best.
    oversight_votes : float
        Votes that the prior mean of e_v is worth: e_v is beta with this sum of its two parameters.
    side_sd : float
        Standard deviation of the side bias s.

    Raises
    ------
    ModelError
        A number that is nan or not positive, or an infinite one other than `sd`.

    Examples
    --------
    >>> Prior(sd=1).discrimination_sd
    0.3
    """

    sd: float | None = 2.0
    discrimination_sd: float = 0.3
    oversight_votes: float = 50.0
    side_sd: float = 0.5

    def __post_init__(self) -> None:
        for name in ("sd", "discrimination_sd", "oversight_votes", "side_sd"):
            given = getattr(self, name)
            if name == "sd" and given is None:
                continue
            value = real_number(given)
            if not value > 0 or (math.isinf(value) and name != "sd"):
                wanted = "None or a positive number" if name == "sd" else "a positive number"
                raise ModelError(f"{name} of a prior must be {wanted}; got {shown(given)}")
            object.__setattr__(self, name, value)


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
        When it is not a number from 0 to below 0.5: at 0.5 answers say nothing.
    """
    value = real_number(oversight)
    if not 0 <= value < 0.5:
        raise ModelError(f"oversight must be a number from 0 to below 0.5; got {shown(oversight)}")
    return value
