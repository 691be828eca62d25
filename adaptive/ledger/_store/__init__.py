"""The tables and their database: transactions, locks, versions, and values encoded as text."""
