"""Define the requests that create a campaign: its items, plan, settings and pages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from marshmallow import ValidationError, post_load, validates_schema

from adaptive.budget import most_ballots, plan_one_way
from adaptive.errors import AdaptiveError
from adaptive.ledger import (
    ContinuousPlan,
    ItemFault,
    ItemSheet,
    KnownPair,
    Pay,
    PlannedSpending,
    Probing,
    Settings,
    VotingPages,
    batch_for,
    is_line,
    read_item_sheet,
    read_known_pairs,
)
from adaptive.plan import BallotPlan
from adaptive.tuning.outlook import Outlook
from rankcorr.checks import offending
from service.collect.assets import why_no_asset
from service.collect.schemas.pages import PagesRequest
from service.schemas.base import Answer, Request
from service.schemas.fields import Choice, Dumped, Flag, Number, Part, Seed, Text, Vocabulary, Whole
from service.schemas.shapes import (
    COUNT,
    LABEL,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE_OR_NULL,
    list_of,
    object_of,
    or_null,
    shape_of,
)

T = TypeVar("T")

MOST_ITEMS: Final = 200_000
MOST_VOTERS: Final = 100_000
MOST_COMPARISONS: Final = 2_000_000
SHEET_SIZE: Final = 20
LEASE_MINUTES: Final = 60.0
WAYS: Final = ("presentations", "comparisons", "hours", "top_presentations")
_OF_BALLOTS: Final = ("n_ballots", "fraction", *WAYS)
MODE: Final = Vocabulary(
    "CampaignMode",
    {
        "type": "string",
        "enum": ["ballots", "continuous"],
        "description": "Ballots of a plan, or small batches that are matched by all votes before.",
    },
)
_CONTINUOUS: Final = ("budget", "batch", "target")


class Line(Text):
    """One line of text that is not empty."""

    def __init__(self, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most
        self.documented = {**type(self).documented, "maxLength": most}

    def read(self, value: Any) -> str:
        """Check a value."""
        text: str = super().read(value)
        if text != text.strip() or not is_line(text) or len(text) > self.most:
            raise ValidationError(f"must be one line of at most {self.most} characters, without spaces around it")
        return text


class PlanChoice(Request):
    """A ballot plan, with one of four ways to set how often items are presented; or a continuous plan."""

    mode = Choice(MODE, load_default="ballots")
    n_ballots = Whole(least=2, most=100, about="n_b; by default 7, or as many as so few items allow.")
    fraction = Number(above=0, below=1, about="alpha: the share of items that go on; 0.5 if left out.")
    presentations = Whole(least=1, most=10_000, about="Of each item in each ballot.")
    comparisons = Whole(least=1, most=MOST_COMPARISONS, about="Or the most, of all ballots.")
    hours = Number(above=0, most=1e6, about="Or the most person-hours, with pay.seconds or seconds.")
    top_presentations = Whole(least=1, most=100_000, about="Or the fewest of a top item, in all.")
    seconds = Number(above=0, most=3_600, about="Mean time of an answer.")
    budget = Whole(least=1, most=MOST_COMPARISONS, about="Continuous: comparisons in all.")
    batch = Whole(
        least=1,
        most=10_000,
        about="Continuous: comparisons of a batch; by default as many as there are items, from 10 to 50.",
    )
    target = Number(above=0, most=1, about="Continuous: an expected tau_w at which the campaign may end.")

    @validates_schema
    def check_way(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse options of the other mode, and a request with no way or several ways to set the presentations."""
        continuous = data["mode"] == "continuous"
        other = [name for name in (_OF_BALLOTS if continuous else _CONTINUOUS) if name in data]
        if other:
            raise ValidationError({name: [f"does not go with mode {data['mode']!r}"] for name in other})
        if continuous:
            if "budget" not in data:
                raise ValidationError("this field is needed: a continuous campaign has a budget", "budget")
            return
        given = [name for name in WAYS if name in data]
        if len(given) != 1:
            got = offending("got", given) if given else "got none"
            raise ValidationError(f"exactly one of {', '.join(WAYS)} is needed; {got}")
        if "hours" in data and "seconds" not in data:
            raise ValidationError("this field is needed: the budget is of hours", "seconds")

    @post_load
    def planner(
        self, data: dict[str, Any], **_: Any
    ) -> tuple[Callable[[int], BallotPlan | ContinuousPlan], float | None]:
        """Return a function from the number of items to the plan, and the seconds per answer."""
        seconds = data.pop("seconds", None)
        if data.pop("mode") == "continuous":
            return (lambda n_items: ContinuousPlan(n_items, **{"batch": batch_for(n_items), **data})), seconds
        fraction, n_ballots = data.pop("fraction", 0.5), data.pop("n_ballots", None)

        def plan(n_items: int) -> BallotPlan:
            number = n_ballots or most_ballots(n_items, fraction)
            return plan_one_way(n_items, n_ballots=number, fraction=fraction, seconds_per_comparison=seconds, **data)

        return plan, seconds


