"""Scenarios of heavy requests, each in a process without threads: ``python -m ... NAME``."""

import contextlib
import errno
import itertools
import mmap
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from service import Limits, Settings
from service.http import child as module
from service.http.hooks import answer_alone
from service.http.jobs import Jobs
from service.http.pool import MOST_OF_CLIENT, Heavy, Pool
from service.http.problems import CLIENT_LEFT, Problem
from tests.service.live import children, poll_until, run_in_threads, state

MEMORY = bytearray()
START_FLAGS = mmap.mmap(-1, 256)  # shared with all children: a byte for each waiting task
NUMBERS = itertools.count()
SECONDS = {"work a second": 1.1, "work a while": 2.2}  # of processor time; as short work, only the second is stopped


def answer(head, body):
    """The work of a child process."""
    if head == "wait":
        START_FLAGS[body[0]] = 1
        signal.pause()
    elif head == "work" or isinstance(head, dict):
        while True:
            pass
    elif head in SECONDS:
        end = time.process_time() + SECONDS[head]
        while time.process_time() < end:
            pass
    elif head == "take":
        try:
            bytearray(1 << 30)
        except MemoryError:
            return "too large", b""
    elif head == "grow":
        MEMORY.extend(os.urandom(3 << 20))
    elif head == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif head == "fail":
        raise ZeroDivisionError
    return (head, os.getpid(), os.getppid(), os.nice(0)), body[::-1]


def open_pool(*, waiting=40, wait_seconds=60.0, work_seconds=60.0, places=1, work_bytes=1 << 28, jobs=None, niceness=0):
    module.NICENESS = niceness  # with lower priority, work would wait for other tests
    limits = Limits(max_seconds=work_seconds, max_work_bytes=work_bytes)
    settings = Settings(limits=limits, max_waiting=waiting, max_wait_seconds=wait_seconds, job_seconds=work_seconds)
    pool = Pool(settings, jobs)
    assert not pool.is_open
    pool.start(answer, places=places)
    assert pool.is_open
    return pool


def echo(pool, client="a", operation=""):
    """Process id of the child that answers."""
    head, body = pool.ask(client, "echo", b"abc", operation=operation)
    assert (head[0], body) == ("echo", b"cba")
    return head[1]


def ask_refused(pool, head, client="a", connection=None):
    try:
        pool.ask(client, head, b"", connection)
    except Problem as problem:
        return problem
    raise AssertionError("it was answered")


def supervisor():
    """The process that forks the children."""
    return poll_until(lambda: [pid for guard in children(os.getpid()) for pid in children(guard)])[0]


class WaitingRequest:
    """A request that runs until its client leaves."""

    def __init__(self, pool, client="a", operation="wait"):
        self.connection, self.end = socket.socketpair()
        self.number = next(NUMBERS)
        self.problem = None
        self.thread = threading.Thread(target=self._ask, args=(pool, client, operation), daemon=True)
        self.thread.start()

    def _ask(self, pool, client, operation):
        try:
            pool.ask(client, "wait", bytes([self.number]), self.connection, operation=operation)
        except Problem as problem:
            self.problem = problem

    def has_started(self):
        return START_FLAGS[self.number]

    def leave(self):
        self.end.close()
        self.thread.join(60)
        return self.problem.status


@contextlib.contextmanager
def occupy(pool, *clients):
    """Let a request of each client run until it leaves."""
    requests = [WaitingRequest(pool, client) for client in clients]
    poll_until(lambda: all(request.has_started() for request in requests), goal="the start of all")
    yield
    assert [request.leave() for request in requests] == [CLIENT_LEFT] * len(clients)


def answers():
    pool = open_pool(niceness=module.NICENESS)
    data = bytes(range(256)) * 20_000
    (head, child, parent, niceness), body = pool.ask("a", "echo", data)
    assert (head, body, niceness) == ("echo", data[::-1], 10)
    assert (children(parent), parent) == ([child], supervisor())
    assert [echo(pool, client) for client in "aba"] == [child] * 3  # it is kept for the next request


def one_at_a_time():
    """A client's second request waits for its first despite free places; one beyond MOST_OF_CLIENT is refused."""
    pool = open_pool(places=3)
    with occupy(pool, "a"):
        for client in "bcde":
            echo(pool, client)
        more = [WaitingRequest(pool, "a") for _ in range(MOST_OF_CLIENT - 1)]
        poll_until(lambda: n_waiting() == len(more))  # otherwise the next request may take the place of one of them
        problem = poll_until(lambda: find_refusal(pool))
        assert (problem.status, problem.kind, problem.headers) == (429, "one-at-a-time", {"Retry-After": "1"})
        assert f"{MOST_OF_CLIENT} heavy requests of this client are running or waiting" in problem.detail
        assert not any(request.has_started() for request in more)
        assert [request.leave() for request in more] == [CLIENT_LEFT] * len(more)
    echo(pool)


