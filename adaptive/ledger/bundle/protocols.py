"""Turn a voting stored in a file into a campaign of a ledger."""

from __future__ import annotations

import uuid
from collections import Counter

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.formats.saved_voting import SavedVoting
from adaptive.ledger.ballots.draws import store_ballot
from adaptive.ledger.ballots.sheets import assign_slots
from adaptive.ledger.ballots.stored import Scored, record_dict, stored_ballots, write_record
from adaptive.ledger.bundle.checking import checked
from adaptive.ledger.bundle.contents import gathered
from adaptive.ledger.campaign.info import CampaignInfo, Settings
from adaptive.ledger.campaign.stored import insert_campaign
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from adaptive.ledger.store.database import Database
from adaptive.ledger.store.encoding import answer_name, now
from adaptive.ledger.store.locks import count_answers, lock_tables
from adaptive.ledger.store.rows import audit, insert_columns
from adaptive.ledger.votes.casting import vote_hash
from adaptive.ledger.votes.reading import votes_digest
from adaptive.protocol import Position
from adaptive.votes import UNANSWERED
from rankcorr.checks import shown


def import_protocol(
    database: Database, protocol: SavedVoting, name: str, *, settings: Settings | None = None
) -> CampaignInfo:
    """Make a campaign of a voting, with its ballots, votes and records unchanged; nothing is drawn or scored anew.

    `read_saved_voting` has compared the draws with their digests. Here everything is stored, checked as `verify_bundle`
    checks a bundle, and kept only if every number agrees. Each slot of the voting becomes a voter with its name and its
    votes. The times of the votes are unknown, so the current time is recorded.

    Parameters
    ----------
    protocol : SavedVoting
    name : str
        Name of the campaign.
    settings : Settings
        Settings for the rest of the voting.

    Raises
    ------
    LedgerError
        If the ledger has a campaign of this name.
    BundleError
        If the votes do not reproduce the records.
    """
    chosen = Settings() if settings is None else settings

    def work(connection: sa.Connection) -> CampaignInfo:
        lock_tables(connection)  # two simultaneous imports of one name run one after the other
        _check_name(connection, name)
        info = insert_campaign(
            connection, protocol.plan, protocol.items, protocol.voters, protocol.seed, name=name, settings=chosen
        )
        _import_ballots(connection, info, protocol)
        audit(connection, info.id, "imported", {"ballots": len(protocol.answers())})
        checked(gathered(connection, info, names=False))
        return info

    return database.write(work)


def _check_name(connection: sa.Connection, name: str) -> None:
    """Refuse a name that is taken: a voting in a file has no key, so only its name identifies it."""
    table = schema.campaign
    found = connection.execute(sa.select(table.c.key).where(table.c.name == name).limit(1)).scalar()
    if found is not None:
        raise LedgerError(
            f"the ledger has a campaign called {shown(name)} already, with the key {found}: another name is wanted"
        )


def _import_ballots(connection: sa.Connection, info: CampaignInfo, protocol: SavedVoting) -> None:
    records, previous = protocol.records, None
    following = [*(record.places for record in records), protocol.standing.places]
    for number, (ballot, answers) in enumerate(protocol.answers(), start=1):
        ballot_id = store_ballot(
            connection, info, ballot, following[number - 1], number=number, presentations=ballot.presentations
        )
        assign_slots(connection, info, ballot_id)
        audit(connection, info.id, "opened", {"imported": True}, ballot_id=ballot_id)
        n_answered = _insert_votes(connection, info, number, ballot_id, answers)
        if number <= len(records):
            after = Position(number, following[number].copy(), np.full(info.n_items, np.nan))
            record = record_dict(Scored(records[number - 1], after, n_answered), {})
            stored = stored_ballots(connection, info)[-1]
            previous = write_record(connection, stored, previous, votes_digest(connection, ballot_id), record)
            audit(connection, info.id, "closed", {"n_answered": n_answered, "imported": True}, ballot_id=ballot_id)


def _insert_votes(
    connection: sa.Connection, info: CampaignInfo, number: int, ballot_id: int, answers: NDArray[np.int8]
) -> int:
    """Insert a vote for each answer, by the holder of its sheet, and return the number of votes."""
    asked, lease = schema.comparison, schema.lease
    rows = connection.execute(
        sa.select(asked.c.place, asked.c.sheet, lease.c.id, lease.c.voter_id)
        .join(lease, sa.and_(lease.c.ballot_id == asked.c.ballot_id, lease.c.sheet == asked.c.sheet))
        .where(asked.c.ballot_id == ballot_id)
        .order_by(asked.c.place)
    )
    codes = answers.tolist()
    answered = [(row, codes[row.place]) for row in rows if codes[row.place] != UNANSWERED]
    hashes = [vote_hash(number, row.place, row.voter_id, answer_name(code)) for row, code in answered]
    space = uuid.UUID(info.key)
    insert_columns(
        connection,
        schema.vote_event,
        {
            "event_id": [str(uuid.uuid5(space, f"{number}-{row.place}")) for row, _ in answered],
            "ballot_id": ballot_id,
            "place": [row.place for row, _ in answered],
            "voter_id": [row.voter_id for row, _ in answered],
            "answer": [code for _, code in answered],
            "given_by": "file",
            "received_at": now(),
            "payload_hash": hashes,
            "revision": 1,
            "kind": "cast",
            "lease_id": [row.id for row, _ in answered],
        },
    )
    count_answers(connection, ballot_id, Counter(row.sheet for row, _ in answered), {})
    return len(answered)
