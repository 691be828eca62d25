"""Probes."""


def test_ready_shows_the_limits(make_client):
    shown = make_client(max_items=77, tokens=("0123456789abcdef",)).get("/health/ready")
    assert shown.json["limits"]["RANKCORR_MAX_ITEMS"] == 77
    assert {name for name in shown.json["limits"] if "TOKEN" in name} == set()
    assert {
        "RANKCORR_MAX_BODY_BYTES",
        "RANKCORR_MAX_SYSTEMS",
        "RANKCORR_MAX_MATRIX_CELLS",
        "RANKCORR_MAX_COMPARISONS",
        "RANKCORR_MAX_SIMULATED_VOTES",
        "RANKCORR_MAX_SECONDS",
    } <= set(shown.json["limits"])
