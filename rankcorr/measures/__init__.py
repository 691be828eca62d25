"""Measures of rankings, scores and annotators other than the top-weighted coefficients of `rankcorr`.

- overlap of lists that may differ in length and items: `rank_biased_overlap`
- correlation: `tau_ap` (AP correlation), `vigna_tau` (hyperbolic weights), `pearson` (of the scores themselves)
- against binary relevance: `average_precision`, `precision_at`
- agreement of annotators: `krippendorff_alpha`, `mean_pairwise_agreement`, `outlying_annotators`
- against votes on comparisons: `reliability_weighted_score`
- a gold standard from a shared task: `best_per_team`, `combine_submissions`
- errors: `RelevanceError`, `AnnotatorError`, `ComparisonError`; all are subclasses of `RankingError`

>>> from rankcorr.measures import rank_biased_overlap
>>> round(rank_biased_overlap([4, 3, 2, 1], [4, 3, 1, 2]).extrapolated, 4)
0.973
"""

from rankcorr.measures.annotators import (
    AnnotatorError,
    OutlyingAnnotators,
    PairwiseAgreement,
    krippendorff_alpha,
    mean_pairwise_agreement,
    outlying_annotators,
)
from rankcorr.measures.correlations import pearson, tau_ap, vigna_tau
from rankcorr.measures.overlap import RankBiasedOverlap, rank_biased_overlap
from rankcorr.measures.precision import RelevanceError, average_precision, precision_at
from rankcorr.measures.reliability import ComparisonError, ReliabilityScore, reliability_weighted_score
from rankcorr.measures.submissions import CombinedSubmissions, best_per_team, combine_submissions

__all__ = [
    "AnnotatorError",
    "CombinedSubmissions",
    "ComparisonError",
    "OutlyingAnnotators",
    "PairwiseAgreement",
    "RankBiasedOverlap",
    "RelevanceError",
    "ReliabilityScore",
    "average_precision",
    "best_per_team",
    "combine_submissions",
    "krippendorff_alpha",
    "mean_pairwise_agreement",
    "outlying_annotators",
    "pearson",
    "precision_at",
    "rank_biased_overlap",
    "reliability_weighted_score",
    "tau_ap",
    "vigna_tau",
]
