"""Rankings and weights in rows of the same items -> one ranking, and the agreement of each with it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import ManyRankings
from rankcorr._checks import check_choice, first_few, give_notice, offending, real_number, shown, warn_undefined
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.frames import PLAIN, by_name, has_names, labelled_values
from rankcorr._input.identifiers import identifier_text
from rankcorr._input.numbers import DECIMALS
from rankcorr._input.scores import midrank_rows
from rankcorr._output.results import TableResult
from rankcorr._output.tables import TableNotes
from rankcorr._ranking import Ranking, match_positions, named_rankings
from rankcorr._workers import Progress, silent
from rankcorr.aggregate import _search as search
from rankcorr.aggregate._search import MOST_ENUMERATED, Matrix
from rankcorr.errors import LabelError, LabelMismatchError, LengthError, OptionError, RankingError, TooFewItemsError

Absent: TypeAlias = Literal["raise", "intersection", "bottom", "skip"]

ABSENT: Final[tuple[Absent, ...]] = get_args(Absent)
N_STARTS: Final = 10  # of a local search


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MergedRanking(TableResult):
    """Several rankings merged into one.

    Attributes
    ----------
    ranking : Ranking
        The merged ranking.
    method : str
        Name of the function that merged them.
    scores : dict of item to float, or None
        The numbers that the items are ranked by: the largest is the best, but the smallest by `mean_rank`. Without
        labels an item is its position. None for `kemeny` and `consensus`.
    agreements : dict of ranking to float
        Correlation of each input, x, with the merged ranking, over the items that it has; nan if undefined.
    weights : dict of ranking to float
        Shares of the inputs; their sum is 1.
    coefficient : str
        Coefficient of `agreements`.
    objective : float
        For `kemeny` the mean number of pairs that a ranking orders differently (ties count half), as small as possible.
        For `consensus` the mean of `agreements`, the largest possible. nan for other methods.
    exact : bool
        False if a local search found the ranking, so that a better one may exist.
    missing : str or None
        Treatment of items that a ranking lacks.
    left_out : tuple
        Submissions of teams that have a better one (`combine_submissions`).

    See Also
    --------
    borda, mean_rank, reciprocal_rank_fusion, kemeny, consensus, combine_submissions : Return it.

    Examples
    --------
    >>> from rankcorr.aggregate import mean_rank
    >>> merged = mean_rank({"first": {"ant": 3, "bee": 2, "cat": 1}, "second": {"ant": 9, "bee": 4, "cat": 7}})
    >>> merged.scores, merged.exact
    ({'ant': 1.0, 'bee': 2.5, 'cat': 2.5}, True)
    >>> {name: round(value, 4) for name, value in merged.agreements.items()}
    {'first': 0.904, 'second': 0.904}
    """

    ranking: Ranking
    method: str
    scores: dict[Any, float] | None
    agreements: dict[Any, float]
    weights: dict[Any, float]
    coefficient: str
    objective: float = math.nan
    exact: bool = True
    missing: str | None = None
    left_out: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; the ranking is a list of items with their ranks, best first."""
        content = {field: value for field, value in super().to_dict().items() if field != "ranking"}
        columns = self._columns()
        rows = [list(row) for row in zip(columns["item"], columns["rank"], strict=True)]
        return {"ranking": rows, **content}

    def _columns(self) -> dict[str, Any]:
        order = np.argsort(self.ranking.ranks, kind="stable").tolist()
        items = _items(self.ranking)
        columns: dict[str, Any] = {
            "rank": self.ranking.ranks[order].tolist(),
            "item": [items[position] for position in order],
        }
        return columns if self.scores is None else columns | {"score": [self.scores[item] for item in columns["item"]]}

    def _notes(self) -> TableNotes:
        n_rankings = len(self.weights)
        return TableNotes(f"{n_rankings} rankings merged by {self.method.replace('_', ' ')}.")

    def __repr__(self) -> str:
        by_search = "" if self.exact else ", by local search"
        best = repr(self.ranking).partition(": ")[2].removesuffix(">")
        mean = math.fsum(self.weights[name] * value for name, value in self.agreements.items())
        return f"<MergedRanking by {self.method}{by_search}, mean {self.coefficient} {mean:.4f}: {best}>"


