"""Agreement of annotators: Krippendorff's alpha, and the mean correlation of each annotator with the others.

ratings of many annotators -> one checked matrix, nan where a rating is missing -> alpha, and the agreement of pairs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from numbers import Real
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import (
    check_choice,
    check_unique,
    checked_count,
    checked_level,
    offending,
    real_number,
    shown,
    warn_undefined,
)
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._input.frames import by_name
from rankcorr._input.numbers import as_floats, exact_array, numbers_beyond_floats
from rankcorr._input.scores import ScoresLike, is_masked, split_labels
from rankcorr._ranking import Ranking
from rankcorr._results import JsonResult, TableResult, described_by, mean_of, read_only
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LengthError,
    NonNumericError,
    OptionError,
    RankingError,
    UndefinedCorrelationWarning,
)

RatingsLike: TypeAlias = Mapping[Any, ScoresLike] | ArrayLike


class AnnotatorError(RankingError):
    """Too few annotators, or annotators with too few items in common, to measure how they agree.

    See Also
    --------
    krippendorff_alpha, mean_pairwise_agreement : Raise it.

    Examples
    --------
    >>> from rankcorr.measures import mean_pairwise_agreement
    >>> mean_pairwise_agreement({"ann": [1, 2, 3, 4]})
    Traceback (most recent call last):
        ...
    rankcorr.measures._annotators.AnnotatorError: agreement needs at least two annotators; got 1
    """


@dataclass(frozen=True, eq=False, slots=True)
class Ratings:
    """Ratings, shape (n_annotators, n_items), nan where one is missing; names of annotators, and labels of items."""

    values: NDArray[np.float64]
    names: tuple[Any, ...] | None
    items: tuple[Hashable, ...] | None = None

    def name(self, row: int) -> Any:
        """Name of an annotator, or its index where the annotators have no names."""
        return self.names[row] if self.names is not None else row


def read_ratings(ratings: RatingsLike) -> Ratings:
    """Check ratings: a matrix, or a mapping or frame of annotator to ratings, by item or in one order."""
    named = by_name(ratings)
    if named is not None:
        names = tuple(named.keys())
        check_unique(names, "names of annotators", DuplicateLabelError)
        rows = [split_labels(named[name], f"rating of {shown(name)}") for name in names]
        parsed_ratings = Ratings(*_of_annotators(names, rows))
    else:
        parsed_ratings = Ratings(_matrix(cast(ArrayLike, ratings)), None)
    if len(parsed_ratings.values) < 2:
        raise AnnotatorError(f"agreement needs at least two annotators; got {len(parsed_ratings.values)}")
    infinite = np.argwhere(np.isinf(parsed_ratings.values))
    if infinite.size:
        infinite_ratings = [(parsed_ratings.name(row), column) for row, column in infinite.tolist()]
        raise NonNumericError(offending("every rating must be finite; infinite at (annotator, item)", infinite_ratings))
    read_only(parsed_ratings.values)
    return parsed_ratings


def _matrix(ratings: ArrayLike) -> NDArray[np.float64]:
    array = _unmask(ratings)
    if array.ndim != 2:
        raise DimensionError(f"ratings must have a row for each annotator; got an array of shape {array.shape}")
    return _floats("every rating", array)


def _of_annotators(
    names: tuple[Any, ...], rows: list[tuple[list[Hashable] | None, ArrayLike]]
) -> tuple[NDArray[np.float64], tuple[Any, ...], tuple[Hashable, ...] | None]:
    """Ratings of named annotators, with a column for each item that any of them rated; the names; labels of items."""
    labelled = [labels is not None for labels, _ in rows]
    if not rows:
        return np.empty((0, 0)), names, None
    if any(labelled) != all(labelled):
        with_labels, unlabelled = names[labelled.index(True)], names[labelled.index(False)]
        raise LabelError(
            f"the ratings of {shown(with_labels)} have labels and those of {shown(unlabelled)} have none, "
            "so their items cannot be matched"
        )
    vectors = [_vector(name, values) for name, (_, values) in zip(names, rows, strict=True)]
    if not all(labelled):
        lengths = {vector.size for vector in vectors}
        if len(lengths) > 1:
            raise LengthError(
                f"ratings without labels must have the same length, with nan for a missing one; got lengths "
                f"{', '.join(map(str, sorted(lengths)))}"
            )
        return np.array(vectors), names, None
    place: dict[Hashable, int] = {}
    for name, (labels, _) in zip(names, rows, strict=True):
        if len(set(labels or ())) < len(labels or ()):
            raise DuplicateLabelError(f"the ratings of {shown(name)} name an item more than once")
        for label in labels or ():
            place.setdefault(label, len(place))
    matrix = np.full((len(rows), len(place)), np.nan)
    for row, ((labels, _), vector) in enumerate(zip(rows, vectors, strict=True)):
        matrix[row, [place[label] for label in labels or ()]] = vector
    return matrix, names, tuple(place)


def _vector(name: Any, values: ArrayLike) -> NDArray[np.float64]:
    array = _unmask(values)
    if array.ndim != 1:
        raise DimensionError(f"the ratings of {shown(name)} must have one dimension; got shape {array.shape}")
    return _floats(f"every rating of {shown(name)}", array)


def _unmask(values: ArrayLike) -> NDArray[Any]:
    """Return an array with nan for masked values, and with integers unchanged."""
    if is_masked(values):
        array = np.array(values.data, dtype=object)
        array[np.ma.getmaskarray(values)] = np.nan
        return array
    if isinstance(values, list | tuple):
        values = [_unmask(row) if is_masked(row) else row for row in values]  # numpy would drop the masks of rows
    try:
        return exact_array(values)
    except ValueError as error:  # how numpy reports rows of different lengths
        raise DimensionError("ratings must form an array; their rows differ in length") from error


def _floats(subject: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Check that these are numbers, and that no two integers become the same float."""
    if array.dtype.kind not in "biuf":
        wrong = [value for value in array.ravel().tolist() if not isinstance(value, Real | Decimal)]
        if wrong:
            raise NonNumericError(offending(f"{subject} must be a number, or nan; got", wrong))
    if large := numbers_beyond_floats(array):
        raise NonNumericError(offending(f"{subject} that is not a float must be at most 2^53 in size; got", large))
    return as_floats(array)


Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
MOST_BLOCKS: Final = 200  # that the jackknife leaves out in turn