def n_waiting():
    """Number of requests of this process that the supervisor knows but has not started."""
    return REGISTRY.get_sample_value("rankcorr_requests_waiting")


def find_refusal(pool):
    """The refusal of another request of client a; None if it would wait, in which case it leaves."""
    ours, theirs = socket.socketpair()
    threading.Timer(0.5, theirs.close).start()
    problem = ask_refused(pool, "echo", "a", ours)
    return None if problem.status == CLIENT_LEFT else problem


def short_work_beside_long_work():
    """Clients with endless work leave a place for short work."""
    pool = open_pool(places=2)
    connections = [socket.socketpair() for _ in range(3)]
    threads = [
        threading.Thread(target=ask_refused, args=(pool, "work", f"client {place}", ours), daemon=True)
        for place, (ours, _) in enumerate(connections)
    ]
    for thread in threads:
        thread.start()
    for _ in range(8):
        for client in "efg":
            echo(pool, client)
    for _, theirs in connections:
        theirs.close()
    for thread in threads:
        thread.join(60)


def long_work_leaves_half_of_the_room():
    """One of two clients with long work is refused, from then on at once; short work of others is done."""
    pool = open_pool(places=1, waiting=2)
    connections = {client: socket.socketpair() for client in "ab"}
    problems = {}

    def work(client):
        problems[client] = ask_refused(pool, "work", client, connections[client][0])

    threads = [threading.Thread(target=work, args=client, daemon=True) for client in connections]
    for thread in threads:
        thread.start()
    ((client, problem),) = poll_until(lambda: list(problems.items()), goal="a refusal")
    assert (problem.status, problem.kind) == (503, "over-capacity")
    assert ask_refused(pool, "echo", client).status == 503
    for other in "efg":
        echo(pool, other)
    for _, theirs in connections.values():
        theirs.close()
    for thread in threads:
        thread.join(60)
    echo(pool, client)  # short work again
    assert {problem.status for problem in problems.values()} == {503, CLIENT_LEFT}


def work_that_proves_long_begins_again():
    pool = open_pool()
    for _ in range(2):  # the second request starts as long work
        head, _ = pool.ask("a", "work a while", b"")
        assert head[0] == "work a while"
    assert echo(pool, "b") != head  # answered by any child


def the_latest_requests_tell_the_next():
    """Work of a second is long from the second time on, and stays so for some short requests."""
    pool = open_pool(waiting=2)
    for client in "ab":
        pool.ask(client, "work a second", b"")
    with occupy(pool, "a"):
        for _ in range(2):
            assert ask_refused(pool, "echo", "b").status == 503
        echo(pool, "c")
    echo(pool, "b")
    with occupy(pool, "a"):
        echo(pool, "b")  # 1.1 s counted half


def the_shortest_work_comes_first():
    """A client with short work takes the place of the newest unknown client, and is served first."""
    pool = open_pool(waiting=4)
    echo(pool, "short", "echo")
    _come_first(pool, "short", "wait")


def a_short_operation_comes_first():
    """The same for an unknown client, if requests of others for the same operation were short."""
    pool = open_pool(waiting=4)
    echo(pool, "short", "echo")
    _come_first(pool, "new", "echo")


def _come_first(pool, client, operation):
    with occupy(pool, "a"), occupy(pool, "b"):
        others = []
        for name in "cd":
            others.append(WaitingRequest(pool, name))
            poll_until(lambda: n_waiting() == len(others))
        short = WaitingRequest(pool, client, operation)
        poll_until(lambda: others[1].problem, goal="a refusal")
        assert others[1].problem.detail == "the service has 4 heavy requests already (RANKCORR_MAX_WAITING); try again"
        assert ask_refused(pool, "echo", "e").status == 503  # it is no shorter than c's
        assert not short.has_started()
    poll_until(lambda: short.has_started() and others[0].has_started())
    assert [short.leave(), others[0].leave()] == [CLIENT_LEFT] * 2


