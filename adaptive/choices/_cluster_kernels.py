"""A compiled loop over the clusters of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import kernel


@kernel
def block_products(
    matrix: NDArray[Any], row: NDArray[Any], starts: NDArray[Any], vector: NDArray[Any]
) -> NDArray[np.float64]:
    """Multiply the parts of a vector by blocks of a matrix: part k, from `starts`, by `matrix` at its rows `row`."""
    products = np.zeros(vector.size)
    for part in range(starts.size - 1):
        first, last = starts[part], starts[part + 1]
        for place in range(first, last):
            numbers = matrix[row[place]]
            total = 0.0
            for other in range(first, last):
                total += numbers[row[other]] * vector[other]
            products[place] = total
    return products
