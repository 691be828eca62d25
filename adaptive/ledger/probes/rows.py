"""Probes in the tables of a ledger: drawn with their ballot, comparisons among others, and covered by its digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.encoding import json_of, label_text
from adaptive.ledger.probes.drawing import Drawn, Known, Probe, draw_probes
from adaptive.ledger.probes.probing import Probing
from adaptive.protocol import ballot_rng
from adaptive.votes import WORDS

__all__ = ["ballot_probes", "probe_lines", "probes_for"]

_WORDS: Final = {int(vote): word for word, vote in WORDS.items()}


def probes_for(
    connection: sa.Connection,
    campaign_id: int,
    probing: Probing,
    labels: Sequence[str],
    drawn: Drawn,
    *,
    seed: int,
    number: int,
    assigned: bool,
) -> list[Probe]:
    """Draw the probes of a ballot that is about to be stored.

    Parameters
    ----------
    labels : sequence of str
        Items of the campaign as `label_text`.
    seed, number : int
        Of the campaign, and of the ballot.
    assigned : bool
        Whether each sheet goes to the voter of its slot; else every sheet has the practice.
    """
    index = {label: place for place, label in enumerate(labels)}
    known = tuple(
        Known(each.kind, index[label_text(each.left)], index[label_text(each.right)], int(WORDS[each.expected]))
        for each in probing.known
    )
    rng = ballot_rng(seed, number, "probe")
    seen = _seen(connection, campaign_id, known)
    practised = _slots_so_far(connection, campaign_id) if assigned else None
    return draw_probes(probing, known, drawn, seen, practised, rng)


def ballot_probes(connection: sa.Connection, ballot_id: int) -> list[Probe]:
    """The probes of a ballot, by place; their positions are among all pairs of the sheet."""
    table = schema.comparison
    names = (table.c.sheet, table.c.position, table.c.probe, table.c.left_item, table.c.right_item)
    rows = connection.execute(
        sa.select(*names, table.c.expected, table.c.repeats)
        .where(table.c.ballot_id == ballot_id, table.c.probe.is_not(None))
        .order_by(table.c.place)
    )
    return [Probe(*row) for row in rows]


def probe_lines(labels: Sequence[str], probes: Sequence[Probe]) -> list[str]:
    """The lines that the digest of a draw has after those of the comparisons.

    JSON lists: "p", number among the probes, sheet, position as `Probe` has it when it is drawn, left, right, kind,
    expected answer or null, place of the comparison that is asked again or null.

    Examples
    --------
    >>> probe_lines(['"apple"', '"pear"'], [Probe(0, 3, "gold", 1, 0, -1, None)])
    ['["p",0,0,3,"pear","apple","gold","right",null]']
    """
    return [
        f'["p",{place},{probe.sheet},{probe.position},{labels[probe.left]},{labels[probe.right]},"{probe.kind}",'
        f"{json_of(None if probe.expected is None else _WORDS[probe.expected])},{json_of(probe.repeats)}]"
        for place, probe in enumerate(probes)
    ]


def _seen(connection: sa.Connection, campaign_id: int, known: Sequence[Known]) -> Counter[tuple[int, int]]:
    """How often each slot has been asked each known pair so far."""
    asked, sheet, ballot = schema.comparison, schema.sheet, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.slot, asked.c.left_item, asked.c.right_item)
        .join(sheet, sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet))
        .join(ballot, ballot.c.id == asked.c.ballot_id)
        .where(ballot.c.campaign_id == campaign_id, asked.c.probe.in_(["attention", "gold"]))
    )
    index = {frozenset([each.left, each.right]): place for place, each in enumerate(known)}
    return Counter((slot, index[frozenset([left, right])]) for slot, left, right in rows)


def _slots_so_far(connection: sa.Connection, campaign_id: int) -> set[int]:
    sheet, ballot = schema.sheet, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.slot)
        .distinct()
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(ballot.c.campaign_id == campaign_id)
    )
    return {row.slot for row in rows}
