"""Define a campaign: its items, plan, seed and settings, fixed at creation, and the sizes of batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adaptive._budget import BatchOptions
from adaptive._plan import Advice, BallotPlan, advice_on_budget, advice_on_total
from adaptive.ledger._campaign.settings import (
    SHEET_SIZE,
    CampaignSettings,
    Targets,
    as_label,
    checked_targets,
    omit_defaults,
)
from adaptive.ledger._store.schema import answers_with
from adaptive.ledger.errors import LedgerError, require
from adaptive.matching._matching import Matching
from adaptive.model._likelihood import MAX_DENSE
from rankcorr._checks import check_declared, whole_number

Mode = Literal["ballots", "continuous"]


@dataclass(frozen=True)
class ContinuousPlan:
    """A campaign without ballots: small batches of comparisons, each matched by all votes before it.

    Attributes
    ----------
    n_items : int
    budget : int
        Total number of comparisons that may be asked.
    batch : int
        Comparisons of a batch.
    n0, focus : float
        See `adaptive.next_comparisons`; of sets, `n0` as in `adaptive.next_sets`, which has no focus.
    target : float or None
        The campaign may end when `adaptive.stopping_rule` stops at this expected tau_w; None: when the budget is spent.
    n_pairs : int or None
        Number of different pairs that may be asked, in a campaign of target groups; None: all pairs of items.
    set_size : int
        Number of items of a comparison: 2 is a pair. Of 3 to 6 items, voters choose the best and the worst. 4 are
        usual: the two choices order 5 of their 6 pairs.

    See Also
    --------
    adaptive.BallotPlan : The plan of a campaign of ballots.
    adaptive.next_comparisons : How a batch is chosen.
    batch_for : The usual size of a batch.

    Examples
    --------
    >>> from adaptive.ledger import ContinuousPlan, batch_for
    >>> ContinuousPlan(n_items=20, budget=500, batch=batch_for(20), target=0.9)
    ContinuousPlan(n_items=20, budget=500, batch=20, n0=2.0, focus=0.6, target=0.9, n_pairs=None, set_size=2)
    """

    n_items: int
    budget: int
    batch: int = 50
    n0: float = Matching.n0
    focus: float = Matching.focus
    target: float | None = None
    n_pairs: int | None = None
    set_size: int = 2

    def __post_init__(self) -> None:
        check_declared(BatchOptions(self.batch, self.target, self.set_size), LedgerError)
        for name, least in (("n_items", self.set_size), ("budget", 1), ("batch", 1)):
            value = getattr(self, name)
            require((whole_number(value) or least - 1) >= least, name, f"a whole number from {least} on", value)
        Matching(batch=self.batch, n0=self.n0, focus=self.focus)

    @property
    def n_comparisons(self) -> int:
        """Comparisons that may be asked: the budget."""
        return self.budget

    @property
    def n_different(self) -> int:
        """Number of different pairs, or sets."""
        return math.comb(self.n_items, self.set_size) if self.n_pairs is None else self.n_pairs

    def n_possible(self, n_voters: int) -> int:
        """Return the number of comparisons that so many voters can answer, each of them a pair or set at most once.

        Examples
        --------
        >>> ContinuousPlan(n_items=45, budget=12_000).n_possible(3)
        2970
        """
        return min(self.budget, n_voters * self.n_different)

    def advice_for(self, n_voters: int) -> tuple[Advice, ...]:
        """Return the advice for a number of voters: whether they can answer all comparisons.

        Examples
        --------
        >>> [advice.code for advice in ContinuousPlan(n_items=45, budget=12_000).advice_for(3)]
        ['too_many_comparisons']
        """
        if self.n_pairs is None and self.set_size == 2:
            return tuple(advice_on_budget(self.budget, n_items=self.n_items, n_voters=n_voters))
        n_needed = -(-self.budget // self.n_different)
        possible = self.n_possible(n_voters)
        return tuple(advice_on_total(self.budget, possible, n_voters=n_voters, n_needed=n_needed))

    def check_settings(self, settings: CampaignSettings) -> None:
        """Refuse settings that sets do not go with, and sets of more items than their fit can take.

        Raises
        ------
        LedgerError

        Examples
        --------
        >>> from adaptive.ledger import CampaignSettings, ContinuousPlan
        >>> ContinuousPlan(8, budget=40, set_size=4).check_settings(CampaignSettings(grades=2))
        Traceback (most recent call last):
        adaptive.ledger.errors.LedgerError: grades are for pairs; voters choose from sets of 4
        """
        if self.set_size == 2:
            return
        if self.n_items > MAX_DENSE:  # the fit's matrices are dense
            raise LedgerError(f"sets are for at most {MAX_DENSE:,} items; got {self.n_items:,}")
        for option, is_set in (
            ("grades", settings.grades > 1),
            ("checks", settings.probing is not None),
            ("target groups", settings.targets is not None),
        ):
            if is_set:
                raise LedgerError(f"{option} are for pairs; voters choose from sets of {self.set_size}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        # These fields are absent where earlier releases could read the plan.
        return omit_defaults(asdict(self), n_pairs=None, set_size=2)


def items_of_targets(targets: Targets) -> list[Hashable]:
    """Return the items of a campaign of target groups: each target with each of its positive candidates.

    A word may be a candidate of several targets, and is an item of each.

    See Also
    --------
    plan_of_targets : The plan of the same campaign.

    Examples
    --------
    >>> from adaptive.ledger import items_of_targets
    >>> items_of_targets({"oak": {"tree": "positive", "plant": "positive", "ink": "random"}})
    [('oak', 'tree'), ('oak', 'plant')]
    """
    groups = checked_targets(targets).items()
    return [(target, word) for target, group in groups for word, kind in group.items() if kind == "positive"]


def plan_of_targets(targets: Targets, answers: int, *, batch: int | None = None) -> ContinuousPlan:
    """Plan a campaign of target groups: each pair of positive candidates of a target gets so many answers.

    The quota of a target with p positive candidates is ``answers * p (p - 1) / 2``.

    Parameters
    ----------
    targets : mapping of target to mapping of candidate to category
        As in `CampaignSettings`.
    answers : int
        Answers to each pair, each by another voter.
    batch : int, optional
        Comparisons of a batch, by default `batch_for` the items.

    Raises
    ------
    LedgerError
        The targets contradict their definition, or `answers` is no whole number from 1.

    See Also
    --------
    items_of_targets : The items of the campaign.
    Campaign.target_groups : Its result.

    Examples
    --------
    >>> from adaptive.ledger import plan_of_targets
    >>> targets = {"oak": dict.fromkeys(["tree", "plant", "hardwood"], "positive"),
    ...            "fox": dict.fromkeys(["animal", "canid"], "positive")}
    >>> plan = plan_of_targets(targets, answers=5)
    >>> plan.n_items, plan.n_pairs, plan.budget, plan.n_possible(3)
    (5, 4, 20, 12)
    """
    require((whole_number(answers) or 0) >= 1, "answers", "a whole number from 1 on", answers)
    items = items_of_targets(targets)
    n_pairs = _n_pairs_within([label[0] for label in items])  # type: ignore[index]
    size = batch_for(len(items)) if batch is None else batch
    return ContinuousPlan(len(items), budget=answers * n_pairs, batch=size, n_pairs=n_pairs)


def _n_pairs_within(targets: Iterable[str]) -> int:
    return sum(number * (number - 1) // 2 for number in Counter(targets).values())


@dataclass(frozen=True, eq=False)
class CampaignInfo:
    """A campaign as it was created.

    Attributes
    ----------
    id : int
        Id in its database.
    key : str
        Random name, identical in every copy.
    name : str
    mode : {"ballots", "continuous"}
    plan : BallotPlan or ContinuousPlan
    slots : sequence of hashable
        Names of the voters that ballots are drawn for.
    seed : int
    settings : CampaignSettings
    hash_key : str
        Key for hashing the names that voters have elsewhere.
    created_at : int
    items : sequence of hashable
        Labels, by place.
    """

    id: int
    key: str
    name: str
    mode: Mode
    plan: BallotPlan | ContinuousPlan
    slots: Sequence[Hashable]
    seed: int
    settings: CampaignSettings
    hash_key: str
    created_at: int
    items: Sequence[Hashable]

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], items: Sequence[Hashable], *, campaign_id: int = 0, hash_key: str = ""
    ) -> CampaignInfo:
        """Return the campaign of a stored row; slots may be a number N, which means 0..N-1."""
        is_planned, slots = data["mode"] == "ballots", data["slots"]
        return cls(
            **{name: data[name] for name in ("key", "name", "mode", "created_at")},
            id=campaign_id,
            plan=BallotPlan.from_dict(data["plan"]) if is_planned else ContinuousPlan(**data["plan"]),
            slots=range(slots) if isinstance(slots, int) else tuple(map(as_label, slots)),
            seed=int(data["seed"]),
            settings=CampaignSettings.from_dict(data["settings"]),
            hash_key=hash_key,
            items=items,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @cached_property
    def group_of_items(self) -> NDArray[np.int64] | None:
        """Number of the target of each item; None without target groups."""
        if self.settings.targets is None:
            return None
        numbers = {target: number for number, target in enumerate(self.settings.targets)}
        return np.array([numbers[label[0]] for label in self.items], np.int64)  # type: ignore[index]

    def target_of(self, item: int) -> str | None:
        """Return the target that an item is a candidate of; None without target groups."""
        return None if self.settings.targets is None else str(self.items[item][0])  # type: ignore[index]

    @property
    def n_pairs(self) -> int:
        """Number of different pairs that may be asked."""
        if isinstance(self.plan, ContinuousPlan):
            return self.plan.n_different
        return self.n_items * (self.n_items - 1) // 2

    @property
    def set_size(self) -> int:
        """Number of items of a comparison: 2 is a pair."""
        return self.plan.set_size if isinstance(self.plan, ContinuousPlan) else 2

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that the campaign takes; its pages may offer fewer.

        Examples
        --------
        >>> from adaptive.ledger import ContinuousPlan, Ledger
        >>> ledger, plan = Ledger.in_memory(), ContinuousPlan(8, budget=40, set_size=4)
        >>> campaign = ledger.new_campaign(plan, 8, 5, 1, settings=CampaignSettings(assigned=False, sheet_size=10))
        >>> len(campaign.info.answers), campaign.info.answers[2]
        (13, 'best 1 worst 4')
        >>> ledger.close()
        """
        return answers_with(self.settings.grades, self.set_size)

    def check_answers(self) -> None:
        """Refuse answers that the campaign cannot ask for, or of more items than their fit can take.

        Raises
        ------
        LedgerError
        """
        if self.settings.grades > 1 and self.n_items > MAX_DENSE:  # the fit's matrices are dense
            raise LedgerError(f"grades are for at most {MAX_DENSE:,} items; got {self.n_items:,}")
        if isinstance(self.plan, ContinuousPlan):
            self.plan.check_settings(self.settings)

    def check_targets(self) -> None:
        """Refuse a campaign of target groups whose plan, items or checks are not those of its targets.

        Raises
        ------
        LedgerError
        """
        targets, plan = self.settings.targets, self.plan
        if targets is None:
            if isinstance(plan, ContinuousPlan) and plan.n_pairs is not None:
                raise LedgerError("n_pairs of a plan belongs to target groups, which the settings lack")
            return
        items = items_of_targets(targets)
        if not isinstance(plan, ContinuousPlan) or plan.target is not None:
            raise LedgerError(
                "target groups need a continuous campaign that ends with its budget, as plan_of_targets makes it"
            )
        if len(self.items) != len(items) or set(self.items) != set(items):
            raise LedgerError("the items of a campaign of target groups must be those of items_of_targets")
        if plan.n_pairs != _n_pairs_within([label[0] for label in items]):  # type: ignore[index]
            raise LedgerError("the plan is not that of these target groups; plan_of_targets makes it")
        known = () if self.settings.probing is None else self.settings.probing.known
        across = [pair for pair in known if pair.left[0] != pair.right[0]]  # type: ignore[index]
        if across:
            raise LedgerError(f"a check compares candidates of two targets: {across[0].left} and {across[0].right}")

    @property
    def unit(self) -> Literal["ballot", "batch"]:
        """Word for the unit that is opened and closed, a ballot or a batch."""
        return "batch" if self.mode == "continuous" else "ballot"

    @cached_property
    def ballot_plan(self) -> BallotPlan:
        """The plan of a campaign of ballots.

        Raises
        ------
        LedgerError
            If the campaign is continuous.
        """
        if isinstance(self.plan, BallotPlan):
            return self.plan
        raise LedgerError("a continuous campaign has batches, not the ballots of a plan")

    @property
    def batch_plan(self) -> ContinuousPlan:
        """The plan of a continuous campaign.

        Raises
        ------
        LedgerError
            If the campaign has ballots.
        """
        if isinstance(self.plan, ContinuousPlan):
            return self.plan
        raise LedgerError("the campaign has the ballots of a plan, not batches")


