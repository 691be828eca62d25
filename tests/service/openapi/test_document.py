"""The OpenAPI document in Python and on the site, and the page /docs."""

import importlib.util
import json
import re
import shutil
import subprocess

import pytest

from service import Settings, create_app
from service.collect import CollectSettings
from service.collect import create_app as create_collect_app
from tests.repository import ROOT


@pytest.mark.parametrize(
    "make_app",
    [lambda: create_app(Settings()), lambda: create_collect_app(CollectSettings())],
    ids=["serve", "collect"],
)
def test_the_first_created_document_has_every_operation(make_app):
    client = make_app().test_client()
    paths = client.get("/openapi.json").json["paths"]
    assert len(paths) > 15
    assert client.get("/openapi.json").json["paths"] == paths


def test_the_site_is_not_built_from_a_document_without_operations():
    errors = pytest.importorskip("sphinx.errors", reason="Sphinx builds the site, and tests run without it")
    spec = importlib.util.spec_from_file_location("operations", ROOT / "docs/extensions/operations.py")
    operations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(operations)
    with pytest.raises(errors.ExtensionError, match="lists no operation"):
        list(operations.page({"paths": {}, "components": {"schemas": {}}}))
    for document in operations.documents().values():
        headings = [line for line in operations.page(document) if line.startswith(("## GET", "## PUT", "## POST"))]
        assert len(headings) > 15


def test_the_page_loads_nothing_from_other_hosts(client):
    page = client.get("/docs")
    assert page.content_type == "text/html; charset=utf-8"
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses
    for address in addresses:
        assert "//" not in address
        if not address.startswith("data:"):
            assert client.get("/" + address, buffered=True).status_code == 200
    assert "<script>" not in page.text


def test_the_page_has_security_headers(client):
    headers = client.get("/docs").headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "base-uri 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_page_follows_the_dark_mode_of_the_reader(client):
    """Swagger UI has dark styles for a class that the page must set."""
    assert "html.dark-mode .swagger-ui" in client.get("/docs/swagger-ui.css", buffered=True).text
    assert "color-scheme: light dark" in client.get("/docs/docs.css", buffered=True).text


RUN = """
const vm = require("node:vm");
const classes = new Set();
const toggle = (name, on) => (on ? classes.add(name) : classes.delete(name));
const query = { matches: true, addEventListener: (_, listener) => (query.changed = listener) };
const seen = [];
const page = { document: { documentElement: { classList: { toggle } } } };
page.SwaggerUIBundle = () => seen.push([...classes]);
page.window = { matchMedia: (asked) => (asked === "(prefers-color-scheme: dark)" ? query : undefined) };
vm.runInNewContext(require("node:fs").readFileSync(0, "utf8"), page);
query.matches = false;
query.changed();
seen.push([...classes]);
console.log(JSON.stringify(seen));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_script_sets_the_class_before_display_and_follows_changes(client):
    script = client.get("/docs/docs.js", buffered=True).text
    process = subprocess.run(
        [shutil.which("node"), "-e", RUN], input=script, capture_output=True, text=True, check=True
    )
    assert json.loads(process.stdout) == [["dark-mode"], []]