def krippendorff_alpha(ratings: RatingsLike, *, level: Level = "nominal") -> float:
    """Krippendorff's alpha, the agreement of annotators beyond chance; ratings may be missing.

    alpha = 1 - D_o/D_e, where D_o is the mean difference d(c, k) of two ratings of one item, and D_e that of any two
    ratings. Items with fewer than two ratings do not count. With n_g the number of ratings equal to g,

    ==========  =================================================
    level       d(c, k)
    ==========  =================================================
    "nominal"   1 if c and k differ, else 0
    "ordinal"   (sum_{g=c..k} n_g - (n_c + n_k)/2)^2
    "interval"  (c - k)^2
    "ratio"     ((c - k)/(c + k))^2, and 0 if c and k are both 0
    ==========  =================================================

    If all ratings that count are equal, alpha is undefined: nan with an `UndefinedCorrelationWarning`. A matrix of m
    ratings, missing ones included, takes O(m log m) time and O(m) memory; level "ratio" also takes O(v^2) time, where v
    is the number of different ratings.

    Parameters
    ----------
    ratings : array_like of shape (n_annotators, n_items), or mapping of annotator to ratings
        Numbers, also for the categories of level "nominal". A missing rating is nan, or masked. The values of a mapping
        (dict, or the columns of a data frame) are arrays of one length, or mappings of item to rating that may omit
        missing items.
    level : {"nominal", "ordinal", "interval", "ratio"}
        How two ratings are compared: whether they are equal, which is larger, by how much, or by what factor.

    Returns
    -------
    float
        1 for perfect agreement, 0 for agreement no better than chance.

    Raises
    ------
    RankingError
        One of its subclasses: `AnnotatorError` for one annotator or no item with two ratings, `NonNumericError` for
        infinite ratings, for integers beyond 2^53, which floats cannot represent exactly, and for negative ratings at
        level "ratio".

    See Also
    --------
    mean_pairwise_agreement : Correlations between annotators.

    References
    ----------
    K. Krippendorff, Content Analysis: An Introduction to Its Methodology, 2nd ed., Sage 2004, chapter 11.
    K. Krippendorff, Computing Krippendorff's Alpha-Reliability, University of Pennsylvania, 2011.

    Examples
    --------
    >>> from rankcorr.measures import krippendorff_alpha
    >>> nan = float("nan")
    >>> round(krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, nan], [nan, 3, 3, 3]], level="ordinal"), 4)
    0.775
    """
    check_choice("level", level, LEVELS)
    items = np.sort(read_ratings(ratings).values.T, axis=1)
    rated = ~np.isnan(items)
    n_rated = np.count_nonzero(rated, axis=1)
    rated[n_rated < 2] = False
    values, sizes = items[rated], n_rated[n_rated >= 2]  # item after item, the ratings of each in ascending order
    if values.size == 0:
        raise AnnotatorError("alpha needs an item with at least two ratings; every item has fewer")
    if level == "ratio" and (values < 0).any():
        raise NonNumericError(
            offending("ratings at level 'ratio' must not be negative; got", values[values < 0].tolist())
        )
    if (values == values[0]).all():
        warn_undefined("all ratings of items with two ratings are equal", statistic="alpha", stacklevel=3)
        return math.nan

    if level == "ordinal":
        values = _doubled_midranks(values)
    elif level == "interval":
        # By a power of two, which is exact, so that no difference and no square overflows or vanishes.
        values = np.ldexp(values, -1 - np.frexp(np.abs(values).max())[1])
    pair_sums = PAIR_SUMS[level]
    observed = math.fsum((pair_sums(values, sizes) / (sizes - 1)).tolist())
    expected = float(pair_sums(np.sort(values), np.array([values.size]))[0])
    return 1 - (values.size - 1) * observed / expected


