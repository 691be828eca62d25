"""Systems that exchange their places, item by item: the draws behind the paired test and the leaderboard.

The null hypothesis is that systems are exchangeable: chance decided which system gave an item which place. If the
scores of the systems are on one scale, the scores themselves are exchanged, and the test is exact.

Often only the order of each system is known, and the scale behind it is not. Ranks are then exchanged on two scales,
and a test rejects only if it rejects on both:

- The scale of ranks: rank n of one system is as good as rank n of the other. This holds on average. But if one system
  fails on some items, all items below them move up in that system. Exchanged systems then look disordered, and the
  observed difference looks too large, because only the observed systems have no such disorder.
- The common scale: the systems agree as far as possible. The longest list of items that both have in the same order
  (the longest increasing subsequence; with ties, the heaviest chain of groups) takes the same places in both. The items
  between two of its members are spread evenly there. Failures then move no other item. But if two systems have little
  in common, the list is long by chance, and exchanged systems look disordered again.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, check_group_name, offending, repeated, shown
from rankcorr._coefficients import Coefficient, Pearson, scores_of, unit_rows
from rankcorr._input.frames import labelled_values, python_values
from rankcorr._input.identifiers import comparable
from rankcorr._input.numbers import order_codes
from rankcorr._ranking import Ranking
from rankcorr._workers import Draws, Values
from rankcorr.errors import OptionError
from rankcorr.inference._exchange_distribution import MAX_EXACT, ExchangeDistribution, all_swaps
from rankcorr.inference._resampling import ScoredItems, SortedItems, comes_after, quotients
from rankcorr.inference._standardization import standardize

Swap: TypeAlias = Literal["auto", "scores", "ranks"]

SWAPS: Final[tuple[Swap, ...]] = get_args(Swap)
BELOW_ALL: Final = np.iinfo(np.int64).max

# A choice that keeps every system in place, and one that swaps two systems.
STAY: Final = np.uint32(2**32 - 1)
GO: Final = np.uint32(0)

# The test for a common scale: its level, its number of exchanges, the number of places that a block of them moves
# (20 exchanges of 50 systems on 20,000 items would take 450 MB), and the number of points at which distribution
# functions are compared.
SCALE_LEVEL: Final = 0.01
N_SCALE_EXCHANGES: Final = 1_999
BLOCK_PLACES: Final = 1 << 17
MOST_CODES: Final = 256

Places: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = Places | Mapping[Hashable, int]
Choices: TypeAlias = NDArray[np.uint32]


class Scale(NamedTuple):
    """The places of all systems, from best to worst: system, item, and an ascending code; equal codes are ties."""

    systems: NDArray[np.int32]
    items: NDArray[np.int32]
    codes: Places

    @classmethod
    def of(cls, places: Values | Places, is_present: NDArray[np.bool_]) -> Scale:
        """Sort the places, shape (n_systems, n_items), of the items that each system has."""
        systems, items = np.nonzero(is_present)
        codes = np.unique(places[systems, items], return_inverse=True)[1].astype(np.int64)
        order = np.argsort(codes, kind="stable")
        return cls(systems[order].astype(np.int32), items[order].astype(np.int32), codes[order])

    def drop_item(self, item: int) -> Scale:
        """Return the scale without one item."""
        is_other = self.items != item
        items = self.items[is_other]
        return Scale(self.systems[is_other], items - (items > item), self.codes[is_other])


@dataclass(frozen=True, eq=False, slots=True)
class Exchange:
    """Gold and systems over the same items, with the places of all systems on one or two scales.

    Attributes
    ----------
    items : SortedItems
        Gold and the systems, in the order of gold.
    present : ndarray of int32, shape (n_systems, n_items), C order
        1 where the system has the item.
    scales : tuple of Scale
        One scale if scores are exchanged, two if ranks are.
    exponents : ndarray of float64, shape (n_systems,), or None
        Exponents of the maps that standardize the coefficients of each system; None leaves them unchanged.
    clusters : ndarray of intp, shape (n_items,), or None
        Number of the cluster of each item, in the order of gold; the cluster of the first item is 0. Systems exchange
        whole clusters. Clusters of one item each give the same random numbers as no clusters.
    """

    items: SortedItems
    present: NDArray[np.int32]
    scales: tuple[Scale, ...]
    exponents: Values | None = None
    clusters: NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls,
        coefficient: Coefficient,
        gold: Ranking,
        systems: Sequence[Ranking],
        codes: Places | None = None,
        present: NDArray[np.bool_] | None = None,
        clusters: NDArray[np.intp] | None = None,
    ) -> Exchange:
        """Return the exchange of scores if there are `codes`, and of ranks on both scales otherwise.

        `codes` are those of `codes_of_scores`, shape (n_systems, n_items); `present` marks the items of gold that each
        system has. A system has a rank for each item of gold; the items that it lacks must be tied in last place. A
        coefficient that compares scores gives a `ScoreExchange`.
        """
        clusters = clusters_at(clusters, gold.best_first)
        if isinstance(coefficient, Pearson):
            return ScoreExchange.of_scores(gold, systems, clusters, are_alike=codes is not None)
        items = SortedItems.of(coefficient, gold, systems)
        is_present = np.ones(items.y_halves.shape, bool) if present is None else present[:, gold.best_first]
        scales: tuple[Scale, ...]
        if codes is None:
            scales = find_scales(items.y_halves, is_present, items.x_keys)
        else:
            scales = (Scale.of(codes[:, gold.best_first], is_present),)
        return cls(items, is_present.astype(np.int32, order="C"), scales, clusters=clusters)

    def drop_item(self, item: int) -> Exchange:
        """Return the exchange without one item, given by its place in gold; all systems must have it."""
        items, present = self.items.drop_item(item), np.delete(self.present, item, axis=1)
        if len(self.scales) == 1:  # scores are exchanged
            scales: tuple[Scale, ...] = (self.scales[0].drop_item(item),)
        else:
            scales = find_scales(items.y_halves, present > 0, items.x_keys)
        clusters = clusters_at(self.clusters, np.arange(self.n_items) != item)
        return replace(self, items=items, present=present, scales=scales, clusters=clusters)

    @property
    def swap(self) -> str:
        """The exchanged values, "scores" or "ranks"."""
        return "scores" if len(self.scales) == 1 else "ranks"

    @property
    def n_items(self) -> int:
        """Number of items of gold."""
        return self.items.n_items

    @property
    def n_units(self) -> int:
        """Number of clusters; without clusters, number of items."""
        return self.n_items if self.clusters is None else int(self.clusters.max()) + 1

    def draw_choices(self, rng: np.random.Generator, size: int) -> Choices:
        """Draw random exchanges, shape (size, n_items, n_systems - 1)."""
        return self.spread_clusters(
            rng.integers(0, 2**32, (size, self.n_units, len(self.present) - 1), dtype=np.uint32)
        )

    def spread_clusters(self, choices: Choices) -> Choices:
        """Repeat the choice of each cluster for its items."""
        return choices if self.clusters is None else np.ascontiguousarray(choices[:, self.clusters])

    def observed(self) -> Values:
        """Return the coefficients of the systems before any exchange, computed by the same kernel as all others."""
        return np.asarray(self.coefficients_after(np.full((1, self.n_items, len(self.present) - 1), STAY))[0, 0])

    def coefficients_after(self, choices: Choices) -> Values:
        """Return the coefficients of all systems after these exchanges, shape (n_scales, len(choices), n_systems)."""
        from rankcorr.inference import _resampling_kernels as kernels

        items, (n_systems, n_items) = self.items, self.present.shape
        values = np.empty((len(self.scales), len(choices), n_systems))
        takers = np.empty((len(choices), n_systems, n_items), np.int32)
        owners = np.ascontiguousarray(np.argsort(-self.present, axis=0, kind="stable").T)
        kernels.permute_systems(choices, owners, self.present.sum(axis=0), takers)
        places = kernels.new_places(n_systems, n_items)
        memory = kernels.new_memory(n_items, int(items.x_keys[-1]) + 1)
        for scale, row in zip(self.scales, values, strict=True):
            kernels.exchanged_coefficients(
                takers, *scale, items.x_keys, self.present, items.formula(), places, memory, row
            )
        return standardize(values, self.exponents) if self.exponents is not None else values

    def net_shares(self, choices: Choices) -> Values:
        """Return the share of items that two systems keep minus the share that they exchange, from -1 to 1."""
        return np.asarray(2.0 * (choices[:, :, 0] > STAY // 2).mean(axis=1) - 1.0)

    def distances(self) -> Values:
        """Return the mean squared difference of the ranks of each two systems, shape (n_systems, n_systems).

        The mean is over the items that both have; nan without such items. Ranks are divided by the number of items, so
        that gold sets of different sizes have equal weight.
        """
        present = self.present.astype(np.float64)
        shares = self._rank_shares()
        squares = (shares**2) @ present.T
        with np.errstate(invalid="ignore"):
            return np.asarray(np.maximum(squares + squares.T - 2 * shares @ shares.T, 0) / (present @ present.T))

    def lower_distances(self) -> Values:
        """Return `distances` minus one standard error over the items; at least 0."""
        distances = np.empty((len(self.present), len(self.present)))
        shares = self._rank_shares()
        for system, row in enumerate(shares):
            both = self.present * self.present[system]
            squares, n_both = both * (shares - row) ** 2, both.sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                means = squares.sum(axis=1) / n_both
                variances = (both * (squares - means[:, np.newaxis]) ** 2).sum(axis=1) / n_both
                distances[system] = np.maximum(0, means - np.sqrt(variances / n_both))
        return distances

    def _rank_shares(self) -> Values:
        """Return ranks divided by the number of items; 0 where a system lacks the item."""
        return np.asarray(self.present * self.items.y_halves / (2 * self.present.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False, slots=True)
class ScoreExchange(Exchange):
    """Systems that exchange scores, for a coefficient that compares scores.

    Scores on different scales are standardized first, because the coefficient does not depend on the scale of a system.
    The test is then exact only in large samples, because the means and variances are estimated from the same items.

    Attributes
    ----------
    values : ndarray of float64, shape (n_systems, n_items)
        The exchanged numbers, in the order of gold.
    are_alike : bool
        Whether the systems share a scale, so that their scores are exchanged without standardization.
    """

    items: ScoredItems  # type: ignore[assignment]
    values: Values = field(kw_only=True)
    are_alike: bool = field(kw_only=True)

    @classmethod
    def of_scores(
        cls, gold: Ranking, systems: Sequence[Ranking], clusters: NDArray[np.intp] | None, *, are_alike: bool
    ) -> ScoreExchange:
        """Return the exchange of rankings with scores, over the same items; clusters are in the order of gold."""
        scores = np.array([scores_of(system, "a system")[gold.best_first] for system in systems])
        if are_alike:
            largest = float(np.abs(scores).max())
            values = scores / largest if largest > 0 else scores
        else:
            values = unit_rows(scores)
        present, items = np.ones(scores.shape, np.int32), ScoredItems.of(gold, systems)
        return cls(items, present, (), clusters=clusters, values=values, are_alike=are_alike)

    def drop_item(self, item: int) -> ScoreExchange:
        """Return the exchange without one item, given by its place in gold."""
        values = np.delete(self.values, item, axis=1)
        return replace(
            self,
            items=self.items.drop_item(item),
            present=np.delete(self.present, item, axis=1),
            clusters=clusters_at(self.clusters, np.arange(self.n_items) != item),
            values=values if self.are_alike else unit_rows(values),
        )

    @property
    def swap(self) -> str:
        """The exchanged values, "scores" or "standardized scores"."""
        return "scores" if self.are_alike else "standardized scores"

    def coefficients_after(self, choices: Choices) -> Values:
        """Return the coefficients of all systems after these exchanges, shape (1, len(choices), n_systems)."""
        exchanged = np.broadcast_to(self.values.T, (len(choices), self.n_items, len(self.values))).copy()
        for last in range(len(self.values) - 1, 0, -1):  # Fisher-Yates shuffle
            other = (choices[:, :, last - 1].astype(np.uint64) * np.uint64(last + 1)) >> np.uint64(32)
            others = other.astype(np.intp)[:, :, np.newaxis]
            values = exchanged[:, :, last : last + 1].copy()
            exchanged[:, :, last : last + 1] = np.take_along_axis(exchanged, others, axis=2)
            np.put_along_axis(exchanged, others, values, axis=2)
        exchanged -= exchanged.mean(axis=1, keepdims=True)
        squares = np.einsum("dis,dis->ds", exchanged, exchanged)
        scale = np.square(self.values - self.values.mean()).sum() / len(self.values)
        products = np.einsum("i,dis->ds", self.items.x, exchanged)
        shares = squares / scale if scale > 0 else squares
        return quotients(products / math.sqrt(scale or 1.0), np.ones(1), shares, self.n_items)[np.newaxis]


def find_scales(
    halves: NDArray[Any], is_present: NDArray[np.bool_], x_keys: NDArray[Any] | None = None
) -> tuple[Scale, Scale]:
    """Return the scale of ranks, divided by the number of items that a system has, and the common scale.

    The scales of two systems do not depend on which system comes first, nor on the order of items that are tied in
    gold. `x_keys` number the tied groups of gold.
    """
    shares = (halves - 1) / (2 * is_present.sum(axis=1, keepdims=True))
    # If several chains have the largest weight, the search returns one that depends on the order of the systems.
    step = 1
    if len(halves) == 2:
        keys = np.zeros(halves.shape[1], np.int64) if x_keys is None else x_keys
        first, second = (
            np.array([keys, *pair])[:, np.lexsort((*reversed(pair), keys))].T.ravel() for pair in (halves, halves[::-1])
        )
        step = -1 if comes_after(first, second) else 1
    common = common_scale(halves[::step], is_present[::step])[::step]
    return Scale.of(np.round(shares, 12), is_present), Scale.of(common, is_present)


def common_scale(halves: NDArray[Any], is_present: NDArray[np.bool_]) -> Values:
    """Return the places of all systems on the scale of the first one, shape (n_systems, n_items).

    `halves` ascend with the rank. Tied group c of the first system, from 0, has place c. Groups of another system that
    are in its heaviest chain with the first system take the place of their partner. Groups between two members of the
    chain are spread evenly over the groups that the first system has there, or over the gap if it has none.
    """
    from rankcorr.inference._resampling_kernels import heaviest_chain

    groups = np.zeros(halves.shape, np.int64)
    numbers = np.zeros(len(halves), np.int64)
    for system, row in enumerate(halves):
        ranks, groups[system, is_present[system]] = np.unique(row[is_present[system]], return_inverse=True)
        numbers[system] = ranks.size
    places = np.empty(halves.shape)
    places[0] = groups[0]
    for system in range(1, len(halves)):
        both = is_present[0] & is_present[system]
        cells, weights = np.unique(groups[0, both] * numbers[system] + groups[system, both], return_counts=True)
        first_groups, system_groups = np.divmod(cells, numbers[system])
        order = np.lexsort((-system_groups, first_groups))
        chain, length = np.empty(cells.size, np.int64), 0
        if cells.size:
            keys = first_groups[order], system_groups[order]
            length = heaviest_chain(*keys, weights[order], int(numbers[system]), chain)
        members = order[chain[:length][::-1]]
        first_ends = np.concatenate([[-1], first_groups[members], [numbers[0]]])
        system_ends = np.concatenate([[-1], system_groups[members], [numbers[system]]])
        number = np.arange(numbers[system])
        gap = np.searchsorted(system_ends, number, side="right") - 1
        after = number - system_ends[gap]
        share = (2 * after - 1) / (2 * np.maximum(1, np.diff(system_ends)[gap] - 1))
        n_between = np.diff(first_ends)[gap] - 1
        between = first_ends[gap] + 0.5 * (n_between > 0) + share * np.maximum(1, n_between)
        # Without rounding, places that are equal in theory would differ by about 1e-15.
        places[system] = np.round(np.where(after == 0, first_ends[gap], between), 9)[groups[system]]
    return places


def check_swap(coefficient: Coefficient, swap: Swap) -> None:
    """Raise an `OptionError` if `swap` is unknown, or exchanges ranks for a coefficient that compares scores."""
    check_choice("swap", swap, SWAPS)
    if swap == "ranks" and isinstance(coefficient, Pearson):
        raise OptionError('pearson compares scores, but swap="ranks" exchanges ranks; use swap="auto" or swap="scores"')


def on_one_scale(codes: Places) -> bool:
    """Test whether scores, as `codes_of_scores`, may come from one distribution; False if it rejects at level 0.01.

    The statistic is the largest difference between the distribution function of a system and the mean of all. It is
    compared with its values after exchanges: all exchanges of two systems with up to 12 items, otherwise up to 1,999
    random ones. If all systems have the same values without ties, the scores are ranks: the result is False, because
    exchanged ranks are no longer ranks.

    The exchanges depend on the scores alone, and neither on a seed nor on the order of the systems or items.
    """
    n_systems, n_items = codes.shape
    ascending = np.sort(codes, axis=1)
    if np.array_equal(ascending, np.broadcast_to(ascending[0], codes.shape)) and np.all(np.diff(ascending[0])):
        return False
    places = np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
    places = places[np.lexsort(np.sort(places, axis=1).T)]
    places = places[:, np.lexsort((*places, *np.sort(places, axis=0)))]
    counts = np.bincount(places.ravel())
    if counts.size > MOST_CODES:
        places = ((np.cumsum(counts) - counts) * MOST_CODES // places.size)[places]
    n_codes = int(places.max()) + 1
    pooled = np.cumsum(np.bincount(places.ravel(), minlength=n_codes))

    def distances(exchanges: NDArray[np.intp]) -> NDArray[np.intp]:
        # In whole numbers, to compare exactly: n_systems times the number of items up to each code.
        shape = (*exchanges.shape[:2], n_codes)
        cells = exchanges + n_codes * np.arange(len(exchanges) * n_systems).reshape(*shape[:2], 1)
        numbers = np.bincount(cells.ravel(), minlength=np.prod(shape)).reshape(shape)
        return np.asarray(np.abs(n_systems * np.cumsum(numbers, axis=2) - pooled).max(axis=(1, 2)))

    (observed,) = distances(places[np.newaxis])
    if n_systems == 2 and n_items <= MAX_EXACT:
        exchanges = np.where(all_swaps(n_items)[:, np.newaxis] == 1, places[::-1], places)
        return float(np.mean(distances(exchanges) >= observed)) > SCALE_LEVEL
    # Hoeffding's bound for each system and code rejects large differences without exchanges.
    if 2 * n_systems * n_codes * np.exp(-2 * (observed / n_systems) ** 2 / n_items) < SCALE_LEVEL / 10:
        return False
    rng, number = np.random.default_rng(n_items), 0
    block = max(1, min(20, BLOCK_PLACES // places.size))  # a test can stop after 20 exchanges at the earliest
    for start in range(0, N_SCALE_EXCHANGES, block):
        n_exchanges = min(block, N_SCALE_EXCHANGES - start)
        exchanges = rng.permuted(np.broadcast_to(places, (n_exchanges, *places.shape)), axis=1)
        number += int(np.count_nonzero(distances(exchanges) >= observed))
        if number > SCALE_LEVEL * N_SCALE_EXCHANGES:
            return True
    return False


def codes_of_scores(systems: Mapping[str, Ranking]) -> list[Codes]:
    """Return the scores of all systems as whole numbers, from 0 for the best; equal scores have equal codes.

    The codes of a labelled system are by label. The names of the systems are for the error message.

    Raises
    ------
    OptionError
        A system has no scores.
    """
    arrays = []
    for name, system in systems.items():
        if system.scores is None:
            raise OptionError(f'swap="scores" exchanges scores, but {name} has only ranks; give its scores')
        arrays.append(system.scores)
    if len({array.dtype for array in arrays}) > 1:  # numpy would round integers to floats
        arrays = [array.astype(object) for array in arrays]
    places = order_codes(np.concatenate(arrays), "score")
    parts = np.split(places.max() - places, np.cumsum([array.size for array in arrays])[:-1])
    return [
        part if system.labels is None else dict(zip(system.labels, part.tolist(), strict=True))
        for part, system in zip(parts, systems.values(), strict=True)
    ]


def codes_of_items(codes: Codes, labels: Sequence[Hashable] | None) -> Places:
    """Return the codes of the items of gold; an item that the ranking lacks comes after all scores of all rankings."""
    if isinstance(codes, Mapping):
        return np.array([codes.get(label, BELOW_ALL) for label in labels or ()], np.int64)
    return codes


def draw_exchanges(pairs: Sequence[Sequence[Exchange]], draws: Draws) -> list[ExchangeDistribution]:
    """Return the difference of each pair of systems, summed over gold sets, with its values after exchanges.

    All exchanges are enumerated if a pair has at most `MAX_EXACT` items, or clusters, in all; otherwise they are drawn.
    """
    sizes = [[exchange.n_units for exchange in pair] for pair in pairs]
    are_exact = [sum(size) <= MAX_EXACT for size in sizes]
    large_pairs = [pair for pair, is_exact in zip(pairs, are_exact, strict=True) if not is_exact]
    n_items = max((sum(exchange.n_items for exchange in pair) for pair in pairs), default=1)
    blocks = draws.in_blocks(partial(_draw_block, large_pairs), 2 * n_items) if large_pairs else []
    random_values = iter(np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True))
    distributions = []
    for pair, size, is_exact in zip(pairs, sizes, are_exact, strict=True):
        if is_exact:
            swaps = np.split(all_swaps(sum(size))[:, :, np.newaxis], np.cumsum(size)[:-1], axis=1)
            choices = [np.where(part == 1, GO, STAY) for part in swaps]
            parts = [exchange.spread_clusters(part) for exchange, part in zip(pair, choices, strict=True)]
            values = _differences_after(pair, parts)
        else:
            values = next(random_values)
        first, second = np.sum([exchange.observed() for exchange in pair], axis=0).tolist()
        distributions.append(ExchangeDistribution(first - second, values[:-1], values[-1], is_exact))
    return distributions


def _draw_block(pairs: Sequence[Sequence[Exchange]], rng: np.random.Generator, size: int) -> list[Values]:
    """Draw the same choices for pairs with the same numbers of items, so that equal systems have equal p-values."""
    state, values = rng.bit_generator.state, []
    for pair in pairs:
        rng.bit_generator.state = state
        values.append(_differences_after(pair, [exchange.draw_choices(rng, size) for exchange in pair]))
    return values


def _differences_after(pair: Sequence[Exchange], choices: Sequence[Choices]) -> Values:
    """Return the differences of two systems on each scale and the net shares, shape (n_scales + 1, n_exchanges)."""
    parts = list(zip(pair, choices, strict=True))
    values = np.sum([exchange.coefficients_after(part) for exchange, part in parts], axis=0)
    net_shares = np.mean([exchange.net_shares(part) for exchange, part in parts], axis=0)
    return np.vstack([values[:, :, 0] - values[:, :, 1], net_shares])


def clusters_at(clusters: NDArray[np.intp] | None, places: NDArray[Any]) -> NDArray[np.intp] | None:
    """Return the clusters of the items at some places, renumbered from 0 in order of first occurrence.

    Examples
    --------
    >>> clusters_at(np.array([5, 7, 2, 7]), np.array([1, 2, 3, 0]))
    array([0, 1, 0, 2])
    """
    if clusters is None:
        return None
    firsts, numbers = np.unique(clusters[places], return_index=True, return_inverse=True)[1:]
    return np.asarray(np.argsort(np.argsort(firsts))[numbers])


def clusters_of_items(clusters: Any, labels: Sequence[Hashable] | None, n_items: int) -> NDArray[np.intp] | None:
    """Return the number of each item's cluster, from 0, or None; `clusters` is as in `names_of_items`."""
    if clusters is None:
        return None
    names = names_of_items(clusters, labels, n_items, "cluster")
    numbers: dict[Hashable, int] = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.intp)


