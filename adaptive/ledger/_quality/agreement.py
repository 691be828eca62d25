"""Measure agreement between voters on pairs that several were asked, and of voters with themselves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._quality.flags import Share
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import CANNOT_SAY
from adaptive.ledger._store.rows import integer_columns
from adaptive.ledger._votes.reading import in_force
from adaptive.model._voters import wilson_interval

NOTHING: Final = -9
_KINDS: Final = ("", "practice", "attention", "gold", "repeat", "overlap")
Array = NDArray[np.int64]
Floats = NDArray[np.float64]
# Agreement is reported from this many pairs on. If each pair has two answers and there are no ties, the 90 % interval
# of alpha is at most 0.7 wide with 20 pairs, and up to 1.3 wide with 2.
LEAST_PAIRS: Final = 20


class Ratings:
    """Answers to pairs that at least two voters were asked, each voter once for each pair.

    Parameters
    ----------
    pair, voter, answer : ndarray of int64
        Columns sorted by pair; the answer is 1, 0 or -1, as if the item of the lower place were on the left.
    """

    def __init__(self, pair: Array, voter: Array, answer: Array) -> None:
        self.pair, self.voter, self.answer = pair, voter, answer
        starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if pair.size else np.empty(0, np.intp)
        self.sizes = np.diff(np.append(starts, pair.size))
        self.group = np.repeat(np.arange(starts.size), self.sizes)

    @property
    def n_pairs(self) -> int:
        """Number of pairs that several voters were asked."""
        return int(self.sizes.size)

    @property
    def counts(self) -> Array:
        """Number of answers on each pair for its right item, for a tie and for its left item, shape (n_pairs, 3)."""
        found = np.zeros((self.n_pairs, 3), np.int64)
        np.add.at(found, (self.group, self.answer + 1), 1)
        return found

    def with_others(self) -> tuple[Array, Array]:
        """Return for each answer how many others its pair has, and how many of those are equal."""
        return self.sizes[self.group] - 1, self.counts[self.group, self.answer + 1] - 1

    def agreement(self) -> Share:
        """Return the share of equal answers among pairs of answers on the same pair of items."""
        others, same = self.with_others()
        return Share.of(int(same.sum()) // 2, int(others.sum()) // 2)

    def agreement_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of `agreement` over pairs of items, or None without any; see `alpha_interval`."""
        if not self.n_pairs:
            return None
        both = self.sizes * (self.sizes - 1) / 2
        same = (self.counts * (self.counts - 1)).sum(axis=1) / 2
        return _mean_interval(same / both, both, level)

    def alpha(self) -> float | None:
        """Return Krippendorff's alpha at level "interval": left and right are two steps apart, a tie is in between.

        Each pair counts in both orders of its items, so that alpha does not depend on their order. The 2n ratings then
        have the mean 0, and alpha is 1 - (2n - 1)/n (1 - a). Here a is the mean over pairs, with the weights d_u, of
        a_u = 1 - (m_u d_u - s_u^2) / (2 (m_u - 1) d_u). Pair u has m_u answers with sum s_u, and d_u of the answers are
        not ties.

        The result is None if no pair was answered by two voters, or if all answers are ties.
        """
        alike, decided = self._alike()
        return self._scaled(float(np.average(alike, weights=decided))) if decided.size else None

    def alpha_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of `alpha` over pairs of items, for the voters at hand; None if alpha is None.

        Alpha is a linear function of a mean of a_u, which are between 0 and 1: the interval is Wilson's for that mean.
        Values between 0 and 1 vary at most as much as zeros and ones with the same mean, so the interval is
        conservative. The number of observations is the effective one of unequal weights, (sum d_u)^2 / sum d_u^2. The
        answers on one pair are not independent, so a pair is one observation, regardless of its number of answers.

        References
        ----------
        E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212.
        L. Kish, Survey Sampling, Wiley 1965, section 11.7.
        """
        alike, decided = self._alike()
        if not decided.size:
            return None
        low, high = _mean_interval(alike, decided, level)
        return self._scaled(low), self._scaled(high)

    def _alike(self) -> tuple[Floats, Floats]:
        """Return a_u and its weight d_u for each pair with an answer other than a tie."""
        counts = self.counts
        decided = counts[:, 0] + counts[:, 2]
        some = decided > 0
        size, decided, total = self.sizes[some], decided[some], (counts[:, 2] - counts[:, 0])[some]
        return 1 - (size * decided - total**2) / (2 * (size - 1) * decided), decided.astype(np.float64)

    def _scaled(self, alike: float) -> float:
        return 1 - (2 - 1 / self.answer.size) * (1 - alike)


def _mean_interval(values: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """Return Wilson's interval for a weighted mean of values between 0 and 1, by the effective number of values."""
    from scipy.special import ndtri

    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return wilson_interval(float(np.average(values, weights=weights)), effective, float(ndtri((1 + level) / 2)))


