"""Tables, and the database that they are in: transactions, locks, versions, and what is written as text."""
