"""Votes on pairs of items as columns, and how labels, ballots and files become them."""
