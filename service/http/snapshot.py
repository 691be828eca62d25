"""What is measured as the metrics are read, rather than counted before: the memory of the workers, and what runs."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from rankcorr import __version__


class Snapshot(Collector):
    """Memory of each worker whose counts lie in a folder, or of this process; the versions of the service and Python.

    Examples
    --------
    >>> [metric.name for metric in Snapshot(None).collect()]
    ['rankcorr_build', 'rankcorr_worker_resident_bytes']
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """Measure."""
        versions = {"version": __version__, "python": platform.python_version()}
        yield InfoMetricFamily("rankcorr_build", "What runs", value=versions)
        memory = GaugeMetricFamily(
            "rankcorr_worker_resident_bytes", "Memory of a worker, shared pages included", labels=["pid"]
        )
        for pid in self._workers():
            size = resident_bytes(pid)
            if size is not None:
                memory.add_metric([str(pid)], size)
        yield memory

    def _workers(self) -> Iterable[int]:
        if self._folder is None:
            return [os.getpid()]
        found = (re.fullmatch(r"gauge_livesum_([0-9]+)\.db", file.name) for file in Path(self._folder).iterdir())
        # The process that forks, our parent, has a file too.
        return sorted({int(name[1]) for name in found if name} - {os.getppid()})


def resident_bytes(pid: int) -> int | None:
    """Memory of a process; None for one that has ended, and where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
