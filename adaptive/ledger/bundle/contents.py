"""Read the contents of a bundle: the rows of a campaign, with keys and numbers that are valid in any database."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger.ballots.stored import DrawnColumns, Probe, StoredBallot, ballot_probes
from adaptive.ledger.campaign.info import CampaignInfo, ContinuousPlan, Settings
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import answer_name, label_of, value_of
from adaptive.ledger.store.rows import integer_columns
from adaptive.plan import BallotPlan

Array = NDArray[np.int64]
Row = dict[str, Any]

# Columns of every answer of a voter, after ballot, place and voter.
ANSWERED: Final = ("answer", "response_ms", "given_by", "layout", "extra", "received_at")


@dataclass(frozen=True, eq=False)
class Contents:
    """The rows of a campaign.

    Attributes
    ----------
    campaign : dict
        Key, name, mode, plan, slots, seed, settings and time.
    items, pages, ballots, voters, leases, votes, late_votes, audit : list of dict
        Rows in their order; ballots are identified by number, voters by random key. Votes on checks are included.
    drawn : dict of int to DrawnColumns
        Scored comparisons, by number of the ballot.
    slots : dict of int to ndarray
        Slot of each comparison.
    checks : dict of int to list of Probe
        Checks, by number of the ballot; their places follow those of the comparisons.
    """

    campaign: Row
    items: Sequence[Row]
    pages: Sequence[Row]
    ballots: Sequence[Row]
    drawn: Mapping[int, DrawnColumns]
    slots: Mapping[int, Array]
    checks: Mapping[int, Sequence[Probe]]
    voters: Sequence[Row]
    leases: Sequence[Row]
    votes: Sequence[Row]
    late_votes: Sequence[Row]
    audit: Sequence[Row]

    @cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """Labels of the items, by place."""
        return tuple(label_of(item["label"]) for item in self.items)

    @cached_property
    def info(self) -> CampaignInfo:
        """The campaign in the form that the ledger's functions take, without an id or a secret."""
        campaign = self.campaign
        ballots = campaign["mode"] == "ballots"
        slots = campaign["slots"]
        return CampaignInfo(
            id=0,
            key=campaign["key"],
            name=campaign["name"],
            mode=campaign["mode"],
            plan=BallotPlan.from_dict(campaign["plan"]) if ballots else ContinuousPlan(**campaign["plan"]),
            slots=range(slots) if isinstance(slots, int) else tuple(_hashable(slot) for slot in slots),
            seed=int(campaign["seed"]),
            settings=Settings.from_dict(campaign["settings"]),
            hash_key="",
            created_at=campaign["created_at"],
            items=self.labels,
        )

    @cached_property
    def stored(self) -> tuple[StoredBallot, ...]:
        """The ballots in the form that the ledger's functions take."""
        wanted = ("number", "kind", "state", "presentations", "n_comparisons", "draw_digest", "record")
        return tuple(
            StoredBallot(
                id=0,
                places=np.array(ballot["places"], np.intp),
                votes_digest=ballot["votes_digest"],
                chain_digest=ballot["chain_digest"],
                **{name: ballot[name] for name in wanted},
            )
            for ballot in self.ballots
        )

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Keys of the voters who are left out now."""
        last = {row["voter"]: row["kind"] for row in self.audit if row["kind"] in ("excluded", "included")}
        return frozenset(key for key, kind in last.items() if kind == "excluded")


def gathered(connection: sa.Connection, info: CampaignInfo, *, names: bool) -> Contents:
    """Read all rows of a campaign in one transaction.

    Without `names`, slots are numbers and voters have no names, except if all slots are numbers in any case.
    """
    numbered = list(info.slots) == list(range(len(info.slots)))
    campaign = _rows(
        connection, schema.campaign, ("key", "name", "mode", "plan", "seed", "settings", "created_at"), info
    )
    first = campaign[0]
    for name in ("plan", "settings"):
        first[name] = value_of(first[name])
    named = names and not numbered
    first["slots"] = (
        [list(slot) if isinstance(slot, tuple) else slot for slot in info.slots] if named else len(info.slots)
    )
    ballots = _ballots(connection, info)
    ids = {row.pop("id"): row["number"] for row in ballots}
    voters = _voters(connection, info, names=names, numbered=numbered)
    keys = {row.pop("id"): row["voter"] for row in voters}
    drawn, slots, checks = {}, {}, {}
    for ballot_id, number in ids.items():
        drawn[number], slots[number] = _drawn(connection, ballot_id)
        checks[number] = ballot_probes(connection, ballot_id)
    return Contents(
        campaign=first,
        items=_rows(connection, schema.item, ("place", "label", "kind", "content", "alt_text"), info, by="place"),
        pages=_pages(connection, info, names=names),
        ballots=ballots,
        drawn=drawn,
        slots=slots,
        checks=checks,
        voters=voters,
        leases=_leases(connection, ids, keys),
        votes=_events(connection, schema.vote_event, ids, keys),
        late_votes=_events(connection, schema.late_vote, ids, keys),
        audit=_audit(connection, info, ids, keys),
    )


def _hashable(slot: Any) -> Hashable:
    return tuple(slot) if isinstance(slot, list) else slot


def _rows(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], info: CampaignInfo, *, by: str = "id"
) -> list[Row]:
    own = table.c.id if table is schema.campaign else table.c.campaign_id
    wanted = sa.select(*(table.c[name] for name in columns)).where(own == info.id).order_by(table.c[by])
    return [dict(row._mapping) for row in connection.execute(wanted)]


def _pages(connection: sa.Connection, info: CampaignInfo, *, names: bool) -> list[Row]:
    """Return every version of the voting pages; without `names`, the study and the completion code are left out."""
    rows = _rows(connection, schema.voting_pages, ("version", "at", "pages"), info, by="version")
    hidden = {} if names else dict.fromkeys(("study", "completion_code", "completion_url"))
    return [{**row, "pages": {**value_of(row["pages"]), **hidden}} for row in rows]


def _ballots(connection: sa.Connection, info: CampaignInfo) -> list[Row]:
    columns = ("id", "number", "kind", "state", "places", "presentations", "n_comparisons", "draw_digest")
    closing = ("opened_at", "closed_at", "record", "votes_digest", "chain_digest")
    rows = _rows(connection, schema.ballot, (*columns, *closing), info, by="number")
    for row in rows:
        row["places"] = value_of(row["places"])
        row["record"] = None if row["record"] is None else value_of(row["record"])
        if row["state"] == "closing":
            row["state"] = "open"  # a closer at work has not written anything yet
    return rows


def _voters(connection: sa.Connection, info: CampaignInfo, *, names: bool, numbered: bool) -> list[Row]:
    voter, identity = schema.voter, schema.voter_identity
    rows = connection.execute(
        sa.select(voter, identity.c.external_id)
        .select_from(voter.outerjoin(identity))
        .where(voter.c.campaign_id == info.id)
        .order_by(voter.c.id)
    )
    slots = {str(slot) for slot in info.slots} if numbered else set()
    found = []
    for row in rows:
        is_slot = row.source == "file" and row.external_id in slots
        found.append(
            {
                "id": row.id,
                "voter": row.key,
                "source": row.source,
                "name": row.external_id if names or is_slot else None,
                "consent_version": row.consent_version,
                "joined_at": row.joined_at,
                "withdrawn_at": row.withdrawn_at,
            }
        )
    return found


def _drawn(connection: sa.Connection, ballot_id: int) -> tuple[DrawnColumns, Array]:
    asked, sheet = schema.comparison, schema.sheet
    *columns, slot = integer_columns(
        connection,
        sa.select(asked.c.sheet, asked.c.position, asked.c.left_item, asked.c.right_item, sheet.c.slot)
        .join(sheet, sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet))
        .where(asked.c.ballot_id == ballot_id, asked.c.probe.is_(None))
        .order_by(asked.c.place),
    )
    return DrawnColumns(*columns), slot


def _leases(connection: sa.Connection, ids: Mapping[int, int], keys: Mapping[int, str]) -> list[Row]:
    table = schema.lease
    names = ("sheet", "fence", "exclusive", "given_at", "expires_at", "ended_at", "end_reason")
    rows = connection.execute(sa.select(table).where(table.c.ballot_id.in_(list(ids))).order_by(table.c.id))
    return [
        {"ballot": ids[row.ballot_id], "voter": keys[row.voter_id], **{name: row._mapping[name] for name in names}}
        for row in rows
    ]


def _events(connection: sa.Connection, table: sa.Table, ids: Mapping[int, int], keys: Mapping[int, str]) -> list[Row]:
    own = [name for name in ("revision", "kind", "reason", "why") if name in table.c]
    wanted = sa.select(table).where(table.c.ballot_id.in_(list(ids))).order_by(table.c.id)
    if table is schema.vote_event:
        wanted = (
            sa.select(table, schema.lease.c.fence)
            .select_from(table.outerjoin(schema.lease, schema.lease.c.id == table.c.lease_id))
            .where(table.c.ballot_id.in_(list(ids)))
            .order_by(table.c.id)
        )
    found = []
    for mapping in connection.execute(wanted).mappings():
        row = {
            "event_id": mapping["event_id"],
            "ballot": ids[mapping["ballot_id"]],
            "place": mapping["place"],
            "voter": keys[mapping["voter_id"]],
            **{name: mapping[name] for name in (*own, *ANSWERED)},
        }
        row["answer"] = None if row["answer"] is None else answer_name(row["answer"])
        row["extra"] = None if row["extra"] is None else value_of(row["extra"])
        if table is schema.vote_event:
            row["fence"] = mapping["fence"]
        found.append(row)
    return found


def _audit(connection: sa.Connection, info: CampaignInfo, ids: Mapping[int, int], keys: Mapping[int, str]) -> list[Row]:
    rows = _rows(connection, schema.audit_event, ("at", "kind", "ballot_id", "voter_id", "details"), info)
    return [
        {
            "at": row["at"],
            "kind": row["kind"],
            "ballot": ids.get(row["ballot_id"]),
            "voter": keys.get(row["voter_id"]),
            "details": value_of(row["details"]),
        }
        for row in rows
    ]
