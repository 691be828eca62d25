"""Strengths so far -> whether there are enough votes, or the next comparisons, one by one or as ballots."""
