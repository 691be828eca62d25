"""The OpenAPI document of an application, as Python and the site have it."""

import importlib.util

import pytest

from service import Settings, create_app
from service.collect import CollectSettings
from service.collect import create_app as create_collect_app
from service.openapi.specification import document_of
from tests.repository import ROOT


@pytest.mark.parametrize(
    "make_app",
    [lambda: create_app(Settings()), lambda: create_collect_app(CollectSettings())],
    ids=["serve", "collect"],
)
def test_the_document_has_every_operation_before_any_request(make_app):
    app = make_app()
    paths = set(document_of(app)["paths"])
    assert len(paths) > 15
    assert paths == set(app.test_client().get("/openapi.json").json["paths"])


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
