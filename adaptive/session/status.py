"""Where a voting stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ProtocolStatus"]


@dataclass(frozen=True)
class ProtocolStatus:
    """Where a `BallotProtocol` stands.

    Attributes
    ----------
    state : {"ready", "open", "finished"}
        "ready": the ballot can be opened.
    ballot : int
        The ballot that is open or comes next; the last one when all are closed.
    n_ballots : int
    n_items, n_comparisons : int
        Of that ballot.
    n_answered : int
        Comparisons of that ballot that have a vote.
    n_silent_items : int
        Items of that ballot without any answer, which keep it from being closed.
    """

    state: Literal["ready", "open", "finished"]
    ballot: int
    n_ballots: int
    n_items: int
    n_comparisons: int
    n_answered: int
    n_silent_items: int
