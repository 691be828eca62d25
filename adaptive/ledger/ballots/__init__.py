"""Ballots and batches: drawn, handed out in sheets, closed, and what they give."""
