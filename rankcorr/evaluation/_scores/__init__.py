"""Leaderboards of systems from tables of scores on tasks, and the number of tasks that a test needs."""