def names_of_items(parts: Any, labels: Sequence[Hashable] | None, n_items: int, role: str) -> list[Hashable]:
    """Return the name of the cluster, or another part, that each item belongs to.

    If the items have labels, `parts` is a mapping of label to name, or a series with labels; otherwise it is a sequence
    in the order of the items. `role` is the word for a part in messages, such as "cluster".

    Raises
    ------
    OptionError
        `parts` is anything else, or an item has no part.
    """
    if labels is not None:
        by_label = parts if isinstance(parts, Mapping) else labelled_values(parts)
        if by_label is None:
            raise OptionError(f"{role}s must be a mapping of label to {role}; got {shown(parts)}")
        ids, keys = comparable(labels, by_label)  # JSON has text keys, even for an item 7
        by_id = dict(zip(keys, by_label.values(), strict=True))
        if duplicates := repeated(keys):
            raise OptionError(offending(f"every item needs one {role}; with more", duplicates))
        if lacking := [label for label, identifier in zip(labels, ids, strict=True) if identifier not in by_id]:
            raise OptionError(offending(f"every item needs a {role}; without one", lacking))
        names = [by_id[identifier] for identifier in ids]
    else:
        is_sequence = hasattr(parts, "__len__") and not isinstance(parts, str | bytes | Mapping | Set)
        if not is_sequence or len(parts) != n_items:
            raise OptionError(f"{role}s must be a sequence of {n_items:,} {role}s, one for each item")
        names = list(python_values(parts))
    for name in names:
        check_group_name(name, role, "item")
    return names