@dataclass(frozen=True, eq=False)
class AlphaInterval(JsonResult):
    """Krippendorff's alpha with an interval.

    Attributes
    ----------
    alpha, low, high : float
    n_items : int
        Number of items with at least two ratings.
    level : str
        Level of measurement.
    confidence : float

    See Also
    --------
    alpha_interval : Returns it.

    Examples
    --------
    >>> from rankcorr.measures import alpha_interval
    >>> ratings = [[1, 2, 3, 3, 4], [1, 2, 3, 4, 4], [1, 3, 3, 3, 4]]
    >>> alpha_interval(ratings, level="interval").n_items
    5
    """

    alpha: float
    low: float
    high: float
    n_items: int
    level: str
    confidence: float


def alpha_interval(ratings: RatingsLike, *, level: Level = "nominal", confidence: float = 0.95) -> AlphaInterval:
    """Krippendorff's alpha with an interval, for items like those rated, and the same annotators.

    The jackknife over items on the scale log(1 - alpha), with Student's t. Its 95 % cover .91 to .96 for 20 to 200
    items with normal, skewed and heavy-tailed values (500 data sets each), where percentiles of resampled items cover
    .89 to .95. More than 200 items are left out in 200 blocks.

    Parameters
    ----------
    ratings, level
        As in `krippendorff_alpha`.
    confidence : float, default 0.95

    Returns
    -------
    AlphaInterval
        `low` and `high` are nan with fewer than three items with two ratings, or if alpha is undefined; with perfect
        agreement they are 1.

    Raises
    ------
    RankingError
        As in `krippendorff_alpha`.

    See Also
    --------
    krippendorff_alpha : The formula.

    References
    ----------
    B. Efron and C. Stein, The Jackknife Estimate of Variance, Annals of Statistics 9, 1981.

    Examples
    --------
    >>> from rankcorr.measures import alpha_interval
    >>> ratings = [[1, 2, 3, 3, 4, 0, 1, 2], [1, 2, 3, 4, 4, 0, 0, 2], [1, 3, 3, 3, 4, 1, 1, 2]]
    >>> interval = alpha_interval(ratings, level="interval")
    >>> round(interval.alpha, 3), round(interval.low, 3), round(interval.high, 3)
    (0.904, 0.708, 0.968)
    """
    checked_level(confidence, "confidence")
    values = read_ratings(ratings).values
    alpha = krippendorff_alpha(values, level=level)
    items = values[:, np.count_nonzero(~np.isnan(values), axis=0) >= 2]
    n_items = items.shape[1]
    low = high = math.nan
    if alpha == 1:
        low = high = 1.0
    elif n_items >= 3 and not math.isnan(alpha):
        from scipy.stats import t

        n_blocks = min(n_items, MOST_BLOCKS)
        block_of = np.arange(n_items) % n_blocks
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedCorrelationWarning)
            rest = [krippendorff_alpha(items[:, block_of != block], level=level) for block in range(n_blocks)]
        logs = np.log(np.maximum(1 - np.array(rest), np.finfo(np.float64).tiny))
        if not np.isnan(logs).any():
            error = math.sqrt((n_blocks - 1) / n_blocks * float(((logs - logs.mean()) ** 2).sum()))
            reach = float(t.ppf((1 + confidence) / 2, n_blocks - 1)) * error
            low, high = 1 - (1 - alpha) * math.exp(reach), 1 - (1 - alpha) * math.exp(-reach)
    return AlphaInterval(alpha, low, high, n_items, level, float(confidence))


