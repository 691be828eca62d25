"""Submissions of a shared task: weights by the ranks of their results, and weighted means of their scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rankcorr._checks import check_choice, check_group_name, offending, real_number, shown
from rankcorr._coefficients import CoefficientLike
from rankcorr._ranking import Ranking
from rankcorr.aggregate._rankings import Inputs, MergedRanking, first_labels, merge_result
from rankcorr.errors import LabelMismatchError, NonNumericError, RankingError

RankWeights: TypeAlias = Literal["rank", "exponential", "square_root"]


def rank_weights(results: Mapping[Any, float], *, kind: RankWeights = "rank") -> dict[Any, float]:
    """Weights of submissions by the ranks of their results, as in the MJ data set of RUSSE.

    The best of n submissions has r = n, the last r = 1, and equal ones share their mean. Weights are proportional to
    r, exp(r) or the square root of r.

    Parameters
    ----------
    results : mapping of submission to float
        Result of each submission in the task: larger is better.
    kind : {"rank", "exponential", "square_root"}

    Returns
    -------
    dict of submission to float
        In the order of `results`; their sum is 1. Each function that merges rankings takes them as `weights`.

    Raises
    ------
    RankingError
        `NonNumericError` for results that are not finite, `OptionError` for an unknown kind.

    See Also
    --------
    combine_submissions : Means of scores with these weights.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness, AIST 2016, section 4.1.

    Examples
    --------
    >>> from rankcorr.aggregate import borda, rank_weights
    >>> weights = rank_weights({"a": 0.7, "b": 0.5, "c": 0.6})
    >>> {name: round(weight, 4) for name, weight in weights.items()}
    {'a': 0.5, 'b': 0.1667, 'c': 0.3333}
    >>> borda({"a": [3, 2, 1], "b": [1, 2, 3], "c": [3, 2, 1]}, weights=weights).ranking
    <Ranking of 3 items, 0 tied: [0] 1, [1] 2, [2] 3>
    """
    check_choice("kind", kind, get_args(RankWeights))
    if not isinstance(results, Mapping):
        raise RankingError(f"results must be a mapping; got {shown(results)}")
    if not results:
        raise RankingError("results are needed; got none")
    _check_finite("results", results)
    reversed_ranks = len(results) + 1 - Ranking.from_scores(list(results.values())).ranks
    raw_weights = {
        "rank": reversed_ranks,
        "exponential": np.exp(reversed_ranks - len(results)),  # a constant factor, so that nothing overflows
        "square_root": np.sqrt(reversed_ranks),
    }[kind]
    return dict(zip(results, (raw_weights / raw_weights.sum()).tolist(), strict=True))


def combine_submissions(
    submissions: Mapping[Hashable, Mapping[Any, float]],
    results: Mapping[Hashable, float],
    *,
    teams: Mapping[Hashable, Hashable] | None = None,
    weights: RankWeights = "rank",
    coefficient: CoefficientLike = "tau_w",
) -> MergedRanking:
    """Combine the submissions of a shared task, the better ones with more weight, as the MJ data set of RUSSE does.

    The score of an item is the mean of its scores, with the weights of `rank_weights`. The paper divides by n instead
    of the sum of the weights, which is a constant factor.

    Parameters
    ----------
    submissions : mapping of submission to mapping of item to score
    results : mapping of submission to float
        Result of each submission in the task: larger is better.
    teams : mapping of submission to team, optional
        Only the best submission of each team counts, the first of equal ones; by default all count.
    weights : {"rank", "exponential", "square_root"}
        The kind of `rank_weights`.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Coefficient of `MergedRanking.agreements`.

    Returns
    -------
    MergedRanking
        Its weights are in the order of the results, best first.

    Raises
    ------
    RankingError
        One of its subclasses: `LabelMismatchError` if submissions, results and teams do not name the same submissions,
        or submissions not the same items; `NonNumericError` for scores and results that are not finite.

    See Also
    --------
    rank_weights : The weights alone.
    rankcorr.correlation_matrix : How similar the submissions are.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness, AIST 2016, section 4.1.

    Examples
    --------
    >>> from rankcorr.aggregate import combine_submissions
    >>> submissions = {"a1": {"x": 0.9, "y": 0.1}, "b1": {"x": 0.2, "y": 0.4}, "c1": {"x": 0.6, "y": 0.5}}
    >>> combined = combine_submissions(submissions, {"a1": 0.7, "b1": 0.5, "c1": 0.6})
    >>> {item: round(score, 4) for item, score in combined.scores.items()}
    {'x': 0.6833, 'y': 0.2833}
    """
    check_choice("weights", weights, get_args(RankWeights))
    for role, value in {"submissions": submissions, "results": results, "teams": teams or {}}.items():
        if not isinstance(value, Mapping):
            raise RankingError(f"{role} must be a mapping; got {shown(value)}")
    if wrong := [name for name, scores in submissions.items() if not isinstance(scores, Mapping)]:
        raise RankingError(offending("each submission must map items to scores; not", wrong))
    if not submissions:
        raise RankingError("submissions are needed; got none")
    for role, numbers in ({"results": results} | ({"teams": teams} if teams is not None else {})).items():
        if different := numbers.keys() ^ submissions.keys():
            raise LabelMismatchError(
                f"submissions and {role} must name the same ones; different: {first_labels(different)}"
            )
    for team in (teams or {}).values():
        check_group_name(team, "team", "submission")
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
                f"submissions {shown(names[0])} and {shown(name)} have different items: {first_labels(different)}"
            )
        _check_finite(f"scores of {shown(name)}", submissions[name])
    shares = rank_weights({name: results[name] for name in names}, kind=weights)
    scores = {
        item: math.fsum(share * float(submissions[name][item]) for name, share in shares.items()) for item in items
    }
    left_out = tuple(name for name in places if name not in names)
    rows = np.array([Ranking.from_scores([submissions[name][item] for item in items]).ranks for name in names])
    inputs = Inputs(tuple(names), tuple(items), rows, np.array(list(shares.values())), "raise")
    ranking = inputs.rank(np.array(list(scores.values())))
    return merge_result(inputs, ranking, "combine_submissions", coefficient, scores=scores, left_out=left_out)


def _check_finite(role: str, numbers: Mapping[Any, float]) -> None:
    if wrong := [label for label, number in numbers.items() if not math.isfinite(real_number(number))]:
        raise NonNumericError(offending(f"{role} must be finite numbers; not those of", wrong))
