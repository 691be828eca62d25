"""Voters: names and tokens, newcomers, and the steps of a voter from consent to the end."""
