"""The command rankcorr-serve: settings -> folder of this run -> gunicorn, configured by `gunicorn_config`."""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

from service.settings import SettingError, Settings, _read, _seconds, _setting, _whole, variable

METRICS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
KERNEL_FOLDER: Final = "NUMBA_CACHE_DIR"
RUN_FOLDER: Final = "RANKCORR_RUN_FOLDER"  # set by this command for gunicorn, which removes the folder when it ends
RUN_PREFIX: Final = "rankcorr-serve-"

# The dependencies of rankcorr-service that rankcorr does not have.
NEEDED: Final = (
    *("flask", "flask_cors", "flask_smorest", "flask_swagger_ui"),
    *("gunicorn", "marshmallow", "orjson", "prometheus_client"),
)
GUNICORN: Final = ("-m", "gunicorn", "--config", "python:service.server.gunicorn_config")

# What the C library and numpy read when a program starts; each may be set to something else from outside.
PROGRAM_VARIABLES: Final = {
    # The service multiplies no matrices; without this, numpy starts threads, which fork() does not copy.
    "OPENBLAS_NUM_THREADS": "1",
    # Memory of large requests goes back to the system. By default the C library keeps some for each thread: a worker
    # kept 150 MB after 40 bodies of 2 MB, and keeps 20 MB with these.
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    "MALLOC_TRIM_THRESHOLD_": str(2**22),
}

_TCP: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Number of processors that this process may use: those it may run on, or fewer if the container has a quota.

    >>> usable_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for read in (_quota_v2, _quota_v1):
        try:
            quota = read(cgroup)
        except (OSError, ValueError):  # another version of cgroups, none, or no quota, which is written "max"
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
class ServerSettings:
    """How the processes of the service run; `Settings` has what each of them does.

    Examples
    --------
    >>> ServerSettings.from_environment({"RANKCORR_WORKERS": "3"}).workers
    3
    """

    bind: str = _setting("127.0.0.1:8000", _address, "where to listen: host:port or unix:/path")
    workers: int = _setting(0, _whole(0, 1_000), "processes that answer, 0: one for each usable core")
    max_requests_per_worker: int = _setting(
        100_000, _whole(0), "requests after which a worker is replaced, 0: never; up to a tenth more, at random"
    )
    graceful_seconds: int = _setting(
        0, _whole(0, 86_400), "seconds for requests to finish at a stop, 0: for the longest wait and work"
    )
    client_seconds: float = _setting(10.0, _seconds, "seconds that a client may pause while it sends a request")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> ServerSettings:
        """Read the variables RANKCORR_*; what is not set has its default.

        Raises
        ------
        SettingError
            For a value that a variable cannot have; the message names the variable.
        """
        return cls(**_read(cls, environment))  # type: ignore[arg-type]

    def table(self) -> list[tuple[str, Any, str]]:
        """Variable, value and meaning of each setting."""
        return [
            (variable(name), getattr(self, name), entry.metadata["about"])
            for name, entry in self.__dataclass_fields__.items()
        ]

    def seconds_to_stop(self, app: Settings) -> int:
        """Time for a request that came last to arrive, to wait for its turn, to work and to be sent."""
        return (
            self.graceful_seconds or math.ceil(app.max_body_seconds + app.max_wait_seconds + app.limits.max_seconds) + 5
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the settings, and become gunicorn."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    environment = dict(os.environ)
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        _refuse(parser, f"{', '.join(missing)} cannot be imported: install rankcorr-service")
    try:
        server = ServerSettings.from_environment(environment)
        Settings.from_environment(environment)
        if asked.check:
            print(f"the settings are valid: {server.workers or usable_cores()} workers would listen at {server.bind}")
            return
        if asked.compile:
            from service.server.warm_up import warm_up

            warm_up()
            return
        prepare(environment)
    except SettingError as error:
        _refuse(parser, str(error))
    except OSError as error:
        _refuse(parser, f"no folder for this run: {error}")
    os.execve(sys.executable, [sys.executable, *GUNICORN], environment)


def prepare(environment: MutableMapping[str, str]) -> None:
    """Make the folders of this run, and name them in the environment.

    Raises
    ------
    OSError
        Where there is no folder to write to.
    """
    run = Path(tempfile.mkdtemp(prefix=RUN_PREFIX))
    environment[RUN_FOLDER] = str(run)
    try:
        metrics = Path(environment.get(METRICS_FOLDER) or run / "metrics")
        metrics.mkdir(parents=True, exist_ok=True)
        for left_over in metrics.glob("[cgh]*_*.db"):  # of an earlier run: counter_PID.db, gauge_.., histogram_..
            left_over.unlink()
        environment[METRICS_FOLDER] = str(metrics)
        kernels = environment.get(KERNEL_FOLDER)
        if kernels and os.path.isdir(kernels) and not _is_writable(kernels):
            # numba reads no cache that it cannot write to, as in a read-only container
            environment[KERNEL_FOLDER] = str(shutil.copytree(kernels, run / "kernels"))
    except OSError:
        shutil.rmtree(run, ignore_errors=True)
        raise
    for name, value in PROGRAM_VARIABLES.items():
        environment.setdefault(name, value)


def _is_writable(folder: str) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    rows = [
        (name, _shown(name, value), about) for name, value, about in (*ServerSettings().table(), *Settings().table())
    ]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name:{width}}  {value:14}  {about}" for name, value, about in rows]
    parser = argparse.ArgumentParser(
        prog="rankcorr-serve",
        description="Serve rankcorr over HTTP. Everything is set by environment variables.",
        epilog="\n".join([f"  {'variable':{width}}  {'default':14}  meaning", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="check the settings, and do not start")
    what.add_argument(
        "--compile", action="store_true", help="only compile, into NUMBA_CACHE_DIR, what each start would compile"
    )
    return parser


def _shown(name: str, value: Any) -> str:
    return "" if value == () or name == variable("tokens") else str(value)


def _refuse(parser: argparse.ArgumentParser, why: str) -> NoReturn:
    """End with one line; argparse's own error shows the usage too."""
    parser.exit(2, f"{parser.prog}: error: {why}\n")


if __name__ == "__main__":
    main()
