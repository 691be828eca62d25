"""Handle what all requests share: body, limits, access, deadline, logs, metrics, and one format for errors."""
