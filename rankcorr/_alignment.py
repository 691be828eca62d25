"""Match two rankings, so that they hold the same items in the same order. Validation ends here."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rankcorr._checks import check_choice, offending
from rankcorr._ranking import Ranking, RankingLike, as_ranking
from rankcorr.errors import LabelError, LabelMismatchError, LengthError, TooFewItemsError

Missing: TypeAlias = Literal["raise", "intersection", "bottom", "gold"]

MISSING: Final[tuple[Missing, ...]] = get_args(Missing)


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
    check_choice("missing", missing, MISSING)
    first, second = as_ranking(x), as_ranking(y)
    if (first.labels is None) != (second.labels is None):
        with_labels, without = names if second.labels is None else names[::-1]
        raise LabelError(
            f"{with_labels} has labels and {without} has none, so their items cannot be matched: "
            "give both labels, or neither (a dict is labelled by its keys, a pandas Series by its index)"
        )
    if first.labels is None or second.labels is None:
        if first.n_items != second.n_items:
            raise LengthError(
                f"rankings without labels must have the same length{needs_labels(missing)}; "
                f"{names[0]} has {first.n_items} items and {names[1]} has {second.n_items}"
            )
        return first, second
    if first.labels == second.labels:
        return first, second
    place = dict(zip(second.labels, range(second.n_items), strict=True))
    if first.n_items == second.n_items:
        try:  # without a loop in Python: half of the time of a comparison of 100,000 labelled items
            found = np.fromiter(map(place.__getitem__, first.labels), np.intp, first.n_items)
        except KeyError:
            pass
        else:
            return first, second.take(found, first.labels)
    x_only = [label for label in first.labels if label not in place]
    if x_only or len(second.labels) > len(first.labels):
        known = set(first.labels)
        y_only = [label for label in second.labels if label not in known]
        if missing == "raise":
            if x_only and y_only:
                lone = zip(names, (x_only, y_only), strict=True)
                parts = [offending(f"labels in {name} only", labels) for name, labels in lone]
            else:
                longer, shorter = names if x_only else names[::-1]
                parts = [offending(f"labels in {longer} only, which {shorter} lacks", x_only or y_only)]
            raise LabelMismatchError(
                f"{'; '.join(parts)} (set missing to 'intersection', 'bottom' or 'gold' to accept them)"
            )
        if missing == "bottom":
            return first.extend(y_only), _in_order_of(first.extend(y_only), second.extend(x_only))
        if missing == "gold":
            return first, _in_order_of(first, _restricted(second, first, names[::-1]).extend(x_only))
        first = _restricted(first, second, names)
    return first, _in_order_of(first, second)


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


def _restricted(first: Ranking, second: Ranking, names: tuple[str, str]) -> Ranking:
    """Items of the first ranking that are also in the second, ranked again."""
    both = set(second.labels or ())
    kept = [position for position, label in enumerate(first.labels or ()) if label in both]
    if len(kept) < 2:
        raise TooFewItemsError(
            f"{names[0]} and {names[1]} must have at least two labels in common; "
            f"they have {first.n_items} and {second.n_items} items, {len(kept)} in common"
        )
    return first.take(np.array(kept))


def _in_order_of(first: Ranking, second: Ranking) -> Ranking:
    """The items of the first ranking as the second ranks them, in the order of the first."""
    place = {label: position for position, label in enumerate(second.labels or ())}
    return second.take(np.array([place[label] for label in first.labels or ()]), first.labels)
