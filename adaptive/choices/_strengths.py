"""Strengths of items with their uncertainty, fitted to answers of any kind."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from adaptive._record import item_table
from adaptive._tables import ChoiceItem, OtherParameter
from adaptive.errors import ModelError
from adaptive.model._accuracy import Better
from adaptive.model._drawn_strengths import DrawnStrengths
from rankcorr._checks import check_rng, checked_count, checked_level, is_unhashable, offending, shown
from rankcorr._output.results import table_rows
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]


def elo_ratings(theta: Array) -> Array:
    """Convert strengths to the scale of Elo (1978), with 1000 for strength 0."""
    return 1000.0 + 400.0 / math.log(10.0) * np.asarray(theta)


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceStrengths(DrawnStrengths):
    """Strengths of items, fitted to choices of any kind jointly with all other parameters.

    The table has the columns item, rank, strength and standard_error, best first.

    Attributes
    ----------
    items : sequence of hashable
        Labels of the items.
    theta : ndarray of float64, shape (n_items,)
        Strengths, with mean 0.
    standard_errors : ndarray of float64, shape (n_items,)
        Standard error of each strength minus their mean, including the uncertainty of all other parameters. With
        clusters, it is the larger of two: the jackknife error, from leaving out each cluster in turn, and the error
        for independent choices.
    covariance : ndarray of float64, shape (n_items + n_others, n_items + n_others)
        Covariance of the strengths, followed by the other parameters. With clusters, the difference of any two
        strengths has the larger of both variances.
    others : dict of str to tuple of float
        Estimate and standard error of each other parameter: "side", "tie", "grade 1", or the name of a covariate.
    log_likelihood : float
        Log-likelihood without the prior.
    prior_sd : float
        Standard deviation of the prior of the strengths; infinity without a prior.
    n_events : int
        Total count of the choices.
    warnings : tuple of str
        Reasons for caution, such as items that never lost.
    basis : str
        Number of answers, and their voters if known, for titles: "600 votes of 12 voters".
    degrees_of_freedom : float
        Degrees of freedom of Student's t distribution of the strengths: the effective number of clusters minus 1;
        infinity without clusters.

    See Also
    --------
    Choices.fit : Returns it.

    Examples
    --------
    >>> from adaptive import Choices
    >>> fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]).fit(prior=1)
    >>> fit.ranking.best_first.tolist(), fit.theta.round(2).tolist()
    ([0, 1, 2], [0.6, -0.07, -0.54])
    """

    _caption: ClassVar[str] = "Strengths of items"

    items: Sequence[Hashable]
    theta: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    covariance: NDArray[np.float64]
    others: dict[str, tuple[float, float]]
    log_likelihood: float
    prior_sd: float
    n_events: float
    warnings: tuple[str, ...] = ()
    basis: str = ""
    degrees_of_freedom: float = math.inf

    def elo(self) -> NDArray[np.float64]:
        """Return the strengths on the Elo scale of chess: 1000 + 400 / ln 10 times the strength.

        For an item 400 points above another, the odds, ties aside, are:

        - votes on pairs: 10 to 1 that it wins
        - rankings without ties: 10 to 1 that it ranks above the other
        - grades up to m: 10^(g / m) to 1 for grade g against -g, so 10 to 1 for m against -m
        - best-worst: 100 to 1 for it as the best and the other as the worst, against the reverse
        - votes merged by `merge_swapped`: 10 to 1 that it wins. If the two merged votes are independent and have no
          side bias, the odds of a single vote are √10 = 3.2 to 1.

        Examples
        --------
        >>> from adaptive import Choices
        >>> Choices.from_rankings([["a", "b"], ["a", "b"], ["b", "a"]]).fit(prior=math.inf).elo().round(1).tolist()
        [1060.2, 939.8]
        """
        return elo_ratings(self.theta)

    def better(self, first: Hashable, second: Hashable, *, level: float = 0.9) -> Better:
        """Return the probability that one item is better than another, and the difference of their strengths.

        Both are computed without random draws from the normal distribution with the fitted covariance, or from
        Student's t distribution if there are clusters.

        Raises
        ------
        ModelError
            A label is unknown, both are the same, or the level is not between 0 and 1.

        Examples
        --------
        >>> from adaptive import Choices
        >>> fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]).fit(prior=1)
        >>> fit.better("a", "c")
        <Better: 'a' than 'c', probability 0.897, difference +1.14 (-0.34 to +2.62, level 0.9)>
        """
        share = checked_level(level, error=ModelError)
        places = {item: place for place, item in enumerate(self.items)}
        if unknown := [item for item in (first, second) if is_unhashable(item) or item not in places]:
            raise ModelError(offending("these are no items", unknown))
        if first == second:
            raise ModelError(f"an item is compared with another; got {shown(first)} twice")
        one, two = places[first], places[second]
        covariance = self.covariance
        variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
        value, error = float(self.theta[one] - self.theta[two]), math.sqrt(max(1e-300, variance))
        width = self.quantile(share) * error
        probability = float(stdtr(self.degrees_of_freedom, value / error))
        return Better(first, second, probability, 0.0, value, (value - width, value + width), share, 0)

    def quantile(self, level: float) -> float:
        """Return the half-width of an interval at this level, in standard errors.

        Examples
        --------
        >>> from adaptive import Choices
        >>> rankings = [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]] * 2
        >>> round(Choices.from_rankings(rankings).fit(prior=1).quantile(0.9), 3)
        1.645
        >>> round(Choices.from_rankings(rankings, clusters=range(6)).fit(prior=1).quantile(0.9), 3)
        2.015
        """
        return float(stdtrit(self.degrees_of_freedom, (1 + level) / 2))

    @property
    def _item_covariance(self) -> NDArray[np.float64]:
        """Covariance of the strengths, shape (n_items, n_items)."""
        return self.covariance[: len(self.items), : len(self.items)]

    def _covariance_at(self, level: float) -> NDArray[np.float64]:
        share = checked_level(level, error=ModelError)
        widening = self.quantile(share) / float(ndtri((1 + share) / 2))
        return self._item_covariance * widening**2

    def sample(self, n: int, rng: np.random.Generator, *, progress: Progress | None = None) -> NDArray[np.float64]:
        """Draw strengths with mean 0 from their normal distribution, or from Student's t if there are clusters.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : numpy.random.Generator
        progress : callable, optional
            Called once with the number of draws, at the end.

        Returns
        -------
        ndarray of float64, shape (n, n_items)

        Raises
        ------
        ModelError
            `n` is not a positive whole number, or `rng` is not a generator.

        Examples
        --------
        >>> import numpy as np
        >>> from adaptive import Choices
        >>> fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]).fit(prior=1)
        >>> fit.sample(500, np.random.default_rng(1)).shape
        (500, 3)
        """
        number = checked_count(n, "n", ModelError)
        check_rng(rng, ModelError)
        values, vectors = np.linalg.eigh(self._item_covariance)
        # The symmetric root does not depend on the signs of the eigenvectors, which differ between LAPACK builds.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        draws: NDArray[np.float64] = rng.standard_normal((number, len(self.items))) @ root
        if math.isfinite(df := self.degrees_of_freedom):
            draws *= np.sqrt(df / rng.chisquare(df, number))[:, np.newaxis]
        draws -= draws.mean(axis=1, keepdims=True)  # an eigenvalue of 1e-16 instead of 0 has a root of 1e-8
        theta: NDArray[np.float64] = self.theta + draws
        if progress is not None:
            progress(number)
        return theta

    def _columns(self, **further: NDArray[Any]) -> dict[str, Sequence[Any]]:
        ranks = self.ranking.ranks
        columns = {"rank": ranks, "strength": self.theta, "standard_error": self.standard_errors, **further}
        return item_table(self.items, np.argsort(ranks, kind="stable"), **columns)

    def __repr__(self) -> str:
        return f"<ChoiceStrengths of {self.n_events:g} choices: {self.ranking!r}>"


def choice_content(
    fitted: ChoiceStrengths, *, level: float, elo: bool, counts: Mapping[Hashable, Mapping[str, float]] | None = None
) -> dict[str, Any]:
    """Return a fit as a dict for a command or an HTTP response: items best first, parameters, likelihood, warnings.

    `counts` holds further numbers by item, such as its wins.
    """
    intervals, widths = fitted.rank_intervals(level), fitted.quantile(level) * fitted.standard_errors
    columns = {
        "elo": fitted.elo() if elo else np.full(len(fitted.items), None),
        "rank_low": intervals.low.astype(int),
        "rank_high": intervals.high.astype(int),
        "strength_low": fitted.theta - widths,
        "strength_high": fitted.theta + widths,
    }
    items = []
    for row in table_rows(fitted._columns(**columns)):
        content = ChoiceItem(**row, **({} if counts is None else counts[row["item"]])).to_dict()  # type: ignore[arg-type]
        items.append({**content, "item": list(row["item"]) if isinstance(row["item"], tuple) else row["item"]})
    others = [vars(OtherParameter(name, value, error)) for name, (value, error) in fitted.others.items()]
    return {
        "items": items,
        "others": others,
        "log_likelihood": fitted.log_likelihood,
        "prior_sd": fitted.prior_sd if math.isfinite(fitted.prior_sd) else None,
        "degrees_of_freedom": fitted.degrees_of_freedom if math.isfinite(fitted.degrees_of_freedom) else None,
        "warnings": list(fitted.warnings),
    }