def _items(ranking: Ranking) -> Sequence[Hashable]:
    return range(ranking.n_items) if ranking.labels is None else ranking.labels


class Inputs(NamedTuple):
    """Rankings of one list of items, a row each: mid-ranks among the items that a ranking has, nan for the others."""

    names: tuple[Any, ...]
    labels: tuple[Hashable, ...] | None
    ranks: Matrix
    weights: Matrix  # their sum is 1
    missing: Absent

    @property
    def is_present(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.ranks))

    @property
    def sizes(self) -> Matrix:
        """Number of items of each ranking, as a column."""
        return np.asarray(self.is_present.sum(axis=1, keepdims=True), np.float64)

    def means(self, values: Matrix) -> Matrix:
        """Weighted mean of each column, over the rankings that have the item."""
        shares = np.where(self.is_present, self.weights[:, np.newaxis], 0.0)
        # fsum: equal terms in another order must give equal scores.
        sums = [math.fsum(column) for column in np.nan_to_num(shares * values).T.tolist()]
        return np.asarray(np.array(sums) / [math.fsum(column) for column in shares.T.tolist()])

    def rank(self, values: Matrix, *, descending: bool = True) -> Ranking:
        """Rank the items by numbers, without the differences that rounding makes."""
        scale = float(np.abs(values).max()) or 1.0
        rounded = np.round(values / scale, DECIMALS)
        return (Ranking.from_scores if descending else Ranking.from_ranks)(rounded, self.labels)


def _read(rankings: ManyRankings, weights: Any, missing: str) -> Inputs:
    """Check rankings, and put them in rows of the same items."""
    check_choice("missing", missing, ABSENT)
    named: Any = by_name(rankings)
    if named is None:
        if isinstance(rankings, str | bytes | Ranking) or not hasattr(rankings, "__len__"):
            raise RankingError(f"rankings must be a mapping, a list or a data frame of rankings; got {shown(rankings)}")
        named = dict(enumerate(rankings))  # type: ignore[arg-type]
    read = named_rankings(named, "ranking")
    if not read:
        raise TooFewItemsError("there is no ranking to merge")
    names, listed = tuple(read), match_positions(read.values())
    lacks_labels = [name for name, ranking in zip(names, listed, strict=True) if ranking.labels is None]
    if lacks_labels and len(lacks_labels) < len(listed):
        raise LabelError(offending("some rankings have labels and some have none; without labels", lacks_labels))
    if lacks_labels:
        if len({ranking.n_items for ranking in listed}) > 1:
            sizes = ", ".join(str(ranking.n_items) for ranking in listed)
            raise LengthError(f"rankings without labels must have the same length; got {sizes} items")
        ranks, labels = np.array([ranking.ranks for ranking in listed]), None
    else:
        ranks, labels = _match(names, listed, missing)
    return Inputs(names, labels, ranks, _shares(names, weights), missing)  # type: ignore[arg-type]


