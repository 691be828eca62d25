"""Define a campaign: its items, plan, seed and settings, fixed at creation, and the sizes of batches."""

from __future__ import annotations

import math
import secrets
import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import sqlalchemy as sa

from adaptive.ledger.campaign.contents import ItemContent
from adaptive.ledger.campaign.wording import is_line
from adaptive.ledger.checks.probing import Probing
from adaptive.ledger.errors import LedgerError, NoCampaignError
from adaptive.ledger.store import schema
from adaptive.ledger.store.columns import insert_columns
from adaptive.ledger.store.encoding import json_of, label_of, label_text, now, value_of
from adaptive.model.matching import Matching
from adaptive.plan import BallotPlan
from adaptive.protocol import Items, checked_items, checked_labels
from adaptive.tables import item_cells
from rankcorr.checks import checked_seed, real_number, shown, whole_number

_LEAST_BATCH: Final = 10
_LARGEST_BATCH: Final = 50
_SHEET_OF_BATCH: Final = 20  # comparisons, if the campaign sets no size

Mode = Literal["ballots", "continuous"]


@dataclass(frozen=True)
class ContinuousPlan:
    """A campaign without ballots: small batches of comparisons, each matched by all votes before it.

    Attributes
    ----------
    n_items : int
    budget : int
        Total number of comparisons that may be asked.
    batch : int
        Comparisons of a batch.
    n0, focus : float
        See `adaptive.next_comparisons`.
    target : float or None
        The campaign may end when the expected tau_w of the ranking reaches this value; None: when the budget is spent.
    """

    n_items: int
    budget: int
    batch: int = 50
    n0: float = 2.0
    focus: float = Matching().focus
    target: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("n_items", 2), ("budget", 1), ("batch", 1)):
            number = whole_number(getattr(self, name))
            if number is None or number < least:
                raise LedgerError(f"{name} must be a whole number from {least} on; got {shown(getattr(self, name))}")
        Matching(batch=self.batch, n0=self.n0, focus=self.focus)
        if self.target is not None and not 0 < real_number(self.target) <= 1:
            raise LedgerError(f"target must be a correlation above 0, at most 1; got {shown(self.target)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Pay:
    """The pay for an answer to a comparison or a probe.

    Attributes
    ----------
    per_vote, per_hour : float or None
        Pay for an answer, or pay for an hour, converted with `seconds` for each answer; give exactly one of the two.
    seconds : float or None
        Time that an answer takes; required with `per_hour`.
    fee : float
        The platform's surcharge as a share of the pay: 0.25 is a quarter.
    currency : str
        The currency as displayed, for example "EUR".
    is_new : bool
        Not stored. False for pay from a ledger or a bundle, whose currency is accepted unchecked.

    Raises
    ------
    LedgerError
        If both or neither of `per_vote` and `per_hour` are given, or a number is out of range.

    Examples
    --------
    >>> pay = Pay(per_hour=12, seconds=6, fee=0.25, currency="EUR")
    >>> pay.per_answer, pay.cost(1000), pay.text(pay.cost(1000))
    (0.02, 25.0, '25.00 EUR')
    """

    per_vote: float | None = None
    per_hour: float | None = None
    seconds: float | None = None
    fee: float = 0.0
    currency: str = ""
    is_new: InitVar[bool] = True

    def __post_init__(self, is_new: bool) -> None:
        if (self.per_vote is None) == (self.per_hour is None):
            got = "neither" if self.per_vote is None else "both"
            raise LedgerError(f"pay is per vote or per hour; got {got}")
        if self.per_hour is not None and self.seconds is None:
            raise LedgerError("pay per hour needs the seconds that an answer takes")
        for name in ("per_vote", "per_hour", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0 < real_number(value) < math.inf:
                raise LedgerError(f"{name} must be a finite number above 0; got {shown(value)}")
        if not 0 <= real_number(self.fee) < math.inf:
            raise LedgerError(f"fee must be a share from 0 on; got {shown(self.fee)}")
        if not isinstance(self.currency, str) or (is_new and self.currency != "" and not is_line(self.currency)):
            raise LedgerError(f"currency must be text of one line; got {shown(self.currency)}")

    @property
    def per_answer(self) -> float:
        """Pay of a voter for one answer."""
        if self.per_vote is not None:
            return float(self.per_vote)
        return (self.per_hour or 0.0) * (self.seconds or 0.0) / 3600

    @property
    def hourly(self) -> float | None:
        """Pay of a voter for an hour; None if the time of an answer is not known."""
        return None if self.seconds is None else self.per_answer * 3600 / self.seconds

    def cost(self, n_answers: float) -> float:
        """Return the cost of a number of answers, including the fee."""
        return n_answers * self.per_answer * (1 + self.fee)

    def hours(self, n_answers: float) -> float | None:
        """Return the person-hours of a number of answers; None if the time of an answer is not known."""
        return None if self.seconds is None else n_answers * self.seconds / 3600

    def text(self, amount: float) -> str:
        """Return an amount with its currency."""
        return f"{amount:,.2f} {self.currency}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Settings:
    """Settings of how a campaign is run.

    Attributes
    ----------
    sheet_size : int or None
        Maximum number of comparisons on a sheet; None: each slot of a ballot is one sheet.
    assigned : bool
        Whether each sheet goes to the voter of its slot when the ballot is opened, as for files. If not, voters claim
        the next sheet as they come.
    lease_minutes : float or None
        After this time without a vote, another voter may take over a claimed sheet. None: sheets do not expire.
    first_minutes : float
        The same limit before the first answer on a claimed sheet, if it is the shorter of the two.
    least_answered : float
        Share of a ballot's comparisons that must be answered before it closes.
    probing : Probing or None
        Questions asked in addition to the comparisons, to learn about the voters; they change no ballot.
    pay : Pay or None
        The voters' pay.
    """

    sheet_size: int | None = None
    assigned: bool = True
    lease_minutes: float | None = None
    first_minutes: float = 2.0
    least_answered: float = 0.9
    probing: Probing | None = None
    pay: Pay | None = None

    def __post_init__(self) -> None:
        size = self.sheet_size
        if size is not None and ((number := whole_number(size)) is None or number < 1):
            raise LedgerError(f"sheet_size must be None or a positive whole number; got {shown(size)}")
        if self.lease_minutes is not None and not real_number(self.lease_minutes) > 0:
            raise LedgerError(f"lease_minutes must be None or a positive number; got {shown(self.lease_minutes)}")
        if not 0 < real_number(self.first_minutes) < math.inf:
            raise LedgerError(f"first_minutes must be a positive number; got {shown(self.first_minutes)}")
        if not 0 <= real_number(self.least_answered) <= 1:
            raise LedgerError(f"least_answered must be a share from 0 to 1; got {shown(self.least_answered)}")
        for name, kind in (("probing", Probing), ("pay", Pay)):
            if not isinstance(getattr(self, name), kind | None):
                raise LedgerError(f"{name} must be None or a {kind.__name__}; got {shown(getattr(self, name))}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        own = {name: fields[name].to_dict() for name in ("probing", "pay") if fields[name] is not None}
        return {**fields, **own}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """Return the settings that `to_dict` wrote, as a ledger or a bundle stores them."""
        probing, pay = data.get("probing"), data.get("pay")
        own = {
            "probing": None if probing is None else Probing.from_dict(probing),
            "pay": None if pay is None else Pay(**pay, is_new=False),
        }
        return cls(**{**data, **own})


@dataclass(frozen=True, eq=False)
class CampaignInfo:
    """A campaign as it was created.

    Attributes
    ----------
    id : int
        Id in its database.
    key : str
        Random name, identical in every copy.
    name : str
    mode : {"ballots", "continuous"}
    plan : BallotPlan or ContinuousPlan
    slots : sequence of hashable
        Names of the voters that ballots are drawn for.
    seed : int
    settings : Settings
    hash_key : str
        Key for hashing the names that voters have elsewhere.
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
    settings: Settings
    hash_key: str
    created_at: int
    items: Sequence[Hashable]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def unit(self) -> Literal["ballot", "batch"]:
        """Word for the unit that is opened and closed, a ballot or a batch."""
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
        raise LedgerError("a continuous campaign has batches, not the ballots of a plan")


def insert_campaign(
    connection: sa.Connection,
    plan: BallotPlan | ContinuousPlan,
    items: Items,
    voters: Items,
    seed: int,
    *,
    name: str,
    settings: Settings,
    key: str | None = None,
    contents: Sequence[ItemContent] | None = None,
) -> int:
    """Insert a campaign and its items, and return its id.

    Parameters
    ----------
    contents : sequence of ItemContent or None
        The content shown for each item; None: the label.

    Raises
    ------
    ProtocolError
        If the items are not those of the plan, or a label repeats or is not a string, an integer or a tuple of those.
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
    texts = [label_text(label) for label in labels]
    if settings.probing is not None:
        settings.probing.check_items(labels)
    made = {
        "key": key or uuid.uuid4().hex,
        "name": name,
        "mode": mode,
        "plan": json_of(plan.to_dict()),
        "slots": json_of([value_of(label_text(slot)) for slot in slots]),
        "seed": str(checked_seed(seed, LedgerError)),
        "settings": json_of(settings.to_dict()),
        "hash_key": secrets.token_hex(32),
        "created_at": now(),
    }
    campaign_id: int = connection.execute(
        sa.insert(schema.campaign).values(made).returning(schema.campaign.c.id)
    ).scalar_one()
    columns: dict[str, Any] = {"campaign_id": campaign_id, "place": list(range(len(texts))), "label": texts}
    if contents is not None:
        if len(contents) != len(texts):
            raise LedgerError(f"contents must be one for each of the {len(texts)} items; got {len(contents)}")
        own = [each.columns() for each in contents]
        columns |= {name: [each[name] for each in own] for name in ("kind", "content", "alt_text")}
    insert_columns(connection, schema.item, columns)
    audit(connection, campaign_id, "created", {"items": len(texts), "mode": mode, "numpy": np.__version__})
    return campaign_id


def _check_writable(labels: Sequence[Hashable]) -> None:
    """Refuse labels that a file of votes could not reproduce."""
    seen: dict[tuple[str, ...], Hashable] = {}
    for label in labels:
        cells = item_cells(label)
        for cell in cells:
            if not cell.strip() or cell != cell.strip() or any(sign in cell for sign in "\n\r\0"):
                raise LedgerError(f"a label is one line of text, without spaces around it; got {shown(label)}")
        if seen.setdefault(cells, label) is not label:
            raise LedgerError(f"the labels {shown(seen[cells])} and {shown(label)} look the same in a file of votes")


def load_by_id(connection: sa.Connection, campaign_id: int) -> CampaignInfo:
    """Load the campaign of an id."""
    key = connection.execute(sa.select(schema.campaign.c.key).where(schema.campaign.c.id == campaign_id)).scalar_one()
    return load_campaign(connection, key)


def load_campaign(connection: sa.Connection, key: str | None = None) -> CampaignInfo:
    """Load a campaign by its key or name, or the only one.

    Raises
    ------
    LedgerError
        If the campaign does not exist, or if there are several and no key is given.
    """
    table = schema.campaign
    wanted = sa.select(table)
    if key is not None:
        wanted = wanted.where(sa.or_(table.c.key == key, table.c.name == key))
    found = connection.execute(wanted.order_by(table.c.id).limit(6)).all()
    found = [row for row in found if row.key == key] or found  # the name of another campaign may equal this key
    if not found:
        raise NoCampaignError("the ledger has no campaign" + ("" if key is None else f" called {shown(key)}"))
    if len(found) > 1:
        listed = ", ".join(f"{row.name} {row.key}" for row in found[:5]) + (", ..." if len(found) > 5 else "")
        raise LedgerError(f"the ledger has several campaigns: say which one, by its key: {listed}")
    row = found[0]
    labels = connection.execute(
        sa.select(schema.item.c.label).where(schema.item.c.campaign_id == row.id).order_by(schema.item.c.place)
    )
    plan = value_of(row.plan)
    return CampaignInfo(
        id=row.id,
        key=row.key,
        name=row.name,
        mode=row.mode,
        plan=BallotPlan.from_dict(plan) if row.mode == "ballots" else ContinuousPlan(**plan),
        slots=tuple(tuple(slot) if isinstance(slot, list) else slot for slot in value_of(row.slots)),
        seed=int(row.seed),
        settings=Settings.from_dict(value_of(row.settings)),
        hash_key=row.hash_key,
        created_at=row.created_at,
        items=tuple(label_of(label) for (label,) in labels),
    )


def audit(
    connection: sa.Connection,
    campaign_id: int,
    kind: str,
    details: Mapping[str, Any],
    *,
    ballot_id: int | None = None,
    voter_id: int | None = None,
) -> None:
    """Record an organiser's action."""
    row = {"campaign_id": campaign_id, "at": now(), "kind": kind, "details": json_of(dict(details))}
    connection.execute(sa.insert(schema.audit_event).values({**row, "ballot_id": ballot_id, "voter_id": voter_id}))


def batch_for(n_items: int) -> int:
    """Return the default number of comparisons in a batch: the number of items, limited to 10 to 50.

    The votes of a batch guide the next one. A batch of 50 would ask all pairs of ten items at once.

    Examples
    --------
    >>> batch_for(4), batch_for(20), batch_for(3_000)
    (10, 20, 50)
    """
    return min(_LARGEST_BATCH, max(_LEAST_BATCH, n_items))


def slots_of_batch(size: int, n_slots: int, settings: Settings) -> int:
    """Return how many slots a batch is dealt to.

    If each slot belongs to a voter, all slots are used. Otherwise voters claim sheets, and there are only as many slots
    as the size of a sheet requires, so that no voter comes for just a pair or two. There are at least two slots if
    comparisons are repeated with a second voter.

    Examples
    --------
    >>> slots_of_batch(50, 40, Settings(assigned=False, sheet_size=20)), slots_of_batch(50, 40, Settings())
    (3, 40)
    """
    if settings.assigned:
        return n_slots
    wanted = -(-size // (settings.sheet_size or _SHEET_OF_BATCH))
    probing = settings.probing
    return min(n_slots, size, max(wanted, 2 if probing is not None and probing.overlap > 0 else 1))
