"""What to think of a plan before paying for votes: the heuristics of section 2.7 of the paper.

They are functions of the numbers of a plan, so that the plan can give its own advice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


@dataclass(frozen=True)
class Advice:
    """One heuristic of the paper that a plan departs from; never a refusal.

    Attributes
    ----------
    code : str
        One of many_ballots, many_survivors, few_in_last_ballot, few_top_presentations, few_comparisons,
        odd_presentations, repeated_pairs, voter_sees_pair_twice.
    value : float
        What the plan has.
    bound : float
        The most or the least that is recommended; for odd_presentations, the next even number.
    sentence : str
        The same in words.
    """

    code: str
    value: float
    bound: float
    sentence: str


def advice_on(sizes: Sequence[int], *, fraction: float, presentations: int, n_comparisons: int) -> Iterator[Advice]:
    """Advice on sizes, presentations and cost, in the order of the codes above.

    Parameters
    ----------
    sizes : sequence of int
        Items of each ballot.
    fraction : float
        alpha.
    presentations : int
        M.
    n_comparisons : int
        Comparisons of all ballots.

    Examples
    --------
    >>> [advice.code for advice in advice_on((990, 495), fraction=0.5, presentations=50, n_comparisons=37_125)]
    ['many_survivors', 'few_comparisons']
    """
    n_items, n_b, alpha, m = sizes[0], len(sizes), fraction, presentations
    if n_b > 10:
        yield Advice("many_ballots", n_b, 10, f"Voting stops {n_b - 1} times: at most 10 ballots are better.")
    bound = 0.1 ** (1 / (n_b - 1))
    if alpha > bound:
        better = f"a fraction up to {_short(bound, ROUND_FLOOR)} is better."
        yield Advice("many_survivors", alpha, bound, f"More than 10 % of the items reach the last ballot: {better}")
    bound = (2 / n_items) ** (1 / (n_b - 1))
    if alpha < bound:
        sentence = f"The fraction is below {_short(bound, ROUND_CEILING)}: only rounding keeps the last ballot at "
        yield Advice("few_in_last_ballot", alpha, bound, f"{sentence}{sizes[-1]} items.")
    m_top = n_b * m
    if m_top < 100:
        sentence = f"Top items are presented {m_top} times: 100 times or more are better."
        yield Advice("few_top_presentations", m_top, 100, sentence)
    bound = 50 * n_items / ((1 - alpha) * n_b)
    if n_comparisons < bound:
        sentence = f"{n_comparisons:,} comparisons are few for precise top scores: "
        yield Advice("few_comparisons", n_comparisons, bound, f"{sentence}{math.ceil(bound):,} are better.")
    if m % 2:
        sentence = (
            f"An odd number of presentations, {m}: in a ballot with an odd number of items, one item has {m + 1}."
        )
        yield Advice("odd_presentations", m, m + 1, sentence)
    repeated = next((ballot for ballot, size in enumerate(sizes, start=1) if m > size - 1), None)
    if repeated is not None:
        others = sizes[repeated - 1] - 1
        meet = f"only {others} {'other' if others == 1 else 'others'} to meet"
        sentence = f"In ballot {repeated} an item has {m} presentations but {meet}: pairs repeat."
        yield Advice("repeated_pairs", m, others, sentence)


def advice_on_voters(sizes: Sequence[int], *, presentations: int, n_voters: int) -> Iterator[Advice]:
    """Advice on the number of voters.

    Examples
    --------
    >>> [advice.code for advice in advice_on_voters((8, 4), presentations=20, n_voters=6)]
    ['voter_sees_pair_twice']
    """
    for ballot, size in enumerate(sizes, start=1):
        # This holds where one item appears M + 1 times too: N_k - 1 is then even and does not divide the odd M.
        repeats = -(-presentations // (size - 1))
        if repeats > n_voters:
            compared = f"In ballot {ballot} a pair is compared {repeats} times"
            sentence = f"{compared}, but n_voters is {n_voters}: a voter sees it twice."
            yield Advice("voter_sees_pair_twice", repeats, n_voters, sentence)
            return


def _short(bound: float, rounding: str) -> str:
    """Four digits, rounded towards values that follow the advice."""
    return f"{Context(prec=4, rounding=rounding).create_decimal_from_float(bound):f}"
