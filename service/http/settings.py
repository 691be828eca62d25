"""Define the settings that the hooks around every request need, and the limits on one request."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, get_args

from service.environment import (
    FromEnvironment,
    SettingError,
    one_of,
    seconds,
    setting,
    token_list,
    variable,
    whole_number,
)

Metrics: TypeAlias = Literal["open", "token", "off"]
READERS: Final[tuple[Metrics, ...]] = get_args(Metrics)


@dataclass(frozen=True, kw_only=True)
class HttpLimits(FromEnvironment):
    """The limits on one request; an application may add its own."""

    max_body_bytes: int = setting(16 * 2**20, whole_number(1_000), "bytes of a request body")
    max_seconds: float = setting(30.0, seconds, "seconds of processor time for a request, rounded up to a whole number")
    max_work_bytes: int = setting(2**30, whole_number(1), "bytes of memory for the work of a heavy request")


@dataclass(frozen=True, kw_only=True)
class HttpSettings(FromEnvironment):
    """The settings that the hooks around every request and the processes need from an application.

    Examples
    --------
    >>> HttpSettings.from_environment({"RANKCORR_MAX_BODY_BYTES": "1000"}).limits.max_body_bytes
    1000
    """

    limits_type: ClassVar[type[HttpLimits]] = HttpLimits

    limits: HttpLimits = field(default_factory=HttpLimits)
    tokens: tuple[str, ...] = setting(
        (), token_list, "bearer tokens for /v1, separated by commas, of 16 characters or more; none: open to all"
    )
    metrics: Metrics = setting("open", one_of(*READERS), f"who may read /metrics: {', '.join(READERS)}")
    trusted_proxies: int = setting(
        0, whole_number(0, 10), "number of proxies in front, whose X-Forwarded-For is trusted"
    )
    max_heavy: int = setting(0, whole_number(0, 64), "requests with long work at once, 0: as many as workers")
    max_waiting: int = setting(
        16,
        whole_number(1, 1_000),
        "heavy requests at once, running or waiting for their turn; long ones take at most half of them",
    )
    max_wait_seconds: float = setting(
        10.0, seconds, "seconds that a heavy request waits for its turn, before it is turned away"
    )

    def __post_init__(self) -> None:
        if self.metrics == "token" and not self.tokens:
            raise SettingError(f"{variable('metrics')} is 'token', but {variable('tokens')} holds none")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **more: Any) -> Self:
        """Read the variables of the settings and of their limits, as `FromEnvironment` does."""
        limits = cls.limits_type.from_environment(environment)
        return super().from_environment(environment, limits=limits, **more)

    def table(self) -> list[tuple[str, Any, str]]:
        """Return variable, value and meaning of each setting, with the number of tokens in place of the tokens."""
        rows = [*self.limits.table(), *super().table()]
        return [(name, len(value) if name == variable("tokens") else value, about) for name, value, about in rows]
