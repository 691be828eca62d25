"""numba's cache in a parallel run: each process has a folder, and copies kernels that the others have compiled.

The cache is not made for processes that write to it at once: two that save different signatures of a function can each
take the other's machine code. So no process of pytest-xdist writes into the folder of another. The folders are kept for
later runs.
"""

import os
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / ".numba_cache"

WORKER = os.environ.get("PYTEST_XDIST_WORKER")


def choose() -> None:
    """Make numba use the folder of this process, if it is one of several."""
    if WORKER:
        os.environ["NUMBA_CACHE_DIR"] = str(FOLDER / WORKER)


@pytest.fixture(scope="module", autouse=True)
def take() -> None:
    """Copy all functions that others have compiled and this process has not: before each file, doctests included.

    numba writes each file whole. If an index comes before its machine code, numba compiles the function once more.
    """
    if not WORKER:
        return
    for index in FOLDER.rglob("*.nbi"):
        others, *inner = index.relative_to(FOLDER).parts
        own = FOLDER.joinpath(WORKER, *inner)
        if others == WORKER or own.exists():
            continue
        own.parent.mkdir(parents=True, exist_ok=True)
        for compiled in (*index.parent.glob(f"{index.stem}.*.nbc"), index):
            shutil.copy(compiled, own.with_name(compiled.name))
