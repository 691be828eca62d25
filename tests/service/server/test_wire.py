"""A socket that nothing waits for."""

import socket

import pytest

from service.server.wire import Wire
from tests.service.live import PATIENCE, eventually

LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def ends():
    """The wire of a service, and the socket of its client, over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=PATIENCE)
        raw, _ = listener.accept()
    raw.setblocking(False)
    with client, raw:
        yield Wire(raw), client


def received(client, n_bytes):
    pieces = []
    while n_bytes > 0 and (piece := client.recv(min(n_bytes, 1 << 16))):
        pieces.append(piece)
        n_bytes -= len(piece)
    return b"".join(pieces)


def test_what_the_client_does_not_take_is_kept_in_its_order(ends):
    wire, client = ends
    wire.sendall(b"head")
    assert wire.flush()
    wire.sendall(LARGE)
    wire.sendall(b"end")
    assert 0 < wire.n_unsent < len(LARGE)
    assert not wire.flush()
    found = bytearray()
    while not wire.flush():
        found += client.recv(1 << 20)
    assert wire.n_unsent == 0
    wire.end_sending()
    found += received(client, 2 * len(LARGE))
    assert found == b"head" + LARGE + b"end"


def test_what_arrives_and_its_end(ends):
    wire, client = ends
    assert wire.receive() is None
    client.sendall(b"abc")
    assert eventually(wire.receive) == b"abc"
    client.shutdown(socket.SHUT_WR)
    assert eventually(lambda: wire.receive() == b"")


def test_a_client_that_is_there_has_not_left(ends):
    wire, client = ends
    assert not wire.has_left()
    client.sendall(b"the next request")
    assert not wire.has_left()


def test_a_client_that_closed_its_side_alone_is_asked_once_and_has_not_left(ends):
    wire, client = ends
    client.shutdown(socket.SHUT_WR)
    eventually(lambda: wire.has_left() is False and wire._asked, what="the question")
    assert not any(wire.has_left() for _ in range(20))
    wire.sendall(b"answer")
    assert received(client, 31) == b"HTTP/1.1 100 Continue\r\n\r\nanswer"


def test_a_client_of_http_1_0_is_not_asked(ends):
    wire, client = ends
    client.close()
    assert not any(wire.has_left(speaks_1_1=False) for _ in range(20))


@pytest.mark.parametrize("unread", [b"", b"the next request"])
def test_a_client_that_closed_has_left(ends, unread):
    wire, client = ends
    client.sendall(unread)
    client.close()
    eventually(wire.has_left, what="the reset")
    with pytest.raises(OSError, match=r"Broken pipe|Connection reset"):
        eventually(lambda: wire.sendall(b"x"))


def test_what_is_dropped_before_its_end_is_reset(ends):
    wire, client = ends
    wire.sendall(LARGE)
    wire.drop()
    with pytest.raises(ConnectionResetError):
        received(client, len(LARGE))


def test_gunicorn_cannot_wait_for_the_client(ends):
    wire, client = ends
    wire.close()
    with pytest.raises(OSError, match="the loop ends connections"):
        wire.shutdown(socket.SHUT_WR)
    wire.sendall(b"still open")
    assert received(client, 10) == b"still open"
