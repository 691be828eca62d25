"""Which pairs voters were shown: what nobody is to be asked again, whether it was answered or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.results import Result

__all__ = ["ShownPairs"]

Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class ShownPairs(Result):
    """Pairs of items that were shown, one row for each, as indices into the items and voters of `Comparisons`.

    Attributes
    ----------
    left, right : ndarray of int32, shape (n_pairs,), read-only
        Index of the item on either side.
    voter : ndarray of int32, shape (n_pairs,), read-only, or None
        Index of who was shown the pair; None where voters are not known.
    """

    left: Indices
    right: Indices
    voter: Indices | None = None

    def __post_init__(self) -> None:
        for column in (self.left, self.right, self.voter):
            if column is not None:
                column.flags.writeable = False

    def __len__(self) -> int:
        return self.left.size

    def followed_by(self, other: ShownPairs) -> ShownPairs:
        """These pairs and then those of the other, both with voters or both without."""
        voter = None
        if self.voter is not None and other.voter is not None:
            voter = np.concatenate([self.voter, other.voter])
        left, right = np.concatenate([self.left, other.left]), np.concatenate([self.right, other.right])
        return ShownPairs(left, right, voter)

    def renumbered(self, *, items: ArrayLike | None = None, voters: ArrayLike | None = None) -> ShownPairs:
        """The same pairs where the item (voter) of index k has the index ``items[k]`` (``voters[k]``)."""
        places = None if items is None else np.asarray(items, np.int32)
        casts = None if voters is None else np.asarray(voters, np.int32)
        return ShownPairs(
            self.left if places is None else places[self.left],
            self.right if places is None else places[self.right],
            self.voter if casts is None or self.voter is None else casts[self.voter],
        )

    def __repr__(self) -> str:
        return f"<ShownPairs: {len(self):,}>"
