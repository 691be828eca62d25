"""What a campaign tells: progress and spending, results, and how far votes can be trusted."""
