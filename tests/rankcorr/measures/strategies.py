"""Lists of groups for property tests; ties are common."""

from hypothesis import strategies as st

LABELS = "abcdefgh"


def in_groups(draw, order):
    groups = []
    for label in order:
        if not groups or draw(st.booleans()):
            groups.append([])
        groups[-1].append(label)
    return groups


@st.composite
def grouped(draw, min_items=1, max_items=7):
    """Some of the labels in an order that is cut into groups of ties."""
    return in_groups(draw, draw(st.permutations(LABELS))[: draw(st.integers(min_items, max_items))])


@st.composite
def grouped_alike(draw, n_items=4):
    """The same labels twice, in two orders that are cut into groups of ties."""
    return tuple(in_groups(draw, draw(st.permutations(LABELS[:n_items]))) for _ in range(2))
