"""Strengths so far -> the next comparisons, one by one or as ballots."""
