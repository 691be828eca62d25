"""Hypothesis profiles, the folder of real data, and what tests that run side by side need."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests import kernel_cache

DATA_DIR = Path(__file__).resolve().parents[2] / "shared" / "data"

kernel_cache.choose()

# No deadline: the first call of a numba kernel compiles it, so one example takes far longer than the rest.
# Every setting is given in each, because hypothesis changes its own defaults where CI is set.
settings.register_profile("dev", max_examples=30, deadline=None, derandomize=False, print_blob=False)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("few", max_examples=5, deadline=None, derandomize=True, print_blob=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that start servers: they wait more than they compute, and the last file runs alone.

    The very first takes longest, and needs none of the kernels that another process compiles meanwhile for both.
    """
    first = ("tests/service/server/test_docker_steps.py", "tests/service/server/", "tests/service/deploy/")
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in first])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    kernel_cache.take()
    if item.get_closest_marker("real_data") and not DATA_DIR.is_dir():
        pytest.skip(f"real data not found: there is no folder {DATA_DIR}")
    if item.get_closest_marker("needs_numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("too slow with kernels as plain Python")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; a test that uses it is marked `real_data`."""
    return DATA_DIR
