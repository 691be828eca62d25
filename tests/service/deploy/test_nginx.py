"""Debian's nginx with the configuration of service/deploy/, in front of a live service."""

import contextlib
import gzip
import http.client
import json
import shutil
import socket
import ssl

import pytest

from tests.service.deploy.proxy import BUNDLE, NGINX, find_refusal, open_files, run_proxy, slow_clients
from tests.service.live import IN_PROGRESS, PAIR, PATIENCE, poll_until

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(
        not NGINX or not shutil.which("openssl"), reason="nginx or openssl is not installed: .ci/run installs them"
    ),
]

N_SLOW = 2_000


@pytest.fixture(scope="module")
def proxy(live_server, tmp_path_factory):
    with run_proxy(live_server, tmp_path_factory.mktemp("nginx")) as running:
        yield running


def problem_of(answer):
    status, headers, body = answer
    assert headers["Content-Type"] == "application/problem+json"
    problem = json.loads(body)
    assert problem["status"] == status
    assert set(problem) == {"type", "title", "status", "detail", "request_id"}
    return problem


def answer_on(connection):
    """Status, headers and body of the answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, dict(response.headers), response.read()


def test_requests_pass_over_tls(proxy, live_server):
    status, headers, body = proxy.ask("POST", "/v1/correlations", PAIR)
    assert status == 200
    assert body == live_server.ask("POST", "/v1/correlations", PAIR)[2]
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
    assert proxy.ask("GET", "/docs")[0] == 200
    assert proxy.ask("GET", "/health/ready")[0] == 200


def test_long_answers_are_compressed_on_request(proxy):
    plain, packed = (
        proxy.ask("GET", "/openapi.json", headers=headers) for headers in ({}, {"Accept-Encoding": "gzip"})
    )
    assert "Content-Encoding" not in plain[1]
    assert (packed[0], packed[1]["Content-Encoding"], packed[1]["ETag"]) == (200, "gzip", plain[1]["ETag"])
    assert gzip.decompress(packed[2]) == plain[2]
    short = proxy.ask("GET", "/health/live", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in short[1]


def test_errors_of_the_service_are_passed_on(proxy):
    status, _, body = proxy.ask("POST", "/v1/correlations", {})
    assert status == 422
    assert "errors" in json.loads(body)


@pytest.mark.parametrize("host", ["votes.example.org", "api.example.org"])
def test_http_redirects_to_https_and_keeps_the_method(live_server, tmp_path, host):
    with run_proxy(live_server, tmp_path, PROXY_SERVICE_HOST="api.example.org") as proxy:
        status, headers, _ = proxy.ask_plain("POST", "/v1/weights?n0=2", PAIR, {"Host": host})
    assert status == 308
    assert headers["Location"] == f"https://{host}/v1/weights?n0=2"


def test_http_redirects_to_no_other_host(proxy):
    answer = proxy.ask_plain("GET", "/docs", headers={"Host": "evil.example"})
    assert "Location" not in answer[1]
    problem = problem_of(answer)
    assert (problem["status"], problem["type"]) == (421, "urn:rankcorr:problem:unknown-host")


def test_the_probe_of_the_container_needs_no_tls(proxy):
    assert proxy.ask_plain("GET", "/health/live")[0] == 200


def test_metrics_are_not_public(proxy):
    problem = problem_of(proxy.ask("GET", "/metrics"))
    assert (problem["status"], problem["type"]) == (404, "urn:rankcorr:problem:not-found")


def test_a_body_above_the_limit_never_reaches_the_service(proxy, live_server):
    before = live_server.output.read_text().count('"status":413')
    problem = problem_of(proxy.ask("POST", "/v1/correlations", b" " * (16 * 2**20 + 1)))
    assert (problem["status"], problem["type"]) == (413, "urn:rankcorr:problem:body-too-large")
    assert live_server.output.read_text().count('"status":413') == before


@pytest.mark.parametrize(
    ("sent", "status", "kind"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400, "malformed-request"),
        (b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
        (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
        (b"GET nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "malformed-request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed-request"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, "malformed-request"),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
        (b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method-not-allowed"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "proxy"),
        (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 505, "proxy"),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "address-too-long"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 9_000 + b"\r\n\r\n", 431, "head-too-large"),
    ],
)
def test_malformed_requests_get_a_problem_document(proxy, sent, status, kind):
    context = ssl.create_default_context(cafile=str(proxy.certificate))
    with (
        socket.create_connection(("127.0.0.1", proxy.https), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        connection.sendall(sent)
        problem = problem_of(answer_on(connection))
    assert (problem["status"], problem["type"]) == (status, f"urn:rankcorr:problem:{kind}")


def test_http_on_the_tls_port_gets_a_problem_document(proxy):
    with socket.create_connection(("127.0.0.1", proxy.https), timeout=PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert problem_of(answer_on(connection))["status"] == 400


def test_nginx_passes_the_request_id_to_the_service(proxy, live_server):
    _, headers, _ = proxy.ask("POST", "/v1/correlations", PAIR)
    request_id = headers["X-Request-ID"]
    assert f'"id":"{request_id}"' in live_server.output.read_text()
    poll_until(
        lambda: f'"id":"{request_id}","method":"POST","status":200' in proxy.log.read_text(), goal="a line of the log"
    )


def test_clients_beyond_the_rate_limit_get_429(live_server, tmp_path):
    with run_proxy(live_server, tmp_path, PROXY_REQUESTS_PER_SECOND="1", PROXY_BURST="2") as strict:
        problem = problem_of(poll_until(lambda: find_refusal(strict), goal="a refusal"))
    assert (problem["status"], problem["type"]) == (429, "urn:rankcorr:problem:too-many-requests")


def test_a_stopped_service_gives_a_problem_document(live_server, tmp_path):
    nobody = socket.create_server(("127.0.0.1", 0))
    with contextlib.closing(nobody):
        address = "{}:{}".format(*nobody.getsockname())
    with run_proxy(live_server, tmp_path, PROXY_SERVICE=address) as lonely:
        problem = problem_of(lonely.ask("GET", "/health/live"))
    assert (problem["status"], problem["title"]) == (502, "The service cannot be reached")


def test_a_head_that_does_not_arrive_in_time_ends_the_connection(live_server, tmp_path):
    with run_proxy(live_server, tmp_path, PROXY_CLIENT_TIME="1s") as strict:
        context = ssl.create_default_context(cafile=str(strict.certificate))
        with contextlib.ExitStack() as stack:

            def connect():
                address = ("127.0.0.1", strict.https)
                return stack.enter_context(socket.create_connection(address, timeout=PATIENCE))

            def head_begun():
                """A TLS connection with half a head, or None if a busy machine took longer than the time limit."""
                with contextlib.suppress(OSError):
                    connection = context.wrap_socket(connect(), server_hostname="127.0.0.1")
                    stack.enter_context(connection).sendall(b"GET /health/live HTTP/1.1\r\nHost: local")
                    return connection
                return None

            silent, begun = connect(), poll_until(head_begun, goal="a handshake")
            assert silent.recv(1) == b""
            with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
                assert begun.recv(1) == b""


def test_two_thousand_slow_connections_do_not_affect_others(live_server, tmp_path):
    with (
        open_files(3 * N_SLOW),
        run_proxy(live_server, tmp_path, PROXY_CLIENT_TIME="3600s") as proxy,
        slow_clients(proxy, N_SLOW) as slow,
    ):
        poll_until(lambda: live_server.output.read_text().count(BUNDLE) >= len(slow.unread), goal="their requests")
        poll_until(lambda: live_server.metrics()[IN_PROGRESS] == 1, goal="the end of all work")  # that for metrics
        for _ in range(50):
            assert proxy.ask("GET", "/health/live")[0] == 200
            assert proxy.ask("POST", "/v1/correlations", PAIR)[0] == 200
            slow.drip()
        assert live_server.metrics()[IN_PROGRESS] == 1  # no slow request has reached the service
        assert slow.n_open() == N_SLOW
        assert len(answer_on(slow.unread[0])[2]) > 10**6
