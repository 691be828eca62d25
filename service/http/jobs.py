"""Keep jobs: requests that go on after the answer 202, until a client fetches the answer.

All workers of a server share a folder. A job is an empty file there, which the worker of the job locks; its answer is
the same name with ".done". A file without lock and answer is the job of a worker that was killed.
"""

import fcntl
import hashlib
import json
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, TypeAlias

from rankcorr._io.files import write_atomically
from service.environment import variable
from service.http.problems import MEDIA_TYPE, Problem

KEPT_SECONDS: Final = 3_600  # an answer, and a job that is not done
RETRY_SECONDS: Final = "2"
MOST_EACH: Final = 4  # jobs of a client
MOST_BYTES: Final = 1 << 26  # of an answer
_NAME: Final = re.compile("[0-9a-f]{42}")

Made: TypeAlias = tuple[int, list[tuple[str, str]], bytes]  # an answer: status, headers, body
Look: TypeAlias = Callable[[], None]

log = logging.getLogger("rankcorr.service")


class Jobs:
    """The jobs of one server: at most `most` at a time, done or not, over all workers that are forked later."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._folder: Path | None = None
        self._key = secrets.token_bytes(16)  # so that a name does not tell the address of its client

    def open(self, folder: Path) -> None:
        """Keep jobs in a folder, which all workers share."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder

    def begin(self, client: str, request_id: str, work: Callable[[Look], Made]) -> str:
        """Begin a job in a thread, and return its name, which is too long to guess.

        Parameters
        ----------
        client, request_id : str
        work : callable
            Returns the answer. Now and then it calls its argument, which raises a problem once the job is deleted.

        Raises
        ------
        Problem
            429 if the client or the server has too many jobs.
        """
        own = hashlib.blake2b(client.encode("utf-8", "surrogateescape"), digest_size=5, key=self._key).hexdigest()
        with self._alone() as folder:
            self._sweep(folder)
            names = {path.stem for path in folder.glob("[0-9a-f]*")}
            if len(names) >= self._most:
                raise _too_many(f"the service keeps {self._most} jobs already ({variable('max_jobs')})")
            if sum(name.startswith(own) for name in names) >= MOST_EACH:
                raise _too_many(f"a client has at most {MOST_EACH} jobs; delete one whose answer you have")
            name = own + secrets.token_hex(16)
            lock = (folder / name).open("x")
            fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Thread(target=self._work, args=(folder / name, lock, request_id, work), daemon=True).start()
        return name

    def answer(self, name: str) -> Made | None:
        """Return the answer of a job; None while it waits or runs.

        Raises
        ------
        Problem
            404 for a job that is unknown or has expired; 500 for one that was lost.
        """
        with self._alone() as folder:
            self._sweep(folder)
            path = folder / (name if _NAME.fullmatch(name) else "none")
            with suppress(FileNotFoundError):
                head, _, body = path.with_suffix(".done").read_bytes().partition(b"\n")
                status, headers = json.loads(head)
                return status, [(key, value) for key, value in headers], body
            if not path.exists():
                raise _unknown()
            with path.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return None
        raise Problem(500, "the process that kept this job has ended: send the request again", kind="job-lost")

    def delete(self, name: str) -> None:
        """Forget a job and its answer, or raise a problem with status 404; its process ends within a second."""
        with self._alone() as folder:
            found = list(folder.glob(f"{name}*")) if _NAME.fullmatch(name) else []
            for path in found:
                path.unlink()
        if not found:
            raise _unknown()

    def _work(self, path: Path, lock: IO[str], request_id: str, work: Callable[[Look], Made]) -> None:
        end = time.monotonic() + KEPT_SECONDS

        def look() -> None:
            if not path.exists() or time.monotonic() > end:
                raise Problem(503, "the job was deleted, or took more than an hour", kind="no-such-job")

        with lock:
            try:
                made = work(look)
            except Problem as problem:
                made = _of_problem(problem, request_id)
            except Exception:
                log.exception("the job of request %s failed", request_id)
                return
            if len(made[2]) > MOST_BYTES:
                too_long = f"the answer to a job has at most {MOST_BYTES} bytes; this one has {len(made[2])}"
                made = _of_problem(Problem(422, too_long, kind="too-much-work"), request_id)
            with self._alone():
                if path.exists():
                    write_atomically(path.with_suffix(".done"), json.dumps(made[:2]).encode() + b"\n" + made[2])
                    path.unlink()

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        """Let no other worker or thread change the folder."""
        if self._folder is None:
            raise Problem(404, "this service keeps no jobs", kind="no-such-job")
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._folder

    @staticmethod
    def _sweep(folder: Path) -> None:
        for path in folder.iterdir():  # also what a worker was writing when it was killed
            if path.name != ".lock" and path.stat().st_mtime < time.time() - KEPT_SECONDS:
                path.unlink()


def _of_problem(problem: Problem, request_id: str) -> Made:
    headers = [("Content-Type", MEDIA_TYPE), *problem.headers.items()]
    return problem.status, headers, problem.body(request_id)


def _unknown() -> Problem:
    return Problem(404, "there is no such job: it was deleted, or it is over an hour old", kind="no-such-job")


def _too_many(why: str) -> Problem:
    return Problem(429, f"{why}; try again", kind="too-many-jobs", headers={"Retry-After": "60"})
