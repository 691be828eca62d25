"""The `ballots` command: the group in `main`, and one module for each command. No other package imports them."""
