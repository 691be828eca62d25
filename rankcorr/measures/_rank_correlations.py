"""Other correlations that weigh the top: AP correlation, Vigna's weighted tau, Blest's nu, top-down correlation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_flag, warn_undefined
from rankcorr._output.results import RankCorrelation
from rankcorr._ranking import Missing, Ranking, align, n_missing
from rankcorr.measures._overlap import ListLike, as_list, tied_groups

ApTies: TypeAlias = Literal["a", "b"]


def tau_ap(gold: ListLike, system: ListLike, *, ties: ApTies = "a", missing: Missing = "raise") -> RankCorrelation:
    """AP correlation of a gold ranking and a system: a Kendall correlation that weights the top of the system more.

    tau_AP = 2/(n - 1) sum_{i=2..n} C(i)/(i - 1) - 1, where i is a place in the system's ranking, and C(i) the number of
    items above that place that the gold ranking also has above the item there. Symmetric only with ties="b".

    Let item e be tied at the places t to b of the system, and let C(e) and T(e) be how many of the t - 1 items above
    that group the gold ranking has above e, and ties with e.

    - "a": the mean over all ways to break the ties of both rankings. C(i)/(i - 1) of e has the mean (C(e) + T(e)/2)
      mean_{i=t..b} 1/(i - 1) from the items above the group, and the mean of (i - t)/(2 (i - 1)) from the group itself,
      whose order is random. Urbano and Marrero define it for a gold ranking without ties, which is the truth that an
      observer is compared with.
    - "b": pairs tied in the system carry no information and are left out. The mean of 2 C(e)/(t - 1) - 1 over the items
      e with t > 1 is computed in both directions, with gold and system exchanged, since neither is treated as the
      truth, and the result is the mean of the two. A ranking with itself gives 1. If all items are tied in one ranking,
      the result is undefined: nan with an `UndefinedCorrelationWarning`.

    Takes O(n log n).

    Parameters
    ----------
    gold, system : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first. Labelled rankings are
        matched by label.
    ties : {"a", "b"}
        How ties count; without ties "a" is tau_AP, and "b" the mean of its values in both directions.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "tau_ap", and `ties` as its `variant`.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    rankcorr.weighted_tau : A symmetric coefficient, with weights of your choice.
    rankcorr.evaluation.TauAP : The same by query.

    References
    ----------
    E. Yilmaz, J. A. Aslam and S. Robertson, A New Rank Correlation Coefficient for Information Retrieval, SIGIR 2008.
    J. Urbano and M. Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    Examples
    --------
    >>> from rankcorr.measures import tau_ap
    >>> gold = {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}
    >>> system = {"king": 0.7, "queen": 0.9, "cabbage": 0.1, "stone": 0.1}
    >>> round(tau_ap(gold, system).statistic, 4), round(tau_ap(gold, system, ties="b").statistic, 4)
    (0.2222, 0.2222)
    """
    check_choice("ties", ties, get_args(ApTies))

    def formula(first: Ranking, second: Ranking) -> float:
        value = _expected(first, second) if ties == "a" else 0.5 * (_untied(first, second) + _untied(second, first))
        return math.copysign(1.0, value) if abs(value) > 1 else value  # by rounding

    return _correlate("tau_ap", formula, gold, system, missing, names=("gold", "system"), variant=ties)


def _correlate(
    coefficient: str,
    formula: Callable[[Ranking, Ranking], float],
    x: ListLike,
    y: ListLike,
    missing: Missing,
    names: tuple[str, str] = ("x", "y"),
    **options: str,
) -> RankCorrelation:
    """Align two lists, and return their correlation by a formula, which is nan if one of them is a single tie."""
    lists = as_list(x), as_list(y)
    first, second = align(*lists, names=names, missing=missing)
    value = formula(first, second)
    if math.isnan(value):
        warn_undefined("all items are tied in one ranking")
    about: dict[str, Any] = {"n_items": first.n_items, "coefficient": coefficient, **options}
    if missing != "raise":
        about |= {"missing": missing, "n_missing": n_missing(*lists, first.n_items)}
    return RankCorrelation(value, **about)


def _expected(gold: Ranking, system: Ranking) -> float:
    starts, sizes, concordant, tied = _counts(gold, system)
    place = np.arange(2, gold.n_items + 1)
    inverse = np.append(0.0, 1 / (place - 1))  # the first place has nothing above it
    mean_inverse = np.add.reduceat(inverse, starts) / sizes
    above = np.add.reduceat(concordant + 0.5 * tied, starts) @ mean_inverse
    within_ties = 0.5 * (np.arange(gold.n_items) - np.repeat(starts, sizes)) @ inverse
    return float(2 / (gold.n_items - 1) * (above + within_ties) - 1)


def _untied(gold: Ranking, system: Ranking) -> float:
    starts, _, concordant, _ = _counts(gold, system)
    if starts.size == 1:
        return math.nan
    above = np.add.reduceat(concordant, starts)[1:] / starts[1:]
    return float(2 * above.sum() / (gold.n_items - starts[1]) - 1)


def _counts(
    gold: Ranking, system: Ranking
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Start, from 0, and size of each tied group of the system; C(e) and T(e) of the items in the system's order."""
    from rankcorr import _rank_kernels as kernels

    concordant, tied = np.empty(gold.n_items), np.empty(gold.n_items)
    order = system.best_first
    kernels.above_in_both(gold.ranks, system.ranks, order, concordant, tied)
    return *tied_groups(system), concordant[order], tied[order]


