"""A body that a client already has is not sent again."""

import pytest

from tests.service.answers import PAIR

WEIGHTS = "/v1/weights?top=100"


@pytest.mark.parametrize("path", ["/openapi.json", WEIGHTS])
class TestTags:
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_what_a_client_has_is_not_sent_again(self, client, path, method):
        first = client.get(path)
        tag = first.headers["ETag"]
        assert tag.startswith('W/"')
        assert first.headers["Cache-Control"] == "no-cache"
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
            again = client.open(path, method=method, headers={"If-None-Match": known})
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
        for name in ("ETag", "Cache-Control"):  # RFC 9110, section 15.4.5
            assert again.headers[name] == whole.headers[name]
