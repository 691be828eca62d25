"""Reports on a campaign: progress and spending, results, and how far votes can be trusted."""
