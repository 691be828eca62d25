"""Serve rankcorr over HTTP: ranking comparison and ballot planning for programs in any language.

request schema -> resource (`api`: route and library call) -> response schema. `create_app` makes the WSGI application.

Imports run one way: `server` -> `app` -> `api` -> `openapi` -> `schemas` -> `settings` -> `http` -> `environment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.environment import SettingError
from service.settings import Limits, Settings

if TYPE_CHECKING:
    from flask import Flask

# rankcorr._cli.launch reads this, because other projects have a package with this name.
__distribution__ = "rankcorr-service"

__all__ = ["Limits", "SettingError", "Settings", "create_app"]


def create_app(settings: Settings | None = None) -> Flask:
    """Make the WSGI application.

    Parameters
    ----------
    settings : Settings, optional
        Read from the environment by default.

    Raises
    ------
    SettingError
        If an environment variable has an invalid value.
    ImportError
        If a package that rankcorr-service depends on is missing.

    See Also
    --------
    Settings : All settings of the application.
    service.collect.create_app : The application that collects votes.

    Examples
    --------
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> from service import Settings, create_app
    >>> "/v1/correlations" in {rule.rule for rule in create_app().url_map.iter_rules()}
    True
    >>> client = create_app(Settings()).test_client()
    >>> body = {"gold": {"scores": [4, 3, 2, 1]}, "system": {"scores": [4, 3, 1, 2]}, "coefficients": ["tau"]}
    >>> with redirect_stdout(StringIO()) as log:
    ...     answer = client.post("/v1/correlations", json=body)
    >>> answer.status_code, round(answer.json["coefficients"]["tau"], 4)
    (200, 0.6667)
    """
    from service.app import app_of  # its packages may be missing, and rankcorr-serve must start to say so

    return app_of(Settings.from_environment() if settings is None else settings)
