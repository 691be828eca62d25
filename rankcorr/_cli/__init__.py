"""The `rankcorr` command: `main`, and one module for each command.

Outside of it, only the commands of the other packages import these modules.
"""
