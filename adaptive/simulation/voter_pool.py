"""A group of voters: levels -> opinions -> answers to a ballot, as section 4.1 has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import Asked
from adaptive.errors import SimilarityError
from adaptive.simulation.similarity import checked_similarity
from adaptive.simulation.voter_checks import (
    Amplitude,
    Interval,
    check_amplitude,
    check_indifference,
    checked_levels,
)
from rankcorr.checks import check_rng
from rankcorr.results import Result

__all__ = ["VoterPool", "vanishing_amplitude"]

_SHOWN = 5


def vanishing_amplitude(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amplitude s(z) = 1 - z^2: voters agree on synonyms and antonyms, and differ most on unrelated tokens.

    Examples
    --------
    >>> vanishing_amplitude(np.array([1.0, 0.5, 0.0]))
    array([0.  , 0.75, 1.  ])
    """
    return 1.0 - similarity * similarity


@dataclass(frozen=True, eq=False)
class VoterPool(Result):
    """Voters, each with a nonconformity and a probability of oversight.

    Attributes
    ----------
    nonconformity : ndarray of float64, shape (n_voters,), read-only
        s_v: how far the opinions of a voter stray from the underlying similarity; not negative.
    oversight : ndarray of float64, shape (n_voters,), read-only
        e_v: probability that the voter answers against their own opinion.
    amplitude : callable
        s(z), from an array of similarities to an array of the same shape; the opinions stray by s_v s(z). It may be
        negative, since eta is symmetric.
    indifference : float
        Opinions that differ by no more than this are a tie. 0 in the paper.

    Raises
    ------
    SimilarityError
        For levels out of range or not of one number for each voter, an amplitude that is not callable, or an
        indifference that is negative or not finite.

    Examples
    --------
    >>> pool = VoterPool(nonconformity=[0.0, 0.1], oversight=[0.0, 0.05])
    >>> rng = np.random.default_rng(1)
    >>> pool.opinions([0.5, 0.1, -0.9], rng).round(2)
    array([[0.5 , 0.1 , 0.9 ],
           [0.4 , 0.19, 0.89]])
    """

    nonconformity: NDArray[np.float64]
    oversight: NDArray[np.float64]
    amplitude: Amplitude = vanishing_amplitude
    indifference: float = 0.0

    def __post_init__(self) -> None:
        nonconformity = checked_levels("nonconformity", self.nonconformity, np.inf)
        oversight = checked_levels("oversight", self.oversight, 1.0)
        if nonconformity.size != oversight.size:
            raise SimilarityError(
                "every voter needs a nonconformity and an oversight; "
                f"got {nonconformity.size} of the one and {oversight.size} of the other"
            )
        check_amplitude(self.amplitude)
        check_indifference(self.indifference)
        object.__setattr__(self, "nonconformity", nonconformity)
        object.__setattr__(self, "oversight", oversight)

    @classmethod
    def draw(
        cls,
        n_voters: int,
        rng: np.random.Generator,
        *,
        nonconformity: Interval = (0.02, 0.2),
        oversight: Interval = (0.005, 0.05),
        amplitude: Amplitude = vanishing_amplitude,
    ) -> VoterPool:
        """Draw voters whose levels are uniform in the intervals given, by default the paper's.

        Raises
        ------
        SimilarityError
            As `VoterPopulation`.

        Examples
        --------
        >>> VoterPool.draw(100, np.random.default_rng(1))
        VoterPool(100 voters, nonconformity 0.021 to 0.197, oversight 0.00575 to 0.05)
        """
        from adaptive.simulation.voters import VoterPopulation  # imports this module

        return VoterPopulation(n_voters, nonconformity, oversight, amplitude).draw(rng)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.oversight.size

    def opinions(
        self, similarity: ArrayLike, rng: np.random.Generator, *, relatedness: bool = True
    ) -> NDArray[np.float64]:
        """Opinion of every voter on every item (Eq. 11): o = F(z_i + s_v s(z_i) eta_vi).

        F clips to [-1, 1]; eta is standard normal, drawn once for each voter and item.

        Parameters
        ----------
        similarity : array_like of shape (n_items,)
            Underlying similarities z in [-1, 1].
        rng : Generator
        relatedness : bool
            The opinion is abs(o), because voters judge how related tokens are; else o.

        Returns
        -------
        ndarray of float64, shape (n_voters, n_items)

        Raises
        ------
        SimilarityError
            For similarities that `checked_similarity` refuses, or an amplitude that does not give one finite number
            for each.

        Examples
        --------
        >>> pool = VoterPool(nonconformity=[0.0], oversight=[0.0])
        >>> pool.opinions([0.5, -0.9], np.random.default_rng(1), relatedness=False)
        array([[ 0.5, -0.9]])
        """
        values = checked_similarity(similarity)
        check_rng(rng, SimilarityError)
        amplitudes = np.asarray(self.amplitude(values), dtype=np.float64)
        if amplitudes.shape != values.shape or not np.isfinite(amplitudes).all():
            raise SimilarityError(
                f"the amplitude must return one finite number for each of the {values.size} similarities; "
                f"got {'shape ' + str(amplitudes.shape) if amplitudes.shape != values.shape else 'nan or inf'}"
            )
        opinions = rng.standard_normal((self.n_voters, values.size))
        opinions *= self.nonconformity[:, np.newaxis]  # in place: at 100,000 items the array is 80 MB
        opinions *= amplitudes
        opinions += values
        np.clip(opinions, -1.0, 1.0, out=opinions)
        return np.abs(opinions, out=opinions) if relatedness else opinions

    def answer(self, ballot: Asked, opinions: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int8]:
        """Answers to the comparisons of a ballot, or a batch of matches, each by the voter it is assigned to.

        A voter prefers the item of the higher opinion, and with the probability e_v of an oversight answers the
        opposite. Opinions that differ by no more than the indifference are a tie, which an oversight does not change:
        the paper does not say, and without indifference ties only occur where F clips both opinions.

        Parameters
        ----------
        ballot : Ballot or Matches
            Its items are column numbers of `opinions`, its voters as many as in the pool.
        opinions : ndarray of float64, shape (n_voters, n_items)
            As `opinions` returns them.
        rng : Generator

        Returns
        -------
        ndarray of int8, shape (n_comparisons,)
            1 for left, -1 for right, 0 for a tie.

        Raises
        ------
        SimilarityError
            When ballot, opinions and pool do not fit together.

        Examples
        --------
        >>> from adaptive.draw import draw_ballot
        >>> pool = VoterPool(nonconformity=[0.0], oversight=[0.0])
        >>> rng = np.random.default_rng(1)
        >>> opinions = pool.opinions([0.9, 0.5, 0.1, 0.0], rng)
        >>> ballot = draw_ballot(4, 1, 1, rng)
        >>> answers = pool.answer(ballot, opinions, rng)
        >>> bool(np.all((answers == 1) == (ballot.left < ballot.right)))
        True
        """
        columns = self._columns(ballot, opinions)
        check_rng(rng, SimilarityError)
        # One flat index for both lookups: two of pairs cost twice as much.
        row = ballot.voter.astype(np.int64) * opinions.shape[1]
        flat = opinions.reshape(-1)
        left, right = flat[row + columns[ballot.left]], flat[row + columns[ballot.right]]
        preference = left - right
        answers: NDArray[np.int8] = (preference > self.indifference).astype(np.int8)
        answers -= preference < -self.indifference
        overlooked = rng.random(answers.size) < self.oversight[ballot.voter]
        np.negative(answers, out=answers, where=overlooked)
        return answers

    def _columns(self, ballot: Asked, opinions: NDArray[np.float64]) -> NDArray[np.int64]:
        """Column of the opinions that holds each item of the ballot."""
        if opinions.ndim != 2 or opinions.shape[0] != self.n_voters:
            raise SimilarityError(
                f"opinions of {self.n_voters} voters are wanted, one row for each; got shape {opinions.shape}"
            )
        if len(ballot.voters) != self.n_voters:
            raise SimilarityError(f"the ballot is for {len(ballot.voters)} voters, the pool has {self.n_voters}")
        n_items = opinions.shape[1]
        try:
            columns = np.asarray(ballot.items)
        except ValueError:  # labels that are tuples of different lengths
            columns = np.empty(0)
        if columns.dtype.kind not in "iu" or columns.ndim != 1 or columns.min() < 0 or columns.max() >= n_items:
            wrong = [item for item in ballot.items if not _is_column(item, n_items)]
            raise SimilarityError(
                f"the items of a simulated ballot are whole numbers from 0 to {n_items - 1}; "
                f"got {', '.join(map(repr, wrong[:_SHOWN]))}"
            )
        return columns.astype(np.int64, copy=False)

    def __repr__(self) -> str:
        levels = ", ".join(
            f"{name} {values.min():.3g} to {values.max():.3g}"
            for name, values in (("nonconformity", self.nonconformity), ("oversight", self.oversight))
        )
        return f"VoterPool({self.n_voters} voters, {levels})"


def _is_column(item: object, n_items: int) -> bool:
    return isinstance(item, int | np.integer) and 0 <= int(item) < n_items
