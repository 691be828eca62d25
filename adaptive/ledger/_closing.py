"""Close a ballot, or all batches of a continuous campaign: preview the effect, count and score the votes, reopen.

A ballot is scored between two transactions, and is in the state "closing" in the meantime.
"""

import math
import uuid
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from adaptive._draw import Ballot
from adaptive._record import BallotRecord
from adaptive.errors import VoteError
from adaptive.ledger._ballots import stored as ballot_rows
from adaptive.ledger._ballots.batches import n_spent
from adaptive.ledger._ballots.sheets import forget_addresses
from adaptive.ledger._ballots.stored import CurrentVotes, DrawnColumns, StoredBallot, stored_ballots
from adaptive.ledger._campaign.transaction import OpenCampaign, Transaction, closer_time, is_overdue
from adaptive.ledger._reports.results import count_sides, progress_of_items, result_of
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import CANNOT_SAY, file_id, json_of, now, pair_id
from adaptive.ledger.errors import ChangedError, ConflictError, LedgerBusyError, LedgerError, NotReadyError
from adaptive.model._accuracy import MOST_WITH_INTERVALS, Cut
from adaptive.model._models import bradley_terry
from rankcorr._checks import counted, first_few, told_apart
from rankcorr._workers import Progress


@dataclass(frozen=True)
class ClosePreview:
    """The effect of closing the open ballot now.

    Attributes
    ----------
    ballot, n_comparisons, n_answered : int
    n_excluded : int
        Number of answers of excluded voters, which `n_answered` does not count.
    least_answered : float
        Share of the comparisons that must be answered.
    silent : tuple of hashable
        Items without any answer other than "cannot say"; they prevent closing.
    to_void : tuple of str
        Comparisons to void with `Campaign.correct`, one for each silent item whose comparisons all have an answer:
        "cannot say", or that of an excluded voter. Otherwise the item would get no further answer.
    fewest : tuple of (hashable, int)
        The five items with the fewest answers, and how many they have.
    n_going_on : int
        Number of items of the next ballot; 0 after the last ballot.
    n_tied_at_cut : int or None
        Number of items tied at the cut; None while silent items prevent closing.
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
    >>> preview = campaign.preview().of_ballot
    >>> preview.is_ready, preview.silent, preview.n_tied_at_cut
    (False, ('ash', 'fir', 'oak', 'yew'), None)
    >>> ledger.close()
    """

    ballot: int
    n_comparisons: int
    n_answered: int
    n_excluded: int
    least_answered: float
    silent: tuple[Hashable, ...]
    to_void: tuple[str, ...]
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
        """The reason why the ballot cannot be closed yet; empty if it can be."""
        few = too_few(self.n_answered, self.n_comparisons, self.least_answered, n_excluded=self.n_excluded)
        silent = f'{counted(len(self.silent), "item")} without any answer other than "cannot say"'
        return (few or (silent if self.silent else "")) + advise_voiding(self.to_void)


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of closing now: the ballot of a plan, or all batches of a continuous campaign.

    Attributes
    ----------
    stamp : str
        Stamp of the ballot at that moment; pass it to `Campaign.close`.
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
        """The reason why it cannot be closed yet; empty if it can be."""
        if self.of_ballot is not None:
            return self.of_ballot.reason
        return too_few(self.n_answered, self.n_comparisons, self.least_answered)


def preview_closing(
    transaction: Transaction,
    number: int | None = None,
    *,
    least_answered: float | None = None,
    progress: Progress | None = None,
) -> Preview:
    """Return the preview of `Campaign.preview`."""
    least = transaction.info.settings.least_answered if least_answered is None else least_answered
    if transaction.info.mode == "ballots":
        ballot = _preview_ballot(transaction, number, least, progress)
        stamp = ballot_rows.ballot_stamp(transaction, ballot.ballot)
        same = ("n_comparisons", "n_answered", "least_answered", "is_ready", "cut")
        return Preview(stamp, **{name: getattr(ballot, name) for name in same}, expected=None, of_ballot=ballot)
    ballots, n_comparisons = stored_ballots(transaction), n_spent(transaction)
    n_answered = sum(ballot_rows.answered_by_ballot(transaction).values())
    is_open = any(stored.state != "closed" for stored in ballots)
    result = None
    with suppress(LedgerError):  # no vote counts: all voters are excluded or answered "cannot say"
        result = result_of(transaction, interim=True, progress=progress)
    return Preview(
        stamp=ballot_rows.ballot_stamp(transaction, max(1, len(ballots))),
        n_comparisons=n_comparisons,
        n_answered=n_answered,
        least_answered=least,
        is_ready=is_open and not too_few(n_answered, n_comparisons, least),
        expected=None if result is None else result.expected,
        cut=None if result is None else result.cut,
        of_ballot=None,
    )


