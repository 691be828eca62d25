"""Export a ledger's votes to other programs, and import votes from them.

exports writes each format. For import, `adaptive._formats` reads the file, and imports finds the comparison of each
vote and records it.
"""
