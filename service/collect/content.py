"""What a page shows of an item: text as it is, markdown as sanitised HTML, files by their address."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, Final, TypeAlias

import nh3
from markdown_it import MarkdownIt

from adaptive.ledger import ItemContent
from adaptive.tables import item_cells

Content: TypeAlias = dict[str, Any]

_TAGS: Final = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a"),
}
ASSETS: Final = "/assets/"


def shown_content(content: ItemContent, label: Hashable) -> Content:
    r"""What the pages get of an item.

    >>> shown_content(ItemContent("markdown", "**oak**<script>alert(1)</script>"), "oak")["html"]
    '<p><strong>oak</strong>&lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    if content.kind in ("image", "audio"):
        return {"kind": content.kind, "url": ASSETS + (content.content or ""), "alt": content.alt_text}
    text = ", ".join(item_cells(label)) if content.content is None else content.content
    if content.kind == "markdown":
        return {"kind": "markdown", "html": rendered(text)}
    return {"kind": "text", "text": text}


def rendered(markdown: str) -> str:
    """Markdown as HTML that can do no harm: HTML in it is text, and links leave no trace of where they come from."""
    html = _markdown().render(markdown)
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
