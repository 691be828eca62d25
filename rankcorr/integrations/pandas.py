"""A coefficient for `DataFrame.corr` of pandas, which treats it as a symmetric function."""

from collections.abc import Callable
from typing import Any

from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr.errors import OptionError


def corr_method(coefficient: CoefficientLike = "tau_w") -> Callable[[Any, Any], float]:
    """Return a coefficient for ``frame.corr(method=...)``.

    pandas calls it once for each two columns, with the rows that are finite in both, and fills in the other half of the
    matrix and a diagonal of 1. Two columns with fewer than two finite rows in common are an error, unless
    ``min_periods=2`` makes their value nan. `correlation_matrix(frame).to_frame()` calls each coefficient unchanged: it
    drops no row, its diagonal is nan for a column with all values tied, and it may be asymmetric.

    Parameters
    ----------
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}

    Returns
    -------
    callable

    Raises
    ------
    OptionError
        The coefficient is unknown, or only one of the two rankings determines the weights, so that the matrix is not
        symmetric.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"gold": [4, 3, 2, 1], "bm25": [9.5, 7.5, 0.5, 1.5]})
    >>> frame.corr(method=corr_method("tau_w")).loc["gold", "bm25"].round(4)
    np.float64(0.8843)
    """
    coefficient_value = as_coefficient(coefficient)
    if coefficient_value.swapped != coefficient_value:
        raise OptionError(
            f"{coefficient_value!r} is not symmetric, and DataFrame.corr would fill in half of its matrix: use "
            "correlation_matrix(frame, coefficient=...).to_frame()"
        )

    def correlate(x: Any, y: Any) -> float:
        return float(coefficient_value.correlate(x, y))

    correlate.__name__ = coefficient_value.name
    return correlate
