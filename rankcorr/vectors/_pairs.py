"""Gold scores of pairs of words -> cosines of their vectors -> coefficients, with chance levels and intervals."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_flag, checked_level, counted, give_notice, offending, shown
from rankcorr._coefficients import COEFFICIENTS, Coefficient, CoefficientLike, different_coefficients
from rankcorr._input.frames import is_rank_column
from rankcorr._io.rankings import Duplicates, read_numbers
from rankcorr._output.results import Result, TableResult, columns_of, read_only
from rankcorr._ranking import as_ranking
from rankcorr._workers import Progress
from rankcorr.errors import LowCoverageWarning, NonNumericError, OptionError, SelfPairWarning, TableError
from rankcorr.evaluation._metrics import name_of
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._null import permutation_test
from rankcorr.vectors._reading import as_vectors
from rankcorr.vectors._words import (
    DuplicatePairError,
    UnknownWordError,
    Values,
    VectorError,
    VectorsLike,
    WordVectors,
    warn_other_forms,
)

Pair: TypeAlias = tuple[str, str]
PairsLike: TypeAlias = Mapping[Pair, float] | str | os.PathLike[str]
Oov: TypeAlias = Literal["omit", "error", "lowest"]

SelfPairs: TypeAlias = Literal["keep", "omit"]

OOV: Final[tuple[Oov, ...]] = get_args(Oov)
SELF_PAIRS: Final[tuple[SelfPairs, ...]] = get_args(SelfPairs)
RESAMPLES: Final = 2_000
LOW_COVERAGE: Final = 0.5  # of the pairs: below it there is a warning


def read_pairs(
    path: str | os.PathLike[str],
    *,
    word_columns: Sequence[str] | None = None,
    score_column: str | None = None,
    header: bool = True,
    unordered: bool = False,
    duplicates: Duplicates = "error",
) -> dict[Pair, float]:
    r"""Read gold scores of pairs of words from a file in UTF-8, such as WordSim-353, SimLex-999, MEN or RDT.

    Files are read as they are published: CSV, TSV, or cells separated by single spaces, with or without names of
    columns, after comment lines that begin with "#". The first line is data if it has a number in each column where the
    second line has one. The columns are then named "1", "2", ...

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input. The file may be compressed by gzip.
    duplicates : {"error", "mean", "first"}
        How to treat a pair with several scores: raise an error, or use the mean or the first of them.
    word_columns : sequence of two str, optional
        Columns of the words; by default the first two that are not `score_column`.
    score_column : str, optional
        Column of the scores; optional if only one column is left for it.
    header : bool, default True
        False: the first line is data, whatever it holds.
    unordered : bool, default False
        "gem, jewel" and "jewel, gem" are one pair, as in `evaluate_vectors`, spelt as in its first row. The relata of
        words are ordered pairs.

    Returns
    -------
    dict of (str, str) to float
        In the order of the file.

    Raises
    ------
    TableError
        The file cannot be read; the message names file, line and column.
    OptionError

    See Also
    --------
    evaluate_vectors : Score vectors on these pairs.
    read_vectors : Read the vectors.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import read_pairs
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "rg.tsv")
    ...     _ = file.write_text("word1\tword2\tgold\tlch\ngem\tjewel\t3.94\t3.6\ncord\tsmile\t0.02\t1.5\n")
    ...     read_pairs(file, score_column="gold")
    {('gem', 'jewel'): 3.94, ('cord', 'smile'): 0.02}
    """
    if word_columns is not None and (isinstance(word_columns, str) or len(word_columns) != 2):
        raise OptionError(f"word_columns must be a list of two names of columns; got {shown(word_columns)}")
    options: dict[str, Any] = {"header": header, "unordered": unordered, "duplicates": duplicates}
    table = read_numbers(path, id_columns=word_columns, score_column=score_column, words=True, **options)
    if is_rank_column(table.column):
        raise TableError(
            f'{table.file}: column "{table.column}" holds ranks, and similarities are needed: larger is more similar'
        )
    return cast("dict[Pair, float]", table.numbers)


def as_pairs(gold: PairsLike, *, unordered: bool = False) -> dict[Pair, float]:
    """Gold scores by pair, read from a file if given a path; `unordered` pairs ignore the order of words.

    Raises
    ------
    VectorError
        The value is neither, or a key is not a pair of words; `DuplicatePairError` for an unordered pair in both
        orders.
    RankingError
        A score is not a number, or does not fit into a float.
    """
    if isinstance(gold, str | os.PathLike):
        return read_pairs(gold, unordered=unordered)
    if not isinstance(gold, Mapping):
        raise VectorError(f"gold must be a path or a mapping of (word, word) to score; got {shown(gold)}")
    if wrong := [pair for pair in gold if not _is_pair(pair)]:
        raise VectorError(offending("keys of gold must be pairs of words; got", wrong))
    as_ranking(gold)  # refuses scores that are no numbers
    for pair, score in gold.items():
        try:
            float(score)
        except OverflowError:
            raise NonNumericError(
                f"gold scores must be in the range of 64-bit floats; that of {pair} is {shown(score)}"
            ) from None
    if unordered and (both := [pair for pair in gold if pair[0] < pair[1] and pair[::-1] in gold]):
        raise DuplicatePairError(
            offending(
                "each pair may appear only once, in either order of its words (read_pairs with unordered=True and "
                'duplicates="mean" averages repeated pairs of a file); repeated',
                both,
            )
        )
    return {(str(first), str(second)): score for (first, second), score in gold.items()}


def _is_pair(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and all(isinstance(word, str) for word in key)


def words_of(pairs: Mapping[Pair, float], *, lower: bool) -> dict[str, str]:
    """Each word of the pairs, and the form used to look it up, in the order of first use."""
    return {word: word.lower() if lower else word for pair in pairs for word in pair}


@dataclass(frozen=True, eq=False)
class VectorCoefficient(Result):
    """A coefficient of gold scores and cosines.

    Attributes
    ----------
    coefficient : str
        Name, with the options that are not the default.
    statistic : float
        nan if undefined, and then the others are nan too.
    chance : float
        Mean of the values of chance for these ties and this number of pairs.
    standardized : float
        The coefficient on a scale where chance gives 0; see `NullDistribution.standardize`.
    percentile : float
        Percentage of the values of chance below the coefficient.
    pvalue : float
        Probability that chance agrees at least as well.
    low, high : float
        Interval; see `correlation_interval`.
    note : str or None
        A sentence about the pair that carries more than half of the jackknife variance, and so decides the interval.

    See Also
    --------
    VectorEvaluation : Lists the coefficients.
    rankcorr.permutation_test : The level of chance and the p-value.
    rankcorr.correlation_interval : The interval.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0], "van": [0.2, 0.9]}
    >>> gold = {("cat", "dog"): 8.0, ("car", "van"): 9.0, ("cat", "car"): 2.0, ("dog", "bus"): 1.0}
    >>> score = evaluate_vectors(vectors, gold, coefficients=["rho"]).coefficients[0]
    >>> score.coefficient, round(score.statistic, 4), round(score.pvalue, 4)
    ('rho', 1.0, 0.1667)
    """

    coefficient: str
    statistic: float
    chance: float
    standardized: float
    percentile: float
    pvalue: float
    low: float
    high: float
    note: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class VectorEvaluation(TableResult):
    """Word vectors against gold scores of pairs of words.

    Attributes
    ----------
    coefficients : tuple of VectorCoefficient
    pairs : tuple of (str, str)
        All pairs of the gold scores.
    gold : ndarray of float64, shape (n_pairs,), read-only
    cosines : ndarray of float64, shape (n_pairs,), read-only
        Rounded to 10 decimals, so that equal cosines tie (`WordVectors.cosines`); nan if a word has no vector.
    oov_pairs : tuple of (str, str)
        Pairs with a word that has no vector.
    oov_words : tuple of str
        Words without a vector.
    options : dict
        `oov`, `self_pairs`, `lower`, `level`, `n_resamples` and `seed` as given.

    See Also
    --------
    evaluate_vectors : Returns it.
    VectorCoefficient : The type of its coefficients.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0], "van": [0.2, 0.9]}
    >>> gold = {("cat", "dog"): 8.0, ("car", "van"): 9.0, ("cat", "car"): 2.0, ("dog", "bus"): 1.0}
    >>> evaluation = evaluate_vectors(vectors, gold, coefficients=["rho"])
    >>> evaluation.n_compared, evaluation.n_pairs, evaluation.oov_words, round(evaluation.statistic("rho"), 4)
    (3, 4, ('bus',), 1.0)
    """

    coefficients: tuple[VectorCoefficient, ...]
    pairs: tuple[Pair, ...]
    gold: Values
    cosines: Values
    oov_pairs: tuple[Pair, ...]
    oov_words: tuple[str, ...]
    options: dict[str, Any]

    @property
    def scores(self) -> dict[Pair, float]:
        """Cosine of each pair compared, as a system for `compare_many`, `leaderboard` and others.

        With `oov` "lowest", pairs without a cosine have minus infinity.
        """
        omitted = set(self.oov_pairs) if self.options["oov"] == "omit" else set()
        values = np.where(np.isnan(self.cosines), -math.inf, self.cosines).tolist()
        return {pair: value for pair, value in zip(self.pairs, values, strict=True) if pair not in omitted}

    @property
    def n_pairs(self) -> int:
        """Number of pairs of the gold scores."""
        return len(self.pairs)

    @property
    def n_compared(self) -> int:
        """Number of pairs behind the coefficients."""
        return self.n_pairs - (len(self.oov_pairs) if self.options["oov"] == "omit" else 0)

    def statistic(self, coefficient: str) -> float:
        """Value of a coefficient by its name.

        Raises
        ------
        OptionError
            It was not computed.
        """
        names = tuple(row.coefficient for row in self.coefficients)
        check_choice("coefficient", coefficient, names)
        return self.coefficients[names.index(coefficient)].statistic

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: None for nan."""
        return {"n_pairs": self.n_pairs, "n_compared": self.n_compared, **super().to_dict()}

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(VectorCoefficient, self.coefficients, omit=["note"])

    def __repr__(self) -> str:
        values = ", ".join(f"{row.coefficient} {row.statistic:.4f}" for row in self.coefficients)
        return f"<VectorEvaluation of {self.n_compared:,} of {counted(self.n_pairs, 'pair')}: {values}>"


