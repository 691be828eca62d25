"""Test a plan before paying: simulated voters vote on it, and the result is compared with the truth."""
