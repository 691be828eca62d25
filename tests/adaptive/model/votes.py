"""Comparisons for property tests; ties, items never compared and repeated pairs are common."""

import numpy as np
from hypothesis import strategies as st

from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._comparisons import Comparisons

WORDS = {LEFT: "left", TIE: "tie", RIGHT: "right"}
# One line of text without spaces around it; delimiters, quotes and other scripts are common.
CELLS = st.text(st.sampled_from("aßЖ,;|\"' 1_-"), min_size=1, max_size=6).filter(lambda text: text == text.strip())
LABELS = st.one_of(CELLS, st.tuples(CELLS, CELLS))


@st.composite
def comparisons(draw, *, labels=None, voters=None, min_size=0):
    """Comparisons of 2 to 6 items, numbered unless a strategy of strategies of labels is given; with voters or not."""
    if labels is None:
        items = range(draw(st.integers(2, 6)))
    else:
        kind = draw(labels)
        items = tuple(draw(st.lists(kind, min_size=2, max_size=6, unique=True)))
    pairs = st.tuples(st.integers(0, len(items) - 1), st.integers(1, len(items) - 1))
    row = st.tuples(pairs, st.sampled_from([LEFT, TIE, RIGHT]), st.integers(0, 2))
    rows = draw(st.lists(row, min_size=min_size, max_size=12))
    left = np.array([pair[0] for pair, _, _ in rows], np.int32)
    right = np.array([(pair[0] + pair[1]) % len(items) for pair, _, _ in rows], np.int32)
    winner = np.array([code for _, code, _ in rows], np.int8)
    if not (draw(st.booleans()) if voters is None else voters):
        return Comparisons(items, left, right, winner)
    return Comparisons(items, left, right, winner, ("Ann", "Bob", "Zoë"), np.array([v for _, _, v in rows], np.int32))


def spelt_out(votes):
    """Items and comparisons as the naive twins take them."""
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True)
    return list(votes.items), [(votes.items[left], votes.items[right], WORDS[code]) for left, right, code in columns]


def rows_of(votes):
    """Each comparison by its labels: voter, left, right and winner."""
    _, triples = spelt_out(votes)
    voters = [None] * len(triples) if votes.voter is None else [votes.voters[place] for place in votes.voter.tolist()]
    return [(voter, *triple) for voter, triple in zip(voters, triples, strict=True)]


def small(**changes):
    """Two comparisons of three items by two voters."""
    fields = {"items": ("a", "b", "c"), "left": [0, 1], "right": [1, 2], "winner": [LEFT, TIE]}
    fields |= {"voters": ("Ann", "Bob"), "voter": [0, 1], "n_unanswered": 0}
    return Comparisons(**{**fields, **changes})
