"""What an answer says about its nulls."""

from __future__ import annotations

from marshmallow.fields import List, String

from service.schemas.base import Answer


class Notice(Answer):
    """Why some statistics are null."""

    message = String(required=True)
    coefficients = List(String(), required=True, metadata={"description": "Those that are concerned."})
