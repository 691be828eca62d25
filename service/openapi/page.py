"""Serve a page to try the service: Swagger UI, with scripts and styles from the package flask-swagger-ui."""

from __future__ import annotations

from importlib.resources import files

from flask import Flask, Response, redirect, send_from_directory


def register_page(app: Flask, *, is_root: bool = True) -> None:
    """Serve /docs with its files, and redirect the root to it unless the root has another page."""
    scripts = str(files("flask_swagger_ui") / "dist")
    own = str(files("service.openapi") / "static")
    policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " + (
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )

    text = (files("service.openapi") / "static" / "docs.html").read_bytes()

    def page() -> Response:
        return Response(text, headers={"Content-Security-Policy": policy}, content_type="text/html; charset=utf-8")

    def asset(name: str) -> Response:
        return send_from_directory(scripts if name.startswith("swagger-ui") else own, name, max_age=86_400)

    if is_root:
        app.add_url_rule("/", "root", lambda: redirect("/docs"))
    app.add_url_rule("/docs", "docs", page)
    app.add_url_rule("/docs/<name>", "docs_asset", asset)
