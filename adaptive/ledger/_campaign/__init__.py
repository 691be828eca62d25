"""A campaign: its plan, settings and pay, its items and pages, and transactions on it."""