def _doubled_midranks(values: Floats) -> Floats:
    """Twice the mid-rank of each value, less a constant.

    The sum in d(c, k) counts the ratings from the middle of the group of c to that of k, which is the difference of
    their mid-ranks: ordinal alpha is interval alpha of mid-ranks.
    """
    distinct, counts, _ = _distinct(np.sort(values), np.array([values.size]))
    doubled = 2 * np.cumsum(counts) - counts
    return doubled[np.searchsorted(distinct, values)].astype(np.float64)


# The functions below sum d(c, k) over the ordered pairs of values in each group. `values` holds group after group, each
# in ascending order and of at least two values.


def _unequal(values: Floats, sizes: Integers) -> Floats:
    """d(c, k) = 1 if c and k differ: all pairs of values, less those of equal ones."""
    _, counts, n_distinct = _distinct(values, sizes)
    equal: Integers = np.add.reduceat(counts**2, _starts(n_distinct))
    return (sizes**2 - equal).astype(np.float64)


def _squares(values: Floats, sizes: Integers) -> Floats:
    """d(c, k) = (c - k)^2: twice the size of the group, times the sum of squared distances from its mean."""
    starts = _starts(sizes)
    # From the smallest value first: ratings that are close together and far from zero keep their digits, and equal ones
    # give exactly 0.
    distances = values - np.repeat(values[starts], sizes)
    distances -= np.repeat(np.add.reduceat(distances, starts) / sizes, sizes)
    squares: Floats = np.add.reduceat(distances**2, starts)
    return 2 * squares * sizes


def _squared_ratios(values: Floats, sizes: Integers) -> Floats:
    """d(c, k) = ((c - k)/(c + k))^2: each pair of different values in turn, in memory for one sum a value."""
    from rankcorr import _rank_kernels as kernels

    distinct, counts, n_distinct = _distinct(values, sizes)
    with_larger = np.zeros(distinct.size)
    kernels.grouped_squared_ratios(distinct, counts.astype(np.float64), n_distinct, with_larger)
    sums: Floats = 2 * np.add.reduceat(counts * with_larger, _starts(n_distinct))
    return sums


