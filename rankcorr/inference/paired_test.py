"""The paired randomization test: how often systems that exchange places at random differ as much as they do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr.inference.distribution import Alternative
from rankcorr.inference.exchange import Exchange
from rankcorr.inference.inversion import ROUNDING
from rankcorr.inference.resampling import Draws
from rankcorr.inference.sorted_items import Values, derived_seed

MAX_EXACT: Final = 12

# Where all swaps are enumerated but the places of the systems interleave at random, each swap is repeated until there
# are so many of them: as many as 12 items have.
N_ENUMERATED: Final = 1 << MAX_EXACT


class PairedTest(NamedTuple):
    """The outcome of a test of two systems; both counts are of swaps."""

    pvalue: float
    exact: bool
    n_swaps: int
    n_undefined: int


def paired_tests(
    pairs: Sequence[Sequence[Exchange]],
    observed: Values,
    *,
    alternative: Alternative = "two-sided",
    draws: Draws,
) -> list[PairedTest]:
    """Test pairs of systems; the difference of a pair is the sum over its gold sets, within which items are swapped.

    All swaps are enumerated where a pair has no more than `MAX_EXACT` items in all; others are drawn. Swaps in which
    the difference is undefined count as at least as extreme.
    """
    found: dict[int, PairedTest] = {}
    for row, pair in enumerate(pairs):
        if sum(each.n_items for each in pair) <= MAX_EXACT:
            drawn = enumerated(pair, draws.seed)
            n_extreme, n_undefined = as_extreme(drawn, observed[row], alternative)
            found[row] = PairedTest(n_extreme / drawn.size, True, drawn.size, n_undefined)
    left = [row for row in range(len(pairs)) if row not in found]
    if left:
        task = partial(_counted, [pairs[row] for row in left], observed[left], alternative)
        widest = max(sum(each.n_items for each in pairs[row]) for row in left)
        n_resamples, blocks = draws.n_resamples, draws.in_blocks(task, widest)
        for row, (n_extreme, n_undefined) in zip(left, np.sum(blocks, axis=0).tolist(), strict=True):
            found[row] = PairedTest((1 + n_extreme) / (1 + n_resamples), False, n_resamples, n_undefined)
    return [found[row] for row in range(len(pairs))]


def _counted(
    pairs: Sequence[Sequence[Exchange]],
    observed: Values,
    alternative: Alternative,
    rng: np.random.Generator,
    size: int,
) -> NDArray[np.int64]:
    return np.array(
        [
            as_extreme(differences(pair, rng, size), value, alternative)
            for pair, value in zip(pairs, observed.tolist(), strict=True)
        ]
    )


def differences(pair: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    """Differences of two systems, summed over gold sets, in random exchanges, shape (size,)."""
    values = sum((each.drawn(rng, size) for each in pair), start=np.zeros((size, 2)))
    return np.asarray(values[:, 0] - values[:, 1])


def enumerated(pair: Sequence[Exchange], seed: int) -> Values:
    """Differences of two systems in all swaps, each swap as often as any other."""
    n_items = [each.n_items for each in pair]
    swaps = all_swaps(sum(n_items))
    if not all(each.is_sure for each in pair):
        swaps = np.tile(swaps, (N_ENUMERATED // len(swaps), 1))
    rng = np.random.default_rng(derived_seed(seed, 1))
    parts = np.split(swaps, np.cumsum(n_items)[:-1], axis=1)
    values = sum(
        (each.swapped(rng, part) for each, part in zip(pair, parts, strict=True)), start=np.zeros((len(swaps), 2))
    )
    return np.asarray(values[:, 0] - values[:, 1])


def all_swaps(n_items: int) -> NDArray[np.uint8]:
    """Every choice of items to swap, shape (2^n_items, n_items)."""
    codes = np.arange(2**n_items, dtype=np.uint32)[:, np.newaxis]
    return (codes >> np.arange(n_items, dtype=np.uint32) & 1).astype(np.uint8)


def as_extreme(drawn: Values, observed: float, alternative: str) -> tuple[int, int]:
    """Number of differences at least as extreme as the observed one, and how many of these are undefined."""
    n_undefined = int(np.count_nonzero(np.isnan(drawn)))
    if alternative == "two-sided":
        drawn, observed = np.abs(drawn), abs(observed)
    elif alternative == "less":
        drawn, observed = -drawn, -observed
    return int(np.count_nonzero(drawn >= observed - ROUNDING)) + n_undefined, n_undefined
