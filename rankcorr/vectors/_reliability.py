"""Triplets of target groups and the similarities of a model -> the reliability score, its interval, and a test.

The score of Avraham and Goldberg (2016): decisions that annotators agree on count more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rankcorr import _checks as checks
from rankcorr._input.numbers import ROUNDING
from rankcorr._output.results import Result, ResultRows, TableResult, columns_of
from rankcorr._workers import Draws
from rankcorr.errors import LowCoverageWarning
from rankcorr.evaluation._comparison.query_tests import Means, bounds
from rankcorr.inference._exchange_distribution import ExchangeDistribution, all_swaps
from rankcorr.inference._multiple_tests import holm
from rankcorr.vectors._pairs import LOW_COVERAGE, OOV, RESAMPLES, Oov
from rankcorr.vectors._reading import as_vectors
from rankcorr.vectors._target_groups import CATEGORIES, TargetGroupError, TargetGroups
from rankcorr.vectors._words import UnknownWordError, Values, VectorsLike, warn_other_forms

Similarity: TypeAlias = Callable[[str, str], float]
ModelLike: TypeAlias = VectorsLike | Mapping[tuple[str, str], float] | Similarity

KINDS: Final = tuple(f"positive-{category}" for category in CATEGORIES)


@dataclass(frozen=True, eq=False)
class ReliabilityPart(Result):
    """The score of a kind of triplet, or of a target.

    Attributes
    ----------
    name : str
        "positive-positive", "positive-distractor" or "positive-random"; or the target.
    score : float
        nan if no triplet counts.
    n_triplets, n_contradicted : int
        Number of triplets, and how often the model decides against most annotators.
    weight : float
        Sum of ``|2R - 1|``: the weight of the part in the whole score.

    See Also
    --------
    ReliabilityScore : Lists the parts.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups, reliability_score
    >>> groups = TargetGroups({"singer": {"musician": "positive", "person": "positive", "song": "distractor"}})
    >>> cosines = {("singer", "musician"): 0.8, ("singer", "person"): 0.4, ("singer", "song"): 0.6}
    >>> reliability_score(groups, cosines).kinds[1].n_contradicted
    1
    """

    name: str
    score: float
    n_triplets: int
    n_contradicted: int
    weight: float


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityScore(TableResult):
    """Score of a model on target groups.

    Attributes
    ----------
    score : float
        From 0 to 1; 1 if the model contradicts no decision of most annotators, .5 for a coin. nan if all comparisons
        are undecided.
    low, high : float
        Bootstrap-t interval at `level`; targets are resampled. nan with one target. At level 0.95 it is from 0 to 1
        with two or three targets, and with up to five of the same score; with more of the same score, its width is 0.
        If almost all targets have the same score, an end is 0 or 1, however many they are.
    kinds, targets : tuple of ReliabilityPart
        The score by kind of triplet, and by target.
    oov_words : tuple of str
        Words without a similarity.
    n_triplets, n_omitted : int
        Number of triplets that count, and of those left out because a word has no similarity.
    level : float

    See Also
    --------
    reliability_score : Returns it.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups, reliability_score
    >>> groups = TargetGroups({"singer": {"musician": "positive", "person": "positive", "song": "distractor"}})
    >>> cosines = {("singer", "musician"): 0.8, ("singer", "person"): 0.4, ("singer", "song"): 0.6}
    >>> reliability_score(groups, cosines)
    <ReliabilityScore 0.5000 of 2 triplets, 1 target>
    """

    score: float
    low: float
    high: float
    kinds: tuple[ReliabilityPart, ...]
    targets: tuple[ReliabilityPart, ...]
    oov_words: tuple[str, ...]
    n_triplets: int
    n_omitted: int
    level: float

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(ReliabilityPart, (*self.kinds, *self.targets))

    def __repr__(self) -> str:
        sizes = checks.counted(self.n_triplets, "triplet"), checks.counted(len(self.targets), "target")
        return f"<ReliabilityScore {self.score:.4f} of {', '.join(sizes)}>"


@dataclass(frozen=True, eq=False)
class ReliabilityDifference(Result):
    """Difference of two models on target groups.

    Attributes
    ----------
    first, second : float
        Scores of the two models on the triplets that both know.
    difference, low, high : float
        First minus second, and the differences that the test does not reject at `level`: 0 is outside exactly if the
        p-value is at most 1 - level. From -1 to 1 if no p-value can be so small.
    pvalue : float
        Two-sided: the scores of a target are exchanged between the models.
    n_targets, n_triplets : int
    level : float

    See Also
    --------
    compare_reliability : Returns it.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups, compare_reliability
    >>> groups = TargetGroups({"singer": {"musician": "positive", "person": "positive", "song": "distractor"}})
    >>> one = {("singer", "musician"): 0.8, ("singer", "person"): 0.7, ("singer", "song"): 0.6}
    >>> compare_reliability(groups, one, {**one, ("singer", "song"): 0.75}).difference
    0.5
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    pvalue: float
    n_targets: int
    n_triplets: int
    level: float