def _distinct(values: Floats, sizes: Integers) -> tuple[Floats, Integers, Integers]:
    """Find the different values of each group, how often each occurs there, and how many there are in each group."""
    starts = _starts(sizes)
    first = np.append(True, values[1:] != values[:-1])
    first[starts] = True
    places = np.flatnonzero(first)
    return values[places], np.diff(places, append=values.size), np.add.reduceat(first, starts, dtype=np.int64)


def _starts(sizes: Integers) -> Integers:
    """Where each group begins."""
    starts: Integers = np.cumsum(sizes) - sizes
    return starts


PAIR_SUMS: Final = {"nominal": _unequal, "ordinal": _squares, "interval": _squares, "ratio": _squared_ratios}


FewCommon: TypeAlias = Literal["raise", "leave_out"]

FEW_COMMON: Final[tuple[FewCommon, ...]] = get_args(FewCommon)


@dataclass(frozen=True, eq=False)
class PairwiseAgreement(TableResult):
    """Correlations of annotators with each other.

    Attributes
    ----------
    annotators : tuple
        Names of the annotators, or their indices.
    with_others : ndarray of float64, shape (n_annotators,), read-only
        Mean correlation of each annotator with the others; nan if none is defined.
    mean : float
        Mean correlation of all pairs of annotators.
    pairs : ndarray of float64, shape (n_annotators, n_annotators), read-only
        Correlation of each pair; nan on the diagonal, and if undefined or left out.
    n_common : ndarray of int64, shape (n_annotators, n_annotators), read-only
        Number of items that both have rated.
    n_left_out : int
        Number of pairs with too few items in common.
    coefficient : str
        The coefficient of each pair, with its options.

    See Also
    --------
    mean_pairwise_agreement : Returns it.

    Examples
    --------
    >>> from rankcorr.measures import mean_pairwise_agreement
    >>> ratings = {"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [2, 1, 3, 4]}
    >>> agreement = mean_pairwise_agreement(ratings)
    >>> dict(zip(agreement.annotators, agreement.with_others.round(4).tolist()))
    {'ann': 0.8, 'bob': 0.6, 'cat': 0.6}
    >>> round(agreement.mean, 4), agreement.n_left_out
    (0.6667, 0)
    """

    annotators: tuple[Any, ...]
    with_others: NDArray[np.float64]
    mean: float
    pairs: NDArray[np.float64]
    n_common: NDArray[np.int64]
    n_left_out: int
    coefficient: str

    def __repr__(self) -> str:
        figures = {"mean": self.mean, "n_annotators": len(self.annotators)}
        return described_by(self, figures | {"coefficient": self.coefficient, "n_left_out": self.n_left_out})

    def outliers(self, n_deviations: float = 1.0) -> tuple[Any, ...]:
        """Annotators whose agreement with the others is more than some standard deviations below the mean.

        Hill, Reichart and Korhonen (2015), and Avraham and Goldberg (2016), leave out those more than one below it.

        Examples
        --------
        >>> from rankcorr.measures import mean_pairwise_agreement
        >>> ratings = {"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [1, 2, 3, 4], "dan": [3, 1, 4, 2]}
        >>> agreement = mean_pairwise_agreement(ratings)
        >>> agreement.outliers(), round(agreement.mean, 2), round(agreement.without(agreement.outliers()).mean, 2)
        (('dan',), 0.33, 0.87)
        """
        if not (real_number(n_deviations) > 0):
            raise OptionError(f"n_deviations must be a positive number; got {shown(n_deviations)}")
        known = self.with_others[~np.isnan(self.with_others)]
        if known.size < 2:
            return ()
        limit = self.mean - n_deviations * known.std(ddof=1)
        return tuple(a for a, value in zip(self.annotators, self.with_others.tolist(), strict=True) if value < limit)

    def without(self, annotators: Collection[Any]) -> PairwiseAgreement:
        """Return the agreement of the other annotators with each other.

        Raises
        ------
        AnnotatorError
            An annotator is unknown, or fewer than two are left.
        """
        if unknown := [annotator for annotator in annotators if annotator not in self.annotators]:
            raise AnnotatorError(offending("unknown annotators", unknown))
        rest = [place for place, annotator in enumerate(self.annotators) if annotator not in annotators]
        if len(rest) < 2:
            raise AnnotatorError(f"agreement needs at least two annotators; {len(rest)} would be left")
        pairs, n_common = self.pairs[np.ix_(rest, rest)], self.n_common[np.ix_(rest, rest)]
        lower = np.tril_indices(len(rest), -1)
        n_left_out = int(np.count_nonzero(np.isnan(pairs[lower]))) if self.n_left_out else 0
        names = tuple(self.annotators[place] for place in rest)
        return _agreement(names, pairs, n_common, n_left_out, self.coefficient)

    def _columns(self) -> dict[str, Any]:
        return {"annotator": self.annotators, "with_others": self.with_others}


