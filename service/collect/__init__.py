"""Collect votes over HTTP: pages for voters and organisers, and a JSON API, on a ledger that keeps every event.

settings -> hooks around every request -> views: `api` (JSON, one file per resource) and `pages` (HTML). `adaptive`
holds the domain logic and all SQL. `create_app` makes the WSGI application; the command is rankcorr-collect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.collect.settings import CollectSettings

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["CollectSettings", "create_app"]


def create_app(settings: CollectSettings | None = None) -> Flask:
    """Make the WSGI application; the first request that needs the ledger opens it.

    Parameters
    ----------
    settings : CollectSettings, optional
        Read from the environment by default.

    Raises
    ------
    SettingError, ImportError
        As `service.create_app`.

    See Also
    --------
    CollectSettings : All settings of the application.
    adaptive.ledger.Ledger : The votes, in Python.
    service.create_app : The application that compares rankings.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> from service.collect import CollectSettings, create_app
    >>> "/health/ready" in {rule.rule for rule in create_app().url_map.iter_rules()}
    True
    >>> client = create_app(CollectSettings(tokens=("secret",))).test_client()
    >>> with redirect_stdout(StringIO()) as log:
    ...     answer = client.get("/health/live")
    >>> answer.json
    {'status': 'ok'}
    """
    from service.collect.app import app_of  # its packages may be missing, and rankcorr-collect must start to say so

    return app_of(CollectSettings.from_environment() if settings is None else settings)
