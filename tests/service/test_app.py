"""How an app is put together: origins, settings of its own, and a configuration that stays."""

import json

from service import create_app
from service.openapi.document import CONFIGURATION
from tests.service.answers import post_pair


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


def test_apps_do_not_share_their_settings(make_client):
    small, large = make_client(max_items=2), make_client()
    assert post_pair(small).status_code == 422
    assert post_pair(large).status_code == 200


def test_the_configuration_is_not_changed_by_an_app():
    before = json.dumps(CONFIGURATION)
    create_app()
    assert json.dumps(CONFIGURATION) == before