def _match(names: Sequence[Any], rankings: Sequence[Ranking], missing: str) -> tuple[Matrix, tuple[Hashable, ...]]:
    """Ranks of the items of all rankings, in the order in which they first appear, and their labels."""
    union = dict.fromkeys(label for ranking in rankings for label in ranking.labels or ())
    if len(set(map(identifier_text, union))) < len(union):
        raise LabelMismatchError(
            "labels of different rankings differ only in their types: write all labels in one way, such as text"
        )
    places = [{label: place for place, label in enumerate(ranking.labels or ())} for ranking in rankings]
    if missing == "raise":
        for name, place_of in zip(names, places, strict=True):
            if lacking := [label for label in union if label not in place_of]:
                message = offending(f"ranking {shown(name)} lacks items of other rankings", lacking)
                raise LabelMismatchError(
                    f'{message} (accept them with missing="intersection", missing="bottom" or missing="skip")'
                )
    labels = [label for label in union if missing != "intersection" or all(label in place_of for place_of in places)]
    if len(labels) < 2:
        raise TooFewItemsError(f"rankings must have at least two items in common; they have {len(labels)}")
    ranks = np.full((len(rankings), len(labels)), np.nan)
    for row, ranking, place_of in zip(ranks, rankings, places, strict=True):
        columns = [column for column, label in enumerate(labels) if label in place_of]
        row[columns] = ranking.take(np.array([place_of[labels[column]] for column in columns])).ranks
        if missing == "bottom":
            row[np.isnan(row)] = len(columns) + (len(labels) - len(columns) + 1) / 2
    if (n_parts := _count_parts(~np.isnan(ranks))) > 1:
        give_notice(
            f"the rankings fall into {n_parts} parts without a common item: no ranking orders the items of one part "
            "against those of another",
            UserWarning,
            stacklevel=5,
        )
    return ranks, tuple(labels)


def _count_parts(is_present: NDArray[np.bool_]) -> int:
    """Return the number of parts of the items, where a ranking connects all items that it has."""
    parts: list[NDArray[np.bool_]] = []
    for items in is_present:
        joined = [part for part in parts if (part & items).any()]
        parts = [part for part in parts if not (part & items).any()] + [np.any([items, *joined], axis=0)]
    return len(parts)


def _shares(names: Sequence[Any], weights: Any) -> Matrix:
    """Weights of rankings as shares of 1."""
    if weights is None:
        return np.full(len(names), 1 / len(names))
    named = weights if isinstance(weights, Mapping) else None
    if not isinstance(weights, (*PLAIN, Mapping)):
        named = labelled_values(weights)
    if named is not None and (named is weights or has_names(named, names)):
        if different := named.keys() ^ set(names):
            raise LabelMismatchError(
                f"weights must name the merged rankings and no others; different: {first_labels(different)}"
            )
        weights = [named[name] for name in names]
    if isinstance(weights, str | set | frozenset) or not hasattr(weights, "__len__") or len(weights) != len(names):
        raise OptionError(f"weights must be a number for each of the {len(names)} rankings; got {shown(weights)}")
    numbers = np.array([real_number(weight) for weight in weights])
    if not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise OptionError(f"weights must be finite, not negative and not all 0; got {shown(weights)}")
    numbers = numbers / numbers.max()  # whose sum cannot overflow
    return np.asarray(numbers / math.fsum(numbers.tolist()))


def merge_result(
    inputs: Inputs, ranking: Ranking, method: str, coefficient: CoefficientLike, **fields: Any
) -> MergedRanking:
    coefficient_value = as_coefficient(coefficient)
    agreements = _agreements(coefficient_value, inputs.ranks, ranking.ranks[np.newaxis])[:, 0]
    if ranking.n_items > 1 and np.isnan(agreements).any():
        undefined = [name for name, value in zip(inputs.names, agreements, strict=True) if math.isnan(value)]
        warn_undefined(offending("items that have weight are tied in the merged ranking, or in", undefined))
    return MergedRanking(
        ranking=ranking,
        method=method,
        agreements=dict(zip(inputs.names, agreements.tolist(), strict=True)),
        weights=dict(zip(inputs.names, inputs.weights.tolist(), strict=True)),
        coefficient=coefficient_value.name,
        missing=None if inputs.missing == "raise" else inputs.missing,
        **fields,
    )


