"""How annotators agree with each other, in ratings and in comparisons, and one value for each item from all of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import multimode
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import (
    check_choice,
    checked_count,
    counted,
    is_unhashable,
    offending,
    real_number,
    shown,
    warn_undefined,
)
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._input.numbers import ROUNDING
from rankcorr._output.results import Result, TableResult, described_by, mean_of, read_only
from rankcorr._ranking import Ranking
from rankcorr.errors import NonNumericError, OptionError
from rankcorr.measures._ratings import AnnotatorError, Ratings, RatingsLike, read_ratings

FewCommon: TypeAlias = Literal["raise", "leave_out"]

TiesOfVotes: TypeAlias = Literal["raise", "omit", "lowest", "highest"]


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
        Name of the coefficient of each pair, or "agreement".

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
    for annotator, target, better, worse in checked_votes(votes, AnnotatorError):
        answers.setdefault(annotator, {})[target, frozenset((better, worse))] = better
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


def checked_votes(votes: Iterable[Any], error: type[ValueError]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield votes (annotator, target, better, worse); raise `error` for any other, and for a comparison made twice."""
    comparisons = set()
    for vote in votes:
        if not isinstance(vote, tuple | list) or len(vote) != 4 or any(map(is_unhashable, vote)):
            raise error(f"a vote is (annotator, target, better, worse); got {shown(vote)}")
        annotator, target, better, worse = vote
        if better == worse:
            raise error(f"{shown(annotator)} compared {shown(better)} with itself")
        comparison = annotator, target, frozenset((better, worse))
        if comparison in comparisons:
            raise error(f"{shown(annotator)} compared {shown(better)} and {shown(worse)} for {shown(target)} twice")
        comparisons.add(comparison)
        yield annotator, target, better, worse


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
    check_choice("few_common", few_common, get_args(FewCommon))
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
class Adjudication(Result):
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
    if decisions is not None and not isinstance(decisions, Mapping):
        raise OptionError(f"decisions must map items to ratings; got {shown(decisions)}")
    by_item = _ratings_by_item(read_ratings(ratings))
    decided = dict(decisions or {})
    if wrong := [item for item, value in decided.items() if not math.isfinite(real_number(value))]:
        raise NonNumericError(offending("decisions must be finite numbers; not those on", wrong))
    scores: dict[Any, float] = {}
    disputed: dict[Any, tuple[float, ...]] = {}
    for item, item_ratings in by_item.items():
        if max(item_ratings) - min(item_ratings) >= limit * (1 - ROUNDING):  # 3.3 - 2.3 is below 1
            disputed[item] = tuple(item_ratings)
            if item in decided:
                scores[item] = float(decided[item])
        else:
            scores[item] = math.fsum(item_ratings) / len(item_ratings)
    if needless := [item for item in decided if item not in disputed]:
        raise AnnotatorError(
            offending(f"no two ratings of these differ by {limit:g} or more, and yet a decision is given on", needless)
        )
    return Adjudication(scores, disputed, len(decided))


@dataclass(frozen=True, eq=False, repr=False)
class AggregateRatings(TableResult):
    """One value for each item from the ratings of several annotators.

    Attributes
    ----------
    scores : dict of item to float
        Means, or the ratings with most votes; items without ratings, and ties that are left out, are not in it.
    counts : dict of item to int
        Number of ratings of each item.
    tied : tuple
        Items of which two ratings have the most votes; none for means.

    See Also
    --------
    mean_ratings, majority_vote : Return it.

    Examples
    --------
    >>> from rankcorr.measures import majority_vote
    >>> majority_vote({"ann": {"a": 1, "b": 0}, "bob": {"a": 1, "b": 1}, "eve": {"a": 0, "b": 1}})
    <AggregateRatings of 2 items, 0 tied>
    """

    scores: dict[Any, float]
    counts: dict[Any, int]
    tied: tuple[Any, ...] = ()

    def _columns(self) -> dict[str, Any]:
        items = list(self.counts)
        scores = [self.scores.get(item, math.nan) for item in items]
        return {"item": items, "score": scores, "ratings": list(self.counts.values())}

    def __repr__(self) -> str:
        return f"<AggregateRatings of {counted(len(self.counts), 'item')}, {len(self.tied)} tied>"


