"""Tests that run side by side: a cache of kernels for each process, and the longest files first."""

import os
from pathlib import Path

import pytest

# numba's cache is not made for processes that write to it at once: two that save different signatures of a function
# can each take the other's machine code. So each process of pytest-xdist has a cache of its own, kept for later runs.
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parent / ".numba_cache" / _worker)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that start servers: they wait more than they compute, and the last file runs alone."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/service/server/"))
