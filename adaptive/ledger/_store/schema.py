"""Define the tables of a ledger.

Times are whole microseconds since 1970 in UTC. A label is JSON: a string, an integer, or a list of those. An item is
identified by its place among the items of the campaign, a comparison by its place in the ballot, both counted from 0.
`migrations` makes these tables; a test compares the two.

Checks on voters (the probes of `campaign.info`) are comparisons too, and answers to them are votes, so that the data
that voters send and receive do not reveal which is which. Places 0 to `ballot.n_comparisons` - 1 are scored; checks
have the places after those, which voters do not see. Voters and files identify a pair by its ballot, sheet and position
on the sheet.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, SmallInteger, Text

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# SQLite increments a column automatically only if its type is INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")


def _wanted(kind: Any, *names: str) -> list[Column[Any]]:
    """Make columns of one type that are never NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Make columns of one type that may be NULL."""
    return [Column(name, kind) for name in names]


def _id() -> Column[int]:
    return Column("id", _Id, primary_key=True)


def _reference(table: str, **options: Any) -> Column[Any]:
    """Make a column with the id of a row in another table."""
    return Column(f"{table}_id", _Id, ForeignKey(f"{table}.id"), **options)


def _number_in_key(name: str) -> Column[int]:
    """Make a column of the primary key that the database does not count."""
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _of_sheet() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"])


def _of_pair() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["ballot_id", "place"], ["comparison.ballot_id", "comparison.place"])


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _unique_where(where: str, name: str, *columns: Column[Any]) -> None:
    Index(name, *columns, unique=True, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


campaign = sa.Table(
    "campaign",
    metadata,
    _id(),
    Column("key", Text, nullable=False, unique=True),
    # plan is JSON: of the ballots, or of the matching; slots too: names of the voters that ballots are drawn for, or
    # their number. The seed is digits, because it may have more than 64 bits; hash_key hashes the names that platforms
    # give to voters.
    *_wanted(Text, "name", "mode", "plan", "slots", "seed", "settings", "hash_key"),
    *_wanted(BigInteger, "created_at"),
    _one_of("mode", ("ballots", "continuous")),
)

ballot = sa.Table(
    "ballot",
    metadata,
    _id(),
    _reference("campaign", nullable=False),
    *_wanted(Integer, "number"),
    *_wanted(Text, "kind", "state", "places"),  # places is JSON: items of the ballot, best first
    *_wanted(Integer, "presentations", "n_comparisons"),
    *_wanted(Text, "draw_digest"),
    *_wanted(BigInteger, "opened_at"),
    *_optional(Text, "closer"),
    *_optional(BigInteger, "closer_until", "closed_at"),
    # record is JSON: scores of the ballot and the places selected for the next. The chain digest covers the ballot
    # before, draw, votes and record.
    *_optional(Text, "record", "votes_digest", "chain_digest"),
    _one_of("kind", ("ballot", "batch")),
    _one_of("state", ("open", "closing", "closed")),
    sa.UniqueConstraint("campaign_id", "number"),
)
# The ballots of a plan come one after the other; the batches of a continuous campaign overlap.
_unique_where("state <> 'closed' AND kind = 'ballot'", "uq_ballot_not_closed", ballot.c.campaign_id)

item = sa.Table(
    "item",
    metadata,
    _reference("campaign", primary_key=True),
    _number_in_key("place"),
    *_wanted(Text, "label"),
    Column("kind", Text, server_default="text", nullable=False),
    *_optional(Text, "content", "alt_text"),
    _one_of("kind", ("text", "markdown", "image", "audio")),
    sa.UniqueConstraint("campaign_id", "label"),
)

voter = sa.Table(
    "voter",
    metadata,
    _id(),
    _reference("campaign", nullable=False),
    Column("key", Text, nullable=False, unique=True),  # random: identifies the voter in exports and digests
    *_wanted(Text, "source"),
    *_optional(Text, "external_hash", "consent_version"),
    *_wanted(BigInteger, "joined_at"),
    *_optional(BigInteger, "withdrawn_at"),
    sa.UniqueConstraint("campaign_id", "source", "external_hash"),
)

# The pages that a campaign shows to its voters, as JSON. Each change is a new version, so that the text that each voter
# agreed to is known.
voting_pages = sa.Table(
    "voting_pages",
    metadata,
    _reference("campaign", primary_key=True),
    _number_in_key("version"),
    *_wanted(Text, "pages"),
    *_wanted(BigInteger, "at"),
)

audit_event = sa.Table(
    "audit_event",
    metadata,
    _id(),
    _reference("campaign", nullable=False, index=True),
    *_wanted(BigInteger, "at"),
    *_wanted(Text, "kind"),
    _reference("ballot"),
    _reference("voter"),
    *_wanted(Text, "details"),  # JSON
)

sheet = sa.Table(
    "sheet",
    metadata,
    _reference("ballot", primary_key=True),
    _number_in_key("number"),
    *_wanted(Integer, "slot", "n_comparisons"),  # the slot is the index of the drawn voter; no pair comes twice in one
    # A sheet is asked to its end, also if another voter takes it over: otherwise the pairs left out would be recognised
    # as checks. Checks are counted without practice.
    *[
        Column(name, Integer, server_default=sa.text("0"), nullable=False)
        for name in ("n_answered", "n_checks", "n_checked")
    ],
    CheckConstraint("n_answered BETWEEN 0 AND n_comparisons", name="answered"),
    CheckConstraint("n_checked BETWEEN 0 AND n_checks", name="checked"),
)

# Only the hash of a token is stored, so that a reader of the database cannot use it.
token = sa.Table(
    "token",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    _reference("campaign", nullable=False, index=True),
    *_wanted(Text, "kind"),
    _reference("voter", index=True),
    *_wanted(BigInteger, "made_at"),
    *_optional(BigInteger, "ends_at", "revoked_at"),
    _one_of("kind", ("organiser", "organiser session", "invitation", "session", "study")),
)

# The only rows that are ever deleted.
voter_identity = sa.Table(
    "voter_identity",
    metadata,
    _reference("voter", primary_key=True, autoincrement=False),
    *_optional(Text, "external_id", "email"),
)

comparison = sa.Table(
    "comparison",
    metadata,
    Column("ballot_id", _Id, primary_key=True),
    _number_in_key("place"),
    # The position is among all pairs of the sheet, checks included, as it is shown.
    *_wanted(Integer, "sheet", "position", "left_item", "right_item"),
    *_optional(Text, "probe"),  # kind of check; NULL: scored
    *_optional(SmallInteger, "expected"),
    *_optional(Integer, "repeats"),  # place of the comparison that a check asks again
    CheckConstraint("left_item <> right_item", name="items"),
    _one_of("probe", ("practice", "attention", "gold", "repeat", "overlap")),
    _of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "position"),
)

lease = sa.Table(
    "lease",
    metadata,
    _id(),
    *_wanted(_Id, "ballot_id"),
    *_wanted(Integer, "sheet"),
    _reference("voter", nullable=False, index=True),
    *_wanted(Integer, "fence"),  # counts the leases of a sheet
    *_wanted(sa.Boolean, "exclusive"),
    *_wanted(BigInteger, "given_at"),
    *_optional(BigInteger, "expires_at", "ended_at"),
    *_optional(Text, "end_reason"),
    Column("unanswered", sa.Boolean, server_default=sa.false(), nullable=False),  # claimed, without a first answer
    Column("address", Text, index=True),  # keyed hash, of an unanswered lease alone: `newcomers` forgets it
    CheckConstraint("(ended_at IS NULL) = (end_reason IS NULL)", name="end"),
    _of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "fence"),
)
_unique_where("ended_at IS NULL", "uq_lease_of_sheet", lease.c.ballot_id, lease.c.sheet)
# A voter in a browser holds one sheet at a time; sheets that were given out as a file are exempt.
_unique_where("ended_at IS NULL AND exclusive", "uq_lease_of_voter", lease.c.voter_id)


def _event_columns() -> list[Column[Any]]:
    """Return the columns that every answer of a voter has.

    An event id belongs to a vote or to a late vote. It belongs to both only if the same vote was sent too late and was
    accepted later.
    """
    return [
        _id(),
        Column("event_id", Text, nullable=False, unique=True),
        *_wanted(_Id, "ballot_id"),
        *_wanted(Integer, "place"),
        _reference("voter", nullable=False),
        *_optional(SmallInteger, "answer"),  # 1 left, 0 tie, -1 right, 2 cannot say
        *_optional(Integer, "response_ms"),
        *_optional(
            Text, "given_by", "layout", "extra"
        ),  # extra is JSON: columns of a file that the ledger does not know
        *_wanted(BigInteger, "received_at"),
        *_wanted(Text, "payload_hash"),
        # Of a late vote, the revision of the comparison's last event when it arrived, or 0.
        *_wanted(Integer, "revision"),
    ]


late_vote = sa.Table(
    "late_vote",
    metadata,
    *_event_columns(),
    *_wanted(Text, "why"),
    _one_of("why", ("closed", "reassigned", "conflict")),
    _of_pair(),
)
Index("ix_late_vote_ballot_id", late_vote.c.ballot_id)

vote_event = sa.Table(
    "vote_event",
    metadata,
    *_event_columns(),
    *_wanted(Text, "kind"),
    _reference("lease"),
    *_optional(Text, "reason"),  # of a correction or a void
    CheckConstraint("(kind = 'cast') = (answer IS NOT NULL)", name="answer"),
    _one_of("kind", ("cast", "retract", "void")),
    _of_pair(),
    sa.UniqueConstraint("ballot_id", "place", "revision"),
)
Index("ix_vote_event_voter_id", vote_event.c.voter_id)

# Tables whose rows are never changed or deleted: triggers raise.
HISTORY: Final = ("item", "comparison", "vote_event", "late_vote", "audit_event", "voting_pages")
