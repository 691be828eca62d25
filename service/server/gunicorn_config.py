"""Settings and hooks of gunicorn; the commands prepare the environment for them."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
from functools import partial
from typing import Any

from service.http import metrics
from service.http.state import state
from service.server.launcher import METRICS_FOLDER, RUN_FOLDER, run_prefix
from service.server.programs import NOTICE, chosen_program, named
from service.server.settings import connections_within, usable_cores

LARGE_BODY = 1_000_000

_program = chosen_program()
_server, _app = _program.read()

wsgi_app = _program.application
bind = _server.bind
workers = _server.workers or usable_cores()
worker_class = "service.server.worker.Worker"
# Besides the requests that work or wait for their turn, some for probes and refusals; no thread waits for a client.
threads = _app.max_concurrent + _app.max_waiting + 8
preload_app = True
graceful_timeout = _server.seconds_to_stop(_app)
max_requests = _server.max_requests_per_worker
max_requests_jitter = max_requests // 10  # so that workers are not replaced together
keepalive = 75  # longer than proxies keep idle connections, so that the proxy closes them
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # heartbeats need no disk
accesslog = None  # the app writes a line for each request
errorlog = "-"
worker_connections = connections_within(_server.max_connections) + 1  # one more than it keeps: it always accepts
sendfile = False  # files go the way of every answer, which waits for no client
http_parser = "python"  # of two that gunicorn may have, the one whose readers of bodies the worker knows
limit_request_line = 2_048
limit_request_fields = 64
limit_request_field_size = 8_190
forwarded_allow_ips = ""  # RANKCORR_TRUSTED_PROXIES says whom to believe
control_socket_disable = True  # a thread of the process that forks would serve it


def on_starting(arbiter: Any) -> None:
    """Compile before the socket listens and the workers are forked; then fork from a tidy heap."""
    if not os.environ.get(METRICS_FOLDER):
        raise RuntimeError(f"{METRICS_FOLDER} is not set: start the service with {_program.name}")
    atexit.register(remove_run_folder, os.environ.get(RUN_FOLDER), os.getpid())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until gunicorn sets its own
    arbiter.log.info("Compiling the kernels: some seconds at the first start, a second at later ones")
    named(_program.warm_up)()
    # What exists now stays: collections need not scan it again, which took 70 ms each, nor copy its pages.
    gc.collect()
    gc.freeze()


def when_ready(arbiter: Any) -> None:
    """Say where every request is shown, and let the first SIGTERM begin the drain."""
    arbiter.log.info("The page /docs shows every request and answer")
    arbiter.handle_term = partial(drain, arbiter)


def drain(arbiter: Any) -> None:
    """Say at /health/ready that the service stops, and stop some time later, or at the next SIGTERM.

    gunicorn calls this for SIGTERM; it would close the listening socket at once, while a balancer still sends requests.
    """
    stopping = state(arbiter.app.wsgi()).stopping
    if stopping or not _server.drain_seconds:
        raise StopIteration  # gunicorn's word for the end
    stopping.begin()
    arbiter.log.info("Draining: the service stops in %s s", _server.drain_seconds)
    signal.signal(signal.SIGALRM, lambda *_: arbiter.SIG_QUEUE.put_nowait(signal.SIGTERM))
    signal.setitimer(signal.ITIMER_REAL, _server.drain_seconds)


def post_worker_init(worker: Any) -> None:
    """Answer without metrics rather than not at all, where there is no room for them; the last of the first says where.

    What `make collect` prints then stands below what gunicorn says of the workers, which are numbered by `age`.
    """
    if worker.age == workers and (notice := os.environ.get(NOTICE)):
        sys.stdout.write(f"\n{notice}\n\n")
        sys.stdout.flush()
    try:
        metrics.start_counting(worker.pid)
    except OSError as error:
        worker.log.warning("worker %s counts no requests: no room for metrics: %s", worker.pid, error)


def post_request(_worker: Any, _request: Any, environ: dict[str, Any], response: Any) -> None:
    """Give back the memory of a large body that was refused: the error refers to it, and to itself."""
    is_large = int(environ.get("CONTENT_LENGTH") or 0) >= LARGE_BODY or "HTTP_TRANSFER_ENCODING" in environ
    if is_large and response is not None and response.status_code >= 400:
        gc.collect()


def worker_exit(_arbiter: Any, worker: Any) -> None:
    """Close what the application has opened in a worker that ends, such as connections to a database."""
    state(worker.app.wsgi()).resources.close()


def child_exit(arbiter: Any, worker: Any) -> None:
    """Keep the counts of a worker that has ended, however it ended."""
    try:
        metrics.retire(worker.pid)
    except Exception:  # an error here would end the service
        arbiter.log.exception("the metrics of worker %s are lost", worker.pid)


def remove_run_folder(folder: str | None, owner: int) -> None:
    """Remove the folder of this run, if the command made it; workers, which end by the same handlers, leave it."""
    if folder and os.getpid() == owner and os.path.basename(folder).startswith(run_prefix(_program)):
        shutil.rmtree(folder, ignore_errors=True)
