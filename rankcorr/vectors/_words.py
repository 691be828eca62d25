"""Words with their vectors, checked, and the cosines between them: rounded to 10 decimals, without error.

Equal cosines are equal numbers, and so tie. The true cosine of the stored numbers is rounded, whatever their order or
scale: floats decide where their error bound allows it, and whole numbers decide near the boundary between two rounded
values.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt
from operator import mul
from typing import Any, Final, TypeAlias
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import shown
from rankcorr._input.identifiers import warn_unicode_twins
from rankcorr._input.numbers import detach_tensor
from rankcorr._input.scores import is_masked
from rankcorr._output.results import read_only
from rankcorr.errors import RankingError

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

STEPS: Final = 10**10  # from 0 to 1; numbers stored as float32 leave a cosine uncertain by 20 steps
ROUNDING: Final = 2.0**-53  # largest relative error of one operation on floats
BLOCK_NUMBERS: Final = 1 << 17  # of vectors that are multiplied at once: 1 MB for each side stays in the cache
N_CACHED: Final = 1_000  # vectors as whole numbers: 12 kB each at 300 dimensions


class VectorError(RankingError):
    """Base of the errors of word vectors.

    See Also
    --------
    VectorFileError, VectorValueError, DuplicateWordError, UnknownWordError : Its subclasses.
    rankcorr.RankingError : Its base.

    Examples
    --------
    >>> from rankcorr.vectors import VectorError, WordVectors
    >>> try:
    ...     WordVectors.of({"cat": [3.0, 4.0], "dog": [4.0]})
    ... except VectorError as error:
    ...     print(type(error).__name__)
    VectorValueError
    """


class VectorFileError(VectorError):
    r"""A file that contradicts its form: a false header, a short line, a cut end, another encoding.

    See Also
    --------
    read_vectors : Raises it.
    VectorValueError : A vector that has no cosine.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import VectorFileError, read_vectors
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vectors.txt")
    ...     _ = file.write_text("3 2\ncat 3 4\ndog 4 3\n")
    ...     try:
    ...         read_vectors(file)
    ...     except VectorFileError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    vectors.txt: the header announces 3 words, but the file has 2
    """


class VectorValueError(VectorError):
    """A vector without a cosine: nan, infinite, zero, not numeric, or of another dimension.

    See Also
    --------
    read_vectors, WordVectors.of : Raise it.
    VectorFileError : A file that contradicts its form.

    Examples
    --------
    >>> from rankcorr.vectors import WordVectors
    >>> WordVectors.of({"cat": [3.0, 4.0], "dog": [0.0, 0.0]})
    Traceback (most recent call last):
        ...
    rankcorr.vectors._words.VectorValueError: the vector of 'dog': all numbers of 'dog' are 0, so that it ...
    """


class DuplicateWordError(VectorError):
    r"""A word with more than one vector.

    See Also
    --------
    read_vectors : Raises it.
    UnknownWordError : A word without a vector.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import DuplicateWordError, read_vectors
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vectors.txt")
    ...     _ = file.write_text("2 2\ncat 3 4\ncat 4 3\n")
    ...     try:
    ...         read_vectors(file)
    ...     except DuplicateWordError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    vectors.txt:3: 'cat' has a vector already, in vectors.txt:2
    """


class DuplicatePairError(VectorError):
    """A pair of words with more than one gold score: in both orders, which have the same cosine.

    See Also
    --------
    evaluate_vectors : Raises it.
    read_pairs : The option `unordered`, for files with both orders.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0]}
    >>> evaluate_vectors(vectors, {("cat", "dog"): 8.0, ("dog", "cat"): 7.0, ("cat", "car"): 2.0})
    Traceback (most recent call last):
        ...
    rankcorr.vectors._words.DuplicatePairError: each pair may appear only once, in either order of its words ...
    """


class UnknownWordError(VectorError):
    """Words without a vector, where each must have one, or too few have one.

    See Also
    --------
    evaluate_vectors : The option `oov`, which accepts such words.
    LowCoverageWarning : Fewer than half of the pairs have vectors.

    Examples
    --------
    >>> from rankcorr.vectors import WordVectors
    >>> WordVectors.of({"cat": [3.0, 4.0], "dog": [4.0, 3.0]}).cosine("cat", "cow")
    Traceback (most recent call last):
        ...
    rankcorr.vectors._words.UnknownWordError: 'cow' has no vector
    """


class MissingGensimError(ImportError):
    """A file of gensim is to be read, and gensim is not installed.

    See Also
    --------
    read_vectors : The forms that need no other package.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from rankcorr.vectors import read_vectors
    >>> with patch.dict(sys.modules, {"gensim.models": None}):  # as if it were not installed
    ...     read_vectors("vectors.kv")
    Traceback (most recent call last):
        ...
    rankcorr.vectors._words.MissingGensimError: files of gensim (.kv, .model) need gensim: pip install gensim
    """


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and their vectors; made by `read_vectors`, or by `WordVectors.of` from a mapping or gensim's KeyedVectors.

    Attributes
    ----------
    words : tuple of str
    vectors : ndarray of float32 or float64, shape (n_words, dimension), read-only
        As in the source: no value is rounded.
    n_known : int
        Number of words of the source, whether kept or not.
    form : str or None
        Form of the file; None for vectors from memory.
    n_undecodable : int
        Words of the file that were left out because their bytes are not text in its encoding.

    See Also
    --------
    read_vectors : Read vectors from a file.
    evaluate_vectors : Score them on pairs of words.

    Examples
    --------
    >>> from rankcorr.vectors import WordVectors
    >>> vectors = WordVectors.of({"cat": [3.0, 4.0], "dog": [4.0, 3.0], "car": [0.0, 1.0]})
    >>> vectors.words, vectors.dimension, round(vectors.cosine("cat", "dog"), 4)
    (('cat', 'dog', 'car'), 2, 0.96)
    """

    words: tuple[str, ...]
    vectors: NDArray[Any]
    n_known: int
    form: str | None = None
    n_undecodable: int = 0

    @classmethod
    def of(
        cls, source: Mapping[str, ArrayLike] | WordVectors | Any, words: Collection[str] | None = None
    ) -> WordVectors:
        """Vectors from a mapping of word to vector or KeyedVectors of gensim; `read_vectors` reads a file.

        Parameters
        ----------
        source : WordVectors, mapping or KeyedVectors
            A `WordVectors` is returned unchanged.
        words : collection of str, optional
            Words to keep of another source; by default all.

        Raises
        ------
        VectorError
            The subclass tells what is wrong with a vector.

        Examples
        --------
        >>> vectors = WordVectors.of({"cat": [3.0, 4.0], "dog": [4.0, 3.0]})
        >>> vectors.cosine("cat", "dog")
        0.96
        """
        if isinstance(source, WordVectors):
            return source
        collection = KeptVectors()
        keyed = getattr(source, "key_to_index", None)
        known = source if keyed is None else keyed
        if not isinstance(known, Mapping):
            raise VectorError(
                f"vectors must be a mapping of word to vector or KeyedVectors (read_vectors reads a file); "
                f"got {shown(source)}"
            )
        for word in known if words is None else dict.fromkeys(words):
            if word in known:
                collection.add(word, source[word], f"the vector of {shown(word)}")
        return collection.collect(len(known), None)

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return int(self.vectors.shape[1])

    def cosine(self, first: str, second: str) -> float:
        """Cosine of the vectors of two words, as in `cosines`.

        Raises
        ------
        UnknownWordError
            A word has no vector.
        """
        return float(self.cosines([(first, second)])[0])

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> Values:
        """Cosine of each pair of words, shape (n_pairs,): the true one of the stored numbers, rounded to 10 decimals.

        Equal cosines are therefore equal numbers, and tie: those of equal, proportional, opposite or permuted vectors,
        for example. Cosines that differ by 1e-10 or more are different numbers. A vector that was scaled and then
        rounded to float32 still has the cosine 1 with the original. The value depends on the two vectors alone.

        Raises
        ------
        UnknownWordError
            A word has no vector.

        Examples
        --------
        >>> vectors = WordVectors.of({"grey": [1.0, 1.0, 2.0], "gray": [2.0, 2.0, 4.0], "dim": [-1.0, -1.0, -2.0]})
        >>> vectors.cosines([("grey", "gray"), ("grey", "dim")])
        array([ 1., -1.])
        """
        return self._cosines(self.rows([first for first, _ in pairs]), self.rows([second for _, second in pairs]))

    def cosines_of(self, word: str, others: Sequence[str]) -> Values:
        """Cosine of a word with each of others, shape (n_others,), as in `cosines`.

        Raises
        ------
        UnknownWordError
            A word has no vector.
        """
        rows = self.rows(others)
        return self._cosines(np.full(rows.size, self.rows([word])[0]), rows)

    def _cosines(self, first: Rows, second: Rows) -> Values:
        return rounded_cosines(self.vectors, self._unit_vectors, first, second) if first.size else np.empty(0)

    @cached_property
    def _unit_vectors(self) -> Values:
        return unit_vectors(self.vectors)

    def rows(self, words: Sequence[str]) -> Rows:
        """Rows of words, shape (n_words,).

        Raises
        ------
        UnknownWordError
            A word has no vector.
        """
        try:
            return np.array([self.index[word] for word in words], np.intp)
        except KeyError as error:
            raise UnknownWordError(f"{shown(error.args[0])} has no vector") from error

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<WordVectors of {len(self):,} words, {self.dimension:,} dimensions>"


