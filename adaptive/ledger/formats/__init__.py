"""Export a ledger's votes to other programs, and import votes from them.

exports writes each format. For import, `adaptive.formats` reads the file, and imports finds the comparison of each vote
and records it.
"""

from adaptive.ledger.formats.exports import FORMATS, Export, export_votes
from adaptive.ledger.formats.imports import import_votes

__all__ = ["FORMATS", "Export", "export_votes", "import_votes"]
