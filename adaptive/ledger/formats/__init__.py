"""Votes that leave a ledger for other programs, and votes of other programs that come in.

gathered (votes that stand) -> writing (one function for each format) -> exports; and back: `adaptive.formats` reads,
imports finds the comparison that each vote is about, and records it.
"""

from adaptive.ledger.formats.exports import FORMATS, Export, export_votes
from adaptive.ledger.formats.imports import import_votes

__all__ = ["FORMATS", "Export", "export_votes", "import_votes"]
