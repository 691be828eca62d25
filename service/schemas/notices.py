"""What an answer says about its nulls."""

from __future__ import annotations

from marshmallow.fields import String

from service.schemas.base import Answer
from service.schemas.components import COEFFICIENT
from service.schemas.fields import Dumped


class Notice(Answer):
    """Why some statistics are null."""

    message = String(required=True)
    coefficients = Dumped(
        {"type": "array", "items": COEFFICIENT.reference, "description": "Those that are concerned."}, required=True
    )