def evaluate_vectors(
    vectors: VectorsLike,
    gold: PairsLike,
    *,
    coefficients: Sequence[CoefficientLike] = COEFFICIENTS,
    oov: Oov = "omit",
    self_pairs: SelfPairs = "keep",
    lower: bool = False,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> VectorEvaluation:
    """Score word vectors on gold scores of word pairs, the usual evaluation of word similarity.

    Parameters
    ----------
    vectors : WordVectors, mapping of word to vector, KeyedVectors of gensim, or path
        For a path, only the words of the gold scores are kept.
    gold : mapping of (word, word) to score, or path
        As `read_pairs` returns it, or a file of three columns that it reads. Each pair may appear only once: cosines
        are symmetric, so that ("cat", "dog") and ("dog", "cat") are one pair.
    coefficients : sequence of Coefficient or {"rho_w", "tau_w", "rho", "tau"}
        Gold is x in these coefficients.
    oov : {"omit", "error", "lowest"}
        How to treat a pair with a word that has no vector: leave it out, raise an error, or tie it below all others.
    self_pairs : {"keep", "omit"}
        How to treat a pair of a word with itself, such as "tiger tiger" of WordSim-353: its cosine is 1 for any
        vectors, so that it says nothing of them, and at the top of the list it weighs much.
    lower : bool, default False
        Look words up in lower case.
    level : float, default 0.95
        Level of confidence of the intervals.
    n_resamples : int, default 2000
        Number of permutations behind each chance level, and of resamples behind each interval.
    seed, workers
        As in `correlation_interval`.
    progress : callable, optional
        Called with the number of permutations and resamples done since the last call.

    Returns
    -------
    VectorEvaluation

    Raises
    ------
    RankingError
        `UnknownWordError` if fewer than two pairs have vectors, or one has none and `oov` is "error".
        `DuplicatePairError` for a pair that a mapping has in both orders, `TableError` for one of a file. Other
        subclasses name what is wrong with vectors, gold or options.

    Warns
    -----
    UndefinedCorrelationWarning
        A coefficient is undefined.
    SelfPairWarning
        Pairs of a word with itself are kept.
    UnicodeFormWarning
        A word has no vector, but another Unicode form of it has.
    LowCoverageWarning
        Fewer than half of the pairs have vectors.

    See Also
    --------
    read_vectors, read_pairs : Read vectors and gold pairs from files.
    common_pairs : The pairs on which several vectors can be compared.
    evaluate_relata : Rank the neighbours of each word instead.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_vectors
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0], "van": [0.2, 0.9]}
    >>> gold = {("cat", "dog"): 8.0, ("car", "van"): 9.0, ("cat", "car"): 2.0, ("dog", "bus"): 1.0}
    >>> evaluate_vectors(vectors, gold, oov="lowest")
    <VectorEvaluation of 4 of 4 pairs: rho_w 1.0000, tau_w 1.0000, rho 1.0000, tau 1.0000>
    """
    different = different_coefficients(coefficients).values()
    check_choice("oov", oov, OOV)
    check_choice("self_pairs", self_pairs, SELF_PAIRS)
    checked_level(level)
    pairs = as_pairs(gold, unordered=True)
    looked_up = words_of(pairs, lower=checked_flag(lower, "lower"))
    pairs_of_one_word = [(first, second) for first, second in pairs if looked_up[first] == looked_up[second]]
    if self_pairs == "omit":
        pairs = {pair: score for pair, score in pairs.items() if pair not in pairs_of_one_word}
        looked_up = words_of(pairs, lower=lower)
    elif pairs_of_one_word:
        message = (
            'pairs of a word with itself have the cosine 1 whatever the vectors; self_pairs="omit" leaves them out'
        )
        give_notice(offending(message, pairs_of_one_word), SelfPairWarning)
    word_vectors = as_vectors(vectors, set(looked_up.values()))
    cosines = cosines_or_nan(word_vectors, list(pairs), looked_up)
    lacking = np.isnan(cosines)
    oov_words = tuple(word for word, key in looked_up.items() if key not in word_vectors.index)
    warn_other_forms([looked_up[word] for word in oov_words], word_vectors)
    if oov_words and oov == "error":
        raise UnknownWordError(offending("words without a vector", oov_words))
    n_known = len(pairs) - int(np.count_nonzero(lacking))
    if (n_known if oov == "omit" else len(pairs)) < 2:
        raise UnknownWordError(f"at least two pairs with vectors are needed; {n_known} of {len(pairs)} have them")
    _check_coverage(n_known, len(pairs))
    scores = np.array([float(score) for score in pairs.values()])
    resampling: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "workers": workers, "progress": progress}
    policies = {"oov": oov, "self_pairs": self_pairs, "lower": bool(lower)}
    evaluation = VectorEvaluation(
        coefficients=(),
        pairs=tuple(pairs),
        gold=read_only(scores),
        cosines=read_only(cosines),
        oov_pairs=tuple(pair for pair, lacks in zip(pairs, lacking, strict=True) if lacks),
        oov_words=oov_words,
        options={**policies, "level": level, "n_resamples": n_resamples, "seed": seed},
    )
    y = evaluation.scores
    x = {pair: pairs[pair] for pair in y}
    return replace(
        evaluation, coefficients=tuple(_infer(x, y, coefficient, level, resampling) for coefficient in different)
    )


