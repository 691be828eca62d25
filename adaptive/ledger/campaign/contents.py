"""Define the content of an item: its label as text, or a separate text, markdown, image or audio."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa

from adaptive.ledger.campaign.wording import MOST_BRACKETS, is_quick_to_render
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from rankcorr.checks import shown

Kind: TypeAlias = Literal["text", "markdown", "image", "audio"]

MOST_OF_ITEM: Final = 10_000  # characters of an item's content
_ASSET: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


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
    is_new : bool
        Not stored. False for content from a ledger or a bundle; the limits of length apply only to new items.
    """

    kind: Kind = "text"
    content: str | None = None
    alt_text: str | None = None
    is_new: InitVar[bool] = True

    def __post_init__(self, is_new: bool) -> None:
        for _, message in content_faults(self.kind, self.content, self.alt_text, is_new=is_new):
            raise LedgerError(message)

    def columns(self) -> dict[str, Any]:
        """Return the fields as the table of items has them."""
        return {"kind": self.kind, "content": self.content, "alt_text": self.alt_text}


def content_faults(
    kind: str, content: str | None, alt_text: str | None, *, is_new: bool = True
) -> Iterator[tuple[str, str]]:
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
        if is_new and text is not None and not is_quick_to_render(text, MOST_OF_ITEM):
            most = f"at most {MOST_OF_ITEM:,} characters and {MOST_BRACKETS:,} opening brackets"
            yield name, f"{name} must have {most}; got {len(text):,} and {text.count('['):,}"
    if kind in ("image", "audio") and not (alt_text or "").strip():
        yield "alt_text", f"an item of kind {kind} needs a text that says what it is (alt_text); got none"


def is_asset(path: str) -> bool:
    """Return whether a path is below the folder of assets and contains no hidden files.

    >>> is_asset("trees/oak.png"), is_asset("../oak.png"), is_asset("/etc/passwd")
    (True, False, False)
    """
    return _ASSET.fullmatch(path) is not None


def contents_of(connection: sa.Connection, campaign_id: int) -> tuple[ItemContent, ...]:
    """Return the content shown for each item of a campaign, by place."""
    table = schema.item
    rows = connection.execute(
        sa.select(table.c.kind, table.c.content, table.c.alt_text)
        .where(table.c.campaign_id == campaign_id)
        .order_by(table.c.place)
    )
    return tuple(ItemContent(*row, is_new=False) for row in rows)
