"""Probes: what is asked beside the comparisons of a ballot, to learn about the voters; never scored.

probing (settings, and files of pairs whose answer is known) -> drawing (which, and where in a sheet). They are rows of
the ballot (`ballots.draws`), and answers to them are votes.
"""