def _agreement(
    names: tuple[Any, ...], pairs: NDArray[np.float64], n_common: NDArray[np.int64], n_left_out: int, coefficient: str
) -> PairwiseAgreement:
    """Return the result with its means, given the agreement of each pair."""
    with_others = np.array([mean_of(row) for row in pairs])
    mean = mean_of(pairs[np.tril_indices(len(names), -1)])
    read_only((pairs, n_common, with_others))
    return PairwiseAgreement(names, with_others, mean, pairs, n_common, n_left_out, coefficient)


def comparison_agreement(votes: Iterable[tuple[Hashable, Hashable, Hashable, Hashable]]) -> PairwiseAgreement:
    """Share of equal answers of each two annotators, on the comparisons that both made.

    Parameters
    ----------
    votes : iterable of (annotator, target, better, worse)
        Each says that an annotator ranks one item above another, for a target or in another context.

    Returns
    -------
    PairwiseAgreement
        With `coefficient` "agreement". Annotators without a common comparison are left out of the means, and counted.

    Raises
    ------
    AnnotatorError
        There are fewer than two annotators, no two of them made the same comparison, an item is compared with itself,
        or an annotator made a comparison twice.

    See Also
    --------
    PairwiseAgreement.outliers : Annotators to leave out.
    rankcorr.vectors.TargetGroups : The data set that such votes make.
    mean_pairwise_agreement : The same for ratings.

    References
    ----------
    O. Avraham and Y. Goldberg, Improving Reliability of Word Similarity Evaluation by Redesigning Annotation Task and
    Performance Measure, RepEval 2016, section 5.

    Examples
    --------
    >>> from rankcorr.measures import comparison_agreement
    >>> votes = [("ann", "singer", "musician", "person"), ("bob", "singer", "musician", "person")]
    >>> votes += [("cat", "singer", "person", "musician")]
    >>> comparison_agreement(votes).with_others.tolist()
    [0.5, 0.5, 0.0]
    """
    answers: dict[Hashable, dict[tuple[Hashable, frozenset[Hashable]], Hashable]] = {}
    for annotator, target, better, worse in votes:
        if better == worse:
            raise AnnotatorError(f"{shown(annotator)} compared {shown(better)} with itself")
        comparison = target, frozenset((better, worse))
        if comparison in answers.setdefault(annotator, {}):
            raise AnnotatorError(
                f"{shown(annotator)} compared {shown(better)} and {shown(worse)} for {shown(target)} twice"
            )
        answers[annotator][comparison] = better
    names = tuple(answers)
    if len(names) < 2:
        raise AnnotatorError(f"agreement needs at least two annotators; got {len(names)}")
    pairs = np.full((len(names), len(names)), np.nan)
    n_common = np.zeros((len(names), len(names)), np.int64)
    np.fill_diagonal(n_common, [len(answers[name]) for name in names])
    for i, j in combinations(range(len(names)), 2):
        first, second = answers[names[i]], answers[names[j]]
        common = first.keys() & second.keys()
        n_common[i, j] = n_common[j, i] = len(common)
        if common:
            pairs[i, j] = pairs[j, i] = sum(first[key] == second[key] for key in common) / len(common)
    n_left_out = int(np.count_nonzero(np.isnan(pairs[np.tril_indices(len(names), -1)])))
    if n_left_out == len(names) * (len(names) - 1) // 2:
        raise AnnotatorError(f"no two of {len(names)} annotators made the same comparison")
    return _agreement(names, pairs, n_common, n_left_out, "agreement")


