"""Read the answers of a campaign's voters, votes and answers to probes, as flat columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.store import schema
from adaptive.ledger.store.columns import integer_columns

Array = NDArray[np.int64]

NOTHING: Final = -9
_KINDS: Final = ("", "practice", "attention", "gold", "repeat", "overlap")


@dataclass(frozen=True, eq=False)
class Answers:
    """Current answers, by ballot and in the order of the draw.

    Attributes
    ----------
    ballot, place : ndarray of int64
        Id of the ballot, and place in the ballot.
    left, right : ndarray of int64
        Places of the items in the campaign.
    answer : ndarray of int64
        1 left, 0 tie, -1 right, 2 cannot say.
    voter : ndarray of int64
        Ids of the voters.
    milliseconds : ndarray of int64
        Time that the answer took; NOTHING if unknown.
    kind : ndarray of str
        Kind of a probe; "" for a vote.
    expected : ndarray of int64
        Expected answer of a probe whose answer is known; else NOTHING.
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
        """Return some of the answers."""
        return Answers(**{name: column[rows] for name, column in vars(self).items()})


def answers_of(connection: sa.Connection, info: CampaignInfo) -> tuple[Answers, Answers]:
    """Return the current votes and the current answers to checks."""
    ballot, event, asked = schema.ballot, schema.vote_event, schema.comparison
    kind = sa.case(*((asked.c.probe == name, code) for code, name in enumerate(_KINDS)), else_=0)
    blocks = [np.empty((10, 0), np.int64)]
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
        left, right, expected, repeats, kinds = integer_columns(
            connection,
            sa.select(
                asked.c.left_item,
                asked.c.right_item,
                sa.func.coalesce(asked.c.expected, NOTHING),
                sa.func.coalesce(asked.c.repeats, NOTHING),
                kind,
            )
            .where(asked.c.ballot_id == ballot_id)
            .order_by(asked.c.place),
        )
        shown = (np.full(place.size, ballot_id), place, left[place], right[place])
        said = (answer[stands], voter[stands], milliseconds[stands])
        blocks.append(np.stack([*shown, *said, expected[place], repeats[place], kinds[place]]))
    table = np.concatenate(blocks, axis=1)
    ballots, places, lefts, rights, answers, voters, times, wanted, again, kinds = table
    found = Answers(ballots, places, lefts, rights, answers, voters, times, np.array(_KINDS)[kinds], wanted, again)
    return found.select(kinds == 0), found.select(kinds > 0)