def _agreements(coefficient: Coefficient, ranks: Matrix, candidates: Matrix) -> Matrix:
    """Coefficient of each ranking with each candidate, a column, over the items of the ranking; nan if undefined."""
    values, rows_of_pattern = np.full((len(ranks), len(candidates)), np.nan), defaultdict(list)
    for row, is_present in enumerate(~np.isnan(ranks)):
        rows_of_pattern[is_present.tobytes()].append(row)
    for pattern, rows in rows_of_pattern.items():
        is_present = np.frombuffer(pattern, np.bool_)
        if is_present.sum() > 1:
            midranks, _, ties = midrank_rows(candidates[:, is_present], descending=False)
            for row in rows:
                values[row] = coefficient.of_rows(Ranking.from_ranks(ranks[row, is_present]), midranks, ties)
    return values


def borda(
    rankings: ManyRankings,
    *,
    weights: Mapping[Any, float] | Sequence[float] | None = None,
    missing: Absent = "raise",
    coefficient: CoefficientLike = "tau_w",
) -> MergedRanking:
    """Merge rankings by their mean Borda points: a point for each item below, half a point for each tied item.

    Parameters
    ----------
    rankings : mapping of name to ranking, list of rankings, matrix of scores, or data frame
        As in `rankcorr.correlate_many`: plain numbers are scores, larger is better.
    weights : mapping of name to float, or sequence of float, optional
        Weight of each ranking; by default all are equal.
    missing : {"raise", "intersection", "bottom", "skip"}
        How to treat items that a ranking lacks. "raise": raise an error. "intersection": leave out items that any
        ranking lacks. "bottom": tie them below all items of that ranking. "skip": a ranking counts for its own items
        only; points in a ranking of fewer items are scaled up to all items.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Coefficient of `MergedRanking.agreements`.

    Returns
    -------
    MergedRanking

    Raises
    ------
    RankingError
        One of its subclasses: `LabelMismatchError` for different items, `LengthError`, `OptionError` for weights, and
        those of `Ranking.from_scores`.

    Warns
    -----
    UndefinedCorrelationWarning
        All items of a ranking, or of the result, are tied.

    See Also
    --------
    mean_rank, kemeny, consensus : Other ways to merge.

    Examples
    --------
    >>> from rankcorr.aggregate import borda
    >>> borda({"first": {"ant": 3, "bee": 2, "cat": 2}, "second": {"ant": 9, "bee": 4, "cat": 7}}).scores
    {'ant': 2.0, 'bee': 0.25, 'cat': 0.75}
    """
    inputs = _read(rankings, weights, missing)
    sizes, n_items = inputs.sizes, inputs.ranks.shape[1]
    # The only item of a ranking has no rank among others: half of all points.
    shares = np.where(sizes > 1, (sizes - inputs.ranks) / np.maximum(sizes - 1, 1), 0.5)
    points = inputs.means((n_items - 1) * shares)
    return _of_scores(inputs, points, "borda", coefficient)


def mean_rank(
    rankings: ManyRankings,
    *,
    weights: Mapping[Any, float] | Sequence[float] | None = None,
    missing: Absent = "raise",
    coefficient: CoefficientLike = "tau_w",
) -> MergedRanking:
    """Merge rankings by their mean ranks.

    For rankings of the same items this is the order of `borda`.

    Parameters
    ----------
    rankings, weights, coefficient
        As in `borda`.
    missing : {"raise", "intersection", "bottom", "skip"}
        As in `borda`; with "skip" a rank among fewer items counts as it is.

    Returns
    -------
    MergedRanking

    Raises
    ------
    RankingError
        As `borda`.

    See Also
    --------
    borda : Points instead of ranks.

    Examples
    --------
    >>> from rankcorr.aggregate import mean_rank
    >>> juries = {"first": {"ant": 3, "bee": 2, "cat": 1}, "second": {"bee": 9, "cat": 4}}
    >>> mean_rank(juries, missing="bottom").scores
    {'ant': 2.0, 'bee': 1.5, 'cat': 2.5}
    """
    inputs = _read(rankings, weights, missing)
    return _of_scores(inputs, inputs.means(inputs.ranks), "mean_rank", coefficient, descending=False)