class _Agreement:
    """The triplets of target groups as arrays, and how far a model agrees with each of them."""

    def __init__(self, groups: TargetGroups) -> None:
        self.groups = groups
        self.targets = tuple(groups.categories)
        place = {target: number for number, target in enumerate(self.targets)}
        rows = groups.triplets
        self.group_of: NDArray[np.intp] = np.array([place[target] for target, *_ in rows], np.intp)
        kind = {category: number for number, category in enumerate(CATEGORIES)}
        self.kind_of = np.array([kind[groups.categories[target][other]] for target, _, other, _ in rows], np.intp)
        self.margins: Values = np.array([2 * share - 1 for *_, share in rows], np.float64)
        self.firsts = [(target, first) for target, first, _, _ in rows]
        self.seconds = [(target, second) for target, _, second, _ in rows]

    def differences(self, similarities: Mapping[tuple[str, str], float], oov: Oov) -> Values:
        """Return sim(t, a) - sim(t, b) by its sign, nan for triplets left out, shape (n_triplets,)."""
        lowest = -math.inf if oov == "lowest" else math.nan
        first, second = (
            np.array([similarities.get(pair, lowest) for pair in pairs], np.float64)
            for pairs in (self.firsts, self.seconds)
        )
        signs: Values = np.where(np.isnan(first) | np.isnan(second), np.nan, 0.0)
        signs[first > second] = 1.0
        signs[first < second] = -1.0
        return signs

    def weights(self, counts: NDArray[np.bool_]) -> Values:
        """|2R - 1| of each triplet that counts, and 0 of the others."""
        return np.where(counts, np.abs(self.margins), 0.0)

    def credit(self, signs: Values, counts: NDArray[np.bool_]) -> Values:
        """max(s, 0) of each triplet, and half of |s| where the model ties the candidates."""
        credit = np.maximum(signs * self.margins, 0.0)
        credit[signs == 0] = 0.5 * np.abs(self.margins[signs == 0])
        return np.where(counts, credit, 0.0)

    def by_target(self, values: Values) -> Values:
        """Sums by target, shape (n_targets,)."""
        return np.bincount(self.group_of, weights=values, minlength=len(self.targets)).astype(np.float64)

    def parts(self, names: Iterable[str], part_of: NDArray[np.intp], signs: Values) -> tuple[ReliabilityPart, ...]:
        """Score of each part; `part_of` is the number of each triplet's part."""
        counts = ~np.isnan(signs)
        weights, credit = self.weights(counts), self.credit(signs, counts)
        contradicted = counts & (signs * self.margins < 0)
        rows = []
        for number, name in enumerate(names):
            members = part_of == number
            weight = float(weights[members].sum())
            score = float(credit[members].sum()) / weight if weight else math.nan
            n_triplets, n_contradicted = (int(np.count_nonzero(part & members)) for part in (counts, contradicted))
            rows.append(ReliabilityPart(name, score, n_triplets, n_contradicted, weight))
        return ResultRows(rows)


