"""Aligned ranks and weights become a `RankCorrelation` (Eqs. 7 and 8 of Lombardo et al. 2020).

The path of every coefficient: `align` checks the rankings, `Weighting` weighs the items, a kernel sums over them,
and `ratio` divides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.alignment import Missing, align, n_missing
from rankcorr.checks import check_choice
from rankcorr.errors import (
    DimensionError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    TooFewItemsError,
)
from rankcorr.notices import warn_undefined
from rankcorr.ranking import Ranking, RankingLike, Ranks, as_ranking, is_masked
from rankcorr.weights import DEFAULT_N0, Scheme, TiedWeights, Uniform, Weigher, Weighting, check_usable

Coefficient: TypeAlias = Literal["rho_w", "tau_w", "rho", "tau"]
Variant: TypeAlias = Literal["a", "b"]

COEFFICIENTS: Final = ("rho_w", "tau_w", "rho", "tau")
VARIANTS: Final = ("a", "b")


@dataclass(frozen=True, kw_only=True, repr=False)
class Computed:
    """What was computed: shared by the result for one pair of rankings and the results for many."""

    n_items: int
    coefficient: str
    scheme: str | None = None
    n0: float | None = None
    weigher: str | None = None
    tied_weights: str | None = None
    variant: str | None = None
    missing: str | None = None

    def __repr__(self) -> str:
        """Show the result first, and leave out the options that did not take part."""
        shown = {"statistic": None} | {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        options = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"{type(self).__name__}({options})"


@dataclass(frozen=True, repr=False)
class RankCorrelation(Computed):
    """A rank correlation and what was computed.

    Attributes
    ----------
    statistic : float
        Between -1 and 1; nan where the coefficient is undefined.
    n_items : int
        Number of items compared, after alignment.
    coefficient : str
        "rho_w", "tau_w" or "gamma"; "rho" and "tau" are the former two with equal weights.
    scheme, tied_weights, variant : str or None
        Options that took part; None where the coefficient has no such option.
    n0 : float or None
        Offset of the weight 1/(n + n0)^2; None for another weigher.
    weigher : str or None
        Name of the weigher, with its parameters.
    missing : str or None
        "intersection" or "bottom"; None where both rankings had to hold the same items.
    n_missing : int or None
        Number of items in one ranking only: left out by "intersection", placed last by "bottom". None where `missing`
        is.
    """

    statistic: float
    n_missing: int | None = None

    def __float__(self) -> float:
        return self.statistic


def weighted_rho(
    x: RankingLike,
    y: RankingLike,
    *,
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Top-weighted Spearman correlation of two rankings with ties: rho_w of Eq. 8.

    It is the weighted Pearson correlation of the mid-ranks, and Eq. 7 with a_ij = sqrt(w_i w_j) (a_j - a_i). Undefined,
    and nan with an `UndefinedCorrelationWarning`, when the items that have weight are all tied in one ranking.

    Two unrelated rankings do not score 0: additive weights and n0 = 2 give about -0.60 on average for 990 items.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. For ranks use `Ranking.from_ranks`, for a list of labels
        `Ranking.from_order`. Labelled rankings are matched by label.
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1. Not together with `weigher`.
    weigher : callable, optional
        Used in place of 1/(n + n0)^2. It takes an array of ranks that may occur (not one for each item: its size
        means nothing) and returns their weights.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        What a tied item weighs; see `item_weights`.
    missing : {"raise", "intersection", "bottom"}
        What becomes of labels that are in one ranking only: an error, left out, or tied below all items of the
        ranking that lacks them; see `align`.

    Returns
    -------
    RankCorrelation

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong with the rankings or the options.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, Eqs. 7 to 9.

    Examples
    --------
    >>> gold = {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}
    >>> system = {"king": 0.7, "queen": 0.9, "cabbage": 0.1, "stone": 0.2}
    >>> round(weighted_rho(gold, system).statistic, 4)
    0.5273
    """
    weighting = Weighting.of(n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights)
    return _correlate(Statistic("rho_w", weighting, None), x, y, missing)


