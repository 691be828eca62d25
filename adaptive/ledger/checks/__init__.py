"""Probes: what is asked beside the comparisons of a ballot, to learn about the voters; never scored.

probing (settings), pair_files (pairs whose answer is known) -> drawing (which, and where in a sheet) -> rows (tables
and digest) -> answering (one by one; a file brings them by `adaptive.ledger.votes.recording`).
"""
