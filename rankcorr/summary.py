"""Several coefficients of the same two rankings, which are aligned once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rankcorr.alignment import Missing, align, n_missing
from rankcorr.checks import check_choice, shown
from rankcorr.correlation import COEFFICIENTS, Coefficient, RankCorrelation, Statistic, Variant
from rankcorr.errors import OptionError
from rankcorr.notices import warn_undefined
from rankcorr.ranking import RankingLike, as_ranking
from rankcorr.weights import DEFAULT_N0, Scheme, TiedWeights, Weigher


def correlate(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    missing: Missing = "raise",
    names: tuple[str, str] = ("x", "y"),
) -> dict[str, RankCorrelation]:
    """Several coefficients of two rankings.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    coefficients : sequence of {"rho_w", "tau_w", "rho", "tau"}
        At least one, each once. "rho" and "tau" weigh all items alike, whatever n0 and the weigher are.
    n0, weigher, scheme, tied_weights, variant, missing
        As in `weighted_tau`.
    names : pair of str
        What error messages call the two.

    Returns
    -------
    dict of str to RankCorrelation
        Each is that of the call for the coefficient alone, to the last bit.

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong with the rankings or the options.

    Examples
    --------
    >>> gold = {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}
    >>> system = {"king": 0.7, "queen": 0.9, "cabbage": 0.1, "stone": 0.2}
    >>> {name: round(result.statistic, 4) for name, result in correlate(gold, system).items()}
    {'rho_w': 0.5273, 'tau_w': 0.1508, 'rho': 0.6, 'tau': 0.3333}
    """
    chosen = [] if isinstance(coefficients, str) or not isinstance(coefficients, Iterable) else list(coefficients)
    for name in chosen:
        check_choice("coefficient", name, COEFFICIENTS)
    if not chosen or len(set(chosen)) < len(chosen):
        raise OptionError(f"coefficients must be a list of different coefficients; got {shown(coefficients)}")
    weighted = {"n0": n0, "weigher": weigher}
    options = {"scheme": scheme, "tied_weights": tied_weights, "variant": variant}
    statistics: list[Statistic] = []
    for name in chosen:
        equal = {"n0": DEFAULT_N0, "weigher": None} if name in ("rho", "tau") else weighted
        statistics.append(Statistic.of(name, **equal, **options))  # type: ignore[arg-type]
    given = as_ranking(x), as_ranking(y)
    first, second = align(*given, names=names, missing=missing)
    values = [statistic.of_pair(first, second) for statistic in statistics]
    if any(map(math.isnan, values)):
        warn_undefined("all items that have weight are tied in one ranking", stacklevel=3)
    count = None if missing == "raise" else n_missing(*given, first.n_items)
    return {
        name: RankCorrelation(statistic=value, n_missing=count, **statistic.described(first.n_items, missing))
        for name, value, statistic in zip(chosen, values, statistics, strict=True)
    }
