"""Pairings over HTTP are the library's, within the limits of requests, and fields are as strict as documented."""

import warnings

import numpy as np
from hypothesis import given, reject
from hypothesis import strategies as st

from adaptive import FewRareTokensWarning, TokenError, pair_tokens
from tests.service.answers import answer

PATH = "/v1/pairings"


def token_documents(rows):
    return [dict(zip(("token", "area", "frequency"), row, strict=False)) for row in rows]


def library_pairing(rows, **options):
    """The library's pairing as an answer."""
    with warnings.catch_warnings(record=True, action="always", category=FewRareTokensWarning) as caught:
        pairing = pair_tokens(rows, **options)
    messages = [{"message": str(warning.message), "coefficients": []} for warning in caught]
    return {"n_items": pairing.n_items, **pairing.to_dict(), "warnings": messages}


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("xy"), min_size=2),
    st.sampled_from([None, 1.0, 100.0]),
    st.booleans(),
    st.none() | st.integers(0, 99),
)
def test_every_pairing_is_the_library_call(areas, frequency, across, seed):
    """Areas with at least two tokens; answers include rare tokens and the warning that these are few."""
    rows = [
        (token, area, *([] if frequency is None else [0.5 + place * frequency]))
        for place, (token, area) in enumerate(areas.items())
    ]
    options, rng = ({}, {}) if seed is None else ({"sample": 1}, {"rng": np.random.default_rng(seed)})
    try:
        expected = library_pairing(rows, across_areas=across, **options, **rng)
    except TokenError:  # an area with one token, which cannot be in a pair
        reject()
    sent = {} if seed is None else {"seed": seed}
    assert answer(PATH, tokens=token_documents(rows), across_areas=across, **options, **sent) == expected


def test_a_token_of_several_areas_counts_once_across_areas(make_client):
    rows = [("a", "x"), ("b", "x"), ("a", "y"), ("c", "y")]
    assert answer(PATH, make_client(max_items=4), tokens=token_documents(rows), across_areas=True)["n_items"] == 3
