"""Tie-aware, top-weighted rank correlation.

Scores become a `Ranking`, two rankings become item weights, and both become a `RankCorrelation`.

- rankings: `Ranking.from_scores`, `Ranking.from_ranks`, `Ranking.from_order`
- coefficients of two rankings: `weighted_rho`, `weighted_tau`, and `kendall_gamma` of two score matrices
- of many: `correlate_many` (one gold ranking, many systems), `correlation_matrix`
- weights: `item_weights`; in place of 1/(n + n0)^2: `Hyperbolic`, `Logarithmic`, `TopK`, `Uniform`
- what n0 means: `first_rank_share`, `top_share`, `offset_for_share`
- errors: all are subclasses of `RankingError`

Where a function takes a ranking it takes a `Ranking`, plain scores (larger is better), or a mapping of label to score.

>>> from rankcorr import weighted_tau
>>> round(weighted_tau([4, 3, 2, 1], [4, 3, 1, 2]).statistic, 4)
0.8843
"""

from rankcorr.batch import RankCorrelations, correlate_many, correlation_matrix
from rankcorr.correlation import RankCorrelation, kendall_gamma, weighted_rho, weighted_tau
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LabelMismatchError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    RankingError,
    ShareError,
    TableError,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    WeightError,
)
from rankcorr.ranking import Ranking
from rankcorr.shares import first_rank_share, offset_for_share, top_share
from rankcorr.weights import Hyperbolic, InverseSquare, Logarithmic, TopK, Uniform, item_weights

__version__ = "0.1.0"

__all__ = [
    "DimensionError",
    "DuplicateLabelError",
    "Hyperbolic",
    "InverseSquare",
    "LabelError",
    "LabelMismatchError",
    "LengthError",
    "Logarithmic",
    "MissingValueError",
    "NonNumericError",
    "OptionError",
    "RankCorrelation",
    "RankCorrelations",
    "Ranking",
    "RankingError",
    "ShareError",
    "TableError",
    "TooFewItemsError",
    "TopK",
    "UndefinedCorrelationWarning",
    "Uniform",
    "WeightError",
    "correlate_many",
    "correlation_matrix",
    "first_rank_share",
    "item_weights",
    "kendall_gamma",
    "offset_for_share",
    "top_share",
    "weighted_rho",
    "weighted_tau",
]