def _preview_ballot(
    transaction: Transaction, number: int | None, least: float, progress: Progress | None
) -> ClosePreview:
    """Return the effect of closing the open ballot now, without changing anything."""
    plan = transaction.info.ballot_plan
    ballots = stored_ballots(transaction)
    if not ballots or ballots[-1].state == "closed":
        raise LedgerError("no ballot is open: there is nothing to close")
    stored = ballots[-1]
    if number not in (None, stored.number):
        raise LedgerError(f"ballot {number} is not open: there is nothing to close")
    excluded = transaction.excluded_voters()
    ballot, comparisons, all_votes, votes = _read_ballot(transaction, stored, excluded)
    silent, to_void = _silent_items(stored, comparisons, all_votes, votes)
    n_going_on = plan.sizes[stored.number] if stored.number < plan.n_ballots else 0
    tied = None
    with suppress(VoteError):  # an item has no answers, or only "cannot say"
        _, before = ballot_rows.position_after(transaction.info, ballots[:-1])
        tied = ballot_rows.record_and_position(transaction.info, stored, ballot, votes, before)[0].n_tied_at_cut
    cut = None
    if n_going_on and transaction.info.n_items <= MOST_WITH_INTERVALS and votes.n_answered:
        strengths = bradley_terry(ballot_rows.votes_of(transaction, excluded=excluded))
        strengths.drawn(progress=progress)
        cut = strengths.cut(n_going_on)
    n_drawn = count_sides(comparisons, transaction.info.n_items)
    n_answered = count_sides(comparisons, transaction.info.n_items, votes.place)
    items = progress_of_items(transaction.info, n_drawn, n_answered)
    return ClosePreview(
        ballot=stored.number,
        n_comparisons=stored.n_comparisons,
        n_answered=votes.n_answered,
        n_excluded=all_votes.n_answered - votes.n_answered,
        least_answered=least,
        silent=tuple(transaction.info.items[place] for place in silent),
        to_void=to_void,
        fewest=tuple((item.item, item.n_answered) for item in items[:5]),
        n_going_on=n_going_on,
        n_tied_at_cut=tied,
        cut=cut,
    )


def _read_ballot(
    transaction: Transaction, stored: StoredBallot, excluded: Collection[int]
) -> tuple[Ballot, DrawnColumns, CurrentVotes, CurrentVotes]:
    """Return a ballot, its comparisons, all votes on them, and those of voters who are not excluded."""
    comparisons, slots = ballot_rows.drawn_with_slots(transaction, stored.id)
    ballot = ballot_rows.ballot_of(transaction.info, stored, comparisons, slots)
    votes = ballot_rows.current_votes(transaction, stored.id)
    return ballot, comparisons, votes, votes.excluding(excluded)


def _silent_items(
    stored: StoredBallot, comparisons: DrawnColumns, all_votes: CurrentVotes, votes: CurrentVotes
) -> tuple[list[int], tuple[str, ...]]:
    """Return the places of the items without any vote other than "cannot say", and `ClosePreview.to_void`."""
    decided = set(comparisons.items[votes.place[votes.answer != CANNOT_SAY]].ravel().tolist())
    silent = [place for place in stored.places.tolist() if place not in decided]
    open_items = set(np.delete(comparisons.items, all_votes.place, axis=0).ravel().tolist())
    to_void: list[int] = []
    for item in silent:
        if item not in open_items:
            to_void.append(int(np.flatnonzero((comparisons.items == item).any(axis=1))[0]))
            open_items.update(comparisons.items[to_void[-1]].tolist())  # the other item may be silent, too
    at = zip(comparisons.sheet[to_void].tolist(), comparisons.position[to_void].tolist(), strict=True)
    return silent, tuple(file_id(pair_id(stored.number, sheet, position)) for sheet, position in at)


