"""numba's cache in a parallel run: a folder for each process, which begins with what another one has compiled.

The cache is not made for processes that write to it at once: two that save different signatures of a function can each
take the other's machine code. So each process of pytest-xdist has a folder of its own, kept for later runs.
"""

import contextlib
import os
import shutil
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".numba_cache"
COMMON = FOLDER / "common"  # never written to once it is there

WORKER = os.environ.get("PYTEST_XDIST_WORKER")


def choose() -> None:
    """Make numba use the folder of this process, if it is one of several."""
    if WORKER:
        os.environ["NUMBA_CACHE_DIR"] = str(FOLDER / WORKER)


def take() -> None:
    """Copy the kernels that another process has given, unless this one has compiled some already."""
    if WORKER and COMMON.exists():
        _taken(FOLDER / WORKER)


@cache
def _taken(own: Path) -> None:
    if not any(own.rglob("*.nbi")):  # numba makes its folders as soon as kernels are imported
        shutil.copytree(COMMON, own, dirs_exist_ok=True)


def give() -> None:
    """Copy the kernels of this process for others, once they are all there: compiling them takes 30 s."""
    if WORKER and not COMMON.exists():
        unfinished = FOLDER / f"of_{WORKER}"
        shutil.copytree(FOLDER / WORKER, unfinished)
        with contextlib.suppress(OSError):  # another process was faster
            unfinished.rename(COMMON)
        shutil.rmtree(unfinished, ignore_errors=True)
