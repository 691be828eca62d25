"""Keep a campaign in its database: its row, the contents of its items, and the steps that are run on it."""

import re
import secrets
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeAlias, TypeVar, get_args

import numpy as np
import sqlalchemy as sa

from adaptive._plan import BallotPlan
from adaptive._protocol import Items, checked_items, checked_labels
from adaptive._tables import item_cells
from adaptive.ledger._campaign.info import CampaignInfo, ContinuousPlan, Mode, Settings
from adaptive.ledger._campaign.wording import MOST_BRACKETS, is_quick_to_render
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.encoding import json_of, label_of, label_text, now, value_of
from adaptive.ledger._store.rows import audit, insert_columns
from adaptive.ledger.errors import LedgerError, NoCampaignError
from rankcorr._checks import checked_seed, first_few, shown

Kind: TypeAlias = Literal["text", "markdown", "image", "audio"]
_MOST_OF_ITEM: Final = 10_000  # characters of an item's content
_ASSET: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class ItemContent:
    """The content shown for an item.

    Attributes
    ----------
    kind : {"text", "markdown", "image", "audio"}
    content : str or None
        Text or markdown, or the path of an image or a recording below the folder of the server's assets; None, for
        text: the label.
    alt_text : str or None
        Description of an image or a recording for people who cannot see or hear it; required for both.

    See Also
    --------
    read_item_file, read_item_sheet : Read contents from a file.
    is_asset : The paths that are allowed.
    Ledger.new_campaign : Takes contents.

    Examples
    --------
    >>> from adaptive.ledger import ItemContent
    >>> ItemContent("image", "trees/oak.png", alt_text="An oak in a field").kind
    'image'
    >>> ItemContent()  # shows the label
    ItemContent(kind='text', content=None, alt_text=None)
    """

    kind: Kind = "text"
    content: str | None = None
    alt_text: str | None = None

    def __post_init__(self) -> None:
        for _, message in content_faults(self.kind, self.content, self.alt_text):
            raise LedgerError(message)


def content_faults(kind: str, content: str | None, alt_text: str | None) -> Iterator[tuple[str, str]]:
    """Yield each error in an item's content: the field and a message.

    >>> [field for field, _ in content_faults("image", "../fig.png", None)]
    ['content', 'alt_text']
    """
    if kind not in get_args(Kind):
        yield "kind", f"the kind of an item is text, markdown, image or audio; got {shown(kind)}"
        return
    if kind != "text" and not (content or "").strip():
        yield "content", f"an item of kind {kind} needs its content; got none"
    elif kind in ("image", "audio") and not is_asset(content or ""):
        wanted = f"the content of {kind} is the path of a file, of letters, digits, . _ - and /"
        yield "content", f"{wanted}; got {shown(content)}"
    for name, text in (("content", content), ("alt_text", alt_text)):
        if text is not None and not is_quick_to_render(text, _MOST_OF_ITEM):
            most = f"at most {_MOST_OF_ITEM:,} characters and {MOST_BRACKETS:,} opening brackets"
            yield name, f"{name} must have {most}; got {len(text):,} and {text.count('['):,}"
    if kind in ("image", "audio") and not (alt_text or "").strip():
        yield "alt_text", f"an item of kind {kind} needs a text that says what it is (alt_text); got none"


def is_asset(path: str) -> bool:
    """Return whether a path is below the folder of assets and contains no hidden files.

    Examples
    --------
    >>> from adaptive.ledger import is_asset
    >>> is_asset("trees/oak.png"), is_asset("../oak.png"), is_asset("/etc/passwd")
    (True, False, False)

    See Also
    --------
    ItemContent : Its `content` may be such a path.
    """
    return _ASSET.fullmatch(path) is not None


def contents_of(connection: sa.Connection, info: CampaignInfo) -> tuple[ItemContent, ...]:
    """Return the content shown for each item of a campaign, by place."""
    table = schema.item
    contents = sa.select(table.c.kind, table.c.content, table.c.alt_text).where(table.c.campaign_id == info.id)
    return tuple(ItemContent(*row) for row in connection.execute(contents.order_by(table.c.place)))


