"""nginx as service/deploy/ configures it, in front of a live service on loopback ports."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.service.live import PATIENCE, REPOSITORY, Answer, Server, ask, eventually
from tests.service.load import in_threads

DEPLOY = REPOSITORY / "service" / "deploy"
# Where Debian puts it, which is not on the path of every user.
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def variables() -> dict[str, str]:
    """The variables of proxy.env."""
    lines = (DEPLOY / "proxy.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def filled(chosen: dict[str, str]) -> str:
    """The configuration with these variables, as envsubst fills it in."""
    template = (DEPLOY / "nginx.conf.template").read_text()
    return re.sub(r"\$\{(PROXY_[A-Z_]+)\}", lambda found: chosen[found[1]], template)


@dataclass(frozen=True)
class Proxy:
    """A running nginx."""

    http: int
    https: int
    certificate: Path
    log: Path

    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
        """A connection over TLS, with the certificate checked."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection("127.0.0.1", self.https, timeout=timeout, context=context)

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        timeout: float = PATIENCE,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Status, headers and body of one request over TLS."""
        with contextlib.closing(self.connect(timeout)) as connection:
            return ask(connection, method, path, document, headers)

    def ask_plain(self, method: str, path: str, document: object = None) -> Answer:
        """The same without TLS."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)) as connection:
            return ask(connection, method, path, document)


def refused_of_many(proxy: Proxy, headers: Mapping[str, str] | None = None) -> Answer | None:
    """An answer of 429 to one of twenty requests at the same time, the first of which is answered; None without one."""
    assert proxy.ask("GET", "/health/live", headers=headers)[0] in (200, 429)
    answers = in_threads(*[lambda: proxy.ask("GET", "/health/live", headers=headers)] * 20)
    assert {status for status, _, _ in answers} <= {200, 429}
    return next((answer for answer in answers if answer[0] == 429), None)


def free_ports(number: int) -> list[int]:
    """Ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = ["-out", str(certificate), "-keyout", str(key), "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    what = ["-x509", "-nodes", "-days", "2", "-subj", "/CN=rankcorr", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *made, *what], check=True, capture_output=True, timeout=60)
    return certificate, key


@contextlib.contextmanager
def proxied(server: Server, folder: Path, *, collect: Server | None = None, **chosen: str) -> Iterator[Proxy]:
    """Run nginx in front of a service, and of rankcorr-collect; `chosen` are other variables than in proxy.env."""
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
        **chosen,
    }
    configuration = folder / "nginx.conf"
    configuration.write_text(filled(environment))
    # As root nginx would answer as another user, who cannot write to the folder of a test.
    extra = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [NGINX, "-e", "stderr", "-p", str(folder), "-c", str(configuration), "-g", extra],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    proxy = Proxy(http_port, https_port, certificate, log)
    try:
        eventually(lambda: process.poll() is not None or _listens(https_port), what="nginx")
        assert process.poll() is None, log.read_text()
        yield proxy
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
