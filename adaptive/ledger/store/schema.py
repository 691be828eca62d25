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


def _id() -> Column[int]:
    return Column("id", _Id, primary_key=True)


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
    Column("name", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("plan", Text, nullable=False),  # JSON: of the ballots, or of the matching
    Column("slots", Text, nullable=False),  # JSON: names of the voters that ballots are drawn for, or their number
    Column("seed", Text, nullable=False),  # as digits: a seed may have more than 64 bits
    Column("settings", Text, nullable=False),  # JSON
    Column("hash_key", Text, nullable=False),  # hashes the names that platforms give to voters
    Column("created_at", BigInteger, nullable=False),
    _one_of("mode", ("ballots", "continuous")),
)

item = sa.Table(
    "item",
    metadata,
    Column("campaign_id", _Id, ForeignKey("campaign.id"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("label", Text, nullable=False),
    Column("kind", Text, nullable=False, server_default="text"),
    Column("content", Text),
    Column("alt_text", Text),
    sa.UniqueConstraint("campaign_id", "label"),
    _one_of("kind", ("text", "markdown", "image", "audio")),
)

ballot = sa.Table(
    "ballot",
    metadata,
    _id(),
    Column("campaign_id", _Id, ForeignKey("campaign.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("places", Text, nullable=False),  # JSON: items of the ballot, best first
    Column("presentations", Integer, nullable=False),
    Column("n_comparisons", Integer, nullable=False),
    Column("draw_digest", Text, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("closer", Text),
    Column("closer_until", BigInteger),
    Column("closed_at", BigInteger),
    Column("record", Text),  # JSON: scores of the ballot and the places selected for the next
    Column("votes_digest", Text),
    Column("chain_digest", Text),  # over the ballot before, draw, votes and record
    sa.UniqueConstraint("campaign_id", "number"),
    _one_of("kind", ("ballot", "batch")),
    _one_of("state", ("open", "closing", "closed")),
)
# The ballots of a plan come one after the other; the batches of a continuous campaign overlap.
_unique_where("state <> 'closed' AND kind = 'ballot'", "uq_ballot_not_closed", ballot.c.campaign_id)

sheet = sa.Table(
    "sheet",
    metadata,
    Column("ballot_id", _Id, ForeignKey("ballot.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("slot", Integer, nullable=False),  # index of the drawn voter; no pair comes twice in a slot
    Column("n_comparisons", Integer, nullable=False),
    Column("n_answered", Integer, nullable=False, server_default="0"),
    # A sheet is asked to its end, also if another voter takes it over: otherwise the pairs left out would be recognised
    # as checks.
    Column("n_checks", Integer, nullable=False, server_default="0"),  # practice left out
    Column("n_checked", Integer, nullable=False, server_default="0"),
    CheckConstraint("n_answered BETWEEN 0 AND n_comparisons", name="answered"),
    CheckConstraint("n_checked BETWEEN 0 AND n_checks", name="checked"),
)

comparison = sa.Table(
    "comparison",
    metadata,
    Column("ballot_id", _Id, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("sheet", Integer, nullable=False),
    Column("position", Integer, nullable=False),  # among all pairs of the sheet, checks included, as it is shown
    Column("left_item", Integer, nullable=False),
    Column("right_item", Integer, nullable=False),
    Column("probe", Text),  # kind of check; NULL: scored
    Column("expected", SmallInteger),
    Column("repeats", Integer),  # place of the comparison that a check asks again
    sa.UniqueConstraint("ballot_id", "sheet", "position"),
    sa.ForeignKeyConstraint(["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"]),
    CheckConstraint("left_item <> right_item", name="items"),
    _one_of("probe", ("practice", "attention", "gold", "repeat", "overlap")),
)

voter = sa.Table(
    "voter",
    metadata,
    _id(),
    Column("campaign_id", _Id, ForeignKey("campaign.id"), nullable=False),
    Column("key", Text, nullable=False, unique=True),  # random: identifies the voter in exports and digests
    Column("source", Text, nullable=False),
    Column("external_hash", Text),
    Column("consent_version", Text),
    Column("joined_at", BigInteger, nullable=False),
    Column("withdrawn_at", BigInteger),
    sa.UniqueConstraint("campaign_id", "source", "external_hash"),
)

# The only rows that are ever deleted.
voter_identity = sa.Table(
    "voter_identity",
    metadata,
    Column("voter_id", _Id, ForeignKey("voter.id"), primary_key=True, autoincrement=False),
    Column("external_id", Text),
    Column("email", Text),
)

lease = sa.Table(
    "lease",
    metadata,
    _id(),
    Column("ballot_id", _Id, nullable=False),
    Column("sheet", Integer, nullable=False),
    Column("voter_id", _Id, ForeignKey("voter.id"), nullable=False),
    Column("fence", Integer, nullable=False),  # counts the leases of a sheet
    Column("exclusive", sa.Boolean, nullable=False),
    Column("given_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("unanswered", sa.Boolean, nullable=False, server_default=sa.false()),  # claimed, without a first answer
    Column("address", Text),  # keyed hash, of an unanswered lease alone: `newcomers` forgets it
    Column("ended_at", BigInteger),
    Column("end_reason", Text),
    sa.ForeignKeyConstraint(["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"]),
    sa.UniqueConstraint("ballot_id", "sheet", "fence"),
    CheckConstraint("(ended_at IS NULL) = (end_reason IS NULL)", name="end"),
)
_unique_where("ended_at IS NULL", "uq_lease_of_sheet", lease.c.ballot_id, lease.c.sheet)
# A voter in a browser holds one sheet at a time; sheets that were given out as a file are exempt.
_unique_where("ended_at IS NULL AND exclusive", "uq_lease_of_voter", lease.c.voter_id)
Index("ix_lease_voter_id", lease.c.voter_id)
Index("ix_lease_address", lease.c.address)


def _event_columns() -> list[Column[object]]:
    """Return the columns that every answer of a voter has.

    An event id belongs to a vote or to a late vote. It belongs to both only if the same vote was sent too late and was
    accepted later.
    """
    return [
        Column("event_id", Text, nullable=False, unique=True),
        Column("ballot_id", _Id, nullable=False),
        Column("place", Integer, nullable=False),
        Column("voter_id", _Id, ForeignKey("voter.id"), nullable=False),
        Column("answer", SmallInteger),  # 1 left, 0 tie, -1 right, 2 cannot say
        Column("response_ms", Integer),
        Column("given_by", Text),
        Column("layout", Text),
        Column("extra", Text),  # JSON: columns of a file that the ledger does not know
        Column("received_at", BigInteger, nullable=False),
        Column("payload_hash", Text, nullable=False),
    ]


vote_event = sa.Table(
    "vote_event",
    metadata,
    _id(),
    *_event_columns(),
    Column("revision", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("lease_id", _Id, ForeignKey("lease.id")),
    Column("reason", Text),  # of a correction or a void
    sa.UniqueConstraint("ballot_id", "place", "revision"),
    sa.ForeignKeyConstraint(["ballot_id", "place"], ["comparison.ballot_id", "comparison.place"]),
    _one_of("kind", ("cast", "retract", "void")),
    CheckConstraint("(kind = 'cast') = (answer IS NOT NULL)", name="answer"),
)
Index("ix_vote_event_voter_id", vote_event.c.voter_id)

late_vote = sa.Table(
    "late_vote",
    metadata,
    _id(),
    *_event_columns(),
    Column("revision", Integer, nullable=False),  # revision of the comparison's last event when this one arrived, or 0
    Column("why", Text, nullable=False),
    sa.ForeignKeyConstraint(["ballot_id", "place"], ["comparison.ballot_id", "comparison.place"]),
    _one_of("why", ("closed", "reassigned", "conflict")),
)
Index("ix_late_vote_ballot_id", late_vote.c.ballot_id)

audit_event = sa.Table(
    "audit_event",
    metadata,
    _id(),
    Column("campaign_id", _Id, ForeignKey("campaign.id"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("ballot_id", _Id, ForeignKey("ballot.id")),
    Column("voter_id", _Id, ForeignKey("voter.id")),
    Column("details", Text, nullable=False),  # JSON
)
Index("ix_audit_event_campaign_id", audit_event.c.campaign_id)

# The pages that a campaign shows to its voters. Each change is a new version, so that the text that each voter agreed
# to is known.
voting_pages = sa.Table(
    "voting_pages",
    metadata,
    Column("campaign_id", _Id, ForeignKey("campaign.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("pages", Text, nullable=False),  # JSON
    Column("at", BigInteger, nullable=False),
)

# Only the hash of a token is stored, so that a reader of the database cannot use it.
token = sa.Table(
    "token",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("campaign_id", _Id, ForeignKey("campaign.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("voter_id", _Id, ForeignKey("voter.id")),
    Column("made_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger),
    Column("revoked_at", BigInteger),
    _one_of("kind", ("organiser", "organiser session", "invitation", "session", "study")),
)
Index("ix_token_voter_id", token.c.voter_id)
Index("ix_token_campaign_id", token.c.campaign_id)

# Tables whose rows are never changed or deleted: triggers raise.
HISTORY: Final = ("item", "comparison", "vote_event", "late_vote", "audit_event", "voting_pages")
