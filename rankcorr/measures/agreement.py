"""Agreement of annotators: the mean correlation of each with the others, and the annotators that agree least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice, offending, real_number, shown, whole_number
from rankcorr.coefficients import CoefficientLike, as_coefficient
from rankcorr.errors import OptionError, warn_undefined
from rankcorr.measures.ratings import AnnotatorError, Ratings, RatingsLike, read_ratings
from rankcorr.ranking import Ranking
from rankcorr.results import Result, TableResult, described_by, mean_of

FewCommon: TypeAlias = Literal["raise", "leave_out"]

# Rounding moves a mean of correlations by less than this: an annotator exactly at the threshold is not outlying.
ROUNDING: Final = 1e-12

FEW_COMMON: Final = ("raise", "leave_out")


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

    def _columns(self) -> dict[str, Any]:
        return {"annotator": self.annotators, "with_others": self.with_others}


def mean_pairwise_agreement(
    ratings: RatingsLike,
    *,
    coefficient: CoefficientLike = "rho",
    min_common: int = 3,
    few_common: FewCommon = "raise",
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

    References
    ----------
    F. Hill, R. Reichart and A. Korhonen, SimLex-999: Evaluating Semantic Models With (Genuine) Similarity Estimation,
    Computational Linguistics 41(4), 2015.

    Examples
    --------
    >>> agreement = mean_pairwise_agreement({"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [2, 1, 3, 4]})
    >>> agreement.with_others.round(4)
    array([0.8, 0.6, 0.6])
    >>> round(agreement.mean, 4)
    0.6667
    """
    chosen = as_coefficient(coefficient)
    if chosen.swapped != chosen:
        raise OptionError(f"annotators are compared without order, so that the scheme must be symmetric; got {chosen}")
    least = whole_number(min_common)
    if least is None or least < 2:
        raise OptionError(f"min_common must be a whole number of at least 2; got {shown(min_common)}")
    check_choice("few_common", few_common, FEW_COMMON)
    found = read_ratings(ratings)
    rated = ~np.isnan(found.values)
    counts = rated.astype(np.float64)  # numpy multiplies matrices of floats far faster, and counts are exact in them
    n_common = (counts @ counts.T).astype(np.int64)
    n_annotators = len(rated)
    enough = [(i, j) for i in range(n_annotators) for j in range(i) if n_common[i, j] >= least]
    few = [(j, i) for i in range(n_annotators) for j in range(i) if n_common[i, j] < least]
    if few and (few_common == "raise" or not enough):
        raise AnnotatorError(_few(found, few, n_common, least))

    pairs = np.full((n_annotators, n_annotators), np.nan)
    undefined = []
    for i, j in enough:
        both = rated[i] & rated[j]
        x, y = (Ranking.from_scores(found.values[row, both]) for row in (i, j))
        pairs[i, j] = pairs[j, i] = chosen.of_pair(x, y)
        if math.isnan(pairs[i, j]):
            undefined.append((found.name(j), found.name(i)))
    if undefined:
        warn_undefined(offending("all items are tied in one of the ratings of", undefined), stacklevel=3)
    with_others = np.array([mean_of(row) for row in pairs])
    for array in (pairs, n_common, with_others):
        array.flags.writeable = False
    return PairwiseAgreement(
        tuple(map(found.name, range(n_annotators))),
        with_others,
        mean_of(pairs[np.tril_indices(n_annotators, -1)]),
        pairs,
        n_common,
        len(few),
        chosen.name,
    )


@dataclass(frozen=True, eq=False)
class OutlyingAnnotators(Result):
    """Annotators that agree with the others less than the rest do.

    Attributes
    ----------
    outlying, kept : tuple
        Names of the annotators, or their indices.
    threshold : float
        The agreement below which an annotator is outlying: mean - n_std * std.
    mean, std : float
        Mean correlation of all pairs, and standard deviation of the annotators' mean correlations with the others.
    n_std : float
        Number of standard deviations allowed below the mean.
    ddof : int
        The standard deviation divides by n_annotators - ddof.
    """

    outlying: tuple[Any, ...]
    kept: tuple[Any, ...]
    threshold: float
    mean: float
    std: float
    n_std: float
    ddof: int


def outlying_annotators(agreement: PairwiseAgreement, *, n_std: float = 1.0, ddof: int = 1) -> OutlyingAnnotators:
    """Find the annotators to leave out: those whose agreement is more than one standard deviation below the mean.

    The rule of Hill et al. for SimLex-999, also used by Avraham and Goldberg: leave out an annotator whose mean
    correlation with the others is below the mean correlation of all pairs by more than `n_std` standard deviations of
    the annotators' mean correlations. The rule is applied once. Avraham and Goldberg do not say which standard
    deviation they mean; the default is that of a sample.

    Parameters
    ----------
    agreement : PairwiseAgreement
        The result of `mean_pairwise_agreement`.
    n_std : float, default 1
        Not negative.
    ddof : int, default 1
        1 for the standard deviation of a sample, 0 for that of a population.

    Returns
    -------
    OutlyingAnnotators

    Raises
    ------
    RankingError
        `OptionError`; `AnnotatorError` if the agreement of an annotator is undefined, a case that the rule does not
        cover.

    References
    ----------
    F. Hill, R. Reichart and A. Korhonen, SimLex-999, Computational Linguistics 41(4), 2015.
    O. Avraham and Y. Goldberg, Improving Reliability of Word Similarity Evaluation by Redesigning Annotation Task and
    Performance Measure, arXiv:1611.03641, section 5.

    Examples
    --------
    >>> ratings = {"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [2, 1, 3, 4], "dan": [4, 3, 2, 1]}
    >>> outlying_annotators(mean_pairwise_agreement(ratings)).outlying
    ('dan',)
    """
    wanted, freedom = real_number(n_std), whole_number(ddof)
    if not 0 <= wanted < math.inf:
        raise OptionError(f"n_std must be a number, not negative; got {shown(n_std)}")
    if freedom not in (0, 1):
        raise OptionError(f"ddof must be 0 or 1; got {shown(ddof)}")
    undefined = np.flatnonzero(np.isnan(agreement.with_others)).tolist()
    if undefined:
        raise AnnotatorError(
            offending("the agreement of some annotators is undefined", [agreement.annotators[row] for row in undefined])
        )
    std = float(agreement.with_others.std(ddof=freedom))
    threshold = agreement.mean - wanted * std
    below = (agreement.with_others < threshold - ROUNDING).tolist()
    return OutlyingAnnotators(
        tuple(name for name, low in zip(agreement.annotators, below, strict=True) if low),
        tuple(name for name, low in zip(agreement.annotators, below, strict=True) if not low),
        threshold,
        agreement.mean,
        std,
        wanted,
        freedom,
    )


def _few(found: Ratings, few: list[tuple[int, int]], n_common: NDArray[np.int64], least: int) -> str:
    which = [(found.name(i), found.name(j), int(n_common[i, j])) for i, j in few]
    return offending(f"any two annotators must have rated {least} items in common; too few (annotators, items)", which)
