"""Read votes: those that count, every event in order from where the reader left off, and votes that were kept aside."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._votes import UNANSWERED
from adaptive.ledger._ballots.stored import drawn_columns, stored_ballots
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import CANNOT_SAY, answer_name, digest_of, pair_id, time_text
from adaptive.ledger._store.locks import lock_ballot
from adaptive.ledger._store.rows import integer_columns
from adaptive.ledger._voters.identity import excluded_voters, names_of
from adaptive.model._columns import ShownPairs
from adaptive.model._comparisons import Comparisons

MOST_EVENTS: Final = 1_000
Array = NDArray[np.int64]
_NOBODY: Final = -1
_NOTHING: Final = -9  # a retracted or voided vote has no answer


@dataclass(frozen=True, eq=False)
class StandingVotes:
    """The votes of a ballot that count, in the order of its comparisons.

    Attributes
    ----------
    place : ndarray of int64
        Comparisons that have a vote.
    answer : ndarray of int64
        Codes: 1 left, 0 tie, -1 right, 2 cannot say.
    voter : ndarray of int64
        Ids of the voters.
    """

    place: Array
    answer: Array
    voter: Array

    @property
    def n_answered(self) -> int:
        """Number of comparisons with a vote, "cannot say" included."""
        return self.place.size

    def answers(self, n_comparisons: int) -> NDArray[np.int8]:
        """Return the answers as a `Ballot` takes them, shape (n_comparisons,); "cannot say" counts as no answer."""
        filled = np.full(n_comparisons, UNANSWERED, np.int8)
        says = self.answer != CANNOT_SAY
        filled[self.place[says]] = self.answer[says]
        return filled

    def without(self, voters: Collection[int]) -> StandingVotes:
        """Return the votes of all other voters."""
        kept = ~np.isin(self.voter, np.array(sorted(voters), np.int64))
        return StandingVotes(self.place[kept], self.answer[kept], self.voter[kept])


def is_scored(event: sa.Table, ballot_id: int) -> sa.ColumnElement[bool]:
    """Return the condition that an event of a ballot is about a scored comparison and not about a check."""
    ballot = schema.ballot
    return event.c.place < sa.select(ballot.c.n_comparisons).where(ballot.c.id == ballot_id).scalar_subquery()


def in_force(event: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that an event is a vote and the last event of its comparison."""
    return event.c.kind == "cast", *is_last(event)


def is_last(event: sa.Table) -> tuple[sa.ColumnElement[bool]]:
    """Return the condition that an event is the last one of its comparison."""
    later = event.alias("later")
    of_comparison = (later.c.ballot_id == event.c.ballot_id, later.c.place == event.c.place)
    return (~sa.exists().where(*of_comparison, later.c.revision > event.c.revision),)


