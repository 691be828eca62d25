"""What the benchmark scripts print: Markdown tables, and the machine that the figures are from."""

import os
import platform
from importlib.metadata import version


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def heading(title: str, *columns: str) -> None:
    """Print a title and the head of a table."""
    print(f"\n**{title}**\n")
    row(*columns)
    row(*["---"] * len(columns))


def machine(*packages: str) -> None:
    """Print what the figures depend on."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}, {versions}")
