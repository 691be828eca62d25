"""Define a campaign: its items, plan, seed, settings and checks, fixed at creation, and the sizes of batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from adaptive._budget import BatchOptions, PayOptions, answers_for
from adaptive._plan import Advice, BallotPlan, advice_on_budget, advice_on_total
from adaptive.ledger._campaign.content import is_line
from adaptive.ledger._store.schema import MOST_GRADES, answers_with, label_text, value_of
from adaptive.ledger.errors import LedgerError, require
from adaptive.matching._matching import Matching
from adaptive.model._likelihood import MAX_DENSE
from rankcorr._checks import shown, whole_number
from rankcorr._options import check_declared, declare
from rankcorr.errors import RankingError

SHEET_SIZE: Final = 20  # of batches without a size, and what pages for voters offer
LEASE_MINUTES: Final = 60.0  # what pages for voters offer
Mode = Literal["ballots", "continuous"]
CheckKind = Literal["practice", "attention", "gold"]
Expected = Literal["left", "right", "tie"]
KINDS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
_MOST_REPEATED: Final = 0.5  # share of a sheet; more could not be repeated with other pairs in between


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
        return _omit_defaults(asdict(self), n_pairs=None, set_size=2)


@dataclass(frozen=True)
class Pay(PayOptions):
    """The pay for an answer to a comparison or a check.

    Attributes
    ----------
    per_vote, per_hour : float or None
        Pay for an answer, or pay for an hour, converted with `seconds` for each answer; give exactly one of the two.
    seconds : float or None
        Time that an answer takes; required with `per_hour`.
    fee : float
        The platform's surcharge as a share of the pay: 0.25 is a quarter.
    currency : str
        The currency as displayed, for example "EUR".

    Raises
    ------
    LedgerError
        If both or neither of `per_vote` and `per_hour` are given, or a number is out of range.

    See Also
    --------
    planned_spending : The cost of a plan.
    CampaignSettings : Holds it as `pay`.

    Examples
    --------
    >>> from adaptive.ledger import Pay
    >>> pay = Pay(per_hour=12, seconds=6, fee=0.25, currency="EUR")
    >>> pay.per_answer, pay.cost(1000), pay.text(pay.cost(1000))
    (0.02, 25.0, '25.00 EUR')
    """

    currency: str = ""

    def __post_init__(self) -> None:
        if (self.per_vote is None) == (self.per_hour is None):
            got = "neither" if self.per_vote is None else "both"
            raise LedgerError(f"pay is per vote or per hour; got {got}")
        if self.per_hour is not None and self.seconds is None:
            raise LedgerError("pay per hour needs the seconds that an answer takes")
        check_declared(self, LedgerError)
        fits = isinstance(self.currency, str) and (self.currency == "" or is_line(self.currency))
        require(fits, "currency", "text of one line", self.currency)

    @property
    def per_answer(self) -> float:
        """Pay of a voter for one answer."""
        if self.per_vote is not None:
            return float(self.per_vote)
        return (self.per_hour or 0.0) * (self.seconds or 0.0) / 3600

    @property
    def hourly(self) -> float | None:
        """Pay of a voter for an hour; None if the time of an answer is not known."""
        return None if self.seconds is None else self.per_answer * 3600 / self.seconds

    def cost(self, n_answers: float) -> float:
        """Return the cost of a number of answers, including the fee."""
        return n_answers * self.per_answer * (1 + self.fee)

    def answers(self, money: float) -> int:
        """Return the number of answers that an amount pays for, including the fee.

        Raises
        ------
        PlanError
            If the amount is not a finite number above 0, or pays for no answer.

        Examples
        --------
        >>> Pay(per_hour=12, seconds=6, fee=0.25).answers(300)
        12000
        """
        return answers_for(money, per_answer=self.per_answer, fee=self.fee)

    def hours(self, n_answers: float) -> float | None:
        """Return the person-hours of a number of answers; None if the time of an answer is not known."""
        return None if self.seconds is None else n_answers * self.seconds / 3600

    def text(self, amount: float) -> str:
        """Return an amount with its currency."""
        return f"{amount:,.2f} {self.currency}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class KnownPair:
    """A pair whose answer is known.

    Attributes
    ----------
    kind : {"practice", "attention", "gold"}
    left, right : hashable
        Labels of items of the campaign; when the pair is shown, the sides are drawn.
    expected : {"left", "right", "tie"}

    See Also
    --------
    read_known_pairs : Read them from a file.
    Probing : Takes them.

    Examples
    --------
    >>> from adaptive.ledger import KnownPair
    >>> pair = KnownPair("practice", left="apple", right="stone", expected="left")
    >>> pair.kind, pair.expected
    ('practice', 'left')
    """

    kind: CheckKind
    left: Hashable
    right: Hashable
    expected: Expected

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise LedgerError(f"a known pair is for 'practice', 'attention' or 'gold'; got {shown(self.kind)}")
        if self.expected not in get_args(Expected):
            raise LedgerError(f"the expected answer is 'left', 'right' or 'tie'; got {shown(self.expected)}")
        if self.left == self.right:
            raise LedgerError(f"{shown(self.left)} is compared with itself")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        labels = {side: value_of(label_text(getattr(self, side))) for side in ("left", "right")}
        return {"kind": self.kind, **labels, "expected": self.expected}


@dataclass(frozen=True)
class Probing:
    """The checks that a campaign asks: extra comparisons that are never scored.

    Attributes
    ----------
    known : tuple of KnownPair
        Practice pairs begin the first sheet of each slot. Attention checks and gold pairs are dealt to the sheets; each
        slot first gets those that it has seen least often.
    known_per_sheet : int
        Number of attention checks and gold pairs on a sheet; fewer if too few of them are absent from the slot's own
        comparisons.
    repeats : float
        Share of a sheet's comparisons that are asked again, later and with the sides swapped; at most 0.5. A sheet of
        one or two comparisons has none.
    overlap : float
        Comparisons of other voters that are asked too, as a share of those of the sheet; at most 0.5.

    Raises
    ------
    LedgerError
        If a number is out of range, or a pair is repeated.

    See Also
    --------
    KnownPair, read_known_pairs : The pairs whose answer is known.
    CampaignQuality : Shows how voters answered the checks.
    CampaignSettings : Holds it as `probing`.

    Examples
    --------
    >>> from adaptive.ledger import KnownPair, Probing
    >>> probing = Probing((KnownPair("attention", "apple", "stone", "left"),), repeats=0.1)
    >>> probing.of_kind("attention"), probing.known_per_sheet
    ((0,), 1)
    """

    known: tuple[KnownPair, ...] = ()
    known_per_sheet: int = declare(int, 1, least=0, about="Attention checks and gold pairs of each sheet.")
    repeats: float = declare(
        float, 0.0, least=0, most=_MOST_REPEATED, about="Share of the comparisons to ask the same voter again."
    )
    overlap: float = declare(
        float, 0.0, least=0, most=_MOST_REPEATED, about="Share of the comparisons to ask a second voter too."
    )

    def __post_init__(self) -> None:
        check_declared(self, LedgerError)
        pairs: set[frozenset[Hashable]] = set()
        for known_pair in self.known:
            pair = frozenset([known_pair.left, known_pair.right])
            if pair in pairs:
                raise LedgerError(
                    f"the pair {shown(known_pair.left)}, {shown(known_pair.right)} is listed twice as a check"
                )
            pairs.add(pair)

    def check_items(self, labels: Collection[Hashable]) -> None:
        """Refuse pairs of items that the campaign does not have.

        Raises
        ------
        LedgerError
        """
        items = set(labels)
        for known_pair in self.known:
            for label in (known_pair.left, known_pair.right):
                if label not in items:
                    raise LedgerError(f"{shown(label)} of a check is not an item of the campaign")

    def of_kind(self, *kinds: CheckKind) -> tuple[int, ...]:
        """Return the indices of the known pairs of these kinds."""
        return tuple(index for index, known_pair in enumerate(self.known) if known_pair.kind in kinds)

    def expected_number(self, sheets: Iterable[tuple[int, bool]]) -> float:
        """Return the average number of checks, at most: there are fewer if a slot is asked the pair anyway.

        Parameters
        ----------
        sheets : iterable of (int, bool)
            Comparisons of each sheet, and whether it is the first of its slot.

        Examples
        --------
        >>> Probing(repeats=0.1, overlap=0.25).expected_number([(20, True), (2, False)])
        7.5
        """
        dealt = min(self.known_per_sheet, len(self.of_kind("attention", "gold")))
        practice = len(self.of_kind("practice"))
        numbers = [
            dealt + practice * is_first + self.overlap * size + min(self.repeats * size, n_repeatable(size))
            for size, is_first in sheets
        ]
        return math.fsum(numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {**vars(self), "known": [known_pair.to_dict() for known_pair in self.known]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Probing:
        """Return the probing that `to_dict` wrote."""
        known = tuple(
            KnownPair(**{**known_pair, "left": _label(known_pair["left"]), "right": _label(known_pair["right"])})
            for known_pair in data["known"]
        )
        return cls(**{**data, "known": known})


def _omit_defaults(fields: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return fields without those that have a default."""
    return {name: value for name, value in fields.items() if name not in defaults or value != defaults[name]}


