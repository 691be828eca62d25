"""Run the command as `python -m rankcorr`."""

from rankcorr._cli.main import main

main()