def many_clients_with_work_of_a_second():
    """They delay short work, but do not block it."""
    pool = open_pool(waiting=4)
    echo(pool, "short")
    stop = threading.Event()

    def work(client):
        while not stop.is_set():
            with contextlib.suppress(Problem):
                pool.ask(client, "work a second", b"")
            stop.wait(0.2)

    threads = [threading.Thread(target=work, args=(f"client {place}",), daemon=True) for place in range(12)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        echo(pool, "short")
        time.sleep(0.2)
    stop.set()
    for thread in threads:
        thread.join(60)


def no_turn_in_time():
    pool = open_pool(wait_seconds=0.2)
    with occupy(pool, "a", "b"):
        problem = ask_refused(pool, "echo", "c")
        assert (problem.status, problem.kind, problem.headers) == (503, "over-capacity", {"Retry-After": "1"})
        assert problem.detail == "no turn came in 0.2 s (RANKCORR_MAX_WAIT_SECONDS); try again"
    echo(pool, "c")


def few_wait():
    pool = open_pool(waiting=2)
    with occupy(pool, "a", "b"):
        problem = ask_refused(pool, "echo", "c")
        assert problem.status == 503
        assert problem.detail == "the service has 2 heavy requests already (RANKCORR_MAX_WAITING); try again"
    echo(pool, "c")


def many_at_once():
    """Requests end, and clients leave, at the same time."""
    pool = open_pool(places=4, waiting=64)
    before = supervisor()

    def ask(client):
        for number in range(30):
            ours, theirs = socket.socketpair()
            if number % 3:
                echo(pool, client)
            else:
                threading.Timer(0.001 * number, theirs.close).start()
                pool_refuses = ask_refused(pool, "work", client, ours)
                assert pool_refuses.status == CLIENT_LEFT

    run_in_threads(*(partial(ask, f"client {k}") for k in range(16)))
    assert supervisor() == before
    descriptors = len(os.listdir(f"/proc/{before}/fd"))
    assert descriptors < 30, "descriptors of ended requests stay open"


def too_much_work_is_ended():
    pool = open_pool(work_seconds=1.0)
    problem = ask_refused(pool, "work")
    assert (problem.status, problem.kind) == (422, "too-much-work")
    assert "this request used up its 1 s of processor time (RANKCORR_MAX_SECONDS)" in problem.detail
    echo(pool)


def too_much_memory_is_refused():
    pool = open_pool(work_bytes=1 << 28)
    assert pool.ask("a", "take", b"") == ("too large", b"")


def a_child_that_has_grown_is_replaced():
    module.MOST_GROWTH = 1 << 21
    pool = open_pool()
    first = pool.ask("a", "grow", b"")[0][1]
    second = pool.ask("a", "grow", b"")[0][1]
    assert echo(pool) not in (first, second)


def a_child_answers_so_many_requests():
    module.MOST_REQUESTS = 3
    pool = open_pool()
    pids = [echo(pool) for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


def a_child_without_a_processor_is_stopped():
    """A child that waits without using a processor is stopped in time."""
    pool = open_pool(wait_seconds=1.0, work_seconds=0.1)
    request = WaitingRequest(pool)
    request.thread.join(60)
    problem = request.problem
    assert (problem.status, problem.kind) == (503, "over-capacity")
    assert "the processors are busy with other work" in problem.detail
    echo(pool)


def a_death():
    pool = open_pool()
    for head in ("die", "fail"):
        problem = ask_refused(pool, head)
        assert problem.status == 500
        assert "the process that worked on the request has ended" in problem.detail
    idle = echo(pool)
    os.kill(idle, signal.SIGKILL)
    poll_until(lambda: state(idle) == "", goal="the end of a child")
    assert echo(pool) != idle


def death_of_the_supervisor():
    pool = open_pool()
    request = WaitingRequest(pool)
    poll_until(request.has_started)
    first = supervisor()
    before = children(first)
    os.kill(first, signal.SIGKILL)
    request.thread.join(60)
    assert request.problem.status == 503
    assert request.problem.detail == "the work on this request was interrupted; try again"
    poll_until(lambda: all(state(child) == "" for child in before), goal="the end of its children")
    echo(pool)
    assert supervisor() != first


def death_of_the_supervisor_and_its_guard():
    pool = open_pool()
    echo(pool)
    pool.check()
    (guard,), boss = children(os.getpid()), supervisor()
    for pid in (guard, boss):
        os.kill(pid, signal.SIGKILL)
    poll_until(lambda: state(boss) == "", goal="the end of the supervisor")
    problem = poll_until(lambda: find_refusal(pool))
    assert (problem.status, problem.kind) == (503, "over-capacity")
    assert problem.detail == "the processes for heavy requests have ended; try again"
    pool.look_at_jobs()
    with pytest.raises(Problem, match="have ended, and the service must be restarted") as not_ready:
        pool.check()
    assert not_ready.value.status == 503


def signals_for_the_whole_group():
    """Ctrl-c, and a stop of the whole control group, leave the work that is under way to its worker."""
    pool = open_pool()
    first = echo(pool)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        for pid in (*children(os.getpid()), supervisor(), first):
            os.kill(pid, number)
        assert echo(pool) == first


def death_of_the_worker():
    pool = open_pool(places=2)  # without a reference, its socket would close and the supervisor would stop
    echo(pool)
    boss = supervisor()
    poll_until(lambda: len(children(boss)) == 2)
    print(*children(os.getpid()), boss, *children(boss), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def jobs_have_turns():
    """A client with many jobs waits for one with a single job; a job survives its supervisor."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(8)
        jobs.open(Path(folder))
        pool = open_pool(jobs=jobs)
        keys = {client: pool.client_key(client) for client in "abc"}
        names = [jobs.begin(keys["a"], "wait", bytes([next(NUMBERS)])) for _ in range(3)]
        pool.look_at_jobs()
        poll_until(lambda: START_FLAGS[0])
        boss = supervisor()
        names.append(jobs.begin(keys["b"], "echo", b"b"))
        pool.look_at_jobs()
        assert echo(pool) in children(boss)  # heavy requests of a client with a job are answered
        jobs.delete(names[0])
        pool.look_at_jobs()
        assert poll_until(lambda: jobs.answer(names[3]))[2] == b"b"  # before the second job of a
        os.kill(boss, signal.SIGKILL)
        names.append(jobs.begin(keys["c"], "echo", b"c"))
        for name in names[1:3]:
            jobs.delete(name)
        pool.look_at_jobs()
        assert poll_until(lambda: jobs.answer(names[4]))[2] == b"c"


def a_job_has_a_limit():
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(8)
        jobs.open(Path(folder))
        pool = open_pool(jobs=jobs, work_seconds=1.0)
        name = jobs.begin(pool.client_key("a"), {"HTTP_X_REQUEST_ID": "id-7"}, b"")
        pool.look_at_jobs()
        status, _, body = poll_until(lambda: jobs.answer(name))
        assert status == 422
        assert b"RANKCORR_JOB_SECONDS" in body
        assert b'"request_id":"id-7"' in body


def a_job_without_space_for_its_answer():
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(8)
        jobs.open(Path(folder))

        def fill(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        module.write_work = fill  # in the children
        pool = open_pool(jobs=jobs)
        name = jobs.begin(pool.client_key("a"), "echo", b"")
        pool.look_at_jobs()
        poll_until(lambda: status_of(jobs, name) == 507)


def status_of(jobs, name):
    try:
        return jobs.answer(name)
    except Problem as problem:
        return problem.status


class PoolOfCalls:
    """A pool whose children are calls."""

    def __init__(self, app):
        self.is_open = True
        self.answer = answer_alone(app)
        self.clients = []

    def pass_on(self):
        if self.is_open:
            raise Heavy

    def ask(self, client, head, body, _connection, *, operation):
        assert operation
        self.clients.append(client)
        self.is_open = False  # a child does not pass requests on
        with ThreadPoolExecutor(1) as other:  # which has no request context
            answer = other.submit(self.answer, head, bytes(body)).result()
        self.is_open = True
        return answer


SCENARIOS = (
    answers,
    one_at_a_time,
    short_work_beside_long_work,
    long_work_leaves_half_of_the_room,
    work_that_proves_long_begins_again,
    the_latest_requests_tell_the_next,
    the_shortest_work_comes_first,
    a_short_operation_comes_first,
    many_clients_with_work_of_a_second,
    no_turn_in_time,
    few_wait,
    many_at_once,
    too_much_work_is_ended,
    too_much_memory_is_refused,
    a_child_that_has_grown_is_replaced,
    a_child_answers_so_many_requests,
    a_child_without_a_processor_is_stopped,
    a_death,
    death_of_the_supervisor,
    death_of_the_supervisor_and_its_guard,
    signals_for_the_whole_group,
    death_of_the_worker,
    jobs_have_turns,
    a_job_has_a_limit,
    a_job_without_space_for_its_answer,
)

if __name__ == "__main__":  # each scenario in a fork, because imports take longer than most of them
    for scenario in [scenario for scenario in SCENARIOS if sys.argv[1:] in ([], [scenario.__name__])]:
        if (pid := os.fork()) == 0:
            code = 1
            try:
                START_FLAGS[:] = bytes(len(START_FLAGS))
                scenario()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        print(scenario.__name__, os.waitpid(pid, 0)[1], flush=True)
