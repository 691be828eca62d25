"""Words that are among the nearest neighbours of too many others: the skewness of k-occurrences."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import checked_count, counted
from rankcorr._output.results import TableResult, read_only
from rankcorr._workers import Progress, silent
from rankcorr.errors import OptionError
from rankcorr.vectors._reading import as_vectors
from rankcorr.vectors._words import VectorsLike, unit_vectors

BLOCK_CELLS: Final = 1 << 22  # cosines computed at once: 32 MB
DECIMALS: Final = 10  # cosines that are equal to this many tie, as in `WordVectors.cosines`


@dataclass(frozen=True, eq=False, repr=False)
class Hubness(TableResult):
    """How often each word is among the k nearest neighbours of another.

    Attributes
    ----------
    words : tuple of str
    occurrences : ndarray of float64, shape (n_words,), read-only
        k-occurrences, with the mean k. Words that tie at the k-th place share it, so the numbers may be fractions.
    k : int
    skewness : float
        Third moment of the k-occurrences over the cube of their standard deviation, near 0 without hubs; nan if all are
        equal.
    orphan_share : float
        Share of words that are among the neighbours of no other.

    See Also
    --------
    hubness : Returns it.

    Examples
    --------
    >>> from rankcorr.vectors import hubness
    >>> vectors = {"hub": [1.0, 1.0, 1.0], "a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}
    >>> hubness(vectors, k=1).hubs(1)
    [('hub', 3.0)]
    """

    words: tuple[str, ...]
    occurrences: NDArray[np.float64]
    k: int
    skewness: float
    orphan_share: float

    def hubs(self, number: int = 10) -> list[tuple[str, float]]:
        """Words with the most k-occurrences, and these."""
        order = np.argsort(-self.occurrences, kind="stable")[: checked_count(number, "number")].tolist()
        return [(self.words[place], float(self.occurrences[place])) for place in order]

    def _columns(self) -> dict[str, Any]:
        hubs = self.hubs(len(self.words))
        return {"word": [word for word, _ in hubs], "occurrences": [number for _, number in hubs]}

    def __repr__(self) -> str:
        share = f"{100 * self.orphan_share:.0f} % orphans"
        return f"<Hubness of {counted(len(self.words), 'word')}, k={self.k}: skewness {self.skewness:.4f}, {share}>"


def hubness(
    vectors: VectorsLike, *, words: Collection[str] | None = None, k: int = 10, progress: Progress | None = None
) -> Hubness:
    """Measure hubness: whether few words are among the nearest neighbours, by cosine, of many others.

    Let N(w) be the number of words that have w among their k nearest neighbours. Its mean is k; its skewness
    E[(N - k)^3]/sd(N)^3 grows with hubs. Takes O(n_words^2 dimension) time.

    Parameters
    ----------
    vectors : WordVectors, mapping of word to vector, KeyedVectors of gensim, or path
    words : collection of str, optional
        Words to use; by default all. Words without a vector are left out.
    k : int, default 10
        Less than the number of words.
    progress : callable, optional
        Called with the number of words done since the last call.

    Returns
    -------
    Hubness

    Raises
    ------
    RankingError
        `OptionError` unless there are more than k words with vectors; other subclasses name what is wrong with the
        vectors.

    See Also
    --------
    evaluate_relata : Score the neighbours of words.

    References
    ----------
    M. Radovanović, A. Nanopoulos and M. Ivanović, Hubs in Space: Popular Nearest Neighbors in High-Dimensional Data,
    Journal of Machine Learning Research 11, 2010, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr.vectors import hubness
    >>> vectors = np.random.default_rng(1).normal(0.5, size=(500, 100))
    >>> hubness({f"w{row}": vector for row, vector in enumerate(vectors)})
    <Hubness of 500 words, k=10: skewness 1.7829, 3 % orphans>
    """
    checked_count(k, "k")
    word_set = None if words is None else set(words)
    word_vectors = as_vectors(vectors, word_set)
    names = [word for word in word_vectors.words if word_set is None or word in word_set]
    if len(names) <= k:
        raise OptionError(f"k must be less than the number of words with vectors, {len(names):,}; got {k}")
    units = unit_vectors(word_vectors.vectors[word_vectors.rows(names)])
    occurrences = np.zeros(len(names))
    report_progress = progress or silent
    size = max(1, BLOCK_CELLS // len(names))
    for start in range(0, len(names), size):
        cosines = np.round(units[start : start + size] @ units.T, DECIMALS)
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf  # a word is not its own neighbour
        last = np.partition(cosines, -k, axis=1)[:, -k, np.newaxis]  # cosine of the k-th neighbour
        is_nearer, is_last = cosines > last, cosines == last
        shares = (k - is_nearer.sum(axis=1)) / is_last.sum(axis=1)
        occurrences += is_nearer.sum(axis=0) + shares @ is_last
        report_progress(len(cosines))
    deviations = occurrences - k
    spread = float(np.sqrt(np.mean(deviations**2)))
    skewness = float(np.mean(deviations**3)) / spread**3 if spread else float("nan")
    orphan_share = float(np.mean(occurrences == 0))
    return Hubness(tuple(names), read_only(occurrences), k, skewness, orphan_share)
