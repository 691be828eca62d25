"""One line of JSON for each request, with nothing that a client sent in it but a sound id."""

import json
import re

import pytest

from tests.service.answers import PAIR, post_pair


def log_lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


class TestLogs:
    def test_one_line_for_a_request(self, client, capsys):
        answer = post_pair(client)
        (line,) = log_lines(capsys)
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

    def test_refused_requests_have_one_too(self, client, capsys):
        client.get("/nope?secret=1")
        client.post("/v1/correlations", data="{", content_type="application/json")
        lines = log_lines(capsys)
        assert [(line["route"], line["status"]) for line in lines] == [("none", 404), ("/v1/correlations", 400)]
        assert "secret" not in str(lines)

    def test_a_sound_id_of_a_proxy_is_kept(self, client, capsys):
        assert post_pair(client, {"X-Request-ID": "front-7.a_b"}).headers["X-Request-ID"] == "front-7.a_b"
        assert log_lines(capsys)[0]["id"] == "front-7.a_b"

    @pytest.mark.parametrize("given", ["", "a b", "x" * 65, '"}', "é"])
    def test_any_other_is_replaced(self, client, given):
        assert re.fullmatch("[0-9a-f]{32}", post_pair(client, {"X-Request-ID": given}).headers["X-Request-ID"])


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # the example of the W3C's Trace Context


class TestTraces:
    def test_a_trace_is_logged_and_echoed(self, client, capsys):
        assert post_pair(client, {"traceparent": TRACE}).headers["traceparent"] == TRACE
        (line,) = log_lines(capsys)
        assert line["traceparent"] == TRACE

    def test_so_is_that_of_a_refused_request(self, client, capsys):
        assert client.get("/nope", headers={"traceparent": TRACE}).headers["traceparent"] == TRACE
        assert log_lines(capsys)[0]["traceparent"] == TRACE

    @pytest.mark.parametrize("given", ["cc" + TRACE[2:], "01" + TRACE[2:-2] + "fd-more", "fe" + TRACE[2:] + "-a-b-"])
    def test_that_of_a_later_version_is_read_as_far_as_this_one_goes(self, client, capsys, given):
        """W3C Trace Context, 3.2.4: the first four fields; other flags of a later version are set to 0."""
        assert post_pair(client, {"traceparent": given}).headers["traceparent"] == TRACE
        assert log_lines(capsys)[0]["traceparent"] == TRACE

    @pytest.mark.parametrize(
        "given",
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
    def test_what_is_no_trace_is_neither(self, client, capsys, given):
        assert "traceparent" not in post_pair(client, {"traceparent": given}).headers
        assert "traceparent" not in log_lines(capsys)[0]


@pytest.mark.parametrize("items", [2, ["a", "b"]])
def test_the_log_counts_the_items_of_a_ballot(client, capsys, items):
    assert (
        client.post("/v1/ballots", json={"items": items, "presentations": 2, "voters": 1, "seed": 1}).status_code == 200
    )
    assert json.loads(capsys.readouterr().out)["items"] == 2


def test_the_log_counts_tokens_as_items(client, capsys):
    tokens = [{"token": text, "area": "x"} for text in "abc"]
    assert client.post("/v1/pairings", json={"tokens": tokens}).status_code == 200
    assert json.loads(capsys.readouterr().out)["items"] == 3
