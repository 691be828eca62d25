"""Compare plans and matching by simulation: the accuracy of a budget, and the cost of an accuracy."""
