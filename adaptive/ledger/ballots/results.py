"""What a campaign has found: the paper's ranking, strengths fitted to all votes, and how sure they are."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.errors import VoteError
from adaptive.ledger.ballots.closing import scored, standing_after
from adaptive.ledger.ballots.draws import drawn_columns, stored_ballots
from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.campaign.status import by_item
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from adaptive.ledger.store.columns import integer_columns
from adaptive.ledger.store.encoding import guarded
from adaptive.ledger.voters.identity import excluded_voters, names_of
from adaptive.ledger.votes.casting import CANNOT_SAY, standing_votes
from adaptive.model.accuracy import Cut
from adaptive.model.columns import ShownPairs
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import bradley_terry
from adaptive.model.strengths import Strengths
from adaptive.plan import BallotPlan
from adaptive.record import ProtocolResult, places_best_first
from adaptive.tables import csv_text, item_cells, item_columns
from rankcorr import TauW
from rankcorr.results import TableResult
from rankcorr.workers import Progress

# Draws from the posterior of more items take a minute and more; standard errors alone would cost as much.
MOST_WITH_INTERVALS: Final = 3_000
_LEVEL: Final = 0.9
_NOBODY: Final = -1
_DIGITS: Final = 4  # of strengths, whose standard errors are of the order of 0.1 at best


@dataclass(frozen=True, eq=False, repr=False)
class CampaignResult(TableResult):
    """A ranking of all items, with its uncertainty.

    The table has one row for each item, best first: item and rank; then, of a campaign of ballots, ybar,
    presentations, wins, ties, losses and last_ballot, as `ProtocolResult` has them; then strength, and, up to 3,000
    items, standard_error, rank_low and rank_high (90 % interval) and in_top (the probability to be among the top k).

    Attributes
    ----------
    items : sequence of hashable
    paper : ProtocolResult or None
        The paper's scores, whose ranking decides on `rank`; None in a continuous campaign and before the last ballot
        is closed: then the strengths decide.
    strengths : Strengths
        Fitted to the votes that stand, of all voters who are not left out.
    top : int
        k of the cut that `cut` is about.
    cut : Cut or None
        Confidence of the cut after the top k; None above 3,000 items.
    expected : float or None
        Expected tau_w of the strengths' ranking with the true one.
    n_votes : int
    excluded : tuple of str
        Keys of the voters who were left out of the strengths.
    agreement : float or None
        tau_w of the strengths' ranking with the one that the votes of everybody give; None where nobody is left out.
    """

    items: Sequence[Hashable]
    paper: ProtocolResult | None
    strengths: Strengths
    top: int
    cut: Cut | None
    expected: float | None
    n_votes: int
    excluded: tuple[str, ...]
    agreement: float | None

    @property
    def ranking(self) -> Any:
        """The ranking: the paper's, or that of the strengths."""
        return self.strengths.ranking if self.paper is None else self.paper.ranking

    def rows(self) -> list[dict[str, Any]]:
        """The table row by row."""
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_csv(self, *, guard: bool = False) -> str:
        """The table as CSV; tuples have a column for each part.

        Parameters
        ----------
        guard : bool
            Whether labels that a spreadsheet would run as formulas have an apostrophe in front.
        """
        safe = guarded if guard else str
        columns = self._columns()
        items = columns.pop("item")
        rows = (
            [*map(safe, item_cells(item)), *cells]
            for item, *cells in zip(items, *map(_cells, columns.values()), strict=True)
        )
        return csv_text([*item_columns("item", items), *columns], rows)

    def _columns(self) -> dict[str, Sequence[Any]]:
        order = places_best_first(self.items, self.ranking.ranks)
        found: dict[str, Sequence[Any]] = {
            "item": [self.items[place] for place in order.tolist()],
            "rank": self.ranking.ranks[order].tolist(),
        }
        if self.paper is not None:
            for name in ("ybar", "presentations", "wins", "ties", "losses", "last_ballot"):
                found[name] = getattr(self.paper, name)[order].tolist()
        found["strength"] = self.strengths.theta[order].round(_DIGITS).tolist()
        if self.cut is not None:
            intervals = self.strengths.rank_intervals(_LEVEL)
            found["standard_error"] = self.strengths.standard_errors[order].round(_DIGITS).tolist()
            found["rank_low"] = intervals.low[order].tolist()
            found["rank_high"] = intervals.high[order].tolist()
            found["in_top"] = self.strengths.in_top(self.top).probability[order].tolist()
        return found

    def __repr__(self) -> str:
        sure = "" if self.cut is None else f", cut after {self.top} with confidence {self.cut.confidence:.2f}"
        return f"<CampaignResult of {len(self.items)} items, {self.n_votes:,} votes{sure}>"


