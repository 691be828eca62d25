"""Measures of rankings, scores and annotators other than the top-weighted coefficients of `rankcorr`.

- overlap of lists that may differ in length and items: `rank_biased_overlap`
- correlation: `tau_ap` (AP correlation), `vigna_tau` (hyperbolic weights), `blest_nu`, `top_down_correlation` (Iman and
  Conover)
- against binary relevance: `average_precision`
- agreement of annotators: `krippendorff_alpha`, `alpha_interval`, `mean_pairwise_agreement`; `comparison_agreement`
  for pairwise votes
- one value for each item from many ratings: `mean_ratings`, `majority_vote`, `adjudicate` for disputed ratings
- errors: `RelevanceError`, `AnnotatorError`; both are subclasses of `RankingError`

>>> from rankcorr.measures import rank_biased_overlap
>>> round(rank_biased_overlap([4, 3, 2, 1], [4, 3, 1, 2]).extrapolated, 4)
0.973
"""

from rankcorr.measures._agreement import (
    Adjudication,
    AggregateRatings,
    PairwiseAgreement,
    adjudicate,
    comparison_agreement,
    majority_vote,
    mean_pairwise_agreement,
    mean_ratings,
)
from rankcorr.measures._alpha import AlphaInterval, alpha_interval, krippendorff_alpha
from rankcorr.measures._overlap import RankBiasedOverlap, RelevanceError, average_precision, rank_biased_overlap
from rankcorr.measures._rank_correlations import blest_nu, tau_ap, top_down_correlation, vigna_tau
from rankcorr.measures._ratings import AnnotatorError

__all__ = ["Adjudication", "AlphaInterval", "AnnotatorError", "PairwiseAgreement", "adjudicate", "alpha_interval"]
__all__ += ["comparison_agreement", "krippendorff_alpha", "mean_pairwise_agreement"]
__all__ += ["AggregateRatings", "majority_vote", "mean_ratings"]
__all__ += ["RelevanceError", "average_precision", "blest_nu", "tau_ap", "top_down_correlation", "vigna_tau"]
__all__ += ["RankBiasedOverlap", "rank_biased_overlap"]