def standing_votes(connection: sa.Connection, ballot_id: int) -> StandingVotes:
    """Return the vote in force for each comparison of a ballot: its last event, if that is a vote."""
    event = schema.vote_event
    events = sa.select(event.c.place, sa.func.coalesce(event.c.answer, _NOTHING), event.c.voter_id)
    own = events.where(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
    place, answer, voter = integer_columns(connection, own.order_by(event.c.place, event.c.revision))
    last = np.append(place[1:] != place[:-1], np.ones(min(1, place.size), bool))
    counts = last & (answer != _NOTHING)
    return StandingVotes(place[counts], answer[counts], voter[counts])


def n_left_out(connection: sa.Connection, ballot_id: int, voters: Collection[int]) -> int:
    """Return how many comparisons of a ballot have a current vote by one of these voters; other votes are not read."""
    if not voters:
        return 0
    event = schema.vote_event
    of_ballot = sa.and_(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
    is_theirs = sa.and_(of_ballot, event.c.voter_id.in_(sorted(voters)))
    counted = sa.select(sa.func.count()).select_from(event).where(is_theirs, *in_force(event))
    return int(connection.execute(counted).scalar_one())


def event_lines(connection: sa.Connection, ballot_id: int) -> list[str]:
    """Return the lines that the digest of votes covers, as JSON lists: place, revision, kind, answer, voter's key."""
    event = schema.vote_event
    rows = connection.execute(
        sa.select(event.c.place, event.c.revision, event.c.kind, event.c.answer, schema.voter.c.key)
        .join(schema.voter, schema.voter.c.id == event.c.voter_id)
        .where(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
        .order_by(event.c.place, event.c.revision)
    )
    return [
        f'[{place},{revision},"{kind}",{_answer_json(answer)},"{key}"]' for place, revision, kind, answer, key in rows
    ]


def votes_digest(connection: sa.Connection, ballot_id: int) -> str:
    """Return the SHA-256 of `event_lines`."""
    return digest_of(event_lines(connection, ballot_id))


def _answer_json(answer: int | None) -> str:
    return "null" if answer is None else f'"{answer_name(answer)}"'


def counted_votes(connection: sa.Connection, info: CampaignInfo) -> Comparisons:
    """Return the votes of `votes_of` by voters who are not left out."""
    return votes_of(connection, info, without=excluded_voters(connection, info.id))


def votes_of(connection: sa.Connection, info: CampaignInfo, *, without: Collection[int] = ()) -> Comparisons:
    """Return all current votes as `Comparisons`, in drawing order; "cannot say" counts as no answer.

    Its `unanswered` holds the other comparisons on sheets that voters hold.

    Parameters
    ----------
    without : collection of int
        Ids of the voters to leave out.
    """
    answered, silent = [np.empty((4, 0), np.int64)], [np.empty((3, 0), np.int64)]
    n_asked = 0
    for stored in stored_ballots(connection, info):
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
    if len(set(called)) < len(called):  # a name may equal another voter's key, or occur in two sources
        called = tuple(f"{name} ({each})" for name, each in zip(called, ids.tolist(), strict=True))
    columns = left.astype(np.int32), right.astype(np.int32), winner.astype(np.int8), called, numbered[: left.size]
    unanswered = ShownPairs(shown_left.astype(np.int32), shown_right.astype(np.int32), numbered[left.size :])
    return Comparisons(info.items, *columns, n_asked - left.size, unanswered)


def _holders(connection: sa.Connection, ballot_id: int, n_sheets: int) -> NDArray[np.int64]:
    """Return the id of the holder of each sheet."""
    found = np.full(n_sheets, _NOBODY)
    lease = schema.lease
    of_ballot = (lease.c.ballot_id == ballot_id, lease.c.ended_at.is_(None))
    sheet, voter = integer_columns(connection, sa.select(lease.c.sheet, lease.c.voter_id).where(*of_ballot))
    found[sheet] = voter
    return found


@dataclass(frozen=True)
class LedgerEvent:
    """A line of the ledger.

    Attributes
    ----------
    number : int
        Increasing number, with gaps.
    event_id : str
    comparison : str
        Its id, "2-0-17".
    left, right : hashable
        Labels.
    revision : int
    kind : {"cast", "retract", "void"}
    answer : {"left", "right", "tie", "cannot say"} or None
    voter : str
        Random key.
    response_ms : int or None
    given_by, layout : str or None
    received_at : str
        ISO 8601.

    See Also
    --------
    Campaign.events_after : Returns them.
    VoteCast : A vote as it is sent.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> for event in campaign.events_after(0):
    ...     print(event.comparison, event.left, event.right, event.kind, event.answer)
    1-0-0 fir oak cast left
    1-0-1 oak ash cast left
    1-0-2 ash yew cast left
    1-0-3 yew fir cast left
    >>> ledger.close()
    """

    number: int
    event_id: str
    comparison: str
    left: Hashable
    right: Hashable
    revision: int
    kind: str
    answer: str | None
    voter: str
    response_ms: int | None
    given_by: str | None
    layout: str | None
    received_at: str


def events_after(
    connection: sa.Connection, info: CampaignInfo, after: int = 0, *, most: int = MOST_EVENTS
) -> tuple[LedgerEvent, ...]:
    """Return vote events with a higher number than `after`, in their order.

    No event appears later with a lower number than one already read: the function waits for votes that have a number
    but are not committed yet. It needs a transaction that may write.

    Parameters
    ----------
    most : int
        Maximum number of events; there are fewer only at the end of the ledger.
    """
    ballot, event, asked, voter = schema.ballot, schema.vote_event, schema.comparison, schema.voter
    opened = sa.select(ballot.c.id, ballot.c.number).where(ballot.c.campaign_id == info.id).order_by(ballot.c.id)
    numbers = {row.id: row.number for row in connection.execute(opened)}
    same = ("event_id", "revision", "kind", "response_ms", "given_by", "layout")
    for ballot_id in numbers:
        lock_ballot(connection, ballot_id, exclusive=True)
    rows = connection.execute(
        sa.select(event, asked.c.sheet, asked.c.position, asked.c.left_item, asked.c.right_item, voter.c.key)
        .join(asked, sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place))
        .join(voter, voter.c.id == event.c.voter_id)
        .where(event.c.ballot_id.in_(list(numbers)), event.c.id > after, asked.c.probe.is_(None))
        .order_by(event.c.id)
        .limit(most)
    )
    return tuple(
        LedgerEvent(
            number=row.id,
            comparison=pair_id(numbers[row.ballot_id], row.sheet, row.position),
            left=info.items[row.left_item],
            right=info.items[row.right_item],
            answer=None if row.answer is None else answer_name(row.answer),
            voter=row.key,
            received_at=time_text(row.received_at),
            **{name: row._mapping[name] for name in same},
        )
        for row in rows
    )


@dataclass(frozen=True)
class Conflict:
    """A vote that was not counted because it contradicts another one.

    Attributes
    ----------
    comparison : str
    voter : str
        Voter who sent it.
    recorded, conflicting : str
        The vote that counts, or "" if it has been retracted; and the vote that does not count.
    received_at : str
        ISO 8601.
    corrected : bool
        Whether the organiser has resolved the conflict since.
    """

    comparison: str
    voter: str
    recorded: str
    conflicting: str
    received_at: str
    corrected: bool


def conflicts(connection: sa.Connection, info: CampaignInfo) -> list[Conflict]:
    """Return the votes that were kept aside because they contradict another one, oldest first."""
    late, ballot, event, asked = schema.late_vote, schema.ballot, schema.vote_event, schema.comparison
    names = names_of(connection, info)
    rows = connection.execute(
        sa.select(late, ballot.c.number, asked.c.sheet, asked.c.position)
        .join(asked, sa.and_(asked.c.ballot_id == late.c.ballot_id, asked.c.place == late.c.place))
        .join(ballot, ballot.c.id == late.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, late.c.why == "conflict")
        .order_by(late.c.id)
    ).all()
    found = []
    for row in rows:
        of_pair = (event.c.ballot_id == row.ballot_id, event.c.place == row.place)
        wanted = sa.select(event.c.kind, event.c.answer, event.c.given_by, event.c.revision).where(*of_pair)
        events = connection.execute(wanted.order_by(event.c.revision)).all()
        last = events[-1] if events else None
        found.append(
            Conflict(
                comparison=pair_id(row.number, row.sheet, row.position),
                voter=names[row.voter_id],
                recorded=answer_name(last.answer) if last is not None and last.kind == "cast" else "",
                conflicting=answer_name(row.answer),
                received_at=time_text(row.received_at),
                corrected=any(e.given_by == "correction" and e.revision > row.revision for e in events),
            )
        )
    return found
