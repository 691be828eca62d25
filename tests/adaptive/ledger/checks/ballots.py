"""Ballots cut into sheets, and known pairs, for the tests of probes."""

from collections import defaultdict

import numpy as np

from adaptive._draw import draw_ballot
from adaptive.ledger._ballots.draws import Drawn, Known, ProbeDraw
from adaptive.ledger._campaign.info import KnownPair

KIND_OF = {0: "attention", 1: "gold"}


def drawn_for(n_items, presentations, n_slots, size, rng):
    """A drawn ballot: the comparisons of each slot, cut one after the other."""
    ballot = draw_ballot(n_items, presentations, n_slots, rng)
    sheet, position, slots = np.zeros(ballot.n_comparisons, int), np.zeros(ballot.n_comparisons, int), []
    for slot in range(n_slots):
        places = np.flatnonzero(ballot.voter == slot)
        for start in range(0, places.size, size or max(1, places.size)):
            part = places[start : start + size] if size else places
            sheet[part], position[part] = len(slots), np.arange(part.size)
            slots.append(slot)
    return Drawn(sheet, position, ballot.left.astype(int), ballot.right.astype(int), np.array(slots))


def known_pairs(items, practice=0):
    """Neighbours among items as known pairs, practice first."""
    labels = list(items)
    pairs = list(zip(labels[::2], labels[1::2], strict=True))
    return tuple(
        KnownPair("practice" if at < practice else KIND_OF[at % 2], *pair, ("left", "right", "tie")[at % 3])
        for at, pair in enumerate(pairs)
    )


def known_places(known):
    codes = {"left": 1, "right": -1, "tie": 0}
    return tuple(Known(each.kind, each.left, each.right, codes[each.expected]) for each in known)


def probes_of(probing, known, drawn, *, seen=None, practised=(), rng):
    return ProbeDraw(probing, known_places(known), drawn, seen or {}, practised, rng).probes()


def places_by_sheet(drawn):
    found = defaultdict(list)
    for place in np.lexsort((drawn.position, drawn.sheet)).tolist():
        found[int(drawn.sheet[place])].append(place)
    return found
