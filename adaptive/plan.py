"""The plan of a protocol: how many items, comparisons and person-hours each ballot takes, before any vote.

Section 2.5 and 2.7 of Lombardo et al. 2020. alpha is the fraction of items that each ballot passes on, M the number
of presentations of an item in a ballot. Plans are whole numbers, so the inverses are exact searches, not formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from adaptive.advice import Advice, advice_on, advice_on_voters
from adaptive.errors import PlanError
from rankcorr.checks import real_number, shown, whole_number

__all__ = ["Advice", "BallotPlan", "plan_ballots", "plan_for_budget", "plan_for_top"]

_LARGEST_COUNT = 2**53  # alpha N is a product of floats, and larger integers are not all floats
_MOST_BALLOTS = 10_000  # rounding can keep a size forever (0.9 of 4 items are 4), so that sizes alone set no end
_INPUTS = ("n_items", "n_ballots", "fraction", "presentations")
_KEYS = (*_INPUTS, "sizes", "comparisons", "n_comparisons", "top_presentations", "uniform_presentations")


@dataclass(frozen=True)
class BallotPlan:
    """Sizes and comparisons of all ballots, from four inputs; the rest follows from them.

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

    Examples
    --------
    >>> plan = BallotPlan(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan.n_comparisons, plan.top_presentations
    (19660, 140)
    >>> print(plan)
    990 items, 7 ballots, fraction 0.5, 20 presentations of each item in each ballot
    ballot         items   comparisons
         1           990         9,900
         2           495         4,950
         3           248         2,480
         4           124         1,240
         5            62           620
         6            31           310
         7            16           160
     total                      19,660
    Top items are presented 140 times; in a uniform ballot of the same cost, every item 39.7 times.
    Advice:
    - In ballot 7 an item has 20 presentations but only 15 others to meet: pairs repeat.
    """

    n_items: int
    n_ballots: int = field(kw_only=True)
    fraction: float = field(kw_only=True)
    presentations: int = field(kw_only=True)
    sizes: tuple[int, ...] = field(init=False, repr=False, compare=False)
    comparisons: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n_items = _checked_integer(self.n_items, "n_items", least=2)
        n_ballots = _checked_integer(self.n_ballots, "n_ballots", least=2, most=_MOST_BALLOTS)
        fraction = _checked_fraction(self.fraction)
        presentations = _checked_integer(self.presentations, "presentations", least=1)
        sizes = _sizes(n_items, n_ballots, fraction)
        values = (n_items, n_ballots, fraction, presentations)
        for name, value in zip(_INPUTS, values, strict=True):  # plain numbers, whatever came in
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
        """Person-hours of all comparisons (Eq. 10).

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
        return _checked_positive(seconds_per_comparison, "seconds_per_comparison") * self.n_comparisons / 3600

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What the heuristics of section 2.7 say about the plan, for any number of voters."""
        return tuple(advice_on(self))

    def advice_for(self, n_voters: int) -> tuple[Advice, ...]:
        """Advice for a known number of voters: `advice`, and whether a voter would have to see one pair twice.

        Raises
        ------
        PlanError
            If `n_voters` is not an integer of at least 1.

        Examples
        --------
        >>> plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=20)
        >>> plan.advice_for(6)[-1].sentence
        'In ballot 2 a pair comes 7 times, and n_voters is 6: a voter sees it twice.'
        """
        voters = _checked_integer(n_voters, "n_voters", least=1)
        return (*advice_on(self), *advice_on_voters(self, voters))

    def to_dict(self) -> dict[str, Any]:
        """Inputs and what follows from them, ready for JSON; advice is left out."""
        values = {name: getattr(self, name) for name in _KEYS}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BallotPlan:
        """Plan that `to_dict` wrote; all of it is computed again and compared.

        Raises
        ------
        PlanError
            If a key is missing or unknown, the inputs make no plan, or a value is not what the inputs give.

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
            given = list(data[name]) if isinstance(data[name], tuple) else data[name]
            if not isinstance(given, list if isinstance(value, list) else Real) or given != value:
                raise PlanError(f"{name} is {shown(given)}, but the inputs of the plan give {shown(value)}")
        return plan

    def __str__(self) -> str:
        rows = [
            f"{ballot:>6} {size:>13,} {count:>13,}"
            for ballot, (size, count) in enumerate(zip(self.sizes, self.comparisons, strict=True), start=1)
        ]
        return "\n".join(
            [
                f"{self.n_items:,} items, {self.n_ballots:,} ballots, fraction {self.fraction}, "
                f"{self.presentations:,} {'presentation' if self.presentations == 1 else 'presentations'} "
                "of each item in each ballot",
                f"ballot {'items':>13} {'comparisons':>13}",
                *rows,
                f" total {'':>13} {self.n_comparisons:>13,}",
                f"Top items are presented {self.top_presentations:,} times; "
                f"in a uniform ballot of the same cost, every item {self.uniform_presentations:,.1f} times.",
                *(["Advice:"] if self.advice else []),
                *(f"- {advice.sentence}" for advice in self.advice),
            ]
        )


def plan_ballots(n_items: int, *, n_ballots: int, fraction: float, presentations: int) -> BallotPlan:
    """Plan from a number of presentations (Eqs. 2 to 4).

    For 990 items, 7 ballots, fraction 0.5 and 20 presentations the paper's text says 39,000 comparisons. By its own
    Eq. 3 that is a factor 2 too many: it is the number of presentations, and each comparison presents two items.

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
        Its `advice` says what to reconsider.

    Raises
    ------
    PlanError
        If an input is out of its range or of another type, or a ballot would have fewer than two items.

    Examples
    --------
    >>> plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan.sizes
    (990, 495, 248, 124, 62, 31, 16)
    >>> plan.n_comparisons
    19660
    >>> [advice.code for advice in plan.advice]
    ['repeated_pairs']
    """
    return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)


