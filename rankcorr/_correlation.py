"""The everyday functions: two rankings in, a `RankCorrelation` out (Eqs. 7 and 8 of Lombardo et al. 2020).

The path of every coefficient: `as_ranking` and `align_rankings` check the rankings, the `Coefficient` weighs the items
and lets a kernel sum over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import warn_undefined
from rankcorr._coefficients import (
    COEFFICIENTS,
    UNDEFINED,
    Key,
    RhoW,
    TauW,
    Variant,
    coefficient_of,
    different_coefficients,
)
from rankcorr._input.scores import is_masked
from rankcorr._output.results import RankCorrelation
from rankcorr._ranking import Missing, RankingLike, align_rankings, as_ranking
from rankcorr._weights import DEFAULT_N0, Scheme, TiedWeights, Weigher
from rankcorr._workers import loops
from rankcorr.errors import DimensionError, LengthError, MissingValueError, NonNumericError, TooFewItemsError


def weighted_rho(
    x: RankingLike,
    y: RankingLike,
    *,
    n0: float | None = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Top-weighted Spearman correlation of two rankings with ties: rho_w of Eq. 8.

    It is the weighted Pearson correlation of the mid-ranks, and Eq. 7 with a_ij = sqrt(w_i w_j) (a_j - a_i). If all
    items that have weight are tied in one ranking, it is undefined: nan with an `UndefinedCorrelationWarning`.

    Two unrelated rankings do not score 0: additive weights and n0 = 2 give about -0.60 on average for 990 items.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. For ranks use `Ranking.from_ranks`, for a list of labels
        `Ranking.from_order`. Labelled rankings are matched by label.
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1. Only the default can be combined with `weigher`.
    weigher : callable, optional
        Used instead of 1/(n + n0)^2. It takes an array of ranks and returns their weights. The array lists the ranks
        that may occur, not one rank for each item.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        How tied items are weighted; see `item_weights`.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has: raise an error, leave them out, or tie them below all items of
        the ranking that lacks them. "gold" does the last for the labels of x, and leaves out those that only y has. See
        `align`.

    Returns
    -------
    RankCorrelation

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    weighted_tau : The same weights in Kendall's tau.
    RhoW : This coefficient with its options as one value.
    correlate_many : Compare one gold ranking with many systems.
    permutation_test : Compare the value with chance.
    correlation_interval : Give the value an interval.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, Eqs. 7 to 9.

    Examples
    --------
    >>> from rankcorr import weighted_rho
    >>> gold = {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}
    >>> system = {"king": 0.7, "queen": 0.9, "cabbage": 0.1, "stone": 0.2}
    >>> round(weighted_rho(gold, system).statistic, 4)
    0.5273
    """
    coefficient = coefficient_of(RhoW, n0, weigher, scheme, tied_weights)
    return coefficient.correlate(x, y, missing=missing, stacklevel=4)


