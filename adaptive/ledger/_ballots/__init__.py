"""Ballots and batches: draws, the pairs and sheets of voters, and stored votes."""