def reciprocal_rank_fusion(
    rankings: ManyRankings,
    *,
    k: float = 60,
    weights: Mapping[Any, float] | Sequence[float] | None = None,
    missing: Absent = "raise",
    coefficient: CoefficientLike = "tau_w",
) -> MergedRanking:
    """Merge rankings by the sum of 1 / (k + rank).

    Parameters
    ----------
    rankings, weights, coefficient
        As in `borda`.
    k : float, default 60
        Larger numbers give the first ranks less weight; not negative.
    missing : {"raise", "intersection", "bottom", "skip"}
        As in `borda`; with "skip", as in the paper, a ranking adds nothing to an item that it lacks.

    Returns
    -------
    MergedRanking
        Its scores are the sums for weights with the mean 1.

    Raises
    ------
    RankingError
        As `borda`; `OptionError` for k.

    See Also
    --------
    borda : Points that fall evenly from the first rank to the last.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods, SIGIR 2009.

    Examples
    --------
    >>> from rankcorr.aggregate import reciprocal_rank_fusion
    >>> merged = reciprocal_rank_fusion([[3, 2, 1], [2, 3, 1]])
    >>> {item: round(score, 5) for item, score in merged.scores.items()}
    {0: 0.03252, 1: 0.03252, 2: 0.03175}
    """
    offset = checked_offset(k)
    inputs = _read(rankings, weights, missing)
    terms = inputs.weights[:, np.newaxis] * len(inputs.names) / (offset + inputs.ranks)
    sums = np.array([math.fsum(column) for column in np.nan_to_num(terms).T.tolist()])
    return _of_scores(inputs, sums, "reciprocal_rank_fusion", coefficient)


def checked_offset(k: object) -> float:
    """Return the offset of reciprocal rank fusion as a float, or raise OptionError."""
    offset = real_number(k)
    if not (math.isfinite(offset) and offset >= 0):
        raise OptionError(f"k must be a finite number, not negative; got {shown(k)}")
    return offset


def _of_scores(
    inputs: Inputs, values: Matrix, method: str, coefficient: CoefficientLike, *, descending: bool = True
) -> MergedRanking:
    ranking = inputs.rank(values, descending=descending)
    scores = dict(zip(_items(ranking), values.tolist(), strict=True))
    return merge_result(inputs, ranking, method, coefficient, scores=scores)


def kemeny(
    rankings: ManyRankings,
    *,
    weights: Mapping[Any, float] | Sequence[float] | None = None,
    missing: Absent = "raise",
    coefficient: CoefficientLike = "tau_w",
) -> MergedRanking:
    """Merge rankings into the order with the fewest discordant pairs (Kemeny's rule).

    The result has no ties. If several orders are equally good, the last place goes to the item that `borda` places
    lowest, and so on upwards; if `borda` ties items, to the last of them in the rankings.
    Items are first split into blocks: a majority prefers each item of a block to each item of the next. The best orders
    of the blocks make the best order of all. Up to 12 items of a block are ordered by dynamic programming, and up to 60
    by an integer program, for at most 30 s, which returns any one of equally good orders. For more items, or when time
    runs out, items are moved to better places until no move helps, and `MergedRanking.exact` is False.

    Parameters
    ----------
    rankings, weights, coefficient
        As in `borda`.
    missing : {"raise", "intersection", "bottom", "skip"}
        As in `borda`; with "skip" a ranking counts for pairs of its own items.

    Returns
    -------
    MergedRanking
        Its objective is the weighted mean number of pairs that a ranking orders otherwise; a tie counts
        half.

    Raises
    ------
    RankingError
        As `borda`.

    See Also
    --------
    consensus : The same with more weight at the top.

    References
    ----------
    J. G. Kemeny, Mathematics without numbers, Daedalus 88 (1959).

    A. Ali and M. Meilă, Experiments with Kemeny ranking: What works when?, Mathematical Social Sciences 64 (2012).

    Examples
    --------
    >>> from rankcorr import Ranking
    >>> from rankcorr.aggregate import kemeny
    >>> orders = [["ant", "bee", "cat"], ["bee", "cat", "ant"], ["bee", "ant", "cat"]]
    >>> merged = kemeny([Ranking.from_order(order) for order in orders])
    >>> merged.ranking, round(merged.objective, 4), merged.exact
    (<Ranking of 3 items, 0 tied: 'bee' 1, 'ant' 2, 'cat' 3>, 0.6667, True)
    """
    inputs = _read(rankings, weights, missing)
    costs, ties = _pair_costs(inputs)
    first = _borda_order(inputs)
    order, exact = search.best_order(costs[np.ix_(first, first)])
    ranks = np.empty(len(first))
    ranks[first[order]] = np.arange(1.0, len(first) + 1)
    sorted_costs = costs[np.ix_(first[order], first[order])]
    objective = float(np.triu(sorted_costs, 1).sum() + ties)
    ranking = Ranking.from_ranks(ranks, inputs.labels)
    return merge_result(inputs, ranking, "kemeny", coefficient, scores=None, objective=objective, exact=exact)