def insert_campaign(
    connection: sa.Connection,
    plan: BallotPlan | ContinuousPlan,
    items: Items,
    voters: Items,
    seed: int,
    *,
    name: str,
    settings: Settings | None = None,
    contents: Sequence[ItemContent] | None = None,
) -> CampaignInfo:
    """Insert a campaign and its items, and return it.

    Parameters
    ----------
    settings : Settings or None
        None: the defaults.
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
    chosen = Settings() if settings is None else settings
    if chosen.probing is not None:
        chosen.probing.check_items(labels)
    made: dict[str, Any] = {
        "key": uuid.uuid4().hex,
        "name": name,
        "mode": mode,
        "plan": json_of(plan.to_dict()),
        "slots": json_of([value_of(label_text(slot)) for slot in slots]),
        "seed": str(checked_seed(seed, LedgerError)),
        "settings": json_of(chosen.to_dict()),
        "hash_key": secrets.token_hex(32),
        "created_at": now(),
    }
    inserted = sa.insert(schema.campaign).values(made).returning(schema.campaign.c.id)
    campaign_id: int = connection.execute(inserted).scalar_one()
    columns: dict[str, Any] = {"campaign_id": campaign_id, "place": list(range(len(texts))), "label": texts}
    if contents is not None:
        if len(contents) != len(texts):
            raise LedgerError(f"contents must be one for each of the {len(texts)} items; got {len(contents)}")
        columns |= {name: [getattr(each, name) for each in contents] for name in ("kind", "content", "alt_text")}
    insert_columns(connection, schema.item, columns)
    audit(connection, campaign_id, "created", {"items": len(texts), "mode": mode, "numpy": np.__version__})
    return load_campaign(connection, made["key"])


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
        listed = first_few([f"{row.name} {row.key}" for row in found])
        raise LedgerError(
            "the ledger has several campaigns: choose one by its key with --campaign KEY (for ballots fit, write its "
            f"votes to a file with ballots run export --format csv): {listed}"
        )
    row = found[0]
    own = sa.select(schema.item.c.label).where(schema.item.c.campaign_id == row.id)
    labels = connection.execute(own.order_by(schema.item.c.place)).scalars()
    decoded = {name: value_of(row._mapping[name]) for name in ("plan", "slots", "settings")}
    items = tuple(map(label_of, labels))
    return CampaignInfo.from_dict({**row._mapping, **decoded}, items, campaign_id=row.id, hash_key=row.hash_key)


@dataclass(frozen=True, eq=False)
class Steps:
    """A campaign, and the database that it is in."""

    database: Database
    info: CampaignInfo

    def _read(
        self, step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T], *given: P.args, **options: P.kwargs
    ) -> T:
        """Run a step that changes nothing, on one state of the database."""
        return self.database.read(lambda connection: step(connection, self.info, *given, **options))

    def _write(
        self, step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T], *given: P.args, **options: P.kwargs
    ) -> T:
        """Run a step that changes something: all of it, or nothing."""
        return self.database.write(lambda connection: step(connection, self.info, *given, **options))


def reads(step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T]) -> Callable[Concatenate[Steps, P], T]:
    """Return the method that runs a step which changes nothing, on one state of the database."""

    def method(self: Steps, /, *given: P.args, **options: P.kwargs) -> T:
        return self._read(step, *given, **options)

    return _described(method, step)


def writes(step: Callable[Concatenate[sa.Connection, CampaignInfo, P], T]) -> Callable[Concatenate[Steps, P], T]:
    """Return the method that runs a step which changes something: all of it, or nothing."""

    def method(self: Steps, /, *given: P.args, **options: P.kwargs) -> T:
        return self._write(step, *given, **options)

    return _described(method, step)


def runs(step: Callable[Concatenate[Database, CampaignInfo, P], T]) -> Callable[Concatenate[Steps, P], T]:
    """Return the method that runs a step which makes its own transactions."""

    def method(self: Steps, /, *given: P.args, **options: P.kwargs) -> T:
        return step(self.database, self.info, *given, **options)

    return _described(method, step)


def _described(method: Callable[P, T], step: Callable[..., Any]) -> Callable[P, T]:
    """Give a method the description and the signature of its step, without what `Steps` holds."""
    itself, *_ = signature(method).parameters.values()
    method.__name__, method.__doc__ = step.__name__, step.__doc__
    given = list(signature(step).parameters.values())[2:]
    method.__signature__ = Signature([itself, *given])  # type: ignore[attr-defined]
    return method
