"""Simulate voters who deviate from the underlying similarity and sometimes err (the model of section 4.1).

voters -> opinions -> answers to a ballot. A `VoterPool` is a group of voters, whose levels are drawn from a
`VoterPopulation`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked
from adaptive.errors import SimilarityError
from adaptive.simulation._similarity import checked_similarity
from rankcorr import Ranking
from rankcorr._checks import check_declared, check_rng, declare, real_number, shown
from rankcorr._output.results import Result, read_only

Amplitude: TypeAlias = Callable[[NDArray[np.float64]], Any]
Interval: TypeAlias = tuple[float, float]
_MOST_NAMED = 5


def checked_levels(name: str, levels: ArrayLike, most: float) -> NDArray[np.float64]:
    """Return a read-only copy of voters' levels; raise SimilarityError if one is negative or above `most`."""
    values = np.array(levels)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf":
        raise SimilarityError(f"{name} must have one number for each voter; got {values.dtype} of shape {values.shape}")
    wrong = np.flatnonzero(~((values >= 0) & (values <= most) & np.isfinite(values)))
    if wrong.size:
        raise SimilarityError(f"{name}[{wrong[0]}] is {values[wrong[0]]:g}; {_bounds(most)}")
    return read_only(values.astype(np.float64))


def check_interval(name: str, interval: object, most: float) -> None:
    """Raise SimilarityError unless an interval is a pair of levels in order."""
    ends = interval if isinstance(interval, tuple | list) else ()
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, float | int | np.number) for end in ends):
        raise SimilarityError(f"{name} must be a pair of numbers, the least and the largest; got {shown(interval)}")
    if not (0 <= ends[0] <= ends[1] <= most and ends[1] < np.inf):
        raise SimilarityError(f"{name} must be a pair of numbers in order; {_bounds(most)}; got {shown(interval)}")


def check_opinions(amplitude: object, indifference: object) -> None:
    """Raise SimilarityError unless the amplitude is callable and the indifference is a finite number of 0 or more."""
    if not callable(amplitude):
        raise SimilarityError(f"amplitude must be a function of similarities; got {shown(amplitude)}")
    if not 0 <= real_number(indifference) < np.inf:
        raise SimilarityError(f"indifference must be a finite number, not negative; got {shown(indifference)}")


def _bounds(most: float) -> str:
    return "it must lie in [0, 1]" if most == 1 else "it must be finite and not negative"