def batch_for(n_items: int) -> int:
    """Return the default number of comparisons in a batch: the number of items, limited to 10 to 50.

    The votes of a batch guide the next one. A batch of 50 would ask all pairs of ten items at once.

    See Also
    --------
    ContinuousPlan : Takes it.

    Examples
    --------
    >>> from adaptive.ledger import batch_for
    >>> batch_for(4), batch_for(20), batch_for(3_000)
    (10, 20, 50)
    """
    return min(50, max(10, n_items))


def slots_of_batch(size: int, n_slots: int, settings: CampaignSettings) -> int:
    """Return how many slots a batch is dealt to.

    If each slot belongs to a voter, all slots are used. Otherwise voters claim sheets, and there are only as many slots
    as the size of a sheet requires, so that no voter comes for just a pair or two. There are at least two slots if
    comparisons are repeated with a second voter.

    Examples
    --------
    >>> slots_of_batch(50, 40, CampaignSettings(assigned=False, sheet_size=20))
    3
    >>> slots_of_batch(50, 40, CampaignSettings())
    40
    """
    if settings.assigned:
        return n_slots
    n_sheets = -(-size // (settings.sheet_size or SHEET_SIZE))
    probing = settings.probing
    return min(n_slots, size, max(n_sheets, 2 if probing is not None and probing.overlap > 0 else 1))
