"""Clients that send slowly, or nothing, or do not read."""

import contextlib
import socket
from collections.abc import Callable, Iterator

from tests.service.live import PATIENCE


@contextlib.contextmanager
def open_connections() -> Iterator[Callable[..., socket.socket]]:
    """Make connections that send something at once; they are closed at the end."""
    with contextlib.ExitStack() as stack:

        def connect(server, sent=b"", *, window=None):
            connection = stack.enter_context(socket.socket())
            if window:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
            connection.settimeout(PATIENCE)
            connection.connect((server.host, server.port))
            connection.sendall(sent)
            return connection

        yield connect


def is_open(connection: socket.socket) -> bool:
    """Whether the service has neither answered nor ended a connection."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(PATIENCE)
    return False
