"""rankcorr over HTTP: ranking comparison and ballot planning for programs in any language.

request schema -> view -> library call -> response schema. `create_app` makes the WSGI application.
"""

from service.app import create_app
from service.settings import Limits, SettingError, Settings

__all__ = ["Limits", "SettingError", "Settings", "create_app"]