def unicode_forms(words: Collection[str]) -> Collection[str]:
    """Return words with those that differ from them only by Unicode normalisation."""
    forms = [normalize(form, word) for word in words if not word.isascii() for form in ("NFC", "NFD")]
    return {*words, *forms} if forms else words


def warn_other_forms(oov_words: Collection[str], vectors: WordVectors) -> None:
    """Warn of words without a vector that have one in another Unicode form."""
    for word in oov_words:
        if not word.isascii() and any(form in vectors.index for form in unicode_forms([word])):
            warn_unicode_twins([*oov_words, *vectors.words], "word", stacklevel=5)
            break


VectorsLike: TypeAlias = WordVectors | Mapping[str, ArrayLike] | str | os.PathLike[str] | Any  # a str is a path


class KeptVectors:
    """Vectors collected one by one, each checked on arrival."""

    def __init__(self) -> None:
        self.dimension: int | None = None
        self._places: dict[str, str] = {}
        self._vectors: list[NDArray[Any]] = []

    def add(self, word: object, vector: Any, place: str) -> None:
        """Keep a vector; `place` begins the message of an error.

        Raises
        ------
        DuplicateWordError
            The word has a vector already.
        VectorValueError
            The vector has no cosine, or another dimension than those before.
        """
        if not isinstance(word, str) or not word:
            raise VectorError(f"{place}: a word must be text, not empty; got {shown(word)}")
        if word in self._places:
            raise DuplicateWordError(f"{place}: {shown(word)} has a vector already, in {self._places[word]}")
        try:
            values = np.asarray(detach_tensor(vector))
        except (ValueError, TypeError, RuntimeError):  # rows of different lengths, a tensor that numpy cannot hold
            values = np.empty(0)
        if is_masked(vector) or values.dtype.kind not in "iuf" or values.ndim != 1 or not values.size:
            raise VectorValueError(f"{place}: a vector of numbers is expected for {shown(word)}; got {shown(vector)}")
        self.dimension = self.dimension or values.size
        if values.size != self.dimension:
            raise VectorValueError(
                f"{place}: {shown(word)} has {values.size} numbers; the others have {self.dimension}"
            )
        if values.dtype.itemsize > 8:  # wide floats, of which few machines have any
            with np.errstate(over="ignore", under="ignore"):
                values = values.astype(np.float64)
        if not np.isfinite(values).all():
            number = int(np.flatnonzero(~np.isfinite(values))[0])
            raise VectorValueError(f"{place}: number {number + 1} of {shown(word)} is {values[number]}")
        if not values.any():
            raise VectorValueError(f"{place}: all numbers of {shown(word)} are 0, so that it has no cosine")
        self._places[word] = place
        self._vectors.append(values)

    def collect(self, n_known: int, form: str | None, n_undecodable: int = 0) -> WordVectors:
        """Return the words kept."""
        vectors = np.array(self._vectors) if self._vectors else np.empty((0, self.dimension or 0))
        if vectors.dtype.kind != "f":
            vectors = vectors.astype(np.float64)
        return WordVectors(tuple(self._places), read_only(vectors), n_known, form, n_undecodable)


