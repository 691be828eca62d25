"""Tie-aware, top-weighted rank correlation.

Scores become a `Ranking`, two rankings become item weights, and both become a `RankCorrelation`.

- rankings: `Ranking.from_scores`, `Ranking.from_ranks`, `Ranking.from_order`
- coefficients of two rankings: `weighted_rho` and `weighted_tau`; of two score matrices: `kendall_gamma`
- coefficients with their options as one value: `RhoW`, `TauW`, `Rho`, `Tau`. Other functions accept the value or its
  name. `Pearson` compares scores
- many values in one call: `correlate` (several coefficients), `correlate_many` (one gold ranking, many systems),
  `correlation_matrix`
- uncertainty: `null_distribution`, `permutation_test`, `correlation_interval`
- comparison of systems: `compare_systems`, `compare_many`, `leaderboard`, `holm`, `rank_sets`, and `contributions` for
  the items behind a value
- top-k lists: the option `missing` of all these functions, and `coefficient_bounds`
- weights: `item_weights`; the weighers `Hyperbolic`, `Logarithmic`, `TopK` and `Uniform` replace 1/(n + n0)^2
- the meaning of n0: `first_rank_share`, `top_share`, `offset_for_share`
- `Report`: methods, results and limits of a result for a paper, from its method `report`
- errors: all are subclasses of `RankingError`
- `rankcorr.evaluation`: search results evaluated by query, with tests over queries
- `rankcorr.vectors`: word vectors evaluated on gold scores of word pairs
- `rankcorr.measures`: other measures for the same inputs
- `rankcorr.plots`: figures (extra `plot`)

Wherever a function takes a ranking, pass a `Ranking`, a mapping of label to score, or plain scores (larger is better),
which may be a pandas, polars or pyarrow series. Functions of many rankings also take a data frame with one ranking per
column.

>>> from rankcorr import weighted_tau
>>> round(weighted_tau([4, 3, 2, 1], [4, 3, 1, 2]).statistic, 4)
0.8843
"""

from rankcorr._batch import RankCorrelations, correlate_many, correlation_matrix
from rankcorr._bounds import CoefficientBounds, coefficient_bounds
from rankcorr._coefficients import Coefficient, Pearson, Rho, RhoW, Tau, TauW
from rankcorr._contributions import Contributions, ItemContribution, contributions
from rankcorr._correlation import correlate, kendall_gamma, weighted_rho, weighted_tau
from rankcorr._output.report import Report
from rankcorr._output.results import RankCorrelation
from rankcorr._ranking import Ranking, align
from rankcorr._shares import first_rank_share, offset_for_share, top_share
from rankcorr._weights import Hyperbolic, InverseSquare, Logarithmic, TopK, Uniform, item_weights
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LabelMismatchError,
    LengthError,
    ManyGoldSetsWarning,
    MissingPandasError,
    MissingValueError,
    NonNumericError,
    OptionError,
    RankingError,
    ShareError,
    StandardizationError,
    TableError,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    UnicodeFormWarning,
    WeightError,
)
from rankcorr.inference._gold_sets import group_items
from rankcorr.inference._interval import CorrelationInterval, correlation_interval
from rankcorr.inference._leaderboard import Leaderboard, LeaderboardRow, leaderboard
from rankcorr.inference._multiple_tests import RankSet, RankSets, holm, rank_sets
from rankcorr.inference._null import NullDistribution, PermutationTest, null_distribution, permutation_test
from rankcorr.inference._system_comparison import (
    ComparedPair,
    SystemComparison,
    SystemComparisons,
    compare_many,
    compare_systems,
)

__version__ = "0.1.0"

__all__ = ["RankCorrelations", "align", "correlate_many", "correlation_matrix"]
__all__ += ["CoefficientBounds", "coefficient_bounds"]
__all__ += ["Coefficient", "Pearson", "Rho", "RhoW", "Tau", "TauW"]
__all__ += ["Contributions", "ItemContribution", "contributions"]
__all__ += ["correlate", "kendall_gamma", "weighted_rho", "weighted_tau"]
__all__ += ["DimensionError", "DuplicateLabelError", "LabelError", "LabelMismatchError", "LengthError"]
__all__ += ["ManyGoldSetsWarning", "MissingPandasError", "MissingValueError", "NonNumericError", "OptionError"]
__all__ += ["RankingError", "ShareError", "StandardizationError", "TableError", "TooFewItemsError"]
__all__ += ["UndefinedCorrelationWarning", "UnicodeFormWarning", "WeightError"]
__all__ += ["CorrelationInterval", "NullDistribution", "PermutationTest"]
__all__ += ["correlation_interval", "null_distribution", "permutation_test"]
__all__ += ["Leaderboard", "LeaderboardRow", "group_items", "leaderboard"]
__all__ += ["ComparedPair", "SystemComparison", "SystemComparisons", "compare_many", "compare_systems", "holm"]
__all__ += ["RankSet", "RankSets", "rank_sets"]
__all__ += ["RankCorrelation", "Ranking", "Report"]
__all__ += ["first_rank_share", "offset_for_share", "top_share"]
__all__ += ["Hyperbolic", "InverseSquare", "Logarithmic", "TopK", "Uniform", "item_weights"]