def vanishing_amplitude(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the amplitude s(z) = 1 - z^2: voters agree on synonyms and antonyms, and differ most on unrelated tokens.

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
        s_v: scale of a voter's deviations from the underlying similarity, 0 or more.
    oversight : ndarray of float64, shape (n_voters,), read-only
        e_v: probability that the voter answers the opposite of their opinion.
    amplitude : callable
        s(z), from an array of similarities to an array of the same shape. Opinions deviate by s_v s(z) on the scale of
        a standard normal variable. Since that is symmetric, s(z) may be negative.
    indifference : float
        Opinions that differ by at most this much tie. 0 in the paper.

    Raises
    ------
    SimilarityError
        There is not one level in range for each voter, the amplitude is not callable, or the indifference is negative
        or not finite.

    See Also
    --------
    VoterPopulation.draw : Draws one.
    simulate : Simulate their votes.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import VoterPool
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
        check_opinions(self.amplitude, self.indifference)
        object.__setattr__(self, "nonconformity", nonconformity)
        object.__setattr__(self, "oversight", oversight)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.oversight.size

    def opinions(
        self, similarity: ArrayLike, rng: np.random.Generator, *, relatedness: bool = True
    ) -> NDArray[np.float64]:
        """Draw the opinion of every voter on every item (Eq. 11): o = F(z_i + s_v s(z_i) eta_vi).

        F clips to [-1, 1]; eta is standard normal, drawn once for each voter and item.

        Parameters
        ----------
        similarity : array_like of shape (n_items,)
            Underlying similarities z in [-1, 1].
        rng : Generator
        relatedness : bool
            Whether opinions are abs(o), because voters judge how related tokens are, instead of o.

        Returns
        -------
        ndarray of float64, shape (n_voters, n_items)

        Raises
        ------
        SimilarityError
            The similarities are invalid, or the amplitude does not return one finite number for each of them.

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
        """Answer the comparisons of a ballot, or of a batch of matches, each by its assigned voter.

        A voter prefers the item with the higher opinion, but answers the opposite with the probability e_v of an
        oversight. Opinions that differ by at most the indifference tie, and an oversight does not change a tie. The
        paper does not specify this; without indifference, ties occur only if F clips both opinions.

        Parameters
        ----------
        ballot : Ballot or Matches
            Its items are column numbers of `opinions`, and its number of voters is that of the pool.
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
            The ballot, the opinions and the pool do not fit together.

        Examples
        --------
        >>> from adaptive._draw import draw_ballot
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
        # Flat indices halve the time of the two lookups.
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
        """Return the column of the opinions for each item of the ballot."""
        if opinions.ndim != 2 or opinions.shape[0] != self.n_voters:
            raise SimilarityError(
                f"opinions of {self.n_voters} voters are expected, one row for each; got shape {opinions.shape}"
            )
        if len(ballot.voters) != self.n_voters:
            raise SimilarityError(f"the ballot is for {len(ballot.voters)} voters, the pool has {self.n_voters}")
        n_items = opinions.shape[1]
        try:
            columns = np.asarray(ballot.items)
        except ValueError:  # labels that are tuples of different lengths
            columns = np.empty(0)
        if columns.dtype.kind not in "iu" or columns.ndim != 1 or columns.min() < 0 or columns.max() >= n_items:
            wrong = [item for item in ballot.items if not isinstance(item, int | np.integer) or not 0 <= item < n_items]
            raise SimilarityError(
                f"the items of a simulated ballot are whole numbers from 0 to {n_items - 1}; "
                f"got {', '.join(map(repr, wrong[:_MOST_NAMED]))}"
            )
        return columns.astype(np.int64, copy=False)

    def __repr__(self) -> str:
        levels = ", ".join(
            f"{name} {values.min():.3g} to {values.max():.3g}"
            for name, values in (("nonconformity", self.nonconformity), ("oversight", self.oversight))
        )
        return f"VoterPool({self.n_voters} voters, {levels})"


def true_ranking(similarity: ArrayLike, *, relatedness: bool = True) -> Ranking:
    """Return the ranking of the items by voters without nonconformity and oversights.

    Parameters
    ----------
    similarity : array_like of shape (n_items,)
        Underlying similarities z in [-1, 1].
    relatedness : bool
        Whether to rank by abs(z), because antonyms are related, too, instead of z.

    Raises
    ------
    SimilarityError
        The similarities are invalid.

    See Also
    --------
    exponential_similarity, power_law_similarity, embedding_similarity : Similarities to rank by.

    Examples
    --------
    >>> from adaptive import true_ranking
    >>> true_ranking([0.5, 0.1, -0.9]).ranks
    array([2., 3., 1.])
    """
    values = checked_similarity(similarity)
    return Ranking.from_scores(np.abs(values) if relatedness else values)


@dataclass(frozen=True, eq=False)
class VoterPopulation(Result):
    """Ranges of levels for drawing pools of voters; the defaults are the paper's.

    Attributes
    ----------
    n_voters : int
        Number of voters in a pool.
    nonconformity, oversight : pair of float
        Smallest and largest level; levels of voters are uniform between them.
    amplitude : callable
        s(z), as in `VoterPool`. To send it to other processes, use a function of a module, not a lambda.
    indifference : float
        As in `VoterPool`, the same for all voters.
    random_share : float
        Share of voters who answer at random, rounded to whole voters: their oversight is 0.5. 0 in the paper.

    Raises
    ------
    SimilarityError
        There is less than one voter, a nonconformity is below 0, an oversight or a share is outside [0, 1], an interval
        is not a pair of numbers in order, or the indifference is negative or not finite.

    See Also
    --------
    VoterPool : One pool of voters.
    fit_population : Fit a population to votes.
    simulate : Simulate their votes.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import VoterPopulation
    >>> careful = VoterPopulation(n_voters=20, oversight=(0.0, 0.01))
    >>> careful.draw(np.random.default_rng(1)).n_voters
    20
    """

    n_voters: int = declare(int, 100, least=1, about="Number of voters.")
    nonconformity: Interval = (0.02, 0.2)
    oversight: Interval = (0.005, 0.05)
    amplitude: Amplitude = vanishing_amplitude
    indifference: float = 0.0
    random_share: float = 0.0

    def __post_init__(self) -> None:
        check_declared(self, SimilarityError)
        check_interval("nonconformity", self.nonconformity, np.inf)
        check_interval("oversight", self.oversight, 1.0)
        check_opinions(self.amplitude, self.indifference)
        if not 0 <= real_number(self.random_share) <= 1:
            raise SimilarityError(f"random_share must be a number from 0 to 1; got {shown(self.random_share)}")

    def draw(self, rng: np.random.Generator) -> VoterPool:
        """Draw a pool: the nonconformity of all voters, then their oversight, then the voters who answer at random."""
        check_rng(rng, SimilarityError)
        nonconformity = rng.uniform(*self.nonconformity, self.n_voters)
        oversight = rng.uniform(*self.oversight, self.n_voters)
        n_random = round(self.random_share * self.n_voters)
        if n_random:  # without random voters, draw nothing more, so that the paper's voters stay the same
            oversight[rng.permutation(self.n_voters)[:n_random]] = 0.5
        return VoterPool(nonconformity, oversight, self.amplitude, self.indifference)