PairScheme: TypeAlias = Literal["additive", "multiplicative"]


def vigna_tau(
    x: ListLike, y: ListLike, *, scheme: PairScheme = "additive", missing: Missing = "raise"
) -> RankCorrelation:
    """Vigna's weighted Kendall correlation with hyperbolic weights, as `scipy.stats.weightedtau` computes it.

    A pair of items weighs 1/r_i + 1/r_j, where r is the rank of an item, from 1, or the product of the two. Here each
    pair has a weight; in `weighted_tau` each item has one. The ranks r have no ties: items tied in one
    ranking are ranked by the other. The value is the mean of two, with the ranks r of x and of y.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first. Labelled rankings are matched
        by label.
    scheme : {"additive", "multiplicative"}
        How the weights of two items combine.
    missing : {"raise", "intersection", "bottom", "gold"}
        What to do with labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "vigna_tau". Undefined, and nan with an `UndefinedCorrelationWarning`, when all items are
        tied in one ranking.

    Raises
    ------
    RankingError
        The subclass says what is wrong with the rankings or the options.

    See Also
    --------
    rankcorr.weighted_tau : Weights of items instead of pairs.
    rankcorr.Hyperbolic : Weights 1/n in `rankcorr.weighted_tau`.

    References
    ----------
    S. Vigna, A Weighted Correlation Index for Rankings with Ties, WWW 2015.

    Examples
    --------
    >>> from rankcorr.measures import vigna_tau
    >>> round(vigna_tau([4, 3, 2, 1], [4, 3, 1, 2]).statistic, 4)
    0.8133
    """
    check_choice("scheme", scheme, get_args(PairScheme))

    def formula(first: Ranking, second: Ranking) -> float:
        from scipy.stats import weightedtau

        if _is_single_tie(first) or _is_single_tie(second):
            return math.nan
        # Ranks, negated because to scipy larger is better: they are exact and cannot overflow, whatever the scores.
        return float(weightedtau(-first.ranks, -second.ranks, additive=scheme == "additive").statistic)

    return _correlate("vigna_tau", formula, x, y, missing, scheme=scheme, weigher="hyperbolic")


def _is_single_tie(ranking: Ranking) -> bool:
    return bool(np.ptp(ranking.ranks) == 0)


