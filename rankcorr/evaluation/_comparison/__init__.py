"""Runs compared: tests over queries, their results, and the queries and documents behind a difference."""