def mean_ratings(ratings: RatingsLike, *, scale: tuple[float, float] | None = None) -> AggregateRatings:
    """Average the ratings of each item, on request rescaled to the range from 0 to 1.

    Parameters
    ----------
    ratings : array_like of shape (n_annotators, n_items), or mapping of annotator to ratings
        As in `krippendorff_alpha`.
    scale : pair of float, optional
        Lowest and highest rating that annotators could give, such as ``(0, 3)``: means are divided by this range.

    Returns
    -------
    AggregateRatings

    Raises
    ------
    RankingError
        `OptionError` for a scale that is no range; `AnnotatorError` for ratings outside it.

    See Also
    --------
    majority_vote : The most frequent rating.
    adjudicate : Means, with decisions on disputed items.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness (2017), section 3.1.

    Examples
    --------
    >>> from rankcorr.measures import mean_ratings
    >>> mean_ratings({"ann": {"a": 3, "b": 0}, "bob": {"a": 3, "b": 1}}, scale=(0, 3)).scores
    {'a': 1.0, 'b': 0.16666666666666666}
    """
    low, high = 0.0, 1.0
    if scale is not None:
        ends = [real_number(end) for end in scale] if isinstance(scale, list | tuple) and len(scale) == 2 else []
        if not ends or not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
            raise OptionError(f"scale must be the lowest and the highest rating, such as (0, 3); got {shown(scale)}")
        low, high = ends
    by_item = _ratings_by_item(read_ratings(ratings))
    if scale is not None:
        outside = [item for item, values in by_item.items() if min(values) < low or max(values) > high]
        if outside:
            raise AnnotatorError(offending(f"ratings must be from {low:g} to {high:g}; others on", outside))
    scores = {item: (math.fsum(values) / len(values) - low) / (high - low) for item, values in by_item.items()}
    return AggregateRatings(scores, {item: len(values) for item, values in by_item.items()})


def majority_vote(ratings: RatingsLike, *, ties: TiesOfVotes = "raise") -> AggregateRatings:
    """Take the most frequent rating of each item.

    Parameters
    ----------
    ratings : array_like of shape (n_annotators, n_items), or mapping of annotator to ratings
        As in `krippendorff_alpha`; 1 and 0 for a choice between yes and no.
    ties : {"raise", "omit", "lowest", "highest"}
        If two ratings have the most votes: raise an error, leave the item out, or take the lowest or highest of these.

    Returns
    -------
    AggregateRatings

    Raises
    ------
    RankingError
        `AnnotatorError` for a tie and ``ties="raise"``; the message names the items.

    See Also
    --------
    mean_ratings : Graded scores.
    krippendorff_alpha : Whether annotators agree.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness (2017), section 4.2.

    Examples
    --------
    >>> from rankcorr.measures import majority_vote
    >>> votes = {"ann": {"a": 1, "b": 0}, "bob": {"a": 1, "b": 1}, "eve": {"a": 0}}
    >>> majority_vote(votes, ties="omit").scores
    {'a': 1.0}
    """
    check_choice("ties", ties, get_args(TiesOfVotes))
    by_item = _ratings_by_item(read_ratings(ratings))
    modes = {item: multimode(values) for item, values in by_item.items()}
    tied = tuple(item for item, values in modes.items() if len(values) > 1)
    if tied and ties == "raise":
        raise AnnotatorError(offending("two ratings have the most votes (the option ties decides); items", tied))
    choose = max if ties == "highest" else min
    scores = {item: choose(values) for item, values in modes.items() if len(values) == 1 or ties != "omit"}
    return AggregateRatings(scores, {item: len(values) for item, values in by_item.items()}, tied)


def _ratings_by_item(parsed_ratings: Ratings) -> dict[Any, list[float]]:
    """Ratings of each item that has some."""
    items = parsed_ratings.items or tuple(range(parsed_ratings.values.shape[1]))
    columns = {
        item: column[~np.isnan(column)].tolist() for item, column in zip(items, parsed_ratings.values.T, strict=True)
    }
    return {item: values for item, values in columns.items() if values}
