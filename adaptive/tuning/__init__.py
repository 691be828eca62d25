"""What a budget buys, and what an accuracy costs: plans and matching compared by simulation."""
