"""Covariance of the parameters of a fit to choices, from the model or from clusters of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.choices._events import Events
from adaptive.errors import ModelError
from adaptive.model._likelihood import with_level
from adaptive.model._strengths import LEAST_CLUSTERS

Array: TypeAlias = NDArray[Any]
ROBUST_RATIO: Final = 1.5
_ROUNDING: Final = 1e-9  # in the effective number of clusters
_PRECISION: Final = 1e-20  # relative, of squared residuals
_SPARE_STEPS: Final = 50  # conjugate gradients need more than one step per parameter, because of rounding errors


def covariance_of(
    events: Events, clusters: Array | None, probabilities: Array, information: Array, n_items: int, precision: float
) -> tuple[Array, Array, float, list[str]]:
    """Return the covariance of the parameters, their standard errors, the degrees of freedom, and warnings.

    If all answers about an item are equal, clusters give no estimate of its variance. The standard error of a parameter
    is therefore the larger of the clusters' and the model's (Angrist and Pischke, Mostly Harmless Econometrics, 2009,
    section 8.1). The variance of the difference of two strengths is the larger one, too.

    Parameters
    ----------
    events, clusters
        As in `Choices`.
    probabilities : ndarray of float64, shape (n_outcomes,)
    information : ndarray of float64, shape (n_parameters, n_parameters)
        Includes the precision of the prior.
    n_items : int
        Number of strengths, which are the first parameters and have mean 0.
    precision : float
        Precision of the prior of the strengths.

    Raises
    ------
    ModelError
        There is only one cluster, or no choice with a weight above 0.
    """
    inverse = np.linalg.inv(with_level(information, n_items))
    centring = np.eye(len(information))
    centring[:n_items, :n_items] -= 1.0 / n_items
    of_model: Array = centring @ inverse @ centring.T
    if clusters is None:
        return of_model, _errors(of_model), np.inf, []
    ways = [column[events.count > 0] for column in clusters.reshape(len(clusters), -1).T]
    weights = events.count[events.count > 0]
    if not weights.size:
        raise ModelError("standard errors between clusters need choices with a weight above 0")
    n_equal, n_clusters = min((effective_clusters(weights, way), len(np.unique(way))) for way in ways)
    degrees_of_freedom = max(1.0, n_equal - 1.0)
    if n_clusters < 2:
        raise ModelError(
            "all choices are in one cluster, such as one voter: standard errors between clusters need several"
        )
    warnings = []
    if n_equal < LEAST_CLUSTERS - _ROUNDING:
        few = f"there are only {n_clusters} clusters"
        unequal = f"the {n_clusters} clusters are of unequal size and count as {n_equal:.1f}"
        warnings.append(
            f"{few if n_clusters < LEAST_CLUSTERS else unequal}: standard errors from fewer than {LEAST_CLUSTERS} are "
            f"imprecise; intervals follow Student's t with {degrees_of_freedom:.1f} degrees of freedom"
        )
    spread = _sum_over_ways(clusters, lambda way: _jackknife(events, way, probabilities, inverse))
    spread += precision * inverse[:, :n_items] @ inverse[:n_items]  # the variance of the prior, where choices are few
    of_clusters = centring @ spread @ centring.T
    errors = _errors(of_clusters), _errors(of_model)
    if (ratio := float(np.median((errors[0] / np.maximum(1e-150, errors[1]))[:n_items]))) > ROBUST_RATIO:
        warnings.append(
            f"choices within a cluster depend on each other: standard errors are {ratio:.1f} times those for "
            "independent choices"
        )
    larger = np.maximum(*errors)
    covariance = of_clusters + np.diag(larger**2 - errors[0] ** 2)
    items = slice(n_items), slice(n_items)
    covariance[items] = _larger_contrasts(of_clusters[items], of_model[items])
    return covariance, larger, degrees_of_freedom, warnings


def _errors(covariance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(0.0, np.diagonal(covariance))))


def _larger_contrasts(*covariances: Array) -> Array:
    """Return a covariance of centred strengths that gives each difference of two its largest variance in any input."""
    diagonals = [np.diagonal(covariance) for covariance in covariances]
    variances = [
        diagonal[:, np.newaxis] + diagonal - 2.0 * covariance
        for diagonal, covariance in zip(diagonals, covariances, strict=True)
    ]
    products = -0.5 * np.maximum.reduce(variances)
    products -= products.mean(axis=0)
    return _without_negative(products - products.mean(axis=1, keepdims=True))


def _without_negative(matrix: Array) -> Array:
    """Return the symmetric matrix with its negative eigenvalues set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def effective_clusters(count: Array, clusters: Array) -> float:
    """Return the effective number of clusters: (sum of sizes)^2 / sum of squared sizes.

    Intervals follow Student's t distribution with one degree of freedom less than this number (Carter, Schnepel and
    Steigerwald, The Review of Economics and Statistics 99, 2017, on clusters of unequal size). For two-way clusters,
    it is the smaller number (Cameron and Miller, Journal of Human Resources 50, 2015, section VI.D).

    Examples
    --------
    >>> effective_clusters(np.ones(6), np.array([0, 0, 1, 1, 2, 2]))
    3.0
    >>> effective_clusters(np.ones(4), np.array([0, 1, 1, 1]))
    1.6
    """
    sizes = (np.bincount(column, weights=count) for column in clusters.reshape(len(clusters), -1).T)
    return min(float(size.sum()) ** 2 / max(1e-300, float(size @ size)) for size in sizes)


