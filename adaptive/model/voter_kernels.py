"""The loop over votes that says how well each voter's own parameters are known."""

from typing import Any

from numpy.typing import NDArray

from adaptive.model.kernels import vote_terms
from rankcorr.kernels import kernel

Array = NDArray[Any]


@kernel
def voter_information(
    left: Array,
    right: Array,
    group: Array,
    theta: Array,
    discrimination: Array,
    oversight: Array,
    side: Array,
    nu: float,
    link: int,
    half: bool,
    out: Array,
) -> None:
    """Fill `out`, shape (n_groups, 3, 3), with the expected information on log a, the log odds of e, and s."""
    out[:] = 0.0
    for k in range(left.size):
        v = group[k]
        own = discrimination[v] * (theta[left[k]] - theta[right[k]])
        of_odds = oversight[v] * (1.0 - oversight[v])
        for outcome in range(-1, 2):
            if outcome == 0 and (half or nu == 0.0):  # no outcome of its own
                continue
            chance, score, _, _, _, in_oversight = vote_terms(outcome, own + side[v], oversight[v], nu, link, half)
            slopes = (score * own, in_oversight * of_odds, score)
            for i in range(3):
                for j in range(3):
                    out[v, i, j] += chance * slopes[i] * slopes[j]
