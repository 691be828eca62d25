"""Define the request and the answer for drawing a ballot."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from marshmallow import validates_schema

from adaptive import BallotCertificate
from service.schemas.ballot_fields import SIDES, Names
from service.schemas.base import Answer, Request
from service.schemas.fields import LABEL_SCHEMA, Component, Count, Dumped, Seed, Whole, check_label_bytes, check_limit
from service.schemas.plans import MAX_BALLOTS
from service.schemas.shapes import COUNT, TEXT, WHOLE, list_of, object_of


class BallotRequest(Request):
    """The items and voters of a ballot, and how often each item is presented."""

    items = Names(
        what="items",
        least=2,
        limit="max_items",
        about="Labels of the items (text or whole numbers), or N for the labels 0 to N - 1.",
    )
    presentations = Count(
        limit="max_comparisons",
        of="comparisons of a ballot",
        required=True,
        about="M: how often each item is presented.",
    )
    voters = Names(
        what="voters", least=1, limit="max_comparisons", about="Names of the voters, or V for the names 0 to V - 1."
    )
    seed = Seed(about="The same seed, and number, draws the same ballot of the same items.")
    number = Whole(
        least=1,
        most=MAX_BALLOTS,
        load_default=1,
        about="Number of the ballot in its plan, counted from 1. Each has random numbers of its own, so "
        "that one seed serves all ballots.",
    )

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a ballot with too many comparisons."""
        n_items = data["items"] if isinstance(data["items"], int) else len(data["items"])
        count = (n_items * data["presentations"] + 1) // 2
        check_limit("max_comparisons", count, of="comparisons of a ballot", field="presentations")
        check_label_bytes("items", [] if isinstance(data["items"], int) else data["items"], data["presentations"])


VOTER_COMPARISONS: Final = Component.exactly(
    "VoterComparisons", "The comparisons of one voter.", voter=LABEL_SCHEMA, **SIDES
)
_OF_CERTIFICATE: Final = {
    **{field.name: COUNT for field in fields(BallotCertificate)},
    "item_with_one_more": {
        "type": ["string", "integer", "null"],
        "description": "The item that is presented once more, where the items and the presentations are odd in number.",
    },
    "broken": list_of(TEXT, about="Guarantees that do not hold: none."),
}


class BallotAnswer(Answer):
    """The comparisons of a ballot, and counts that show what the draw guarantees."""

    number = Dumped(WHOLE)
    n_comparisons = Dumped(WHOLE)
    comparisons = Dumped(
        list_of(
            VOTER_COMPARISONS.reference,
            about="Voter by voter, in the order in which they are to be shown. With the answers as `votes`, "
            "an array as long, each is what POST /v1/scores takes.",
            minItems=1,
        )
    )
    certificate = Dumped(object_of(_OF_CERTIFICATE, about="Counted again from the comparisons alone."))
