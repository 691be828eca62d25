"""How likely each population of voters is, given how likely each voter's votes are at each level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# Cells of the levels, narrow near 0: 40 of s up to 1, and 30 of e up to 0.5, where answers say nothing.
LEVEL_EDGES: Final = (np.arange(41) / 40) ** 2
LAPSE_EDGES: Final = 0.5 * (np.arange(31) / 30) ** 2


@dataclass(frozen=True, eq=False)
class Posterior:
    """Marginals of the square roots of the four numbers, each flat before any vote, given that ends are in order.

    Attributes
    ----------
    values : tuple of 4 ndarray
        Square roots, equally spaced.
    weights : tuple of 4 ndarray
        Probabilities.
    """

    values: tuple[Array, ...]
    weights: tuple[Array, ...]

    @property
    def mean(self) -> Array:
        """Means of the square roots, shape (4,)."""
        return np.array([values @ weights for values, weights in zip(self.values, self.weights, strict=True)])

    def quantile(self, probabilities: Array) -> Array:
        """Values below which each number lies with these probabilities, shape (4,)."""
        return np.array([np.interp(p, *self._curve(k)[::-1]) for k, p in enumerate(probabilities)])

    def _curve(self, k: int) -> tuple[Array, Array]:
        """Values and cumulative probabilities; each weight is spread over the step around its value."""
        values, weights = self.values[k], self.weights[k]
        half = (values[1] - values[0]) / 2
        grown = np.maximum(weights, 1e-9)  # strictly increasing, so that the inverse exists
        return np.append(values - half, values[-1] + half), np.append(0.0, np.cumsum(grown / grown.sum()))


def box_posterior(surfaces: Array) -> Posterior:
    """Posterior of the ends of s and e: the likelihood of a box is the product over voters of their means in it.

    Parameters
    ----------
    surfaces : ndarray of float64, shape (n_voters, n_levels, n_lapses)
        Log-likelihoods in the middle of the cells; they are overwritten.
    """
    from adaptive.simulation.population_kernels import box_log_likelihoods

    surfaces -= surfaces.max(axis=(1, 2), keepdims=True)
    np.exp(surfaces, out=surfaces)
    surfaces *= np.diff(LEVEL_EDGES)[:, np.newaxis] * np.diff(LAPSE_EDGES)
    mass = np.zeros((LEVEL_EDGES.size, LAPSE_EDGES.size, surfaces.shape[0]))
    mass[1:, 1:] = np.cumsum(np.cumsum(surfaces, axis=1), axis=2).transpose(1, 2, 0)
    boxes = np.empty((LEVEL_EDGES.size - 1,) * 2 + (LAPSE_EDGES.size - 1,) * 2)
    box_log_likelihoods(mass, LEVEL_EDGES, LAPSE_EDGES, boxes)
    boxes -= boxes.max()
    np.exp(boxes, out=boxes)
    boxes /= boxes.sum()
    roots = np.sqrt(LEVEL_EDGES), np.sqrt(LAPSE_EDGES)
    values = roots[0][:-1], roots[0][1:], roots[1][:-1], roots[1][1:]
    others = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
    return Posterior(values, tuple(np.asarray(boxes.sum(axis=axes)) for axes in others))
