"""rankcorr over HTTP: ranking comparison and ballot planning for programs in any language.

request schema -> resource (`api`: route and library call) -> response schema. `create_app` makes the WSGI application.

Imports run one way: `server` -> `app` -> `api` -> `openapi` -> `schemas` -> `settings` -> `http` -> `environment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.environment import SettingError
from service.settings import Limits, Settings

if TYPE_CHECKING:
    from flask import Flask

# Read by rankcorr.cli.launch: other projects have a package of this name.
__distribution__ = "rankcorr-service"

__all__ = ["Limits", "SettingError", "Settings", "create_app"]


def create_app(settings: Settings | None = None) -> Flask:
    """Make the WSGI application.

    Parameters
    ----------
    settings : Settings, optional
        By default they are read from the environment.

    Raises
    ------
    SettingError
        For an environment variable with a value that it cannot have.
    ImportError
        Without the packages that rankcorr-service depends on.

    Examples
    --------
    >>> "/v1/correlations" in {rule.rule for rule in create_app().url_map.iter_rules()}
    True
    """
    from service.app import app_of  # needs packages that rankcorr-serve must live without, to say so

    return app_of(Settings.from_environment() if settings is None else settings)
