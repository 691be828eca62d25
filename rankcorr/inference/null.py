"""Two rankings -> all permutations of one, or many at random -> the coefficient by chance alone."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import Missing, align
from rankcorr.checks import checked_resamples, checked_seed
from rankcorr.coefficients import (
    Coefficient,
    CoefficientLike,
    as_coefficient,
)
from rankcorr.inference.distribution import NullDistribution
from rankcorr.inference.resampling import BLOCK_NUMBERS, in_blocks
from rankcorr.inference.standardization import exponent_of
from rankcorr.notices import warn_undefined
from rankcorr.ranking import Ranking, RankingLike
from rankcorr.scores import Ranks
from rankcorr.weights import READY_WEIGHERS, Uniform
from rankcorr.workers import Progress, checked_workers, in_threads

MAX_EXACT_ITEMS: Final = 8


def null_distribution(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> NullDistribution:
    """Distribution of a coefficient when the ranks of y are permuted against those of x.

    The weights depend on both rankings, and are computed again for each permutation. Up to 8 items every permutation
    is taken, and the result is exact; above, `n_resamples` random ones.

    The distribution depends on the two rankings through their length and ties alone. Without ties it is a function of
    the length: write ``null_distribution(range(n), range(n))``. It is kept for the next call where neither ranking has
    ties, the weigher is one of the library's, and `n_resamples` is at most 100,000.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name stands for the default options.
    missing : {"raise", "intersection", "bottom", "gold"}
        As in `weighted_tau`. Items are permuted after alignment.
    n_resamples : int
        Number of random permutations; ignored up to 8 items.
    seed : int
        The same seed gives the same permutations; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. A custom weigher is called from all of them.
    progress : callable, optional
        Called now and then with the number of permutations done since the last call. An exception that it raises stops
        the work.

    Returns
    -------
    NullDistribution

    Warns
    -----
    UndefinedCorrelationWarning
        The coefficient does not exist for some permutations: for all, where a ranking is a single tie; for a few, where
        all items that have weight may meet the same rank, or none may have weight (``TopK`` with the scheme
        "multiplicative").

    Raises
    ------
    RankingError
        The subclass says what is wrong with the rankings or the options.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, defines the coefficients. P. Lombardo, arXiv:2504.08428, 2025, asks for their standardization.

    Examples
    --------
    >>> null = null_distribution(range(100), range(100), n_resamples=1_000)
    >>> round(null.mean, 2), round(null.std, 2), round(null.quantile(0.95), 2)
    (-0.4, 0.16, -0.12)
    >>> round(null.standardize(0.0), 2), round(null.pvalue(0.0, "greater"), 3)
    (0.44, 0.023)
    """
    chosen = as_coefficient(coefficient)
    first, second = align(x, y, missing=missing)
    null = null_of(
        chosen,
        first,
        second,
        missing=missing,
        n_resamples=n_resamples,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    if null.n_undefined:
        warn_undefined(left_out(null), stacklevel=3)
    return null


def left_out(null: NullDistribution) -> str:
    """Why a warning is given if the coefficient is undefined for some permutations."""
    return (
        f"in {null.n_undefined:,} of {null.n_resamples:,} permutations, which are left out, all items that have weight "
        "are tied in one ranking, or none has weight"
    )


def null_of(
    coefficient: Coefficient,
    x: Ranking,
    y: Ranking,
    *,
    missing: Missing,
    n_resamples: int,
    seed: int,
    workers: int | None,
    progress: Progress | None,
) -> NullDistribution:
    """Null distribution of aligned rankings, without warnings."""
    number, key, n_workers = checked_resamples(n_resamples), checked_seed(seed), checked_workers(workers)
    exact = x.n_items <= MAX_EXACT_ITEMS
    if exact:
        number, key = math.factorial(x.n_items), 0
    untied = x.n_ties == y.n_ties == 0
    keep = untied and type(coefficient.weighting.weigher) in READY_WEIGHERS and number <= MAX_KEPT_RESAMPLES
    slot = kept_slot(x.n_items, coefficient, number, key) if keep else []
    if not slot:
        first, second = _sorted(x), _sorted(y)
        values = _values(
            coefficient,
            first,
            second,
            exact=exact,
            n_resamples=number,
            seed=key,
            workers=n_workers,
            progress=progress,
        )
        summary = _summary(values, centred=_is_centred(coefficient, first, second))
        if keep:  # in memory that nobody can make writeable: the next caller gets the same numbers
            summary["values"] = np.frombuffer(summary["values"].tobytes())
        slot.append(summary)
    elif progress is not None:
        progress(number)
    return NullDistribution(**slot[0], exact=exact, n_resamples=number, **coefficient.described(x.n_items, missing))


# At most 32 distributions of 800 kB. A slot is an empty list that the first call fills, so that neither workers nor
# progress are part of the key, and a call that was stopped leaves nothing behind.
MAX_KEPT_RESAMPLES: Final = 100_000


@lru_cache(maxsize=32)
def kept_slot(n_items: int, coefficient: Coefficient, n_resamples: int, seed: int) -> list[dict[str, Any]]:
    """Place of the null distribution of two rankings without ties."""
    del n_items, coefficient, n_resamples, seed
    return []


def _summary(values: NDArray[np.float64], *, centred: bool) -> dict[str, Any]:
    """Fields of a `NullDistribution` that depend on the values, which are sorted in place."""
    number = values.size
    values.sort()  # nan last
    values = values[: number - np.count_nonzero(np.isnan(values))]
    values.flags.writeable = False
    if values.size == 0:
        return {"values": values, "n_undefined": number, **dict.fromkeys(("mean", "std", "exponent"), math.nan)}
    return {
        "values": values,
        "n_undefined": number - values.size,
        "mean": float(values.mean()),
        "std": float(values.std()),
        "exponent": 0.0 if centred else exponent_of(values),
    }


def _is_centred(coefficient: Coefficient, x: Ranking, y: Ranking) -> bool:
    """Whether the mean over all permutations is 0 by symmetry; for sorted rankings.

    Equal weights: the sum of a_ij b_ij is linear in the antisymmetric b, which averages to 0, and the norms are fixed.
    Weights of one ranking alone: reversing the other turns T into -T, and gives a permutation if its ties allow it.
    """

    def same_reversed(ranking: Ranking) -> bool:
        return bool((ranking.ranks + ranking.ranks[::-1] == ranking.n_items + 1).all())

    scheme = coefficient.weighting.scheme
    return (
        type(coefficient.weighting.weigher) is Uniform
        or (scheme == "first" and same_reversed(y))
        or (scheme == "second" and same_reversed(x))
    )


def _sorted(ranking: Ranking) -> Ranking:
    """Return the ranking with its items sorted: a null distribution depends on length and ties alone."""
    return Ranking.unchecked(np.sort(ranking.ranks), np.arange(ranking.n_items, dtype=np.int32), ranking.n_ties)


def _values(
    coefficient: Coefficient,
    x: Ranking,
    y: Ranking,
    *,
    exact: bool,
    n_resamples: int,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> NDArray[np.float64]:
    """Coefficient of x with each permutation of y, nan where it is undefined."""
    coefficient.weighting.table(x, y.ranks[np.newaxis], y.n_ties > 0)  # a weigher that fails does so here

    from rankcorr.inference.permutation_kernels import permuted_rows

    def of_random(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        rows = np.empty((size, y.n_items))
        permuted_rows(rng, y.ranks, rows)
        return of_block(rows)

    def of_block(rows: Ranks) -> NDArray[np.float64]:
        rows.setflags(write=False)
        return coefficient.of_rows(x, rows, np.full(len(rows), y.n_ties))

    if not exact:
        return np.concatenate(
            in_blocks(of_random, n_resamples, y.n_items, seed=seed, workers=workers, progress=progress)
        )
    rows = np.array(list(permutations(y.ranks.tolist())))
    step = BLOCK_NUMBERS // y.n_items
    blocks = [rows[start : start + step] for start in range(0, n_resamples, step)]
    return np.concatenate(in_threads(of_block, blocks, workers, progress, len))
