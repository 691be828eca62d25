"""Gold scores of the relata of words -> candidates of each word ranked by cosine -> evaluation by query.

`hubness` finds words that are among the nearest neighbours of too many others: the skewness of k-occurrences.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, check_group_name, checked_count, checked_flag, counted, offending
from rankcorr._output.results import Result, TableResult, json_ready, read_only
from rankcorr._workers import Progress, silent
from rankcorr.errors import OptionError
from rankcorr.evaluation._evaluate import Evaluation, evaluate
from rankcorr.evaluation._metrics import MetricLike
from rankcorr.evaluation._nulls import RESAMPLES
from rankcorr.evaluation._qrels import Qrels, Run
from rankcorr.measures import average_precision
from rankcorr.vectors._pairs import OOV, Oov, Pair, PairsLike, as_pairs, cosines_or_nan, words_of
from rankcorr.vectors._reading import as_vectors
from rankcorr.vectors._words import UnknownWordError, VectorsLike, WordVectors, unit_vectors, warn_other_forms

Candidates: TypeAlias = Literal["gold", "all"]

CANDIDATES: Final[tuple[Candidates, ...]] = get_args(Candidates)
METRICS: Final = ("tau_w", "ap")
RUN: Final = "cosine"


@dataclass(frozen=True, eq=False, repr=False)
class RelataEvaluation(Result):
    """Word vectors against gold scores of the relata of words.

    Attributes
    ----------
    evaluation : Evaluation
        By word: its queries are the words, its documents the relata.
    n_words, n_relata : int
        Number of words with relata, and of pairs of a word and a relatum, in the gold scores.
    oov_words, oov_relata : tuple of str
        Words, and relata, without a vector.
    pooled_ap : float
        Average precision of all judged pairs in one list, by cosine: related pairs have a score of at least 1, and
        pairs without a cosine are tied last. RUSSE reports it; the mean by word is the metric "ap". nan if no pair is
        related.
    options : dict
        `oov`, `lower` and `candidates` as given; the others are in `evaluation`.

    See Also
    --------
    evaluate_relata : Returns it.
    rankcorr.evaluation.Evaluation : The values by word.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_relata
    >>> vectors = {"book": [1.0, 0.2], "page": [0.9, 0.3], "author": [0.7, 0.7], "zebra": [-0.2, 1.0]}
    >>> gold = {("book", "page"): 1, ("book", "author"): 1, ("book", "zebra"): 0, ("book", "tome"): 1}
    >>> relata = evaluate_relata(vectors, gold)
    >>> relata.n_words, relata.n_relata, relata.oov_relata, round(relata.mean("tau_w"), 4)
    (1, 4, ('tome',), 0.7017)
    """

    evaluation: Evaluation
    n_words: int
    n_relata: int
    oov_words: tuple[str, ...]
    oov_relata: tuple[str, ...]
    pooled_ap: float
    options: dict[str, Any]

    def mean(self, metric: MetricLike | None = None, *, standardized: bool = False) -> float:
        """Mean of a metric over the words that have a value; see `Evaluation.mean`."""
        return self.evaluation.mean(metric, standardized=standardized)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: None for nan."""
        others = {name: value for name, value in vars(self).items() if name != "evaluation"}
        return {**json_ready(others), "evaluation": self.evaluation.to_dict()}

    def __repr__(self) -> str:
        values = ", ".join(f"{row.metric} {row.mean:.4f}" for row in self.evaluation.means)
        return f"<RelataEvaluation of {self.n_words:,} words, {self.n_relata:,} relata: {values}>"


