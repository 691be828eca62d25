"""Define the tables of a ledger, and the encoding of labels, ids and answers.

Times are whole microseconds since 1970 in UTC. A label is JSON: a string, an integer, or a list of those. An item is
identified by its place among the items of the campaign, and a comparison by its place in the ballot, both counted from
0. A new ledger gets these tables; the revisions in migrations/ upgrade older ledgers to them.

Checks on voters (`Probing` of the settings) are comparisons, too, and answers to them are votes, so that the data that
voters send and receive do not reveal the checks. Places 0 to `ballot.n_comparisons` - 1 are scored; checks have the
later places, which voters do not see. Voters and files identify a pair by its ballot, sheet and position on the sheet.
"""

import hashlib
import json
import re
import time
from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import permutations
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, SmallInteger, Text

from adaptive._plan import MOST_SET
from adaptive._record import json_label, label_from_json
from adaptive._votes import Vote
from adaptive.errors import VoteError
from rankcorr._checks import shown

_PAIR_ID: Final = re.compile(r"b?([1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})")
_PADDED_ID: Final = re.compile(r"b?0{0,20}([1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})")


def now() -> int:
    """Return the current time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def time_text(at: int) -> str:
    """Return a time in microseconds since 1970 in ISO 8601.

    See Also
    --------
    LedgerEvent : Its times have this form.

    Examples
    --------
    >>> from adaptive.ledger import time_text
    >>> time_text(0)
    '1970-01-01T00:00:00.000000Z'
    """
    moment = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def json_of(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no nan, and unescaped text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def label_text(label: Hashable) -> str:
    """Return a label as JSON; a tuple becomes a list.

    Raises
    ------
    ProtocolError
        The label is not a string, an integer or a tuple of those.

    Examples
    --------
    >>> label_text(("salary", "wage")), label_of('["salary","wage"]')
    ('["salary","wage"]', ('salary', 'wage'))
    """
    return json_of(json_label(label))


def label_of(text: str) -> Hashable:
    """Return the label that `label_text` encoded."""
    return label_from_json(json.loads(text))


def pair_id(number: int, sheet: int, position: int) -> str:
    """Return the id of a pair for voters and files: ballot, sheet, and position among all pairs of the sheet.

    Comparisons and checks have ids of the same form, which do not reveal the checks.

    See Also
    --------
    pair_at : The reverse.

    Examples
    --------
    >>> from adaptive.ledger import pair_id
    >>> pair_id(2, 0, 17)
    '2-0-17'
    """
    return f"{number}-{sheet}-{position}"


def file_id(pair: str) -> str:
    """Return the id of a pair for tables, because a spreadsheet would turn "2-0-17" into a date.

    See Also
    --------
    pair_at : Reads both forms.

    Examples
    --------
    >>> from adaptive.ledger import file_id
    >>> file_id("2-0-17")
    'b2-0-17'
    """
    return f"b{pair}"


def pair_at(pair: object) -> tuple[int, int, int]:
    """Return the ballot, sheet and position of an id of `pair_id` or `file_id`.

    Raises
    ------
    VoteError
        The id does not have this form.

    See Also
    --------
    pair_id : The reverse.

    Examples
    --------
    >>> from adaptive.ledger import pair_at
    >>> pair_at("2-0-17"), pair_at("b2-0-17")
    ((2, 0, 17), (2, 0, 17))
    """
    match = _PAIR_ID.fullmatch(pair) if isinstance(pair, str) else None
    if match is None:
        padded = _PADDED_ID.fullmatch(pair) if isinstance(pair, str) else None
        if padded is not None:
            meant = "-".join(padded.groups())
            raise VoteError(f"comparison {pair!r} has a leading zero, which no id has; did you mean {meant!r}?")
        raise VoteError(f'a comparison has an id like "2-0-17": ballot, sheet and position; got {shown(pair)}')
    number, sheet, position = map(int, match.groups())
    return number, sheet, position


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(lines: Iterable[str]) -> str:
    """Return the SHA-256 of UTF-8 lines that end with line feeds, as `sha256sum` does for a file of these lines.

    Examples
    --------
    >>> digest_of(["a", "b"])[:16]
    '911169ddaaf146af'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


