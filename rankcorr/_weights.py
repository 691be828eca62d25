"""Rank vectors become item weights: weighers, schemes and the weights of ties (Eq. 9 of Lombardo et al. 2020)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_count, real_number, shown
from rankcorr._input.scores import Ranks, kernel_array
from rankcorr._ranking import Missing, Ranking, RankingLike, align
from rankcorr._workers import loops
from rankcorr.errors import OptionError, WeightError

Weigher: TypeAlias = Callable[[NDArray[np.float64]], Any]
Scheme: TypeAlias = Literal["additive", "multiplicative", "first", "second"]
TiedWeights: TypeAlias = Literal["midrank", "expected"]

DEFAULT_N0: Final = 2.0
SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)
TIED_WEIGHTS: Final[tuple[TiedWeights, ...]] = get_args(TiedWeights)


def check_offset(n0: float | None) -> float:
    """Return n0 as a float, or raise WeightError."""
    offset = real_number(n0)
    if not -1 < offset < math.inf:
        raise WeightError(f"n0 must be a finite number greater than -1; got {shown(n0)}")
    return offset + 0.0  # -0.0 becomes 0.0, so that equal offsets also look alike


@dataclass(frozen=True)
class InverseSquare:
    """The paper's f(n; n0) = 1/(n + n0)^2 with n0 > -1. A larger n0 spreads the weight over more ranks.

    See Also
    --------
    Hyperbolic, Logarithmic, TopK, Uniform : Other weights.
    offset_for_share : Choose n0 by the weight of the top ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import InverseSquare
    >>> InverseSquare(n0=0)(np.array([1.0, 2.0]))
    array([1.  , 0.25])
    """

    n0: float = DEFAULT_N0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n0", check_offset(self.n0))

    def __call__(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.asarray(ranks + self.n0)
        np.divide(1.0, weights, out=weights)  # in place: at a million ranks, fresh memory costs more than the sums
        weights *= weights
        return weights


@dataclass(frozen=True)
class Hyperbolic:
    """f(n) = 1/n, the weight of scipy.stats.weightedtau; its sum diverges, so the top of long lists weighs little.

    See Also
    --------
    InverseSquare : The default, whose sum converges.
    rankcorr.measures.vigna_tau : The coefficient that `scipy.stats.weightedtau` computes.

    Examples
    --------
    >>> from rankcorr import Hyperbolic, item_weights, weighted_tau
    >>> item_weights([3, 2, 1], [3, 2, 1], weigher=Hyperbolic()).round(4)
    array([0.5455, 0.2727, 0.1818])
    >>> round(weighted_tau([4, 3, 2, 1], [4, 3, 1, 2], weigher=Hyperbolic()), 4)
    0.8835
    """

    def __call__(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / ranks


@dataclass(frozen=True)
class Logarithmic:
    """f(n) = 1/log2(n + 1), the discount of DCG.

    See Also
    --------
    InverseSquare : The default.
    Hyperbolic : Weights that fall faster.

    Examples
    --------
    >>> from rankcorr import Logarithmic, item_weights, weighted_tau
    >>> item_weights([3, 2, 1], [3, 2, 1], weigher=Logarithmic()).round(4)
    array([0.4693, 0.2961, 0.2346])
    >>> round(weighted_tau([4, 3, 2, 1], [4, 3, 1, 2], weigher=Logarithmic()), 4)
    0.8169
    """

    def __call__(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1.0 / np.log2(ranks + 1.0))


@dataclass(frozen=True)
class TopK:
    """f(n) = 1 for n <= k, else 0.

    A tie across the cut counts by its mid-rank; with ``tied_weights="expected"`` it counts in part.

    See Also
    --------
    InverseSquare : The default, which falls without a cut.
    item_weights : How the weights of tied items combine.

    Examples
    --------
    >>> from rankcorr import TopK, item_weights
    >>> item_weights([4, 3, 2, 1], [4, 3, 1, 2], weigher=TopK(2))
    array([0.5, 0.5, 0. , 0. ])
    >>> item_weights([4, 3, 3, 1], [4, 3, 3, 2], weigher=TopK(2), tied_weights="expected")
    array([0.5 , 0.25, 0.25, 0.  ])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count(self.k, "k", WeightError))

    def __call__(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        return (ranks <= self.k).astype(np.float64)


@dataclass(frozen=True)
class Uniform:
    """f(n) = 1: the plain coefficients, Spearman's rho and Kendall's tau.

    See Also
    --------
    Tau, Rho : The same coefficients by their names.
    InverseSquare : The default, with more weight at the top.

    Examples
    --------
    >>> from rankcorr import Tau, Uniform, weighted_tau
    >>> x, y = [4, 3, 2, 1], [4, 3, 1, 2]
    >>> round(weighted_tau(x, y, weigher=Uniform()), 4), round(Tau()(x, y), 4)
    (0.6667, 0.6667)
    """

    def __call__(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones_like(ranks)


# Weighers by the names that commands and requests know: a weigher is a class and an entry here. A field of the class,
# which must be a number, follows the name: top-k:K.
WEIGHERS: Final[dict[str, type[Any]]] = {
    "hyperbolic": Hyperbolic,
    "logarithmic": Logarithmic,
    "top-k": TopK,
    "uniform": Uniform,
}
_NUMBERS: Final = {"int": "[1-9][0-9]{0,17}", "float": r"[0-9]{1,9}(\.[0-9]{1,9})?"}
WEIGHER_NAMES: Final = ", ".join(
    ":".join([name, *(field.name.upper() for field in fields(kind))]) for name, kind in WEIGHERS.items()
)
WEIGHER_PATTERN: Final = "|".join(
    ":".join([name, *(_NUMBERS[str(field.type)] for field in fields(kind))]) for name, kind in WEIGHERS.items()
)


def item_weights(
    x: RankingLike,
    y: RankingLike,
    *,
    n0: float | None = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    missing: Missing = "raise",
) -> NDArray[np.float64]:
    """Importance of each item in a correlation of two rankings (Eq. 9 and its variants).

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    n0 : float, default 2
        Offset of f(n) = 1/(n + n0)^2, greater than -1. Only the default can be combined with `weigher`.
    weigher : callable, optional
        Used instead of f. It takes an array of ranks and returns their weights. The array lists the ranks that may
        occur, not one rank for each item.
    scheme : {"additive", "multiplicative", "first", "second"}
        With a and b the two rank vectors: f(a) + f(b), f(a) f(b), f(a), or f(b).
    tied_weights : {"midrank", "expected"}
        The weight of a tied item: f at its mid-rank, or the mean of f over the positions of its group.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has; see `align`.

    Returns
    -------
    ndarray of float64, shape (n_items,)
        Weights that sum to 1, in the item order of x; with `missing`, in that of the rankings returned by `align`.

    Raises
    ------
    RankingError
        `WeightError` for an unusable n0 or weigher, `OptionError` for an unknown scheme, and the errors of
        `Ranking.from_scores` and of alignment.

    See Also
    --------
    weighted_tau, weighted_rho : The coefficients that use these weights.
    top_share : The share of the weight at the top.
    contributions : The part of each item in a coefficient.

    Examples
    --------
    >>> from rankcorr import item_weights
    >>> item_weights([3, 2, 1], [3, 2, 1], n0=0).round(4)
    array([0.7347, 0.1837, 0.0816])
    """
    weighting = Weighting.of(n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights)
    first, second = align(x, y, missing=missing)
    weights = weighting.item_weights(first, second)
    check_usable(float(weights.max()))
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class Weighting:
    """The options of a weighted coefficient, checked."""

    weigher: Weigher
    scheme: Scheme
    tied_weights: TiedWeights

    @classmethod
    def of(cls, *, n0: float | None, weigher: Weigher | None, scheme: Scheme, tied_weights: TiedWeights) -> Weighting:
        """Check the options that all weighted functions share; with a weigher, n0 is its default or None."""
        if weigher is not None and n0 is not None and real_number(n0) != DEFAULT_N0:
            raise OptionError("give n0 or weigher, not both: n0 is the offset of the weight 1/(n + n0)^2")
        if isinstance(weigher, type):
            raise WeightError(
                f"a weigher is a callable from ranks to weights; got the class: write {weigher.__name__}(...)"
            )
        if weigher is not None and not callable(weigher):
            raise WeightError(f"a weigher is a callable from ranks to weights; got {shown(weigher)}")
        check_choice("scheme", scheme, SCHEMES)
        check_choice("tied_weights", tied_weights, TIED_WEIGHTS)
        return cls(InverseSquare(check_offset(n0)) if weigher is None else weigher, scheme, tied_weights)

    @property
    def n0(self) -> float | None:
        """Offset of the paper's weight; None for another weigher."""
        return self.weigher.n0 if type(self.weigher) is InverseSquare else None

    @property
    def name(self) -> str:
        """Name of the weigher, with its parameters."""
        return name_of(self.weigher)

    def tables(self, x: Ranking, y_ranks: Ranks, y_tied: bool) -> tuple[NDArray[np.float64], int]:
        """Input of the kernels: the `rank_table`, or a row of mean weights for x and each row of y, and the scheme."""
        expected = self.tied_weights == "expected"
        halves = not expected and (
            (x.n_ties > 0 and loops().has_halves(x.ranks)) or (y_tied and loops().has_halves(y_ranks.reshape(-1)))
        )
        if x.n_items <= MAX_CACHED_ITEMS and type(self.weigher) in READY_WEIGHERS:
            tables = cached_tables(self.weigher, x.n_items, halves)
        else:
            tables = rank_table(self.weigher, x.n_items, halves)[np.newaxis]
        if expected:
            means = np.empty((1 + len(y_ranks), x.n_items))
            loops().mean_weights(x.ranks, y_ranks, tables, means)
            tables = kernel_array(means)
        return tables, SCHEMES.index(self.scheme)

    def item_weights(self, x: Ranking, y: Ranking) -> NDArray[np.float64]:
        """Weight of each item of two aligned rankings, not normalised."""
        weights = np.empty(x.n_items)
        tables = self.tables(x, y.ranks[np.newaxis], y.n_ties > 0)
        loops().item_weights(x.ranks, y.ranks, *tables, weights)
        return weights


def rank_table(weigher: Weigher, n_items: int, halves: bool) -> NDArray[np.float64]:
    """Weights of the ranks 1, 2, .. n, or of 1, 1.5, 2, .. n if some mid-rank is a half; checked, and read-only.

    They are divided by the largest, so that equal weights are exactly 1, and their sums exact.
    """
    ranks = np.arange(1.0, n_items + 0.25, 0.5 if halves else 1.0)
    name = name_of(weigher)
    if type(weigher) is InverseSquare:
        weights = ((1 + weigher.n0) / (ranks + weigher.n0)) ** 2  # f(n)/f(1), which no n0 makes too small for a float
    else:
        try:
            weights = np.asarray(weigher(ranks))
        except (TypeError, ValueError) as error:
            raise WeightError(f"{name} failed on an array of ranks: {error}") from error
    if weights.shape != ranks.shape:
        raise WeightError(f"{name} must return one weight for each rank, shape {ranks.shape}; got {weights.shape}")
    if weights.dtype.kind not in "biuf":
        raise WeightError(f"{name} must return real numbers; got an array of {weights.dtype}")
    weights = weights.astype(np.float64, copy=False)
    heaviest = float(weights.max())
    if not (weights.min() >= 0 and heaviest < math.inf):  # also false for nan
        wrong = int(np.flatnonzero(~((weights >= 0) & (weights < math.inf)))[0])
        raise WeightError(
            f"{name} must return weights that are finite and not negative; "
            f"got {weights[wrong]} for rank {ranks[wrong]:g}"
        )
    # Computed from the whole ranks only: half ranks of another list must not change a digit of this one's result.
    heaviest = float(weights[:: 2 if halves else 1].max()) or heaviest
    check_usable(heaviest)
    table = np.asarray(weights / heaviest)
    table.flags.writeable = False
    return table


# Most programs compare many lists of one length. At most 32 tables of 160 kB are kept, and only for the library's
# weighers, which are values and always give the same weights.
MAX_CACHED_ITEMS: Final = 10_000
READY_WEIGHERS: Final = (InverseSquare, *WEIGHERS.values())


@lru_cache(maxsize=32)
def cached_tables(weigher: Weigher, n_items: int, halves: bool) -> NDArray[np.float64]:
    """Return a `rank_table` as the only row of a matrix."""
    return rank_table(weigher, n_items, halves)[np.newaxis]


def name_of(weigher: Weigher) -> str:
    """Name of a weigher, with its parameters."""
    return getattr(weigher, "__name__", None) or repr(weigher)


def named_weigher(name: str) -> Weigher:
    """Return the ready-made weigher of a name, for commands and requests.

    Raises
    ------
    WeightError
        For a name that is not a key of `WEIGHERS`, followed by the numbers that the weigher takes.

    Examples
    --------
    >>> named_weigher("top-k:10")
    TopK(k=10)
    """
    if re.fullmatch(WEIGHER_PATTERN, name) is None:
        raise WeightError(f"unknown weigher {shown(name)}: use one of {WEIGHER_NAMES}, such as top-k:10")
    kind, *numbers = name.split(":")
    weigher: Weigher = WEIGHERS[kind](*(int(number) if number.isdecimal() else float(number) for number in numbers))
    return weigher


def check_usable(heaviest: float) -> None:
    """Refuse weights if the largest is zero."""
    if heaviest == 0:
        raise WeightError("all weights are zero: no item would count")
