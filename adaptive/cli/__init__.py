"""The `ballots` command: `main`, and one module for each group of commands. Nothing imports it."""
