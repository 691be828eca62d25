"""Cells that a spreadsheet would run as formulas, made harmless in a way that can be undone.

A cell that begins with =, +, -, @, a tab or a carriage return, and is no number, gets an apostrophe in front, which
spreadsheets take as "text follows". A cell that looks guarded already gets another one, so that reading back takes away
just what writing has put there.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["guarded", "unguarded"]

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def guarded(cell: str) -> str:
    """Cell that no spreadsheet runs.

    Examples
    --------
    >>> guarded("=1+1"), guarded("-1.5"), guarded("'=1+1"), guarded("plum")
    ("'=1+1", '-1.5', "''=1+1", 'plum')
    """
    return "'" + cell if _is_formula(cell) else cell


def unguarded(cell: str) -> str:
    """Cell that `guarded` was given.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("''=1+1"), unguarded("'plum'")
    ('=1+1', "'=1+1", "'plum'")
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(cell: str) -> bool:
    return _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None
