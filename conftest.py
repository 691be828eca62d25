"""Kernels compiled by processes that run tests side by side."""

import os
from pathlib import Path

# numba's cache is not made for processes that write to it at once: two that save different signatures of a function
# can each take the other's machine code. So each process of pytest-xdist has a cache of its own, kept for later runs.
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parent / ".numba_cache" / _worker)
