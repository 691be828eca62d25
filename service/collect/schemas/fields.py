"""Fields that only the collection has."""

from __future__ import annotations

import re
from typing import Any, Final

from marshmallow import ValidationError

from service.http.problems import shown
from service.schemas.fields import Documented


class Word(Documented):
    """Text of a given form.

    Parameters
    ----------
    pattern : str
        Of the whole text, as JSON Schema and Python both read it.
    what : str
        What it is, for the error.
    """

    def __init__(self, pattern: str, what: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pattern, self._what = re.compile(pattern), what
        self.documented = {"type": "string", "pattern": f"^{pattern}$"}

    def read(self, value: Any) -> str:
        """Check a value, and return it as it is."""
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValidationError(f"must be {self._what}; got {shown(value)}")
        return value


def key_field(**kwargs: Any) -> Word:
    """Key of a campaign."""
    return Word("[0-9a-f]{32}", "the key of a campaign", **kwargs)


EVENT: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def event_field(**kwargs: Any) -> Word:
    """Id of an event."""
    return Word(EVENT, "a UUID in lower case", **kwargs)


def pair_field(**kwargs: Any) -> Word:
    """Id of a pair: ballot, sheet and position."""
    return Word("[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}", "the id of a pair, like 1-0-3", **kwargs)
