"""Lists of groups for property tests; ties are common."""

from hypothesis import strategies as st

LABELS = "abcdefgh"


@st.composite
def grouped(draw, min_items=2, max_items=7):
    """Some of the labels in an order that is cut into groups of ties."""
    order = draw(st.permutations(LABELS))[: draw(st.integers(min_items, max_items))]
    cuts = draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    groups = []
    for label, cut in zip(order, cuts, strict=True):
        if cut or not groups:
            groups.append([])
        groups[-1].append(label)
    return groups


@st.composite
def grouped_alike(draw, n_items=4):
    """The same labels twice, in two orders that are cut into groups of ties."""
    pool = LABELS[:n_items]
    lists = []
    for _ in range(2):
        groups = []
        for label in draw(st.permutations(pool)):
            if not groups or draw(st.booleans()):
                groups.append([])
            groups[-1].append(label)
        lists.append(groups)
    return tuple(lists)
