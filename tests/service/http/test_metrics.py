"""What Prometheus reads."""

import re

from tests.service.answers import post_pair


def test_metrics_count_requests_and_items(client):
    def value(name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    requests = 'rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'
    items = 'rankcorr_items_total{route="/v1/correlations"}'
    before = value(requests), value(items)
    post_pair(client)
    assert (value(requests), value(items)) == (before[0] + 1, before[1] + 6)
    assert value("rankcorr_requests_in_progress") == 1  # that of /metrics itself


def test_a_strange_method_makes_no_new_series(client):
    client.open("/health/live", method="BREW")
    assert 'method="other",route="none",status="405"' in client.get("/metrics").text
    assert "BREW" not in client.get("/metrics").text
