"""nginx with the configuration of service/deploy/, in front of a live service on loopback ports."""

import contextlib
import http.client
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import guard
from tests.service.live import PATIENCE, REPOSITORY, Answer, Endpoint, Server, ask, poll_until, run_in_threads

DEPLOY = REPOSITORY / "service" / "deploy"
# Debian's folder, which is not on the path of every user
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
BUNDLE = "/docs/<name>"  # route of a file of 1.5 MB, for clients that do not read their answers


def variables() -> dict[str, str]:
    """The variables of proxy.env."""
    lines = (DEPLOY / "proxy.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def fill_configuration(variable_values: dict[str, str]) -> str:
    """The configuration, filled in with these variables as by envsubst."""
    template = (DEPLOY / "nginx.conf.template").read_text()
    return re.sub(r"\$\{(PROXY_[A-Z_]+)\}", lambda result: variable_values[result[1]], template)


@dataclass(frozen=True)
class Proxy(Endpoint):
    """A running nginx."""

    http: int
    https: int
    certificate: Path
    log: Path

    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
        """A connection over TLS, with the certificate checked."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection("127.0.0.1", self.https, timeout=timeout, context=context)

    def ask_plain(
        self, method: str, path: str, document: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """As `ask`, without TLS."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)) as connection:
            return ask(connection, method, path, document, headers)


def find_refusal(proxy: Proxy, headers: Mapping[str, str] | None = None) -> Answer | None:
    """Send twenty requests at the same time, the first of which is answered; return an answer of 429, or None."""
    assert proxy.ask("GET", "/health/live", headers=headers)[0] in (200, 429)
    answers = run_in_threads(*[lambda: proxy.ask("GET", "/health/live", headers=headers)] * 20)
    assert {status for status, _, _ in answers} <= {200, 429}
    return next((answer for answer in answers if answer[0] == 429), None)


class SlowClients:
    """Connections from 100 addresses that never finish: four kinds in equal numbers, and 20 that read no answer."""

    def __init__(self, proxy: Proxy, number: int, host: str, stack: contextlib.ExitStack) -> None:
        context = ssl.create_default_context(cafile=str(proxy.certificate))
        head = f"POST /v1/sheets HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n".encode()
        self.connections: list[socket.socket] = []
        self.unread: list[socket.socket] = []
        self._dripping: list[tuple[socket.socket, bytes]] = []  # with the following bytes, sent one at a time
        self._place = 0
        for place in range(number + 20):
            client = stack.enter_context(socket.socket())
            client.settimeout(PATIENCE)
            client.bind((f"127.0.{1 + place % 100}.1", 0))
            kind = ("silent", "handshake", "head", "body")[place // 100 % 4] if place < number else "unread"
            if kind == "unread":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            client.connect(("127.0.0.1", proxy.https))
            if kind == "handshake":
                self._dripping.append((client, b"\x16\x03\x01\x02\x00" + bytes(500)))
            elif kind != "silent":
                client = stack.enter_context(context.wrap_socket(client, server_hostname="127.0.0.1"))
            if kind in ("head", "body"):
                client.sendall(head + (b"X-Slow: " if kind == "head" else b"Content-Length: 1000\r\n\r\n"))
                self._dripping.append((client, b" " * 1_000))
            if kind == "unread":
                client.sendall(f"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                self.unread.append(client)
            else:
                self.connections.append(client)

    def drip(self) -> None:
        """Send a byte on each connection."""
        for client, sent in self._dripping:
            with contextlib.suppress(OSError):
                client.send(sent[self._place : self._place + 1])
        self._place += 1

    def n_open(self) -> int:
        """Number of connections that nginx has neither answered nor closed."""
        number = 0
        for client in self.connections:
            client.setblocking(False)
            with contextlib.suppress(ConnectionError):
                try:
                    client.recv(1)
                except (BlockingIOError, ssl.SSLWantReadError):
                    number += 1
        return number


@contextlib.contextmanager
def slow_clients(proxy: Proxy, number: int, host: str = "localhost") -> Iterator[SlowClients]:
    """Open slow connections, and close them at the end."""
    with contextlib.ExitStack() as stack:
        yield SlowClients(proxy, number, host, stack)


@contextlib.contextmanager
def open_files(number: int) -> Iterator[None]:
    """Allow this process that many open files, or skip the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < number:
        pytest.skip(f"the slow connections need more open files than {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def free_ports(number: int) -> list[int]:
    """Unused ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [free_socket.getsockname()[1] for free_socket in sockets]


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    files = ["-out", str(certificate), "-keyout", str(key), "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    subject = ["-x509", "-nodes", "-days", "2", "-subj", "/CN=rankcorr", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *files, *subject], check=True, capture_output=True, timeout=60)
    return certificate, key


@contextlib.contextmanager
def run_proxy(server: Server, folder: Path, *, collect: Server | None = None, **changes: str) -> Iterator[Proxy]:
    """Run nginx in front of a service and rankcorr-collect; `chosen` variables replace those of proxy.env."""
    certificate, key = make_certificate(folder)
    http_port, https_port = free_ports(2)
    environment = {
        **variables(),
        "PROXY_HTTP": f"127.0.0.1:{http_port}",
        "PROXY_HTTPS": f"127.0.0.1:{https_port}",
        "PROXY_SERVICE": f"{server.host}:{server.port}",
        "PROXY_COLLECT_SERVICE": f"{(collect or server).host}:{(collect or server).port}",
        "PROXY_CERTIFICATE": str(certificate),
        "PROXY_CERTIFICATE_KEY": str(key),
        "PROXY_FOLDER": str(folder),
        **changes,
    }
    configuration = folder / "nginx.conf"
    configuration.write_text(fill_configuration(environment))
    # As root, nginx would switch to a user who cannot write to the folder of a test.
    extra = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    log = folder / "log"
    command = [str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(configuration), "-g", extra]
    with log.open("wb") as output, guard(command, stdout=output, stderr=output) as process:
        poll_until(lambda: process.poll() is not None or _listens(https_port), goal="nginx")
        assert process.poll() is None, log.read_text()
        yield Proxy(http_port, https_port, certificate, log)


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
