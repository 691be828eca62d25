"""Votes that leave a ledger for other programs, and votes of other programs that come in.

exports writes each format; on the way back `adaptive.formats` reads the file, and imports finds the comparison that
each vote is about and records it.
"""

from adaptive.ledger.formats.exports import FORMATS, Export, export_votes
from adaptive.ledger.formats.imports import import_votes

__all__ = ["FORMATS", "Export", "export_votes", "import_votes"]
