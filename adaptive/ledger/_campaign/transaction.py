"""A campaign as it was created, and a transaction on it with the reads, locks and writes that steps have in common.

A step is a function of a `Transaction`. The database may require that a step is retried, so its only effects are those
of its transaction. `OpenCampaign`, the base of `Campaign` and `Voter`, runs steps.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._plan import BallotPlan
from adaptive._protocol import Items, checked_items, checked_labels
from adaptive._record import json_label, label_from_json
from adaptive._tables import check_decimals, item_cells
from adaptive.errors import VoteError
from adaptive.ledger._campaign.content import OPEN, ItemContent, VotingPages
from adaptive.ledger._campaign.plan import ContinuousPlan, Mode, items_of_targets, n_pairs_within
from adaptive.ledger._campaign.settings import CampaignSettings
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import PATIENCE_SECONDS, PROCESS_CLOCK, SERVER_CLOCK, Database, lock_ballot
from adaptive.ledger._store.schema import answers_with, json_of, label_of, label_text, now
from adaptive.ledger.errors import ChangedError, LedgerError, NoCampaignError
from adaptive.model._likelihood import MAX_DENSE
from rankcorr._checks import checked_seed, first_few, shown

P = ParamSpec("P")
T = TypeVar("T")
_BLOCK: Final = 50_000  # rows: 10 MB of Python numbers
# In microseconds. Voters wait for this long if a closer is killed. A small ballot is scored in milliseconds, and after
# this time a closer that waits for the database gives up.
_CLOSER_TIME: Final = int(1_000_000 * PATIENCE_SECONDS)
_CLOSER_TIME_PER_PAIR: Final = 200  # microseconds: three times as long as measured for 400,000 comparisons under load
_ADDRESS_LOCKS: Final = 0x72636E
# Updates the answer counts of a ``sheet`` of a ``ballot``, for votes and checks alike, so that both take equally long.
# Statements of every vote are built once, because SQLAlchemy needs longer to build one than SQLite to run it.
COUNT: Final = (
    sa.update(schema.sheet)
    .where(schema.sheet.c.ballot_id == sa.bindparam("ballot"), schema.sheet.c.number == sa.bindparam("sheet"))
    .values(
        n_answered=schema.sheet.c.n_answered + sa.bindparam("scored", type_=sa.Integer),
        n_checked=schema.sheet.c.n_checked + sa.bindparam("checked", type_=sa.Integer),
    )
)


@dataclass(frozen=True, eq=False)
class CampaignInfo:
    """A campaign as it was created.

    Attributes
    ----------
    id : int
        Id in its database.
    key : str
        Random name, the same in every copy.
    name : str
    mode : {"ballots", "continuous"}
    plan : BallotPlan or ContinuousPlan
    slots : sequence of hashable
        Names of the voters that ballots are drawn for.
    seed : int
    settings : CampaignSettings
    hash_key : str
        Key for the hashes of names that voters have on a platform or in a file.
    created_at : int
    items : sequence of hashable
        Labels, by place.
    """

    id: int
    key: str
    name: str
    mode: Mode
    plan: BallotPlan | ContinuousPlan
    slots: Sequence[Hashable]
    seed: int
    settings: CampaignSettings
    hash_key: str
    created_at: int
    items: Sequence[Hashable]

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], items: Sequence[Hashable], *, campaign_id: int = 0, hash_key: str = ""
    ) -> CampaignInfo:
        """Return the campaign of a stored row; a number N for `slots` stands for 0..N-1."""
        is_planned, slots = data["mode"] == "ballots", data["slots"]
        return cls(
            **{name: data[name] for name in ("key", "name", "mode", "created_at")},
            id=campaign_id,
            plan=BallotPlan.from_dict(data["plan"]) if is_planned else ContinuousPlan(**data["plan"]),
            slots=range(slots) if isinstance(slots, int) else tuple(map(label_from_json, slots)),
            seed=int(data["seed"]),
            settings=CampaignSettings.from_dict(data["settings"]),
            hash_key=hash_key,
            items=items,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @cached_property
    def group_of_items(self) -> NDArray[np.int64] | None:
        """Number of the target of each item; None without target groups."""
        if self.settings.targets is None:
            return None
        numbers = {target: number for number, target in enumerate(self.settings.targets)}
        return np.array([numbers[label[0]] for label in self.items], np.int64)  # type: ignore[index]

    def target_of(self, item: int) -> str | None:
        """Return the target that an item is a candidate of; None without target groups."""
        return None if self.settings.targets is None else str(self.items[item][0])  # type: ignore[index]

    @property
    def n_pairs(self) -> int:
        """Number of different pairs that may be asked."""
        if isinstance(self.plan, ContinuousPlan):
            return self.plan.n_different
        return self.n_items * (self.n_items - 1) // 2

    @property
    def set_size(self) -> int:
        """Number of items in a comparison; 2 for pairs."""
        return self.plan.set_size if isinstance(self.plan, ContinuousPlan) else 2

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that the campaign accepts; its pages may offer fewer.

        Examples
        --------
        >>> from adaptive.ledger import ContinuousPlan, Ledger
        >>> ledger, plan = Ledger.in_memory(), ContinuousPlan(8, budget=40, set_size=4)
        >>> campaign = ledger.new_campaign(plan, 8, 5, 1, settings=CampaignSettings(assigned=False, sheet_size=10))
        >>> len(campaign.info.answers), campaign.info.answers[2]
        (13, 'best 1 worst 4')
        >>> ledger.close()
        """
        return answers_with(self.settings.grades, self.set_size)

    def check_answers(self) -> None:
        """Raise LedgerError for grades or sets with too many items to fit, or with settings that do not allow sets."""
        if self.settings.grades > 1 and self.n_items > MAX_DENSE:  # the matrices of the fit are dense
            raise LedgerError(f"grades are for at most {MAX_DENSE:,} items; got {self.n_items:,}")
        if isinstance(self.plan, ContinuousPlan):
            self.plan.check_settings(self.settings)

    def check_targets(self) -> None:
        """Raise LedgerError if the plan, items or checks do not fit the target groups."""
        targets, plan = self.settings.targets, self.plan
        if targets is None:
            if isinstance(plan, ContinuousPlan) and plan.n_pairs is not None:
                raise LedgerError("the plan has n_pairs, which is only for target groups, but the settings have none")
            return
        items = items_of_targets(targets)
        if not isinstance(plan, ContinuousPlan) or plan.target is not None:
            raise LedgerError(
                "target groups need a continuous campaign that ends with its budget, as plan_of_targets makes it"
            )
        if len(self.items) != len(items) or set(self.items) != set(items):
            raise LedgerError("the items of a campaign with target groups must be those of items_of_targets")
        if plan.n_pairs != n_pairs_within([label[0] for label in items]):  # type: ignore[index]
            raise LedgerError("the plan does not fit these target groups; make it with plan_of_targets")
        known = () if self.settings.probing is None else self.settings.probing.known
        across = [pair for pair in known if pair.left[0] != pair.right[0]]  # type: ignore[index]
        if across:
            raise LedgerError(
                f"a check compares candidates of different targets: {across[0].left} and {across[0].right}"
            )

    @property
    def unit(self) -> Literal["ballot", "batch"]:
        """The unit that is opened and closed: a ballot or a batch."""
        return "batch" if self.mode == "continuous" else "ballot"

    @cached_property
    def ballot_plan(self) -> BallotPlan:
        """The plan of a campaign of ballots.

        Raises
        ------
        LedgerError
            If the campaign is continuous.
        """
        if isinstance(self.plan, BallotPlan):
            return self.plan
        raise LedgerError("a continuous campaign has batches, not ballots")

    @property
    def batch_plan(self) -> ContinuousPlan:
        """The plan of a continuous campaign.

        Raises
        ------
        LedgerError
            If the campaign has ballots.
        """
        if isinstance(self.plan, ContinuousPlan):
            return self.plan
        raise LedgerError("the campaign has ballots, not batches")


