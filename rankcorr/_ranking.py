"""Scores, ranks and orders become a `Ranking`, and two rankings are matched by label: validation ends here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr import _checks as checks
from rankcorr import errors
from rankcorr._input.frames import FrameColumns, has_names, is_rank_column, python_values
from rankcorr._input.identifiers import (
    WHOLE_TIMES,
    identifier_text,
    inexact_times,
    is_array,
    plain_times,
    type_twins,
    warn_unicode_twins,
)
from rankcorr._input.scores import (
    Positions,
    Ranks,
    ScoresLike,
    check_count,
    checked_numbers,
    is_masked,
    kernel_array,
    midranks,
    sortable,
    split_labels,
)

Missing: TypeAlias = Literal["raise", "intersection", "bottom", "gold"]

MISSING: Final[tuple[Missing, ...]] = get_args(Missing)


class Ranking:
    """Items ranked from best to worst; an immutable vector of mid-ranks, with labels if the items have names.

    Create one with `Ranking.from_scores`, `Ranking.from_ranks` or `Ranking.from_order`, which differ in the meaning of
    the input. Calling the class itself is an error, because numbers alone could be any of the three.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n_items,), read-only
        Mid-ranks: 1 is the top, and tied items share the mean of the positions that they occupy.
    labels : tuple of hashable, or None
        Names of the items, in the order of `ranks`.
    best_first : ndarray of int32, shape (n_items,), read-only
        Positions of the items from best to worst; tied items in any order. Positions count from 0 and are neither
        ranks nor an order of labels: ``ranks[best_first]`` ascends.
    n_ties : int
        Number of items that share their rank with another item.
    scores : ndarray of shape (n_items,), read-only, or None
        The scores that the ranking was made from, unrounded and of any type of number, in the order of `ranks`. None
        if it was made from ranks or an order, or if `align` added items. Equal rankings may have different scores.

    See Also
    --------
    align : Match two rankings by label.
    weighted_tau : Correlate two rankings.

    Examples
    --------
    >>> from rankcorr import Ranking
    >>> Ranking.from_scores({"apple": 0.9, "pear": 0.4, "plum": 0.4}).ranks
    array([1. , 2.5, 2.5])
    """

    __slots__ = ("_scores", "best_first", "labels", "n_ties", "ranks")
    ranks: Ranks
    best_first: Positions
    n_ties: int
    labels: tuple[Hashable, ...] | None
    _scores: NDArray[Any] | None

    def __init__(self, *_args: object, **_options: object) -> None:
        raise TypeError(
            "numbers alone do not make a ranking: use Ranking.from_scores (larger is better), "
            "Ranking.from_ranks (1 is the top) or Ranking.from_order (labels, best first)"
        )

    @classmethod
    def unchecked(
        cls,
        ranks: Ranks,
        best_first: Positions,
        n_ties: int,
        labels: tuple[Hashable, ...] | None = None,
        scores: NDArray[Any] | None = None,
    ) -> Ranking:
        """Make a ranking of ranks, `best_first`, `n_ties` and scores that are known to agree; only for this library.

        The arrays become read-only; they are not copied.
        """
        ranks.setflags(write=False)
        best_first.setflags(write=False)
        ranking = object.__new__(cls)
        fill = object.__setattr__
        fill(ranking, "ranks", ranks)
        fill(ranking, "best_first", best_first)
        fill(ranking, "n_ties", n_ties)
        fill(ranking, "labels", labels)
        fill(ranking, "_scores", scores)
        return ranking

    @classmethod
    def from_scores(cls, scores: ScoresLike, labels: Iterable[Hashable] | None = None) -> Ranking:
        """Rank items by their scores: the largest score is the top.

        Parameters
        ----------
        scores : array_like of shape (n_items,), or mapping of label to score
            Real numbers of any kind; infinite ones are valid. A pandas Series is labelled by its index, even by a
            default one; series of polars and pyarrow have no labels.
        labels : iterable of hashable, optional
            Unique names of the items, in the order of `scores`.

        Raises
        ------
        RankingError
            One of its subclasses: `MissingValueError` for nan, `DimensionError`, `TooFewItemsError`,
            `NonNumericError`, `LengthError`, `DuplicateLabelError`, `LabelError`, and `OptionError` for labels given
            twice or a `Ranking`.

        Examples
        --------
        >>> Ranking.from_scores([0.2, 0.7, 0.7]).ranks
        array([3. , 1.5, 1.5])
        """
        return cls._from_numbers(scores, labels, noun="score", descending=True)

    @classmethod
    def from_ranks(cls, ranks: ScoresLike, labels: Iterable[Hashable] | None = None) -> Ranking:
        """Rank items by numbers: the smallest is the top.

        Competition ranks (1, 2, 2, 4), dense ranks (1, 2, 2, 3) and any others are turned into mid-ranks.

        Parameters
        ----------
        ranks : array_like of shape (n_items,), or mapping of label to rank
            Real numbers, smaller is better.
        labels : iterable of hashable, optional
            Unique names of the items, in the order of `ranks`.

        Raises
        ------
        RankingError
            As `Ranking.from_scores`.

        Examples
        --------
        >>> Ranking.from_ranks([1, 2, 2, 4]).ranks
        array([1. , 2.5, 2.5, 4. ])
        """
        return cls._from_numbers(ranks, labels, noun="rank", descending=False)

    @classmethod
    def from_order(cls, order: Iterable[Any]) -> Ranking:
        """Rank labels that are listed from best to worst; a nested list or set is a group of ties, a tuple a label.

        Parameters
        ----------
        order : iterable of labels and groups of labels
            Best first. A tuple is one label, such as a pair of words.

        Raises
        ------
        RankingError
            One of its subclasses: `TooFewItemsError`, `DuplicateLabelError`, `LabelError` for an empty group or an
            unhashable label, `DimensionError` for a string, a set or a mapping, which have no order.

        Examples
        --------
        >>> ranking = Ranking.from_order(["apple", ["pear", "plum"], "quince"])
        >>> dict(zip(ranking.labels, ranking.ranks.tolist()))
        {'apple': 1.0, 'pear': 2.5, 'plum': 2.5, 'quince': 4.0}
        """
        if _is_no_list(order):
            raise errors.DimensionError(f"order must be a list of labels, best first; got {checks.shown(order)}")
        if isinstance(order, np.ndarray) and (order.ndim != 1 or order.dtype.kind == "V" or is_masked(order)):
            raise errors.DimensionError(
                f"an order has one dimension and plain labels; got an array of {order.dtype}, shape {order.shape}"
            )
        order = python_values(order)
        labels: list[Hashable] = []
        ranks: list[float] = []
        for position, entry in enumerate(order):
            group = list(entry) if isinstance(entry, list | Set) else [entry]
            if not group:
                raise errors.LabelError(f"order[{position}] is an empty group of ties")
            ranks += [len(ranks) + (len(group) + 1) / 2] * len(group)
            labels += group
        return cls.from_ranks(ranks, checked_labels(labels, len(labels)))

    @classmethod
    def _from_numbers(
        cls, numbers_: ScoresLike, labels: Iterable[Hashable] | None, *, noun: str, descending: bool, least: int = 1
    ) -> Ranking:
        if labels is None and type(numbers_) is np.ndarray and numbers_.ndim == 1 and numbers_.size > 1:
            # Most calls pass plain numbers, and the checks below would take as long as the ranking of 100 of them.
            kind = numbers_.dtype
            if kind in (np.float64, np.int64):
                ranks, best_first, n_ties = midranks(numbers_, descending=descending)
                largest = numbers_[best_first[0 if descending else -1]]  # or nan, which is sorted behind it
                if largest == largest:  # noqa: PLR0124
                    return cls.unchecked(ranks, best_first, n_ties, None, numbers_.copy() if descending else None)
        if isinstance(numbers_, Ranking):
            raise errors.OptionError("this is already a Ranking; use it as it is")
        keys, values = split_labels(numbers_, noun)
        if keys is not None and labels is not None:
            raise errors.OptionError(f"labels were given twice: as keys of the {noun}s and as the argument 'labels'")
        checked = checked_numbers(values, noun=noun, n_dimensions=1, labels=keys, least=least)
        names = keys if labels is None else labels
        ranks, best_first, n_ties = midranks(sortable(checked, noun), descending=descending)
        names = None if names is None else checked_labels(names, checked.size)
        scores = None if not descending else checked if isinstance(values, list | tuple) else checked.copy()
        return cls.unchecked(ranks, best_first, n_ties, names, scores)

    def take(self, positions: NDArray[np.integer[Any]], labels: tuple[Hashable, ...] | None = None) -> Ranking:
        """Return the ranking of some items, in a new order; they are ranked again, and ties stay ties. O(n_items).

        Parameters
        ----------
        positions : ndarray of int
            Positions of the items in this ranking, each at most once.
        labels : tuple, optional
            Labels of these items, if the caller already has them.

        Examples
        --------
        >>> Ranking.from_order(["ant", "bee", "cat"]).take(np.array([2, 0]))
        <Ranking of 2 items, 0 tied: 'ant' 1, 'cat' 2>
        """
        if labels is None and self.labels is not None:
            labels = tuple(self.labels[position] for position in positions.tolist())
        scores = None if self._scores is None else self._scores[positions]
        if positions.size == self.n_items:
            place = np.empty(self.n_items, np.int32)
            place[positions] = np.arange(self.n_items, dtype=np.int32)
            return Ranking.unchecked(self.ranks[positions], place[self.best_first], self.n_ties, labels, scores)
        place = np.full(self.n_items, -1, np.int32)
        place[positions] = np.arange(positions.size, dtype=np.int32)
        best_left = self.best_first[place[self.best_first] >= 0]
        best_first = place[best_left]
        # Ranks are at least 1: the first is a start.
        starts = np.flatnonzero(np.diff(self.ranks[best_left], prepend=0.0))
        sizes = np.diff(starts, append=positions.size)
        ranks = np.empty(positions.size)
        ranks[best_first] = np.repeat(starts + 0.5 * (sizes + 1), sizes)
        return Ranking.unchecked(ranks, best_first, int(sizes[sizes > 1].sum()), labels, scores)

    def extend(self, labels: Sequence[Hashable]) -> Ranking:
        """Return the ranking with further labels, tied below all of its items.

        The ranking must have labels, and the further labels must be new to it; neither is checked.

        Examples
        --------
        >>> Ranking.from_order(["ant", "bee"]).extend(["cat", "dog"])
        <Ranking of 4 items, 2 tied: 'ant' 1, 'bee' 2, 'cat' 3.5, 'dog' 3.5>
        """
        if not labels:
            return self
        n_items, n_more = self.n_items, len(labels)
        return Ranking.unchecked(
            np.append(self.ranks, np.full(n_more, n_items + 0.5 * (n_more + 1))),
            np.append(self.best_first, np.arange(n_items, n_items + n_more, dtype=np.int32)),
            self.n_ties + (n_more if n_more > 1 else 0),
            (*(self.labels or ()), *labels),
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Ranking is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Ranking is immutable")

    @property
    def scores(self) -> NDArray[Any] | None:
        """Scores that the ranking was made from."""
        return None if self._scores is None else kernel_array(self._scores)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.ranks.size

    def __len__(self) -> int:
        return self.n_items

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.ranks, other.ranks)

    def __hash__(self) -> int:
        return hash((self.labels, self.ranks.tobytes()))

    def __reduce__(self) -> tuple[Callable[..., Ranking], tuple[Any, ...]]:
        return Ranking.unchecked, (self.ranks, self.best_first, self.n_ties, self.labels, self._scores)

    def __repr__(self) -> str:
        first = np.argsort(self.ranks, kind="stable")[: checks.N_SHOWN + 1].tolist()
        names = [repr(self.labels[item]) if self.labels else f"[{item}]" for item in first]
        best = checks.first_few(
            [f"{name} {rank:g}" for name, rank in zip(names, self.ranks[first].tolist(), strict=True)]
        )
        return f"<Ranking of {self.n_items} items, {self.n_ties} tied: {best}>"


RankingLike: TypeAlias = Ranking | ScoresLike


def as_ranking(ranking: RankingLike) -> Ranking:
    """Return a `Ranking` unchanged, and read anything else as scores; a correlation needs two items."""
    if isinstance(ranking, Ranking):
        check_count(ranking.n_items)
        return ranking
    return Ranking._from_numbers(ranking, None, noun="score", descending=True, least=2)


def named_rankings(rankings: Mapping[Any, RankingLike], role: str) -> dict[Any, Ranking]:
    """Rankings by unique names, each in its own item order; errors name the ranking."""
    names = list(rankings.keys())
    check_names(names, role)
    parsed: dict[Any, Ranking] = {}
    for name in names:
        try:
            are_ranks = isinstance(rankings, FrameColumns) and is_rank_column(name)
            column: Any = rankings[name]
            parsed[name] = Ranking.from_ranks(column) if are_ranks else as_ranking(column)
        except errors.RankingError as error:
            raise type(error)(f"{role} {checks.shown(name)}: {error}") from error
        if are_ranks:
            checks.give_notice(
                f"column {name!r} is read as ranks (1 is best); rename it if larger numbers are better",
                errors.RankColumnWarning,
                stacklevel=5,
            )
    return parsed


def match_positions(rankings: Iterable[Ranking]) -> list[Ranking]:
    """Return rankings without the labels 0, 1, ..., by which pandas numbers rows, if one of them has no labels."""
    listed = list(rankings)
    if all(ranking.labels is not None for ranking in listed):
        return listed
    return [
        ranking
        if ranking.labels is None or has_names(ranking.labels, ())
        else Ranking.unchecked(ranking.ranks, ranking.best_first, ranking.n_ties, None, ranking.scores)
        for ranking in listed
    ]


def stacked(rankings: Sequence[Ranking]) -> tuple[Ranks, NDArray[np.int64]]:
    """Return the ranks of rankings in the same order of items, a row each, and their numbers of ties."""
    return kernel_array(np.array([ranking.ranks for ranking in rankings])), np.array(
        [ranking.n_ties for ranking in rankings]
    )


def _is_no_list(value: object) -> bool:
    is_mapping = hasattr(value, "keys") and not hasattr(value, "tolist")  # a series of pandas has both
    return is_mapping or isinstance(value, str | bytes | bytearray | Set) or not isinstance(value, Iterable)


def check_names(names: Collection[Hashable], role: str) -> None:
    """Refuse names of several things, each called `role`, that are repeated, or equal but for their types."""
    checks.check_unique(names, f"names of {role}s", errors.DuplicateLabelError)
    if twins := type_twins(names):
        message = checks.offending(f"names of {role}s differ only in their types", twins)
        raise errors.DuplicateLabelError(f"{message}; write all in one way, such as text")


def checked_labels(labels: Iterable[Hashable], n_items: int) -> tuple[Hashable, ...]:
    if _is_no_list(labels):
        raise errors.LabelError(f"labels must be a list of labels; got {checks.shown(labels)}")
    if isinstance(labels, np.ndarray) and (labels.ndim != 1 or labels.dtype.kind == "V" or is_masked(labels)):
        raise errors.LabelError(
            f"labels must be a list of labels; got an array of {labels.dtype}, shape {labels.shape}"
        )
    names = tuple(python_values(labels))
    kinds = set(map(type, names))
    if not kinds <= {str, int}:
        names = tuple(plain_times(names))
        kinds = set(map(type, names))
    if len(names) != n_items:
        raise errors.LengthError(f"every item needs one label; got {len(names)} labels for {n_items} items")
    try:
        distinct = set(names)
    except (TypeError, ValueError):  # numpy's for a duration without a unit
        raise errors.LabelError(
            checks.offending("labels must be hashable", filter(checks.is_unhashable, names))
        ) from None
    if len(distinct) < n_items:
        raise errors.DuplicateLabelError(
            checks.offending("labels must be unique; more than once", checks.repeated(names))
        )
    if any(map(is_array, kinds)):
        raise errors.LabelError(f"labels must be text or numbers, not arrays; got {checks.shown(names)}")
    if twins := [] if kinds in ({str}, {int}) else type_twins(names):
        message = checks.offending("labels differ only in their types", twins)
        raise errors.DuplicateLabelError(f"{message}; write all labels in one way, such as text")
    # Text and integers equal themselves: asking each of 10,000 labels would cost as much as their correlation.
    plain = kinds <= {str, int}
    nan = [] if plain else [position for position, name in enumerate(names) if not checks.equals_itself(name)]
    if nan:
        raise errors.LabelError(
            checks.offending("nan cannot be a label, because it does not equal itself; positions", nan)
        )
    if inexact := [] if plain else inexact_times(names):
        raise errors.LabelError(checks.offending(f"labels that are times {WHOLE_TIMES}; got", inexact))
    return names


def align(
    x: RankingLike, y: RankingLike, *, names: tuple[str, str] = ("x", "y"), missing: Missing = "raise"
) -> tuple[Ranking, Ranking]:
    """Return x and y as two rankings of the same items in the same order.

    Labelled rankings are matched by label, rankings without labels by position. The items are in the order of x.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    names : pair of str
        Names of the two in error messages.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has. "raise": raise an error. "intersection": leave them out and rank
        the others again. "bottom": keep all items, tie those that a ranking lacks below all that it has, and place the
        items that only y has last, in the order of y. "gold": keep the items of x, the gold ranking, tie those that y
        lacks below all that it has, and leave out those that only y has. Without labels there is nothing to match, and
        rankings must have the same length whatever `missing` is.

    Returns
    -------
    tuple of Ranking, Ranking

    Raises
    ------
    LabelError
        Only one of the two has labels.
    LabelMismatchError
        Some labels are in only one ranking, and `missing` is "raise".
    TooFewItemsError
        Fewer than two labels are in both, and `missing` is "intersection" or "gold".
    LengthError
        Rankings without labels that differ in length.
    OptionError
        The value of `missing` is unknown.

    See Also
    --------
    Ranking : How to create a ranking.
    coefficient_bounds : Bounds of a coefficient of lists that lack items.

    Examples
    --------
    >>> from rankcorr import Ranking, align
    >>> gold, system = Ranking.from_order(["ant", "bee", "cat"]), Ranking.from_order(["cat", "dog", "ant"])
    >>> for ranking in align(gold, system, missing="intersection"):
    ...     print(dict(zip(ranking.labels, ranking.ranks.tolist())))
    {'ant': 1.0, 'cat': 2.0}
    {'ant': 2.0, 'cat': 1.0}
    >>> for ranking in align(gold, system, missing="bottom"):
    ...     print(dict(zip(ranking.labels, ranking.ranks.tolist())))
    {'ant': 1.0, 'bee': 2.0, 'cat': 3.0, 'dog': 4.0}
    {'ant': 3.0, 'bee': 4.0, 'cat': 1.0, 'dog': 2.0}
    >>> align(gold, system, missing="gold")[1]
    <Ranking of 3 items, 0 tied: 'cat' 1, 'ant' 2, 'bee' 3>
    """
    return align_rankings(as_ranking(x), as_ranking(y), names=names, missing=missing)


def align_rankings(
    first: Ranking, second: Ranking, *, names: tuple[str, str] = ("x", "y"), missing: Missing = "raise", least: int = 2
) -> tuple[Ranking, Ranking]:
    """Do what `align` does for rankings that must have `least` items in common, one or two."""
    checks.check_choice("missing", missing, MISSING)
    if (first.labels is None) != (second.labels is None):
        first, second = match_positions((first, second))
    if (first.labels is None) != (second.labels is None):
        with_labels, without_labels = names if second.labels is None else names[::-1]
        raise errors.LabelError(
            f"{with_labels} has labels and {without_labels} has none, so their items cannot be matched: "
            "give both labels, or neither (a dict is labelled by its keys, a pandas Series by its index)"
        )
    if first.labels is None or second.labels is None:
        if first.n_items != second.n_items:
            raise errors.LengthError(
                f"rankings without labels must have the same length{needs_labels(missing)}; "
                f"{names[0]} has {first.n_items} items and {names[1]} has {second.n_items}"
            )
        return first, second
    if first.labels == second.labels:
        return first, second
    if first.n_items == second.n_items:
        with suppress(KeyError):  # of a label that the second ranking lacks
            return first, _in_order_of(first, second)
    second_labels = set(second.labels)
    x_only = [label for label in first.labels if label not in second_labels]
    if x_only or len(second.labels) > len(first.labels):
        known = set(first.labels)
        y_only = [label for label in second.labels if label not in known]
        _check_kinds(x_only, y_only, names)
        warn_unicode_twins((*first.labels, *y_only), "item", stacklevel=5)
        if missing == "raise":
            if x_only and y_only:
                lone = zip(names, (x_only, y_only), strict=True)
                parts = [checks.offending(f"labels in {name} only", labels) for name, labels in lone]
            else:
                longer, shorter = names if x_only else names[::-1]
                parts = [checks.offending(f"{longer} has labels that {shorter} lacks", x_only or y_only)]
            raise errors.LabelMismatchError(
                f'{"; ".join(parts)} (accept them with missing="intersection", missing="bottom" or missing="gold")'
            )
        if missing == "bottom":
            return first.extend(y_only), _in_order_of(first.extend(y_only), second.extend(x_only))
        if missing == "gold":
            return first, _in_order_of(first, _common_items(second, first, names[::-1], least).extend(x_only))
        first = _common_items(first, second, names, least)
    return first, _in_order_of(first, second)


def _check_kinds(x_only: Sequence[Hashable], y_only: Sequence[Hashable], names: tuple[str, str]) -> None:
    """Refuse labels that would match if whole numbers were text: 7 is "7" in a file."""
    if {*map(type, x_only)} == {*map(type, y_only)} == {str}:  # as nearly always
        return
    texts = {identifier_text(label): label for label in x_only}
    for label in y_only:
        twin = texts.get(identifier_text(label), label)
        if twin != label:
            raise errors.LabelMismatchError(
                f"label {checks.shown(twin)} of {names[0]} and label {checks.shown(label)} of {names[1]} differ only "
                "in their types: write all labels in one way, such as text"
            )


def n_missing(x: Ranking, y: Ranking, n_items: int) -> int:
    """Number of items in only one ranking, from the rankings before alignment and the number of items after it."""
    if x.labels == y.labels:
        return 0
    if n_items == x.n_items:  # perhaps "gold", which does not give the number of items in both
        return len(set(x.labels or ()) ^ set(y.labels or ()))
    # Of n_x + n_y items, those in both count twice; "intersection" leaves n_both, "bottom" n_both and the others.
    return abs(x.n_items + y.n_items - 2 * n_items)


def needs_labels(missing: Missing) -> str:
    """Part of a message on items without labels, which cannot be matched."""
    return "" if missing == "raise" else f" (missing={missing!r} needs labels, to know which items are missing)"


def _common_items(first: Ranking, second: Ranking, names: tuple[str, str], least: int) -> Ranking:
    """Items of the first ranking that are also in the second, ranked again."""
    both = set(second.labels or ())
    positions = [position for position, label in enumerate(first.labels or ()) if label in both]
    if len(positions) < least:
        raise errors.TooFewItemsError(
            f"{names[0]} and {names[1]} must have at least {'two labels' if least == 2 else 'one label'} in common; "
            f"they have {first.n_items} and {second.n_items} items, {len(positions)} in common"
        )
    return first.take(np.array(positions))


def _in_order_of(first: Ranking, second: Ranking) -> Ranking:
    """The items of the first ranking as the second ranks them, in the order of the first."""
    return second.take(positions_of(first.labels or (), second.labels or ()), first.labels)


def positions_of(labels: Sequence[Hashable], reference: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the position of each label in a reference, or raise KeyError.

    Examples
    --------
    >>> positions_of(["b", "a"], ["a", "b", "c"])
    array([1, 0])
    """
    place = dict(zip(reference, range(len(reference)), strict=True))
    # A loop in Python would take half of the time of a comparison of 100,000 labelled items.
    return np.fromiter(map(place.__getitem__, labels), np.intp, len(labels))
