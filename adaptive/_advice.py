"""Advise on a plan before paying for votes, by the heuristics of section 2.7 of the paper.

The functions take the numbers of a plan, so that a plan can give its advice itself.
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
        odd_presentations, repeated_pairs, voter_sees_pair_twice, too_many_comparisons.
    value : float
        Value in the plan.
    bound : float
        The recommended maximum or minimum; for odd_presentations, the next even number. If several ballots are
        affected, value and bound are those of the worst.
    sentence : str
        The same in words; it names every affected ballot.

    See Also
    --------
    BallotPlan.advice : Lists it.
    BallotPlan.advice_for : Advice that depends on the number of voters.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> advice = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20).advice[0]
    >>> advice.code, advice.value, advice.bound
    ('repeated_pairs', 20, 15)
    >>> advice.sentence
    'In ballot 7 an item has 20 presentations but only 15 others to meet: pairs repeat.'
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
        better = f"a fraction up to {four_digits(bound, ROUND_FLOOR)} is better."
        yield Advice("many_survivors", alpha, bound, f"More than 10 % of the items reach the last ballot: {better}")
    bound = (2 / n_items) ** (1 / (n_b - 1))
    if alpha < bound:
        sentence = f"The fraction is below {four_digits(bound, ROUND_CEILING)}: only rounding keeps the last ballot at "
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
        odd = [ballot for ballot, size in enumerate(sizes, start=1) if size % 2]
        where = f"in {_ballots(odd)}" if odd else "in a ballot with an odd number of items"
        sentence = f"An odd number of presentations, {m}: {where}, one item has {m + 1}."
        yield Advice("odd_presentations", m, m + 1, sentence)
    repeated = [ballot for ballot, size in enumerate(sizes, start=1) if m > size - 1]
    if repeated:
        others = [sizes[ballot - 1] - 1 for ballot in repeated]
        meet = f"only {_from_to(others)} {'other' if max(others) == 1 else 'others'} to meet"
        sentence = f"In {_ballots(repeated)} an item has {_presentations(m)} but {meet}: pairs repeat."
        yield Advice("repeated_pairs", m, min(others), sentence)


def advice_on_voters(sizes: Sequence[int], *, presentations: int, n_voters: int) -> Iterator[Advice]:
    """Advice on the number of voters.

    Examples
    --------
    >>> [advice.code for advice in advice_on_voters((8, 4), presentations=20, n_voters=6)]
    ['voter_sees_pair_twice']
    """
    # This also holds if one item appears M + 1 times: N_k - 1 is then even and does not divide the odd M.
    repeats = {ballot: -(-presentations // (size - 1)) for ballot, size in enumerate(sizes, start=1)}
    excess = {ballot: count for ballot, count in repeats.items() if count > n_voters}
    if excess:
        compared = f"In {_ballots(list(excess))} a pair is compared {_from_to(list(excess.values()))} times"
        sentence = f"{compared}, but n_voters is {n_voters}: a voter sees it more than once."
        yield Advice("voter_sees_pair_twice", max(excess.values()), n_voters, sentence)


def advice_on_total(n_comparisons: int, n_possible: int, *, n_voters: int, n_needed: int) -> Iterator[Advice]:
    """Advise on more comparisons than the voters can answer, if nobody answers a pair twice.

    Parameters
    ----------
    n_comparisons, n_possible : int
        Comparisons of the plan, and those that the voters can answer.
    n_voters, n_needed : int
        Voters, and the fewest who can answer all comparisons.

    Examples
    --------
    >>> next(advice_on_total(12_000, 2_970, n_voters=3, n_needed=13)).sentence
    '3 voters can answer at most 2,970 of 12,000 comparisons, each pair once: plan for 13 voters, or fewer comparisons.'
    """
    if n_possible < n_comparisons:
        voters = f"{n_voters:,} {'voter' if n_voters == 1 else 'voters'}"
        sentence = (
            f"{voters} can answer at most {n_possible:,} of {n_comparisons:,} comparisons, each pair once: "
            f"plan for {n_needed:,} voters, or fewer comparisons."
        )
        yield Advice("too_many_comparisons", n_comparisons, n_possible, sentence)


def advice_on_budget(n_comparisons: int, *, n_items: int, n_voters: int) -> Iterator[Advice]:
    """Advise on more comparisons than voters can answer if each gets any pair of the items once.

    Examples
    --------
    >>> [advice.bound for advice in advice_on_budget(12_000, n_items=45, n_voters=3)]
    [2970]
    """
    n_pairs = n_items * (n_items - 1) // 2
    n_needed = -(-n_comparisons // n_pairs)
    yield from advice_on_total(n_comparisons, n_voters * n_pairs, n_voters=n_voters, n_needed=n_needed)


def four_digits(number: float, rounding: str) -> str:
    """Return a number with four digits, rounded so that a message does not overstate it.

    Examples
    --------
    >>> four_digits(0.68129206905796, ROUND_FLOOR), four_digits(1.3666666666666667, ROUND_CEILING)
    ('0.6812', '1.367')
    """
    # Round the shortest text of the float: 0.0495 stays 0.0495, though its binary value is a little more.
    return f"{Context(prec=4, rounding=rounding).create_decimal(repr(number)):f}"


def _ballots(numbers: Sequence[int]) -> str:
    """Name ballots by their increasing numbers, three or more neighbours as a range.

    Examples
    --------
    >>> _ballots([7]), _ballots([2, 3]), _ballots([1, 4, 5, 6, 9])
    ('ballot 7', 'ballots 2 and 3', 'ballots 1, 4 to 6 and 9')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run])
    ]
    if len(numbers) == 1:
        return f"ballot {parts[0]}"
    return f"ballots {' and '.join([', '.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)}"


def _from_to(counts: Sequence[int]) -> str:
    """Return the first and last of counts that are in order."""
    first, last = counts[0], counts[-1]
    return str(first) if first == last else f"{first} to {last}"


def _presentations(count: int) -> str:
    return f"{count} presentation{'' if count == 1 else 's'}"
