"""Ballots and batches: draws, sheets, stored votes, and the next step of a voter."""