def common_pairs(vectors: Iterable[VectorsLike], gold: PairsLike, *, lower: bool = False) -> dict[Pair, float]:
    """Return the gold scores of the pairs whose words are both in all vectors, so that vectors can be compared.

    Parameters
    ----------
    vectors : iterable of WordVectors, mapping, KeyedVectors of gensim, or path
    gold, lower
        As in `evaluate_vectors`.

    Raises
    ------
    RankingError
        `UnknownWordError` if fewer than two pairs are left; other subclasses name what is wrong with vectors or gold.

    Warns
    -----
    LowCoverageWarning
        Fewer than half of the pairs are left.

    See Also
    --------
    evaluate_vectors : Score vectors on these pairs.
    rankcorr.compare_many : Test the differences.

    Examples
    --------
    >>> from rankcorr import compare_many
    >>> from rankcorr.vectors import common_pairs, evaluate_vectors
    >>> one = {"cat": [1.0, 0.1], "dog": [0.9, 0.3], "car": [0.1, 1.0], "van": [0.2, 0.9]}
    >>> two = {"cat": [1.0, 0.1], "dog": [0.2, 0.8], "car": [0.7, 0.7], "bus": [0.3, 0.9]}
    >>> gold = {("cat", "dog"): 8.0, ("cat", "car"): 2.0, ("car", "dog"): 1.0, ("car", "van"): 9.0}
    >>> common = common_pairs([one, two], gold)
    >>> list(common)
    [('cat', 'dog'), ('cat', 'car'), ('car', 'dog')]
    >>> systems = {name: evaluate_vectors(words, common).scores for name, words in (("one", one), ("two", two))}
    >>> compare_many(common, systems, coefficients=["rho"]).rows[0].comparison.difference
    1.5
    """
    pairs = as_pairs(gold, unordered=True)
    looked_up = words_of(pairs, lower=checked_flag(lower, "lower"))
    known = [as_vectors(source, set(looked_up.values())).index.keys() for source in vectors]
    common = {
        pair: score for pair, score in pairs.items() if all({*map(looked_up.get, pair)} <= words for words in known)
    }
    if len(common) < 2:
        raise UnknownWordError(f"at least two pairs must have all vectors; {len(common)} of {len(pairs)} have them")
    _check_coverage(len(common), len(pairs))
    return common


