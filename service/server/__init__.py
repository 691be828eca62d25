"""The processes: the command rankcorr-serve, gunicorn's configuration and worker, and the warm-up."""
