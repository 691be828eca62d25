"""Votes: one by one, from a file, and as lists."""