def cluster_products(events: Events, clusters: Array, probabilities: Array) -> Array:
    """Return the sum over clusters of the outer products of their scores, with a correction for few clusters."""
    from scipy.sparse import csr_array

    scores = events.scores(probabilities)

    def products(cluster: Array) -> Array:
        counts = csr_array((events.count, (cluster, np.arange(cluster.size))))
        sums, n_clusters = counts @ scores, _n_clusters(events, cluster)
        return np.asarray(n_clusters / max(1, n_clusters - 1) * (sums.T @ sums).toarray())

    return _sum_over_ways(clusters, products)


def _sum_over_ways(clusters: Array, products: Callable[[Array], Array]) -> Array:
    """Return the products of one-way clusters, or combine those of two ways (Cameron, Gelbach and Miller 2011).

    For two ways, the products of clusters by both ways together are subtracted from the sum. Negative eigenvalues of
    the result are set to 0.
    """
    columns = clusters.reshape(len(clusters), -1).T
    if len(columns) == 1:
        return products(columns[0])
    both = np.unique(columns, axis=1, return_inverse=True)[1].ravel()
    total = products(columns[0]) + products(columns[1])
    units = np.sqrt(np.maximum(0.0, np.diagonal(total)))  # covariates may have any unit
    units[units == 0] = 1.0
    scale = np.outer(units, units)
    return scale * _without_negative((total - products(both)) / scale)


def _jackknife(events: Events, cluster: Array, probabilities: Array, inverse: Array) -> Array:
    """Return the jackknife covariance of the parameters: each cluster is left out in turn, by one Newton step.

    Without cluster g, the parameters change by (A - A_g)^-1 s_g, where A is the information of all clusters, A_g that
    of g, and s_g the gradient of g. This is CV3 of MacKinnon, Nielsen and Webb (Journal of Econometrics 232, 2023). The
    simpler A^-1 s_g makes errors too small if some clusters are large. Preconditioned conjugate gradients, with A^-1 as
    the preconditioner, solve the systems of all clusters at once. They work on A times the changes, which is zero for
    every parameter that does not occur in the answers of a cluster.
    """
    from scipy.sparse import csr_array

    from adaptive.model._likelihood_kernels import block_products

    design, starts, n_parameters = events.design, events.outcome_starts[:-1], len(inverse)
    of_term = np.repeat(cluster[events.event], np.diff(design.indptr)) * n_parameters + design.indices
    keys, columns = np.unique(of_term, return_inverse=True)
    of_key, parameter = np.divmod(keys, n_parameters)
    n_clusters = int(cluster.max()) + 1
    first = np.searchsorted(of_key, np.arange(n_clusters + 1))
    # The same coefficients, with a separate column for each pair of cluster and parameter.
    cluster_design = csr_array((design.data, columns, design.indptr), shape=(design.shape[0], keys.size))
    weights = probabilities * events.count[events.event]

    def multiply_information(directions: Array) -> Array:
        """Return A_g d for the direction d of each cluster."""
        logits = cluster_design @ directions
        logits -= np.add.reduceat(probabilities * logits, starts)[events.event]
        return np.asarray(cluster_design.T @ (weights * logits))

    def totals(products: Array) -> Array:
        return np.bincount(of_key, products, n_clusters)

    slopes = -weights
    slopes[events.choice] += events.count
    residuals = cluster_design.T @ slopes
    steps = block_products(inverse, parameter, first, residuals)
    directions, images = steps, residuals  # images: A d
    moved = np.zeros(keys.size)
    power = start = totals(residuals * steps)
    for _ in range(n_parameters + _SPARE_STEPS):
        remainder = images - multiply_information(directions)
        curvature = totals(directions * remainder)
        is_open = (power > _PRECISION * start) & (curvature > _PRECISION * totals(directions * images))
        if not is_open.any():
            break
        length = np.divide(power, curvature, out=np.zeros(n_clusters), where=is_open)[of_key]
        moved += length * images
        residuals = residuals - length * remainder
        steps = block_products(inverse, parameter, first, residuals)
        power, previous = totals(residuals * steps), power
        ratio = np.divide(power, previous, out=np.zeros(n_clusters), where=is_open)[of_key]
        directions, images = steps + ratio * directions, residuals + ratio * images
    moves = csr_array((moved, (of_key, parameter)), shape=(n_clusters, n_parameters))
    share = 1.0 - 1.0 / _n_clusters(events, cluster)
    return np.asarray(share * inverse @ (moves.T @ moves).toarray() @ inverse)


def _n_clusters(events: Events, cluster: Array) -> int:
    """Return the number of clusters that have an answer with a weight above 0."""
    return len(np.unique(cluster[events.count > 0]))
