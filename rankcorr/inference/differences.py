"""Interval of the difference between the coefficients of one ranking with two others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from rankcorr.inference.bootstrap import percentile_interval, resampled, standard_error
from rankcorr.inference.copula import TCopula
from rankcorr.inference.inversion import inverted
from rankcorr.inference.resampling import Draws
from rankcorr.inference.sorted_items import SortedItems, Values

# Two systems of which one has at least this share of tied pairs of items, and with at least this correlation given
# gold, have the percentile interval of their difference up to this number of items. With 200 items on five levels that
# interval of tau_w excludes 0 in 10 % of cases where the systems are equally good; that of the copula, in 3 to 5 %.
TIED_SHARE: Final = 0.05
ALIKE: Final = 0.9
MAX_TIED: Final = 100


@dataclass(frozen=True, slots=True)
class DifferenceInterval:
    """Ends of an interval of a difference, its spread, the number of undefined resamples, and the kind of interval."""

    low: float
    high: float
    standard_error: float
    n_undefined: int
    method: Literal["copula", "percentile"]


def difference_interval(items: SortedItems, observed: float, *, level: float, draws: Draws) -> DifferenceInterval:
    """Interval of the coefficient of x with the first other ranking, less that with the second.

    The parameter is the difference of the two strengths, whose mean is the fitted one; so are the correlation of the
    two others given x, and the degrees of freedom. At 0 the two are exchangeable in the model. The level is that of
    `students_level`. Rankings that are `tied_and_alike` have the percentile interval.
    """
    copula = TCopula.fitted(items)
    students = students_level(level, items.n_items)
    if tied_and_alike(items, copula):
        drawn = resampled(items, draws)
        differences = drawn[:, 0] - drawn[:, 1]
        differences = differences[~np.isnan(differences)]
        low, high = percentile_interval(differences, students)
        n_undefined = draws.n_resamples - differences.size
        return DifferenceInterval(low, high, standard_error(differences), n_undefined, "percentile")
    most = math.log(items.n_items)
    first, second = np.clip(copula.strengths, -most, most).tolist()

    def draw(rng: np.random.Generator, differences: Values) -> Values:
        strengths = 0.5 * (first + second) + np.multiply.outer(differences, [0.5, -0.5])
        values = copula.draw(rng, strengths)
        return values[:, 0] - values[:, 1]

    start = first - second
    found = inverted(draw, observed, start, level=students, numbers_each=copula.numbers_each, draws=draws)
    return DifferenceInterval(found.low, found.high, found.standard_error, found.n_undefined, "copula")


def tied_and_alike(items: SortedItems, copula: TCopula) -> bool:
    """Whether, in a short list, one of the two others has many ties, and they share most of what x does not explain.

    The copula spreads what they do not share over all items. Systems with few levels often agree on whole groups, such
    as the one at the top, and differ elsewhere; it is then far from the truth, and copies of items do no harm.
    """
    pairs = items.n_items * (items.n_items - 1)
    sizes = [np.unique(row, return_counts=True)[1] for row in items.y_halves]
    share = max(int((each * (each - 1)).sum()) for each in sizes) / pairs
    return items.n_items <= MAX_TIED and share >= TIED_SHARE and float(copula.factor[0] @ copula.factor[1]) >= ALIKE


def students_level(level: float, n_items: int) -> float:
    """Level at which the normal distribution has the quantiles that Student's t has at `level`.

    The spread of a difference is estimated from the items: three correlations take three degrees of freedom.
    """
    from scipy.special import ndtr, stdtrit

    distance = float(stdtrit(max(n_items - 3, 3), (1 + level) / 2))
    return max(level, 1 - 2 * float(ndtr(-min(distance, 6.0))))
