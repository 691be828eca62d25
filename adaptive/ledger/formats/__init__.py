"""Votes that leave a ledger for other programs, and votes of other programs that come in.

gathered (votes that stand) -> csv_votes, arena, label_studio, potato, choix (one format, one module: write and read)
-> exports; and back: the module of the format -> matching (which comparison a row is about) -> imports.
"""

from adaptive.ledger.formats.exports import FORMATS, Export, export_votes
from adaptive.ledger.formats.imports import foreign_comparisons, import_votes

__all__ = ["FORMATS", "Export", "export_votes", "foreign_comparisons", "import_votes"]
