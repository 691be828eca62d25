"""Read the contents of a bundle: the rows of a campaign, with keys and numbers that are valid in any database."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger._ballots.stored import DrawnColumns, Probe, StoredBallot, ballot_probes, drawn_with_slots
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import answer_name, label_of, value_of

Array = NDArray[np.int64]
Row = dict[str, Any]

_ANSWER: Final = ("answer", "response_ms", "given_by", "layout", "extra", "received_at")
# The columns of each part of a bundle, in their order.
COLUMNS: Final = {
    "campaign": ("key", "name", "mode", "plan", "slots", "seed", "settings", "created_at"),
    "item": ("place", "label", "kind", "content", "alt_text"),
    "pages": ("version", "at", "pages"),
    "ballot": (
        *("number", "kind", "state", "places", "presentations", "n_comparisons", "draw_digest"),
        *("opened_at", "closed_at", "record", "votes_digest", "chain_digest"),
    ),
    "voter": ("voter", "source", "name", "consent_version", "joined_at", "withdrawn_at"),
    "lease": ("ballot", "voter", "sheet", "fence", "exclusive", "given_at", "expires_at", "ended_at", "end_reason"),
    "vote": ("event_id", "ballot", "place", "voter", "revision", "kind", "reason", *_ANSWER, "fence"),
    "late_vote": ("event_id", "ballot", "place", "voter", "revision", "why", *_ANSWER),
    "audit": ("at", "kind", "ballot", "voter", "details"),
}
JSON: Final = ("plan", "settings", "pages", "places", "record", "extra", "details")  # stored as text
STORED_AS: Final = {"ballot": "ballot_id", "voter": "voter_id"}  # numbers and keys of a bundle are ids in a ledger


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
        return CampaignInfo.from_dict(self.campaign, self.labels)

    @cached_property
    def stored(self) -> tuple[StoredBallot, ...]:
        """The ballots in the form that the ledger's functions take."""
        return tuple(StoredBallot.from_dict(ballot) for ballot in self.ballots)

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Keys of the voters who are left out now."""
        last = {row["voter"]: row["kind"] for row in self.audit if row["kind"] in ("excluded", "included")}
        return frozenset(key for key, kind in last.items() if kind == "excluded")


def gathered(connection: sa.Connection, info: CampaignInfo, *, names: bool) -> Contents:
    """Read all rows of a campaign in one transaction.

    Without `names`, slots are numbers and voters have no names, except if all slots are numbers in any case. Nor are
    the study and the completion code of its pages given.
    """

    def own(table: sa.Table, by: str = "id") -> sa.Select[Any]:
        return sa.select(table).where(table.c.campaign_id == info.id).order_by(table.c[by])

    def rows(wanted: sa.Select[Any], columns: Sequence[str]) -> list[Row]:
        return _rows(connection, wanted, columns, ids, keys)

    def of_ballots(table: sa.Table) -> sa.Select[Any]:
        return sa.select(table).where(table.c.ballot_id.in_(list(ids))).order_by(table.c.id)

    numbered = list(info.slots) == list(range(len(info.slots)))
    ids: dict[int, int] = {}
    keys: dict[int, str] = {}
    ballots = rows(own(schema.ballot, "number"), ("id", *COLUMNS["ballot"]))
    ids |= {row.pop("id"): row["number"] for row in ballots}
    for row in ballots:
        if row["state"] == "closing":
            row["state"] = "open"  # a closer at work has not written anything yet
    voters = _voters(connection, info, names=names, numbered=numbered)
    keys |= {row.pop("id"): row["voter"] for row in voters}
    drawn, slots, checks = {}, {}, {}
    for ballot_id, number in ids.items():
        drawn[number], slots[number] = drawn_with_slots(connection, ballot_id)
        checks[number] = ballot_probes(connection, ballot_id)
    own_columns = [each for each in COLUMNS["campaign"] if each != "slots"]
    (campaign,) = rows(sa.select(schema.campaign).where(schema.campaign.c.id == info.id), own_columns)
    named = [list(slot) if isinstance(slot, tuple) else slot for slot in info.slots]
    hidden = {} if names else dict.fromkeys(("study", "completion_code", "completion_url"))
    pages = rows(own(schema.voting_pages, "version"), COLUMNS["pages"])
    lease, vote = schema.lease, schema.vote_event
    joined = vote.outerjoin(lease, lease.c.id == vote.c.lease_id)
    votes = of_ballots(vote).add_columns(lease.c.fence).select_from(joined)
    return Contents(
        campaign={**campaign, "slots": named if names and not numbered else len(info.slots)},
        items=rows(own(schema.item, "place"), COLUMNS["item"]),
        pages=[{**row, "pages": {**row["pages"], **hidden}} for row in pages],
        ballots=ballots,
        drawn=drawn,
        slots=slots,
        checks=checks,
        voters=voters,
        leases=rows(of_ballots(lease), COLUMNS["lease"]),
        votes=rows(votes, COLUMNS["vote"]),
        late_votes=rows(of_ballots(schema.late_vote), COLUMNS["late_vote"]),
        audit=rows(own(schema.audit_event), COLUMNS["audit"]),
    )


def _rows(
    connection: sa.Connection,
    wanted: sa.Select[Any],
    columns: Sequence[str],
    ids: Mapping[int, int],
    keys: Mapping[int, str],
) -> list[Row]:
    """Return rows in the form of a bundle: answers as words, ballots by number, voters by key, and JSON decoded."""
    forms: dict[str, Callable[[Any], Any]] = dict.fromkeys(JSON, value_of)
    forms |= {"answer": answer_name, "ballot": ids.__getitem__, "voter": keys.__getitem__}
    read = [(name, STORED_AS.get(name, name), forms.get(name)) for name in columns]
    found = []
    for row in connection.execute(wanted).mappings():
        values = ((name, row[column], form) for name, column, form in read)
        found.append({name: value if form is None or value is None else form(value) for name, value, form in values})
    return found


def _voters(connection: sa.Connection, info: CampaignInfo, *, names: bool, numbered: bool) -> list[Row]:
    voter, identity = schema.voter, schema.voter_identity
    voters = sa.select(voter, identity.c.external_id).select_from(voter.outerjoin(identity))
    rows = connection.execute(voters.where(voter.c.campaign_id == info.id).order_by(voter.c.id))
    slots = {str(slot) for slot in info.slots} if numbered else set()
    found = []
    for row in rows.mappings():
        is_slot = row["source"] == "file" and row["external_id"] in slots
        name = row["external_id"] if names or is_slot else None
        own = {column: row[column] for column in ("id", "source", "consent_version", "joined_at", "withdrawn_at")}
        found.append({**own, "voter": row["key"], "name": name})
    return found
