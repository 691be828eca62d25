"""Baselines of text similarity that need no model: the official ones of SemEval-2014 task 3.

Texts are compared character by character, or word by word if they are lists of words. A system that does not beat them
may only count common strings.

>>> from rankcorr.baselines import greedy_string_tiling, longest_common_substring
>>> longest_common_substring("a red car", "the red car"), greedy_string_tiling("b and a", "a and b", min_length=1)
(0.8888888888888888, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_count, shown
from rankcorr.errors import RankingError

__all__ = ["TextError", "baseline_scores", "greedy_string_tiling", "longest_common_substring"]

Text: TypeAlias = str | Sequence[str]
Length: TypeAlias = Literal["shorter", "longer", "mean", "first"]


class TextError(RankingError):
    """A text that is empty, or neither text nor a list of words.

    See Also
    --------
    longest_common_substring, greedy_string_tiling, baseline_scores : Raise it.

    Examples
    --------
    >>> from rankcorr.baselines import longest_common_substring
    >>> longest_common_substring("a red car", "")
    Traceback (most recent call last):
        ...
    rankcorr.baselines.TextError: a text must have a character or a word; got ''
    """


def longest_common_substring(first: Text, second: Text, *, relative_to: Length = "shorter") -> float:
    """Length of the longest run of characters, or of words, that both texts have, relative to their length.

    Parameters
    ----------
    first, second : str or sequence of str
        Texts, compared by character; or their words, compared by word.
    relative_to : {"shorter", "longer", "mean", "first"}
        The length that gives 1: of one of the texts, or the mean of both. Clough and Stevenson (2011) divide by the
        length of the text that is judged, which is the first.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    RankingError
        `TextError` for an empty text, `OptionError` for an unknown option.

    See Also
    --------
    greedy_string_tiling : Finds text that was moved, too.
    baseline_scores : Scores of many pairs.

    References
    ----------
    D. Jurgens, M. T. Pilehvar and R. Navigli, SemEval-2014 Task 3: Cross-Level Semantic Similarity, section 4.
    P. Clough and M. Stevenson, Developing a Corpus of Plagiarised Short Answers, Language Resources and Evaluation 45,
    2011.

    Examples
    --------
    >>> from rankcorr.baselines import longest_common_substring
    >>> longest_common_substring("a red car".split(), "the red car stops".split())
    0.6666666666666666
    """
    a, b = _checked_text(first), _checked_text(second)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return _relative(matcher.find_longest_match(0, len(a), 0, len(b)).size, a, b, relative_to)


def greedy_string_tiling(first: Text, second: Text, *, min_length: int = 6, relative_to: Length = "shorter") -> float:
    """Share of two texts that common runs cover, in any order: Wise's greedy string tiling.

    The longest run that both texts have becomes a tile; then the longest one of what is left, until no run has
    `min_length` characters or words. Each character belongs to one tile at most. Among runs of the same length, the
    earlier one in the first text is taken, and then the earlier one in the second. Takes O(n m) for each length that
    tiles have.

    Parameters
    ----------
    first, second, relative_to
        As in `longest_common_substring`.
    min_length : int, default 6
        Length of the shortest tile; 6 characters in SemEval-2014.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    RankingError
        `TextError` for an empty text, `OptionError` for an invalid option.

    See Also
    --------
    longest_common_substring : The longest tile alone.

    References
    ----------
    M. J. Wise, YAP3: Improved Detection of Similarities in Computer Program and Other Texts, SIGCSE 1996.

    Examples
    --------
    >>> from rankcorr.baselines import greedy_string_tiling
    >>> greedy_string_tiling("bread and butter".split(), "butter and bread".split(), min_length=1)
    1.0
    >>> greedy_string_tiling("bread and butter".split(), "butter and bread".split(), min_length=2)
    0.0
    """
    checked_count(min_length, "min_length")
    a, b = _checked_text(first), _checked_text(second)
    numbers: dict[str, int] = {}
    codes_a, codes_b = (
        np.array([numbers.setdefault(token, len(numbers)) for token in text], np.int64) for text in (a, b)
    )
    is_free_a, is_free_b = np.ones(len(a), np.bool_), np.ones(len(b), np.bool_)
    covered = 0
    while True:
        runs = _common_runs(codes_a, codes_b, is_free_a, is_free_b)
        longest = int(runs.max())
        if longest < min_length:
            return _relative(covered, a, b, relative_to)
        for end_a, end_b in np.argwhere(runs == longest).tolist():
            tile_a, tile_b = slice(end_a - longest + 1, end_a + 1), slice(end_b - longest + 1, end_b + 1)
            if is_free_a[tile_a].all() and is_free_b[tile_b].all():
                is_free_a[tile_a] = is_free_b[tile_b] = False
                covered += longest


def _common_runs(
    a: NDArray[np.int64], b: NDArray[np.int64], is_free_a: NDArray[np.bool_], is_free_b: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Length of the common run of free tokens that ends at each pair of places, shape (len(a), len(b))."""
    runs = np.zeros((a.size, b.size), np.int64)
    before = np.zeros(b.size, np.int64)
    for place, token in enumerate(a.tolist()):
        row = np.zeros(b.size, np.int64)
        if is_free_a[place]:
            row = np.where((b == token) & is_free_b, np.append(0, before[:-1]) + 1, 0)
        runs[place] = before = row
    return runs