def _borda_order(inputs: Inputs) -> NDArray[np.intp]:
    points = inputs.means(inputs.sizes - inputs.ranks)
    return np.argsort(-np.round(points, DECIMALS), kind="stable")


def _pair_costs(inputs: Inputs) -> tuple[Matrix, float]:
    """Share of rankings that contradict each pair, if the row is above the column, and half the share of ties."""
    n_items, ties = inputs.ranks.shape[1], 0.0
    costs = np.zeros((n_items, n_items))
    for ranks, weight in zip(inputs.ranks, inputs.weights, strict=True):
        costs += weight * (ranks[:, np.newaxis] > ranks)
        is_tied = ranks[:, np.newaxis] == ranks
        ties += weight * np.count_nonzero(np.triu(is_tied, 1)) / 2
    return np.round(costs, DECIMALS), ties


def consensus(
    rankings: ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    weights: Mapping[Any, float] | Sequence[float] | None = None,
    missing: Absent = "raise",
    progress: Progress = silent,
) -> MergedRanking:
    """Merge rankings into the one with the largest mean correlation with them, by default tau_w: the top counts most.

    The result may have ties. Up to 7 items, all orders with ties are compared. For more, a local search begins with the
    best ten of these: the order of `borda`, the same after moves of items by `kemeny`'s criterion, and the rankings
    themselves. It moves and exchanges items until nothing helps, and `MergedRanking.exact` is False. The time of the
    search grows as the third power of the number of items.
    docs/results/speed.md has times, and how often the search misses the best ranking.

    Parameters
    ----------
    rankings : mapping of name to ranking, list of rankings, matrix of scores, or data frame
        As in `borda`. A ranking is x, and the result y, in a coefficient that treats them differently.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Coefficient whose mean is maximized, such as ``TauW(n0=10)``.
    weights : mapping of name to float, or sequence of float, optional
        Weight of each ranking in the mean; by default all are equal.
    missing : {"raise", "intersection", "bottom", "skip"}
        As in `borda`; with "skip" the coefficient of a ranking is over its own items.
    progress : callable
        Called with the number of rankings that each step has compared with the inputs.

    Returns
    -------
    MergedRanking
        Its objective is the mean. A ranking without a correlation, because all its items are tied, is left out of the
        mean.

    Raises
    ------
    RankingError
        As `borda`.

    Warns
    -----
    UndefinedCorrelationWarning
        All items of a ranking are tied; if this is so in each of them, the result is a single tie.

    See Also
    --------
    kemeny : All pairs have equal weights.
    rankcorr.weighted_tau : The coefficient.

    Examples
    --------
    >>> from rankcorr import Ranking
    >>> from rankcorr.aggregate import consensus, kemeny
    >>> orders = ["abcdef", "abdcfe", "bacfed"]
    >>> merged = consensus([Ranking.from_order(list(order)) for order in orders])
    >>> merged.ranking, round(merged.objective, 4), merged.exact
    (<Ranking of 6 items, 6 tied: 'a' 1.5, 'b' 1.5, 'c' 3.5, 'd' 3.5, 'e' 5.5, ...>, 0.8098, True)
    """
    inputs = _read(rankings, weights, missing)
    coefficient_value = as_coefficient(coefficient)
    n_items = inputs.ranks.shape[1]
    every = search.weak_orders(n_items) if n_items <= MOST_ENUMERATED else _starts(inputs)
    values = _agreements(coefficient_value, inputs.ranks, every)
    is_useful = ~np.isnan(values).all(axis=1) & (inputs.weights > 0)
    shares = inputs.weights[is_useful] / max(float(inputs.weights[is_useful].sum()), math.ulp(0.0))

    def mean_agreements(candidates: Matrix) -> Matrix:
        means = shares @ _agreements(coefficient_value, inputs.ranks[is_useful], candidates)
        progress(len(candidates))
        return np.asarray(np.where(np.isnan(means), -math.inf, means))

    if not is_useful.any():
        best, objective = np.full(n_items, (n_items + 1) / 2), math.nan
    elif n_items <= MOST_ENUMERATED:
        best, objective = search.largest_candidate(mean_agreements(every), every)
    else:
        means = mean_agreements(every)
        starts = np.argsort(-np.round(means, DECIMALS), kind="stable")[:N_STARTS]
        climbed = [search.climb(mean_agreements, every[start], float(means[start])) for start in starts]
        best, objective = max(climbed, key=lambda result: round(result[1], DECIMALS))
    ranking = Ranking.from_ranks(best, inputs.labels)
    is_exact = n_items <= MOST_ENUMERATED
    return merge_result(
        inputs, ranking, "consensus", coefficient_value, scores=None, objective=objective, exact=is_exact
    )


