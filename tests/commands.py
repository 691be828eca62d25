"""Calls of a command that check its exit code."""

import json

from click.testing import CliRunner


class Command:
    def __init__(self, command, name):
        self.command, self.name = command, name

    def run(self, *args, stdin=None):
        return CliRunner().invoke(self.command, [str(arg) for arg in args], input=stdin)

    def ok(self, *args, stdin=None):
        result = self.run(*args, stdin=stdin)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    def json(self, *args, stdin=None):
        return json.loads(self.ok(*args, "--json", stdin=stdin))

    def refusal(self, *args, stdin=None):
        """The one-line error message."""
        result = self.run(*args, stdin=stdin)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit)
        line, end = result.stderr[:-1], result.stderr[-1:]
        assert end == "\n"
        assert line.startswith(f"{self.name}: error: ")
        assert line.isprintable()
        return line.removeprefix(f"{self.name}: error: ")