def mean_pairwise_agreement(
    ratings: RatingsLike, *, coefficient: CoefficientLike = "rho", min_common: int = 3, few_common: FewCommon = "raise"
) -> PairwiseAgreement:
    """Correlate each annotator with each other: the agreement reported in papers on word similarity.

    Two annotators are compared on the items that both have rated, ranked among themselves.

    Parameters
    ----------
    ratings : array_like of shape (n_annotators, n_items), or mapping of annotator to ratings
        As in `krippendorff_alpha`.
    coefficient : Coefficient or {"rho", "tau", "rho_w", "tau_w"}
        A value with its options, such as ``TauW(n0=10)``; "rho" is Spearman's, by mid-ranks. The schemes "first" and
        "second" are errors, since two annotators have no order.
    min_common : int, default 3
        Smallest number of items that two annotators must share, at least 2: a correlation of two items is 1, -1 or
        undefined.
    few_common : {"raise", "leave_out"}
        What to do with a pair that has fewer: raise an error, or leave it out of the means and count it in
        `n_left_out`.

    Returns
    -------
    PairwiseAgreement
        A pair whose correlation is undefined is left out of the means, with an `UndefinedCorrelationWarning`.

    Raises
    ------
    RankingError
        One of its subclasses: `AnnotatorError` for one annotator, or for pairs with too few items in common.

    See Also
    --------
    krippendorff_alpha : Agreement beyond chance, as one number.
    rankcorr.correlation_matrix : All pairs of rankings of the same items.

    References
    ----------
    F. Hill, R. Reichart and A. Korhonen, SimLex-999: Evaluating Semantic Models With (Genuine) Similarity Estimation,
    Computational Linguistics 41(4), 2015.

    Examples
    --------
    >>> from rankcorr.measures import mean_pairwise_agreement
    >>> agreement = mean_pairwise_agreement({"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [2, 1, 3, 4]})
    >>> agreement.with_others.round(4)
    array([0.8, 0.6, 0.6])
    >>> round(agreement.mean, 4)
    0.6667
    """
    coefficient_value = as_coefficient(coefficient)
    if coefficient_value.swapped != coefficient_value:
        raise OptionError(
            f"annotators are compared without order, so that the scheme must be symmetric; got {coefficient_value}"
        )
    least = checked_count(min_common, "min_common", least=2)
    check_choice("few_common", few_common, FEW_COMMON)
    parsed_ratings = read_ratings(ratings)
    rated = ~np.isnan(parsed_ratings.values)
    counts = rated.astype(np.float64)  # numpy multiplies matrices of floats far faster, and counts are exact in them
    n_common = (counts @ counts.T).astype(np.int64)
    n_annotators = len(rated)
    enough = [(i, j) for i in range(n_annotators) for j in range(i) if n_common[i, j] >= least]
    few = [(j, i) for i in range(n_annotators) for j in range(i) if n_common[i, j] < least]
    if few and (few_common == "raise" or not enough):
        sparse_pairs = [(parsed_ratings.name(i), parsed_ratings.name(j), int(n_common[i, j])) for i, j in few]
        message = f"any two annotators must have rated {least} items in common; too few (annotators, items)"
        raise AnnotatorError(offending(message, sparse_pairs))

    pairs = np.full((n_annotators, n_annotators), np.nan)
    undefined = []
    for i, j in enough:
        both = rated[i] & rated[j]
        x, y = (Ranking.from_scores(parsed_ratings.values[row, both]) for row in (i, j))
        pairs[i, j] = pairs[j, i] = coefficient_value.of_pair(x, y)
        if math.isnan(pairs[i, j]):
            undefined.append((parsed_ratings.name(j), parsed_ratings.name(i)))
    if undefined:
        warn_undefined(offending("all items are tied in one of the ratings of", undefined), stacklevel=3)
    names = tuple(map(parsed_ratings.name, range(n_annotators)))
    return _agreement(names, pairs, n_common, len(few), coefficient_value.name)


