"""Decide which characters people may write: any script, but nothing that hides, reorders or controls displayed text."""

import unicodedata
from typing import Final

MOST_BRACKETS: Final = 1_000  # markdown looks for a link at each "[", which takes up to 80 microseconds

# Invisible and needed: ZWNJ in Persian, ZWJ in Indic scripts and emoji, soft hyphens and joiners of words, and the
# marks of direction (left-to-right, right-to-left, Arabic), each affecting only its neighbours.
_JOINERS: Final = frozenset("\u200c\u200d\u00ad\u2060\u200e\u200f\u061c")
# Embeddings, overrides and isolates: an unclosed one reverses the page's text after it.
_TURNS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ENDS: Final = frozenset("\t\n\r")


def is_line(text: str) -> bool:
    r"""Return whether a text is one line with something visible in it.

    See Also
    --------
    PageTexts : Its `title` and `question` must be lines.

    Examples
    --------
    >>> from adaptive.ledger import is_line
    >>> is_line("Qui va là\u202f?"), is_line("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"), is_line("\u200d")
    (True, True, False)
    >>> is_line("a\nb"), is_line("a\x07"), is_line("user\u202egpj.exe")
    (False, False, False)
    """
    is_seen = any(char.isprintable() and char != " " for char in text)
    return is_seen and all(
        char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs" for char in text
    )


def is_prose(text: str) -> bool:
    r"""Return whether a text of any number of lines is free of characters that control or reverse the display.

    Examples
    --------
    >>> is_prose(""), is_prose("a\n\tb"), is_prose("a\0"), is_prose("a\u202eb")
    (True, True, False, False)
    """
    return all(char in _ENDS or (unicodedata.category(char) != "Cc" and char not in _TURNS) for char in text)


def is_quick_to_render(markdown: str, most: int) -> bool:
    """Return whether a text is short enough and has few enough opening brackets, with room for ordinary links.

    Examples
    --------
    >>> is_quick_to_render("[a](https://a.example)", 100), is_quick_to_render("[" * 1_001, 10_000)
    (True, False)
    """
    return len(markdown) <= most and markdown.count("[") <= MOST_BRACKETS
