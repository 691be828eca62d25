"""Serve POST /v1/pairings: from tokens to items."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from flask import g
from marshmallow import ValidationError, validates_schema

from adaptive import Pairing, Token, pair_tokens
from adaptive._rows import PairRow
from rankcorr._checks import collected_notices
from service.http.problems import invalid, shown
from service.openapi.blueprint import Blueprint
from service.schemas import fields
from service.schemas.ballot_fields import check_keys
from service.schemas.base import NoticedAnswer, Request, notices_of
from service.schemas.fields import check_label_bytes
from service.schemas.shapes import NUMBER, TEXT, Component, list_of, properties_of

# Blanks as Python defines them; regular expressions in JSON Schema do not know all of these.
_NOT_BLANK: Final = r"[^\s\u001c-\u001f\u0085]"
TOKEN: Final = Component.exactly(
    "Token",
    "A word, or words for one concept, in one semantic area.",
    token=TEXT(pattern=_NOT_BLANK),
    area=TEXT("A token with several areas is given for each.", pattern=_NOT_BLANK),
    frequency=NUMBER("In texts of the domain, as a count or a share; for all tokens or for none.", minimum=0),
    optional=["frequency"],
)
PAIR: Final = Component.of(PairRow, "Pair", is_open=False, optional=["rare"])


class Tokens(fields.Documented):
    """Tokens with their semantic areas."""

    documented: Mapping[str, Any] = list_of(TOKEN.reference, minItems=2, maxItems=fields.Limit("max_items"))
    _text = fields.Text()
    _frequency = fields.Number(least=0)

    def read(self, value: Any) -> list[Token]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or len(value) < 2:
            raise ValidationError(f"must be a list of at least 2 tokens; got {shown(value)}")
        fields.check_limit("max_items", len(value), of="tokens")
        tokens = [self._token(entry, str(place)) for place, entry in enumerate(value)]
        areas = Counter(token.text for token in tokens)
        shared = sum(count * (count - 1) // 2 for count in areas.values())
        fields.check_limit("max_items", shared, of="pairs of areas that have a token in common")
        g.n_items = len(tokens)
        return tokens

    def _token(self, entry: Any, place: str) -> Token:
        check_keys(entry, {"token", "area"}, {"frequency"}, place)
        checks = {"token": self._text, "area": self._text, "frequency": self._frequency}
        for name, field in entry.items():
            fields.read_at(checks[name], field, place, name)
        return Token(entry["token"], entry["area"], entry.get("frequency"))


class PairingRequest(Request):
    """Tokens, and which pairs of them become items."""

    tokens = Tokens(required=True)
    sample = fields.Count(
        limit="max_items", of="pairs of tokens", about="Number of random pairs to take; all of them by default."
    )
    seed = fields.Seed(required=False, about="Seed of the sample; required with it.")
    across_areas = fields.Flag(load_default=False, about="Pair any two tokens, of one area or two.")

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a sample without a seed, a seed without a sample, and a request for too many items."""
        if ("sample" in data) != ("seed" in data):
            lacks, has = ("seed", "sample") if "sample" in data else ("sample", "seed")
            raise ValidationError(f"this field is needed: {lacks} and {has} belong together", lacks)
        if "sample" not in data:
            n_pairs = number_of_pairs(data["tokens"], across_areas=data["across_areas"])
            fields.check_limit("max_items", n_pairs, of="pairs of tokens; a sample takes fewer", field="tokens")


def number_of_pairs(tokens: Sequence[Token], *, across_areas: bool) -> int:
    """Return how many pairs the tokens have."""
    sizes = (
        [len({token.text for token in tokens})] if across_areas else Counter(token.area for token in tokens).values()
    )
    return sum(size * (size - 1) // 2 for size in sizes)


class PairingAnswer(NoticedAnswer, **properties_of(Pairing, "n_items", "n_admissible", "rare_tokens")):
    """The items in a fixed order: by area, first token and second token, in the order of the request."""

    items = list_of(PAIR.reference, minItems=1)


blueprint = Blueprint("pairings", __name__, url_prefix="/v1/pairings", description="From tokens to items")


@blueprint.post("", name="pairTokens")
@blueprint.arguments(PairingRequest)
@blueprint.response(200, PairingAnswer)
def pair(
    tokens: Sequence[Token], across_areas: bool, sample: int | None = None, seed: int | None = None
) -> dict[str, Any]:
    """Pair the tokens of each semantic area; the pairs are the items of a ranking."""
    rng = None if seed is None else np.random.default_rng(seed)
    with collected_notices() as notices:
        pairing = pair_tokens(tokens, sample=sample, across_areas=across_areas, rng=rng)
    texts = [text for item in pairing.items for text in item]
    try:
        check_label_bytes("tokens", [*texts, *filter(None, pairing.areas)], 1)
    except ValidationError as error:
        raise invalid({"/tokens": list(error.messages)}) from error
    return {"n_items": pairing.n_items, **vars(pairing), "items": pairing.table(), "warnings": notices_of(notices)}
