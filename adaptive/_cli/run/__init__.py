"""`ballots run`: a campaign over days, kept in a ledger, one step for each command."""

from importlib import import_module
from typing import Final

import click

from rankcorr._cli.console import WithExamples

__all__ = ["run"]

_COMMANDS: Final = {
    "init": "ledgers",
    **dict.fromkeys(("open", "record", "correct", "conflicts", "assign"), "voting"),
    **dict.fromkeys(("status", "close", "reopen"), "closing"),
    **dict.fromkeys(("quality", "exclude", "withdraw", "link"), "voting"),
    "result": "closing",
    **dict.fromkeys(("export", "import", "backup", "verify", "migrate"), "ledgers"),
}


class _LedgerCommands(WithExamples):
    """Commands that are imported when they are called: SQLAlchemy takes longer than most other commands run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        commands = vars(import_module(f"adaptive._cli.run.{module}")).values()
        return next(command for command in commands if isinstance(command, click.Command) and command.name == cmd_name)


@click.group(cls=_LedgerCommands, no_args_is_help=False, short_help="Run a campaign, and keep its votes in a ledger.")
def run() -> None:
    """Run a campaign whose votes are kept in LEDGER: a file, or the URL of a PostgreSQL database.

    Any number of people may record votes at once. No vote that was acknowledged is lost, and none counts twice.

    Example (open, record and close once for each ballot):
      ballots run init voting.db --items items.csv --presentations 20 --voters 100 --seed 1
      ballots run open voting.db --out ballot.csv
      ballots run record voting.db votes.csv
      ballots run close voting.db
      ballots run result voting.db --out ranking.csv
    """
