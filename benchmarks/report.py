"""Markdown tables for the benchmark scripts, and a line about the machine that they run on."""

import os
import platform
from importlib.metadata import version


def row(*cells: object) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def heading(title: str, *columns: str) -> None:
    """Print a title and the header of a table."""
    print(f"\n**{title}**\n")
    row(*columns)
    row(*["---"] * len(columns))


def machine(*packages: str) -> None:
    """Print the machine and the versions that the figures depend on."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}, {versions}")
