"""Print coverage and width of intervals for means over queries, from people on some and a program on all.

Values of a query are normal, right-skewed between 0 and 1 (as ndcg has them on hard queries), or 0 and 1. The program's
values have a given correlation with people's before they are distorted; it has another scale and level.
Run it with ``.venv/bin/python benchmarks/judged_means.py``; ``--repetitions`` sets the simulations of each row.
"""

import argparse

import numpy as np
from scipy.stats import beta, norm

from rankcorr.evaluation._judged import judged_mean

SIZES = ((10, 50), (20, 200), (50, 500), (200, 200))
CORRELATIONS = (1.0, 0.8, 0.3, 0.0, -0.8)
LEVEL = 0.9
# Values of people and of the program by the normal quantile of the query, and the mean of the former.
KINDS = {
    "normal": (lambda q: q, lambda q: q + 1, 0.0),
    "skewed": (lambda q: beta.ppf(norm.cdf(q), 0.6, 1.2), lambda q: beta.ppf(norm.cdf(q), 2, 1), 1 / 3),
    "0 or 1": (lambda q: (q > 0.5).astype(float), lambda q: (q > 0).astype(float), float(norm.sf(0.5))),
}


def main(repetitions: int) -> None:
    """Print a row for each size, kind of values and correlation."""
    print("people, program | values | correlation | covered | covered by people alone | width over people alone")
    for n_people, n_judge in SIZES:
        for kind, (of_people, of_judge, truth) in KINDS.items():
            for correlation in CORRELATIONS:
                rng, size = np.random.default_rng(0), n_people + n_judge
                covered, covered_alone, widths = 0, 0, []
                for _ in range(repetitions):
                    quantile = rng.normal(size=size)
                    noise = np.sqrt(1 - correlation**2) * rng.normal(size=size)
                    people, judge = of_people(quantile), of_judge(correlation * quantile + noise)
                    mean = judged_mean(people[:n_people], judge[:n_people], judge[n_people:], LEVEL)
                    covered += mean.low <= truth <= mean.high
                    covered_alone += mean.people_low <= truth <= mean.people_high
                    if mean.people_high > mean.people_low:
                        widths.append((mean.high - mean.low) / (mean.people_high - mean.people_low))
                shares = f"{covered / repetitions:.3f} | {covered_alone / repetitions:.3f} | {np.mean(widths):.3f}"
                print(f"{n_people}, {n_judge} | {kind} | {correlation:g} | {shares}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=4_000, help="simulations of each row")
    main(parser.parse_args().repetitions)
