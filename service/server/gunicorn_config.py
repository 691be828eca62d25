"""Define settings and hooks of gunicorn; the commands prepare the environment for them."""

import atexit
import gc
import os
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from rankcorr import _kernels
from service.http import metrics
from service.http.hooks import answer_alone
from service.http.lane import COMPILING, STOPPING
from service.http.state import state
from service.server.launch import NOTICE, RUN_FOLDER, chosen_program
from service.server.settings import usable_cores

LARGE_BODY = 1_000_000

_program = chosen_program()
_server, _app = _program.read()

wsgi_app = _program.application
bind = _server.bind
workers = _server.workers or usable_cores()
worker_class = "gthread"
# One thread waits for each heavy request. Eight more answer all other requests, which are short, so that a thread is
# soon free for a probe.
threads = _app.max_waiting + 8
# Above this, a worker leaves new connections to other workers. A worker with no file descriptor left for a connection
# would end; 1,024 open files is the usual limit.
worker_connections = threads + 750
preload_app = True
graceful_timeout = _server.seconds_to_stop(_app)
max_requests = _server.max_requests_per_worker
max_requests_jitter = max_requests // 10  # so that workers are not all replaced at once
keepalive = 75  # longer than proxies keep idle connections, so that the proxy closes them
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # heartbeats need no disk
accesslog = None  # the app writes a line for each request
errorlog = "-"
limit_request_line = 8_190  # nginx refuses longer lines, in the format of all other errors
limit_request_field_size = 8_190
forwarded_allow_ips = ""  # RANKCORR_TRUSTED_PROXIES sets the trusted proxies
control_socket_disable = True  # it would start a thread in the process that forks


def on_starting(arbiter: Any) -> None:
    """Compile before the socket listens and workers are forked: all kernels, or those of early requests.

    The others follow in `when_ready` if the early ones were not on the disk.
    """
    if not os.environ.get(metrics.METRICS_FOLDER):
        raise RuntimeError(f"{metrics.METRICS_FOLDER} is not set: start the service with {_program.name}")
    atexit.register(remove_run_folder, os.environ.get(RUN_FOLDER), os.getpid())
    _compile(arbiter, _program.warm_up_early or _program.warm_up, "Compiling the kernels")
    if _program.warm_up_early and not _kernels.COMPILING.seconds:
        resolve_name(_program.warm_up)()


def _compile(arbiter: Any, warm_up: str, message: str) -> None:
    """Compile, then leave a compact heap to fork from; a signal ends the server until gunicorn sets its handlers."""
    run = os.environ.get(RUN_FOLDER), os.getpid()
    stops = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

    def stop(*_: Any) -> None:
        # An exception would be raised within numba or a callback of llvmlite, which print pages about it.
        try:
            for number in stops:
                signal.signal(number, arbiter.signal)  # a second ctrl-c hurries the workers, as it does later
            if arbiter.WORKERS:
                state(arbiter.app.wsgi()).lane.compiling[0] = STOPPING
            arbiter.stop()
        finally:
            remove_run_folder(*run)
            os._exit(0)

    for number in stops:
        signal.signal(number, stop)
    for _ in range(arbiter.SIG_QUEUE.qsize()):  # signals that came while the early workers were forked
        if (earlier := arbiter.SIG_QUEUE.get()) in stops:
            stop()
        arbiter.SIG_QUEUE.put(earlier)
    arbiter.log.info(message)
    resolve_name(warm_up)()
    # Freeze existing objects: garbage collections need not scan them, which took 70 ms each, nor copy their pages.
    gc.collect()
    gc.freeze()


def when_ready(arbiter: Any) -> None:
    """Compile the remaining kernels while workers answer early requests; let the first SIGTERM start the drain.

    gunicorn would close the listening socket at the first SIGTERM, while a load balancer still sends requests. Instead
    /health/ready answers 503, and gunicorn gets the signal some time later, or with the next SIGTERM.
    """
    arbiter.log.info("The page /docs shows every request and answer")
    if _program.warm_up_early and _kernels.COMPILING.seconds:
        compiling = state(arbiter.app.wsgi()).lane.compiling
        compiling[0] = COMPILING
        arbiter.spawn_workers()
        _compile(arbiter, _program.warm_up, "Compiling the remaining kernels; most requests wait until that is done")
        compiling[0] = 0
        arbiter.init_signals()
        for _ in range(workers):  # gunicorn then ends the workers that are too many, the oldest first
            arbiter.spawn_worker()
    arbiter.log.info("All kernels are compiled")
    stop = signal.getsignal(signal.SIGTERM)

    def drain(*_: Any) -> None:
        signal.signal(signal.SIGTERM, stop)
        state(arbiter.app.wsgi()).stopping.begin()
        arbiter.log.info("Draining: the service stops in %s s", _server.drain_seconds)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, _server.drain_seconds)

    if _server.drain_seconds:
        signal.signal(signal.SIGTERM, drain)


def post_fork(_arbiter: Any, worker: Any) -> None:
    """Let the worker fork processes for heavy requests, before it starts threads.

    While the master compiles it replaces no worker, so that one forked then does not end after a number of requests.
    """
    app = worker.app.wsgi()
    state(app).lane.open(answer_alone(app), places=_app.max_heavy or workers)
    if state(app).lane.is_early:
        worker.max_requests = sys.maxsize
    if (jobs := state(app).jobs) is not None:
        jobs.open(Path(os.environ[RUN_FOLDER]) / "jobs")


def post_worker_init(worker: Any) -> None:
    """Limit how long a thread waits for a client, and count requests; without disk space, answer without metrics.

    The notice of `make collect` is printed below gunicorn's lines about the workers, which are numbered by `age`.
    """
    # Ctrl-c reaches every process. The master tells the workers too, and two signals at once can block a thread pool.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if worker.age == workers and (notice := os.environ.get(NOTICE)):
        sys.stdout.write(f"\n{notice}\n\n")
        sys.stdout.flush()
    # Connections inherit these options. Without them, a client that loses its network would keep a thread forever.
    patience = struct.pack("@ll", *divmod(max(1, round(_server.client_seconds * 1e6)), 1_000_000))
    for listener in worker.sockets:
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.setsockopt(socket.SOL_SOCKET, direction, patience)
    try:
        metrics.start_counting(worker.pid)
    except OSError as error:
        worker.log.warning("worker %s counts no requests: no space for metrics: %s", worker.pid, error)


def post_request(_worker: Any, _request: Any, environ: dict[str, Any], response: Any) -> None:
    """Free the memory of a large body that was refused: the error refers to it, and to itself."""
    is_large = int(environ.get("CONTENT_LENGTH") or 0) >= LARGE_BODY or "HTTP_TRANSFER_ENCODING" in environ
    if is_large and response is not None and response.status_code >= 400:
        gc.collect()


def worker_exit(_arbiter: Any, worker: Any) -> None:
    """Close resources that the application opened in a worker that ends, such as database connections."""
    shared = state(worker.app.wsgi())
    shared.lane.close()
    shared.resources.close()


def child_exit(arbiter: Any, worker: Any) -> None:
    """Keep the counts of a worker, whatever ended it."""
    try:
        metrics.retire(worker.pid)
    except Exception:  # an error here would stop the service
        arbiter.log.exception("the metrics of worker %s are lost", worker.pid)


def remove_run_folder(folder: str | None, owner: int) -> None:
    """Remove the folder of this run if the command created it; workers run the same exit handler and leave it."""
    if folder and os.getpid() == owner and os.path.basename(folder).startswith(f"{_program.name}-"):
        shutil.rmtree(folder, ignore_errors=True)
