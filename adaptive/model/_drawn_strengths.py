"""The questions that draws of strengths answer: intervals of ranks, chances of a place, the accuracy reached."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model._accuracy import (
    DECIMALS,
    N_SAMPLES,
    Cut,
    DrawnRanks,
    ExpectedCorrelation,
    RankIntervals,
    TopProbabilities,
    anytime_rank_intervals_of,
    certain_above,
    checked_k,
    cut_of,
    expected_correlation_of,
    rank_intervals_of,
    top_probabilities_of,
)
from rankcorr import Ranking
from rankcorr._checks import checked_count, checked_flag, checked_level, checked_seed
from rankcorr._coefficients import CoefficientLike
from rankcorr._output.results import TableResult
from rankcorr._workers import Progress


@dataclass(frozen=True, eq=False, repr=False)
class DrawnStrengths(TableResult):
    """Strengths whose uncertainty is known by draws: intervals of ranks, chances of a place, the accuracy reached."""

    if TYPE_CHECKING:  # attributes of one class, properties of the other

        @property
        def items(self) -> Sequence[Hashable]: ...

        @property
        def theta(self) -> NDArray[np.float64]: ...

        @property
        def _item_covariance(self) -> NDArray[np.float64]: ...

    def sample(self, n: int, rng: np.random.Generator, *, progress: Progress | None = None) -> NDArray[np.float64]:
        """Draw strengths from their joint distribution, shape (n, n_items)."""
        raise NotImplementedError

    def _covariance_at(self, level: float) -> NDArray[np.float64]:  # noqa: ARG002 (it matters with clusters)
        """Return the covariance with which a normal distribution has the intervals of this level."""
        return self._item_covariance

    @cached_property
    def ranking(self) -> Ranking:
        """All items ranked by their strengths, labelled; strengths that rounding errors alone separate are ties."""
        return Ranking.from_scores(np.round(self.theta, DECIMALS), labels=self.items)

    def drawn(self, n_samples: int = N_SAMPLES, seed: int = 0, *, progress: Progress | None = None) -> DrawnRanks:
        """Draw rankings as `sample` does; those of the last call are kept, so that all questions share them.

        Raises
        ------
        ModelError
            An option out of range.

        Examples
        --------
        >>> from adaptive import Choices
        >>> fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]).fit(prior=1)
        >>> fit.drawn(500).ranks.shape
        (500, 3)
        """
        key = (checked_count(n_samples, "n_samples", ModelError), checked_seed(seed, ModelError))
        cached: tuple[tuple[int, int], DrawnRanks] | None = self.__dict__.get("_drawn")
        if cached is None or cached[0] != key:
            theta = self.sample(key[0], np.random.default_rng(key[1]), progress=progress)
            self.__dict__["_drawn"] = cached = key, DrawnRanks.of(self.ranking, theta)
        return cached[1]

    def rank_intervals(
        self,
        level: float = 0.9,
        *,
        simultaneous: bool = False,
        anytime: bool = False,
        n_samples: int = N_SAMPLES,
        seed: int = 0,
    ) -> RankIntervals:
        """Return an interval for each item's true rank.

        Parameters
        ----------
        level : float
            Probability that each interval contains the rank.
        simultaneous : bool
            Choose wider intervals, which contain all ranks at once with this probability.
        anytime : bool
            Choose still wider ones, which contain all ranks at once with this probability at every look while votes
            come in, also if the next pairs follow from the votes so far. They need no draws.
        n_samples : int
            Rankings to draw from the posterior.
        seed : int
            The same seed gives the same answer.

        Raises
        ------
        ModelError
            An option out of range.

        Examples
        --------
        >>> from adaptive import Comparisons, bradley_terry
        >>> votes = Comparisons.from_labels(["a", "a", "b"] * 2, ["b", "c", "c"] * 2, ["left"] * 6)
        >>> intervals = bradley_terry(votes, prior=2).rank_intervals()
        >>> intervals.low.tolist(), intervals.high.tolist()
        ([1.0, 1.0, 2.0], [2.0, 3.0, 3.0])
        >>> bradley_terry(votes, prior=2).rank_intervals(anytime=True).high.tolist()
        [3.0, 3.0, 3.0]

        References
        ----------
        H. Robbins, Statistical Methods Related to the Law of the Iterated Logarithm, Annals of Mathematical Statistics
        41 (1970).

        I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy and A. Ramdas, Time-Uniform Central Limit Theory and
        Asymptotic Confidence Sequences, Annals of Statistics 52 (2024).
        """
        if checked_flag(anytime, "anytime"):
            return anytime_rank_intervals_of(self.ranking, self.theta, self._covariance_at(level), level)
        return rank_intervals_of(self.drawn(n_samples, seed), level, simultaneous)

    def n_certain_of_top(self, k: int, level: float = 0.9) -> int:
        """Return how many of the first k items are certain to be above all others, at every look while votes come in.

        Where the k-th rank is tied, there are no first k, and the answer is 0.

        Raises
        ------
        ModelError
            k is not a number from 1 to the number of items, or level is not between 0 and 1.

        See Also
        --------
        stopping_rule : Stops once all k are certain.

        Examples
        --------
        >>> from adaptive import Comparisons, bradley_terry
        >>> winners = ["left"] * 6 + ["right"] * 2
        >>> votes = Comparisons.from_labels(["a", "b"] * 100, ["b", "c"] * 100, winners * 25)
        >>> [bradley_terry(votes, prior=2).n_certain_of_top(k) for k in (1, 2)]
        [1, 2]
        """
        ranks = self.ranking.ranks
        number, share = checked_k(k, ranks.size), checked_level(level, error=ModelError)
        if np.count_nonzero(ranks <= number) != number:
            return 0
        return certain_above(ranks, self.theta, self._covariance_at(share), number, share)

    def in_top(self, k: int, *, n_samples: int = N_SAMPLES, seed: int = 0) -> TopProbabilities:
        """Return the probability that each item is among the true top k; they sum to k.

        Raises
        ------
        ModelError
            A k that is not from 1 to the number of items, or an option out of range.

        Examples
        --------
        >>> from adaptive import Comparisons, bradley_terry
        >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
        >>> round(float(bradley_terry(votes, prior=2).in_top(2).probability.sum()), 9)
        2.0
        """
        return top_probabilities_of(self.drawn(n_samples, seed), k)

    def cut(self, k: int, *, n_samples: int = N_SAMPLES, seed: int = 0) -> Cut:
        """Return the confidence of a cut after the estimated top k: the probability that these are the true top k.

        Raises
        ------
        ModelError
            As `in_top`.
        """
        return cut_of(self.drawn(n_samples, seed), k)

    def expected_correlation(
        self,
        coefficient: CoefficientLike = "tau_w",
        *,
        level: float = 0.9,
        n_samples: int = N_SAMPLES,
        seed: int = 0,
        workers: int | None = None,
    ) -> ExpectedCorrelation:
        """Estimate the accuracy reached: the coefficient of the true ranking with this one, over the posterior.

        Parameters
        ----------
        coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
            Such as ``TauW(n0=10)``; the true ranking takes the place of x.
        level : float
            Probability of the interval.
        n_samples, seed
            As in `rank_intervals`.
        workers : int, optional
            Number of threads, by default one for each processor. The answer does not depend on it.

        Raises
        ------
        ModelError, OptionError
            An option out of range.

        Examples
        --------
        >>> from adaptive import Comparisons, bradley_terry
        >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
        >>> accuracy = bradley_terry(votes, prior=2).expected_correlation("tau")
        >>> accuracy.low < accuracy.mean < accuracy.high
        True
        """
        return expected_correlation_of(self.drawn(n_samples, seed), coefficient, level, workers)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: cached draws and inverses would add megabytes to a pickle."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
