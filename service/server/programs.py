"""The programs that the same processes can run: which application, with which settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from service.collect.settings import CollectSettings
from service.environment import one_of, unknown, variable
from service.http.settings import HttpSettings
from service.server.settings import ServerSettings
from service.settings import Settings

# The dependencies of rankcorr-service that rankcorr does not have, as they are imported.
NEEDED: Final = (
    *("flask", "flask_cors", "flask_smorest", "flask_swagger_ui"),
    *("gunicorn", "marshmallow", "orjson", "prometheus_client"),
)
NEEDED_FOR_PAGES: Final = ("markdown_it", "matplotlib", "nh3", "segno")
PROGRAM: Final = "RANKCORR_PROGRAM"  # set by the command for gunicorn
NOTICE: Final = "RANKCORR_NOTICE"  # what is said once requests are taken; `make collect` sets it


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command that serves an application.

    What needs more than the standard library is named, as module:function, and imported when it is called.

    Parameters
    ----------
    name : str
        The command.
    about : str
        What it does, for the help.
    application : str
        Makes the WSGI application, as gunicorn wants it.
    settings : type of HttpSettings
    bind : str
        Where it listens unless told otherwise.
    warm_up : str
        Compiles the kernels that requests can reach.
    needed : tuple of str
        Packages without which it cannot start.
    prepare : str, optional
        Takes the settings before the processes start; what it raises as a `SettingError` stops the start.
    """

    name: str
    about: str
    application: str
    settings: type[HttpSettings]
    bind: str
    warm_up: str
    needed: tuple[str, ...] = NEEDED
    prepare: str | None = None

    def read(self, environment: Mapping[str, str] = os.environ) -> tuple[ServerSettings, HttpSettings]:
        """Settings of the processes and of the application.

        Raises
        ------
        SettingError
            For a value that a variable cannot have; the message names the variable.
        """
        bind = environment.get(variable("bind")) or self.bind
        server = ServerSettings.from_environment({**environment, variable("bind"): bind})
        return server, self.settings.from_environment(environment)

    def warnings(self, environment: Mapping[str, str]) -> list[str]:
        """A line for each variable that looks like a setting and is none."""
        ours = {name: value for name, value in environment.items() if name != NOTICE}
        return unknown(ours, ServerSettings, self.settings.limits_type, self.settings)

    def table(self) -> list[tuple[str, Any, str]]:
        """Variable, default and meaning of each setting."""
        return [*ServerSettings(bind=self.bind).table(), *self.settings().table()]


SERVE: Final = Program(
    name="rankcorr-serve",
    about="Serve rankcorr over HTTP.",
    application="service:create_app()",
    settings=Settings,
    bind="127.0.0.1:8000",
    warm_up="service.server.warm_up:warm_up",
)
COLLECT: Final = Program(
    name="rankcorr-collect",
    about="Collect votes in browsers, on a ledger that keeps every one.",
    application="service.collect:create_app()",
    settings=CollectSettings,
    bind="127.0.0.1:8080",
    warm_up="service.server.warm_up:warm_up_campaigns",
    needed=(*NEEDED, *NEEDED_FOR_PAGES),
    prepare="service.collect.ledger:prepare",
)
PROGRAMS: Final = {program.name: program for program in (SERVE, COLLECT)}


def chosen_program(environment: Mapping[str, str] = os.environ) -> Program:
    """The program that the command has named in the environment; rankcorr-serve where it has named none.

    >>> chosen_program({"RANKCORR_PROGRAM": "rankcorr-collect"}).bind
    '127.0.0.1:8080'
    """
    return PROGRAMS[one_of(*PROGRAMS)(PROGRAM, environment.get(PROGRAM) or SERVE.name)]


def named(function: str) -> Callable[..., Any]:
    """The function of a name, as in module:function.

    >>> named("math:sqrt")(4.0)
    2.0
    """
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
