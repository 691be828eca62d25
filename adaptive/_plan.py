"""Plan a protocol before any vote: the items, comparisons and person-hours of each ballot, and points to reconsider.

See sections 2.5 and 2.7 of Lombardo et al. 2020. alpha is the fraction of items that each ballot passes on, M the
number of presentations of an item in a ballot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from itertools import groupby
from numbers import Real
from typing import Any, ClassVar

from adaptive.errors import PlanError
from rankcorr._checks import counted, real_number, shown, whole_number
from rankcorr._input.numbers import LARGEST_EXACT
from rankcorr._output.results import TableResult, json_ready
from rankcorr._output.tables import text_table

LEAST_SET = 3  # items of a comparison whose best and worst are chosen
MOST_SET = 6
LARGEST_COUNT = LARGEST_EXACT  # alpha N is a product of floats, and not every larger integer is a float
MOST_BALLOTS = 10_000  # rounding can keep a size forever (0.9 of 4 items are 4), so sizes alone set no limit
_INPUTS = ("n_items", "n_ballots", "fraction", "presentations")
_KEYS = (*_INPUTS, "sizes", "comparisons", "n_comparisons", "top_presentations", "uniform_presentations")


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


@dataclass(frozen=True, eq=False)
class BallotPlan(TableResult):
    """Sizes and comparisons of all ballots, computed from four inputs.

    Attributes
    ----------
    n_items, n_ballots, fraction, presentations
        The inputs, as for `plan_ballots`: N_items, n_b, alpha and M.
    sizes : tuple of int
        Items of each ballot: N_1 = n_items, N_k = round(alpha N_(k-1)), half to even (Eq. 2).
    comparisons : tuple of int
        Comparisons of each ballot, ceil(M N_k / 2). If M and N_k are both odd, one item appears M + 1 times.

    Raises
    ------
    PlanError
        If an input is out of its range or of another type, or a ballot would have fewer than two items.

    See Also
    --------
    plan_ballots : Returns it.
    plan_for_budget, plan_for_top : Plan from a budget or a precision.

    Examples
    --------
    >>> from adaptive import BallotPlan
    >>> plan = BallotPlan(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan.n_comparisons, plan.top_presentations
    (19660, 140)
    >>> print(plan)
    990 items, 7 ballots, fraction 0.5, 20 presentations of each item in each ballot
    ballot  items  comparisons
    1         990        9,900
    2         495        4,950
    3         248        2,480
    4         124        1,240
    5          62          620
    6          31          310
    7          16          160
    total               19,660
    Top items are presented 140 times; in a uniform ballot of the same cost, every item 39.7 times.
    Advice:
    - In ballot 7 an item has 20 presentations but only 15 others to meet: pairs repeat.
    """

    _caption: ClassVar[str] = "Items and comparisons of each ballot"

    n_items: int
    n_ballots: int = field(kw_only=True)
    fraction: float = field(kw_only=True)
    presentations: int = field(kw_only=True)
    sizes: tuple[int, ...] = field(init=False, repr=False)
    comparisons: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_items = checked_integer(self.n_items, "n_items", least=2)
        n_ballots = checked_integer(self.n_ballots, "n_ballots", least=2, most=MOST_BALLOTS)
        fraction = real_number(self.fraction)
        if not 0 < fraction < 1:
            raise PlanError(f"fraction must be a number above 0 and below 1; got {shown(self.fraction)}")
        presentations = checked_integer(self.presentations, "presentations", least=1)
        sizes = _sizes(n_items, n_ballots, fraction)
        values = (n_items, n_ballots, fraction, presentations)
        for name, value in zip(_INPUTS, values, strict=True):  # plain numbers, whatever their types were
            object.__setattr__(self, name, value)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "comparisons", tuple((presentations * size + 1) // 2 for size in sizes))

    @property
    def n_comparisons(self) -> int:
        """Comparisons of all ballots, N_comp (Eq. 3)."""
        return sum(self.comparisons)

    @property
    def top_presentations(self) -> int:
        """Presentations of an item that survives up to the last ballot, M_top = n_b M (Eq. 4)."""
        return self.n_ballots * self.presentations

    @property
    def uniform_presentations(self) -> float:
        """Presentations of every item in one uniform ballot of the same cost, M_unif = 2 N_comp / n_items."""
        return 2 * self.n_comparisons / self.n_items

    def cost(self, seconds_per_comparison: float) -> float:
        """Return the person-hours of all comparisons (Eq. 10).

        Parameters
        ----------
        seconds_per_comparison : float
            Mean time that a voter takes for one comparison.

        Raises
        ------
        PlanError
            If the seconds are not a finite number above 0.

        Examples
        --------
        >>> round(plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20).cost(5), 2)
        27.31
        """
        return checked_positive(seconds_per_comparison, "seconds_per_comparison") * self.n_comparisons / 3600

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice by the heuristics of section 2.7, for any number of voters."""
        advice = advice_on(
            self.sizes, fraction=self.fraction, presentations=self.presentations, n_comparisons=self.n_comparisons
        )
        return tuple(advice)

    def advice_for(self, n_voters: int) -> tuple[Advice, ...]:
        """Return the advice for a known number of voters: `advice`, and whether a voter would see a pair twice.

        Raises
        ------
        PlanError
            If `n_voters` is not an integer of at least 1.

        Examples
        --------
        >>> plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=20)
        >>> plan.advice_for(6)[-1].sentence
        'In ballot 2 a pair is compared 7 times, but n_voters is 6: a voter sees it more than once.'
        """
        voters = checked_integer(n_voters, "n_voters", least=1)
        return (*self.advice, *advice_on_voters(self.sizes, presentations=self.presentations, n_voters=voters))

    def n_possible(self, n_voters: int) -> int:
        """Return how many comparisons `n_voters` voters can answer if each answers a pair at most once in a ballot.

        Raises
        ------
        PlanError
            If `n_voters` is not an integer of at least 1.

        Examples
        --------
        >>> plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=20)
        >>> plan.n_comparisons, plan.n_possible(6), plan.n_possible(7)
        (120, 116, 120)
        """
        voters = checked_integer(n_voters, "n_voters", least=1)
        pairs = (size * (size - 1) // 2 for size in self.sizes)
        return sum(min(count, voters * n_pairs) for count, n_pairs in zip(self.comparisons, pairs, strict=True))

    def to_text(self, *, n_voters: int | None = None, seconds_per_comparison: float | None = None) -> str:
        """Return ballots, cost and advice as text, as `str` and the command ``ballots plan`` print them.

        Parameters
        ----------
        n_voters : int, optional
            Adds the advice that `advice_for` gives for that many voters.
        seconds_per_comparison : float, optional
            Adds a column of person-hours.

        Raises
        ------
        PlanError
            As `advice_for` and `cost`.

        Examples
        --------
        >>> plan = plan_ballots(990, n_ballots=3, fraction=0.25, presentations=50)
        >>> print(plan.to_text(seconds_per_comparison=10))
        990 items, 3 ballots, fraction 0.25, 50 presentations of each item in each ballot
        ballot  items  comparisons  hours
        1         990       24,750  68.75
        2         248        6,200  17.22
        3          62        1,550   4.31
        total               32,500  90.28
        Top items are presented 150 times; in a uniform ballot of the same cost, every item 65.7 times.
        """
        advice = self.advice if n_voters is None else self.advice_for(n_voters)
        rows = [["ballot", "items", "comparisons"]]
        rows += [
            [str(ballot), f"{size:,}", f"{count:,}"]
            for ballot, size, count in zip(*self._columns().values(), strict=True)
        ]
        rows += [["total", "", f"{self.n_comparisons:,}"]]
        if seconds_per_comparison is not None:
            hours_each = self.cost(seconds_per_comparison) / self.n_comparisons
            hours = [f"{hours_each * count:,.2f}" for count in (*self.comparisons, self.n_comparisons)]
            rows = [[*row, cell] for row, cell in zip(rows, ["hours", *hours], strict=True)]
        return "\n".join(
            [
                self._title(),
                text_table(rows, [column > 0 for column in range(len(rows[0]))]),
                f"Top items are presented {counted(self.top_presentations, 'time')}; "
                f"in a uniform ballot of the same cost, every item {self.uniform_presentations:,.1f} times.",
                *(["Advice:"] if advice else []),
                *(f"- {note.sentence}" for note in advice),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the inputs and the numbers computed from them, ready for JSON, without advice."""
        return {name: json_ready(getattr(self, name)) for name in _KEYS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BallotPlan:
        """Read a plan that `to_dict` wrote; all numbers are computed again and compared.

        Raises
        ------
        PlanError
            If a key is missing or unknown, the inputs allow no plan, or a value differs from the computed one.

        Examples
        --------
        >>> plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
        >>> BallotPlan.from_dict(plan.to_dict()) == plan
        True
        """
        if not isinstance(data, Mapping):
            raise PlanError(f"a plan is a mapping of names to values; got {shown(data)}")
        missing = [name for name in _KEYS if name not in data]
        unknown = [shown(name) for name in data if name not in _KEYS]
        if missing or unknown:
            fault = f"lacks {', '.join(missing)}" if missing else f"has unknown {', '.join(unknown)}"
            raise PlanError(f"the plan {fault}; its keys are {', '.join(_KEYS)}")
        plan = cls(**{name: data[name] for name in _INPUTS})
        for name, value in plan.to_dict().items():
            entry = list(data[name]) if isinstance(data[name], tuple) else data[name]
            if not isinstance(entry, list if isinstance(value, list) else Real) or entry != value:
                raise PlanError(f"{name} is {shown(entry)}, but the inputs of the plan give {shown(value)}")
        return plan

    def __str__(self) -> str:
        return self.to_text()

    def _columns(self) -> dict[str, Sequence[int]]:
        return {"ballot": range(1, self.n_ballots + 1), "items": self.sizes, "comparisons": self.comparisons}

    def _title(self) -> str:
        presentations = counted(self.presentations, "presentation")
        return (
            f"{self.n_items:,} items, {self.n_ballots:,} ballots, fraction {self.fraction}, "
            f"{presentations} of each item in each ballot"
        )


def plan_ballots(n_items: int, *, n_ballots: int, fraction: float, presentations: int) -> BallotPlan:
    """Plan from a number of presentations (Eqs. 2 to 4).

    For 990 items, 7 ballots, fraction 0.5 and 20 presentations, the paper's text gives 39,000 comparisons. By its Eq. 3
    that is a factor 2 too many: 39,000 is the number of presentations, and each comparison presents two items.

    Parameters
    ----------
    n_items : int
        At least 2.
    n_ballots : int
        n_b, from 2 (one ballot is not adaptive) to 10,000.
    fraction : float
        alpha, between 0 and 1, both excluded.
    presentations : int
        M, at least 1, of each item in each ballot.

    Returns
    -------
    BallotPlan
        Its `advice` lists points to reconsider.

    Raises
    ------
    PlanError
        If an input is out of its range or of another type, or a ballot would have fewer than two items.

    See Also
    --------
    plan_for_budget : The most presentations that a budget allows.
    plan_for_top : The fewest that a top item needs.
    tune_plan : Compare plans by simulation.
    run_protocol : Run the plan.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan.sizes
    (990, 495, 248, 124, 62, 31, 16)
    >>> plan.n_comparisons
    19660
    >>> [advice.code for advice in plan.advice]
    ['repeated_pairs']
    """
    return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)


def _sizes(n_items: int, n_ballots: int, fraction: float) -> tuple[int, ...]:
    sizes = [n_items]
    for ballot in range(2, n_ballots + 1):
        size = round(fraction * sizes[-1])
        if size < 2:
            fewer = f"at most {ballot - 1} ballots or " if ballot > 2 else ""
            raise PlanError(
                f"every ballot needs at least two items; ballot {ballot} would have {size} ({fraction} of "
                f"{sizes[-1]}): use {fewer}a larger fraction"
            )
        sizes.append(size)
    return tuple(sizes)


def checked_integer(value: object, name: str, *, least: int, most: int = LARGEST_COUNT) -> int:
    """Return a whole number within its bounds as an int; PlanError for anything else."""
    number = whole_number(value)
    if number is None:
        raise PlanError(f"{name} must be an integer; got {shown(value)}")
    if number < least:
        reason = ": one ballot is not adaptive" if name == "n_ballots" else ""
        raise PlanError(f"{name} must be at least {least}; got {shown(value)}{reason}")
    if number > most:
        raise PlanError(f"{name} must be at most {most}; got {shown(value)}")
    return number


def checked_positive(value: object, name: str) -> float:
    """Return a finite number above 0 as a float; PlanError for anything else."""
    number = real_number(value)
    if not 0 < number < math.inf:
        raise PlanError(f"{name} must be a finite number above 0; got {shown(value)}")
    return number


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
        sentence = f"In {_ballots(repeated)} an item has {counted(m, 'presentation')} but {meet}: pairs repeat."
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
        sentence = (
            f"{counted(n_voters, 'voter')} can answer at most {n_possible:,} of {n_comparisons:,} comparisons, "
            f"each pair once: plan for {n_needed:,} voters, or fewer comparisons."
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
    places = enumerate(numbers)  # neighbours are as far from their places
    runs = [[number for _, number in run] for _, run in groupby(places, key=lambda pair: pair[1] - pair[0])]
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
