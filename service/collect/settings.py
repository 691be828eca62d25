"""Declare the settings of rankcorr-collect, read once from the environment; an invalid value prevents the start."""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from service.environment import (
    HttpSettings,
    SettingError,
    seconds,
    setting,
    token_list,
    variable,
    whole_number,
    word_list,
)

_POSTGRESQL: Final = re.compile(r"postgres(?:ql(?:\+psycopg)?)?://.+")
_HOST: Final = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+")
_ORIGIN: Final = re.compile(rf"https?://(?:{_HOST.pattern})(?::[0-9]{{1,5}})?")


def _ledger(name: str, text: str) -> str:
    if "://" not in text:
        return text
    if not _POSTGRESQL.fullmatch(text):  # do not show the value: a URL may contain a password
        raise SettingError(f"{name} must be the path of a file, or a URL like postgresql://user@host/database")
    if find_spec("psycopg") is None:
        raise SettingError(
            f"{name} is a PostgreSQL database, which needs psycopg: pip install 'rankcorr-service[postgres]'"
        )
    return text


def _origin(name: str, text: str) -> str:
    if not _ORIGIN.fullmatch(text.rstrip("/")):
        raise SettingError(f"{name} must be like https://votes.example.org, without a path; got {text!r}")
    return text.rstrip("/")


def _hosts(name: str, text: str) -> tuple[str, ...]:
    hosts = tuple(host.lower() for host in word_list(name, text))
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise SettingError(f"{name} must hold host names or addresses without scheme and port; got {host!r}")
    return tuple(host.strip("[]") for host in hosts)


def _folder(name: str, text: str) -> str:
    if not os.path.isdir(text):
        raise SettingError(f"{name} must be a folder; got {text!r}")
    return os.path.abspath(text)


@dataclass(frozen=True, kw_only=True)
class CollectSettings(HttpSettings):
    """The settings of rankcorr-collect.

    See Also
    --------
    create_app : Takes them.
    service.Settings : The settings of rankcorr-serve.

    Examples
    --------
    >>> from service.collect import CollectSettings
    >>> CollectSettings.from_environment({"RANKCORR_LEDGER": "/var/lib/votes.db"}).ledger
    '/var/lib/votes.db'
    >>> settings = CollectSettings(tokens=("secret",), public_url="https://votes.example.org")
    >>> settings.max_waiting, settings.unanswered_sheets
    (16, 100)
    """

    tokens: tuple[str, ...] = setting(
        (),
        token_list,
        "bearer tokens to create campaigns, separated by commas, of 16 characters or more (none: creation is off)",
    )
    max_ledger_seconds: float = setting(
        3.0, seconds, "seconds that a request waits to write to a locked ledger, before it is turned away"
    )
    ledger: str = setting(
        "collect.db", _ledger, "where votes are stored: path of a file, or URL of a PostgreSQL database"
    )
    public_url: str = setting("", _origin, "where voters find the service, for links (empty: on this machine)")
    allowed_hosts: tuple[str, ...] = setting(
        (),
        _hosts,
        "further host names of the service, separated by commas; loopback and the host of the public URL always work",
    )
    assets: str = setting(
        "", _folder, "folder with the images and sounds of items, to which organisers upload (empty: none)"
    )
    unanswered_sheets: int = setting(
        100,
        whole_number(0),
        "unanswered sheets that an address may hold at once, fewer after each that it let lapse; 0: no limit",
    )

    def table(self) -> list[tuple[str, Any, str]]:
        """Return name, value and meaning of each setting; hide tokens and database URLs, which may hold passwords."""
        replacements = {variable("allowed_hosts"): ",".join(self.allowed_hosts)}
        if "://" in self.ledger:
            replacements[variable("ledger")] = "postgresql://..."
        return [(name, replacements.get(name, value), about) for name, value, about in super().table()]
