"""Scripts in benchmarks/ import names that exist; other tests run only a few of the scripts."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_every_imported_name_exists(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in ("rankcorr", "adaptive", "service"):
            module = importlib.import_module(node.module)
            is_package = hasattr(module, "__path__")
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or (is_package and find_spec(f"{node.module}.{name}")), name
