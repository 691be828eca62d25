"""Tables of scores: systems by tasks -> checked values -> a leaderboard, and the number of tasks that a test needs."""
