"""What organisers write, as voters see it: markdown as HTML without anything active, and the content of an item."""

from __future__ import annotations

from functools import cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from adaptive.ledger import ItemContent

ASSETS: Final = "/assets/"

_TAGS: Final = {
    *(
        "p",
        "br",
        "hr",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "code",
        "em",
        "strong",
        "s",
    ),
    *("a", "img", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES: Final = {"a": {"href", "title"}, "img": {"src", "alt"}, "ol": {"start"}}


def markdown(text: str, *, below: int = 2) -> Markup:
    """HTML of a markdown text: no scripts, styles, forms or frames, and images of this server alone.

    Parameters
    ----------
    text : str
        CommonMark with tables. HTML in it is shown as it is written.
    below : int
        Level of the heading that the text stands below; its own headings begin one level lower.

    Examples
    --------
    >>> print(markdown("*Which* <b>tree</b>?"))
    <p><em>Which</em> &lt;b&gt;tree&lt;/b&gt;?</p>
    """
    tokens = _parser().parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + below)}"
    written: str = _parser().renderer.render(tokens, _parser().options, {})
    clean = nh3.clean(
        written,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_own_images,
        set_tag_attribute_values={"a": {"target": "_blank"}},  # a click must not lose the page that is voted on
        url_schemes={"http", "https", "mailto"},
    )
    return Markup(clean.strip())


def content_of(label: object, content: ItemContent) -> dict[str, str | None]:
    """What the API says of an item: `text`, `html` or `url`, by its kind.

    Examples
    --------
    >>> content_of("oak", ItemContent())
    {'kind': 'text', 'text': 'oak', 'alt': None}
    """
    shown: dict[str, str | None] = {"kind": content.kind}
    if content.kind == "text":
        shown["text"] = str(label) if content.content is None else content.content
    elif content.kind == "markdown":
        shown["html"] = markdown(content.content or "", below=1)
    else:
        shown["url"] = f"{ASSETS}{content.content}"
    return {**shown, "alt": content.alt_text}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough")


def _own_images(tag: str, attribute: str, value: str) -> str | None:
    return None if (tag, attribute) == ("img", "src") and not value.startswith(ASSETS) else value
