"""Keep jobs in Redis, with rq: they survive restarts and kills, are tried again, and run on several machines.

`rankcorr-serve` adds jobs to a queue. `rankcorr-serve --jobs`, on as many machines as needed, answers one job after the
other, within the same limits as the processes for heavy requests.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq import Queue, Retry, Worker
from rq.command import send_stop_job_command
from rq.exceptions import InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import FailedJobRegistry, FinishedJobRegistry, StartedJobRegistry

from service.http.child import Answer
from service.http.jobs import CLIENT_LETTERS, MOST_BYTES, MOST_SECONDS, NAME, Response, check_counts, disk_full, unknown
from service.http.pool import Pool, over_capacity, too_much_work
from service.http.problems import MEDIA_TYPE, Problem

QUEUE: Final = "rankcorr-jobs"
MOST_RETRIES: Final = 2
HEARTBEAT_SECONDS: Final = 5  # of a running job; one whose worker was silent for a minute more begins again
WAIT_SECONDS: Final = 10.0  # for Redis, or for a job to stop

_pools: list[Pool] = []  # of this process, if it answers jobs


class RedisJobs:
    """The jobs of all servers that share a Redis; `Jobs` has the same methods and limits.

    Parameters
    ----------
    url : str
        As redis://host:6379/0.
    most : int
        Jobs that wait or run, and answers that are kept.
    seconds : float
        Processor time of a job.
    """

    def __init__(self, url: str, most: int, seconds: float) -> None:
        connection = Redis.from_url(url, socket_timeout=WAIT_SECONDS)
        self._most = most
        # Three times, as the processors may be busy with other work.
        self._queue = Queue(QUEUE, connection=connection, default_timeout=round(3 * seconds + 60))

    def begin(self, client: bytes, head: dict[str, str], body: bytes | bytearray) -> str:
        """Store a request, and return the name of its job, which is too long to guess."""
        with _problems():
            # In the order in which a job moves, so that one on its way is never missed, though it may be met twice.
            jobs = {
                *self._queue.job_ids,
                *self._queue.intermediate_queue.get_job_ids(),
                *StartedJobRegistry(queue=self._queue).get_job_ids(),
            }
            answers = {
                name
                for kind in (FinishedJobRegistry, FailedJobRegistry)
                for name in kind(queue=self._queue).get_job_ids()
            }
            key = client.hex()
            check_counts(key, jobs, answers - jobs, self._most)
            name = key + secrets.token_hex(CLIENT_LETTERS // 2)
            self._queue.enqueue(
                answer_job,
                args=(head, bytes(body)),
                job_id=name,
                retry=Retry(max=MOST_RETRIES),
                **dict.fromkeys(("ttl", "result_ttl", "failure_ttl"), MOST_SECONDS),
            )
        return name

    def answer(self, name: str) -> Response | None:
        """Return the answer of a job; None while it waits or runs.

        Raises
        ------
        Problem
            404 for a job that is unknown or has expired, 500 for one that was tried too often.
        """
        with _problems():
            job = self._job(name)
            status = job.get_status()
            if status == "finished":
                response: Response = job.return_value()
                return response
            if status in ("failed", "stopped", "canceled"):
                detail = f"the processes that worked on the job ended {MOST_RETRIES + 1} times; the log says how"
                raise Problem(500, detail)
            StartedJobRegistry(queue=self._queue).cleanup()  # a job whose worker is dead begins again
        return None

    def delete(self, name: str) -> None:
        """Stop a job, and forget it and its answer, or raise a problem with status 404."""
        with _problems():
            job = self._job(name)
            with suppress(InvalidJobOperation):  # it waits, or is done
                send_stop_job_command(self._queue.connection, name)
                end = time.monotonic() + WAIT_SECONDS
                while job.get_status() == "started" and time.monotonic() < end:
                    time.sleep(0.1)
            job.delete()

    def _job(self, name: str) -> Any:
        if not NAME.fullmatch(name):
            raise unknown()
        return Job.fetch(name, connection=self._queue.connection)


def answer_job(head: dict[str, str], body: bytes) -> Response:
    """Answer a job in a worker of rq; raise an error for one to try again."""
    (pool,) = _pools
    try:
        (status, headers, _), content = pool.ask("job", head, body)
        if len(content) <= MOST_BYTES:
            return status, headers, content
        refusal = Problem(422, f"the answer to a job has at most {MOST_BYTES} bytes", kind="too-much-work")
    except Problem as problem:
        if problem.status >= 500:
            raise
        refusal = too_much_work(pool.work_seconds, "job_seconds") if problem.kind == "too-much-work" else problem
    return refusal.status, [("Content-Type", MEDIA_TYPE)], refusal.body(head["HTTP_X_REQUEST_ID"])


def work(url: str, pool: Pool, answer: Answer) -> None:
    """Answer jobs in this process until it is told to stop; a running job is finished first."""
    pool.start(answer, places=1)
    _pools.append(pool)
    connection = Redis.from_url(url)
    Worker(
        [Queue(QUEUE, connection=connection)],
        connection=connection,
        job_monitoring_interval=HEARTBEAT_SECONDS,
        maintenance_interval=HEARTBEAT_SECONDS,
    ).work(logging_level="WARNING")


@contextmanager
def _problems() -> Iterator[None]:
    """Turn what Redis and rq say into problems."""
    try:
        yield
    except NoSuchJobError as error:
        raise unknown() from error
    except ResponseError as error:  # it takes no more: its memory or its disk is full
        raise disk_full() from error
    except RedisError as error:
        raise over_capacity("the server that keeps the jobs does not answer", "jobs_url") from error