def weighted_tau(
    x: RankingLike,
    y: RankingLike,
    *,
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Top-weighted Kendall correlation of two rankings with ties: tau_w of Eq. 8, in O(n log n).

    It is Eq. 7 with a_ij = sqrt(w_i w_j) sign(a_j - a_i). Undefined, and nan with an `UndefinedCorrelationWarning`,
    when the items that have weight are all tied in one ranking.

    Two unrelated rankings do not score 0: additive weights and n0 = 2 give about -0.51 on average for 990 items.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. For ranks use `Ranking.from_ranks`, for a list of labels
        `Ranking.from_order`. Labelled rankings are matched by label.
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1. Not together with `weigher`.
    weigher : callable, optional
        Used in place of 1/(n + n0)^2. It takes an array of ranks that may occur (not one for each item: its size
        means nothing) and returns their weights.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        What a tied item weighs; see `item_weights`.
    variant : {"b", "a"}
        "b" divides by the weights of the pairs that are not tied, as Eq. 7 does, and reaches 1 with ties; "a" divides
        by 1 - sum_i w_i^2, the weight of all pairs. Without ties they agree.
    missing : {"raise", "intersection", "bottom"}
        What becomes of labels that are in one ranking only: an error, left out, or tied below all items of the
        ranking that lacks them; see `align`.

    Returns
    -------
    RankCorrelation

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong with the rankings or the options.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, Eqs. 7 to 9.

    Examples
    --------
    >>> from rankcorr import Ranking
    >>> gold = Ranking.from_order(["king", "queen", "cabbage", "stone"])
    >>> system = Ranking.from_order(["queen", "king", ["cabbage", "stone"]])
    >>> round(weighted_tau(gold, system).statistic, 4)
    0.2074
    """
    weighting = Weighting.of(n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights)
    check_choice("variant", variant, VARIANTS)
    return _correlate(Statistic("tau_w", weighting, variant), x, y, missing)


def kendall_gamma(a_matrix: ArrayLike, b_matrix: ArrayLike) -> RankCorrelation:
    """Kendall's general coefficient, Eq. 7: sum_ij a_ij b_ij / sqrt(sum_ij a_ij^2 sum_ij b_ij^2).

    For teaching, and to check the others: it takes O(n^2) time and memory.

    Parameters
    ----------
    a_matrix, b_matrix : array_like of shape (n_items, n_items)
        Finite score of each ordered pair of items; for Kendall's tau the sign of the difference of their ranks.

    Raises
    ------
    RankingError
        `DimensionError` or `LengthError` for matrices that are not square or not alike, `MissingValueError` for nan,
        `NonNumericError`.

    Examples
    --------
    >>> a, b = np.array([1, 2, 3, 4]), np.array([2, 1, 3, 4])
    >>> tau = kendall_gamma(np.sign(a - a[:, None]), np.sign(b - b[:, None]))
    >>> round(tau.statistic, 4)
    0.6667
    """
    a, b = _square("a_matrix", a_matrix), _square("b_matrix", b_matrix)
    if a.shape != b.shape:
        raise LengthError(f"the two matrices must have one shape; got {a.shape} and {b.shape}")
    # Scaled by the largest entry, so that the squares neither overflow nor vanish.
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    statistic = ratio(float((a * b).sum()), float((a * a).sum()), float((b * b).sum()))
    if math.isnan(statistic):
        warn_undefined("a matrix is all zero", stacklevel=3)
    return RankCorrelation(statistic=statistic, n_items=a.shape[0], coefficient="gamma")


@dataclass(frozen=True, slots=True)
class Statistic:
    """A coefficient with its options, ready to be computed for one gold ranking and any number of others."""

    coefficient: str
    weighting: Weighting
    variant: Variant | None

    @classmethod
    def of(
        cls,
        coefficient: Coefficient,
        *,
        n0: float,
        weigher: Weigher | None,
        scheme: Scheme,
        tied_weights: TiedWeights,
        variant: Variant,
    ) -> Statistic:
        """Check the options of a coefficient that is chosen by name."""
        check_choice("coefficient", coefficient, COEFFICIENTS)
        check_choice("variant", variant, VARIANTS)
        if coefficient in ("rho", "tau"):
            if weigher is not None or n0 is not DEFAULT_N0:
                raise OptionError(f"{coefficient!r} has equal weights, and takes neither n0 nor a weigher")
            weigher = Uniform()
        weighting = Weighting.of(n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights)
        return cls(coefficient, weighting, variant if coefficient in ("tau_w", "tau") else None)

    def of_rows(self, x: Ranking, y_ranks: Ranks, y_ties: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coefficient of x with each row of mid-ranks, in its item order, of which so many are tied."""
        from rankcorr import kernels

        table = self.weighting.table(x, y_ranks, bool(np.count_nonzero(y_ties)))
        if self.variant is None:
            moments = np.empty((len(y_ranks), 4))
            kernels.weighted_moments(x.ranks, y_ranks, *table, moments)
            return np.array([_rho(*row) for row in moments.tolist()])
        sums = np.empty((len(y_ranks), 6))
        kernels.pair_sums(x.ranks, x._order, y_ranks, y_ties, *table, sums)
        return np.array([_tau(self.variant, *row) for row in sums.tolist()])

    def of_pair(self, x: Ranking, y: Ranking) -> float:
        """Coefficient of two aligned rankings."""
        return float(self.of_rows(x, y.ranks[np.newaxis], np.array([y.n_ties]))[0])

    def described(self, n_items: int, missing: Missing = "raise") -> dict[str, Any]:
        """Fields of `Computed` for a comparison of n_items items."""
        return {
            "n_items": n_items,
            "coefficient": self.coefficient,
            "scheme": self.weighting.scheme,
            "n0": self.weighting.n0,
            "weigher": self.weighting.name,
            "tied_weights": self.weighting.tied_weights,
            "variant": self.variant,
            "missing": None if missing == "raise" else missing,
        }


def _correlate(statistic: Statistic, x: RankingLike, y: RankingLike, missing: Missing) -> RankCorrelation:
    given = as_ranking(x), as_ranking(y)
    first, second = align(*given, missing=missing)
    value = statistic.of_pair(first, second)
    if math.isnan(value):
        warn_undefined("all items that have weight are tied in one ranking")
    return RankCorrelation(
        statistic=value,
        n_missing=None if missing == "raise" else n_missing(*given, first.n_items),
        **statistic.described(first.n_items, missing),
    )


def _rho(covariance: float, x_variance: float, y_variance: float, heaviest: float) -> float:
    check_usable(heaviest)
    return ratio(covariance, x_variance, y_variance)


def _tau(
    variant: Variant,
    concordant: float,
    discordant: float,
    untied_in_x: float,
    untied_in_y: float,
    all_pairs: float,
    heaviest: float,
) -> float:
    check_usable(heaviest)
    if variant == "a" and untied_in_x > 0 and untied_in_y > 0:
        return ratio(concordant - discordant, all_pairs, all_pairs)
    return ratio(concordant - discordant, untied_in_x, untied_in_y)


def ratio(numerator: float, x_norm: float, y_norm: float) -> float:
    """Divide as Eq. 7 does; nan when a norm is zero, and never outside [-1, 1] by rounding."""
    # The second form is for squares too small for a float; the first gives 1 exactly for a ranking with itself.
    denominator = math.sqrt(x_norm * y_norm) or math.sqrt(x_norm) * math.sqrt(y_norm)
    if denominator == 0:
        return math.nan
    return min(1.0, max(-1.0, numerator / denominator))


def _square(name: str, matrix: ArrayLike) -> NDArray[np.float64]:
    if is_masked(matrix):
        raise MissingValueError(f"{name} has masked entries; every entry must be finite")
    try:
        array = np.asarray(matrix)
    except ValueError as error:  # numpy's word for rows of different lengths
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