class PayRequest(Request):
    """Voters' pay: per answer, or per hour at a given number of seconds per answer."""

    per_vote = Number(above=0, most=1e6)
    per_hour = Number(above=0, most=1e9, about="With seconds.")
    seconds = Number(above=0, most=3_600, about="That an answer takes.")
    fee = Number(least=0, most=10, load_default=0.0, about="Of the platform, as a share of the pay.")
    currency = Line(10, load_default="")

    @post_load
    def pay(self, data: dict[str, Any], **_: Any) -> Pay:
        """Make the pay."""
        return made(lambda: Pay(**data))


class SettingsRequest(Request):
    """Settings of a campaign."""

    sheet_size = Whole(least=1, most=500, load_default=SHEET_SIZE, about="Most comparisons of a sheet.")
    lease_minutes = Number(
        above=0,
        most=100_000,
        load_default=LEASE_MINUTES,
        about="After this time without a vote a sheet may go to somebody else.",
    )
    first_minutes = Number(
        above=0,
        most=100_000,
        load_default=2.0,
        about="The same before the first answer on a sheet, where that is shorter.",
    )
    least_answered = Number(least=0, most=1, load_default=0.9, about="Share that must be answered before closing.")
    probes_csv = Text(about="Pairs whose answer is known: left, right, winner and kind, as CSV.")
    probes_per_sheet = Whole(least=0, most=100, load_default=1)
    repeats = Number(least=0, most=0.5, load_default=0.0, about="Share to be asked again.")
    overlap = Number(least=0, most=0.5, load_default=0.0, about="Share to ask a second voter.")
    pay = Part(PayRequest)


class CampaignRequest(Request):
    """A campaign: its items, its plan, and the texts for its voters."""

    name = Line(200, required=True)
    items_csv = Text(required=True, about="The column item, or item_1, ...; if any, kind, content and alt_text.")
    voters = Whole(least=1, most=MOST_VOTERS, required=True, about="Voters that ballots are drawn for.")
    seed = Seed(required=False, about="Of all draws; by default a random one.")
    plan = Part(PlanChoice, required=True)
    settings = Part(SettingsRequest, load_default=lambda: SettingsRequest().load({}))
    pages = Part(PagesRequest, load_default=VotingPages)

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the arguments of `found`."""
        sheet = checked_sheet(data.pop("items_csv"))
        (planner, _), chosen = data.pop("plan"), data.pop("settings")
        plan = made(lambda: planner(len(sheet.items)), "plan")
        check_plan(plan)
        return {
            "plan": plan,
            "items": sheet.items,
            "contents": sheet.contents,
            "settings": settings_of(chosen, sheet),
            "seed": data.pop("seed", None) or secrets.randbits(53),
            **data,
        }


class ItemSheetRequest(Request):
    """A table of items to check."""

    items_csv = Text(required=True)

    @post_load
    def sheet(self, data: dict[str, Any], **_: Any) -> ItemSheet:
        """Parse the table."""
        return read_item_sheet(data["items_csv"].encode(), why_no_file=why_no_asset)


class OutlookRequest(Request):
    """A plan to assess before the campaign is created."""

    n_items = Whole(least=2, most=MOST_ITEMS)
    items_csv = Text(about="Or the items as the campaign will have them; probes_csv needs them.")
    voters = Whole(least=1, most=MOST_VOTERS, required=True)
    plan = Part(PlanChoice, required=True)
    settings = Part(SettingsRequest, load_default=lambda: SettingsRequest().load({}))
    accuracy = Flag(load_default=False, about="Whether to simulate what it reaches, which takes seconds.")

    @validates_schema
    def check_items(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither way to give items, and known pairs of unknown items."""
        if ("n_items" in data) == ("items_csv" in data):
            raise ValidationError("exactly one of n_items and items_csv is needed")
        if "items_csv" not in data and "probes_csv" in data.get("settings", {}):
            raise ValidationError("this field is needed: settings.probes_csv names items", "items_csv")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return plan, settings and seconds per answer."""
        sheet = checked_sheet(data["items_csv"]) if "items_csv" in data else None
        planner, seconds = data.pop("plan")
        n_items = data["n_items"] if sheet is None else len(sheet.items)
        plan = made(lambda: planner(n_items), "plan")
        check_plan(plan)
        chosen = settings_of(data.pop("settings"), sheet)
        return {
            "plan": plan,
            "seconds": seconds,
            "settings": chosen,
            "voters": data["voters"],
            "accuracy": data["accuracy"],
        }


class ItemSheetAnswer(Answer):
    """The content of a table of items, and its errors."""

    n_items = Dumped(COUNT)
    first = Dumped(list_of(object_of({"item": LABEL, "kind": TEXT, "content": TEXT_OR_NULL, "alt_text": TEXT_OR_NULL})))
    faults = Dumped(list_of(shape_of(ItemFault), about="The first hundred."))


_SIZES: Final = object_of(
    {
        "mode": TEXT,
        "n_items": COUNT,
        "n_ballots": WHOLE_OR_NULL,
        "fraction": NUMBER_OR_NULL,
        "presentations": WHOLE_OR_NULL,
        "sizes": list_of(COUNT, about="Items of each ballot."),
        "comparisons": list_of(COUNT, about="Comparisons of each ballot; of a continuous campaign, the budget."),
        "batch": WHOLE_OR_NULL,
        "target": NUMBER_OR_NULL,
    }
)
_ADVICE: Final = object_of({"code": TEXT, "value": NUMBER, "bound": NUMBER, "sentence": TEXT})


class OutlookAnswer(Answer):
    """The expected questions, cost and accuracy of a plan."""

    plan = Dumped(_SIZES)
    spending = Dumped(shape_of(PlannedSpending))
    advice = Dumped(list_of(_ADVICE))
    outlook = Dumped(or_null(shape_of(Outlook)))


class CampaignMade(Answer):
    """A new campaign; its organiser's token is shown only once."""

    campaign = Dumped({**TEXT, "description": "Key of the campaign."})
    token = Dumped({**TEXT, "description": "Of the organiser."})
    organiser_url = Dumped(TEXT)