@dataclass(frozen=True)
class ClosePreview:
    """What closing the open ballot now would do.

    Attributes
    ----------
    ballot, n_comparisons, n_answered : int
    least_answered : float
        Share of the comparisons that must be answered.
    silent : tuple of hashable
        Items without any answer but "cannot say", which keep the ballot from being closed.
    fewest : tuple of (hashable, int)
        The five items with the fewest answers, and how many they have.
    n_going_on : int
        Items of the next ballot; 0 after the last.
    n_tied_at_cut : int or None
        Items tied at the cut; None while there are silent items, and it cannot be closed.
    cut : Cut or None
        Confidence of the cut by the strengths; None after the last ballot, and above 3,000 items.
    """

    ballot: int
    n_comparisons: int
    n_answered: int
    least_answered: float
    silent: tuple[Hashable, ...]
    fewest: tuple[tuple[Hashable, int], ...]
    n_going_on: int
    n_tied_at_cut: int | None
    cut: Cut | None

    @property
    def is_ready(self) -> bool:
        """Whether it can be closed."""
        return self.n_tied_at_cut is not None and self.n_answered >= self.least_answered * self.n_comparisons


@dataclass(frozen=True, eq=False)
class Preview:
    """What closing now would do: the ballot of a plan, or all batches of a continuous campaign.

    Attributes
    ----------
    stamp : str
        Of the ballot at that moment; closing takes it.
    n_comparisons, n_answered : int
        Of the ballot, or of all batches.
    least_answered : float
        Share of the comparisons that must be answered.
    is_ready : bool
        Whether it can be closed.
    expected : float or None
        Expected tau_w of a continuous campaign's ranking with the true one; None without votes, and for a ballot.
    cut : Cut or None
        Confidence of the cut by the strengths.
    of_ballot : ClosePreview or None
        The items, and which of them the next ballot keeps; None for batches.
    """

    stamp: str
    n_comparisons: int
    n_answered: int
    least_answered: float
    is_ready: bool
    expected: float | None
    cut: Cut | None
    of_ballot: ClosePreview | None


def counted_votes(connection: sa.Connection, info: CampaignInfo) -> Comparisons:
    """The votes of `votes_of` by voters who are not left out."""
    return votes_of(connection, info, without=excluded_voters(connection, info.id))


def votes_of(connection: sa.Connection, info: CampaignInfo, *, without: Collection[int] = ()) -> Comparisons:
    """All votes that stand as `Comparisons`, in the order of ballots and comparisons; who cannot say has not answered.

    Its `unanswered` has the other comparisons that somebody has in hand.

    Parameters
    ----------
    without : collection of int
        Ids of voters who are left out.
    """
    answered, silent = [np.empty((4, 0), np.int64)], [np.empty((3, 0), np.int64)]
    n_asked = 0
    for stored in stored_ballots(connection, info.id):
        n_asked += stored.n_comparisons
        votes = standing_votes(connection, stored.id).without(without)
        says = votes.answer != CANNOT_SAY
        drawn = drawn_columns(connection, stored.id)
        place = votes.place[says]
        answered.append(np.stack([drawn.left[place], drawn.right[place], votes.answer[says], votes.voter[says]]))
        holder = _holders(connection, stored.id, int(drawn.sheet.max()) + 1)[drawn.sheet]
        holder[place] = _NOBODY
        rest = np.flatnonzero(holder != _NOBODY)
        silent.append(np.stack([drawn.left[rest], drawn.right[rest], holder[rest]]))
    left, right, winner, voter = np.concatenate(answered, axis=1)
    shown_left, shown_right, shown_to = np.concatenate(silent, axis=1)
    ids, index = np.unique(np.concatenate([voter, shown_to]), return_inverse=True)
    numbered: NDArray[np.int32] = index.astype(np.int32)
    names = names_of(connection, info)
    called = tuple(names[each] for each in ids.tolist())
    if len(set(called)) < len(called):  # a name may be another voter's key, or that of two sources
        called = tuple(f"{name} ({each})" for name, each in zip(called, ids.tolist(), strict=True))
    return Comparisons(
        info.items,
        left.astype(np.int32),
        right.astype(np.int32),
        winner.astype(np.int8),
        called,
        numbered[: left.size],
        n_asked - left.size,
        ShownPairs(shown_left.astype(np.int32), shown_right.astype(np.int32), numbered[left.size :]),
    )


def _holders(connection: sa.Connection, ballot_id: int, n_sheets: int) -> NDArray[np.int64]:
    """Id of whoever has each sheet."""
    found = np.full(n_sheets, _NOBODY)
    lease = schema.lease
    sheet, voter = integer_columns(
        connection,
        sa.select(lease.c.sheet, lease.c.voter_id).where(lease.c.ballot_id == ballot_id, lease.c.ended_at.is_(None)),
    )
    found[sheet] = voter
    return found


