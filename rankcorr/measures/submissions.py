"""Submissions to a shared task become one gold standard: the best of each team, combined by their places."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import align
from rankcorr.checks import check_choice, offending, shown
from rankcorr.errors import DimensionError, LabelMismatchError, OptionError
from rankcorr.frames import by_name
from rankcorr.measures.lists import read_scores
from rankcorr.results import TableResult
from rankcorr.scores import ScoresLike

SubmissionWeights: TypeAlias = Literal["rank", "exp", "sqrt"]

SUBMISSION_WEIGHTS: Final = ("rank", "exp", "sqrt")


@dataclass(frozen=True, eq=False)
class CombinedSubmissions(TableResult):
    """Scores combined from submissions.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_items,), read-only
        Combined scores.
    labels : tuple or None
        Names of the items, in the order of `scores`: that of the first submission.
    names : tuple
        Names of the submissions.
    weights : ndarray of float64, shape (n_submissions,), read-only
        Weight of each submission.
    """

    scores: NDArray[np.float64]
    labels: tuple[Hashable, ...] | None
    names: tuple[Any, ...]
    weights: NDArray[np.float64]

    def __repr__(self) -> str:
        weights = ", ".join(f"{shown(name)}: {weight:g}" for name, weight in zip(self.names, self.weights, strict=True))
        return f"CombinedSubmissions(n_items={self.scores.size}, weights={{{weights}}})"

    def _columns(self) -> dict[str, Any]:
        return {"item": range(self.scores.size) if self.labels is None else self.labels, "score": self.scores}


def combine_submissions(
    submissions: Mapping[Any, ScoresLike], results: Mapping[Any, float], *, weights: SubmissionWeights = "rank"
) -> CombinedSubmissions:
    """Mean of the scores of submissions, weighted towards the better ones (Panchenko et al. 2017, section 4.1).

    s_i = 1/n sum_k alpha_k s_ik, where s_ik is the score of item i in submission k. The submission in place k of n has
    the rank r_k = n + 1 - k, so n for the best and 1 for the worst, and alpha_k is r_k, exp(r_k) or sqrt(r_k).
    Submissions with equal results share the mean of their places.

    The scores are used unchanged: they should be on one scale, such as [0, 1].

    Parameters
    ----------
    submissions : mapping of name to scores, or data frame with a column for each submission
        Scores are mappings of label to score over the same labels, or arrays of one length.
    results : mapping of name to float
        Result of each submission, such as its correlation with a gold standard; larger is better.
    weights : {"rank", "exp", "sqrt"}
        The weight alpha.

    Returns
    -------
    CombinedSubmissions

    Raises
    ------
    RankingError
        One of its subclasses: `LabelMismatchError` for submissions without a result, results without a submission, and
        submissions that differ in their items; `OptionError` when "exp" of a rank, or a combined score, is too large
        for a float.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness, 2017, section 4.1.

    Examples
    --------
    >>> submissions = {"first": {"a": 1.0, "b": 0.5}, "second": {"a": 0.0, "b": 1.0}}
    >>> combined = combine_submissions(submissions, {"first": 0.76, "second": 0.70})
    >>> dict(zip(combined.labels, combined.scores.tolist()))
    {'a': 1.0, 'b': 1.0}
    """
    check_choice("weights", weights, SUBMISSION_WEIGHTS)
    submissions = _mapping("submissions", submissions)
    results = _mapping("results", results)
    names = tuple(submissions.keys())
    _check_same(names, results, ("submissions without a result", "results without a submission"))
    given = read_scores({name: results[name] for name in names}, "results")
    rank = len(names) + 1 - given.ranking.ranks
    with np.errstate(over="ignore"):
        alpha = rank if weights == "rank" else np.exp(rank) if weights == "exp" else np.sqrt(rank)
    if not np.isfinite(alpha).all():
        raise OptionError(
            f"weights='exp' needs at most 709 submissions, as exp(710) is too large for a float; got {len(names)}"
        )
    read = [read_scores(submissions[name], f"submission {shown(name)}") for name in names]
    first = read[0].ranking
    rows = []
    for name, scores in zip(names, read, strict=True):
        align(first, scores.ranking, names=(f"submission {shown(names[0])}", f"submission {shown(name)}"))
        rows.append(scores.of(first))
    with np.errstate(over="ignore"):
        combined = alpha @ np.array(rows) / len(names)
    if not np.isfinite(combined).all():
        which = np.flatnonzero(~np.isfinite(combined)).tolist()
        raise OptionError(
            offending(
                f"weights={shown(weights)}: the combined scores of some items are too large for a float",
                [first.labels[item] for item in which] if first.labels else which,
            )
        )
    combined.flags.writeable = alpha.flags.writeable = False
    return CombinedSubmissions(combined, first.labels, names, alpha)


def best_per_team(results: Mapping[Any, float], teams: Mapping[Any, Hashable]) -> dict[Hashable, Any]:
    """Find the best submission of each team (step 1 of Panchenko et al. 2017, section 4.1).

    Parameters
    ----------
    results : mapping of submission to float
        Result of each submission, larger is better.
    teams : mapping of submission to team
        Team of each submission.

    Returns
    -------
    dict of team to submission
        In order of first appearance of the teams. If submissions of a team have equal results, the first in `results`
        is taken.

    Raises
    ------
    RankingError
        One of its subclasses: `LabelMismatchError` for submissions without a team or a result, `MissingValueError` for
        nan.

    Examples
    --------
    >>> best_per_team({"a1": 0.71, "b1": 0.65, "a2": 0.76}, {"a1": "A", "a2": "A", "b1": "B"})
    {'A': 'a2', 'B': 'b1'}
    """
    results, teams = _mapping("results", results), _mapping("teams", teams)
    names = tuple(results.keys())
    _check_same(names, teams, ("submissions without a team", "teams of submissions without a result"))
    ranks = read_scores({name: results[name] for name in names}, "results").ranking.ranks.tolist()
    best: dict[Hashable, tuple[float, Any]] = {}
    for name, rank in zip(names, ranks, strict=True):
        if teams[name] not in best or rank < best[teams[name]][0]:
            best[teams[name]] = rank, name
    return {team: name for team, (_, name) in best.items()}


def _mapping(what: str, given: object) -> Mapping[Any, Any]:
    found = by_name(given)
    if found is None:
        raise DimensionError(f"{what} must be a mapping of submission to value; got {type(given).__name__}")
    return found


def _check_same(names: tuple[Any, ...], others: Mapping[Any, Any], messages: tuple[str, str]) -> None:
    """Refuse submissions that one of two mappings lacks."""
    known, found = set(names), set(others.keys())
    parts = [
        (messages[0], [name for name in names if name not in found]),
        (messages[1], [name for name in others.keys() if name not in known]),  # noqa: SIM118 - a Series iterates values
    ]
    if any(lacking for _, lacking in parts):
        raise LabelMismatchError("; ".join(offending(message, lacking) for message, lacking in parts if lacking))
