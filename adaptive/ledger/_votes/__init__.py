"""Votes: one by one, from a file, and to the files of other programs."""
