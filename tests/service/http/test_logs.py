"""One line of JSON for each request, without data of the client except a valid request id."""

import contextlib
import json
import os
import re
import select

import pytest

from tests.service.answers import PAIR, post_pair


def log_lines(capfd):
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


class TestLogs:
    def test_one_line_for_a_request(self, client, capfd):
        answer = post_pair(client)
        (line,) = log_lines(capfd)
        assert line.pop("ms") > 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line.pop("time"))
        assert line == {
            "id": answer.headers["X-Request-ID"],
            "method": "POST",
            "route": "/v1/correlations",
            "status": 200,
            "bytes": len(json.dumps(PAIR).replace(" ", "")),
            "items": 6,
        }

    def test_refused_requests_are_logged_too(self, client, capfd):
        client.get("/nope?secret=1")
        client.post("/v1/correlations", data="{", content_type="application/json")
        lines = log_lines(capfd)
        assert [(line["route"], line["status"]) for line in lines] == [("none", 404), ("/v1/correlations", 400)]
        assert "secret" not in str(lines)

    def test_a_valid_id_of_a_proxy_is_kept(self, client, capfd):
        assert post_pair(client, {"X-Request-ID": "front-7.a_b"}).headers["X-Request-ID"] == "front-7.a_b"
        assert log_lines(capfd)[0]["id"] == "front-7.a_b"

    @pytest.mark.parametrize("request_id", ["", "a b", "x" * 65, '"}', "é"])
    def test_an_invalid_id_is_replaced(self, client, request_id):
        assert re.fullmatch("[0-9a-f]{32}", post_pair(client, {"X-Request-ID": request_id}).headers["X-Request-ID"])


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # the example of the W3C's Trace Context


class TestTraces:
    def test_a_trace_is_logged_and_echoed(self, client, capfd):
        assert post_pair(client, {"traceparent": TRACE}).headers["traceparent"] == TRACE
        (line,) = log_lines(capfd)
        assert line["traceparent"] == TRACE

    def test_the_trace_of_a_refused_request_is_logged_and_echoed(self, client, capfd):
        assert client.get("/nope", headers={"traceparent": TRACE}).headers["traceparent"] == TRACE
        assert log_lines(capfd)[0]["traceparent"] == TRACE

    @pytest.mark.parametrize("trace", ["cc" + TRACE[2:], "01" + TRACE[2:-2] + "fd-more", "fe" + TRACE[2:] + "-a-b-"])
    def test_a_trace_of_a_later_version_is_read_like_this_version(self, client, capfd, trace):
        """W3C Trace Context, 3.2.4: the first four fields; other flags of a later version are set to 0."""
        assert post_pair(client, {"traceparent": trace}).headers["traceparent"] == TRACE
        assert log_lines(capfd)[0]["traceparent"] == TRACE

    @pytest.mark.parametrize(
        "trace",
        [
            "",
            "cc" + TRACE[2:] + "more",
            "cc" + TRACE[2:-1],
            "CC" + TRACE[2:],
            TRACE + "-",
            TRACE.upper(),
            TRACE[:-1],
            TRACE + "-x",
            "ff" + TRACE[2:],
            TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
            TRACE.replace("b7ad6b7169203331", "0" * 16),
            '"}' + TRACE[2:],
        ],
    )
    def test_an_invalid_trace_is_ignored(self, client, capfd, trace):
        assert "traceparent" not in post_pair(client, {"traceparent": trace}).headers
        assert "traceparent" not in log_lines(capfd)[0]


@pytest.mark.parametrize("items", [2, ["a", "b"]])
def test_the_log_counts_the_items_of_a_ballot(client, capfd, items):
    assert (
        client.post("/v1/ballots", json={"items": items, "presentations": 2, "voters": 1, "seed": 1}).status_code == 200
    )
    assert json.loads(capfd.readouterr().out)["items"] == 2


def test_the_log_counts_tokens_as_items(client, capfd):
    tokens = [{"token": text, "area": "x"} for text in "abc"]
    assert client.post("/v1/pairings", json={"tokens": tokens}).status_code == 200
    assert json.loads(capfd.readouterr().out)["items"] == 3


class TestLostLogs:
    """A log that cannot be written neither refuses nor delays a request."""

    @pytest.fixture
    def stdout(self, monkeypatch):
        """Let the log go to a pipe; yields both ends."""
        reader, writer = os.pipe()
        monkeypatch.setattr("service.http.logs.STDOUT", writer)
        yield reader, writer
        for end in (reader, writer):
            with contextlib.suppress(OSError):
                os.close(end)

    def test_a_full_disk_refuses_no_request(self, client, monkeypatch):
        with open("/dev/full", "wb", buffering=0) as full:
            monkeypatch.setattr("service.http.logs.STDOUT", full.fileno())
            assert post_pair(client).status_code == 200
            assert client.get("/health/live").status_code == 200

    @pytest.mark.parametrize("end", [0, 1], ids=["closed pipe", "no stdout"])
    def test_a_closed_end_refuses_no_request(self, client, stdout, end):
        os.close(stdout[end])
        assert post_pair(client).status_code == 200

    def test_a_full_pipe_delays_no_request(self, client, stdout):
        reader, writer = stdout
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        assert post_pair(client).status_code == 200
        while b"x" in os.read(reader, 1 << 20):
            if not select.select([reader], [], [], 0)[0]:
                break
        assert post_pair(client).status_code == 200
        assert json.loads(os.read(reader, 1 << 20))["status"] == 200