def baseline_scores(
    pairs: Iterable[tuple[str, str]],
    texts: Mapping[str, Text | Sequence[Sequence[str]]] | None = None,
    *,
    similarity: Callable[[Text, Text], float] = longest_common_substring,
) -> dict[tuple[str, str], float]:
    """Scores of pairs by a baseline, as a system for `rankcorr.compare_many` and others.

    Parameters
    ----------
    pairs : iterable of (str, str)
    texts : mapping of item to a text, or to a list of texts, optional
        Texts that represent an item, such as the definitions of a word. The two most similar texts of a pair count.
        A pair with an item that has none (a word out of the vocabulary) gets the mean of the other pairs, as in
        SemEval-2014. Without `texts` the items are the texts.
    similarity : callable, default `longest_common_substring`
        Similarity of two texts.

    Returns
    -------
    dict of (str, str) to float

    Raises
    ------
    TextError
        A text is empty, or no pair has texts.

    See Also
    --------
    longest_common_substring, greedy_string_tiling : Similarities.

    Examples
    --------
    >>> from rankcorr.baselines import baseline_scores
    >>> definitions = {"cab": ["a car with a driver"], "taxi": ["a car for hire", "to move on the ground"]}
    >>> baseline_scores([("cab", "taxi"), ("cab", "zyx")], definitions)
    {('cab', 'taxi'): 0.42857142857142855, ('cab', 'zyx'): 0.42857142857142855}
    """
    pairs = list(pairs)
    scores = dict.fromkeys(pairs, math.nan)
    for first, second in scores:
        if texts is None:
            scores[first, second] = similarity(first, second)
        elif first in texts and second in texts:
            scores[first, second] = max(
                similarity(one, other) for one in _texts_of(texts[first]) for other in _texts_of(texts[second])
            )
    known = [score for score in scores.values() if not math.isnan(score)]
    if not known:
        raise TextError(f"none of {len(pairs):,} pairs has texts for both of its items")
    mean = math.fsum(known) / len(known)
    return {pair: mean if math.isnan(score) else score for pair, score in scores.items()}


def _texts_of(text: Text | Sequence[Sequence[str]]) -> Sequence[Text]:
    """Texts of an item: a single text is a list of one."""
    if isinstance(text, str):
        return [text]
    if not text:
        raise TextError(f"a text must have a character or a word; got {shown(text)}")
    return text


def _checked_text(text: Text) -> Text:
    is_words = isinstance(text, Sequence) and all(isinstance(word, str) for word in text)
    if not is_words:
        raise TextError(f"a text or a list of words is expected; got {shown(text)}")
    if not text:
        raise TextError(f"a text must have a character or a word; got {shown(text)}")
    return text


def _relative(n_common: int, first: Text, second: Text, relative_to: Length) -> float:
    check_choice("relative_to", relative_to, get_args(Length))
    lengths = len(first), len(second)
    length = {"shorter": min(lengths), "longer": max(lengths), "mean": sum(lengths) / 2, "first": lengths[0]}
    return n_common / length[relative_to]
