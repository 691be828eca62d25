"""Define the request and the answer for drawing a ballot."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from marshmallow import ValidationError, validates_schema
from marshmallow.fields import Integer

from adaptive import BallotCertificate
from service.schemas.ballot_fields import LABELS_SCHEMA, Names
from service.schemas.base import Answer, Request
from service.schemas.fields import LABEL_SCHEMA, Component, Count, Dumped, Seed, Whole, check_label_bytes, check_limit
from service.schemas.plans import MAX_BALLOTS


class BallotRequest(Request):
    """The items and voters of a ballot, and how often each item is presented."""

    items = Names(
        what="items",
        least=2,
        limit="max_items",
        metadata={"description": "Labels of the items (text or whole numbers), or N for the labels 0 to N - 1."},
    )
    presentations = Count(
        limit="max_comparisons",
        of="comparisons of a ballot",
        required=True,
        metadata={"description": "M: how often each item is presented."},
    )
    voters = Names(
        what="voters",
        least=1,
        limit="max_comparisons",
        metadata={"description": "Names of the voters, or V for the names 0 to V - 1."},
    )
    seed = Seed(metadata={"description": "The same seed, and number, draws the same ballot of the same items."})
    number = Whole(
        least=1,
        most=MAX_BALLOTS,
        load_default=1,
        metadata={
            "description": "Number of the ballot in its plan, counted from 1. Each has random numbers of its own, so "
            "that one seed serves all ballots."
        },
    )

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a ballot with too many comparisons."""
        n_items = data["items"] if isinstance(data["items"], int) else len(data["items"])
        try:
            count = (n_items * data["presentations"] + 1) // 2
            check_limit("max_comparisons", count, of="comparisons of a ballot")
        except ValidationError as error:
            raise ValidationError(error.messages, "presentations") from error
        check_label_bytes("items", [] if isinstance(data["items"], int) else data["items"], data["presentations"])


VOTER_COMPARISONS: Final = Component(
    "VoterComparisons",
    {
        "type": "object",
        "description": "The comparisons of one voter.",
        "required": ["voter", "left", "right"],
        "additionalProperties": False,
        "properties": {
            "voter": LABEL_SCHEMA,
            "left": {**LABELS_SCHEMA, "description": "The item on the left of each comparison."},
            "right": {**LABELS_SCHEMA, "description": "The item on the right of each comparison."},
        },
    },
)
_OF_CERTIFICATE: Final = {
    **{field.name: {"type": "integer", "minimum": 0} for field in fields(BallotCertificate)},
    "item_with_one_more": {
        "type": ["string", "integer", "null"],
        "description": "The item that is presented once more, where the items and the presentations are odd in number.",
    },
    "broken": {"type": "array", "items": {"type": "string"}, "description": "Guarantees that do not hold: none."},
}


class BallotAnswer(Answer):
    """The comparisons of a ballot, and counts that show what the draw guarantees."""

    number = Integer(required=True)
    n_comparisons = Integer(required=True)
    comparisons = Dumped(
        {
            "type": "array",
            "minItems": 1,
            "items": VOTER_COMPARISONS.reference,
            "description": "Voter by voter, in the order in which they are to be shown. With the answers as `votes`, "
            "an array as long, each is what POST /v1/scores takes.",
        },
        required=True,
    )
    certificate = Dumped(
        {
            "type": "object",
            "required": list(_OF_CERTIFICATE),
            "additionalProperties": False,
            "properties": _OF_CERTIFICATE,
            "description": "Counted again from the comparisons alone.",
        },
        required=True,
    )
