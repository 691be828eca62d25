"""Votes over HTTP: pages for voters and organisers, and a JSON API, on a ledger that keeps everything.

settings -> hooks around every request -> views: `api` (JSON, one file, one resource) and `pages` (HTML). The domain is
in `adaptive`, which also has all SQL. `create_app` makes the WSGI application; the command is rankcorr-collect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.collect.settings import CollectSettings

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["CollectSettings", "create_app"]


def create_app(settings: CollectSettings | None = None) -> Flask:
    """Make the WSGI application; the ledger is opened by the first request that needs it.

    Parameters
    ----------
    settings : CollectSettings, optional
        By default they are read from the environment.

    Raises
    ------
    SettingError, ImportError
        As `service.create_app`.

    Examples
    --------
    >>> "/health/ready" in {rule.rule for rule in create_app().url_map.iter_rules()}
    True
    """
    from service.collect.app import app_of  # needs packages that rankcorr-collect must live without, to say so

    return app_of(CollectSettings.from_environment() if settings is None else settings)
