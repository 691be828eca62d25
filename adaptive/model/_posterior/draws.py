"""Draw strengths from their joint posterior, by chains or from a normal approximation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import MAX_DENSE, Curvature, Parameters, Rows
from adaptive.model._posterior.chains import draw_by_chains
from adaptive.model._posterior.normal import draw_normal
from adaptive.model._posterior.opinions import Opinions
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]


def draw(
    curved: Curvature,
    at: Parameters,
    side_sd: float,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Array:
    """Draw from the joint posterior of strengths with the mean 0, shape (n_draws, n_items).

    The votes do not determine the common level, which has the width of the prior, so it is subtracted. Side biases, if
    fitted, have a normal prior with the standard deviation `side_sd`; with more than `MAX_DENSE` strengths and biases,
    chains take the biases as fitted. The numbers do not depend on the number of workers. `progress` is called with the
    number of draws made since its last call.
    """
    n_items = curved.rows.n_items
    precisions = side_precisions(curved.rows, at, side_sd)
    if n_items > MAX_DENSE:
        return draw_normal(curved, at, precisions, opinions, n_draws, rng, progress)
    if n_items + precisions.size > MAX_DENSE:
        precisions = precisions[:0]
    return draw_by_chains(curved, at, precisions, opinions, n_draws, rng, progress)


def side_precisions(rows: Rows, at: Parameters, side_sd: float) -> Array:
    """Return the precision of the prior of each side bias in units of theta; empty if none is fitted."""
    return (at.discrimination / side_sd) ** 2 if rows.model.side_bias else np.empty(0)
