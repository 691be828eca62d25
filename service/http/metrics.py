"""Collect Prometheus metrics, of all workers together if PROMETHEUS_MULTIPROC_DIR is set.

prometheus_client writes to memory-mapped files, and a write without disk space kills the process. Therefore each
process reserves the space for its counts before it writes any.
"""

import fcntl
import os
import platform
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import prometheus_client as prometheus
from flask import Request, Response, g
from prometheus_client import multiprocess
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.registry import Collector

from rankcorr import __version__
from service.http.logs import route

# The counts of all routes, methods and statuses need less space.
RESERVED_BYTES: Final = 1 << 18
KINDS: Final = ("counter", "gauge_livesum", "histogram")
METRICS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"


def reserve_files(folder: str | Path, process: object) -> None:
    """Create the files for the counts of a process, at their largest size.

    Raises
    ------
    OSError
        If the disk is full.
    """
    for kind in KINDS:
        reserve(Path(folder, f"{kind}_{process}.db"))


def reserve(file: Path) -> None:
    """Create a file of zeros unless it exists and is long enough; raise OSError if the disk is full."""
    with file.open("ab") as opened:
        size = os.fstat(opened.fileno()).st_size
        if hasattr(os, "posix_fallocate") and size < RESERVED_BYTES:
            try:
                os.posix_fallocate(opened.fileno(), 0, RESERVED_BYTES)
            except OSError:
                if size == 0:
                    file.unlink()  # an empty file could not be read
                raise


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "OPTIONS"))

REQUESTS = prometheus.Counter("rankcorr_requests_total", "Requests by route and status", ["method", "route", "status"])
SECONDS = prometheus.Histogram(
    "rankcorr_request_seconds",
    "Time to answer",
    ["route"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
ITEMS = prometheus.Counter("rankcorr_items_total", "Ranked items received", ["route"])
REFUSALS = prometheus.Counter(
    "rankcorr_refusals_total", "Requests answered with an error, by the kind of the problem", ["kind"]
)
IN_PROGRESS = prometheus.Gauge(
    "rankcorr_requests_in_progress", "Requests that are being answered", multiprocess_mode="livesum"
)
WAITING = prometheus.Gauge(
    "rankcorr_requests_waiting", "Requests that wait for their turn", multiprocess_mode="livesum"
)

_COUNTING: Final = threading.Event()  # set unless the disk has no space for the counts of this process
_COUNTING.set()


def start_counting(pid: int) -> None:
    """Reserve space for the counts of a process; if that fails, it answers requests but counts nothing.

    Raises
    ------
    OSError
        If the disk is full.
    """
    if folder := os.environ.get(METRICS_FOLDER):
        _COUNTING.clear()
        reserve_files(folder, pid)
        _COUNTING.set()


def begin() -> None:
    """Count a request as in progress."""
    if _COUNTING.is_set():
        IN_PROGRESS.inc()


def end() -> None:
    """Count a request as answered."""
    if _COUNTING.is_set():
        IN_PROGRESS.dec()


def waiting() -> AbstractContextManager[Any]:
    """Count a request as waiting while the context is open."""
    return WAITING.track_inprogress() if _COUNTING.is_set() else nullcontext()


def count(request: Request, response: Response) -> Response:
    """Count an answered request."""
    if not _COUNTING.is_set():
        return response
    method = request.method if request.method in _METHODS else "other"
    REQUESTS.labels(method, route(request), str(response.status_code)).inc()
    SECONDS.labels(route(request)).observe(time.perf_counter() - g.started)
    if g.get("n_items"):
        ITEMS.labels(route(request)).inc(g.n_items)
    if "problem" in g:
        REFUSALS.labels(g.problem).inc()
    return response


class Snapshot(Collector):
    """Memory of each worker with counts in a folder, or of this process; versions of the service and of Python.

    Examples
    --------
    >>> [metric.name for metric in Snapshot(None).collect()]
    ['rankcorr_build', 'rankcorr_worker_resident_bytes']
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """Measure the memory and yield the metrics."""
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
        names = (re.fullmatch(r"gauge_livesum_([0-9]+)\.db", file.name) for file in Path(self._folder).iterdir())
        # The process that forks, our parent, has a file as well.
        return sorted({int(name[1]) for name in names if name} - {os.getppid()})


def resident_bytes(pid: int) -> int | None:
    """Return the memory of a process; None if it has ended or the system does not report it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def exposition() -> Response:
    """Return all metrics in the text format of Prometheus."""
    folder = os.environ.get(METRICS_FOLDER) or None
    now = prometheus.CollectorRegistry()
    now.register(Snapshot(folder))
    return Response(
        _worker_counts(folder) + prometheus.generate_latest(now), content_type=prometheus.CONTENT_TYPE_LATEST
    )


def _worker_counts(folder: str | None) -> bytes:
    if folder is None:
        return prometheus.generate_latest(prometheus.REGISTRY)
    registry = prometheus.CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    with _locked(folder, fcntl.LOCK_SH):
        return prometheus.generate_latest(registry)


def retire(pid: int) -> None:
    """Drop the gauges of a process that has ended, and add its counts to the totals of all ended processes.

    Otherwise each process leaves two files behind, and every later reading of the metrics would go through them.
    """
    folder = os.environ[METRICS_FOLDER]
    with _locked(folder, fcntl.LOCK_EX):
        multiprocess.mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
        for kind in ("counter", "histogram"):
            left = Path(folder, f"{kind}_{pid}.db")
            if left.exists():
                _add(left, Path(folder, f"{kind}_ended.db"))
                left.unlink()


def _add(source: Path, target: Path) -> None:
    reserve(target)
    sums = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    try:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(source)):  # type: ignore[no-untyped-call]
            sums.write_value(key, sums.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
    finally:
        sums.close()  # type: ignore[no-untyped-call]


@contextmanager
def _locked(folder: str, kind: int) -> Iterator[None]:
    """Stop readers from seeing counts in both files or in neither; the lock of a killed process is released."""
    with Path(folder, "lock").open("w") as file:
        fcntl.flock(file, kind)
        yield
