"""Choose the next sets of items for best-worst votes."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import checked_integer
from adaptive._plan import LEAST_SET, MOST_SET
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.errors import DrawError, ModelError
from adaptive.matching._matching import Matching
from adaptive.model._strengths import Strengths
from rankcorr._checks import check_rng, shown


def next_sets(
    strengths: ChoiceStrengths | Strengths,
    size: int,
    *,
    rng: np.random.Generator,
    set_size: int = 4,
    n_shown: ArrayLike | None = None,
    n0: float = Matching.n0,
) -> NDArray[np.int64]:
    """Choose sets of items from the votes so far, to make the order of the top items precise.

    For each set, strengths are drawn from their normal approximation, or from Student's t if the fit has clusters. The
    first item is drawn with probability proportional to ``1 / ((n + n0)^2 sqrt(m + 1))``, where n is its rank by the
    drawn strengths (1 is the best) and m is the number of sets that had it. The other items are the nearest to it in
    strength.

    Parameters
    ----------
    strengths : ChoiceStrengths or Strengths
    size : int
        Number of sets.
    rng : numpy.random.Generator
    set_size : int
        Number of items in a set, from 3 to 6.
    n_shown : array_like of shape (n_items,), optional
        Number of sets that had each item so far; 0 by default.
    n0 : float
        As in `Matching`: a smaller value concentrates the sets on the top.

    Returns
    -------
    ndarray of int64, shape (size, set_size)
        Indices into ``strengths.items``, in random order within a set.

    Raises
    ------
    DrawError
        `size` or `set_size` is out of range, or there are fewer items than `set_size`.
    ModelError
        `strengths` is of another type, `n0` is out of range, or `n_shown` is not one finite number of 0 or more for
        each item.

    See Also
    --------
    draw_sets : Sets without votes.
    next_comparisons : The same for pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Choices, next_sets
    >>> answers = [(["ant", "bee", "cat", "dog"], "ant", "dog"), (["bee", "cat", "dog", "eel"], "bee", "eel")]
    >>> strengths = Choices.from_best_worst(answers).fit()
    >>> for places in next_sets(strengths, 2, set_size=3, rng=np.random.default_rng(1)):
    ...     print([strengths.items[place] for place in places])
    ['cat', 'bee', 'ant']
    ['bee', 'ant', 'cat']
    """
    if not isinstance(strengths, ChoiceStrengths | Strengths):
        raise ModelError(f"strengths must be ChoiceStrengths or Strengths; got {shown(strengths)}")
    n_items, number = len(strengths.items), checked_integer("size", size, least=1)
    members = checked_integer("set_size", set_size, least=LEAST_SET)
    if members > min(MOST_SET, n_items):
        raise DrawError(
            f"set_size must be at most {MOST_SET} and the number of items, {n_items}; got {shown(set_size)}"
        )
    Matching(n0=n0)  # checks the range of n0
    check_rng(rng, DrawError)
    counts = _checked_counts(n_shown, n_items)
    degrees_of_freedom = strengths.degrees_of_freedom if isinstance(strengths, ChoiceStrengths) else math.inf
    sets = np.empty((number, members), np.int64)
    for row in sets:
        errors = strengths.standard_errors * rng.standard_normal(n_items)
        if math.isfinite(degrees_of_freedom):
            errors *= math.sqrt(degrees_of_freedom / rng.chisquare(degrees_of_freedom))
        strength = strengths.theta + errors
        rank = np.empty(n_items)
        rank[np.argsort(-strength)] = np.arange(1, n_items + 1)
        weights = 1 / ((rank + n0) ** 2 * np.sqrt(counts + 1))
        first = rng.choice(n_items, p=weights / weights.sum())
        nearest = np.argsort(np.abs(strength - strength[first]), kind="stable")
        row[:] = rng.permutation(nearest[:members])
        counts[row] += 1
    return sets


def _checked_counts(n_shown: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    if n_shown is None:
        return np.zeros(n_items)
    with suppress(TypeError, ValueError):  # not numbers, or rows of different lengths
        counts = np.array(n_shown, float)
        if counts.shape == (n_items,) and (np.isfinite(counts) & (counts >= 0)).all():
            return counts
    raise ModelError(f"n_shown must have a number for each of the {n_items} items, 0 or more; got {shown(n_shown)}")
