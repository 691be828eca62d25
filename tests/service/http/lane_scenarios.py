"""What may happen to heavy requests, each in a process of its own without threads: ``python -m ... NAME``."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from functools import partial

from service.http.lane import Held, Lane
from service.http.problems import CLIENT_LEFT, Problem
from tests.service.live import children, eventually, state
from tests.service.load import in_threads


def answer(head, body):
    """What a child does."""
    if head == "wait":
        signal.pause()
    elif head == "work":
        while True:
            pass
    elif head == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif head == "fail":
        raise ZeroDivisionError
    return (head, os.getpid(), os.getppid(), os.nice(0)), body[::-1]


def opened(*, waiting=4, wait_seconds=60.0, work_seconds=60.0, places=1):
    lane = Lane(waiting=waiting, wait_seconds=wait_seconds, work_seconds=work_seconds)
    assert not lane.is_open
    lane.open(answer, places=places)
    assert lane.is_open
    return lane


def refused(lane, head, client="a", connection=None):
    try:
        lane.work(client, head, b"", connection)
    except Problem as problem:
        return problem
    raise AssertionError("it was answered")


def in_thread(lane, head, client, connection=None):
    """Begin a request, and return once a child works on it: its thread, and what will be its problem."""
    problems = []
    thread = threading.Thread(target=lambda: problems.append(refused(lane, head, client, connection)), daemon=True)
    before = len(descendants())
    thread.start()
    eventually(lambda: len(descendants()) > before, what="a child")
    return thread, problems


@contextlib.contextmanager
def occupied(lane):
    """Let a request of client a have a place until the client leaves; yields what will be its problem."""
    ours, theirs = socket.socketpair()
    thread, problems = in_thread(lane, "wait", "a", ours)
    yield problems
    theirs.close()
    thread.join(60)


def descendants(pid=None):
    """Processes below the nursery."""
    return [child for nursery in children(pid or os.getpid()) for child in children(nursery)]


def answers():
    lane = opened()
    (head, child, parent, niceness), pieces = lane.work("a", "echo", bytes(range(256)) * 20_000)
    assert head == "echo"
    assert len({os.getpid(), child, parent}) == 3
    assert niceness == 10
    assert b"".join(pieces) == (bytes(range(256)) * 20_000)[::-1]
    assert len(pieces) > 1
    first, second = (lane.work("a", "echo", b"")[0] for _ in range(2))
    assert first[1] != second[1]  # a process for each request
    assert first[2] == second[2]
    lane.close()
    assert not lane.is_open
    eventually(lambda: not descendants() and state(parent) in ("Z", ""), what="the end of the nursery")


def one_of_a_client():
    lane = opened(places=2)
    with occupied(lane) as problems:
        problem = refused(lane, "echo", "a")
        assert (problem.status, problem.kind, problem.headers) == (429, "one-at-a-time", {"Retry-After": "1"})
        assert "another heavy request of this client is running" in problem.detail
        assert lane.work("b", "echo", b"")[0][0] == "echo"
    assert [problem.status for problem in problems] == [CLIENT_LEFT]
    assert lane.work("a", "echo", b"")[0][0] == "echo"


def a_place_for_few():
    lane = opened(places=1, waiting=2, wait_seconds=0.2)
    with occupied(lane):
        problem = refused(lane, "echo", "b")
        assert (problem.status, problem.kind, problem.headers) == (503, "over-capacity", {"Retry-After": "1"})
        assert problem.detail == "no turn came in 0.2 s (RANKCORR_MAX_WAIT_SECONDS); try again"
    assert lane.work("b", "echo", b"")[0][0] == "echo"


def few_wait():
    lane = opened(places=1, waiting=1)
    with occupied(lane):
        problem = refused(lane, "echo", "b")
        assert problem.status == 503
        assert problem.detail == "this worker has 1 heavy requests already (RANKCORR_MAX_WAITING); try again"
    assert lane.work("b", "echo", b"")[0][0] == "echo"


def who_leaves_the_queue_makes_room():
    lane = opened(places=1, waiting=3)
    with occupied(lane):
        found = []
        waiting = []
        for client in ("first", "second"):  # only the first of them looks for a free place
            connection, end = socket.socketpair()
            waits = threading.Thread(
                target=lambda c=client, s=connection: found.append(refused(lane, "echo", c, s)), daemon=True
            )
            waits.start()
            waiting.append((waits, end))
        for waits, end in reversed(waiting):
            end.close()
            waits.join(10)
        assert [problem.status for problem in found] == [CLIENT_LEFT, CLIENT_LEFT]


def many_end_at_once():
    """Children end while their worker lets go of them: the nursery hears of both together."""
    lane = opened(places=8, waiting=32)
    nursery = lane.work("a", "echo", b"")[0][2]

    def ask(client):
        for _ in range(30):
            assert lane.work(client, "echo", b"")[0][2] == nursery

    in_threads(*(partial(ask, f"client {k}") for k in range(16)))


def who_waits_has_a_turn():
    lane = opened(places=1)
    ours, theirs = socket.socketpair()
    first, _ = in_thread(lane, "wait", "a", ours)
    found = []
    second = threading.Thread(target=lambda: found.append(lane.work("b", "echo", b"")))
    second.start()
    theirs.close()
    second.join(60)
    first.join(60)
    assert found[0][0][0] == "echo"


def a_wait_for_kernels_is_no_wait_for_a_turn():
    lane = opened(wait_seconds=0.01)
    lane.compiling[0] = 1
    ours, theirs = socket.socketpair()
    found = []
    leaves = threading.Thread(target=lambda: found.append(refused(lane, "echo", "a", ours)))
    waits = threading.Thread(target=lambda: found.append(lane.work("b", "echo", b"")))
    leaves.start()
    waits.start()
    theirs.close()
    leaves.join(60)
    assert [problem.status for problem in found] == [CLIENT_LEFT]
    waits.join(1)
    assert waits.is_alive()
    lane.compiling[0] = 0
    waits.join(60)
    assert found[1][0][0] == "echo"


def a_wait_for_kernels_ends_with_the_service():
    lane = Lane(waiting=4, wait_seconds=60.0, work_seconds=60.0)
    lane.compiling[0] = 1
    told, tell = os.pipe()
    if (service := os.fork()) == 0:
        if os.fork() == 0:
            lane.open(answer, places=1)
            os.write(tell, b"!")
            os.write(tell, b"%d" % refused(lane, "echo").status)
            os._exit(0)
        signal.pause()
    os.close(tell)
    assert os.read(told, 1) == b"!"
    os.kill(service, signal.SIGKILL)
    os.waitpid(service, 0)
    assert os.read(told, 3) == b"503"


def too_much_work_is_ended():
    lane = opened(work_seconds=0.05)
    problem = refused(lane, "work")
    assert (problem.status, problem.kind) == (422, "too-much-work")
    assert "at most 0.05 s of processor time for a request (RANKCORR_MAX_SECONDS)" in problem.detail
    assert lane.work("a", "echo", b"")[0][0] == "echo"


def too_long_a_wait_is_no_fault_of_the_request():
    lane = opened(wait_seconds=0.1, work_seconds=0.1)
    problem = refused(lane, "wait")
    assert (problem.status, problem.kind) == (503, "over-capacity")
    assert "the request waited for more than 0.1 s, as the processors are busy" in problem.detail
    eventually(lambda: not descendants(), what="the end of the child")


def a_death():
    lane = opened()
    for head in ("die", "fail"):
        problem = refused(lane, head)
        assert problem.status == 500
        assert "the process that worked on the request has ended" in problem.detail
    assert lane.work("a", "echo", b"")[0][0] == "echo"


def death_of_the_nursery():
    lane = opened()
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    nursery = lane.work("a", "echo", b"")[0][2]
    os.kill(nursery, signal.SIGKILL)
    eventually(lambda: state(nursery) in ("Z", ""), what="the end of the nursery")
    problem = refused(lane, "echo")
    assert problem.status == 503
    eventually(lambda: told, what="the signal that ends this worker")


def death_of_the_worker():
    lane = opened()
    in_thread(lane, "wait", "a")
    print(*descendants(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def places_of_a_killed_worker():
    held = Held()
    ready, told = os.pipe()
    other = os.fork()
    if other == 0:
        held.take(7)
        os.write(told, b"!")
        time.sleep(600)
    assert os.read(ready, 1) == b"!"
    assert not held.take(7)
    assert held.take(8)
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    assert held.take(7)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
