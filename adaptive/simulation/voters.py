"""Voters who differ from the underlying similarity and err now and then: the stochastic model of section 4.1.

voters -> opinions -> answers to a ballot. A `VoterPool` is a group of voters; their levels are drawn from a
`VoterPopulation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from adaptive.errors import SimilarityError
from adaptive.simulation.similarity import checked_similarity
from adaptive.simulation.voter_checks import Amplitude, Interval, check_amplitude, check_indifference, check_interval
from adaptive.simulation.voter_pool import VoterPool, vanishing_amplitude
from rankcorr import Ranking
from rankcorr.checks import check_rng, real_number, shown, whole_number
from rankcorr.results import Result
from rankcorr.workers import Progress

if TYPE_CHECKING:
    from adaptive.model.comparisons import Comparisons
    from adaptive.simulation.population import PopulationFit

__all__ = ["Amplitude", "Interval", "VoterPool", "VoterPopulation", "true_ranking", "vanishing_amplitude"]


def true_ranking(similarity: ArrayLike, *, relatedness: bool = True) -> Ranking:
    """Ranking of the items that error-free voters would agree on.

    Parameters
    ----------
    similarity : array_like of shape (n_items,)
        Underlying similarities z in [-1, 1].
    relatedness : bool
        Rank by abs(z), because antonyms are related too; else by z.

    Raises
    ------
    SimilarityError
        As `checked_similarity`.

    Examples
    --------
    >>> true_ranking([0.5, 0.1, -0.9]).ranks
    array([2., 3., 1.])
    """
    values = checked_similarity(similarity)
    return Ranking.from_scores(np.abs(values) if relatedness else values)


@dataclass(frozen=True, eq=False)
class VoterPopulation(Result):
    """Levels from which pools of voters are drawn; the defaults are the paper's.

    Attributes
    ----------
    n_voters : int
        Number of voters of a pool.
    nonconformity, oversight : pair of float
        Least and largest level; a voter's level is uniform between them.
    amplitude : callable
        s(z), as in `VoterPool`. A function of a module, rather than a lambda, can be sent to other processes.
    indifference : float
        As in `VoterPool`; the same for all voters.
    random_share : float
        Share of the voters, rounded to whole voters, who answer at random: their oversight is 0.5. 0 in the paper.

    Raises
    ------
    SimilarityError
        For fewer than one voter, a nonconformity below 0, an oversight or a share outside [0, 1], an interval that is
        not a pair of numbers in order, or an indifference that is negative or not finite.

    Examples
    --------
    >>> careful = VoterPopulation(n_voters=20, oversight=(0.0, 0.01))
    >>> careful.draw(np.random.default_rng(1)).n_voters
    20
    """

    n_voters: int = 100
    nonconformity: Interval = (0.02, 0.2)
    oversight: Interval = (0.005, 0.05)
    amplitude: Amplitude = vanishing_amplitude
    indifference: float = 0.0
    random_share: float = 0.0

    def __post_init__(self) -> None:
        n_voters = whole_number(self.n_voters)
        if n_voters is None or n_voters < 1:
            raise SimilarityError(f"n_voters must be a positive whole number; got {shown(self.n_voters)}")
        check_interval("nonconformity", self.nonconformity, np.inf)
        check_interval("oversight", self.oversight, 1.0)
        check_amplitude(self.amplitude)
        check_indifference(self.indifference)
        if not 0 <= real_number(self.random_share) <= 1:
            raise SimilarityError(f"random_share must be a number from 0 to 1; got {shown(self.random_share)}")

    @classmethod
    def fit(
        cls,
        comparisons: Comparisons,
        *,
        similarity: str | ArrayLike | None = None,
        relatedness: bool | None = None,
        amplitude: Amplitude = vanishing_amplitude,
        level: float = 0.9,
        resamples: int = 40,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> PopulationFit:
        """Fit a population to votes: how far its voters stray, and how often they err, with intervals.

        `adaptive.simulation.population.fit_population` says how, and what the arguments are.

        Returns
        -------
        PopulationFit
            Its `population` is the estimate. Intervals of the nonconformity are too narrow: those of 90 % covered
            67 to 83 % in 12 simulations of 3,000 votes.

        Raises
        ------
        ModelError
            No votes, voters that are not known, another number of similarities than items, or an option out of range.
        SimilarityError
            Similarities that `checked_similarity` refuses.

        Examples
        --------
        >>> from adaptive import Comparisons, draw_ballot, exponential_similarity
        >>> rng = np.random.default_rng(1)
        >>> pool = VoterPopulation(n_voters=10).draw(rng)
        >>> ballot = draw_ballot(30, 20, 10, rng)
        >>> answers = pool.answer(ballot, pool.opinions(exponential_similarity(30), rng), rng)
        >>> votes = Comparisons.from_ballots([(ballot, answers)])
        >>> fit = VoterPopulation.fit(votes, similarity="exponential", resamples=4)
        >>> fit.population.n_voters, fit.n_votes
        (10, 300)
        """
        from adaptive.simulation.population import fit_population  # imports this module

        return fit_population(
            comparisons,
            similarity=similarity,
            relatedness=relatedness,
            amplitude=amplitude,
            level=level,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )

    def draw(self, rng: np.random.Generator) -> VoterPool:
        """Draw a pool: the nonconformity of all voters, then their oversight, then who answers at random."""
        check_rng(rng, SimilarityError)
        nonconformity = rng.uniform(*self.nonconformity, self.n_voters)
        oversight = rng.uniform(*self.oversight, self.n_voters)
        n_random = round(self.random_share * self.n_voters)
        if n_random:  # else nothing is drawn, so that the paper's voters stay what they were
            oversight[rng.permutation(self.n_voters)[:n_random]] = 0.5
        return VoterPool(nonconformity, oversight, self.amplitude, self.indifference)
