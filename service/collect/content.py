"""Prepare an item for a page: text unchanged, markdown as sanitised HTML, images and sounds by their URL.

Images and sounds are files of one folder, of types that a browser shows or plays.
"""

import hashlib
from collections.abc import Hashable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import nh3
from markdown_it import MarkdownIt

from adaptive._tables import item_cells
from adaptive.ledger import ItemContent, is_asset

Content: TypeAlias = dict[str, Any]

_TAGS: Final = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a", "img"),
}
_ATTRIBUTES: Final = {"a": {"href"}, "img": {"src", "alt"}}
ASSETS: Final = "/assets/"

# Types that a browser shows or plays; no other file in the folder is served. The table is ours, not the system's.
TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".weba": "audio/webm",
}


# Images that organisers may upload: the offset of their signature, the signature, and the suffix of their names. SVG is
# left out, because it can hold scripts.
_SIGNATURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", ".png"),
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"GIF8", ".gif"),
    (8, b"WEBP", ".webp"),
    (4, b"ftypavif", ".avif"),
)


def content_for_pages(content: ItemContent, label: Hashable) -> Content:
    r"""Return an item's content in the form that pages use.

    >>> content_for_pages(ItemContent("markdown", "**oak**<script>alert(1)</script>"), "oak")["html"]
    '<p><strong>oak</strong>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    """
    if content.kind in ("image", "audio"):
        return {"kind": content.kind, "url": ASSETS + (content.content or ""), "alt": content.alt_text}
    text = ", ".join(item_cells(label)) if content.content is None else content.content
    if content.kind == "markdown":
        return {"kind": "markdown", "html": render(text)}
    return {"kind": "text", "text": text}


@lru_cache(128)  # 20,000 characters take up to half a second, and a voter's page has three texts
def render(markdown: str, *, below: int = 1) -> str:
    r"""Convert markdown to safe HTML: HTML in the source becomes text, and links send no referrer.

    Only images from this server are allowed. Links open in a new tab, so that voters keep the page with their votes.

    Parameters
    ----------
    markdown : str
    below : int
        Level of the heading above the text; the text's own headings start one level lower.

    >>> render("# Trees")
    '<h2>Trees</h2>\n'
    """
    tokens = _markdown().parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + below)}"
    html = _markdown().renderer.render(tokens, _markdown().options, {})
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_own_images,
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _own_images(tag: str, attribute: str, value: str) -> str | None:
    if (tag, attribute) != ("img", "src"):
        return value
    return value if value.startswith(ASSETS) and is_asset(value.removeprefix(ASSETS)) else None


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def asset_file(folder: str, name: str) -> Path | None:
    """Return a file of the assets folder; None if it is outside, hidden, or neither image nor sound."""
    if not folder or Path(name).suffix.lower() not in TYPES or not is_asset(name):
        return None
    root, path = Path(folder).resolve(), Path(folder, name).resolve()  # after following symbolic links
    return path if path.is_relative_to(root) and path.is_file() else None


def image_name(image: bytes) -> str | None:
    r"""Return the name under which an uploaded image is stored, its checksum; None for data of other types.

    >>> image_name(b"\x89PNG\r\n\x1a\n"), image_name(b"<svg/>")
    ('4c4b6a3be1314ab86138bef4314dde02.png', None)
    """
    ending = next((end for at, start, end in _SIGNATURES if image[at : at + len(start)] == start), None)
    return None if ending is None else hashlib.sha256(image).hexdigest()[:32] + ending


def why_no_asset(folder: str, name: str) -> str | None:
    """Return why an item cannot use this file, for its organiser; None if it can."""
    if asset_file(folder, name) is not None:
        return None
    if not folder:
        return "this server has no folder for images and sounds (RANKCORR_ASSETS)"
    if Path(name).suffix.lower() not in TYPES:
        return f"a file that ends with {', '.join(TYPES)} is expected; got {name}"
    return f"there is no file {name} in the folder for images and sounds"
