"""Tie-aware, top-weighted rank correlation.

Scores become a `Ranking`, two rankings become item weights, and both become a `RankCorrelation`:

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
