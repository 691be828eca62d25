"""The command rankcorr-serve."""

from __future__ import annotations

from collections.abc import Sequence

from service.server.launcher import launch
from service.server.programs import SERVE


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the settings, and become gunicorn."""
    launch(SERVE, arguments)


if __name__ == "__main__":
    main()
