"""Hypothesis profiles, the folder of real data, and what tests that run side by side need."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

DATA_DIR = Path(__file__).resolve().parents[2] / "shared" / "data"

# numba's cache is not made for processes that write to it at once: two that save different signatures of a function
# can each take the other's machine code. So each process of pytest-xdist has a cache of its own, kept for later runs.
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / ".numba_cache" / _worker)

# No deadline: the first call of a numba kernel compiles it, so one example takes far longer than the rest.
# Every setting is given in each, because hypothesis changes its own defaults where CI is set.
settings.register_profile("dev", max_examples=30, deadline=None, derandomize=False, print_blob=False)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("few", max_examples=5, deadline=None, derandomize=True, print_blob=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that start servers: they wait more than they compute, and the last file runs alone."""
    items.sort(key=lambda item: not item.nodeid.startswith(("tests/service/server/", "tests/service/deploy/")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_data") and not DATA_DIR.is_dir():
        pytest.skip(f"real data not found: there is no folder {DATA_DIR}")
    if item.get_closest_marker("needs_numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("too slow with kernels as plain Python")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; a test that uses it is marked `real_data`."""
    return DATA_DIR