@dataclass(frozen=True, eq=False)
class Transaction:
    """A database transaction on a campaign.

    Attributes
    ----------
    connection : sqlalchemy.Connection
        Connection with an open transaction.
    info : CampaignInfo
    """

    connection: sa.Connection
    info: CampaignInfo

    @cached_property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL, and not SQLite."""
        return self.connection.dialect.name == "postgresql"

    def execute(self, statement: sa.Executable, values: Any = None) -> sa.CursorResult[*tuple[Any, ...]]:
        """Run a statement."""
        return self.connection.execute(statement, values)

    def scalar(self, statement: sa.Executable, values: Any = None) -> Any:
        """Return the first column of the first row; None if there is no row."""
        return self.connection.execute(statement, values).scalar()

    def count(self, rows: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
        """Return the number of rows that meet all conditions."""
        return int(self.scalar(sa.select(sa.func.count()).select_from(rows).where(*conditions)))

    def of_campaign(self, table: sa.Table) -> sa.ColumnElement[bool]:
        """Return the condition that a row of a table belongs to the campaign."""
        return table.c.campaign_id == self.info.id

    def integer_columns(self, statement: sa.Select[Any]) -> list[NDArray[np.int64]]:
        """Return the columns of a query whose values are integers and never NULL."""
        n_columns = len(statement.selected_columns)
        # Not an option of the connection, where it would apply to all later statements.
        streamed = statement.execution_options(stream_results=self.is_postgresql)
        blocks = [
            np.fromiter(chain.from_iterable(rows), np.int64, n_columns * len(rows)).reshape(-1, n_columns)
            for rows in self.execute(streamed).partitions(_BLOCK)
        ]
        table = np.concatenate(blocks) if blocks else np.empty((0, n_columns), np.int64)
        return [np.ascontiguousarray(column) for column in table.T]

    def labels_of(self, comparison: Any) -> tuple[Hashable, ...]:
        """Return the labels of the items of a comparison's row, in the order shown."""
        others = () if comparison.other_items is None else json.loads(comparison.other_items)
        return tuple(self.info.items[place] for place in (comparison.left_item, comparison.right_item, *others))

    def audit(
        self, kind: str, details: Mapping[str, Any], *, ballot_id: int | None = None, voter_id: int | None = None
    ) -> None:
        """Record an organiser's action."""
        row = {"campaign_id": self.info.id, "at": now(), "kind": kind, "details": json_of(dict(details))}
        self.execute(sa.insert(schema.audit_event).values({**row, "ballot_id": ballot_id, "voter_id": voter_id}))

    # Time and locks

    def clock(self) -> sa.ColumnElement[int]:
        """Return the time in microseconds since 1970, from the server's clock, because clients' clocks differ."""
        return SERVER_CLOCK if self.is_postgresql else PROCESS_CLOCK

    def lock_ballot(self, ballot_id: int, *, exclusive: bool) -> None:
        """Lock a ballot until the transaction ends: votes share the lock, and the closer holds it exclusively."""
        lock_ballot(self.connection, ballot_id, exclusive=exclusive)

    def lock_ballots(self) -> dict[int, int]:
        """Lock all ballots exclusively until the transaction ends, and return their numbers by id."""
        table, locked = schema.ballot, dict[int, int]()
        opened = sa.select(table.c.id, table.c.number).where(self.of_campaign(table)).order_by(table.c.id)
        # While this transaction waits for a lock, another one may store the next ballot.
        while unlocked := [row for row in self.execute(opened) if row.id not in locked]:
            for row in unlocked:
                self.lock_ballot(row.id, exclusive=True)
                locked[row.id] = row.number
        return locked

    def lock_address(self, address: str) -> None:
        """Lock the sheets of an address, so that the second of two simultaneous claims counts the first one's sheet."""
        if self.is_postgresql:
            statement = sa.text("SELECT pg_advisory_xact_lock(:space, hashtext(:address))")
            self.execute(statement, {"space": _ADDRESS_LOCKS, "address": f"{self.info.id} {address}"})

    def lock_campaign(self) -> None:
        """Lock the campaign's row, so that the second of two simultaneous changes of a setting waits here."""
        campaign = schema.campaign
        self.execute(sa.select(campaign.c.id).where(campaign.c.id == self.info.id).with_for_update(key_share=True))

    def open_overdue(self, ballot_id: int) -> None:
        """Reopen a ballot whose closer seems to have died; if it is only slow, its record is not written."""
        self.lock_ballot(ballot_id, exclusive=True)
        is_it = (schema.ballot.c.id == ballot_id, is_overdue(self.clock()))
        self.execute(sa.update(schema.ballot).where(*is_it).values(state="open", closer=None, closer_until=None))

    def open_all_overdue(self) -> bool:
        """Reopen the campaign's ballots whose closers seem to have died, and return whether there were any."""
        ballot = schema.ballot
        overdue = sa.select(ballot.c.id).where(self.of_campaign(ballot), is_overdue(self.clock()))
        ballot_ids = self.execute(overdue.order_by(ballot.c.id)).scalars().all()
        for ballot_id in ballot_ids:
            self.open_overdue(ballot_id)
        return bool(ballot_ids)

    def lock_voter(self, voter_id: int) -> None:
        """Lock a voter until the transaction ends, so that other requests of this voter wait."""
        voter = schema.voter
        self.execute(sa.select(voter.c.id).where(voter.c.id == voter_id).with_for_update(key_share=True))

    # Contents, pages and voters

    @cached_property
    def current_pages(self) -> VotingPages:
        """The current pages, read once, because a step may need them several times."""
        return self.pages()[1]

    def pages(self) -> tuple[int, VotingPages]:
        """Return the current version of the pages, counted from 1, and the pages; 0 and defaults if none are set."""
        table = schema.voting_pages
        versions = sa.select(table.c.version, table.c.pages).where(self.of_campaign(table))
        row = self.execute(versions.order_by(table.c.version.desc()).limit(1)).first()
        return (0, VotingPages()) if row is None else (row.version, VotingPages.from_dict(json.loads(row.pages)))

    def set_pages(self, pages: VotingPages, *, replaces: int) -> int:
        """Show these pages from now on, and return their version; see `Campaign.set_pages`."""
        self.lock_campaign()
        version, before = self.pages()
        if version != replaces:
            raise ChangedError(f"the pages now have version {version}, but the change was made to version {replaces}")
        if version and before.consent_version == pages.consent_version and before.has_other_consent(pages):
            raise LedgerError("the consent text has changed: give it a new consent_version")
        row = {"campaign_id": self.info.id, "version": version + 1, "pages": json_of(pages.to_dict()), "at": now()}
        self.execute(sa.insert(schema.voting_pages).values(row))
        return version + 1

    def contents(self) -> tuple[ItemContent, ...]:
        """Return the content shown for each item of the campaign, by place."""
        table = schema.item
        contents = sa.select(table.c.kind, table.c.content, table.c.alt_text).where(self.of_campaign(table))
        return tuple(ItemContent(*row) for row in self.execute(contents.order_by(table.c.place)))

    def voter_names(self) -> dict[int, str]:
        """Return the display name of each voter: the name at the source, or the key of a voter who has no name."""
        voter, identity = schema.voter, schema.voter_identity
        columns = sa.select(voter.c.id, voter.c.key, voter.c.source, identity.c.external_id)
        rows = self.execute(
            columns.select_from(voter.outerjoin(identity)).where(self.of_campaign(voter)).order_by(voter.c.id)
        )
        return {row.id: row.key if row.external_id is None or row.source == OPEN else row.external_id for row in rows}

    def voter_keys(self) -> dict[int, str]:
        """Return the random key of each voter."""
        voter = schema.voter
        rows = self.execute(sa.select(voter.c.id, voter.c.key).where(self.of_campaign(voter)))
        return {row.id: row.key for row in rows}

    def excluded_voters(self) -> dict[int, str]:
        """Return the keys of the voters who are excluded now, by id."""
        event, voter = schema.audit_event, schema.voter
        is_decision = (self.of_campaign(event), event.c.kind.in_(["excluded", "included"]))
        events = sa.select(event.c.voter_id, event.c.kind, voter.c.key).join(voter, voter.c.id == event.c.voter_id)
        decisions = {row.voter_id: row for row in self.execute(events.where(*is_decision).order_by(event.c.id))}
        return {voter_id: row.key for voter_id, row in decisions.items() if row.kind == "excluded"}

    @cached_property
    def excluded_at_start(self) -> tuple[int, ...]:
        """Ids of the voters who were left out when this was first read, in ascending order."""
        return tuple(sorted(self.excluded_voters()))

    # Ballots

    def ballot_numbered(self, number: int) -> int:
        """Return the id of a ballot from its number, or raise VoteError if it has not been opened."""
        table = schema.ballot
        has_number = (self.of_campaign(table), table.c.number == number)
        ballot_id = self.scalar(sa.select(table.c.id).where(*has_number))
        if ballot_id is None:
            raise VoteError(f"ballot {shown(number)} has not been opened")
        return int(ballot_id)

    def ballot_state(self, ballot_id: int) -> str:
        """Return the state of a ballot."""
        return str(self.scalar(sa.select(schema.ballot.c.state).where(schema.ballot.c.id == ballot_id)))

    def count_answers(self, ballot_id: int, scored: Mapping[int, int], checked: Mapping[int, int]) -> None:
        """Update the answer counts of each sheet, in ascending order so that two writers cannot deadlock."""
        for sheet in sorted({*scored, *checked}):
            values = {"scored": scored.get(sheet, 0), "checked": checked.get(sheet, 0)}
            self.execute(COUNT, {"ballot": ballot_id, "sheet": sheet, **values})


