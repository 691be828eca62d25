"""Print how long inference takes, compared with scipy where it has the same test: medians of interleaved runs.

Run it with ``make bench``. It checks nothing: shared machines are noisy, so the reader has to judge a ratio.
"""

import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.stats
from report import heading, machine, row

from rankcorr.inference._null import cache_slot, null_distribution, permutation_test

TURNS = 7


def medians(*calls: Callable[[], object]) -> list[float]:
    """Return the median seconds of each call; the calls alternate."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(TURNS + 1):
        for call, times_of_call in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if turn > 0:  # the first turn compiles kernels
                times_of_call.append(time.perf_counter() - start)
    return [statistics.median(times_of_call) for times_of_call in times]


def scores(rng: np.random.Generator, kind: str, n_items: int) -> np.ndarray:
    """Draw scores without ties, or on five levels."""
    return rng.integers(1, 6, n_items).astype(float) if kind == "Likert" else rng.standard_normal(n_items)


def scipy_test(x: np.ndarray, y: np.ndarray, n_resamples: int) -> object:
    """Run the same test with scipy; ranks are computed once, and numpy computes the weights of each permutation."""
    a, b = scipy.stats.rankdata(-x), scipy.stats.rankdata(-y)
    of_a, items = 1 / (a + 2) ** 2, np.arange(a.size)

    def tau_w(permuted: np.ndarray) -> float:
        weights = of_a + 1 / (permuted + 2) ** 2
        return scipy.stats.weightedtau(
            a, permuted, rank=items, weigher=lambda item: weights[item], additive=False
        ).statistic

    return scipy.stats.permutation_test(
        (b,), tau_w, permutation_type="pairings", vectorized=False, n_resamples=n_resamples, rng=0
    )


def bench_permutation_test(n_items: int = 1_000, n_resamples: int = 10_000, n_peer: int = 100) -> None:
    heading(
        f"permutation_test, tau_w, {n_resamples:,} permutations of {n_items:,} items (s); "
        f"scipy with {n_peer} permutations, scaled",
        *("scores", "workers", "rankcorr", "scipy.stats.permutation_test(weightedtau)", "scipy / rankcorr"),
    )
    for kind in ("no ties", "Likert"):
        rng = np.random.default_rng(1)
        x, y = scores(rng, kind, n_items), scores(rng, kind, n_items)

        def ours(workers: int, x: np.ndarray = x, y: np.ndarray = y) -> None:
            cache_slot.cache_clear()
            permutation_test(x, y, n_resamples=n_resamples, workers=workers)

        one, two, peer = medians(
            lambda ours=ours: ours(1), lambda ours=ours: ours(2), lambda x=x, y=y: scipy_test(x, y, n_peer)
        )
        # The extra evaluation is the observed statistic.
        scaled = peer * (n_resamples + 1) / (n_peer + 1)
        for workers, seconds in ((1, one), (2, two)):
            row(kind, workers, f"{seconds:.3f}", f"{scaled:.1f}", f"{scaled / seconds:.0f}")


def bench_null_distribution() -> None:
    heading(
        "null_distribution, tau_w, no ties (ms)", "items", "permutations", "first call", "second call of the length"
    )
    for n_items in (8, 100, 1_000, 10_000):

        def first(n_items: int = n_items) -> None:
            cache_slot.cache_clear()
            null_distribution(range(n_items), range(n_items), n_resamples=1_000)

        def second(n_items: int = n_items) -> None:
            null_distribution(range(n_items), range(n_items), n_resamples=1_000)

        times = (f"{seconds * 1e3:.3g}" for seconds in medians(first, second))
        row(f"{n_items:,}", f"{math.factorial(8) if n_items == 8 else 1_000:,}", *times)


def main() -> None:
    machine("numpy", "scipy", "numba")
    print("Medians of interleaved runs.")
    bench_permutation_test()
    bench_null_distribution()


if __name__ == "__main__":
    main()
