"""The covariance of the parameters of a fit to choices, by the model or by clusters of answers."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.choices._events import Events
from adaptive.errors import ModelError
from adaptive.model._strengths import LEAST_CLUSTERS

Array: TypeAlias = NDArray[Any]
FLAT: Final = 1e-10  # of the largest curvature: a direction with less has no maximum
ROBUST_RATIO: Final = 1.5
_ROUNDING: Final = 1e-9  # of the number of clusters of equal size


def covariance_of(
    events: Events, clusters: Array | None, probabilities: Array, information: Array, n_items: int, precision: float
) -> tuple[Array, float, list[str]]:
    """Return the covariance of the parameters, its degrees of freedom, and what clusters change about it.

    Where answers of one item are all alike, clusters tell nothing of its variance. The standard error of a parameter is
    therefore the larger of the clusters' and the model's, as Angrist and Pischke (Mostly Harmless Econometrics, 2009,
    section 8.1) advise; covariances are those of the clusters.

    Parameters
    ----------
    events, clusters
        As in `Choices`.
    probabilities : ndarray of float64, shape (n_outcomes,)
    information : ndarray of float64, shape (n_parameters, n_parameters)
        With the precision of the prior.
    n_items : int
        Strengths are the first parameters; their mean is held at 0.
    precision : float
        Of the prior of the strengths.

    Raises
    ------
    ModelError
        There is one cluster alone.
    """
    inverse = np.linalg.inv(information)
    centring = np.eye(len(information))
    centring[:n_items, :n_items] -= 1.0 / n_items
    of_model: Array = centring @ inverse @ centring.T
    if clusters is None:
        return of_model, np.inf, []
    n_clusters = min(len(np.unique(column[events.count > 0])) for column in clusters.reshape(len(clusters), -1).T)
    if n_clusters < 2:
        raise ModelError(
            "all choices are of one cluster, such as one voter: standard errors between clusters need several"
        )
    warnings = []
    ways = [column[events.count > 0] for column in clusters.reshape(len(clusters), -1).T]
    weights = events.count[events.count > 0]
    n_equal, n_clusters = min((effective_clusters(weights, way), len(np.unique(way))) for way in ways)
    if n_equal < LEAST_CLUSTERS - _ROUNDING:
        few = f"there are only {n_clusters} clusters"
        unequal = f"the {n_clusters} clusters are of unequal size and count as {n_equal:.1f}"
        warnings.append(
            f"{few if n_clusters < LEAST_CLUSTERS else unequal}: standard errors from fewer than {LEAST_CLUSTERS} are "
            "too small; intervals are wider to allow for that"
        )
    middle = cluster_products(events, clusters, probabilities)
    middle[:n_items, :n_items] += precision * np.eye(n_items)  # the prior bounds what the choices do not tell
    of_clusters = centring @ inverse @ middle @ inverse @ centring.T
    ratios = np.sqrt(np.diagonal(of_clusters) / np.maximum(1e-300, np.diagonal(of_model)))
    if (ratio := float(np.median(ratios[:n_items]))) > ROBUST_RATIO:
        warnings.append(
            f"choices of one cluster depend on each other: standard errors are {ratio:.1f} times those of "
            "independent choices"
        )
    shortfall = np.maximum(0.0, np.diagonal(of_model) - np.diagonal(of_clusters))
    return of_clusters + np.diag(shortfall), max(1.0, n_equal - 1.0), warnings


def effective_clusters(count: Array, clusters: Array) -> float:
    """Return the number of clusters of equal size that tell as much: (sum of sizes)^2 / sum of squared sizes.

    Intervals take Student's t with one degree of freedom less than this number (Carter, Schnepel and Steigerwald, The
    Review of Economics and Statistics 99, 2017, of clusters of unequal size). Of clusters in two ways it is the smaller
    number (Cameron and Miller, Journal of Human Resources 50, 2015, section VI.D).

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
    """Sum the products of the scores of clusters; in two ways, less those of both together."""
    from scipy.sparse import csr_array

    scores = events.scores(probabilities) * events.count[:, np.newaxis]
    columns = clusters.reshape(scores.shape[0], -1).T
    ways = [(1.0, column) for column in columns]
    if len(ways) == 2:
        ways.append((-1.0, np.unique(columns, axis=1, return_inverse=True)[1].ravel()))
    total = np.zeros((scores.shape[1],) * 2)
    for sign, column in ways:
        n_clusters = int(column.max()) + 1
        ones = (np.ones(column.size), (column, np.arange(column.size)))
        sums = csr_array(ones, shape=(n_clusters, column.size)) @ scores
        total += sign * n_clusters / max(1, n_clusters - 1) * (sums.T @ sums).toarray()
    if len(ways) == 1:
        return total
    values, vectors = np.linalg.eigh(total)
    clipped: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T  # a difference may have negative directions
    return clipped


def is_flat(information: Array, n_items: int) -> bool:
    """Return whether some direction has next to no curvature, whatever the units of covariates and the common level."""
    fixed = information.copy()
    fixed[:n_items, :n_items] += np.diagonal(information)[:n_items].mean() / n_items
    scale = np.sqrt(np.diagonal(fixed))
    if not (scale > 0).all():
        return True
    eigenvalues = np.linalg.eigvalsh(fixed / np.outer(scale, scale))
    return bool(eigenvalues[0] < FLAT * eigenvalues[-1])
