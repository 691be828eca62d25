"""Fixtures for tests of files and of scripts."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def script():
    """Load a script of benchmarks/ as a new module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)  # the scripts import their shared modules from there

        def script(name):
            specification = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
            module = importlib.util.module_from_spec(specification)
            patch.setitem(sys.modules, name, module)  # dataclasses look up their annotations there
            specification.loader.exec_module(module)
            return module

        yield script
