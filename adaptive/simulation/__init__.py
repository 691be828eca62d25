"""Test a plan before paying for it: simulated voters vote, and the result is compared with the true ranking."""
