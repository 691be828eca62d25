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

from service.environment import SettingError
from service.http import metrics
from service.http.hooks import answer_alone
from service.http.jobs import Jobs
from service.http.state import state
from service.server.launch import NOTICE, RUN_FOLDER, chosen_program, usable_cores

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
    """Open the ledger, compile the kernels, and fork the supervisor of heavy requests.

    This happens before the socket listens and workers are forked. This process opens the ledger, not the command,
    because it has imported the application already.
    """
    if not os.environ.get(metrics.METRICS_FOLDER):
        raise RuntimeError(f"{metrics.METRICS_FOLDER} is not set: start the service with {_program.name}")
    run = os.environ.get(RUN_FOLDER), os.getpid()
    atexit.register(remove_run_folder, *run)

    def stop(*_: Any) -> None:
        # An exception would be raised within numba or a callback of llvmlite, which print pages about it.
        remove_run_folder(*run)
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):  # until gunicorn sets its handlers
        signal.signal(number, stop)
    if _program.prepare is not None:
        try:
            resolve_name(_program.prepare)(_app)
        except SettingError as error:
            sys.stderr.write(f"{_program.name}: error: {error}\n")
            sys.exit(2)
    arbiter.log.info("Compiling the kernels")
    resolve_name(_program.warm_up)()
    # Freeze existing objects: garbage collections need not scan them, which took 70 ms each, nor copy their pages.
    gc.collect()
    gc.freeze()
    app = arbiter.app.wsgi()
    shared = state(app)
    if isinstance(shared.jobs, Jobs):
        shared.jobs.open(Path(os.environ[RUN_FOLDER]) / "jobs")
    shared.pool.start(answer_alone(app), places=_app.max_heavy or workers)


def when_ready(arbiter: Any) -> None:
    """Let the first SIGTERM start the drain.

    gunicorn would close the listening socket at the first SIGTERM, while a load balancer still sends requests. Instead
    /health/ready answers 503, and gunicorn gets the signal some time later, or with the next SIGTERM.
    """
    arbiter.log.info("The page /docs shows every request and answer")
    stop = signal.getsignal(signal.SIGTERM)

    def drain(*_: Any) -> None:
        signal.signal(signal.SIGTERM, stop)
        state(arbiter.app.wsgi()).stopping.begin()
        arbiter.log.info("Draining: the service stops in %s s", _server.drain_seconds)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, _server.drain_seconds)

    if _server.drain_seconds:
        signal.signal(signal.SIGTERM, drain)


def post_worker_init(worker: Any) -> None:
    """Limit how long a thread waits for a client, and count requests; without disk space, answer without metrics.

    The notice of `make collect` is printed below gunicorn's lines about the workers, which are numbered by `age`, and
    on stderr as they are: stdout is the log of requests.
    """
    # Ctrl-c reaches every process. The master tells the workers too, and two signals at once can block a thread pool.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if worker.age == workers and (notice := os.environ.get(NOTICE)):
        sys.stderr.write(f"\n{notice}\n\n")
    # Connections inherit these options. Without them, a client that loses its network would keep a thread forever.
    patience = struct.pack("@ll", *divmod(max(1, round(_server.client_seconds * 1e6)), 1_000_000))
    for listener in worker.sockets:
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.setsockopt(socket.SOL_SOCKET, direction, patience)
    try:
        metrics.start_counting(worker.pid)
    except OSError as error:
        worker.log.warning("worker %s counts no requests: no space for metrics: %s", worker.pid, error)


def pre_request(worker: Any, request: Any) -> None:
    """While the service drains, close each connection after its answer, so that clients open the next one elsewhere."""
    if state(worker.app.wsgi()).stopping:
        request.force_close()


def post_request(_worker: Any, _request: Any, environ: dict[str, Any], response: Any) -> None:
    """Free the memory of a large body that was refused: the error refers to it, and to itself."""
    is_large = int(environ.get("CONTENT_LENGTH") or 0) >= LARGE_BODY or "HTTP_TRANSFER_ENCODING" in environ
    if is_large and response is not None and response.status_code >= 400:
        gc.collect()


def worker_exit(_arbiter: Any, worker: Any) -> None:
    """Close resources that the application opened in a worker that ends, such as database connections."""
    state(worker.app.wsgi()).resources.close()


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
