"""The loop of a worker, where sockets fail in ways that a live service seldom meets."""

import errno
import logging
import selectors
import socket

import pytest
from gunicorn.config import Config

from service.server.connection import Patience
from service.server.worker import Worker
from tests.service.live import PATIENCE


class Listener:
    """Hands out sockets, or fails."""

    def __init__(self, *accepted):
        self.accepted = list(accepted)

    def accept(self):
        first = self.accepted.pop(0)
        if isinstance(first, OSError):
            raise first
        return first, ("192.0.2.1", 1)

    def getsockname(self):
        return ("192.0.2.2", 80)


@pytest.fixture
def worker():
    """A worker without processes and threads, for four connections."""
    made = object.__new__(Worker)
    made.cfg, made.log, made.alive, made.nr_conns = Config(), logging.getLogger("tests.worker"), True, 0
    made.poller, made.worker_connections = selectors.DefaultSelector(), 5
    made._connections, made._n_held, made._swept = {}, 0, 0.0
    made._most_bytes, made._most_held = 1_000, 10**6
    made._patience = Patience(idle=75.0, pause=10.0, whole=60.0)
    yield made
    for connection in list(made._connections):
        made._close(connection)
    made.poller.close()


@pytest.fixture
def pairs():
    made = [socket.socketpair() for _ in range(6)]
    for _, client in made:
        client.settimeout(PATIENCE)
    yield made
    for pair in made:
        for end in pair:
            end.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_without_files_the_one_silent_for_longest_makes_room(worker, pairs, number):
    listener = Listener(pairs[0][0], pairs[1][0], OSError(number, "none left"))
    for _ in range(3):
        worker.accept(listener)
    assert pairs[0][1].recv(1) == b""
    assert worker.nr_conns == len(worker._connections) == 1


def test_without_files_and_connections_the_loop_goes_on(worker):
    worker.accept(Listener(OSError(errno.EMFILE, "none left")))
    assert worker.nr_conns == 0


def test_a_client_that_has_gone_before_it_was_met_is_passed_over(worker):
    worker.accept(Listener(OSError(errno.ECONNABORTED, "gone")))
    assert worker.nr_conns == 0


def test_another_error_of_the_listener_is_not_hidden(worker):
    with pytest.raises(OSError, match="not a socket"):
        worker.accept(Listener(OSError(errno.ENOTSOCK, "not a socket")))


def test_silent_ones_go_before_slow_ones(worker, pairs):
    pairs[0][1].sendall(b"GET /")
    worker.accept(Listener(pairs[0][0]))
    for raw, _ in pairs[1:]:
        worker.accept(Listener(raw))
    assert [client.recv(1) for _, client in pairs[1:3]] == [b"", b""]
    assert worker.nr_conns == 4
    assert pairs[0][0].fileno() >= 0


def test_an_error_ends_its_connection_alone(worker, pairs, caplog):
    worker.accept(Listener(pairs[0][0]))
    worker.accept(Listener(pairs[1][0]))
    first, second = worker._connections
    first.intake = None  # any error will do
    pairs[0][1].sendall(b"x")
    with caplog.at_level(logging.ERROR):
        worker.wait_for_and_dispatch_events(1.0)
    assert list(worker._connections) == [second]
    assert [record.getMessage() for record in caplog.records] == ["a connection failed"]


def test_time_that_is_over_is_noticed(worker, pairs):
    worker._patience = Patience(idle=75.0, pause=0.0, whole=60.0)
    pairs[1][1].sendall(b"GET /")
    for raw, _ in pairs[:2]:
        worker.accept(Listener(raw))
    worker.murder_pending()
    assert pairs[1][1].recv(12) == b"HTTP/1.1 408"
    assert next(iter(worker._connections)).sock.raw is pairs[0][0]


def test_what_has_come_while_the_worker_stood_still_is_in_time(worker, pairs):
    head = b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
    for raw, client in pairs[:2]:
        client.sendall(head + b"1234")
        worker.accept(Listener(raw))
    first, second = worker._connections
    pairs[0][1].sendall(b"5678")
    first.due = second.due = 0.0
    worker.murder_pending()
    assert first.due > 0.0
    assert first.intake.n_bytes == 8
    assert pairs[1][1].recv(12) == b"HTTP/1.1 408"


def test_at_the_end_all_are_closed(worker, pairs):
    worker.accept(Listener(pairs[0][0]))
    worker.murder_keepalived()
    assert worker.nr_conns == 1
    worker.murder_keepalived(force=True)
    assert pairs[0][1].recv(1) == b""
    assert worker.nr_conns == 0
