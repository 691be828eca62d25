"""Handle what all requests share: body, limits, access, heavy requests, logs, metrics, and one format for errors."""
