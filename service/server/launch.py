"""Define the commands rankcorr-serve and rankcorr-collect: settings -> folder of this run -> gunicorn.

`gunicorn_config` configures gunicorn, which uses its own worker class `gthread`.
"""

import argparse
import fcntl
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, NoReturn

from service.collect.settings import CollectSettings
from service.environment import (
    FromEnvironment,
    HttpSettings,
    SettingError,
    is_loopback,
    one_of,
    seconds,
    setting,
    unknown,
    variable,
    whole_number,
)
from service.settings import Settings

# Import names of the packages that rankcorr-service needs and rankcorr does not.
NEEDED: Final = (
    *("flask", "flask_cors", "flask_smorest", "flask_swagger_ui"),
    *("gunicorn", "marshmallow", "orjson", "prometheus_client"),
)
NEEDED_FOR_PAGES: Final = ("markdown_it", "matplotlib", "nh3", "segno")
PROGRAM: Final = "RANKCORR_PROGRAM"  # the command sets it for gunicorn
NOTICE: Final = "RANKCORR_NOTICE"  # text to print once requests are accepted; `make collect` sets it
KERNEL_FOLDER: Final = "NUMBA_CACHE_DIR"
LOCK: Final = "lock"  # in the folder of a run
RUN_FOLDER: Final = "RANKCORR_RUN_FOLDER"  # the command sets it; gunicorn removes the folder at its end

# gunicorn puts the current folder first on the path. Many projects have a folder `service` or `adaptive`, which would
# be imported instead of ours; -P prevents the same in Python.
GUNICORN: Final = (
    *("-P", "-c", "import adaptive, rankcorr, service; from gunicorn.app.wsgiapp import run; run()"),
    *("--config", "python:service.server.gunicorn_config"),
)

_WORK: Final = "import adaptive, rankcorr, service; from service.server.launch import work_jobs; work_jobs()"
JOBS: Final = ("-P", "-c", _WORK)

