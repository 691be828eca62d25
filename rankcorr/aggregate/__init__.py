"""Merge several rankings of the same items into one, and tell how far each ranking agrees with the result.

- scores of places: `borda`, `mean_rank`, `reciprocal_rank_fusion`
- the best ranking by a criterion: `kemeny` (fewest discordant pairs), `consensus` (largest mean tau_w)
- means of scores: `combine_submissions`, and `rank_weights`, weights for each of these functions

>>> from rankcorr import Ranking
>>> from rankcorr.aggregate import borda
>>> juries = {"first": Ranking.from_order(["ant", "bee", "cat"]), "second": Ranking.from_order(["bee", "ant", "cat"])}
>>> borda(juries).ranking
<Ranking of 3 items, 2 tied: 'ant' 1.5, 'bee' 1.5, 'cat' 3>
"""

from rankcorr.aggregate._rankings import MergedRanking, borda, consensus, kemeny, mean_rank, reciprocal_rank_fusion
from rankcorr.aggregate._submissions import combine_submissions, rank_weights

__all__ = ["MergedRanking", "borda", "combine_submissions", "consensus", "kemeny", "mean_rank", "rank_weights"]
__all__ += ["reciprocal_rank_fusion"]
