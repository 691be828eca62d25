"""The page /docs, which needs nothing from elsewhere."""

import re


def test_the_page_needs_nothing_from_elsewhere(client):
    page = client.get("/docs")
    assert page.content_type == "text/html; charset=utf-8"
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses
    for address in addresses:
        assert "//" not in address
        if not address.startswith("data:"):
            assert client.get("/" + address, buffered=True).status_code == 200
    assert "<script>" not in page.text


def test_security_headers(client):
    headers = client.get("/docs").headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "base-uri 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
