"""Voters: names, tokens and consent, newcomers, and who takes part."""