@dataclass(frozen=True, eq=False)
class Adjudication(JsonResult):
    """Gold scores from ratings whose larger disagreements were decided.

    Attributes
    ----------
    scores : dict of item to float
        Mean rating of each item, or the decision on it; items that wait for a decision are left out.
    disputed : dict of item to tuple of float
        Ratings of the items that need a decision, in the order of the annotators.
    n_decided : int
        Number of disputed items with a decision.

    See Also
    --------
    adjudicate : Returns it.

    Examples
    --------
    >>> from rankcorr.measures import adjudicate
    >>> adjudicate({"ann": {"a": 4, "b": 1}, "bob": {"a": 3.5, "b": 3}}).disputed
    {'b': (1.0, 3.0)}
    """

    scores: dict[Any, float]
    disputed: dict[Any, tuple[float, ...]]
    n_decided: int


def adjudicate(
    ratings: RatingsLike, decisions: Mapping[Any, float] | None = None, *, limit: float = 1.0
) -> Adjudication:
    """Average ratings by item, but let a decision replace those that differ by `limit` or more.

    Parameters
    ----------
    ratings : array_like of shape (n_annotators, n_items), or mapping of annotator to ratings
        As in `krippendorff_alpha`.
    decisions : mapping of item to float, optional
        Adjudicated ratings, for disputed items only.
    limit : float, default 1
        Two ratings of one item that differ by this much dispute it: one point of the scale, as in SemEval-2014 task 3.

    Returns
    -------
    Adjudication

    Raises
    ------
    RankingError
        One of its subclasses: `AnnotatorError` for a decision on an item that is not disputed; `NonNumericError` for a
        decision that is not a finite number.

    See Also
    --------
    alpha_interval : Agreement before the decisions.

    References
    ----------
    D. Jurgens, M. T. Pilehvar and R. Navigli, SemEval-2014 Task 3: Cross-Level Semantic Similarity, section 3.

    Examples
    --------
    >>> from rankcorr.measures import adjudicate
    >>> ratings = {"ann": {"a": 4, "b": 1, "c": 2}, "bob": {"a": 3.5, "b": 3, "c": 2.5}}
    >>> adjudicate(ratings, {"b": 1}).scores
    {'a': 3.75, 'b': 1.0, 'c': 2.25}
    """
    if not real_number(limit) > 0:
        raise OptionError(f"limit must be a positive number; got {shown(limit)}")
    parsed_ratings = read_ratings(ratings)
    items = parsed_ratings.items or tuple(range(parsed_ratings.values.shape[1]))
    decided = dict(decisions or {})
    if wrong := [item for item, value in decided.items() if not math.isfinite(real_number(value))]:
        raise NonNumericError(offending("decisions must be finite numbers; not those on", wrong))
    scores: dict[Any, float] = {}
    disputed: dict[Any, tuple[float, ...]] = {}
    for item, column in zip(items, parsed_ratings.values.T, strict=True):
        item_ratings = column[~np.isnan(column)]
        if item_ratings.size and float(np.ptp(item_ratings)) >= limit:
            disputed[item] = tuple(item_ratings.tolist())
            if item in decided:
                scores[item] = float(decided[item])
        elif item_ratings.size:
            scores[item] = math.fsum(item_ratings.tolist()) / item_ratings.size
    if needless := [item for item in decided if item not in disputed]:
        raise AnnotatorError(
            offending(f"no two ratings of these differ by {limit:g} or more, and yet a decision is given on", needless)
        )
    return Adjudication(scores, disputed, len(decided))
