"""Reserve disk space for the counts of a process before it writes any.

prometheus_client writes to maps of files, and a write for which the disk has no space kills the process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

# The counts of all routes, methods and statuses take less.
RESERVED_BYTES: Final = 1 << 18
KINDS: Final = ("counter", "gauge_livesum", "histogram")


def reserve_files(folder: str | Path, whose: object) -> None:
    """Make the files for the counts of a process, as long as they can become.

    Raises
    ------
    OSError
        There is no space.
    """
    for kind in KINDS:
        reserve(Path(folder, f"{kind}_{whose}.db"))


def reserve(file: Path) -> None:
    """Make a file of zeros, or leave it if it is there and long enough; OSError if there is no space."""
    with file.open("ab") as opened:
        size = os.fstat(opened.fileno()).st_size
        if hasattr(os, "posix_fallocate") and size < RESERVED_BYTES:
            try:
                os.posix_fallocate(opened.fileno(), 0, RESERVED_BYTES)
            except OSError:
                if size == 0:
                    file.unlink()  # an empty one could not be read
                raise
