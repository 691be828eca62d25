"""The other convention for an estimate whose items tie: their order is drawn at random."""

import numpy as np

from rankcorr import Ranking


def ties_at_random(ranking: Ranking, rng: np.random.Generator) -> Ranking:
    """Ranking without ties: tied items come in random order."""
    order = np.lexsort((rng.random(ranking.n_items), ranking.ranks))
    ranks = np.empty(ranking.n_items)
    ranks[order] = np.arange(1, ranking.n_items + 1)
    return Ranking.from_ranks(ranks)
