"""The processes: the commands rankcorr-serve and rankcorr-collect, gunicorn's configuration and worker, the warm-up."""