def unit_vectors(vectors: NDArray[Any]) -> Values:
    """Vectors divided by their lengths, shape (n_words, dimension)."""
    values = np.asarray(vectors, np.float64)
    # By the largest value first, so that no square overflows or vanishes.
    values = values / np.abs(values).max(axis=1, keepdims=True)
    return np.asarray(values / np.sqrt((values * values).sum(axis=1, keepdims=True)))


def rounded_cosines(vectors: NDArray[Any], units: Values, first: Rows, second: Rows) -> Values:
    """Cosine of each pair of rows, to the nearest multiple of 1e-10, shape (n_pairs,).

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dimension)
    units : ndarray of shape (n_words, dimension)
        `unit_vectors` of these.
    first, second : ndarray of int, shape (n_pairs,)
    """
    dimension = units.shape[1]
    cosines = np.empty(first.size)
    size = max(1, BLOCK_NUMBERS // dimension)
    for start in range(0, first.size, size):
        part = slice(start, start + size)
        # Not by BLAS, whose last digits depend on the number of threads.
        cosines[part] = np.einsum("ij,ij->i", units[first[part]], units[second[part]])
    steps = cosines * STEPS
    nearest = np.rint(steps)
    # A bound for any order of summation: dimension / 2 for each length, dimension for the dot product, and the rest
    # for single operations (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
    error = (2 * dimension + 16) * ROUNDING * STEPS
    near_boundary = np.flatnonzero(np.abs(steps - nearest) >= 0.5 - error)
    whole_numbers = lru_cache(N_CACHED)(lambda row: _whole_numbers(vectors[row]))
    for pair in near_boundary.tolist():
        nearest[pair] = _rounded_steps(*whole_numbers(int(first[pair])), *whole_numbers(int(second[pair])))
    return nearest / STEPS + 0.0  # no negative zero


def _whole_numbers(vector: NDArray[Any]) -> tuple[list[int], int]:
    """Whole numbers in the proportions of a vector, and the sum of their squares."""
    mantissas, exponents = np.frexp(np.asarray(vector, np.float64))
    shifts = exponents - exponents[mantissas != 0].min()
    integers = (mantissas * 2.0**53).astype(np.int64).tolist()
    numbers = [number << shift if number else 0 for number, shift in zip(integers, shifts.tolist(), strict=True)]
    return numbers, sum(map(mul, numbers, numbers))


def _rounded_steps(first: list[int], first_square: int, second: list[int], second_square: int) -> int:
    """Return a cosine in steps, rounded to the nearest one; halves are rounded away from 0."""
    dot = sum(map(mul, first, second))
    half_steps = isqrt((2 * STEPS * dot) ** 2 // (first_square * second_square))
    steps = (half_steps + 1) // 2
    return steps if dot > 0 else -steps
