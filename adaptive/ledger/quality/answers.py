"""What the voters of a campaign have said, votes and answers to probes, in flat columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.columns import integer_columns
from adaptive.ledger.draws import drawn_columns

__all__ = ["NOTHING", "Answers", "probe_answers", "vote_answers"]

Array = NDArray[np.int64]

NOTHING: Final = -9


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers that stand, ballot by ballot, in the order in which they were drawn.

    Attributes
    ----------
    ballot, place : ndarray of int64
        Id of the ballot, and place in it: of a comparison, or of a probe.
    left, right : ndarray of int64
        Places of the items in the campaign.
    answer : ndarray of int64
        1 left, 0 tie, -1 right, 2 cannot say.
    voter : ndarray of int64
        Ids.
    milliseconds : ndarray of int64
        Time that the answer took; NOTHING where it is not known.
    kind : ndarray of str
        Of a probe; "" of a vote.
    expected : ndarray of int64
        Of a probe whose answer is known; else NOTHING.
    repeats : ndarray of int64
        Comparison that a probe asks again; else NOTHING.
    """

    ballot: Array
    place: Array
    left: Array
    right: Array
    answer: Array
    voter: Array
    milliseconds: Array
    kind: NDArray[np.str_]
    expected: Array
    repeats: Array

    def select(self, rows: NDArray[np.bool_]) -> Answers:
        """Some of the answers."""
        return Answers(**{name: column[rows] for name, column in vars(self).items()})


def vote_answers(connection: sa.Connection, info: CampaignInfo) -> Answers:
    """The votes that stand."""
    ballot, event = schema.ballot, schema.vote_event
    blocks = [np.empty((7, 0), np.int64)]
    for (ballot_id,) in connection.execute(
        sa.select(ballot.c.id).where(ballot.c.campaign_id == info.id).order_by(ballot.c.number)
    ).all():
        place, answer, voter, milliseconds = integer_columns(
            connection,
            sa.select(
                event.c.place,
                sa.func.coalesce(event.c.answer, NOTHING),
                event.c.voter_id,
                sa.func.coalesce(event.c.response_ms, NOTHING),
            )
            .where(event.c.ballot_id == ballot_id)
            .order_by(event.c.place, event.c.revision),
        )
        last = np.append(place[1:] != place[:-1], np.ones(min(1, place.size), bool))
        stands = last & (answer != NOTHING)
        place = place[stands]
        drawn = drawn_columns(connection, ballot_id)
        numbers = np.full(place.size, ballot_id)
        shown = (numbers, place, drawn.left[place], drawn.right[place])
        blocks.append(np.stack([*shown, answer[stands], voter[stands], milliseconds[stands]]))
    found = np.concatenate(blocks, axis=1)
    nothing = np.full(found.shape[1], NOTHING)
    return _answers(np.vstack([found, nothing, nothing]), np.full(nothing.size, "", "<U9"))


def probe_answers(connection: sa.Connection, info: CampaignInfo) -> Answers:
    """The answers to probes that stand."""
    asked, event, ballot = schema.probe, schema.probe_event, schema.ballot
    rows = connection.execute(
        sa.select(
            event.c.ballot_id,
            event.c.place,
            asked.c.left_item,
            asked.c.right_item,
            sa.func.coalesce(event.c.answer, NOTHING),
            event.c.voter_id,
            sa.func.coalesce(event.c.response_ms, NOTHING),
            asked.c.kind,
            sa.func.coalesce(asked.c.expected, NOTHING),
            sa.func.coalesce(asked.c.repeats, NOTHING),
        )
        .join(asked, sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place))
        .join(ballot, ballot.c.id == event.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, event.c.why.is_(None))
        .order_by(ballot.c.number, event.c.place, event.c.revision)
    )
    last = {(row[0], row[1]): row for row in rows}  # the last of each place stays
    numbers = [(*row[:7], *row[8:]) for row in last.values()]
    kinds = np.array([row.kind for row in last.values()], "<U9")
    found = _answers(np.array(numbers, np.int64).reshape(-1, 9).T, kinds)
    return found.select(found.answer != NOTHING)


def _answers(columns: Array, kind: NDArray[np.str_]) -> Answers:
    ballot, place, left, right, answer, voter, milliseconds, expected, repeats = columns
    return Answers(ballot, place, left, right, answer, voter, milliseconds, kind, expected, repeats)