def ratings_of(votes: Answers, probes: Answers, *, without: Collection[int] = ()) -> Ratings:
    """Return answers on pairs that several voters were asked, as overlaps or because ballots repeat pairs.

    If a voter answered a pair several times, the first answer counts: ballots in order, votes before probes.

    Parameters
    ----------
    without : collection of int
        Voters to leave out.
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
    """Return the voter of each repeat that has both answers, and whether the two say the same."""
    repeats = probes.select((probes.kind == "repeat") & (probes.answer != CANNOT_SAY))
    said = {
        (ballot, place): (voter, answer)
        for ballot, place, voter, answer in zip(
            votes.ballot.tolist(), votes.place.tolist(), votes.voter.tolist(), votes.answer.tolist(), strict=True
        )
        if answer != CANNOT_SAY
    }
    rows = zip(*(getattr(repeats, name).tolist() for name in ("ballot", "repeats", "voter", "answer")), strict=True)
    # The sides are swapped, so the same opinion is the opposite answer.
    found = [
        (voter, said[ballot, place][1] == -answer)
        for ballot, place, voter, answer in rows
        if (ballot, place) in said and said[ballot, place][0] == voter
    ]
    return np.array([voter for voter, _ in found], np.int64), np.array([same for _, same in found], bool)


@dataclass(frozen=True, eq=False)
class Answers:
    """Current answers, by ballot and in the order of the draw.

    Attributes
    ----------
    ballot, place : ndarray of int64
        Id of the ballot, and place in the ballot.
    left, right : ndarray of int64
        Places of the items in the campaign.
    answer : ndarray of int64
        1 left, 0 tie, -1 right, 2 cannot say.
    voter : ndarray of int64
        Ids of the voters.
    milliseconds : ndarray of int64
        Time that the answer took; NOTHING if unknown.
    kind : ndarray of str
        Kind of a probe; "" for a vote.
    expected : ndarray of int64
        Expected answer of a probe whose answer is known; else NOTHING.
    repeats : ndarray of int64
        Comparison that a probe asks again; else NOTHING.
    """

    ballot: Array
    place: Array
    left: Array
    right: Array
    answer: Array
    voter: Array
    milliseconds: Array
    kind: NDArray[np.str_]
    expected: Array
    repeats: Array

    def select(self, rows: NDArray[np.bool_]) -> Answers:
        """Return some of the answers."""
        return Answers(**{name: column[rows] for name, column in vars(self).items()})


def answers_of(connection: sa.Connection, info: CampaignInfo) -> tuple[Answers, Answers]:
    """Return the current votes and the current answers to checks."""
    ballot, event, asked = schema.ballot, schema.vote_event, schema.comparison
    votes = (event.c.ballot_id, event.c.place, asked.c.left_item, asked.c.right_item, event.c.answer, event.c.voter_id)
    kind = sa.case(*((asked.c.probe == name, code) for code, name in enumerate(_KINDS)), else_=0)
    optional = (event.c.response_ms, asked.c.expected, asked.c.repeats)
    milliseconds, expected, repeats = (sa.func.coalesce(column, NOTHING) for column in optional)
    joined = event.join(asked).join(ballot, ballot.c.id == event.c.ballot_id)
    wanted = sa.select(*votes, milliseconds, kind, expected, repeats).select_from(joined)
    of_campaign = wanted.where(ballot.c.campaign_id == info.id, *in_force(event))
    read = integer_columns(connection, of_campaign.order_by(ballot.c.number, event.c.place))
    columns: dict[str, Any] = dict(zip((field.name for field in fields(Answers)), read, strict=True))
    kinds = columns["kind"]
    found = Answers(**{**columns, "kind": np.array(_KINDS)[kinds]})
    return found.select(kinds == 0), found.select(kinds > 0)
