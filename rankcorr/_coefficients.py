"""A coefficient with its options as one value, checked on creation: `TauW(n0=10)`, `RhoW()`, `Tau()`, `Rho()`.

A kernel turns aligned ranks and weights into the coefficient: Eq. 7 of Lombardo et al. 2020. `Pearson` reads scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, declare, shown, warn_undefined
from rankcorr._input.scores import Ranks
from rankcorr._output.results import RankCorrelation
from rankcorr._ranking import Missing, Ranking, RankingLike, align_rankings, as_ranking, n_missing, stacked
from rankcorr._weights import (
    DEFAULT_N0,
    SCHEMES,
    TIED_WEIGHTS,
    WEIGHER_NAMES,
    Scheme,
    TiedWeights,
    Uniform,
    Weigher,
    Weighting,
    check_usable,
    name_of,
)
from rankcorr._workers import loops
from rankcorr.errors import MissingValueError, NonNumericError, OptionError

CoefficientName: TypeAlias = Literal["rho_w", "tau_w", "rho", "tau"]
ScoreCoefficientName: TypeAlias = Literal["pearson"]
Variant: TypeAlias = Literal["a", "b"]

VARIANTS: Final[tuple[Variant, ...]] = get_args(Variant)
NEEDS_SCORES: Final = (
    "pearson compares scores, but only ranks are available here: use rho, or a function that takes scores "
    "(correlate, compare_systems, compare_many, correlation_interval, leaderboard)"
)
UNDEFINED: Final = "all items that have weight are tied in one ranking"


class Coefficient:
    """Base of the coefficients: a value compared and hashed by its options, and callable on two rankings.

    It can be passed wherever a function of two vectors is expected: ``DataFrame.corr(method=TauW(n0=10))``,
    ``scipy.stats.permutation_test``, ``sklearn.metrics.make_scorer``.

    See Also
    --------
    TauW, RhoW : The weighted coefficients.
    Tau, Rho : The plain coefficients.
    Pearson : The correlation of scores.
    correlate_many : One of the functions that accept a coefficient.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr import Coefficient, TauW
    >>> coefficient = TauW(n0=10)
    >>> isinstance(coefficient, Coefficient), round(coefficient([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    (True, 0.7622)
    >>> frame = pd.DataFrame({"gold": [4, 3, 2, 1], "system": [4, 3, 1, 2]})
    >>> frame.corr(method=coefficient).loc["gold", "system"].round(4).item()
    0.7622
    """

    name: ClassVar[CoefficientName | ScoreCoefficientName]
    weighting: Weighting = Weighting(Uniform(), "additive", "midrank")  # all items alike
    variant: Variant | None = None

    def __init__(self) -> None:
        raise TypeError("Coefficient is the base of RhoW, TauW, Rho, Tau and Pearson: make one of these")

    def __call__(self, x: RankingLike, y: RankingLike, *, missing: Missing = "raise") -> RankCorrelation:
        """Return the coefficient of two rankings; `weighted_tau` describes rankings and `missing`."""
        return self.correlate(x, y, missing=missing, stacklevel=4)

    def correlate(
        self, x: RankingLike, y: RankingLike, *, missing: Missing = "raise", stacklevel: int = 3
    ) -> RankCorrelation:
        """Do what a call does; `stacklevel` chooses the line that a warning points to, by default the caller's."""
        x, y = as_ranking(x), as_ranking(y)
        first, second = align_rankings(x, y, missing=missing)
        value = self.of_pair(first, second)
        if math.isnan(value):
            warn_undefined(UNDEFINED, stacklevel=stacklevel)
        return self.result(value, x, y, first.n_items, missing)

    @property
    def __name__(self) -> str:  # scikit-learn's scorers show it, as they do for a function
        return self.name

    def __repr__(self) -> str:
        options = [
            f"{field.name}={_option_text(value)}"
            for field in fields(self)  # type: ignore[arg-type]
            if field.init and (value := getattr(self, field.name)) != field.default and value is not None
        ]
        return f"{type(self).__name__}({', '.join(options)})"

    def of_pair(self, x: Ranking, y: Ranking) -> float:
        """Coefficient of two aligned rankings.

        Raises
        ------
        WeightError
            No item has weight.
        """
        value, largest_weight = self._results(x, y.ranks[np.newaxis], y.n_ties > 0)[0].tolist()
        check_usable(largest_weight)
        return float(value)

    def of_rows(
        self, x: Ranking, y_ranks: Ranks, y_ties: NDArray[np.int64], *, weightless: Literal["nan", "raise"] = "nan"
    ) -> NDArray[np.float64]:
        """Coefficient of x with each row of mid-ranks, in the item order of x; nan if undefined.

        Parameters
        ----------
        x : Ranking
        y_ranks : ndarray of float64, shape (n_rows, n_items)
            Read-only and contiguous.
        y_ties : ndarray of int64, shape (n_rows,)
            Number of tied items of each row.
        weightless : {"nan", "raise"}
            Whether a row without any weight gives nan or raises a `WeightError`.
        """
        results = self._results(x, y_ranks, bool(np.count_nonzero(y_ties)))
        if weightless == "raise":
            check_usable(float(results[:, 1].min()))
        return results[:, 0].copy()

    def of_rankings(self, x: Ranking, others: Sequence[Ranking]) -> NDArray[np.float64]:
        """Coefficient of x with each of other rankings, all aligned with it; nan if undefined.

        Raises
        ------
        WeightError
            A ranking leaves no item with weight.
        """
        return self.of_rows(x, *stacked(others), weightless="raise")

    def _results(self, x: Ranking, y_ranks: Ranks, y_tied: bool) -> NDArray[np.float64]:
        """Return the coefficient with each row of y, nan if undefined, and the largest weight, shape (n_rows, 2)."""
        tables, results = self.weighting.tables(x, y_ranks, y_tied), np.empty((len(y_ranks), 2))
        if self.variant is None:
            loops().rho_of_rows(x.ranks, y_ranks, *tables, results)
        else:
            loops().tau_of_rows(x.ranks, x.best_first, y_ranks, *tables, self.variant == "a", results)
        return results

    @property
    def swapped(self) -> Coefficient:
        """The coefficient with x and y exchanged; the same object if it treats both alike."""
        return self

    def result(self, value: float, x: Ranking, y: Ranking, n_items: int, missing: Missing) -> RankCorrelation:
        """Wrap a value as a `RankCorrelation`; x and y are the rankings before alignment."""
        if missing == "raise":
            return RankCorrelation(value, n_items=n_items, **self._options)
        number = n_missing(x, y, n_items)
        return RankCorrelation(value, n_items=n_items, **self._options, missing=missing, n_missing=number)

    def computed_fields(self, n_items: int, missing: Missing = "raise") -> dict[str, Any]:
        """Fields of `Computed` for a comparison of n_items items."""
        return {"n_items": n_items, **self._options, "missing": None if missing == "raise" else missing}

    @cached_property
    def _options(self) -> dict[str, Any]:
        """The options that all its results share."""
        weighting = self.weighting
        weights = {"scheme": weighting.scheme, "n0": weighting.n0, "weigher": weighting.name}
        return {"coefficient": self.name, **weights, "tied_weights": weighting.tied_weights, "variant": self.variant}


@dataclass(frozen=True, repr=False)
class _Weighted(Coefficient):
    """Coefficients with a choice of weight: n0, or a weigher in its place, is fixed on creation."""

    n0: float | None = declare(float, DEFAULT_N0, above=-1, about="Offset of the weight 1/(n + n0)^2 of rank n.")
    weigher: Weigher | None = declare(
        str, None, about=f"Weigher in place of that of n0: {WEIGHER_NAMES}; such as top-k:10."
    )
    scheme: Scheme = declare(
        str,
        "additive",
        choices=SCHEMES,
        about="How the weights of an item's two ranks combine; 'first' uses gold's alone.",
    )
    tied_weights: TiedWeights = declare(
        str,
        "midrank",
        choices=TIED_WEIGHTS,
        about="A tied item weighs f(mid-rank), or the mean of f over its group's positions.",
    )

    @property
    def swapped(self) -> Coefficient:
        """The coefficient with x and y exchanged; the same object if it treats both alike."""
        other: dict[str, Scheme] = {"first": "second", "second": "first"}
        return replace(self, scheme=other[self.scheme]) if self.scheme in other else self

    def __post_init__(self) -> None:
        weighting = Weighting.of(n0=self.n0, weigher=self.weigher, scheme=self.scheme, tied_weights=self.tied_weights)
        object.__setattr__(self, "weighting", weighting)
        object.__setattr__(self, "n0", weighting.n0)
        object.__setattr__(self, "weigher", None if weighting.n0 is not None else weighting.weigher)


@dataclass(frozen=True, repr=False)
class RhoW(_Weighted):
    """Top-weighted Spearman correlation, rho_w of Eq. 8 with its options, as a value; see `weighted_rho`.

    Parameters
    ----------
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1; None if there is a weigher.
    weigher : callable, optional
        Used in place of 1/(n + n0)^2; n0 must then be the default.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        How tied items are weighted; see `item_weights`.

    Raises
    ------
    RankingError
        `WeightError` or `OptionError`, for an invalid option.

    See Also
    --------
    weighted_rho : The same coefficient as a function.
    TauW : The same weights in Kendall's tau.
    Rho : Equal weights.
    offset_for_share : Choose n0 by the weight of the top ranks.

    Examples
    --------
    >>> from rankcorr import RhoW
    >>> RhoW(n0=10), RhoW() == RhoW(n0=2.0)
    (RhoW(n0=10), True)
    >>> round(RhoW(n0=10)([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    0.8341
    """

    name: ClassVar[CoefficientName] = "rho_w"


@dataclass(frozen=True, repr=False)
class TauW(_Weighted):
    """Top-weighted Kendall correlation, tau_w of Eq. 8 with its options, as a value; see `weighted_tau`.

    Parameters
    ----------
    n0 : float, default 2
        Offset of the weight 1/(n + n0)^2, greater than -1; None if there is a weigher.
    weigher : callable, optional
        Used in place of 1/(n + n0)^2; n0 must then be the default.
    scheme : {"additive", "multiplicative", "first", "second"}
        How the weights of the two ranks of an item combine; see `item_weights`.
    tied_weights : {"midrank", "expected"}
        How tied items are weighted; see `item_weights`.
    variant : {"b", "a"}
        Denominator; see `weighted_tau`.

    Raises
    ------
    RankingError
        `WeightError` or `OptionError`, for an invalid option.

    See Also
    --------
    weighted_tau : The same coefficient as a function.
    RhoW : The same weights in Spearman's rho.
    Tau : Equal weights.
    offset_for_share : Choose n0 by the weight of the top ranks.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> TauW(n0=10, scheme="first"), TauW() == TauW(n0=2.0)
    (TauW(n0=10, scheme='first'), True)
    >>> round(TauW(n0=10)([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    0.7622
    """

    name: ClassVar[CoefficientName] = "tau_w"

    variant: Variant = declare(
        str, "b", choices=VARIANTS, about="Denominator of tau_w and tau: 'b' leaves tied pairs out, 'a' keeps them."
    )

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class Rho(Coefficient):
    """Spearman's rho, as a value: all items weigh the same.

    See Also
    --------
    RhoW : With more weight at the top.
    Tau : Kendall's tau.

    Examples
    --------
    >>> from rankcorr import Rho
    >>> round(Rho()([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    0.8
    """

    name: ClassVar[CoefficientName] = "rho"


@dataclass(frozen=True, repr=False)
class Tau(Coefficient):
    """Kendall's tau, as a value: all items weigh the same.

    Parameters
    ----------
    variant : {"b", "a"}
        Denominator; see `weighted_tau`.

    Raises
    ------
    OptionError
        The variant is unknown.

    See Also
    --------
    TauW : With more weight at the top.
    Rho : Spearman's rho.

    Examples
    --------
    >>> from rankcorr import Tau
    >>> round(Tau()([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    0.6667
    """

    name: ClassVar[CoefficientName] = "tau"

    variant: Variant = "b"

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)


@dataclass(frozen=True, repr=False)
class Pearson(Coefficient):
    """Pearson's correlation of scores, as a value: an official score of SemEval-2014 task 3, beside Spearman's.

    It compares scores instead of ranks, so it depends on the scale of the scores and on outliers, and refuses rankings
    that were made from ranks or an order. `correlate`, `compare_systems`, `compare_many`, `correlation_interval` and
    `leaderboard` accept it; functions that know ranks alone do not.

    See Also
    --------
    Rho : The same of ranks: Spearman's rho.
    leaderboard : Systems by the sum of their coefficients over gold sets.

    References
    ----------
    D. Jurgens, M. T. Pilehvar and R. Navigli, SemEval-2014 Task 3: Cross-Level Semantic Similarity, section 4.

    Examples
    --------
    >>> from rankcorr import Pearson, Ranking
    >>> round(Pearson()([4, 3, 2, 0], [8, 6, 5, 1]), 4)
    0.9945
    >>> Pearson()([4, 3, 2, 0], Ranking.from_ranks([1, 2, 3, 4]))
    Traceback (most recent call last):
        ...
    rankcorr.errors.OptionError: pearson compares scores: y was made from ranks or lacks items; give all scores
    """

    name: ClassVar[ScoreCoefficientName] = "pearson"

    def of_pair(self, x: Ranking, y: Ranking) -> float:
        """Coefficient of two aligned rankings; nan if all scores of one are equal."""
        return float(unit_scores(x, "x") @ unit_scores(y, "y"))

    def of_rankings(self, x: Ranking, others: Sequence[Ranking]) -> NDArray[np.float64]:
        """Coefficient of x with each of other rankings, all aligned with it; nan if undefined."""
        gold = unit_scores(x, "gold")
        return np.array([gold @ unit_scores(other, "a system") for other in others])

    def of_rows(self, *_arguments: Any, **_options: Any) -> NDArray[np.float64]:
        """Refuse rows of ranks."""
        raise OptionError(NEEDS_SCORES)


def scores_of(ranking: Ranking, name: str) -> NDArray[np.float64]:
    """Scores that a ranking was made from, as floats.

    Raises
    ------
    OptionError
        It was made from ranks or an order, or has items without a score.
    MissingValueError
        A score is infinite.
    NonNumericError
        An integer is too large for a float.
    """
    if ranking.scores is None:
        raise OptionError(f"pearson compares scores: {name} was made from ranks or lacks items; give all scores")
    try:
        scores = np.asarray(ranking.scores, np.float64)
    except OverflowError:
        raise NonNumericError(f"pearson computes with floats, and a score of {name} is too large for one") from None
    if not np.isfinite(scores).all():
        raise MissingValueError(f"pearson needs finite scores; {name} has {scores[~np.isfinite(scores)][0]}")
    return scores


def unit_scores(ranking: Ranking, name: str) -> NDArray[np.float64]:
    """Scores less their mean, with a sum of squares of 1; nan if all are equal.

    Examples
    --------
    >>> unit_scores(Ranking.from_scores([1, 3]), "x").round(3)
    array([-0.707,  0.707])
    """
    return unit_rows(scores_of(ranking, name))


def unit_rows(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Do what `unit_scores` does along the last axis of an array of scores."""
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    scaled = scores / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor vanish
    centred = scaled - scaled.mean(axis=-1, keepdims=True)
    constant = (scores == scores[..., :1]).all(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(constant, np.nan, centred / np.linalg.norm(centred, axis=-1, keepdims=True)))


CoefficientLike: TypeAlias = Coefficient | CoefficientName
ScoreCoefficientLike: TypeAlias = CoefficientLike | ScoreCoefficientName
Key = TypeVar("Key", bound=ScoreCoefficientLike)
BY_NAME: Final[dict[str, Coefficient]] = {kind.name: kind() for kind in (RhoW, TauW, Rho, Tau)}
_BY_ANY_NAME: Final[dict[str, Coefficient]] = {**BY_NAME, Pearson.name: Pearson()}
COEFFICIENTS: Final[tuple[CoefficientName, ...]] = get_args(CoefficientName)


def coefficient_of(
    kind: Callable[..., Coefficient], n0: float | None, weigher: Weigher | None, *options: str
) -> Coefficient:
    """Return a weighted coefficient with these options: the same object each time they recur."""
    if weigher is None:
        try:
            return _cached_coefficient(kind, n0, *options)
        except TypeError:  # an option that cannot be hashed: the class refuses it
            pass
    return kind(n0, weigher, *options)


# Most calls repeat their options: a value is made and checked once. `typed`, because True is not an n0 although it
# equals 1. Weighers are left out: two custom ones that are equal need not give equal weights.
@lru_cache(maxsize=128, typed=True)
def _cached_coefficient(kind: Callable[..., Coefficient], n0: float | None, *options: str) -> Coefficient:
    return kind(n0, None, *options)


def as_coefficient(coefficient: ScoreCoefficientLike, *, of_scores: bool = False) -> Coefficient:
    """Return a coefficient unchanged, and for a name the coefficient with its default options.

    Raises
    ------
    OptionError
        The value is neither a `Coefficient` nor one of the names, or it is "pearson" without `of_scores`.

    Examples
    --------
    >>> as_coefficient("tau_w")
    TauW()
    """
    known = _BY_ANY_NAME.get(coefficient) if isinstance(coefficient, str) else coefficient
    if isinstance(known, Pearson) and not of_scores:
        raise OptionError(NEEDS_SCORES)
    if not isinstance(known, Coefficient):
        names = ", ".join(map(repr, (*COEFFICIENTS, Pearson.name) if of_scores else COEFFICIENTS))
        raise OptionError(
            f"coefficient must be one of {names}, or a value such as TauW(n0=10); got {shown(coefficient)}"
        )
    return known


def different_coefficients(coefficients: Iterable[Key], *, of_scores: bool = False) -> dict[Key, Coefficient]:
    """Return the coefficients by the name or value that asked for each; refuse an empty list, and repeats."""
    keys = [] if isinstance(coefficients, str) or not isinstance(coefficients, Iterable) else list(coefficients)
    values = {key: as_coefficient(key, of_scores=of_scores) for key in keys}
    if not values or len(set(values.values())) < len(keys):
        raise OptionError(f"coefficients must be a list of different coefficients; got {shown(coefficients)}")
    return values


def named_coefficient(name: str, **options: Any) -> Coefficient:
    """Return the coefficient of a name with the applicable options, for commands and requests.

    The plain rho and tau have no weights, and so ignore n0, weigher, scheme and tied_weights.

    Raises
    ------
    OptionError, WeightError
        An unknown name, or an invalid option.

    Examples
    --------
    >>> named_coefficient("tau_w", n0=10, variant="a"), named_coefficient("rho", n0=10, variant="a")
    (TauW(n0=10, variant='a'), Rho())
    """
    kind = type(as_coefficient(name, of_scores=True))  # type: ignore[arg-type]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{option: value for option, value in options.items() if option in known})


def _option_text(option: Any) -> str:
    """Text of an option: a whole number without its decimal point, a function by its name."""
    if isinstance(option, float) and option.is_integer() and abs(option) < 1e15:
        return str(int(option))
    return name_of(option) if callable(option) else repr(option)
