"""What an item looks like: its label as text, or text, markdown, an image or audio of its own."""

from __future__ import annotations

import re
from dataclasses import InitVar, dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.wording import MOST_BRACKETS, is_quick_to_render
from rankcorr.checks import shown

__all__ = ["MOST_CHARACTERS", "ItemContent", "Kind", "contents_of", "is_asset"]

Kind: TypeAlias = Literal["text", "markdown", "image", "audio"]

MOST_CHARACTERS: Final = 10_000  # of what is shown of an item
_ASSET: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


@dataclass(frozen=True)
class ItemContent:
    """What is shown for an item.

    Attributes
    ----------
    kind : {"text", "markdown", "image", "audio"}
    content : str or None
        Text or markdown, or the path of an image or a recording below the folder of the server's assets; None, for
        text: the label.
    alt_text : str or None
        What an image or a recording is, for those who do not see or hear it; needed for both.
    is_new : bool
        Not kept. False for what a ledger or a bundle has: the limits of how long it may be are those of new items.
    """

    kind: Kind = "text"
    content: str | None = None
    alt_text: str | None = None
    is_new: InitVar[bool] = True

    def __post_init__(self, is_new: bool) -> None:
        if self.kind not in get_args(Kind):
            raise LedgerError(f"the kind of an item is text, markdown, image or audio; got {shown(self.kind)}")
        if self.kind != "text" and not (self.content or "").strip():
            raise LedgerError(f"an item of kind {self.kind} needs its content; got none")
        for name in ("content", "alt_text"):
            text = getattr(self, name)
            if is_new and text is not None and not is_quick_to_render(text, MOST_CHARACTERS):
                raise LedgerError(
                    f"{name} must have at most {MOST_CHARACTERS:,} characters and {MOST_BRACKETS:,} opening brackets; "
                    f"got {len(text):,} and {text.count('['):,}"
                )
        if self.kind in ("image", "audio"):
            if not is_asset(self.content or ""):
                raise LedgerError(
                    f"the content of {self.kind} is the path of a file, of letters, digits, . _ - and /; "
                    f"got {shown(self.content)}"
                )
            if not (self.alt_text or "").strip():
                raise LedgerError(f"an item of kind {self.kind} needs a text that says what it is (alt_text); got none")

    def columns(self) -> dict[str, Any]:
        """The fields, as the table of items has them."""
        return {"kind": self.kind, "content": self.content, "alt_text": self.alt_text}


def is_asset(path: str) -> bool:
    """Whether a path is one below the folder of assets, without hidden files.

    >>> is_asset("trees/oak.png"), is_asset("../oak.png"), is_asset("/etc/passwd")
    (True, False, False)
    """
    return _ASSET.fullmatch(path) is not None


def contents_of(connection: sa.Connection, campaign_id: int) -> tuple[ItemContent, ...]:
    """What is shown for each item of a campaign, by place."""
    table = schema.item
    rows = connection.execute(
        sa.select(table.c.kind, table.c.content, table.c.alt_text)
        .where(table.c.campaign_id == campaign_id)
        .order_by(table.c.place)
    )
    return tuple(ItemContent(*row, is_new=False) for row in rows)
