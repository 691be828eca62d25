"""Run the command as `python -m rankcorr`."""

from rankcorr.cli.main import main

main()