@dataclass(frozen=True, eq=False)
class OpenCampaign:
    """A campaign in a database; runs steps on it."""

    database: Database
    info: CampaignInfo

    def read(self, step: Callable[Concatenate[Transaction, P], T], *values: P.args, **options: P.kwargs) -> T:
        """Run a step that changes nothing, on a consistent state of the database."""
        return self.database.read(lambda connection: step(Transaction(connection, self.info), *values, **options))

    def look_up(self, step: Callable[Concatenate[Transaction, P], T], *values: P.args, **options: P.kwargs) -> T:
        """Run a step that reads with a single statement."""
        return self.database.look_up(lambda connection: step(Transaction(connection, self.info), *values, **options))

    def write(self, step: Callable[Concatenate[Transaction, P], T], *values: P.args, **options: P.kwargs) -> T:
        """Run a step that changes the database: all of its changes are made, or none."""
        return self.database.write(lambda connection: step(Transaction(connection, self.info), *values, **options))


def insert_columns(connection: sa.Connection, table: sa.Table, columns: Mapping[str, Sequence[Any] | Any]) -> None:
    """Insert rows that are given as columns; a value that is not a list applies to each row.

    For 200,000 rows, psycopg takes 10 s row by row, and 1 s with arrays that the server unpacks.
    """
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    n_rows = len(next(iter(lists.values())))
    if not n_rows:
        return
    if connection.dialect.name == "postgresql":
        kinds = {name: table.c[name].type.compile(connection.dialect) for name in columns}
        arrays = ", ".join(f"CAST(:{name} AS {kinds[name]}[])" for name in lists)
        constants = [name for name in columns if name not in lists]
        values = [f"rows.{name}" for name in lists] + [f"CAST(:{name} AS {kinds[name]})" for name in constants]
        statement = (
            f"INSERT INTO {table.name} ({', '.join([*lists, *constants])}) SELECT {', '.join(values)} "
            f"FROM unnest({arrays}) AS rows({', '.join(lists)})"
        )
        connection.execute(sa.text(statement), dict(columns))
        return
    # Call the driver directly, because a dict for each row would cost as much as the insert.
    marks = ", ".join("?" for _ in columns)
    filled = [values if name in lists else [values] * n_rows for name, values in columns.items()]
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", list(zip(*filled, strict=True))
    )


