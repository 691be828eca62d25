"""Holm's correction of many p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.errors import DimensionError, NonNumericError, OptionError


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Holm's correction: p-values that may each be compared with the level alpha, although there are many.

    With the m p-values in ascending order, the k-th becomes the largest of (m - j + 1) p_j over j <= k, and at most 1.
    The chance that any true null hypothesis is rejected at the level alpha is then at most alpha, however the tests
    depend on each other.

    Parameters
    ----------
    pvalues : array_like of shape (n_tests,)
        nan stands for a test that does not exist: it stays nan, and does not count among the m.

    Returns
    -------
    ndarray of float64, shape (n_tests,)
        In the order of `pvalues`.

    Raises
    ------
    RankingError
        `OptionError` for a value outside [0, 1], `NonNumericError`, `DimensionError`.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    try:
        array = np.asarray(pvalues)
    except ValueError as error:  # rows of different lengths
        raise DimensionError("p-values must have one dimension; their rows differ in length") from error
    if array.ndim != 1:
        raise DimensionError(f"p-values must have one dimension; got an array of shape {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise NonNumericError(f"every p-value must be a real number; got an array of {array.dtype}")
    array = array.astype(np.float64)
    wrong = np.flatnonzero((array < 0) | (array > 1))
    if wrong.size:
        raise OptionError(f"a p-value is between 0 and 1, or nan; pvalues[{wrong[0]}] is {array[wrong[0]]}")
    corrected = np.full(array.size, np.nan)
    order = np.argsort(array)[: np.count_nonzero(~np.isnan(array))]  # nan sorts last
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * array[order]))
    return corrected
