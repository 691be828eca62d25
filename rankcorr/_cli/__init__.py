"""The `rankcorr` command: `main`, and one module for each command. Only the other commands import it."""
