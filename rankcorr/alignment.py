"""Two rankings become two over the same items in the same order; validation ends here."""

import numpy as np

from rankcorr.checks import offending
from rankcorr.errors import LabelError, LabelMismatchError, LengthError
from rankcorr.ranking import Ranking, RankingLike, as_ranking


def align(x: RankingLike, y: RankingLike, *, names: tuple[str, str] = ("x", "y")) -> tuple[Ranking, Ranking]:
    """Return x as a `Ranking`, and y as one in the item order of x.

    Labelled rankings are matched by label, rankings without labels by position.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    names : pair of str
        What error messages call the two.

    Raises
    ------
    LabelError
        Only one of the two has labels.
    LabelMismatchError
        Some labels are in one ranking only.
    LengthError
        Rankings without labels that differ in length.

    Examples
    --------
    >>> align({"a": 3, "b": 2, "c": 1}, {"c": 9, "b": 7, "a": 8})[1].ranks
    array([2., 3., 1.])
    """
    first = as_ranking(x)
    return first, aligned(first, as_ranking(y), names=names)


def aligned(first: Ranking, second: Ranking, *, names: tuple[str, str]) -> Ranking:
    """Return `second` in the item order of `first`."""
    if (first.labels is None) != (second.labels is None):
        with_labels, without = names if second.labels is None else names[::-1]
        raise LabelError(
            f"{with_labels} has labels and {without} has none, so their items cannot be matched: "
            "give both labels, or neither (a dict is labelled by its keys, a Series by its index)"
        )
    if first.labels is None or second.labels is None:
        if first.n_items != second.n_items:
            raise LengthError(
                f"rankings without labels must have the same length; {names[0]} has {first.n_items} items "
                f"and {names[1]} has {second.n_items}"
            )
        return second
    if first.labels == second.labels:
        return second
    place = {label: position for position, label in enumerate(second.labels)}
    missing = [label for label in first.labels if label not in place]
    if missing or len(second.labels) > len(first.labels):
        known = set(first.labels)
        extra = [label for label in second.labels if label not in known]
        parts = [(missing, names[0]), (extra, names[1])]
        raise LabelMismatchError(
            "; ".join(offending(f"labels in {name} only", labels) for labels, name in parts if labels)
        )
    return second._taken(np.array([place[label] for label in first.labels]))
