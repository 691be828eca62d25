"""Score of a system against votes on comparisons; comparisons with more agreement among voters count more."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice, offending, real_number, shown
from rankcorr.errors import LabelError, LabelMismatchError, RankingError, warn_undefined
from rankcorr.measures.lists import ListLike, as_list
from rankcorr.results import TableResult, described_by, read_only

SystemTies: TypeAlias = Literal["expected", "wrong"]

SYSTEM_TIES: Final = ("expected", "wrong")


class ComparisonError(RankingError):
    """A comparison that does not name two items and a share of votes between 0 and 1."""


@dataclass(frozen=True, eq=False)
class ReliabilityScore(TableResult):
    """Reliability-weighted score of a system.

    Attributes
    ----------
    score : float
        Between 0 and 1; nan if no comparison has a majority. `float(result)` is this value.
    scores : ndarray of float64, shape (n_comparisons,), read-only
        Score s of each comparison, between -1 and 1.
    n_comparisons : int
        Number of comparisons.
    n_tied : int
        Number of comparisons that the system ties.
    ties : str
        "expected" or "wrong".
    """

    score: float
    scores: NDArray[np.float64]
    n_comparisons: int
    n_tied: int
    ties: str

    def __float__(self) -> float:
        return self.score

    def __repr__(self) -> str:
        names = ("score", "n_comparisons", "n_tied", "ties")
        return described_by(self, {name: getattr(self, name) for name in names})

    def _columns(self) -> dict[str, Any]:
        return {"comparison": range(self.n_comparisons), "score": self.scores}


def reliability_weighted_score(
    comparisons: Iterable[Sequence[Any]], system: ListLike, *, ties: SystemTies = "expected"
) -> ReliabilityScore:
    """Score a system by the comparisons that it decides as the majority of voters does (Avraham and Goldberg 2016).

    Let R be the share of votes for the left item. A comparison scores s = delta (2 R - 1), where delta is 1 if the
    system scores the left item higher, and -1 if the right one: s is positive if the system agrees with more than half
    of the votes, and 1 if with all. The system scores sum max(s, 0) / sum |s|: comparisons with unanimous votes count
    most, and those without a majority not at all. A system that decides at random scores 1/2 on average.

    If no comparison has a majority, the score is undefined: nan with an `UndefinedCorrelationWarning`.

    Parameters
    ----------
    comparisons : iterable of (left label, right label, share of votes for left)
        Shares are from 0 to 1; a vote for a tie is half a vote for each. A pair that is listed twice counts twice. For
        comparisons within the group of a target word, use the pair (target, word) as the label.
    system : Ranking, mapping of label to score, or list of labels
        Larger scores are better; labels are listed best first. It may have more items than the comparisons.
    ties : {"expected", "wrong"}
        The score of a comparison whose items the system ties. "expected": s = 0, and half of |2 R - 1| in the sum, the
        mean over the two ways to break the tie. "wrong": s = -|2 R - 1|, as if the system were against the majority.

    Returns
    -------
    ReliabilityScore

    Raises
    ------
    RankingError
        One of its subclasses: `ComparisonError` for a comparison that is not two items and a share,
        `LabelMismatchError` for items that the system lacks, `LabelError` for a system without labels.

    References
    ----------
    O. Avraham and Y. Goldberg, Improving Reliability of Word Similarity Evaluation by Redesigning Annotation Task and
    Performance Measure, arXiv:1611.03641, section 4.2.

    Examples
    --------
    >>> votes = [("musician", "artist", 0.9), ("artist", "person", 0.8), ("person", "musician", 0.3)]
    >>> reliability_weighted_score(votes, {"musician": 0.8, "artist": 0.5, "person": 0.6})
    ReliabilityScore(score=0.6666666666666666, n_comparisons=3, n_tied=0, ties='expected')
    """
    check_choice("ties", ties, SYSTEM_TIES)
    ranking = as_list(system)
    if ranking.labels is None:
        raise LabelError("the system must have labels, to be matched with the comparisons: pass a mapping")
    rank = dict(zip(ranking.labels, ranking.ranks.tolist(), strict=True))
    left, right, share = _checked(comparisons)
    unknown = dict.fromkeys(label for label in (*left, *right) if label not in rank)
    if unknown:
        raise LabelMismatchError(offending("labels in comparisons that the system lacks", unknown))
    # The larger rank is the worse.
    delta = np.sign([rank[b] - rank[a] for a, b in zip(left, right, strict=True)])
    margin = 2 * np.array(share) - 1
    tied = delta == 0
    scores = delta * margin
    agreed = float(np.maximum(scores, 0).sum())
    if ties == "expected":
        agreed += 0.5 * float(np.abs(margin[tied]).sum())
    else:
        scores[tied] = -np.abs(margin[tied])
    weight = float(np.abs(margin).sum())
    if weight == 0:
        warn_undefined("no comparison has a majority of votes", what="the score", stacklevel=3)
    score = min(1.0, agreed / weight) if weight else math.nan
    return ReliabilityScore(score, read_only(scores), len(left), int(np.count_nonzero(tied)), ties)


def _checked(comparisons: Iterable[Sequence[Any]]) -> tuple[list[Hashable], list[Hashable], list[float]]:
    left: list[Hashable] = []
    right: list[Hashable] = []
    shares: list[float] = []
    for number, comparison in enumerate(comparisons):
        try:
            a, b, given = comparison
            same = bool(a == b)
            hash((a, b))
        except (TypeError, ValueError):
            raise ComparisonError(
                f"comparisons[{number}] must be (left label, right label, share of votes); got {shown(comparison)}"
            ) from None
        share = real_number(given)
        if not 0 <= share <= 1:
            raise ComparisonError(
                f"the share of votes of comparisons[{number}] must be from 0 to 1; got {shown(given)}"
            )
        if same:
            raise ComparisonError(f"comparisons[{number}] compares {shown(a)} with itself")
        left.append(a)
        right.append(b)
        shares.append(share)
    if not left:
        raise ComparisonError("there are no comparisons to score")
    return left, right, shares
