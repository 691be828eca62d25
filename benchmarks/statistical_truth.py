"""Print whether p-values and standardized values behave as documented, and the chance level by length of the list.

Seeds are fixed, so the same versions print the same figures. The script checks nothing.
"""

from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import product

import numpy as np
import scipy.stats
from report import heading, row

from rankcorr._coefficients import named_coefficient
from rankcorr.errors import StandardizationError
from rankcorr.inference._null import null_distribution, permutation_test

ALTERNATIVES = ("greater", "less", "two-sided")
COEFFICIENTS = ("tau_w", "rho_w")


def scores(rng: np.random.Generator, kind: str, n_items: int) -> np.ndarray:
    """Draw scores without ties, or on five levels."""
    return rng.integers(1, 6, n_items) if kind == "Likert" else rng.permutation(n_items)


def null_pvalues(kind: str, n_items: int, coefficient: str, n_draws: int, n_resamples: int) -> np.ndarray:
    """Return p-values of pairs of unrelated rankings, one column for each alternative."""
    rng = np.random.default_rng([n_items, COEFFICIENTS.index(coefficient)])
    pvalues = []
    for draw in range(n_draws):
        x, y = scores(rng, kind, n_items), scores(rng, kind, n_items)
        # Another seed for each draw: shared permutations would give all draws the same error.
        test = permutation_test(x, y, coefficient=coefficient, n_resamples=n_resamples, seed=draw, workers=1)
        pvalues.append([test.null.pvalue(test.statistic, alternative) for alternative in ALTERNATIVES])
    return np.array(pvalues)


def uniform_pvalues(n_draws: int = 2_000, n_resamples: int = 999) -> None:
    heading(
        f"P-values of {n_draws:,} pairs of unrelated rankings, {n_resamples} permutations each: share below 1, 5 and "
        "10 %, and the Kolmogorov-Smirnov test against the uniform distribution",
        *("coefficient", "scores", "items", "alternative", "p <= 0.01", "p <= 0.05", "p <= 0.1", "KS distance", "KS p"),
    )
    cases = list(product(COEFFICIENTS, ("no ties", "Likert"), (20, 200)))
    with ProcessPoolExecutor() as pool:
        columns = [
            pool.submit(null_pvalues, kind, n_items, coefficient, n_draws, n_resamples)
            for coefficient, kind, n_items in cases
        ]
        for (coefficient, kind, n_items), future in zip(cases, columns, strict=True):
            for alternative, values in zip(ALTERNATIVES, future.result().T, strict=True):
                test = scipy.stats.kstest(values, "uniform")
                shares = (f"{(values <= level + 1e-9).mean():.4f}" for level in (0.01, 0.05, 0.1))
                row(coefficient, kind, n_items, alternative, *shares, f"{test.statistic:.4f}", f"{test.pvalue:.2f}")


def chance_level(
    lengths: tuple[int, ...] = (10, 30, 100, 300, 1_000, 3_000),
    n0s: tuple[float, ...] = (0, 2, 10),
    n_resamples: int = 10_000,
) -> None:
    heading(
        f"Chance level: mean ± standard deviation, and 95 % quantile, of {n_resamples:,} random permutations",
        *("coefficient", "items", *(f"n0 = {n0:g}: mean ± std, 95 %" for n0 in n0s)),
    )
    for coefficient in ("tau_w", "rho_w"):
        for n_items in lengths:
            nulls = [
                null_distribution(
                    range(n_items),
                    range(n_items),
                    coefficient=named_coefficient(coefficient, n0=n0),
                    n_resamples=n_resamples,
                )
                for n0 in n0s
            ]
            cells = (f"{null.mean:.2f} ± {null.std:.2f}, {null.quantile(0.95):.2f}" for null in nulls)
            row(coefficient, f"{n_items:,}", *cells)


def standardized_spread(
    lengths: tuple[int, ...] = (10, 100, 1_000), n0s: tuple[float, ...] = (0, 2, 10), n_resamples: int = 10_000
) -> None:
    heading(
        f"Standard deviation of the standardized value of {n_resamples:,} random permutations, whose mean is 0",
        *("coefficient", "items", *(f"n0 = {n0:g}" for n0 in n0s)),
    )
    for coefficient in ("tau_w", "rho_w"):
        for n_items in lengths:
            cells = []
            for n0 in n0s:
                coefficient_value = named_coefficient(coefficient, n0=n0)
                null = null_distribution(
                    range(n_items), range(n_items), coefficient=coefficient_value, n_resamples=n_resamples
                )
                cells.append(f"{null.standardize(null.values).std():.3f}")
            row(coefficient, f"{n_items:,}", *cells)


def standardizing_limits(n0s: tuple[float, ...] = (-0.9, -0.8, -0.7), n_resamples: int = 10_000) -> None:
    lengths = np.unique(np.geomspace(3, 3_000, 36).astype(int)).tolist()
    heading(
        f"Lists of 3 to 3,000 items that cannot be standardized, because nearly all values of {n_resamples:,} random "
        "permutations are close to -1",
        *("coefficient", "lengths tried", *(f"n0 = {n0:g}" for n0 in n0s)),
    )
    for coefficient in ("tau_w", "rho_w"):
        cells = []
        for n0 in n0s:
            refused = []
            for n_items in lengths:
                value = named_coefficient(coefficient, n0=n0)
                null = null_distribution(range(n_items), range(n_items), coefficient=value, n_resamples=n_resamples)
                with suppress(StandardizationError):
                    null.standardize(0.0)
                    continue
                refused.append(n_items)
            cells.append(f"{len(refused)}" + (f", from {refused[0]} to {refused[-1]:,}" if refused else ""))
        row(coefficient, len(lengths), *cells)


def main() -> None:
    chance_level()
    standardized_spread()
    standardizing_limits()
    uniform_pvalues()


if __name__ == "__main__":
    main()
