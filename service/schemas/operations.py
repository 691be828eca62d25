"""What probes answer."""

from __future__ import annotations

from service.schemas.base import Answer
from service.schemas.fields import Dumped


class LiveAnswer(Answer):
    """The process answers."""

    status = Dumped({"type": "string", "const": "ok"}, required=True)


class ReadyAnswer(LiveAnswer):
    """Requests are welcome, within these limits."""

    version = Dumped({"type": "string"}, required=True)
    limits = Dumped({"type": "object", "additionalProperties": {"type": "number"}}, required=True)
