"""Comparison of runs: tests over queries, their results, and the queries and documents that cause a difference."""