def _check_coverage(n_known: int, n_pairs: int) -> None:
    """Warn that the pairs with vectors say little of all pairs."""
    if n_known < LOW_COVERAGE * n_pairs:
        text = f"only {n_known:,} of {n_pairs:,} pairs have vectors, so the values may not hold for all pairs"
        give_notice(text, LowCoverageWarning, stacklevel=4)


def cosines_or_nan(vectors: WordVectors, pairs: Sequence[Pair], looked_up: dict[str, str]) -> Values:
    """Cosine of each pair, nan if a word has no vector, shape (n_pairs,)."""
    keys = [(looked_up[first], looked_up[second]) for first, second in pairs]
    known: NDArray[np.bool_] = np.array([a in vectors.index and b in vectors.index for a, b in keys], bool)
    values = np.full(len(keys), np.nan)
    if known.any():
        values[known] = vectors.cosines([key for key, is_known in zip(keys, known, strict=True) if is_known])
    return values


def _infer(
    x: Mapping[Pair, float], y: dict[Pair, float], coefficient: Coefficient, level: float, resampling: dict[str, Any]
) -> VectorCoefficient:
    test = permutation_test(x, y, coefficient=coefficient, alternative="greater", **resampling)
    low = high = chance = math.nan
    note = None
    if not math.isnan(test.statistic):
        interval = correlation_interval(x, y, coefficient=coefficient, level=level, **resampling)
        low, high, chance, note = interval.low, interval.high, test.null.mean, interval.note
    figures = test.statistic, chance, test.standardized, test.percentile, test.pvalue, low, high
    return VectorCoefficient(name_of(coefficient), *figures, note)
