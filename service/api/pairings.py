"""Serve POST /v1/pairings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from marshmallow import ValidationError

from adaptive import Token, pair_tokens
from rankcorr._checks import collected_notices
from service.http.problems import invalid
from service.openapi.blueprint import Blueprint
from service.schemas.base import notices_of
from service.schemas.fields import check_label_bytes
from service.schemas.pairings import PairingAnswer, PairingRequest

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
