"""Compare plans and matching by simulation: the best accuracy for a budget, and the votes needed for an accuracy."""
