"""Answers that are short on the wire: gzip for long ones, nothing for what a client has already."""

import gzip
import json

import pytest

from service.http.hooks import MIN_BYTES
from tests.service.answers import PAIR

GZIP = {"Accept-Encoding": "gzip"}
WEIGHTS = "/v1/weights?top=100"


def unpacked(response):
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Content-Length"] == str(len(response.data))
    return gzip.decompress(response.data)


@pytest.mark.parametrize("path", [WEIGHTS, "/openapi.json", "/metrics", "/docs/docs.js", "/docs/swagger-ui.css"])
def test_long_answers_are_compressed_and_short_ones_are_not(client, path):
    plain = client.get(path, buffered=True)
    packed = client.get(path, headers=GZIP, buffered=True)
    assert "Content-Encoding" not in plain.headers
    assert "Accept-Encoding" in plain.vary
    assert "Accept-Encoding" in packed.vary
    if len(plain.data) < MIN_BYTES:
        assert packed.data == plain.data
        assert "Content-Encoding" not in packed.headers
    else:
        assert len(packed.data) < 0.7 * len(plain.data)
        if path != "/metrics":  # which counts the request before
            assert unpacked(packed) == plain.data


def test_an_answer_to_a_post_is_compressed_too(client):
    request = {"items": 200, "presentations": 4, "voters": 2, "seed": 1}
    packed = client.post("/v1/ballots", json=request, headers=GZIP)
    assert json.loads(unpacked(packed)) == client.post("/v1/ballots", json=request).json


def test_so_is_a_long_error(client):
    request = {**PAIR, **{f"field {number}": 1 for number in range(60)}}
    packed = client.post("/v1/correlations", json=request, headers=GZIP)
    assert packed.status_code == 422
    assert packed.content_type == "application/problem+json"
    assert json.loads(unpacked(packed))["status"] == 422


@pytest.mark.parametrize(
    ("accepted", "packs"),
    [
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("*", True),
        ("GZIP", True),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("gzip;q=0.5, identity", False),
        ("gzip;q=0", False),
        ("*;q=0", False),
        ("br", False),
        ("identity", False),
        ("", False),
    ],
)
def test_the_client_chooses(client, accepted, packs):
    headers = client.get(WEIGHTS, headers={"Accept-Encoding": accepted}).headers
    assert headers.get("Content-Encoding") == ("gzip" if packs else None)


def test_head_has_the_headers_of_get(client):
    get, head = (client.open(WEIGHTS, method=method, headers=GZIP) for method in ("GET", "HEAD"))
    assert head.data == b""
    for name in ("Content-Encoding", "Content-Length", "Content-Type", "ETag", "Vary"):
        assert head.headers[name] == get.headers[name]


def test_a_part_of_a_file_is_left_as_it_is(client):
    part = client.get("/docs/swagger-ui.css", headers={**GZIP, "Range": "bytes=0-4999"}, buffered=True)
    assert part.status_code == 206
    assert len(part.data) == 5_000
    assert "Content-Encoding" not in part.headers


def test_a_compressed_file_keeps_its_tag_as_a_weak_one(client):
    plain = client.get("/docs/swagger-ui.css", buffered=True)
    packed = client.get("/docs/swagger-ui.css", headers=GZIP, buffered=True)
    assert plain.get_etag()[1] is False
    assert packed.get_etag() == (plain.get_etag()[0], True)
    again = client.get("/docs/swagger-ui.css", headers={**GZIP, "If-None-Match": packed.headers["ETag"]}, buffered=True)
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("path", ["/openapi.json", WEIGHTS])
class TestTags:
    @pytest.mark.parametrize("encoding", ["gzip", "identity"])
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_what_a_client_has_is_not_sent_again(self, client, path, encoding, method):
        first = client.get(path)
        tag = first.headers["ETag"]
        assert tag.startswith('W/"')
        assert first.headers["Cache-Control"] == "no-cache"
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
            headers = {"If-None-Match": known, "Accept-Encoding": encoding}
            again = client.open(path, method=method, headers=headers)
            assert (again.status_code, again.data) == (304, b"")
            assert again.headers["ETag"] == tag
            assert "Content-Type" not in again.headers
        assert client.get(path, headers={"If-None-Match": '"other"'}).data == first.data

    def test_every_copy_of_the_service_has_the_same_tag(self, make_client, path):
        assert make_client().get(path).headers["ETag"] == make_client().get(path).headers["ETag"]


def test_another_query_has_another_tag(client):
    assert client.get("/v1/weights?n0=2").headers["ETag"] != client.get("/v1/weights?n0=3").headers["ETag"]


def test_an_error_and_the_answer_to_a_post_have_no_tag(client):
    refused = client.get("/v1/weights?n0=-2")
    assert refused.status_code == 422
    assert "ETag" not in refused.headers
    assert "ETag" not in client.post("/v1/correlations", json=PAIR).headers


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/weights?n_items=3", "/docs/swagger-ui.css"])
def test_an_answer_without_a_body_has_what_caches_need(client, path):
    with client.get(path) as whole, client.get(path, headers={"If-None-Match": whole.headers["ETag"]}) as again:
        assert (again.status_code, again.data) == (304, b"")
        for name in ("Vary", "ETag", "Cache-Control"):  # RFC 9110, section 15.4.5
            assert again.headers[name] == whole.headers[name]