def weighted_tau(
    x: RankingLike,
    y: RankingLike,
    *,
    n0: float | None = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Top-weighted Kendall correlation of two rankings with ties: tau_w of Eq. 8, in O(n log n).

    It is Eq. 7 with a_ij = sqrt(w_i w_j) sign(a_j - a_i). If all items that have weight are tied in one ranking, it is
    undefined: nan with an `UndefinedCorrelationWarning`.

    Two unrelated rankings do not score 0: additive weights and n0 = 2 give about -0.51 on average for 990 items.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. For ranks use `Ranking.from_ranks`, for a list of labels
        `Ranking.from_order`. Labelled rankings are matched by label.
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1. Only the default can be combined with `weigher`.
    weigher : callable, optional
        Used instead of 1/(n + n0)^2. It takes an array of ranks and returns their weights. The array lists the ranks
        that may occur, not one rank for each item.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        How tied items are weighted; see `item_weights`.
    variant : {"b", "a"}
        "b" divides by the weights of the pairs that are not tied, as Eq. 7 does, and reaches 1 with ties; "a" divides
        by 1 - sum_i w_i^2, the weight of all pairs. Without ties they agree.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has: raise an error, leave them out, or tie them below all items of
        the ranking that lacks them. "gold" does the last for the labels of x, and leaves out those that only y has. See
        `align`.

    Returns
    -------
    RankCorrelation

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    weighted_rho : The same weights in Spearman's rho.
    TauW : This coefficient with its options as one value.
    correlate_many : Compare one gold ranking with many systems.
    permutation_test : Compare the value with chance.
    correlation_interval : Give the value an interval.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, Eqs. 7 to 9.

    Examples
    --------
    >>> from rankcorr import Ranking, weighted_tau
    >>> gold = Ranking.from_order(["king", "queen", "cabbage", "stone"])
    >>> system = Ranking.from_order(["queen", "king", ["cabbage", "stone"]])
    >>> round(weighted_tau(gold, system).statistic, 4)
    0.2074
    """
    coefficient = coefficient_of(TauW, n0, weigher, scheme, tied_weights, variant)
    return coefficient.correlate(x, y, missing=missing, stacklevel=4)


def correlate(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficients: Sequence[Key] = COEFFICIENTS,  # type: ignore[assignment]
    missing: Missing = "raise",
    names: tuple[str, str] = ("x", "y"),
) -> dict[Key, RankCorrelation]:
    """Compute several coefficients of two rankings, which are aligned once.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    coefficients : sequence of Coefficient or {"rho_w", "tau_w", "rho", "tau", "pearson"}
        At least one, without repeats; a name selects the default options, as "tau_w" for ``TauW()``.
    missing : {"raise", "intersection", "bottom", "gold"}
        As in `weighted_tau`.
    names : pair of str
        Names of the two in error messages.

    Returns
    -------
    dict of Coefficient or str to RankCorrelation
        The keys are the entries of `coefficients` as given. Each result equals that of a separate call for its
        coefficient, to the last bit.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    weighted_rho, weighted_tau : One coefficient, with its options as arguments.
    correlate_many : One coefficient of many systems.

    Examples
    --------
    >>> from rankcorr import TauW, correlate
    >>> gold = {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}
    >>> system = {"king": 0.7, "queen": 0.9, "cabbage": 0.1, "stone": 0.2}
    >>> {name: round(result, 4) for name, result in correlate(gold, system).items()}
    {'rho_w': 0.5273, 'tau_w': 0.1508, 'rho': 0.6, 'tau': 0.3333}
    >>> {value: round(result, 4) for value, result in correlate(gold, system, coefficients=[TauW(n0=10)]).items()}
    {TauW(n0=10): 0.3105}
    """
    named = different_coefficients(coefficients, of_scores=True)
    x, y = as_ranking(x), as_ranking(y)
    first, second = align_rankings(x, y, names=names, missing=missing)
    values = {key: coefficient.of_pair(first, second) for key, coefficient in named.items()}
    if any(map(math.isnan, values.values())):
        warn_undefined(UNDEFINED, stacklevel=3)
    return {key: coefficient.result(values[key], x, y, first.n_items, missing) for key, coefficient in named.items()}


def kendall_gamma(a_matrix: ArrayLike, b_matrix: ArrayLike) -> RankCorrelation:
    """Kendall's general coefficient, Eq. 7: sum_ij a_ij b_ij / sqrt(sum_ij a_ij^2 sum_ij b_ij^2).

    For teaching, and to check the others: it takes O(n^2) time and memory. It is not the gamma of Goodman and Kruskal.

    Parameters
    ----------
    a_matrix, b_matrix : array_like of shape (n_items, n_items)
        Finite score of each ordered pair of items; for Kendall's tau the sign of the difference of their ranks.

    Raises
    ------
    RankingError
        `DimensionError` for a matrix that is not square, `LengthError` for matrices that differ in shape,
        `MissingValueError` for nan and infinite entries, `TooFewItemsError` for fewer than two items, and
        `NonNumericError`.

    See Also
    --------
    weighted_tau : A special case, in O(n log n).
    weighted_rho : Another special case.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import kendall_gamma
    >>> a, b = np.array([1, 2, 3, 4]), np.array([2, 1, 3, 4])
    >>> tau = kendall_gamma(np.sign(a - a[:, None]), np.sign(b - b[:, None]))
    >>> round(tau.statistic, 4)
    0.6667
    """
    a, b = _square("a_matrix", a_matrix), _square("b_matrix", b_matrix)
    if a.shape != b.shape:
        raise LengthError(f"the two matrices must have the same shape; got {a.shape} and {b.shape}")
    # Scaled by the largest entry, so that the squares neither overflow nor vanish.
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    statistic = loops().quotient(float((a * b).sum()), float((a * a).sum()), float((b * b).sum()))
    if math.isnan(statistic):
        warn_undefined("a matrix is all zero", stacklevel=3)
    return RankCorrelation(statistic, n_items=a.shape[0], coefficient="gamma")


def _square(name: str, matrix: ArrayLike) -> NDArray[np.float64]:
    if is_masked(matrix):
        raise MissingValueError(f"{name} has masked entries; every entry must be finite")
    try:
        array = np.asarray(matrix)
    except ValueError as error:  # rows of different lengths
        raise DimensionError(f"{name} must be square; its rows differ in length") from error
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise DimensionError(f"{name} must be square; got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise NonNumericError(f"every entry of {name} must be a real number; got an array of {array.dtype}")
    if array.shape[0] < 2:
        raise TooFewItemsError(f"{name} must hold at least two items; got {array.shape[0]}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise MissingValueError(f"{name}[{row}, {column}] is {array[row, column]}; every entry must be finite")
    return array
