"""What every request passes: body, limits, access, deadline, logs, metrics, and errors in one format."""
