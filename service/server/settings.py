"""Declare the settings of the processes: where they listen, how many there are, and how they end."""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.environment import FromEnvironment, SettingError, is_loopback, seconds, setting, whole_number
from service.http.settings import HttpSettings

_TCP: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the number of usable processors: those this process may run on, or fewer if a container sets a quota.

    >>> usable_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for quota_of in (_quota_v2, _quota_v1):
        try:
            quota = quota_of(cgroup)
        except (OSError, ValueError):  # another version of cgroups, no cgroups, or no quota ("max")
            continue
        if quota > 0:
            return max(1, min(cores, math.ceil(quota)))
    return cores


def _quota_v2(cgroup: Path) -> float:
    quota, period = (cgroup / "cpu.max").read_text().split()
    return int(quota) / int(period)


def _quota_v1(cgroup: Path) -> float:
    quota = int((cgroup / "cpu" / "cpu.cfs_quota_us").read_text())
    return quota / int((cgroup / "cpu" / "cpu.cfs_period_us").read_text())


def _address(name: str, text: str) -> str:
    tcp = _TCP.fullmatch(text)
    if not (tcp and int(tcp[2]) < 2**16) and not re.fullmatch(r"unix:/.+", text):
        raise SettingError(f"{name} must be host:port, as in 127.0.0.1:8000, or unix:/path; got {text!r}")
    return text


@dataclass(frozen=True, kw_only=True)
class ServerSettings(FromEnvironment):
    """How the processes of a service run; `HttpSettings` and its subclasses have the settings of the application.

    Examples
    --------
    >>> ServerSettings.from_environment({"RANKCORR_WORKERS": "3"}).workers
    3
    """

    bind: str = setting("127.0.0.1:8000", _address, "where to listen: host:port or unix:/path")
    workers: int = setting(0, whole_number(0, 1_000), "worker processes, 0: one for each usable core")
    max_requests_per_worker: int = setting(
        100_000, whole_number(0), "requests after which a worker is replaced, 0: never; up to a tenth more, at random"
    )
    graceful_seconds: int = setting(
        0, whole_number(0, 86_400), "seconds for requests to finish at a stop, 0: for the longest wait and work"
    )
    drain_seconds: int = setting(
        5, whole_number(0, 3_600), "seconds at a stop while /health/ready answers 503 and requests are still served"
    )
    client_seconds: float = setting(
        10.0, seconds, "seconds without a byte after which the server gives up a request or an answer"
    )

    @property
    def is_local(self) -> bool:
        """Return whether only this machine can reach the address.

        >>> [ServerSettings(bind=bind).is_local for bind in ("[::1]:80", "localhost:80", "unix:/run/x", "0.0.0.0:80")]
        [True, True, True, False]
        """
        return self.bind.startswith("unix:") or is_loopback(self.bind.rpartition(":")[0].strip("[]"))

    def seconds_to_stop(self, app: HttpSettings) -> int:
        """Return the time for the last request to arrive, wait, be processed, and have its answer received."""
        return self.graceful_seconds or math.ceil(
            2 * (self.client_seconds + app.max_wait_seconds) + 3 * app.limits.max_seconds + 5
        )
