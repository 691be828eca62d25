"""Run the processes: the commands rankcorr-serve and rankcorr-collect, gunicorn's configuration, the warm-up."""
