"""Agreement on pairs that several voters were asked, and of voters with themselves."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from adaptive.ledger.quality.answers import Answers
from adaptive.ledger.quality.shares import Share
from adaptive.ledger.votes import CANNOT_SAY
from rankcorr.measures import krippendorff_alpha

__all__ = ["Ratings", "consistency", "ratings_of"]

Array = NDArray[np.int64]


class Ratings:
    """Answers on pairs that two voters or more were asked, each voter once for each pair.

    Parameters
    ----------
    pair, voter, answer : ndarray of int64
        Sorted by pair; the answer is 1, 0 or -1, as if the item of the lower place stood left.
    """

    def __init__(self, pair: Array, voter: Array, answer: Array) -> None:
        self.pair, self.voter, self.answer = pair, voter, answer
        starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if pair.size else np.empty(0, np.intp)
        self.sizes = np.diff(np.append(starts, pair.size))
        self.group = np.repeat(np.arange(starts.size), self.sizes)

    @property
    def n_pairs(self) -> int:
        """Pairs that several voters were asked."""
        return int(self.sizes.size)

    def with_others(self) -> tuple[Array, Array]:
        """For each answer, how many others there are on its pair, and how many of them are the same."""
        counts = np.zeros((self.sizes.size, 3), np.int64)
        np.add.at(counts, (self.group, self.answer + 1), 1)
        return self.sizes[self.group] - 1, counts[self.group, self.answer + 1] - 1

    def agreement(self) -> Share:
        """Pairs of answers on the same pair of items that are equal."""
        others, same = self.with_others()
        return Share.of(int(same.sum()) // 2, int(others.sum()) // 2)

    def alpha(self) -> float | None:
        """Krippendorff's alpha, in which left and right are two steps apart, and a tie is in between.

        Each pair is there in both orders of its items, so that alpha does not depend on which of them is named first.
        None without a pair that two voters answered, and where all answers are ties.
        """
        if not self.answer.any():
            return None
        within = np.arange(self.pair.size) - (np.cumsum(self.sizes) - self.sizes)[self.group]
        matrix = np.full((int(self.sizes.max()), 2 * self.n_pairs), np.nan)
        matrix[within, self.group] = self.answer
        matrix[within, self.group + self.n_pairs] = -self.answer
        return krippendorff_alpha(matrix, level="interval")


def ratings_of(votes: Answers, probes: Answers, *, without: Collection[int] = ()) -> Ratings:
    """Answers on pairs that several voters were asked: as overlaps, or because the ballots compare a pair often.

    Of several answers of a voter on one pair the first counts: ballots in order, votes before probes.

    Parameters
    ----------
    without : collection of int
        Voters who are left out.
    """
    overlaps = probes.select(probes.kind == "overlap")
    left, right, answer, voter, ballot, place = (
        np.concatenate([getattr(part, name) for part in (votes, overlaps)])
        for name in ("left", "right", "answer", "voter", "ballot", "place")
    )
    is_probe = np.repeat([False, True], [votes.answer.size, overlaps.answer.size])
    pair = np.minimum(left, right) << 32 | np.maximum(left, right)
    answer = np.where((left < right) | (answer == CANNOT_SAY), answer, -answer)
    kept = (answer != CANNOT_SAY) & ~np.isin(voter, np.array(sorted(without), np.int64))
    order = np.lexsort((place, is_probe, ballot, voter, pair))
    order = order[kept[order]]
    pair, voter, answer = pair[order], voter[order], answer[order]
    first = np.append(np.ones(min(1, pair.size), bool), (pair[1:] != pair[:-1]) | (voter[1:] != voter[:-1]))
    pair, voter, answer = pair[first], voter[first], answer[first]
    _, group, sizes = np.unique(pair, return_inverse=True, return_counts=True)
    several = sizes[group] > 1
    return Ratings(pair[several], voter[several], answer[several])


def consistency(votes: Answers, probes: Answers) -> tuple[Array, NDArray[np.bool_]]:
    """Voter of each repeat whose comparison the same voter answered, and whether both answers say the same."""
    repeats = probes.select((probes.kind == "repeat") & (probes.answer != CANNOT_SAY))
    said = {
        (ballot, place): (voter, answer)
        for ballot, place, voter, answer in zip(
            votes.ballot.tolist(), votes.place.tolist(), votes.voter.tolist(), votes.answer.tolist(), strict=True
        )
        if answer != CANNOT_SAY
    }
    rows = zip(*(getattr(repeats, name).tolist() for name in ("ballot", "repeats", "voter", "answer")), strict=True)
    # The sides are swapped: the same opinion is the opposite answer.
    found = [
        (voter, said[ballot, place][1] == -answer)
        for ballot, place, voter, answer in rows
        if (ballot, place) in said and said[ballot, place][0] == voter
    ]
    return np.array([voter for voter, _ in found], np.int64), np.array([same for _, same in found], bool)
