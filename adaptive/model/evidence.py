"""How far strengths spread, by the marginal likelihood of the votes in Laplace's approximation.

With H the curvature of the log posterior at its mode theta, the votes of n items have at the standard deviation t of
the prior the log marginal likelihood l(theta) - |theta|^2 / (2 t^2) - n log t - log det(H) / 2, up to a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.curvature import Curvature, Parameters

Array: TypeAlias = NDArray[Any]

MAX_DENSE: Final = 1_500  # items up to which a determinant is exact: 0.1 s at 1,500
_PROBE_NUMBERS: Final = 40_000  # random signs; at most 16 columns, at least 2
_LANCZOS_STEPS: Final = 40
_GRID_STEPS: Final = 12  # of a factor of 1.7
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0


def log_evidence(curved: Curvature, at: Parameters) -> float:
    """Log marginal likelihood of the votes at `at.sd`, `at` being the mode."""
    squares = float(at.theta @ at.theta)
    scaled = log_determinant(curved) + 2.0 * at.theta.size * math.log(at.sd)
    return curved.log_likelihood - 0.5 * (squares * at.precision + scaled)


def log_determinant(curved: Curvature) -> float:
    """Logarithm of the determinant of H: exact up to 1,500 items, else by stochastic Lanczos quadrature.

    The diagonal is exact; what remains is estimated with the same random signs every time (Ubaru, Chen and Saad 2017),
    so that differences between two spreads are far more exact than either.
    """
    n_items = curved.rows.n_items
    if n_items <= MAX_DENSE:
        return float(np.linalg.slogdet(curved.matrix())[1])
    from scipy.linalg import eigh_tridiagonal
    from scipy.sparse import coo_array

    rows, root = curved.rows, np.sqrt(curved.diagonal)
    outer = np.concatenate([rows.left, rows.right]), np.concatenate([rows.right, rows.left])
    values = -np.tile(curved.weight, 2) / (root[outer[0]] * root[outer[1]])
    rest = coo_array((values, outer), (n_items, n_items)).tocsr()
    n_probes = max(2, min(16, _PROBE_NUMBERS // n_items))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_items, n_probes))
    before, now = np.zeros_like(signs), signs / math.sqrt(n_items)
    diagonal, beside = np.empty((2, _LANCZOS_STEPS, n_probes))
    for step in range(_LANCZOS_STEPS):
        ahead = now + rest @ now
        diagonal[step] = np.sum(ahead * now, axis=0)
        ahead -= diagonal[step] * now
        if step:
            ahead -= beside[step - 1] * before
        beside[step] = np.maximum(np.linalg.norm(ahead, axis=0), 1e-12)
        before, now = now, ahead / beside[step]
    total = 0.0
    for probe in range(n_probes):
        nodes, vectors = eigh_tridiagonal(diagonal[:, probe], beside[:-1, probe])
        total += float(vectors[0] ** 2 @ np.log(np.maximum(nodes, 1e-12)))
    return 2.0 * float(np.log(root).sum()) + n_items * total / n_probes


def largest(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where a function of one number is largest: on a grid, then by golden section around its best point.

    One of the ends, exactly, where the function rises towards it.
    """
    grid = np.linspace(low, high, _GRID_STEPS + 1)
    found = [function(float(place)) for place in grid]
    best = int(np.argmax(found))
    if best in (0, _GRID_STEPS):
        inside = float(grid[best]) + (2.0 if best == 0 else -2.0) * tolerance
        if function(inside) <= found[best]:
            return float(grid[best])
    left, right = float(grid[max(0, best - 1)]), float(grid[min(_GRID_STEPS, best + 1)])
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    while right - left > tolerance:
        if at_inner >= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = function(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = function(outer)
    return 0.5 * (left + right)