def advise_voiding(comparisons: Sequence[str]) -> str:
    """Return the advice to void comparisons, to follow the reason why a ballot cannot be closed; empty without any.

    Examples
    --------
    >>> print(advise_voiding(["b1-0-1"]))
    ; void b1-0-1 (in a shell, `ballots run correct`), so that it is asked again: an item on it has no open comparison
    """
    if not comparisons:
        return ""
    clause, pronoun = ("it is asked", "it") if len(comparisons) == 1 else ("they are asked", "each")
    way = f"void {first_few(comparisons)} (in a shell, `ballots run correct`), so that {clause} again"
    return f"; {way}: an item on {pronoun} has no open comparison"


def close(
    campaign: OpenCampaign, number: int, *, least_answered: float | None = None, stamp: str | None = None
) -> BallotRecord:
    """Close a ballot: count its votes, score it, and select the items of the next; see `Campaign.close`."""
    closer = uuid.uuid4().hex
    least = campaign.info.settings.least_answered if least_answered is None else least_answered
    ballot_id, excluded = campaign.write(_start_closing, number, closer, stamp)
    try:
        scored = campaign.read(_score_votes, ballot_id, excluded, least)
        campaign.write(_store_record, scored, closer)
    except BaseException:
        # Also after Ctrl-C, so that voters need not wait for the deadline of the closer.
        campaign.write(_stop_closing, ballot_id, closer)
        raise
    return scored.record


class _ScoredBallot(NamedTuple):
    """The record of a ballot, and the other values that its chain digest covers, all read in one transaction."""

    stored: StoredBallot
    record: BallotRecord
    fields: dict[str, Any]  # the record as it is stored
    previous: str | None  # chain digest of the previous ballot
    votes_digest: str


def _start_closing(transaction: Transaction, number: int, closer: str, stamp: str | None) -> tuple[int, dict[int, str]]:
    """Make this request the only closer of a ballot, so that its votes do not change.

    Return the ballot's id and the excluded voters. They are read before the stamp is checked, so that they are those of
    the preview.
    """
    table, excluded = schema.ballot, transaction.excluded_voters()
    has_number = (transaction.of_campaign(table), table.c.number == number)
    ballot_id: int | None = transaction.scalar(sa.select(table.c.id).where(*has_number))
    if ballot_id is not None:
        # Votes before this lock are counted; later voters find the ballot in the state "closing".
        transaction.lock_ballot(ballot_id, exclusive=True)
        if stamp is not None and stamp != ballot_rows.ballot_stamp(transaction, number):
            raise ChangedError(f"ballot {number} has changed since you reviewed it (state or voters): review it again")
    if ballot_id is None or transaction.ballot_state(ballot_id) == "closed":
        raise LedgerError(f"ballot {number} is not open: there is nothing to close")
    at = transaction.clock()
    may_close = (table.c.id == ballot_id, sa.or_(table.c.state == "open", is_overdue(at)))
    closing = sa.update(table).values(state="closing", closer=closer, closer_until=at + closer_time())
    if not transaction.execute(closing.where(*may_close)).rowcount:
        left = transaction.scalar(sa.select(table.c.closer_until - at).where(table.c.id == ballot_id))
        if left is None:  # the other closer has ended in this moment
            advice = "try again"
        else:
            advice = f"if that was interrupted, try again in {math.ceil(left / 1_000_000)} seconds"
        raise ConflictError(f"ballot {number} is being closed by another request; {advice}")
    return ballot_id, excluded


