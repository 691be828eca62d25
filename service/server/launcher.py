"""What the commands do: settings -> folder of this run -> gunicorn, configured by `gunicorn_config`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import MutableMapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

from service.environment import SettingError, variable
from service.http.room import take_room
from service.server.programs import PROGRAM, Program, named
from service.server.settings import usable_cores

METRICS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
KERNEL_FOLDER: Final = "NUMBA_CACHE_DIR"
RUN_FOLDER: Final = "RANKCORR_RUN_FOLDER"  # set by the command for gunicorn, which removes the folder when it ends

# -P: `service.server.run` is ours, and not found in the folder from which the service is started.
GUNICORN: Final = ("-P", "-m", "service.server.run", "--config", "python:service.server.gunicorn_config")

# What the C library and numpy read when a program starts; a value that is set already is kept.
PROGRAM_VARIABLES: Final = {
    # The service multiplies no matrices; without this, numpy starts threads, which fork() does not copy.
    "OPENBLAS_NUM_THREADS": "1",
    # Memory of large requests goes back to the system. By default the C library keeps some for each thread: a worker
    # kept 150 MB after 40 bodies of 2 MB, and keeps 20 MB with these.
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    "MALLOC_TRIM_THRESHOLD_": str(2**22),
}


def launch(program: Program, arguments: Sequence[str] | None = None) -> None:
    """Check the settings of a program, and become gunicorn."""
    parser = _parser(program)
    asked = parser.parse_args(arguments)
    environment = dict(os.environ)
    if missing := [name for name in program.needed if find_spec(name) is None]:
        _refuse(parser, f"{', '.join(missing)} cannot be imported: install rankcorr-service")
    try:
        server, application = program.read(environment)
        for line in program.warnings(environment):
            print(f"{parser.prog}: warning: {line}", file=sys.stderr)
        if asked.check:
            print(f"the settings are valid: {server.workers or usable_cores()} workers would listen at {server.bind}")
            return
        if asked.compile:
            named(program.warm_up)()
            return
        if program.prepare is not None:
            named(program.prepare)(application)
        prepare(program, environment)
    except SettingError as error:
        _refuse(parser, str(error))
    except OSError as error:
        _refuse(parser, f"no folder for this run: {error}")
    os.execve(sys.executable, [sys.executable, *GUNICORN], environment)


def prepare(program: Program, environment: MutableMapping[str, str]) -> None:
    """Make the folders of this run, and put their names and that of the program into the environment.

    Raises
    ------
    OSError
        Where a folder cannot be made or emptied.
    """
    run = Path(tempfile.mkdtemp(prefix=run_prefix(program)))
    environment[RUN_FOLDER] = str(run)
    try:
        metrics = Path(environment.get(METRICS_FOLDER) or run / "metrics")
        metrics.mkdir(parents=True, exist_ok=True)
        for left_over in metrics.glob("[cgh]*_*.db"):  # of an earlier run: counter_PID.db, gauge_.., histogram_..
            left_over.unlink()
        take_room(metrics, os.getpid())  # of gunicorn, which this process becomes
        environment[METRICS_FOLDER] = str(metrics)
        kernels = environment.get(KERNEL_FOLDER)
        if kernels and os.path.isdir(kernels) and not is_writable(kernels):
            # numba reads no cache that it cannot write to, as in a read-only container
            environment[KERNEL_FOLDER] = str(shutil.copytree(kernels, run / "kernels"))
    except OSError:
        shutil.rmtree(run, ignore_errors=True)
        raise
    environment[PROGRAM] = program.name
    for name, value in PROGRAM_VARIABLES.items():
        environment.setdefault(name, value)


def run_prefix(program: Program) -> str:
    """How the names of the folders begin that the command makes for a run."""
    return f"{program.name}-"


def is_writable(folder: str) -> bool:
    """Whether files can be made in a folder; to ask for permissions would not notice a read-only file system."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _parser(program: Program) -> argparse.ArgumentParser:
    rows = [(name, _shown(name, value), about) for name, value, about in program.table()]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name:{width}}  {value:14}  {about}" for name, value, about in rows]
    parser = argparse.ArgumentParser(
        prog=program.name,
        description=f"{program.about} Everything is set by environment variables.",
        epilog="\n".join([f"  {'variable':{width}}  {'default':14}  meaning", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="check the settings, and do not start")
    what.add_argument(
        "--compile", action="store_true", help="only compile the kernels, into NUMBA_CACHE_DIR, for later starts"
    )
    return parser


def _shown(name: str, value: Any) -> str:
    return "" if value == () or name == variable("tokens") else str(value)


def _refuse(parser: argparse.ArgumentParser, why: str) -> NoReturn:
    """End with one line; argparse's own error shows the usage too."""
    parser.exit(2, f"{parser.prog}: error: {why}\n")