CANNOT_SAY: Final = 2
MOST_GRADES: Final = 3
_MOST_NAMED: Final = 8  # answers in an error message
_GRADED: Final = 10  # code of a grade: 12 for "left 2", -12 for "right 2"
_OF_SET: Final = 100  # code of an answer to a set: 114 for "best 1 worst 4"
_SIDES: Final = {"left": int(Vote.LEFT), "right": int(Vote.RIGHT)}
_PAIR_ANSWERS: Final = {
    **_SIDES,
    **{f"{side} {g}": sign * (_GRADED + g) for g in range(2, MOST_GRADES + 1) for side, sign in _SIDES.items()},
    "tie": int(Vote.TIE),
    "cannot say": CANNOT_SAY,
}
_SET_ANSWERS: Final = {
    f"best {best} worst {worst}": _OF_SET + 10 * best + worst for best, worst in permutations(range(1, MOST_SET + 1), 2)
}
ANSWERS: Final = _PAIR_ANSWERS | _SET_ANSWERS
_ANSWER_NAMES: Final = {code: name for name, code in ANSWERS.items()}


@cache
def answers_with(grades: int, set_size: int = 2) -> tuple[str, ...]:
    """Return the answers that a campaign accepts: with two grades of a preference, also "left 2" and "right 2".

    An answer to a set names the positions of the best and the worst item, counted from 1 in the order shown.

    Examples
    --------
    >>> answers_with(1)
    ('left', 'right', 'tie', 'cannot say')
    >>> answers_with(2)
    ('left', 'right', 'left 2', 'right 2', 'tie', 'cannot say')
    >>> answers_with(1, set_size=3)[:3]
    ('best 1 worst 2', 'best 1 worst 3', 'best 2 worst 1')
    """
    if set_size > 2:
        positions = permutations(range(1, set_size + 1), 2)
        return (*(f"best {best} worst {worst}" for best, worst in positions), "cannot say")
    return tuple(name for name, code in _PAIR_ANSWERS.items() if abs(int(grades_of(np.array(code)))) <= grades)


def answer_code(answer: object, answers: Sequence[str]) -> int:
    """Return the code of an answer that a campaign accepts; raise VoteError for any other answer."""
    if not isinstance(answer, str) or answer not in answers:
        some = answers if len(answers) <= _MOST_NAMED else (*answers[:2], "...", answers[-1])
        names = " or ".join([", ".join(map(repr, some[:-1])), repr(some[-1])])
        raise VoteError(f"an answer must be {names}; got {shown(answer)}")
    return ANSWERS[answer]


def answer_name(code: int) -> str:
    """Return the answer that `answer_code` encoded."""
    return _ANSWER_NAMES[code]


def graded_answer(side: str, grade: int) -> str:
    """Return the answer that prefers a side with a grade.

    Examples
    --------
    >>> graded_answer("left", 1), graded_answer("right", 2)
    ('left', 'right 2')
    """
    return side if grade == 1 else f"{side} {grade}"


def side_and_grade(answer: str) -> tuple[str, int | None]:
    """Return an answer without its grade, and the signed grade of files: above 0 for left, None for "cannot say".

    Examples
    --------
    >>> side_and_grade("right 2"), side_and_grade("tie"), side_and_grade("cannot say")
    (('right', -2), ('tie', 0), ('cannot say', None))
    """
    side, _, grade = answer.partition(" ")
    if side not in _SIDES:
        return answer, 0 if answer == "tie" else None
    return side, _SIDES[side] * int(grade or 1)


