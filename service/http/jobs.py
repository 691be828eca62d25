"""Keep jobs: requests that go on after the answer 202, until a client fetches the answer.

All workers of a server share a folder. A job is the file of its request there; the supervisor of heavy requests has it
answered, and replaces it by NAME.done. Workers keep no part of a job, so they can end at any time.
"""

import fcntl
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from service.environment import variable
from service.http.child import read_work, write_work
from service.http.problems import MEDIA_TYPE, Problem

MOST_SECONDS: Final = 3_600  # that a job, and then its answer, is kept
RETRY_SECONDS: Final = "2"
MOST_OF_CLIENT: Final = 4
MOST_BYTES: Final = 1 << 26  # of an answer
NAME: Final = re.compile("[0-9a-f]{64}")
CLIENT_LETTERS: Final = 32  # letters of a name that tell the client

Response: TypeAlias = tuple[int, list[tuple[str, str]], bytes]  # status, headers, body


class Jobs:
    """The jobs of one server.

    A client has at most MOST_OF_CLIENT jobs and answers. Once `most` jobs wait or run, only clients without a job can
    begin one, up to 2 `most` jobs in all. If there are more than `most` answers, the client with the most of them loses
    the oldest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._folder: Path | None = None

    def open(self, folder: Path) -> None:
        """Keep jobs in a folder, which all workers share."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder

    def begin(self, client: bytes, head: dict[str, str], body: bytes | bytearray) -> str:
        """Store a request, and return the name of its job, which is too long to guess.

        Raises
        ------
        Problem
            429 if the client or the server has too many jobs; 507 if the disk is full.
        """
        with self._alone() as folder:
            self._sweep(folder)
            key = client.hex()
            check_counts(key, self.names(), [path.name for path in folder.glob("*.done")], self._most)
            name = key + secrets.token_hex(CLIENT_LETTERS // 2)
            part = folder / f"{name}.part"
            try:
                with part.open("xb", buffering=0) as file:
                    write_work(file, head, body)
            except OSError as error:
                part.unlink(missing_ok=True)
                raise disk_full() from error
            part.rename(folder / name)
        return name

    def answer(self, name: str) -> Response | None:
        """Return the answer of a job; None while it waits or runs.

        Raises
        ------
        Problem
            404 for a job that is unknown or has expired; 507 if the disk had no space for the answer.
        """
        with self._alone() as folder:
            self._sweep(folder)
            path = folder / (name if NAME.fullmatch(name) else "none")
            if path.with_suffix(".full").exists():
                raise disk_full()
            with suppress(FileNotFoundError), path.with_suffix(".done").open("rb") as file:
                (status, headers, *_), body = read_work(file)
                return status, headers, body
            if not path.exists():
                raise unknown()
        return None

    def delete(self, name: str) -> None:
        """Forget a job and its answer, or raise a problem with status 404."""
        with self._alone() as folder:
            paths = list(folder.glob(f"{name}*")) if NAME.fullmatch(name) else []
            for path in paths:
                path.unlink()
        if not paths:
            raise unknown()

    def names(self) -> list[str]:
        """Return the jobs that wait or run, in the order of their arrival."""
        paths = [] if self._folder is None else [path for path in self._folder.iterdir() if NAME.fullmatch(path.name)]
        times = {path.name: path.stat().st_mtime_ns for path in paths if path.exists()}
        return sorted(times, key=lambda name: times[name])

    def files(self, name: str) -> tuple[bytes, int, int]:
        """Return the client of a job, and descriptors of its request and of its answer."""
        assert self._folder is not None
        answer = os.open(self._folder / f"{name}.part", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        return name[:CLIENT_LETTERS].encode(), os.open(self._folder / name, os.O_RDONLY), answer

    def end(self, name: str, failure: Problem | None, *, is_disk_full: bool) -> None:
        """Replace a request by its answer, which was written, or by the failure."""
        with self._alone() as folder, suppress(FileNotFoundError):  # it was deleted
            path, answer = folder / name, folder / f"{name}.part"
            if answer.stat().st_size > MOST_BYTES:
                failure = Problem(422, f"the answer to a job has at most {MOST_BYTES} bytes", kind="too-much-work")
            if failure is not None:
                with path.open("rb") as request:
                    request_id = read_work(request)[0].get("HTTP_X_REQUEST_ID", "")
                try:
                    with answer.open("wb", buffering=0) as file:
                        headers = [("Content-Type", MEDIA_TYPE), *failure.headers.items()]
                        write_work(file, (failure.status, headers), failure.body(request_id))
                except OSError:
                    is_disk_full = True
            if is_disk_full:
                answer.unlink()
                path.rename(path.with_suffix(".full"))  # needs no space
                return
            answer.rename(path.with_suffix(".done"))
            path.unlink()
            answers = sorted(folder.glob("*.done"), key=lambda path: path.stat().st_mtime_ns)
            if len(answers) > self._most:
                ((key, _),) = count_by_client(path.name for path in answers).most_common(1)
                next(path for path in answers if path.name.startswith(key)).unlink()

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        """Let no other process or thread change the folder."""
        if self._folder is None:
            raise Problem(404, "this service keeps no jobs", kind="no-such-job")
        with (self._folder / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._folder

    @staticmethod
    def _sweep(folder: Path) -> None:
        for path in folder.iterdir():
            if path.name != ".lock" and path.stat().st_mtime < time.time() - MOST_SECONDS:
                path.unlink()


def count_by_client(names: Iterable[str]) -> Counter[str]:
    """Return the number of jobs, or of answers, of each client."""
    return Counter(name[:CLIENT_LETTERS] for name in names)


def check_counts(key: str, jobs: Iterable[str], answers: Iterable[str], most: int) -> None:
    """Refuse a further job of a client if it, or the service, has too many."""
    n_jobs, n_answers = count_by_client(jobs), count_by_client(answers)
    if n_jobs[key] + n_answers[key] >= MOST_OF_CLIENT:
        raise _too_many(f"a client has at most {MOST_OF_CLIENT} jobs; delete one whose answer you have")
    if n_jobs.total() >= (most if n_jobs[key] else 2 * most):
        raise _too_many(f"the service has {most} jobs already ({variable('max_jobs')})")


def unknown() -> Problem:
    """Return the problem for a job that is not there."""
    return Problem(404, "there is no such job: it was deleted, or it is over an hour old", kind="no-such-job")


def _too_many(why: str) -> Problem:
    return Problem(429, f"{why}; try again", kind="too-many-jobs", headers={"Retry-After": "60"})


def disk_full() -> Problem:
    """Return the problem for a job or an answer that cannot be stored."""
    return Problem(507, "the disk of the service is full; its operator must make room", kind="disk-full")
