"""What is asked in the ballots that are open, and of whom."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.voters import names_of
from adaptive.votes import Comparison

__all__ = ["asked"]


def asked(
    connection: sa.Connection,
    info: CampaignInfo,
    *,
    number: int | None = None,
    voter_id: int | None = None,
    unanswered: bool = False,
) -> tuple[Comparison, ...]:
    """Comparisons and probes of all open ballots, sheet by sheet in the order in which they are shown.

    The voter is whoever has the sheet, or "" where nobody has. The id of a probe is like "2-p5".

    Parameters
    ----------
    number : int or None
        Only of this ballot.
    voter_id : int or None
        Only the sheets that this voter has.
    unanswered : bool
        Only what has no answer that stands.
    """
    names = names_of(connection, info)
    rows = []
    for table, event in ((schema.probe, schema.probe_event), (schema.comparison, schema.vote_event)):
        wanted = _asked(info, table, event, unanswered)
        if number is not None:
            wanted = wanted.where(schema.ballot.c.number == number)
        if voter_id is not None:
            wanted = wanted.where(schema.lease.c.voter_id == voter_id)
        is_probe = table is schema.probe
        rows += [(row, is_probe) for row in connection.execute(wanted)]
    # A probe is shown before the comparison of its position.
    rows.sort(key=lambda each: (each[0].number, each[0].sheet, each[0].position, not each[1], each[0].place))
    return tuple(
        Comparison(
            f"{row.number}-{'p' if is_probe else ''}{row.place}",
            names.get(row.voter_id, ""),
            info.items[row.left_item],
            info.items[row.right_item],
        )
        for row, is_probe in rows
    )


def _asked(info: CampaignInfo, table: sa.Table, event: sa.Table, unanswered: bool) -> sa.Select[Any]:
    lease, ballot = schema.lease, schema.ballot
    held = sa.and_(lease.c.ballot_id == table.c.ballot_id, lease.c.sheet == table.c.sheet, lease.c.ended_at.is_(None))
    shown = (table.c.place, table.c.sheet, table.c.position, table.c.left_item, table.c.right_item)
    wanted = (
        sa.select(ballot.c.number, *shown, lease.c.voter_id)
        .select_from(table)
        .join(ballot, ballot.c.id == table.c.ballot_id)
        .outerjoin(lease, held)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
    )
    if not unanswered:
        return wanted
    later = event.alias("later")
    newer = sa.exists().where(
        later.c.ballot_id == event.c.ballot_id,
        later.c.place == event.c.place,
        later.c.revision > event.c.revision,
        *_counts(later),
    )
    same = (event.c.ballot_id == table.c.ballot_id, event.c.place == table.c.place)
    return wanted.where(~sa.exists().where(*same, event.c.kind == "cast", ~newer, *_counts(event)))


def _counts(event: sa.FromClause) -> tuple[sa.ColumnElement[bool], ...]:
    """Events of probes that are kept and do not count are among the others."""
    return (event.c.why.is_(None),) if "why" in event.c else ()