def directions_of(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return answers without their grades: 1 left, 0 tie, -1 right, 2 cannot say.

    For a set, the sides are the best and the worst item in the order shown: 1 if the best comes first.

    Examples
    --------
    >>> directions_of(np.array([12, 1, 0, -13, 2, 114, 141])).tolist()
    [1, 1, 0, -1, 2, 1, -1]
    """
    best, worst = best_and_worst(codes)
    sides = np.where(codes > _OF_SET, worst - best, codes)
    return np.where(codes == CANNOT_SAY, CANNOT_SAY, np.sign(sides))


def best_and_worst(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the best and the worst item of each answer, counted from 0.

    For an answer to a pair, and for "cannot say", they are always 0 and 1.

    Examples
    --------
    >>> best, worst = best_and_worst(np.array([114, 131, -1]))
    >>> best.tolist(), worst.tolist()
    ([0, 2, 0], [3, 0, 1])
    """
    is_of_set = codes > _OF_SET
    best, worst = np.divmod(codes - _OF_SET, 10)
    return np.where(is_of_set, best - 1, 0), np.where(is_of_set, worst - 1, 1)


def grades_of(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the grade of each answer, above 0 if it prefers the left side; 0 for a tie and for "cannot say".

    Examples
    --------
    >>> grades_of(np.array([12, 1, 0, -13, 2])).tolist()
    [2, 1, 0, -3, 0]
    """
    sizes = np.where(np.abs(codes) > _GRADED, np.abs(codes) - _GRADED, np.abs(codes))
    sizes = np.where(codes > _OF_SET, 1, sizes)
    return np.where(codes == CANNOT_SAY, 0, directions_of(codes) * sizes)


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


def _required(kind: Any, *names: str) -> list[Column[Any]]:
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
    """Make a column of the primary key that the database does not fill."""
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
    # plan and slots are JSON; slots are the names of the voters that ballots are drawn for, or their number. seed is
    # digits, because it may have more than 64 bits. hash_key is the key for the hashes of voters' names.
    *_required(Text, "name", "mode", "plan", "slots", "seed", "settings", "hash_key"),
    *_required(BigInteger, "created_at"),
    _one_of("mode", ("ballots", "continuous")),
)

ballot = sa.Table(
    "ballot",
    metadata,
    _id(),
    _reference("campaign", nullable=False),
    *_required(Integer, "number"),
    *_required(Text, "kind", "state", "places"),  # places is JSON: items of the ballot, best first
    *_required(Integer, "presentations", "n_comparisons"),
    *_required(Text, "draw_digest"),
    *_required(BigInteger, "opened_at"),
    *_optional(Text, "closer"),
    *_optional(BigInteger, "closer_until", "closed_at"),
    # record is JSON: the scores of the ballot and the places selected for the next one. The chain digest covers the
    # previous ballot, the draw, the votes and the record.
    *_optional(Text, "record", "votes_digest", "chain_digest"),
    _one_of("kind", ("ballot", "batch")),
    _one_of("state", ("open", "closing", "closed")),
    sa.UniqueConstraint("campaign_id", "number"),
)
# Only one ballot of a plan may be open; the batches of a continuous campaign overlap.
_unique_where("state <> 'closed' AND kind = 'ballot'", "uq_ballot_not_closed", ballot.c.campaign_id)

item = sa.Table(
    "item",
    metadata,
    _reference("campaign", primary_key=True),
    _number_in_key("place"),
    *_required(Text, "label"),
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
    *_required(Text, "source"),
    *_optional(Text, "external_hash", "consent_version"),
    *_required(BigInteger, "joined_at"),
    *_optional(BigInteger, "withdrawn_at"),
    sa.UniqueConstraint("campaign_id", "source", "external_hash"),
)

# The pages that a campaign shows to its voters, as JSON. Each change is a new version, to record the text that each
# voter agreed to.
voting_pages = sa.Table(
    "voting_pages",
    metadata,
    _reference("campaign", primary_key=True),
    _number_in_key("version"),
    *_required(Text, "pages"),
    *_required(BigInteger, "at"),
)

audit_event = sa.Table(
    "audit_event",
    metadata,
    _id(),
    _reference("campaign", nullable=False, index=True),
    *_required(BigInteger, "at"),
    *_required(Text, "kind"),
    _reference("ballot"),
    _reference("voter"),
    *_required(Text, "details"),  # JSON
)

sheet = sa.Table(
    "sheet",
    metadata,
    _reference("ballot", primary_key=True),
    _number_in_key("number"),
    # The slot is the index of the voter that the ballot was drawn for. A slot has a pair twice only if a plan has more
    # presentations than slots; a voter is then asked only one of the two.
    *_required(Integer, "slot", "n_comparisons"),
    # A sheet is asked completely, even if another voter takes it over: otherwise the omitted pairs could be recognised
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
    *_required(Text, "kind"),
    _reference("voter", index=True),
    *_required(BigInteger, "made_at"),
    *_optional(BigInteger, "ends_at", "revoked_at"),
    _one_of("kind", ("organiser", "organiser session", "invitation", "session", "study")),
)

# The only table whose rows are ever deleted.
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
    # The position counts all pairs of the sheet in the order of display, including checks.
    *_required(Integer, "sheet", "position", "left_item", "right_item"),
    *_optional(Text, "probe"),  # kind of check; NULL for scored comparisons
    *_optional(SmallInteger, "expected"),
    *_optional(Integer, "repeats"),  # place of the comparison that a check asks again
    *_optional(Text, "other_items"),  # items of a set after the first two, as a JSON list; NULL for pairs
    CheckConstraint("left_item <> right_item", name="items"),
    _one_of("probe", ("practice", "attention", "gold", "repeat", "overlap")),
    _of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "position"),
)

lease = sa.Table(
    "lease",
    metadata,
    _id(),
    *_required(_Id, "ballot_id"),
    *_required(Integer, "sheet"),
    _reference("voter", nullable=False, index=True),
    *_required(Integer, "fence"),  # counts the leases of a sheet
    *_required(sa.Boolean, "exclusive"),
    *_required(BigInteger, "given_at"),
    *_optional(BigInteger, "expires_at", "ended_at"),
    *_optional(Text, "end_reason"),
    Column("unanswered", sa.Boolean, server_default=sa.false(), nullable=False),  # claimed, and no answer yet
    Column("address", Text, index=True),  # keyed hash, only while unanswered: `forget_addresses` deletes it
    CheckConstraint("(ended_at IS NULL) = (end_reason IS NULL)", name="end"),
    _of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "fence"),
)
_unique_where("ended_at IS NULL", "uq_lease_of_sheet", lease.c.ballot_id, lease.c.sheet)
# A voter in a browser holds one sheet at a time; sheets for voting by file are exempt.
_unique_where("ended_at IS NULL AND exclusive", "uq_lease_of_voter", lease.c.voter_id)


def _event_columns() -> list[Column[Any]]:
    """Return the columns that votes and late votes have in common.

    An event id belongs to a vote or to a late vote. It belongs to both only if the same vote arrived too late and was
    accepted later.
    """
    return [
        _id(),
        Column("event_id", Text, nullable=False, unique=True),
        *_required(_Id, "ballot_id"),
        *_required(Integer, "place"),
        _reference("voter", nullable=False),
        *_optional(SmallInteger, "answer"),  # a code of ANSWERS
        *_optional(Integer, "response_ms"),
        *_optional(Text, "given_by", "layout", "extra"),  # extra is JSON: unknown columns of a file
        *_required(BigInteger, "received_at"),
        *_required(Text, "payload_hash"),
        # For a late vote: the revision of the comparison's last event when the vote arrived, or 0.
        *_required(Integer, "revision"),
    ]


late_vote = sa.Table(
    "late_vote",
    metadata,
    *_event_columns(),
    *_required(Text, "why"),
    _one_of("why", ("closed", "reassigned", "conflict")),
    _of_pair(),
)
Index("ix_late_vote_ballot_id", late_vote.c.ballot_id)

vote_event = sa.Table(
    "vote_event",
    metadata,
    *_event_columns(),
    *_required(Text, "kind"),
    _reference("lease"),
    *_optional(Text, "reason"),  # for a correction or a void
    CheckConstraint("(kind = 'cast') = (answer IS NOT NULL)", name="answer"),
    _one_of("kind", ("cast", "retract", "void")),
    _of_pair(),
    sa.UniqueConstraint("ballot_id", "place", "revision"),
)
Index("ix_vote_event_voter_id", vote_event.c.voter_id)

# Triggers enforce these rules: rows of HISTORY are never changed, rows of NEVER_DELETED are never deleted, and columns
# of FIXED are never changed. A change here needs a revision that replaces the triggers of existing ledgers.
HISTORY: Final = ("item", "comparison", "vote_event", "late_vote", "audit_event", "voting_pages")
NEVER_DELETED: Final = (*HISTORY, "campaign", "ballot", "sheet", "voter", "lease", "token")
FIXED: Final = {
    "campaign": ("key", "mode", "plan", "slots", "seed", "hash_key", "created_at"),
    "ballot": ("campaign_id", "number", "kind", "places", "presentations", "n_comparisons", "draw_digest", "opened_at"),
    "sheet": ("ballot_id", "number", "slot", "n_comparisons", "n_checks"),
    "voter": ("campaign_id", "key", "source", "joined_at"),
    "lease": ("ballot_id", "sheet", "voter_id", "fence", "given_at"),
    "token": ("hash", "campaign_id", "kind", "voter_id", "made_at"),
}


# Conditions are built once, because building one takes longer than SQLite needs for a query.
# They look up each comparison by its index. As joins, they would take PostgreSQL half a minute in a ballot of 2,000
# votes that its statistics do not know yet.
_event = vote_event.alias("other")


def _last(column: Column[Any], events: sa.Table) -> sa.ScalarSelect[Any]:
    """Return a column of the last event of the comparison in a row of `events`."""
    same = (_event.c.ballot_id == events.c.ballot_id, _event.c.place == events.c.place)
    last = sa.select(column).where(*same).order_by(_event.c.revision.desc()).limit(1)
    return last.correlate(events).scalar_subquery()


# Conditions that an event is the last one of its comparison, and that it is a vote in force.
IS_LAST: Final = vote_event.c.revision == _last(_event.c.revision, vote_event)
IN_FORCE: Final = sa.and_(vote_event.c.kind == "cast", IS_LAST)
# Conditions that an event belongs to a comparison, and that a comparison has a vote in force.
OF_COMPARISON: Final = sa.and_(
    vote_event.c.ballot_id == comparison.c.ballot_id, vote_event.c.place == comparison.c.place
)
IS_ANSWERED: Final = sa.func.coalesce(_last(_event.c.kind, comparison), "") == "cast"
# Joins of rows with their ballot.
VOTES: Final = vote_event.join(ballot, ballot.c.id == vote_event.c.ballot_id)
LEASES: Final = lease.join(ballot, ballot.c.id == lease.c.ballot_id)
PAIRS: Final = comparison.join(ballot, ballot.c.id == comparison.c.ballot_id)
SHEETS: Final = sheet.join(ballot)
PAIRS_ON_SHEETS: Final = comparison.join(sheet).join(ballot)
# Conditions that a lease has not ended, and that it is that of a sheet or of a comparison.
IS_HELD: Final = lease.c.ended_at.is_(None)
LEASE_OF_SHEET: Final = sa.and_(lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number)
LEASED_TO: Final = sa.and_(lease.c.ballot_id == comparison.c.ballot_id, lease.c.sheet == comparison.c.sheet)
# Comparisons of a sheet without an answer, and whether a sheet has a comparison or a check without one.
N_LEFT: Final = (sheet.c.n_comparisons - sheet.c.n_answered).label("n_left")
IS_UNFINISHED: Final = sa.or_(sheet.c.n_answered < sheet.c.n_comparisons, sheet.c.n_checked < sheet.c.n_checks)
IS_NO_PRACTICE: Final = sa.or_(comparison.c.probe.is_(None), comparison.c.probe != "practice")


def is_scored(ballot_id: int) -> sa.ColumnElement[bool]:
    """Return the condition that a vote event of a ballot belongs to a scored comparison, not to a check."""
    return vote_event.c.place < sa.select(ballot.c.n_comparisons).where(ballot.c.id == ballot_id).scalar_subquery()
