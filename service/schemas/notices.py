"""What an answer says about itself."""

from __future__ import annotations

from marshmallow.fields import String

from service.schemas.base import Answer
from service.schemas.components import COEFFICIENT
from service.schemas.fields import Dumped


class Notice(Answer):
    """What to mind in an answer, such as why a statistic is null."""

    message = String(required=True)
    coefficients = Dumped(
        {"type": "array", "items": COEFFICIENT.reference, "description": "Those that are concerned."}, required=True
    )
