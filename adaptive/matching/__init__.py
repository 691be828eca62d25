"""Decide from fitted strengths whether there are enough votes, and choose the next comparisons or ballots."""