def blest_nu(x: ListLike, y: ListLike, *, symmetric: bool = False, missing: Missing = "raise") -> RankCorrelation:
    """Blest's rank correlation, which weighs differences at the top ranks of x more.

    nu = (2n + 1)/(n - 1) - 12/((n - 1) n (n + 1)^2) sum_i (n + 1 - r_i)^2 s_i, where r_i and s_i are the ranks of item
    i in x and y, from 1 for the best. It is 1 for equal and -1 for opposite rankings. With ties it is the mean over all
    ways to break the ties of both rankings, so that a ranking with ties does not reach 1 with itself.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first. Labelled rankings are matched
        by label.
    symmetric : bool, default False
        Return the mean of the values of (x, y) and (y, x): the coefficient xi of Genest and Plante.
    missing : {"raise", "intersection", "bottom", "gold"}
        What to do with labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "blest_nu", or "blest_xi" if `symmetric`.

    Raises
    ------
    RankingError
        The subclass says what is wrong with the rankings or the options.

    See Also
    --------
    top_down_correlation : Weighs the top more.
    rankcorr.weighted_rho : Weights of your choice, and 1 for equal rankings with ties.

    References
    ----------
    D. C. Blest, Rank Correlation - an Alternative Measure, Australian & New Zealand Journal of Statistics 42, 2000.
    C. Genest and J.-F. Plante, On Blest's Measure of Rank Correlation, Canadian Journal of Statistics 31, 2003.

    Examples
    --------
    >>> from rankcorr.measures import blest_nu
    >>> round(blest_nu([4, 3, 2, 1], [4, 3, 1, 2]), 4), round(blest_nu([4, 3, 2, 1], [3, 4, 2, 1]), 4)
    (0.88, 0.72)
    """
    checked_flag(symmetric, "symmetric")
    if symmetric:
        return _correlate("blest_xi", lambda a, b: 0.5 * (_blest(a, b) + _blest(b, a)), x, y, missing)
    return _correlate("blest_nu", _blest, x, y, missing)


def _blest(x: Ranking, y: Ranking) -> float:
    n = x.n_items
    squares = _means_of_ties(x, (n - np.arange(n, dtype=np.float64)) ** 2)
    return (2 * n + 1) / (n - 1) - 12 / ((n - 1) * n * (n + 1) ** 2) * float(squares @ y.ranks)


def top_down_correlation(x: ListLike, y: ListLike, *, missing: Missing = "raise") -> RankCorrelation:
    """Top-down correlation of Iman and Conover: Pearson's correlation of Savage scores.

    The Savage score of rank i of n is sum_{j=i..n} 1/j; tied items have the mean of their scores. Without ties the
    value is (sum_i S(r_i) S(s_i) - n)/(n - S(1)), where r_i and s_i are the ranks of item i in x and y. It is 1 for
    equal rankings; opposite ones have -1 with two items and, as n grows, 1 - pi^2/6 = -0.645.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first. Labelled rankings are matched
        by label.
    missing : {"raise", "intersection", "bottom", "gold"}
        What to do with labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "top_down". Undefined, and nan with an `UndefinedCorrelationWarning`, when all items are tied
        in one ranking.

    Raises
    ------
    RankingError
        The subclass says what is wrong with the rankings or the options.

    See Also
    --------
    blest_nu : Weighs the top less.
    rankcorr.weighted_rho : Weights of your choice.

    References
    ----------
    R. L. Iman and W. J. Conover, A Measure of Top-Down Correlation, Technometrics 29, 1987.

    Examples
    --------
    >>> from rankcorr.measures import top_down_correlation
    >>> round(top_down_correlation([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    0.942
    """
    return _correlate("top_down", _of_savage_scores, x, y, missing)


def _of_savage_scores(x: Ranking, y: Ranking) -> float:
    if _is_single_tie(x) or _is_single_tie(y):
        return math.nan
    savage = np.cumsum(1 / np.arange(x.n_items, 0, -1))[::-1]
    a, b = (_means_of_ties(ranking, savage) - 1 for ranking in (x, y))  # Savage scores have the mean 1
    return max(-1.0, min(1.0, float(a @ b) / math.sqrt((a @ a) * (b @ b))))


def _means_of_ties(ranking: Ranking, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Value of each item, given those of the places 1, 2, ...: tied items have the mean of their places."""
    order = ranking.best_first
    starts, sizes = tied_groups(ranking)
    means = np.empty(ranking.n_items)
    means[order] = np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
    return means
