"""The other convention for ties in an estimate: break them at random."""

import numpy as np

from rankcorr import Ranking


def ties_at_random(ranking: Ranking, rng: np.random.Generator) -> Ranking:
    """Return a ranking that puts tied items in random order."""
    order = np.lexsort((rng.random(ranking.n_items), ranking.ranks))
    ranks = np.empty(ranking.n_items)
    ranks[order] = np.arange(1, ranking.n_items + 1)
    return Ranking.from_ranks(ranks)