class CampaignAnswer(Answer):
    """A campaign as it was created, and the address of its voters' page."""

    campaign = Dumped(TEXT)
    name = Dumped(TEXT)
    created_at = Dumped(TEXT)
    voters = Dumped({**COUNT, "description": "Voters that ballots are drawn for."})
    seed = Dumped({**TEXT, "description": "Digits."})
    plan = Dumped(_SIZES)
    settings = Dumped({"type": "object"})
    voter_url = Dumped({**TEXT, "description": "The page of voters, without any capability."})


def plan_columns(plan: BallotPlan | ContinuousPlan) -> dict[str, Any]:
    """Return a plan in the form of the answers."""
    if isinstance(plan, BallotPlan):
        numbers = plan.to_dict()
        own = {name: numbers[name] for name in ("n_items", "n_ballots", "fraction", "presentations")}
        columns = {"sizes": numbers["sizes"], "comparisons": numbers["comparisons"]}
        return {"mode": "ballots", **own, **columns, "batch": None, "target": None}
    none = dict.fromkeys(("n_ballots", "fraction", "presentations"))
    columns = {"sizes": [plan.n_items], "comparisons": [plan.budget]}
    return {
        "mode": "continuous", "n_items": plan.n_items, **none, **columns, "batch": plan.batch, "target": plan.target
    }  # fmt: skip


def settings_of(chosen: Mapping[str, Any], sheet: ItemSheet | None) -> Settings:
    """Return the settings of a campaign on the web, where any visitor may claim the next sheet."""
    given = dict(chosen)
    text = given.pop("probes_csv", None)
    shares = (given.pop("probes_per_sheet"), given.pop("repeats"), given.pop("overlap"))
    known: tuple[KnownPair, ...] = ()
    if text is not None and sheet is not None:
        known = made(lambda: read_known_pairs("probes", sheet.items, data=text.encode()), "settings", "probes_csv")
    probing = made(lambda: Probing(known, *shares), "settings")
    return made(
        lambda: Settings(assigned=False, probing=None if probing == Probing() else probing, **given), "settings"
    )


def checked_sheet(text: str) -> ItemSheet:
    """Return the items of a table that has no errors and at most as many items as a campaign may have."""
    sheet = read_item_sheet(text.encode(), why_no_file=why_no_asset)
    if sheet.faults:
        raise ValidationError([str(fault) for fault in sheet.faults], "items_csv")
    check_size(len(sheet.items), "items_csv")
    return sheet


def check_size(n_items: int, field: str) -> None:
    """Refuse more items than a campaign may have."""
    if n_items > MOST_ITEMS:
        raise ValidationError(f"at most {MOST_ITEMS:,} items; got {n_items:,}", field)


def check_plan(plan: BallotPlan | ContinuousPlan) -> None:
    """Refuse a plan of more comparisons than a campaign may have."""
    number = plan.n_comparisons if isinstance(plan, BallotPlan) else plan.budget
    if number > MOST_COMPARISONS:
        raise ValidationError(f"at most {MOST_COMPARISONS:,} comparisons; this plan has {number:,}", "plan")


def made(make: Callable[[], T], *path: str) -> T:
    """Return what `make` returns; turn an error of the libraries into an error of the field."""
    try:
        return make()
    except AdaptiveError as error:
        messages: Any = [str(error)]
        for name in reversed(path):
            messages = {name: messages}
        raise ValidationError(messages) from error