def evaluate_relata(
    vectors: VectorsLike,
    gold: PairsLike,
    *,
    metrics: Sequence[MetricLike] | MetricLike = METRICS,
    candidates: Candidates = "gold",
    depth: int | None = None,
    oov: Oov = "omit",
    lower: bool = False,
    standardized: bool = True,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RelataEvaluation:
    """Score word vectors on the relata of words: rank the candidates of each word by cosine, as nearest neighbours.

    Parameters
    ----------
    vectors : WordVectors, mapping of word to vector, KeyedVectors of gensim, or path
        For a path, only the words of the gold scores are kept.
    gold : mapping of (word, relatum) to score, or path
        A label of 1 or 0, or any score of relatedness; "ap" and "p@10" count relata with at least 1 as related.
    metrics : sequence of str, Coefficient or measure of ir_measures
        As `rankcorr.evaluation.evaluate` takes them.
    candidates : {"gold", "all"}
        The relata ranked for a word: those in its gold scores, or all relata that occur in the gold scores. Relata
        without a judgement for the word then count as unrelated (0), and a word is not its own candidate.
    depth : int, optional
        Number of nearest neighbours kept for each word.
    oov : {"omit", "error", "lowest"}
        How to treat relata without a vector: leave them out, raise an error, or rank them last. "omit" leaves out words
        without a vector; with "lowest" they are queries that retrieve nothing.
    lower : bool, default False
        Look words up in lower case.
    standardized, n_resamples, seed, workers, progress
        As in `rankcorr.evaluation.evaluate`.

    Returns
    -------
    RelataEvaluation

    Raises
    ------
    RankingError
        `UnknownWordError` if no word is left, or one has no vector and `oov` is "error"; other subclasses name what is
        wrong with vectors, gold or options.

    See Also
    --------
    evaluate_vectors : One list of pairs instead of one for each word.
    rankcorr.evaluation.evaluate : The same for search results.

    Examples
    --------
    >>> from rankcorr.vectors import evaluate_relata
    >>> vectors = {"book": [1.0, 0.2], "page": [0.9, 0.3], "author": [0.7, 0.7], "zebra": [-0.2, 1.0]}
    >>> gold = {("book", "page"): 1, ("book", "author"): 1, ("book", "zebra"): 0, ("book", "tome"): 1}
    >>> relata = evaluate_relata(vectors, gold)
    >>> relata.mean("ap"), relata.oov_relata
    (1.0, ('tome',))
    """
    check_choice("candidates", candidates, CANDIDATES)
    check_choice("oov", oov, OOV)
    pairs = as_pairs(gold)
    looked_up = words_of(pairs, lower=checked_flag(lower, "lower"))
    word_vectors = as_vectors(vectors, set(looked_up.values()))
    known = {word for word, key in looked_up.items() if key in word_vectors.index}
    words = list(dict.fromkeys(word for word, _ in pairs))
    relata = list(dict.fromkeys(relatum for _, relatum in pairs))
    oov_words, oov_relata = (tuple(word for word in column if word not in known) for column in (words, relata))
    warn_other_forms([looked_up[word] for word in dict.fromkeys(oov_words + oov_relata)], word_vectors)
    if oov == "error" and (oov_words or oov_relata):
        raise UnknownWordError(offending("words without a vector", dict.fromkeys(oov_words + oov_relata)))

    judged = {pair: score for pair, score in pairs.items() if oov != "omit" or known.issuperset(pair)}
    if not any(known.issuperset(pair) for pair in pairs):
        raise UnknownWordError(f"no word has a vector and a relatum with one, in {counted(len(pairs), 'pair')}")
    of_words, of_relata = ([pair[place] for pair in judged] for place in (0, 1))
    qrels = Qrels.from_columns(of_words, of_relata, list(judged.values()))
    run = _rank_candidates(word_vectors, pairs, looked_up, known, candidates)
    resampling: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "workers": workers, "progress": progress}
    evaluation = evaluate(qrels, run, metrics=metrics, depth=depth, standardized=standardized, **resampling)
    options = {"oov": oov, "lower": bool(lower), "candidates": candidates}
    pooled_ap = _pooled_ap(word_vectors, judged, looked_up)
    return RelataEvaluation(evaluation, len(words), len(pairs), oov_words, oov_relata, pooled_ap, options)