def result_of(
    connection: sa.Connection,
    info: CampaignInfo,
    *,
    interim: bool = False,
    top: int | None = None,
    progress: Progress | None = None,
) -> CampaignResult:
    """The ranking of all items; `interim` gives it at any time, by the strengths alone.

    Parameters
    ----------
    top : int or None
        k of the cut; None: the size of the last ballot, or a tenth of the items.
    progress : callable, optional
        That of `Strengths.drawn`.

    Raises
    ------
    LedgerError
        When not all ballots are closed and it is not to be an interim one, or there is no vote yet.
    """
    ballots = stored_ballots(connection, info.id)
    n_closed = sum(each.state == "closed" for each in ballots)
    paper = None
    if isinstance(info.plan, BallotPlan):
        if n_closed == info.plan.n_ballots:
            records, standing = standing_after(info, ballots)
            paper = ProtocolResult(info.plan, info.items, standing.mean, records)
        elif not interim:
            raise LedgerError(
                f"the result needs all {info.plan.n_ballots} ballots; {n_closed} are closed; an interim one goes by "
                f"strengths alone"
            )
    elif not interim and n_closed < max(1, len(ballots)):
        raise LedgerError("the campaign goes on: its ranking of now is an interim one")
    excluded = excluded_voters(connection, info.id)
    votes = votes_of(connection, info, without=excluded)
    if not votes.n_comparisons:
        raise LedgerError("there is no vote yet: nothing can be ranked")
    strengths = bradley_terry(votes)
    agreement = None
    if excluded:
        everybody = bradley_terry(votes_of(connection, info))
        agreement = float(TauW()(strengths.ranking, everybody.ranking))
    k = _top(info) if top is None else top
    small = info.n_items <= MOST_WITH_INTERVALS
    if small:
        strengths.drawn(progress=progress)
    return CampaignResult(
        items=info.items,
        paper=paper,
        strengths=strengths,
        top=k,
        cut=strengths.cut(k) if small else None,
        expected=strengths.expected_correlation(TauW()).mean if small else None,
        n_votes=votes.n_comparisons,
        excluded=tuple(sorted(excluded.values())),
        agreement=agreement,
    )


def preview_of(
    connection: sa.Connection,
    info: CampaignInfo,
    *,
    least_answered: float | None = None,
    progress: Progress | None = None,
) -> ClosePreview:
    """What closing the open ballot now would do; nothing is changed.

    Parameters
    ----------
    least_answered : float or None
        Share of the comparisons that must be answered; None: that of the campaign.
    progress : callable, optional
        That of `Strengths.drawn`.

    Raises
    ------
    LedgerError
        When no ballot is open.
    """
    plan = info.ballot_plan
    ballots = stored_ballots(connection, info.id)
    if not ballots or ballots[-1].state == "closed":
        raise LedgerError("no ballot is open: there is nothing to close")
    stored = ballots[-1]
    excluded = excluded_voters(connection, info.id)
    items = by_item(connection, info)
    votes = standing_votes(connection, stored.id).without(excluded)
    drawn = drawn_columns(connection, stored.id)
    says = votes.place[votes.answer != CANNOT_SAY]
    heard = np.bincount(np.concatenate([drawn.left[says], drawn.right[says]]), minlength=info.n_items)
    silent = tuple(info.items[place] for place in stored.places.tolist() if not heard[place])
    n_going_on = plan.sizes[stored.number] if stored.number < plan.n_ballots else 0
    tied = None
    try:
        _, before = standing_after(info, ballots[:-1])
        tied = scored(connection, info, stored, before, excluded).record.n_tied_at_cut
    except VoteError:  # silent items, or all that an item's voters said is that they cannot say
        pass
    cut = None
    if n_going_on and info.n_items <= MOST_WITH_INTERVALS and votes.n_answered:
        strengths = bradley_terry(votes_of(connection, info, without=excluded))
        strengths.drawn(progress=progress)
        cut = strengths.cut(n_going_on)
    return ClosePreview(
        ballot=stored.number,
        n_comparisons=stored.n_comparisons,
        n_answered=votes.n_answered,
        least_answered=info.settings.least_answered if least_answered is None else least_answered,
        silent=silent,
        fewest=tuple((each.item, each.n_answered) for each in items[:5]),
        n_going_on=n_going_on,
        n_tied_at_cut=tied,
        cut=cut,
    )


def _top(info: CampaignInfo) -> int:
    if isinstance(info.plan, BallotPlan):
        return min(info.plan.sizes[-1], info.n_items - 1)
    return max(1, info.n_items // 10)


def _cells(column: Sequence[Any]) -> list[Any]:
    return [repr(cell) if isinstance(cell, float) else cell for cell in column]
