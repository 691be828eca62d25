"""Settings of a campaign: pay, checks, sheets, grades and target groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from adaptive._budget import PayOptions, answers_for
from adaptive._record import json_label, label_from_json
from adaptive._tables import is_line
from adaptive.ledger._store.schema import MOST_GRADES
from adaptive.ledger.errors import LedgerError, require
from rankcorr._checks import check_declared, declare, shown
from rankcorr.errors import RankingError

SHEET_SIZE: Final = 20  # default of batches, and of the pages for organisers
LEASE_MINUTES: Final = 15.0  # default of the pages for organisers; a sheet takes 2 to 5 minutes
CheckKind = Literal["practice", "attention", "gold"]
Expected = Literal["left", "right", "tie"]
KINDS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
_MOST_REPEATED: Final = 0.5  # of a sheet: more comparisons could not be repeated with other pairs in between
Targets: TypeAlias = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Pay(PayOptions):
    """The pay for an answer to a comparison or a check.

    Attributes
    ----------
    per_vote, per_hour : float or None
        Pay for an answer, or for an hour, which `seconds` converts to pay for an answer; give exactly one of the two.
    seconds : float or None
        Response time; required with `per_hour`.
    fee : float
        Surcharge of the platform as a share of the pay: 0.25 is 25 %.
    currency : str
        Currency to display, for example "EUR".

    Raises
    ------
    LedgerError
        Both or neither of `per_vote` and `per_hour` are given, or a number is out of range.

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
            raise LedgerError(f"pay must be per vote or per hour; got {got}")
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
        """Pay of a voter for an hour; None if the response time is unknown."""
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
        """Return the person-hours of a number of answers; None if the response time is unknown."""
        return None if self.seconds is None else n_answers * self.seconds / 3600

    def text(self, amount: float) -> str:
        """Return an amount with its currency."""
        return f"{amount:,.2f} {self.currency}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class KnownPair:
    """A pair with a known answer.

    Attributes
    ----------
    kind : {"practice", "attention", "gold"}
    left, right : hashable
        Labels of items of the campaign. Voters see them on random sides.
    expected : {"left", "right", "tie"}
        The known answer.

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
            raise LedgerError(
                f"the kind of a known pair must be 'practice', 'attention' or 'gold'; got {shown(self.kind)}"
            )
        if self.expected not in get_args(Expected):
            raise LedgerError(f"the expected answer must be 'left', 'right' or 'tie'; got {shown(self.expected)}")
        if self.left == self.right:
            raise LedgerError(f"{shown(self.left)} is compared with itself")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {**vars(self), "left": json_label(self.left), "right": json_label(self.right)}


@dataclass(frozen=True)
class Probing:
    """The checks that a campaign asks: extra comparisons that are never scored.

    Attributes
    ----------
    known : tuple of KnownPair
        Practice pairs begin the first sheet of each slot. Attention checks and gold pairs are dealt to the sheets; each
        slot first gets those that it has seen least often.
    known_per_sheet : int
        Number of attention checks and gold pairs on a sheet; fewer if most of them are comparisons of the slot.
    repeats : float
        Share of a sheet's comparisons that are asked again later, with the sides swapped; at most 0.5. A sheet of one
        or two comparisons has no repeats.
    overlap : float
        Number of comparisons of other voters that a sheet also asks, as a share of its comparisons; at most 0.5.

    Raises
    ------
    LedgerError
        A number is out of range, or a pair is repeated.

    See Also
    --------
    KnownPair, read_known_pairs : The pairs with known answers.
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
    known_per_sheet: int = declare(int, 1, least=0, about="Number of attention checks and gold pairs on each sheet.")
    repeats: float = declare(
        float, 0.0, least=0, most=_MOST_REPEATED, about="Share of the comparisons to ask the same voter again."
    )
    overlap: float = declare(
        float, 0.0, least=0, most=_MOST_REPEATED, about="Share of the comparisons to ask a second voter, too."
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
        """Raise LedgerError if a known pair has an item that is not in the campaign."""
        items = set(labels)
        for known_pair in self.known:
            for label in (known_pair.left, known_pair.right):
                if label not in items:
                    raise LedgerError(f"{shown(label)} of a check is not an item of the campaign")

    def of_kind(self, *kinds: CheckKind) -> tuple[int, ...]:
        """Return the indices of the known pairs of these kinds."""
        return tuple(index for index, known_pair in enumerate(self.known) if known_pair.kind in kinds)

    def expected_number(self, sheets: Iterable[tuple[int, bool]]) -> float:
        """Return an upper bound of the expected number of checks: there are fewer if a slot is asked the pair anyway.

        Parameters
        ----------
        sheets : iterable of (int, bool)
            Number of comparisons on each sheet, and whether it is the first sheet of its slot.

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
            KnownPair(**{**pair, "left": label_from_json(pair["left"]), "right": label_from_json(pair["right"])})
            for pair in data["known"]
        )
        return cls(**{**data, "known": known})


def omit_defaults(owner: type, content: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields of a dataclass without those of these names whose value is their default."""
    return {name: value for name, value in content.items() if name not in names or value != getattr(owner, name)}


def n_repeatable(size: int) -> int:
    """Return how many comparisons of a sheet can be repeated before its last one, with (size - 1) // 2 in between."""
    return max(0, size - 1 - (size - 1) // 2) if size > 2 else 0


def checked_targets(targets: Any) -> dict[str, dict[str, str]]:
    """Return target groups as plain dicts.

    Raises
    ------
    LedgerError
        They do not fit `rankcorr.vectors.TargetGroups`.
    """
    from rankcorr.vectors import TargetGroups

    try:
        return {target: dict(group) for target, group in TargetGroups(targets).categories.items()}
    except RankingError as error:
        raise LedgerError(f"targets: {error}") from error


@dataclass(frozen=True)
class CampaignSettings:
    """Settings of how a campaign is run.

    Attributes
    ----------
    sheet_size : int or None
        Maximum number of comparisons on a sheet; None for one sheet for each slot of a ballot.
    assigned : bool
        Whether each sheet goes to the voter of its slot when the ballot is opened, as for voting by file. If not,
        voters claim sheets one at a time.
    lease_minutes : float or None
        Time without a vote after which another voter may take over a claimed sheet. None if sheets do not expire.
    first_minutes : float
        The same before the first answer on a claimed sheet, if shorter. An answer to practice only restarts this time.
    least_answered : float
        Share of a ballot's comparisons that must be answered before it closes.
    probing : Probing or None
        Checks, which are asked in addition to the comparisons and tell about the voters. They change no ballot.
    pay : Pay or None
        Pay of the voters.
    grades : int
        Number of grades of a preference, 1 to 3. With 2, voters prefer an item slightly ("left") or clearly
        ("left 2"); with 3, also by far ("left 3"). Ballots count wins of any grade alike; strengths use the grades.
        More than one grade requires at most 1,500 items.
    targets : mapping of target to mapping of candidate to {"positive", "distractor", "random"}, or None
        Target groups. The items are the positive candidates of each target, and voters compare only candidates of the
        same target. Distractors and random candidates are not shown; `Campaign.target_groups` adds them.

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
        float, 2.0, above=0, about="The same before the first answer on a sheet, if shorter."
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
        # These fields are omitted if they have their defaults, so that earlier releases can read the settings.
        return omit_defaults(CampaignSettings, {**vars(self), **parts}, "targets", "grades")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CampaignSettings:
        """Return the settings that `to_dict` wrote, as a ledger or a bundle stores them."""
        probing, pay = data.get("probing"), data.get("pay")
        parts = {
            "probing": None if probing is None else Probing.from_dict(probing),
            "pay": None if pay is None else Pay(**pay),
        }
        return cls(**{**data, **parts})