def plan_for_budget(
    n_items: int,
    *,
    n_ballots: int,
    fraction: float,
    comparisons: int | None = None,
    hours: float | None = None,
    seconds_per_comparison: float | None = None,
) -> BallotPlan:
    """Plan with the most presentations that a budget allows: either `comparisons`, or `hours` and the seconds of one.

    Parameters
    ----------
    n_items, n_ballots, fraction
        As for `plan_ballots`.
    comparisons : int, optional
        The most comparisons, of all ballots together.
    hours : float, optional
        The most person-hours, `BallotPlan.cost` of the plan.
    seconds_per_comparison : float, optional
        Mean time that a voter takes for one comparison; needed with `hours`.

    Returns
    -------
    BallotPlan
        One presentation more would exceed the budget.

    Raises
    ------
    PlanError
        If both budgets or none are given, `hours` without the seconds or the seconds without `hours`; if the budget
        is too small for one presentation (the message says what would be enough) or too large to count; and as
        `plan_ballots`.

    Examples
    --------
    >>> plan_for_budget(990, n_ballots=7, fraction=0.5, comparisons=20_000)
    BallotPlan(n_items=990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan_for_budget(990, n_ballots=7, fraction=0.5, hours=40, seconds_per_comparison=5).presentations
    29
    """
    if (comparisons is None) == (hours is None):
        got = "neither" if comparisons is None else "both"
        raise PlanError(f"a budget is either comparisons or hours; got {got}")
    if (hours is None) != (seconds_per_comparison is None):
        if hours is None:
            raise PlanError("seconds_per_comparison belongs to a budget of hours; got comparisons")
        raise PlanError("a budget of hours needs seconds_per_comparison as well")

    def planned(presentations: int) -> BallotPlan:
        return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)

    smallest = planned(1)
    enough = f"the smallest plan, with 1 presentation, has {smallest.n_comparisons} comparisons"
    if hours is None or seconds_per_comparison is None:
        most = _checked_integer(comparisons, "comparisons", least=1)
        if smallest.n_comparisons > most:
            raise PlanError(f"a budget of {most} comparisons is too small: {enough}")
        return planned(_largest(lambda m: planned(m).n_comparisons <= most))
    most_hours = _checked_positive(hours, "hours")
    seconds = _checked_positive(seconds_per_comparison, "seconds_per_comparison")
    if smallest.cost(seconds) > most_hours:  # all digits below: what the message says must be enough
        raise PlanError(
            f"a budget of {most_hours} hours is too small: {enough} and takes {smallest.cost(seconds)} hours"
        )
    if planned(_LARGEST_COUNT).cost(seconds) <= most_hours:
        raise PlanError(
            f"a budget of {most_hours} hours at {seconds} seconds per comparison is too large: it pays for more than "
            f"{_LARGEST_COUNT} presentations"
        )
    return planned(_largest(lambda m: planned(m).cost(seconds) <= most_hours))


def plan_for_top(n_items: int, *, n_ballots: int, fraction: float, top_presentations: int) -> BallotPlan:
    """Plan with the fewest presentations that give a top item the wanted number in all: n_b M >= M_top (Eq. 4).

    Parameters
    ----------
    n_items, n_ballots, fraction
        As for `plan_ballots`.
    top_presentations : int
        Wanted M_top, at least 1; the paper recommends 100.

    Returns
    -------
    BallotPlan
        Its `top_presentations` is the wanted number, or up to n_b - 1 more.

    Raises
    ------
    PlanError
        If `top_presentations` is not an integer of at least 1; and as `plan_ballots`.

    Examples
    --------
    >>> plan_for_top(990, n_ballots=7, fraction=0.5, top_presentations=100)
    BallotPlan(n_items=990, n_ballots=7, fraction=0.5, presentations=15)
    """
    wanted = _checked_integer(top_presentations, "top_presentations", least=1)
    smallest = BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1)
    presentations = -(-wanted // smallest.n_ballots)
    return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)


def _sizes(n_items: int, n_ballots: int, fraction: float) -> tuple[int, ...]:
    sizes = [n_items]
    for ballot in range(2, n_ballots + 1):
        size = round(fraction * sizes[-1])
        if size < 2:
            fewer = f"at most {ballot - 1} ballots or " if ballot > 2 else ""
            raise PlanError(
                f"every ballot needs two items; ballot {ballot} would have {size}, as {fraction} of {sizes[-1]}: "
                f"take {fewer}a larger fraction"
            )
        sizes.append(size)
    return tuple(sizes)


def _largest(fits: Callable[[int], bool]) -> int:
    """Largest count that fits; 1 does, `_LARGEST_COUNT` does not, and what fits ends at one place."""
    low, high = 1, _LARGEST_COUNT
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _checked_integer(value: object, name: str, *, least: int, most: int = _LARGEST_COUNT) -> int:
    number = whole_number(value)
    if number is None:
        raise PlanError(f"{name} must be an integer; got {shown(value)}")
    if number < least:
        reason = ": one ballot is not adaptive" if name == "n_ballots" else ""
        raise PlanError(f"{name} must be at least {least}; got {shown(value)}{reason}")
    if number > most:
        raise PlanError(f"{name} must be at most {most}; got {shown(value)}")
    return number


def _checked_fraction(value: object) -> float:
    fraction = real_number(value)
    if not 0 < fraction < 1:
        raise PlanError(f"fraction must be a number between 0 and 1, both excluded; got {shown(value)}")
    return fraction


def _checked_positive(value: object, name: str) -> float:
    number = real_number(value)
    if not 0 < number < math.inf:
        raise PlanError(f"{name} must be a finite number above 0; got {shown(value)}")
    return number
