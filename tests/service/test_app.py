"""The app: origins, separate settings, an unchanged configuration, and readiness."""

import json

import pytest

from service import create_app
from service.app import CONFIGURATION
from tests.service.answers import CLIENT, POST_PATHS, example, post_pair


def test_origins_are_refused_unless_configured(client, make_client):
    ours, theirs = "https://notebook.example", "https://other.example"
    assert "Access-Control-Allow-Origin" not in post_pair(client, {"Origin": ours}).headers
    open_client = make_client(cors_origins=(ours,))
    assert post_pair(open_client, {"Origin": ours}).headers["Access-Control-Allow-Origin"] == ours
    assert "X-Request-ID" in post_pair(open_client, {"Origin": ours}).headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Origin" not in post_pair(open_client, {"Origin": theirs}).headers
    assert "Access-Control-Allow-Origin" not in open_client.get("/health/live", headers={"Origin": ours}).headers


def test_a_preflight_needs_no_token(make_client):
    client = make_client(cors_origins=("https://notebook.example",), tokens=("0123456789abcdef",))
    headers = {
        "Origin": "https://notebook.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "Authorization, Content-Type",
    }
    answer = client.options("/v1/correlations", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://notebook.example"
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
    assert answer.headers["Access-Control-Allow-Methods"] == "DELETE, GET, HEAD, POST"


def test_apps_do_not_share_their_settings(make_client):
    small, large = make_client(max_items=2), make_client()
    assert post_pair(small).status_code == 422
    assert post_pair(large).status_code == 200


def test_the_configuration_is_not_changed_by_an_app():
    before = json.dumps(CONFIGURATION)
    create_app()
    assert json.dumps(CONFIGURATION) == before


@pytest.mark.parametrize("path", POST_PATHS)
@pytest.mark.parametrize(
    ("n_levels", "statuses"), [(100, {422}), *((n_levels, {400, 422}) for n_levels in (850, 920, 980)), (1_100, {400})]
)  # in between it depends on the depth of the call
def test_nesting_is_refused_in_every_field(path, n_levels, statuses):
    deep = b"[" * n_levels + b"]" * n_levels
    for field, field_value in example(path).items():
        others = json.dumps({**example(path), field: "HERE"}).encode()
        inner = [b'{"%b": %b}' % (key.encode(), deep) for key in field_value] if isinstance(field_value, dict) else []
        for value in (deep, *inner):
            body = others.replace(b'"HERE"', value)
            answer = CLIENT.post(path, data=body, content_type="application/json")
            assert answer.status_code in statuses, (field, answer.json)
            assert len(answer.data) < 3_000


def test_ready_shows_the_limits(make_client):
    answer = make_client(max_items=77, tokens=("0123456789abcdef",)).get("/health/ready")
    assert answer.json["limits"]["RANKCORR_MAX_ITEMS"] == 77
    assert {name for name in answer.json["limits"] if "TOKEN" in name} == set()
    assert {
        "RANKCORR_MAX_BODY_BYTES",
        "RANKCORR_MAX_SYSTEMS",
        "RANKCORR_MAX_MATRIX_CELLS",
        "RANKCORR_MAX_COMPARISONS",
        "RANKCORR_MAX_SIMULATED_VOTES",
        "RANKCORR_MAX_SECONDS",
    } <= set(answer.json["limits"])
