"""Compute a campaign's results: the paper's ranking, strengths fitted to all votes, and their uncertainty."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from adaptive._plan import BallotPlan
from adaptive._record import ProtocolResult, item_table, places_best_first
from adaptive._tables import guarded, items_csv
from adaptive.errors import VoteError
from adaptive.ledger._ballots.stored import (
    Array,
    CurrentVotes,
    DrawnColumns,
    ballot_of,
    current_votes,
    drawn_columns,
    drawn_with_slots,
    position_after,
    score_ballot,
    stored_ballots,
    too_few,
    votes_of,
)
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.items import contents_of
from adaptive.ledger._campaign.pages import ItemContent
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store.schema import CANNOT_SAY
from adaptive.ledger.errors import LedgerError
from adaptive.model._accuracy import MOST_WITH_INTERVALS, Cut
from adaptive.model._estimators import bradley_terry
from adaptive.model._likelihood import MISFIT_LIMIT
from adaptive.model._strengths import Strengths
from rankcorr import TauW
from rankcorr._checks import counted
from rankcorr._results import TableResult
from rankcorr._workers import Progress

_LEVEL: Final = 0.9
_DIGITS: Final = 4  # decimals of strengths; their standard errors are about 0.1 at best


@dataclass(frozen=True, eq=False, repr=False)
class CampaignResult(TableResult):
    """A ranking of all items, with its uncertainty.

    The table has one row for each item, best first. Its columns are item and rank. For a campaign of ballots, the
    columns ybar, presentations, wins, ties, losses and last_ballot of `ProtocolResult` follow. The next column is
    strength. Up to 3,000 items, the last columns are standard_error, rank_low and rank_high (90 % interval) and in_top
    (the probability of being among the top k).

    Attributes
    ----------
    items : sequence of hashable
    paper : ProtocolResult or None
        The paper's scores, which determine `rank`. None in a continuous campaign and before the last ballot is closed;
        then the strengths determine it.
    strengths : Strengths
        Strengths fitted to the current votes of all voters who are not left out.
    top : int
        k of the cut described by `cut`.
    cut : Cut or None
        Confidence in the cut after the top k; None above 3,000 items.
    expected : float or None
        Expected tau_w of the strengths' ranking with the true one. None above 3,000 items, and without a signal.
    n_votes : int
    excluded : tuple of str
        Keys of the voters who were left out of the strengths.
    agreement : float or None
        tau_w between the strengths' ranking and the ranking from the votes of all voters; None if no voter is left out.
    is_final : bool
        Whether all ballots are closed, or the continuous campaign has ended.

    See Also
    --------
    Campaign.result : Returns it.
    Campaign.paper_result : The paper's scores alone.
    adaptive.Strengths : The type of `strengths`.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> result = campaign.result(interim=True)
    >>> result.n_votes, result.n_voters, result.paper, result.excluded, result.ranking.n_items
    (4, 1, None, (), 4)
    >>> ledger.close()
    """

    _caption: ClassVar[str] = "Ranking of a campaign"

    items: Sequence[Hashable]
    paper: ProtocolResult | None
    strengths: Strengths
    top: int
    cut: Cut | None
    expected: float | None
    n_votes: int
    excluded: tuple[str, ...]
    agreement: float | None
    is_final: bool

    @property
    def ranking(self) -> Any:
        """The ranking: the paper's, or that of the strengths."""
        return self.strengths.ranking if self.paper is None else self.paper.ranking

    @property
    def signal(self) -> bool:
        """Whether the votes rule out coin flips."""
        return self.strengths.signal.found

    @property
    def circles(self) -> bool:
        """Whether votes on single pairs contradict the order of strengths, as they do if preferences go in circles."""
        return self.strengths.misfit.pairs > MISFIT_LIMIT

    @property
    def n_voters(self) -> int:
        """Number of voters whose votes count. The expected agreement is too high with about five or fewer."""
        voter = self.strengths.comparisons.voter
        return 0 if voter is None else int(np.unique(voter).size)

    def with_top(self, top: int) -> Self:
        """Return the same fit with another cut."""
        return replace(self, top=top, cut=None if self.cut is None else self.strengths.cut(top))

    def rows(self) -> list[dict[str, Any]]:
        """Return the table row by row."""
        return self._rows()

    def to_csv(self, *, guard: bool = False) -> str:
        """Return the table as CSV; tuples have a column for each part.

        Parameters
        ----------
        guard : bool
            Whether to put an apostrophe before labels that a spreadsheet would run as formulas.
        """
        return items_csv(self._rows(), guarded if guard else str)

    def _columns(self) -> dict[str, Sequence[Any]]:
        ranks = self.ranking.ranks
        columns = {"rank": ranks}
        if self.paper is not None:
            names = ("ybar", "presentations", "wins", "ties", "losses", "last_ballot")
            columns |= {name: getattr(self.paper, name) for name in names}
        columns["strength"] = self.strengths.theta.round(_DIGITS)
        if self.cut is not None:
            intervals = self.strengths.rank_intervals(_LEVEL)
            columns["standard_error"] = self.strengths.standard_errors.round(_DIGITS)
            columns |= {"rank_low": intervals.low, "rank_high": intervals.high}
            columns["in_top"] = self.strengths.in_top(self.top).probability
        return item_table(self.items, places_best_first(self.items, ranks), **columns)

    def __repr__(self) -> str:
        cut_text = "" if self.cut is None else f", cut after {self.top} with confidence {self.cut.confidence:.2f}"
        return f"<CampaignResult of {len(self.items)} items, {self.n_votes:,} votes{cut_text}>"


