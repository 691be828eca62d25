"""What leaving a voter out would change, before anybody does."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa

from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.results import votes_of
from adaptive.ledger.voters import excluded_voters, names_of
from adaptive.model.estimators import bradley_terry
from rankcorr import TauW

__all__ = ["ExclusionPreview", "exclusion_preview"]

_SHOWN: Final = 5


@dataclass(frozen=True)
class ExclusionPreview:
    """What leaving a voter out, or taking one back in, would change in the ranking by strengths.

    Attributes
    ----------
    voter : str
    excluded : bool
        Whether the voter is left out now.
    n_votes, n_others : int
        Votes of the voter, and of all others who count; who cannot say has not voted.
    tau_w : float
        Between the rankings with and without the voter.
    changes : tuple of (hashable, float, float)
        Items that would change their rank most, with the rank now and then; at most five.
    """

    voter: str
    excluded: bool
    n_votes: int
    n_others: int
    tau_w: float
    changes: tuple[tuple[Hashable, float, float], ...]


def exclusion_preview(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> ExclusionPreview:
    """What leaving a voter out would change, or taking back in one who is left out; nothing is changed.

    Raises
    ------
    LedgerError
        When the voter has no votes, or nobody else has.
    """
    excluded = excluded_voters(connection, info.id)
    name = names_of(connection, info)[voter_id]
    everybody = votes_of(connection, info, without=set(excluded) - {voter_id})
    others = votes_of(connection, info, without={*excluded, voter_id})
    n_votes = everybody.n_comparisons - others.n_comparisons
    if not n_votes or not others.n_comparisons:
        who = f"voter {name!r} has" if not n_votes else "all others who count have"
        raise LedgerError(f"{who} no votes: there is no difference to show")
    with_voter, without = bradley_terry(everybody).ranking, bradley_terry(others).ranking
    now, then = (without, with_voter) if voter_id in excluded else (with_voter, without)
    moved = np.abs(then.ranks - now.ranks)
    order = np.lexsort((now.ranks, -moved))[:_SHOWN]
    return ExclusionPreview(
        voter=name,
        excluded=voter_id in excluded,
        n_votes=n_votes,
        n_others=others.n_comparisons,
        tau_w=float(TauW()(with_voter, without)),
        changes=tuple(
            (info.items[place], float(now.ranks[place]), float(then.ranks[place]))
            for place in order.tolist()
            if moved[place]
        ),
    )