# Variables that the C library and numpy read at their start; values that are already set are kept.
PROGRAM_VARIABLES: Final = {
    # The service multiplies no matrices; without this, numpy starts threads, which fork() does not copy.
    "OPENBLAS_NUM_THREADS": "1",
    # Return the memory of large requests to the system. By default the C library keeps some per thread: a worker kept
    # 150 MB after 40 bodies of 2 MB; with these settings it keeps 20 MB.
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    "MALLOC_TRIM_THRESHOLD_": str(2**22),
}


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


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command that serves an application.

    Anything that needs more than the standard library is given as module:function, and imported when called.

    Parameters
    ----------
    name : str
        The command.
    about : str
        Its purpose, for the help.
    application : str
        Function that makes the WSGI application, in gunicorn's syntax.
    settings : type of HttpSettings
    bind : str
        Default address to listen on.
    warm_up : str
        Function that compiles the kernels that the threads of workers use.
    compile_all : str
        Function that compiles the kernels of all requests, for an image.
    needed : tuple of str
        Packages without which the command cannot start.
    prepare : str, optional
        Function that receives the settings before the server listens; if it raises `SettingError`, the start is
        aborted.
    """

    name: str
    about: str
    application: str
    settings: type[HttpSettings]
    bind: str
    warm_up: str
    compile_all: str
    needed: tuple[str, ...] = NEEDED
    prepare: str | None = None

    def read(self, environment: Mapping[str, str] = os.environ) -> tuple[ServerSettings, HttpSettings]:
        """Read the settings of the processes and of the application.

        Raises
        ------
        SettingError
            If a variable has an invalid value; the message names the variable.
        """
        bind = environment.get(variable("bind")) or self.bind
        server = ServerSettings.from_environment({**environment, variable("bind"): bind})
        return server, self.settings.from_environment(environment)

    def warnings(self, environment: Mapping[str, str]) -> list[str]:
        """Return a warning for each misspelt setting, and for an address that needs a proxy."""
        ours = {name: value for name, value in environment.items() if name != NOTICE}
        lines = unknown(ours, ServerSettings, self.settings.limits_type, self.settings)
        server, application = self.read(environment)
        if not (server.is_local or application.trusted_proxies):
            lines.append(
                f"other machines can reach {server.bind}, and slow clients can block a server without nginx in front "
                f"(service/deploy); behind nginx, set {variable('trusted_proxies')} to 1"
            )
        return lines

    def table(self) -> list[tuple[str, Any, str]]:
        """Return variable, default and meaning of each setting."""
        return [*ServerSettings(bind=self.bind).table(), *self.settings().table()]


SERVE: Final = Program(
    name="rankcorr-serve",
    about="Serve rankcorr over HTTP.",
    application="service:create_app()",
    settings=Settings,
    bind="127.0.0.1:8000",
    warm_up="service.server.warm_up:warm_up_correlations",
    compile_all="service.server.warm_up:warm_up",
)
COLLECT: Final = Program(
    name="rankcorr-collect",
    about="Collect votes in browsers, on a ledger that keeps every one.",
    application="service.collect:create_app()",
    settings=CollectSettings,
    bind="127.0.0.1:8080",
    warm_up="service.server.warm_up:warm_up_voting",
    compile_all="service.server.warm_up:warm_up_campaigns",
    needed=(*NEEDED, *NEEDED_FOR_PAGES),
    prepare="service.collect.state:prepare",
)
PROGRAMS: Final = {program.name: program for program in (SERVE, COLLECT)}


def chosen_program(environment: Mapping[str, str] = os.environ) -> Program:
    """Return the program that the command named in the environment; rankcorr-serve if there is no name.

    >>> chosen_program({"RANKCORR_PROGRAM": "rankcorr-collect"}).bind
    '127.0.0.1:8080'
    """
    return PROGRAMS[one_of(*PROGRAMS)(PROGRAM, environment.get(PROGRAM) or SERVE.name)]


def serve() -> None:
    """Run the command rankcorr-serve."""
    launch(SERVE)


def collect() -> None:
    """Run the command rankcorr-collect."""
    launch(COLLECT)


def launch(program: Program, arguments: Sequence[str] | None = None) -> None:
    """Check the settings of a program, then replace this process with gunicorn."""
    parser = _parser(program)
    options = parser.parse_args(arguments)
    environment = dict(os.environ)
    if missing := [name for name in program.needed if find_spec(name) is None]:
        _refuse(parser, f"{', '.join(missing)} cannot be imported: install rankcorr-service")
    try:
        server, application = program.read(environment)
        for line in program.warnings(environment):
            print(f"{parser.prog}: warning: {line}", file=sys.stderr)
        if options.check:
            print(f"the settings are valid: {server.workers or usable_cores()} workers would listen at {server.bind}")
            return
        if options.compile:
            resolve_name(program.compile_all)()
            return
        if options.jobs and not getattr(application, "jobs_url", ""):
            _refuse(parser, f"--jobs needs {variable('jobs_url')}, the Redis that keeps the jobs")
        prepare(program, environment)
    except SettingError as error:
        _refuse(parser, str(error))
    except OSError as error:
        _refuse(parser, f"no folder for this run: {error}")
    os.execve(sys.executable, [sys.executable, *(JOBS if options.jobs else GUNICORN)], environment)


def work_jobs() -> None:
    """Answer jobs that servers have put into Redis."""
    settings: Any = SERVE.read()[1]
    app = resolve_name("service:create_app")(settings)
    of_job = replace(settings, max_waiting=1, limits=replace(settings.limits, max_seconds=settings.job_seconds))
    pool = resolve_name("service.http.pool:Pool")(of_job)
    answer = resolve_name("service.http.hooks:answer_alone")(app)
    resolve_name("service.http.redis_jobs:work")(settings.jobs_url, pool, answer)


def prepare(program: Program, environment: MutableMapping[str, str]) -> None:
    """Create the folders of this run, and put their names and the program's into the environment.

    Raises
    ------
    OSError
        If a folder cannot be created or emptied.
    """
    from service.http import metrics  # which imports flask, after the check that it is installed

    remove_dead_runs(program)
    run = Path(tempfile.mkdtemp(prefix=f"{program.name}-"))
    environment[RUN_FOLDER] = str(run)
    try:
        lock = os.open(run / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock, True)  # the processes of this run hold it until the last of them has ended
        counts = Path(environment.get(metrics.METRICS_FOLDER) or run / "metrics")
        counts.mkdir(parents=True, exist_ok=True)
        for left_over in counts.glob("[cgh]*_*.db"):  # from an earlier run: counter_PID.db, gauge_.., histogram_..
            left_over.unlink()
        metrics.reserve_files(counts, os.getpid())  # for gunicorn, which this process becomes
        environment[metrics.METRICS_FOLDER] = str(counts)
        kernels = environment.get(KERNEL_FOLDER)
        if kernels and os.path.isdir(kernels) and not os.access(kernels, os.W_OK):
            # numba ignores a cache that it cannot write to, as in a container whose file system is read-only
            environment[KERNEL_FOLDER] = str(shutil.copytree(kernels, run / "kernels"))
    except OSError:
        shutil.rmtree(run, ignore_errors=True)
        raise
    environment[PROGRAM] = program.name
    for name, value in PROGRAM_VARIABLES.items():
        environment.setdefault(name, value)


def remove_dead_runs(program: Program) -> None:
    """Remove the folders of runs whose processes were killed: nobody holds their locks."""
    for lock in Path(tempfile.gettempdir()).glob(f"{program.name}-*/{LOCK}"):
        with suppress(OSError), lock.open("r+b") as file:  # another user's, in use, or gone
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def _parser(program: Program) -> argparse.ArgumentParser:
    rows = [(name, _format_default(name, value), about) for name, value, about in program.table()]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name:{width}}  {value:14}  {about}" for name, value, about in rows]
    parser = argparse.ArgumentParser(
        prog=program.name,
        description=f"{program.about} Everything is set by environment variables.",
        epilog="\n".join([f"  {'variable':{width}}  {'default':14}  meaning", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="Show this message and exit.")
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument("--check", action="store_true", help="Check the settings, and do not start.")
    actions.add_argument(
        "--compile", action="store_true", help="Only compile the kernels, into NUMBA_CACHE_DIR, for later starts."
    )
    actions.add_argument(
        "--jobs",
        action="store_true",
        help=f"Answer jobs from the Redis at {variable('jobs_url')}, and no requests."
        if program is SERVE
        else argparse.SUPPRESS,
    )
    return parser


def _format_default(name: str, value: Any) -> str:
    return "" if value == () or name == variable("tokens") else str(value)


def _refuse(parser: argparse.ArgumentParser, why: str) -> NoReturn:
    """Exit with one line; argparse's own error would also print the usage."""
    parser.exit(2, f"{parser.prog}: error: {why}\n")


if __name__ == "__main__":
    launch(PROGRAMS[sys.argv[1]], sys.argv[2:])