@dataclass(frozen=True)
class ClosePreview:
    """The effect of closing the open ballot now.

    Attributes
    ----------
    ballot, n_comparisons, n_answered : int
    least_answered : float
        Share of the comparisons that must be answered.
    silent : tuple of hashable
        Items without any answer other than "cannot say"; they prevent closing.
    fewest : tuple of (hashable, int)
        The five items with the fewest answers, and how many they have.
    n_going_on : int
        Items of the next ballot; 0 after the last.
    n_tied_at_cut : int or None
        Items tied at the cut; None while there are silent items and the ballot cannot be closed.
    cut : Cut or None
        Confidence in the cut, from the strengths; None after the last ballot, and above 3,000 items.

    See Also
    --------
    Preview : Holds it as `of_ballot`.
    Campaign.close : Closes the ballot.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> found = campaign.preview().of_ballot
    >>> found.is_ready, found.silent, found.n_tied_at_cut
    (False, ('ash', 'fir', 'oak', 'yew'), None)
    >>> ledger.close()
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
        """Whether the ballot can be closed."""
        return not self.reason

    @property
    def reason(self) -> str:
        """Why the ballot cannot be closed yet; empty if it can be."""
        few = too_few(self.n_answered, self.n_comparisons, self.least_answered)
        return few or (f"{counted(len(self.silent), 'item')} without any answer" if self.silent else "")


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of closing now: the ballot of a plan, or all batches of a continuous campaign.

    Attributes
    ----------
    stamp : str
        Stamp of the ballot at that moment, to be passed when closing.
    n_comparisons, n_answered : int
        Counts for the ballot, or for all batches.
    least_answered : float
        Share of the comparisons that must be answered.
    is_ready : bool
        Whether it can be closed.
    expected : float or None
        Expected tau_w of a continuous campaign's ranking with the true one; None without votes, and for a ballot.
    cut : Cut or None
        Confidence in the cut, from the strengths.
    of_ballot : ClosePreview or None
        The items and the selection for the next ballot; None for batches.

    See Also
    --------
    Campaign.preview : Returns it.
    ClosePreview : The type of `of_ballot`.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> preview = campaign.preview()
    >>> preview.is_ready, preview.n_answered, preview.of_ballot.n_going_on
    (True, 4, 2)
    >>> ledger.close()
    """

    stamp: str
    n_comparisons: int
    n_answered: int
    least_answered: float
    is_ready: bool
    expected: float | None
    cut: Cut | None
    of_ballot: ClosePreview | None

    @property
    def reason(self) -> str:
        """Why it cannot be closed yet; empty if enough comparisons are answered and no item of a ballot lacks one."""
        if self.of_ballot is not None:
            return self.of_ballot.reason
        return too_few(self.n_answered, self.n_comparisons, self.least_answered)


@dataclass(frozen=True)
class ItemProgress:
    """Answers about one item in the open ballot.

    Attributes
    ----------
    item : hashable
    presentations, n_answered : int
    """

    item: Hashable
    presentations: int
    n_answered: int


def result_of(
    transaction: Transaction, *, interim: bool = False, top: int | None = None, progress: Progress | None = None
) -> CampaignResult:
    """Return the ranking of all items; `interim` allows it at any time, from the strengths alone.

    Its options and errors are those of `Campaign.result`.
    """
    ballots = stored_ballots(transaction)
    n_closed = sum(stored.state == "closed" for stored in ballots)
    paper = None
    if isinstance(transaction.info.plan, BallotPlan):
        if n_closed == transaction.info.plan.n_ballots:
            records, position = position_after(transaction.info, ballots)
            paper = ProtocolResult(transaction.info.plan, transaction.info.items, position.mean, records)
        elif not interim:
            raise LedgerError(
                f"the campaign is still open: {n_closed} of {transaction.info.plan.n_ballots} ballots are closed; "
                "rank by the votes so far with interim=True"
            )
    elif not interim and n_closed < max(1, len(ballots)):
        raise LedgerError("the campaign is still open; rank by the votes so far with interim=True")
    excluded = transaction.excluded_voters()
    votes = votes_of(transaction, excluded=excluded)
    if not votes.n_comparisons:
        raise LedgerError("there is no vote yet: nothing can be ranked")
    strengths = bradley_terry(votes)
    agreement = None
    if excluded:
        everybody = bradley_terry(votes_of(transaction))
        agreement = float(TauW()(strengths.ranking, everybody.ranking))
    last = (
        transaction.info.plan.sizes[-1]
        if isinstance(transaction.info.plan, BallotPlan)
        else transaction.info.n_items // 10
    )
    k = min(max(1, last), transaction.info.n_items - 1) if top is None else top
    small = transaction.info.n_items <= MOST_WITH_INTERVALS
    if small:
        strengths.drawn(progress=progress)
    return CampaignResult(
        items=transaction.info.items,
        paper=paper,
        strengths=strengths,
        top=k,
        cut=strengths.cut(k) if small else None,
        expected=strengths.expected_correlation(TauW()).mean if small and strengths.signal.found else None,
        n_votes=votes.n_comparisons,
        excluded=tuple(sorted(excluded.values())),
        agreement=agreement,
        is_final=n_closed
        == (transaction.info.plan.n_ballots if isinstance(transaction.info.plan, BallotPlan) else max(1, len(ballots))),
    )