def closer_time() -> sa.ColumnElement[int]:
    """Return the number of microseconds after which the closer of a ballot is considered dead."""
    for_pairs = sa.cast(schema.ballot.c.n_comparisons, sa.BigInteger) * _CLOSER_TIME_PER_PAIR
    return sa.literal(_CLOSER_TIME, sa.BigInteger) + for_pairs


def is_overdue(at: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a closer's deadline has passed, or is impossibly late because a clock was changed."""
    until = schema.ballot.c.closer_until
    return sa.and_(schema.ballot.c.state == "closing", sa.or_(until < at, until > at + 2 * closer_time()))


def state_at(at: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    """Return the state of a ballot; one whose closer seems to have died counts as open, as the next step makes it."""
    return sa.case((is_overdue(at), "open"), else_=schema.ballot.c.state)


def insert_campaign(
    connection: sa.Connection,
    plan: BallotPlan | ContinuousPlan,
    items: Items,
    voters: Items,
    seed: int,
    *,
    name: str,
    settings: CampaignSettings | None,
    contents: Sequence[ItemContent] | None,
) -> CampaignInfo:
    """Insert a campaign and its items, and return it.

    Parameters
    ----------
    settings : CampaignSettings or None
        None for the defaults.
    contents : sequence of ItemContent or None
        Content shown for each item; None to show the labels.

    Raises
    ------
    ProtocolError
        The items do not fit a plan of ballots, or a label is repeated, or is not a string, an integer or a tuple of
        those.
    LedgerError
        The items do not fit a continuous plan, there is no voter, a label cannot be written to a file of votes or
        differs from another only by decimals (1 and 1.0), there is not one content for each item, the seed is invalid,
        or the settings do not fit.
    """
    mode: Mode
    if isinstance(plan, BallotPlan):
        labels, mode = checked_items(plan, items), "ballots"
    else:
        labels, mode = checked_labels(items, "items"), "continuous"
        if len(labels) != plan.n_items:
            raise LedgerError(f"the plan is for {plan.n_items} items; got {len(labels)}")
    slots = checked_labels(voters, "voters")
    if not slots:
        raise LedgerError("voting needs at least one voter; got none")
    _check_writable(labels)
    check_decimals(labels, "item", LedgerError)
    check_decimals(slots, "voter", LedgerError)
    texts = [label_text(label) for label in labels]
    campaign_settings = CampaignSettings() if settings is None else settings
    if campaign_settings.probing is not None:
        campaign_settings.probing.check_items(labels)
    values: dict[str, Any] = {
        "key": uuid.uuid4().hex,
        "name": name,
        "mode": mode,
        "plan": json_of(plan.to_dict()),
        "slots": json_of([json_label(slot) for slot in slots]),
        "seed": str(checked_seed(seed, LedgerError)),
        "settings": json_of(campaign_settings.to_dict()),
        "hash_key": secrets.token_hex(32),
        "created_at": now(),
    }
    inserted = sa.insert(schema.campaign).values(values).returning(schema.campaign.c.id)
    campaign_id: int = connection.execute(inserted).scalar_one()
    columns: dict[str, Any] = {"campaign_id": campaign_id, "place": list(range(len(texts))), "label": texts}
    if contents is None and campaign_settings.targets is not None:
        contents = [ItemContent(content=label[1]) for label in labels]  # type: ignore[index]
    if contents is not None:
        if len(contents) != len(texts):
            raise LedgerError(f"contents must be one for each of the {len(texts)} items; got {len(contents)}")
        columns |= {name: [getattr(content, name) for content in contents] for name in ("kind", "content", "alt_text")}
    insert_columns(connection, schema.item, columns)
    info = load_campaign(connection, values["key"])
    info.check_answers()
    info.check_targets()
    Transaction(connection, info).audit("created", {"items": len(texts), "mode": mode, "numpy": np.__version__})
    return info


def _check_writable(labels: Sequence[Hashable]) -> None:
    """Raise LedgerError for labels that cannot be read back from a file of votes."""
    labels_by_cells: dict[tuple[str, ...], Hashable] = {}
    for label in labels:
        cells = item_cells(label)
        for cell in cells:
            if not cell.strip() or cell != cell.strip() or any(sign in cell for sign in "\n\r\0"):
                raise LedgerError(f"a label must be one line of text without spaces around it; got {shown(label)}")
        if labels_by_cells.setdefault(cells, label) is not label:
            raise LedgerError(
                f"the labels {shown(labels_by_cells[cells])} and {shown(label)} look the same in a file of votes"
            )


def load_campaign(connection: sa.Connection, key: str | None) -> CampaignInfo:
    """Load a campaign by its key or name, or the only one.

    Raises
    ------
    LedgerError
        If the campaign does not exist, or if there are several and no key is given.
    """
    table = schema.campaign
    query = sa.select(table)
    if key is not None:
        query = query.where(sa.or_(table.c.key == key, table.c.name == key))
    rows = connection.execute(query.order_by(table.c.id).limit(6)).all()
    rows = [row for row in rows if row.key == key] or rows  # a campaign may have another one's key as its name
    if not rows:
        raise NoCampaignError("the ledger has no campaign" + ("" if key is None else f" called {shown(key)}"))
    if len(rows) > 1:
        listed = first_few([f"{row.name} {row.key}" for row in rows])
        raise LedgerError(
            "the ledger has several campaigns: choose one by its key (in a shell, --campaign KEY; for `ballots fit`, "
            f"write its votes to a file by `ballots run export --format csv`): {listed}"
        )
    row = rows[0]
    labels_query = sa.select(schema.item.c.label).where(schema.item.c.campaign_id == row.id)
    labels = connection.execute(labels_query.order_by(schema.item.c.place)).scalars()
    decoded = {name: json.loads(row._mapping[name]) for name in ("plan", "slots", "settings")}
    items = tuple(map(label_of, labels))
    return CampaignInfo.from_dict({**row._mapping, **decoded}, items, campaign_id=row.id, hash_key=row.hash_key)
