"""Compiled loop over clusters of answers, in its own module so that numba loads only when it is needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import kernel


@kernel
def block_products(
    matrix: NDArray[Any], row: NDArray[Any], starts: NDArray[Any], vector: NDArray[Any]
) -> NDArray[np.float64]:
    """Multiply each part of a vector by its block of a matrix.

    Part k is `vector[starts[k]:starts[k + 1]]`, and its block has the rows and columns `row[starts[k]:starts[k + 1]]`.
    """
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