def _score_votes(transaction: Transaction, ballot_id: int, excluded: Mapping[int, str], least: float) -> _ScoredBallot:
    info, ballots = transaction.info, stored_ballots(transaction)
    stored = next(ballot for ballot in ballots if ballot.id == ballot_id)
    ballot, comparisons, all_votes, votes = _read_ballot(transaction, stored, excluded)
    n_excluded = all_votes.n_answered - votes.n_answered
    few = too_few(votes.n_answered, stored.n_comparisons, least, n_excluded=n_excluded)
    closed = ballots[: stored.number - 1]
    _, before = ballot_rows.position_after(info, closed)
    try:
        record, after = ballot_rows.record_and_position(info, stored, ballot, votes, before)
    except VoteError as error:
        unit = f"ballot {stored.number}"
        fault = f"{unit}: {few}; nothing was closed, and a lower share cannot close it" if few else ""
        _, to_void = _silent_items(stored, comparisons, all_votes, votes)
        advice = advise_voiding(to_void)
        raise NotReadyError(f"{fault or f'{unit} cannot be scored, and was not closed'}: {error}{advice}") from error
    if few:
        raise not_ready(f"ballot {stored.number}: ", few, votes.n_answered, stored.n_comparisons)
    fields = ballot_rows.record_dict(record, after, votes.n_answered, excluded.values())
    previous = closed[-1].chain_digest if closed else None
    return _ScoredBallot(stored, record, fields, previous, ballot_rows.votes_digest(transaction, stored.id))


def _store_record(transaction: Transaction, scored: _ScoredBallot, closer: str) -> None:
    table, stored = schema.ballot, scored.stored
    is_mine = sa.and_(table.c.state == "closing", table.c.closer == closer)
    if write_record(transaction, stored, scored.previous, scored.votes_digest, scored.fields, is_mine) is None:
        raise LedgerBusyError(f"ballot {stored.number} was taken over by another closer, or opened again to voters")
    forget_addresses(transaction, stored.id)
    transaction.audit("closed", {"n_answered": scored.fields["n_answered"]}, ballot_id=stored.id)


def _stop_closing(transaction: Transaction, ballot_id: int, closer: str) -> None:
    """Reopen a ballot to voters, unless another closer has taken it over."""
    table = schema.ballot
    is_mine = (table.c.id == ballot_id, table.c.state == "closing", table.c.closer == closer)
    transaction.execute(sa.update(table).where(*is_mine).values(state="open", closer=None, closer_until=None))


def close_batches(campaign: OpenCampaign, *, least_answered: float | None = None, stamp: str | None = None) -> int:
    """End a continuous campaign: close all its batches, write their digests, and return the number of batches.

    Parameters
    ----------
    least_answered : float or None
        Share of the comparisons that must be answered; None: the campaign's setting.
    stamp : str or None
        The `ballot_stamp` of the last batch that the caller has seen; None accepts any.

    Raises
    ------
    LedgerError
        There is no batch, or all are closed.
    ChangedError
        The stamp of the last batch has changed.
    NotReadyError
        Too few comparisons are answered.
    """
    least = campaign.info.settings.least_answered if least_answered is None else least_answered

    def write(transaction: Transaction) -> int:
        transaction.lock_ballots()
        ballots, excluded = stored_ballots(transaction), sorted(transaction.excluded_voters().values())
        if stamp is not None and ballots and stamp != ballot_rows.ballot_stamp(transaction, ballots[-1].number):
            raise ChangedError(
                "the campaign has changed since you reviewed it (batches or voters): preview the close again; the "
                f"stamp of a batch closes it only if it is the last, {ballots[-1].number}"
            )
        if all(stored.state == "closed" for stored in ballots):
            raise LedgerError("no batch is open: there is nothing to close")
        n_comparisons, answered = n_spent(transaction), ballot_rows.answered_by_ballot(transaction)
        n_answered = sum(answered.values())
        if few := too_few(n_answered, n_comparisons, least):
            raise not_ready("", few, n_answered, n_comparisons)
        previous = None
        for stored in ballots:
            record = {"n_answered": answered[stored.id], "excluded": excluded}
            votes = ballot_rows.votes_digest(transaction, stored.id)
            previous = write_record(transaction, stored, previous, votes, record)
            forget_addresses(transaction, stored.id)
        transaction.audit("closed", {"batches": len(ballots)})
        return len(ballots)

    return campaign.write(write)


