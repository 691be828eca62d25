"""Ballots and batches: draws, sheets, closing and results."""