def reliability_score(
    groups: TargetGroups,
    model: ModelLike,
    *,
    oov: Oov = "omit",
    lower: bool = False,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> ReliabilityScore:
    """Score a model of word similarity on target groups: agreement with decisions, weighted by how sure they are.

    For a target t and two of its candidates, let R be the share of annotators that rank a above b, and delta 1 if the
    model has sim(t, a) > sim(t, b), else -1. With s = delta (2R - 1), the score is the sum of max(s, 0) over the sum of
    ``|s|``: the model loses nothing where the annotators are divided. Where the model ties a and b, half of ``|s|``
    counts, which is the mean of both orders; the paper is silent on this.

    Parameters
    ----------
    groups : TargetGroups
    model : WordVectors, mapping of word to vector, KeyedVectors of gensim, path, mapping of pairs, or callable
        Similarities are cosines of vectors, or are looked up as (target, candidate) in either order, or are
        ``model(target, candidate)``.
    oov : {"omit", "error", "lowest"}
        How to treat words without a similarity: leave their triplets out, raise an error, or tie them below all other
        candidates of their target.
    lower : bool, default False
        Look words up in lower case.
    level : float, default 0.95
        Level of confidence of the interval.
    n_resamples : int, default 2000
        Number of resamples of the targets.
    seed : int, default 0

    Returns
    -------
    ReliabilityScore
        `score` is nan with an `UndefinedCorrelationWarning` if every comparison is undecided (R = .5).

    Raises
    ------
    RankingError
        `UnknownWordError` if no triplet has similarities, or one has none and `oov` is "error"; `TargetGroupError` for
        a similarity that is not a number.

    Warns
    -----
    LowCoverageWarning
        Fewer than half of the triplets have similarities.

    See Also
    --------
    compare_reliability : Test the difference of two models.
    evaluate_vectors : Score vectors on gold scores of pairs.

    References
    ----------
    O. Avraham and Y. Goldberg, Improving Reliability of Word Similarity Evaluation by Redesigning Annotation Task and
    Performance Measure, RepEval 2016, section 4.2.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups, reliability_score
    >>> categories = {"singer": {"musician": "positive", "person": "positive", "song": "distractor"}}
    >>> groups = TargetGroups(categories, {("singer", "musician", "person"): 0.9})
    >>> cosines = {("singer", "musician"): 0.5, ("singer", "person"): 0.7, ("singer", "song"): 0.6}
    >>> score = reliability_score(groups, cosines)
    >>> round(score.score, 4), [part.score for part in score.kinds]
    (0.3571, [0.0, 0.5, nan])
    """
    _check_options(groups, oov, lower, level, n_resamples, seed)
    agreement = _Agreement(groups)
    signs, oov_words = _signs(agreement, model, oov, lower)
    counts = ~np.isnan(signs)
    weights, credit = map(agreement.by_target, (agreement.weights(counts), agreement.credit(signs, counts)))
    if not weights.any():
        checks.warn_undefined("annotators are divided on every comparison", statistic="the score", stacklevel=3)
    low, high = _interval(credit, weights, level, n_resamples, seed)
    return ReliabilityScore(
        score=_ratio(credit, weights),
        low=max(low, 0.0),
        high=min(high, 1.0),
        kinds=agreement.parts(KINDS, agreement.kind_of, signs),
        targets=agreement.parts(agreement.targets, agreement.group_of, signs),
        oov_words=oov_words,
        n_triplets=int(np.count_nonzero(counts)),
        n_omitted=int(np.count_nonzero(~counts)),
        level=float(level),
    )


def compare_reliability(
    groups: TargetGroups,
    first: ModelLike,
    second: ModelLike,
    *,
    oov: Oov = "omit",
    lower: bool = False,
    level: float = 0.95,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> ReliabilityDifference:
    """Test whether two models differ on target groups, by the triplets that both know.

    Under the null hypothesis it does not matter which model decided on a target: the differences of all targets change
    their signs independently, in every way if there are at most `n_resamples` of them.

    Parameters
    ----------
    groups, oov, lower, level, seed
        As in `reliability_score`.
    first, second : WordVectors, mapping of word to vector, KeyedVectors of gensim, path, mapping of pairs, or callable
    n_resamples : int, default 9999
        Number of exchanges behind p-value and interval.

    Returns
    -------
    ReliabilityDifference

    Raises
    ------
    RankingError
        As in `reliability_score`.

    See Also
    --------
    reliability_score : The score of one model.
    rankcorr.compare_systems : The same question for gold scores of pairs.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups, compare_reliability
    >>> groups = TargetGroups({t: {"a": "positive", "b": "positive", "c": "random"} for t in ("t1", "t2", "t3", "t4")})
    >>> comparison = compare_reliability(groups, lambda t, c: -ord(c), lambda t, c: ord(c))
    >>> comparison.difference, comparison.pvalue
    (1.0, 0.125)
    """
    _check_options(groups, oov, lower, level, n_resamples, seed)
    agreement = _Agreement(groups)
    signs = [_signs(agreement, model, oov, lower)[0] for model in (first, second)]
    counts = ~np.isnan(signs[0] + signs[1])
    if not counts.any():
        raise UnknownWordError("no triplet has similarities in both models")
    weights = agreement.by_target(agreement.weights(counts))
    sums = [agreement.by_target(agreement.credit(np.where(counts, sign, np.nan), counts)) for sign in signs]
    if not weights.any():
        checks.warn_undefined("annotators are divided on every comparison", statistic="the difference", stacklevel=3)
    differences = sums[0] - sums[1]
    pvalue, low, high = _exchange(differences, weights, level, n_resamples, seed)
    return ReliabilityDifference(
        first=_ratio(sums[0], weights),
        second=_ratio(sums[1], weights),
        difference=_ratio(differences, weights),
        low=low,
        high=high,
        pvalue=pvalue,
        n_targets=int(np.count_nonzero(weights)),
        n_triplets=int(np.count_nonzero(counts)),
        level=float(level),
    )


def score_models(
    groups: TargetGroups, models: Mapping[str, ModelLike], baseline: str, **options: Any
) -> tuple[dict[str, ReliabilityScore], dict[str, tuple[ReliabilityDifference, float]]]:
    """Score models by name, and compare the others with one of them; p-values are also corrected by Holm's method."""
    scores = {name: reliability_score(groups, model, **options) for name, model in models.items()}
    differences = {
        name: compare_reliability(groups, model, models[baseline], **options)
        for name, model in models.items()
        if name != baseline
    }
    corrected = holm([difference.pvalue for difference in differences.values()]).tolist()
    return scores, dict(zip(differences, zip(differences.values(), corrected, strict=True), strict=True))


def _check_options(groups: TargetGroups, oov: str, lower: bool, level: float, n_resamples: int, seed: int) -> None:
    if not isinstance(groups, TargetGroups):
        raise TargetGroupError(f"groups must be TargetGroups; got {checks.shown(groups)}")
    checks.check_choice("oov", oov, OOV)
    checks.checked_flag(lower, "lower")
    checks.checked_level(level)
    checks.checked_count(n_resamples, "n_resamples")
    checks.checked_seed(seed)


def _signs(agreement: _Agreement, model: ModelLike, oov: Oov, lower: bool) -> tuple[Values, tuple[str, ...]]:
    """Decision of a model on each triplet, nan where it is left out, and the words without a similarity."""
    pairs = dict.fromkeys((*agreement.firsts, *agreement.seconds))
    similarities, oov_words = _similarities(list(pairs), model, lower)
    if oov_words and oov == "error":
        raise UnknownWordError(checks.offending("words without a similarity", oov_words))
    if not similarities:
        raise UnknownWordError(f"none of the {len(pairs):,} pairs of target and candidate has a similarity")
    signs = agreement.differences(similarities, oov)
    n_known = int(np.count_nonzero(~np.isnan(signs)))
    if not n_known:
        raise UnknownWordError(f"no triplet of {signs.size:,} has similarities")
    if n_known < LOW_COVERAGE * signs.size:
        text = f"only {n_known:,} of {signs.size:,} triplets have similarities, so the score may not hold for all"
        checks.give_notice(text, LowCoverageWarning, stacklevel=4)
    return signs, oov_words


def _similarities(
    pairs: list[tuple[str, str]], model: ModelLike, lower: bool
) -> tuple[dict[tuple[str, str], float], tuple[str, ...]]:
    """Similarity of each pair of target and candidate that has one, and the words without any."""
    keys = {pair: (pair[0].lower(), pair[1].lower()) if lower else pair for pair in pairs}
    similarities: dict[tuple[str, str], Any]
    if isinstance(model, Mapping) and any(isinstance(key, tuple) for key in model):
        by_pair = cast("Mapping[tuple[str, str], Any]", model)
        similarities = {pair: by_pair[key] for pair, key in keys.items() if key in by_pair}
        for pair, key in keys.items():
            if key[::-1] in by_pair and similarities.setdefault(pair, by_pair[key[::-1]]) != by_pair[key[::-1]]:
                raise TargetGroupError(f"{checks.shown(pair)} has two similarities, one for each order of its words")
    elif callable(model):
        similarities = {pair: model(*key) for pair, key in keys.items()}
    else:
        vectors = as_vectors(model, {word for key in keys.values() for word in key})
        forms = {word: form for pair, key in keys.items() for word, form in zip(pair, key, strict=True)}
        oov_words = tuple(word for word, form in forms.items() if form not in vectors.index)
        warn_other_forms([forms[word] for word in oov_words], vectors)
        known = [pair for pair, key in keys.items() if vectors.index.keys() >= set(key)]
        cosines = vectors.cosines([keys[pair] for pair in known]).tolist() if known else []
        return dict(zip(known, cosines, strict=True)), oov_words
    numbers = {pair: checks.real_number(value) for pair, value in similarities.items()}
    if wrong := [pair for pair, number in numbers.items() if math.isnan(number)]:
        raise TargetGroupError(checks.offending("similarities must be numbers; not those of", wrong))
    known_words = {word for pair in numbers for word in pair}
    return numbers, tuple(dict.fromkeys(word for pair in pairs for word in pair if word not in known_words))


def _ratio(numerators: Values, denominators: Values) -> float:
    total = float(denominators.sum())
    return float(numerators.sum()) / total if total else math.nan


def _interval(credit: Values, weights: Values, level: float, n_resamples: int, seed: int) -> tuple[float, float]:
    """Bootstrap-t interval of the ratio of sums over targets; nan with fewer than two targets that count.

    Intervals at 95 % cover the score in 86 to 95 % of data sets with 8 targets, 93 to 95 % with 20, and 96 % with 75;
    percentile intervals in 78 to 88 %, 85 to 92 % and 94 to 95 % (1,500 data sets with scores from .74 to .93; coverage
    is worst if targets differ much).
    """
    counts = weights > 0
    credit, weights = credit[counts], weights[counts]
    n_targets = credit.size
    if n_targets < 2:
        return math.nan, math.nan
    Draws(n_resamples, seed).check_reach(level)
    rng = np.random.default_rng(seed)
    numbers = rng.multinomial(n_targets, np.full(n_targets, 1 / n_targets), size=n_resamples)
    resampled, errors = _ratios(numbers, credit, weights)
    score, error = _ratios(np.ones((1, n_targets), np.int64), credit, weights)
    deviations = np.where(np.abs(resampled - score) <= ROUNDING, 0.0, resampled - score)
    # The t statistic of targets with equal scores is infinite, or 0 if theirs is the score of all targets.
    ratios = np.copysign(np.where(deviations == 0, 0.0, math.inf), deviations)
    np.divide(deviations, errors, out=ratios, where=errors > ROUNDING)
    number = np.array([n_targets], np.float64)
    (low,), (high,) = bounds(Means(score, error, number, number), ratios[:, np.newaxis], level)
    return float(low), float(high)


def _ratios(numbers: NDArray[np.int64], credit: Values, weights: Values) -> tuple[Values, Values]:
    """Ratio of sums and its standard error, for each row of how often each target counts."""
    totals = numbers @ weights
    ratios = (numbers @ credit) / totals
    n_targets = credit.size
    squares = (numbers * (credit - ratios[:, np.newaxis] * weights) ** 2).sum(axis=1)
    return ratios, np.sqrt(squares * n_targets / (n_targets - 1)) / totals


def _exchange(
    differences: Values, weights: Values, level: float, n_resamples: int, seed: int
) -> tuple[float, float, float]:
    """P-value of the difference when targets exchange their models, and the ends of the interval that inverts the test.

    A draw exchanges a set of targets. With a shift delta its sum is as far from 0 as the observed one exactly if delta
    lies between the ratios of the exchanged targets and of the others, so that each draw has an interval of shifts, and
    the p-value of a shift is the share of the draws whose interval holds it.
    """
    counts = weights > 0
    differences, weights = differences[counts], weights[counts]
    n_targets = differences.size
    if not n_targets:
        return math.nan, math.nan, math.nan
    is_exact, total = 2**n_targets <= n_resamples, weights.sum()
    is_exchanged: NDArray[Any]
    if is_exact:
        is_exchanged = all_swaps(n_targets)
    else:  # the first draw stands for the order observed, which the p-value counts
        Draws(n_resamples, seed).check_reach(level, 1)
        is_exchanged = np.random.default_rng(seed).integers(0, 2, (n_resamples + 1, n_targets))[1:]
    signs = 1.0 - 2.0 * is_exchanged
    exchanged, net_shares = signs @ differences / total, signs @ weights / total
    exchanges = ExchangeDistribution(_ratio(differences, weights), exchanged[np.newaxis], net_shares, is_exact)
    return exchanges.pvalue(), *exchanges.interval(level, bound=1.0)
