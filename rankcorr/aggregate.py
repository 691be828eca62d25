"""Merge several rankings of the same items into one.

>>> from rankcorr.aggregate import combine_submissions
>>> submissions = {"a1": {"x": 0.9, "y": 0.1}, "b1": {"x": 0.2, "y": 0.4}}
>>> combine_submissions(submissions, {"a1": 0.7, "b1": 0.5}).weights["a1"]
0.6666666666666666
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from rankcorr._checks import check_choice, first_few, offending, real_number, shown
from rankcorr._ranking import Ranking
from rankcorr._results import JsonResult
from rankcorr.errors import LabelMismatchError, NonNumericError, RankingError

__all__ = ["CombinedSubmissions", "combine_submissions"]

RankWeights: TypeAlias = Literal["rank", "exponential", "square_root"]

RANK_WEIGHTS: Final[tuple[RankWeights, ...]] = get_args(RankWeights)


@dataclass(frozen=True, eq=False)
class CombinedSubmissions(JsonResult):
    """Weighted mean of the scores of submissions.

    Attributes
    ----------
    scores : dict of item to float
        Weighted means, as a system for `rankcorr.compare_many` and others.
    weights : dict of submission to float
        Best first; their sum is 1.
    left_out : tuple
        Submissions of teams that have a better one.

    See Also
    --------
    combine_submissions : Returns it.

    Examples
    --------
    >>> from rankcorr.aggregate import combine_submissions
    >>> submissions = {"a1": {"x": 0.9, "y": 0.1}, "a2": {"x": 0.8, "y": 0.3}, "b1": {"x": 0.2, "y": 0.4}}
    >>> teams = {"a1": "a", "a2": "a", "b1": "b"}
    >>> combine_submissions(submissions, {"a1": 0.7, "a2": 0.6, "b1": 0.5}, teams=teams).left_out
    ('a2',)
    """

    scores: dict[Any, float]
    weights: dict[Any, float]
    left_out: tuple[Any, ...]


def combine_submissions(
    submissions: Mapping[Hashable, Mapping[Any, float]],
    results: Mapping[Hashable, float],
    *,
    teams: Mapping[Hashable, Hashable] | None = None,
    weights: RankWeights = "rank",
) -> CombinedSubmissions:
    """Combine the submissions of a shared task, the better ones with more weight, as the MJ data set of RUSSE does.

    The n submissions are ranked by their results; the best has r = n, the last r = 1, and equal ones share their mean.
    The score of an item is the mean of its scores with weights proportional to r, exp(r) or the square root of r. The
    paper divides by n instead of the sum of the weights, which is a constant factor.

    Parameters
    ----------
    submissions : mapping of submission to mapping of item to score
    results : mapping of submission to float
        Result of each submission in the task: larger is better.
    teams : mapping of submission to team, optional
        Only the best submission of each team counts, the first of equal ones; by default all count.
    weights : {"rank", "exponential", "square_root"}

    Returns
    -------
    CombinedSubmissions

    Raises
    ------
    RankingError
        One of its subclasses: `LabelMismatchError` if submissions, results and teams do not name the same submissions,
        or submissions not the same items; `NonNumericError` for scores and results that are not finite.

    See Also
    --------
    rankcorr.correlation_matrix : How similar the submissions are.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness, AIST 2016, section 4.1.

    Examples
    --------
    >>> from rankcorr.aggregate import combine_submissions
    >>> submissions = {"a1": {"x": 0.9, "y": 0.1}, "b1": {"x": 0.2, "y": 0.4}, "c1": {"x": 0.5, "y": 0.5}}
    >>> combined = combine_submissions(submissions, {"a1": 0.7, "b1": 0.5, "c1": 0.6})
    >>> {item: round(score, 4) for item, score in combined.scores.items()}
    {'x': 0.65, 'y': 0.2833}
    """
    check_choice("weights", weights, RANK_WEIGHTS)
    for role, value in {"submissions": submissions, "results": results, "teams": teams or {}}.items():
        if not isinstance(value, Mapping):
            raise RankingError(f"{role} must be a mapping; got {shown(value)}")
    if wrong := [name for name, scores in submissions.items() if not isinstance(scores, Mapping)]:
        raise RankingError(offending("each submission must map items to scores; not", wrong))
    if not submissions:
        raise RankingError("submissions are needed; got none")
    for role, numbers in ({"results": results} | ({"teams": teams} if teams is not None else {})).items():
        if different := numbers.keys() ^ submissions.keys():
            raise LabelMismatchError(f"submissions and {role} must name the same ones; different: {_few(different)}")
    _check_finite("results", results)
    places = sorted(submissions, key=lambda name: -float(results[name]))  # stable: the first of equal ones stays first
    best: dict[Hashable, Hashable] = {}
    for name in places:
        best.setdefault(teams[name] if teams is not None else name, name)
    names = list(best.values())
    items = submissions[names[0]].keys()
    for name in names:
        if different := submissions[name].keys() ^ items:
            raise LabelMismatchError(
                f"submissions {shown(names[0])} and {shown(name)} have different items: {_few(different)}"
            )
        _check_finite(f"scores of {shown(name)}", submissions[name])
    ranks = np.array([1.0]) if len(names) == 1 else Ranking.from_scores([results[name] for name in names]).ranks
    reversed_ranks = len(names) + 1 - ranks
    raw_weights = {
        "rank": reversed_ranks,
        "exponential": np.exp(reversed_ranks - len(names)),  # a constant factor, so that nothing overflows
        "square_root": np.sqrt(reversed_ranks),
    }[weights]
    shares = (raw_weights / raw_weights.sum()).tolist()
    scores = {
        item: math.fsum(share * float(submissions[name][item]) for share, name in zip(shares, names, strict=True))
        for item in items
    }
    left_out = tuple(name for name in places if name not in names)
    return CombinedSubmissions(scores, dict(zip(names, shares, strict=True)), left_out)


def _few(labels: set[Any]) -> str:
    return first_few(sorted(map(shown, labels)))


def _check_finite(role: str, numbers: Mapping[Any, float]) -> None:
    if wrong := [label for label, number in numbers.items() if not math.isfinite(real_number(number))]:
        raise NonNumericError(offending(f"{role} must be finite numbers; not those of", wrong))