def reopen(transaction: Transaction, number: int, reason: str) -> None:
    """Reopen the last closed ballot; see `Campaign.reopen`."""
    ballots = stored_ballots(transaction)
    if 1 <= number <= len(ballots):
        # Another process may draw a ballot from these scores: the lock lets it do so only before or after this step.
        transaction.lock_ballot(ballots[number - 1].id, exclusive=True)
        ballots = stored_ballots(transaction)
    if not 1 <= number <= len(ballots) or ballots[number - 1].state != "closed":
        raise LedgerError(f"ballot {number} is not closed: there is nothing to open again")
    if number < len(ballots):
        raise LedgerError(
            f"ballot {number} cannot be opened again: ballot {number + 1} was drawn from its scores, and is "
            f"{ballots[number].state}"
        )
    stored = ballots[-1]
    details = {"reason": reason, "record": stored.record, "chain_digest": stored.chain_digest}
    transaction.audit("reopened", details, ballot_id=stored.id)
    values = {"state": "open", "record": None, "votes_digest": None, "chain_digest": None, "closed_at": None}
    transaction.execute(sa.update(schema.ballot).where(schema.ballot.c.id == stored.id).values(values))


def too_few(n_answered: int, n_comparisons: int, least_share: float, *, n_excluded: int = 0) -> str:
    """Return a message if too few comparisons are answered to close a ballot or all batches; empty if enough are.

    It says how to ask others the comparisons that excluded voters answered.

    Examples
    --------
    >>> too_few(28, 51, 0.55), too_few(11, 20, 0.55)  # 0.55 * 20 is more than 11
    ('28 of 51 comparisons are answered, 54.9%, and 55% are required', '')
    >>> print(too_few(4, 8, 0.9, n_excluded=4).partition("; ")[2])
    4 answers of excluded voters do not count: ask others (in a shell, `ballots run exclude --ask-others`)
    """
    part = n_answered / max(n_comparisons, 1)
    share, least = round(100 * part, 10), round(100 * least_share, 10)  # 55, where 100 * 0.55 is 55.00000000000001
    answered = f"{n_answered:,} of {n_comparisons:,} comparisons are answered"
    if share >= least:
        return ""
    message = f"{answered}, {told_apart(share, least, 0)}%, and {least:.12g}% are required"
    if n_excluded:
        answers = f"{counted(n_excluded, 'answer')} of excluded voters {'does' if n_excluded == 1 else 'do'} not count"
        message += f"; {answers}: ask others (in a shell, `ballots run exclude --ask-others`)"
    return message


def not_ready(unit: str, few: str, n_answered: int, n_comparisons: int) -> NotReadyError:
    """Return the error for a ballot with too few answers, which names the option that closes it nevertheless.

    Examples
    --------
    >>> str(not_ready("ballot 1: ", "too few", 49, 60))
    'ballot 1: too few; nothing was closed (least_answered=0.81 closes it)'
    """
    share = math.floor(100 * n_answered / max(n_comparisons, 1)) / 100
    return NotReadyError(f"{unit}{few}; nothing was closed (least_answered={share:g} closes it)")


def write_record(
    transaction: Transaction,
    stored: StoredBallot,
    previous: str | None,
    votes: str,
    record: Mapping[str, Any],
    *conditions: sa.ColumnElement[bool],
) -> str | None:
    """Close a ballot with its record and return its chain digest; None if the ballot does not meet the conditions.

    Parameters
    ----------
    previous : str or None
        Chain digest of the previous ballot.
    votes : str
        Digest of the ballot's votes.
    """
    table, chain = schema.ballot, ballot_rows.chain_digest(previous, stored.draw_digest, votes, record)
    values = {"state": "closed", "closer": None, "closer_until": None, "closed_at": now(), "record": json_of(record)}
    closed = sa.update(table).where(table.c.id == stored.id, *conditions).values(**values)
    is_written = transaction.execute(closed.values(votes_digest=votes, chain_digest=chain)).rowcount
    return chain if is_written else None
