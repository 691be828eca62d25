"""Expressions of polars: importing this module adds `rankcorr` to each of them.

>>> import polars as pl
>>> import rankcorr.integrations.polars
>>> frame = pl.DataFrame({"query": [*"aaabb"], "gold": [3, 2, 1, 1, 2], "bm25": [9.5, 7.5, 8.0, 4.0, 5.0]})
>>> means = frame.group_by("query", maintain_order=True).agg(tau_w=pl.col("gold").rankcorr.tau_w("bm25"))
>>> means.rows()
[('a', 0.6251...), ('b', 1.0)]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rankcorr._coefficients import Coefficient, CoefficientLike, Rho, RhoW, Tau, TauW, as_coefficient
from rankcorr._weights import DEFAULT_N0
from rankcorr.errors import LengthError
from rankcorr.evaluation._columns import checked_values
from rankcorr.evaluation._grouped import group_coefficients


@pl.api.register_expr_namespace("rankcorr")
class RankCorrelationExpr:
    """Rank correlations of two columns, in `select`, `group_by().agg`, `over`, and lazy frames.

    The expression before the dot is gold, x in `weighted_tau`. The value is a float. It is nan if the coefficient is
    undefined, because a group has fewer than two rows or one column is a single tie; ``drop_nans()`` then leaves the
    group out of a mean. A null or nan in a column is a `MissingValueError`: filter the rows first.
    """

    def __init__(self, expression: pl.Expr) -> None:
        self._gold = expression

    def tau_w(self, other: str | pl.Expr, *, n0: float | None = DEFAULT_N0, **options: Any) -> pl.Expr:
        """Top-weighted Kendall correlation; `options` are those of `TauW`."""
        return self.correlate(other, TauW(n0=n0, **options))

    def rho_w(self, other: str | pl.Expr, *, n0: float | None = DEFAULT_N0, **options: Any) -> pl.Expr:
        """Top-weighted Spearman correlation; `options` are those of `RhoW`."""
        return self.correlate(other, RhoW(n0=n0, **options))

    def tau(self, other: str | pl.Expr) -> pl.Expr:
        """Kendall's tau-b."""
        return self.correlate(other, Tau())

    def rho(self, other: str | pl.Expr) -> pl.Expr:
        """Spearman's rho."""
        return self.correlate(other, Rho())

    def correlate(self, other: str | pl.Expr, coefficient: CoefficientLike = "tau_w") -> pl.Expr:
        """Correlate with another column by a coefficient with its options, such as ``TauW(n0=10)``."""
        coefficient_value = as_coefficient(coefficient)

        def of_group(columns: Sequence[pl.Series]) -> float:
            return _correlation(coefficient_value, *columns)

        gold, system = self._gold, pl.col(other) if isinstance(other, str) else other
        return pl.map_groups([gold, system], of_group, return_dtype=pl.Float64, returns_scalar=True)


def _correlation(coefficient: Coefficient, gold: pl.Series, system: pl.Series) -> float:
    x, y = checked_values(gold, "gold score"), checked_values(system, "score")
    if x.size != y.size:
        raise LengthError(f"both columns must have the same length; got {x.size} and {y.size} rows")
    return float(group_coefficients(coefficient, x, y, np.array([0, x.size], np.int64))[0])