def n_repeatable(size: int) -> int:
    """Return how many comparisons of a sheet can be repeated before its last, (size - 1) // 2 others in between."""
    return max(0, size - 1 - (size - 1) // 2) if size > 2 else 0


def _label(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


Targets: TypeAlias = Mapping[str, Mapping[str, str]]


def checked_targets(targets: Any) -> dict[str, dict[str, str]]:
    """Return target groups as plain dicts.

    Raises
    ------
    LedgerError
        They contradict the definition of `rankcorr.vectors.TargetGroups`.
    """
    from rankcorr.vectors import TargetGroups

    try:
        return {target: dict(group) for target, group in TargetGroups(targets).categories.items()}
    except RankingError as error:
        raise LedgerError(f"targets: {error}") from error


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


@dataclass(frozen=True)
class CampaignSettings:
    """Settings of how a campaign is run.

    Attributes
    ----------
    sheet_size : int or None
        Maximum number of comparisons on a sheet; None: each slot of a ballot is one sheet.
    assigned : bool
        Whether each sheet goes to the voter of its slot when the ballot is opened, as for files. If not, voters claim
        the next sheet as they come.
    lease_minutes : float or None
        After this time without a vote, another voter may take over a claimed sheet. None: sheets do not expire.
    first_minutes : float
        The same limit before the first answer on a claimed sheet, if it is the shorter of the two.
    least_answered : float
        Share of a ballot's comparisons that must be answered before it closes.
    probing : Probing or None
        Questions asked in addition to the comparisons, to learn about the voters; they change no ballot.
    pay : Pay or None
        The voters' pay.
    grades : int
        Grades of a preference, 1 to 3. With 2, voters say whether they prefer an item slightly ("left") or clearly
        ("left 2"), with 3 also by far ("left 3"). Ballots count wins of any grade; strengths use the grades. Above 1,
        for at most 1,500 items.
    targets : mapping of target to mapping of candidate to {"positive", "distractor", "random"}, or None
        Target groups: the items are the positive candidates of each target, and voters compare those of one target
        only. Distractors and random candidates are not shown; `Campaign.target_groups` adds them.

    See Also
    --------
    Probing, Pay : Its parts.
    VotingPages : The pages that voters see.
    Ledger.new_campaign : Takes it.

    Examples
    --------
    >>> from adaptive.ledger import Pay, CampaignSettings
    >>> settings = CampaignSettings(assigned=False, sheet_size=20, lease_minutes=30, pay=Pay(per_hour=12, seconds=6))
    >>> settings.least_answered, settings.pay.per_answer
    (0.9, 0.02)
    >>> CampaignSettings.from_dict(settings.to_dict()) == settings
    True
    """

    sheet_size: int | None = declare(int, None, least=1, about="Maximum number of comparisons on a sheet.")
    assigned: bool = True
    lease_minutes: float | None = declare(
        float, None, above=0, about="After this time without a vote, another voter may get the sheet."
    )
    first_minutes: float = declare(
        float, 2.0, above=0, about="The same before the first answer on a sheet, where that is shorter."
    )
    least_answered: float = declare(
        float, 0.9, least=0, most=1, about="Share of a ballot's comparisons that must be answered before it closes."
    )
    probing: Probing | None = None
    pay: Pay | None = None
    targets: Targets | None = None
    grades: int = declare(
        int, 1, least=1, most=MOST_GRADES, about="Grades of a preference: 2 adds clearly to slightly, 3 also by far."
    )

    def __post_init__(self) -> None:
        check_declared(self, LedgerError)
        if self.targets is not None:
            object.__setattr__(self, "targets", checked_targets(self.targets))
        for name, kind in (("probing", Probing), ("pay", Pay)):
            value = getattr(self, name)
            require(isinstance(value, kind | None), name, f"None or a {kind.__name__}", value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        parts = {name: part.to_dict() for name in ("probing", "pay") if (part := getattr(self, name)) is not None}
        # These fields are absent where earlier releases could read the settings.
        return _omit_defaults({**vars(self), **parts}, targets=None, grades=1)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CampaignSettings:
        """Return the settings that `to_dict` wrote, as a ledger or a bundle stores them."""
        probing, pay = data.get("probing"), data.get("pay")
        parts = {
            "probing": None if probing is None else Probing.from_dict(probing),
            "pay": None if pay is None else Pay(**pay),
        }
        return cls(**{**data, **parts})


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
            slots=range(slots) if isinstance(slots, int) else tuple(map(_label, slots)),
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
