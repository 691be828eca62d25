"""What a fit assumes about votes, and votes as the loops take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model.comparisons import Comparisons
from rankcorr.checks import check_choice, shown
from rankcorr.results import Result

Array: TypeAlias = NDArray[Any]
Link: TypeAlias = Literal["logistic", "normal"]
TiesModel: TypeAlias = Literal["davidson", "half"]

TIES: Final = ("davidson", "half")


@dataclass(frozen=True, eq=False)
class VoteModel(Result):
    """What is fitted to the votes.

    Attributes
    ----------
    link : {"logistic", "normal"}
        Bradley-Terry or Thurstone.
    ties : {"davidson", "half"}
        Ties are an outcome of their own, or half a win for either side.
    voters : bool
        Every voter has a discrimination and an oversight of their own.
    side_bias : bool
        Voters prefer a side: one bias for all, or each their own if `voters`.
    """

    link: Link = "logistic"
    ties: TiesModel = "davidson"
    voters: bool = False
    side_bias: bool = False

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, TIES)
        for name in ("voters", "side_bias"):
            if not isinstance(getattr(self, name), bool):
                raise ModelError(f"{name} must be True or False; got {shown(getattr(self, name))}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Votes as the loops take them; a group is a voter where voters are modelled, else there is one for all."""

    left: Array
    right: Array
    winner: Array
    group: Array
    n_items: int
    n_groups: int
    model: VoteModel

    @property
    def half(self) -> bool:
        """Whether a tie is half a win for either side."""
        return self.model.ties == "half"


def rows_of(comparisons: Comparisons, model: VoteModel) -> Rows:
    """Return votes as the loops take them.

    Raises
    ------
    ModelError
        When voters are to be modelled but are not known.
    """
    group = np.zeros(comparisons.n_comparisons, np.int32)
    n_groups = 1
    if model.voters:
        if comparisons.voter is None:
            raise ModelError("voters=True needs votes whose voters are known; these have no column of voters")
        group, n_groups = comparisons.voter, max(1, comparisons.n_voters)
    group.flags.writeable = False  # as voters are: a loop is compiled anew for an array that may be written to
    return Rows(comparisons.left, comparisons.right, comparisons.winner, group, comparisons.n_items, n_groups, model)