def relata_by_relation(
    vectors: VectorsLike, gold: PairsLike, relations: Mapping[Pair, str], **options: Any
) -> dict[str, RelataEvaluation]:
    """Evaluate word vectors on each type of relation, in data such as BLESS: hypernyms, co-hyponyms, meronyms.

    Related pairs of one relation are evaluated together with all unrelated pairs of the same words.

    Parameters
    ----------
    vectors, gold
        As in `evaluate_relata`.
    relations : mapping of (word, relatum) to str
        Relation of each related pair, that is with a score of at least 1. Unrelated pairs need none.
    **options
        Options of `evaluate_relata`.

    Returns
    -------
    dict of str to RelataEvaluation
        By relation, in the order of their first pairs.

    Raises
    ------
    RankingError
        `OptionError` for related pairs without a relation; others as `evaluate_relata`.

    See Also
    --------
    evaluate_relata : All relations together.

    References
    ----------
    M. Baroni and A. Lenci, How We BLESSed Distributional Semantic Evaluation, GEMS 2011.

    Examples
    --------
    >>> from rankcorr.vectors import relata_by_relation
    >>> vectors = {"cat": [1.0, 0.1], "dog": [0.9, 0.2], "paw": [0.3, 0.9], "car": [0.5, 0.8]}
    >>> gold = {("cat", "dog"): 1, ("cat", "paw"): 1, ("cat", "car"): 0}
    >>> relations = {("cat", "dog"): "co-hyponym", ("cat", "paw"): "meronym"}
    >>> by_relation = relata_by_relation(vectors, gold, relations, metrics="ap")
    >>> {relation: result.mean("ap") for relation, result in by_relation.items()}
    {'co-hyponym': 1.0, 'meronym': 0.5}
    """
    pairs = as_pairs(gold)
    related = [pair for pair, score in pairs.items() if score >= 1]
    if lacking := [pair for pair in related if pair not in relations]:
        raise OptionError(offending("every related pair needs a relation; without one", lacking))
    parts: dict[str, dict[Pair, float]] = {}
    for pair in related:
        check_group_name(relations[pair], "relation", "related pair")
        parts.setdefault(relations[pair], {})[pair] = pairs[pair]
    for part in parts.values():
        words = {word for word, _ in part}
        part |= {pair: score for pair, score in pairs.items() if score < 1 and pair[0] in words}
    return {relation: evaluate_relata(vectors, part, **options) for relation, part in parts.items()}


def _pooled_ap(vectors: WordVectors, judged: Mapping[Pair, float], looked_up: dict[str, str]) -> float:
    """Average precision of all judged pairs in one list, nan if none is related."""
    relevance = [int(score >= 1) for score in judged.values()]
    cosines = cosines_or_nan(vectors, list(judged), looked_up)
    return average_precision(relevance, np.where(np.isnan(cosines), -math.inf, cosines)) if any(relevance) else math.nan


def _rank_candidates(
    vectors: WordVectors, pairs: Collection[Pair], looked_up: Mapping[str, str], known: set[str], candidates: Candidates
) -> Run:
    """Candidates of each word that has a vector, with their cosines."""
    relata_of: dict[str, list[str]] = {word: [] for word, _ in pairs if word in known}
    for word, relatum in pairs:
        if word in known and relatum in known:
            relata_of[word].append(relatum)
    everything = list(dict.fromkeys(relatum for _, relatum in pairs if relatum in known))
    words: list[str] = []
    others: list[str] = []
    cosines: list[float] = []
    for word, judged in relata_of.items():
        ranked = judged if candidates == "gold" else [relatum for relatum in everything if relatum != word]
        words += [word] * len(ranked)
        others += ranked
        cosines += vectors.cosines_of(looked_up[word], [looked_up[relatum] for relatum in ranked]).tolist()
    return Run.from_columns(words, others, cosines, name=RUN)


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
