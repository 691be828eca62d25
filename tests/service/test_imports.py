"""Imports of the service run one way."""

import ast
from pathlib import Path

import pytest

import service

FOLDER = Path(service.__file__).parent
# From the first to import to the last to be imported.
STEPS = ("server", "contract", "app", "api", "openapi", "schemas", "http", "settings", "environment")
MODULES = sorted(FOLDER.rglob("*.py"))


def step(name):
    """Place of a module in the order above; `service` itself, which makes the app, stands before `app`."""
    parts = name.split(".")
    return STEPS.index(parts[1] if len(parts) > 1 else "app")


def imported(file):
    """The modules of the service that a file imports, in functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "service")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "service":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name.split(".")[1] in STEPS else node.module for name in names)


def test_every_module_has_a_step():
    assert {path.relative_to(FOLDER).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"} == set(STEPS)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(FOLDER).as_posix())
def test_a_module_imports_from_its_own_step_and_later_ones(file):
    parts = file.relative_to(FOLDER.parent).with_suffix("").parts
    own = step(".".join(parts[: -1 if parts[-1] == "__init__" else None]))
    assert [name for name in imported(file) if step(name) < own] == []