def preview_of(
    transaction: Transaction, *, least_answered: float | None = None, progress: Progress | None = None
) -> ClosePreview:
    """Return the effect of closing the open ballot now, without changing anything.

    Its options and errors are those of `Campaign.preview`.
    """
    plan = transaction.info.ballot_plan
    ballots = stored_ballots(transaction)
    if not ballots or ballots[-1].state == "closed":
        raise LedgerError("no ballot is open: there is nothing to close")
    stored = ballots[-1]
    excluded = transaction.excluded_voters()
    comparisons, slots = drawn_with_slots(transaction, stored.id)
    votes = current_votes(transaction, stored.id).excluding(excluded)
    decided_places = votes.place[votes.answer != CANNOT_SAY]
    n_decided = _by_side(comparisons, transaction.info.n_items, decided_places)
    silent = tuple(transaction.info.items[place] for place in stored.places.tolist() if not n_decided[place])
    n_going_on = plan.sizes[stored.number] if stored.number < plan.n_ballots else 0
    tied = None
    with suppress(VoteError):  # an item has no answers, or only "cannot say"
        _, before = position_after(transaction.info, ballots[:-1])
        ballot = ballot_of(transaction.info, stored, comparisons, slots)
        tied = score_ballot(transaction.info, stored, ballot, votes, before).record.n_tied_at_cut
    cut = None
    if n_going_on and transaction.info.n_items <= MOST_WITH_INTERVALS and votes.n_answered:
        strengths = bradley_terry(votes_of(transaction, excluded=excluded, read={stored.id: (comparisons, votes)}))
        strengths.drawn(progress=progress)
        cut = strengths.cut(n_going_on)
    items = _item_progress(transaction.info, [(comparisons, votes)])
    return ClosePreview(
        ballot=stored.number,
        n_comparisons=stored.n_comparisons,
        n_answered=votes.n_answered,
        least_answered=transaction.info.settings.least_answered if least_answered is None else least_answered,
        silent=silent,
        fewest=tuple((item.item, item.n_answered) for item in items[:5]),
        n_going_on=n_going_on,
        n_tied_at_cut=tied,
        cut=cut,
    )


def by_item(transaction: Transaction) -> list[ItemProgress]:
    """Return the answers about each item in the open ballots, without voters who are left out, fewest first."""
    excluded, ballots = transaction.excluded_voters(), stored_ballots(transaction)
    return _item_progress(
        transaction.info,
        [
            (drawn_columns(transaction, stored.id), current_votes(transaction, stored.id).excluding(excluded))
            for stored in ballots
            if stored.state != "closed"
        ],
    )


def _item_progress(info: CampaignInfo, ballots: Sequence[tuple[DrawnColumns, CurrentVotes]]) -> list[ItemProgress]:
    presentations, answered = (np.zeros(info.n_items, np.int64) for _ in range(2))
    for comparisons, votes in ballots:
        presentations += _by_side(comparisons, info.n_items)
        answered += _by_side(comparisons, info.n_items, votes.place)
    places = np.flatnonzero(presentations)
    order = places[np.argsort(answered[places], kind="stable")]
    return [ItemProgress(info.items[p], int(presentations[p]), int(answered[p])) for p in order.tolist()]


def _by_side(comparisons: DrawnColumns, n_items: int, places: Array | slice = slice(None)) -> Array:
    """Return how many of the comparisons at these places each item is in."""
    return np.bincount(np.concatenate([comparisons.left[places], comparisons.right[places]]), minlength=n_items)


def items_with_contents(transaction: Transaction) -> list[tuple[ItemProgress, ItemContent]]:
    """Return all items with their presentations: those of open ballots as in `by_item`, then the others."""
    contents = dict(zip(transaction.info.items, contents_of(transaction), strict=True))
    progress = by_item(transaction)
    known = {item_progress.item for item_progress in progress}
    progress += [ItemProgress(item, 0, 0) for item in transaction.info.items if item not in known]
    return [(item_progress, contents[item_progress.item]) for item_progress in progress]