def _starts(inputs: Inputs) -> Matrix:
    """Return rankings from which a search begins: the order of `borda`, the same after moves, and the inputs."""
    by_points = _borda_order(inputs)
    costs, _ = _pair_costs(inputs)
    by_pairs = by_points[search.order_by_moves(costs[np.ix_(by_points, by_points)])]
    ranks = np.argsort([by_points, by_pairs], axis=1) + 1.0
    completed = np.where(inputs.is_present, inputs.ranks, math.inf)
    return np.concatenate([ranks, midrank_rows(completed, descending=False)[0]])


def first_labels(labels: set[Any]) -> str:
    """A few labels for a message."""
    return first_few(sorted(map(shown, labels)))


MERGE_METHODS: Final[Mapping[str, Callable[..., MergedRanking]]] = {
    function.__name__: function for function in (borda, mean_rank, reciprocal_rank_fusion, kemeny, consensus)
}
OFFSET_METHOD: Final = reciprocal_rank_fusion.__name__


def merge(
    rankings: ManyRankings, method: str, *, k: float | None = None, progress: Progress = silent, **options: Any
) -> MergedRanking:
    """Merge rankings by the function of this name; only reciprocal rank fusion takes `k`, only `consensus` is slow.

    Raises
    ------
    RankingError
        `OptionError` for an unknown method, or k of another one; and the errors of the function.
    """
    check_choice("method", method, tuple(MERGE_METHODS))
    if k is not None and method != OFFSET_METHOD:
        raise OptionError(f"k is an option of {OFFSET_METHOD}; {method} does not have it")
    if method == consensus.__name__:
        options["progress"] = progress
    return MERGE_METHODS[method](rankings, **options, **({} if k is None else {"k": k}))
