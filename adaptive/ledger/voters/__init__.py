"""Who votes: names and tokens, newcomers, and a voter's way from the first page to the last."""
