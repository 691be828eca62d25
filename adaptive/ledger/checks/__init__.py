"""Probes: extra pairs that ballots ask, to learn about the voters; they are never scored.

probing (settings, and files of pairs whose answer is known) -> drawing (which probes, and where on a sheet). Probes are
rows of the ballot (`ballots.draws`), and answers to them are votes.
"""
