"""Serve /v1/campaigns: check the items and the plan of a new campaign, create it, describe it, and set its pages."""

import binascii
import dataclasses
import secrets
from collections.abc import Collection, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, get_args

from marshmallow import ValidationError, missing, post_load, validates_schema
from marshmallow.fields import List

from adaptive import ledger
from adaptive._budget import BatchOptions, PlanOptions
from adaptive._plan import BallotPlan
from adaptive._tuning.assessment import PlanAssessment, PlanColumns, assess_plan
from rankcorr._io.source import write_atomically
from service.collect.access import admit_founder, organiser_url, voter_url
from service.collect.api import blueprints
from service.collect.content import image_name, why_no_asset
from service.collect.state import collecting
from service.environment import variable
from service.http import logs
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED, Blueprint
from service.schemas import fields, shapes
from service.schemas.base import WAYS, Budget, Money, Request, check_one

_ABOUT_PAGES: Final = {
    "completion_url": "On Prolific null is enough: the code makes the address.",
    "screened_out_code": "For participants who were excluded before they finished.",
    "quota_full_code": "For participants who came when no pair was left.",
}


class Prose(fields.Documented):
    """Text, which may be empty; where null is allowed, empty text is null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.documented = shapes.TEXT_OR_NULL if self.allow_none else shapes.TEXT

    def read(self, value: Any) -> str | None:
        """Check a value."""
        if not isinstance(value, str):
            raise ValidationError("must be text or null" if self.allow_none else "must be text")
        return value or (None if self.allow_none else value)


class TextsRequest(Request):
    """The texts of one language."""

    language = Prose(required=True, about='A tag like "en" or "pt-BR".')
    title = Prose(required=True)
    question = Prose(required=True)
    instructions = Prose(load_default="", about="Markdown.")
    consent = Prose(load_default="", about="Markdown.")
    thanks = Prose(load_default="", about="Markdown.")


class PagesRequest(Request):
    """The pages that a campaign shows to its voters, and who may take part."""

    class Meta(Request.Meta):  # noqa: D106
        include: ClassVar = {
            option.name: (fields.Flag if isinstance(option.default, bool) else Prose)(
                allow_none=option.default is None,
                load_default=missing if option.default is None else option.default,
                about=_ABOUT_PAGES.get(option.name),
            )
            for option in dataclasses.fields(ledger.VotingPages)
            if option.name not in ("texts", "sheets", "study_minutes")
        }

    sheets = fields.declared_field(ledger.VotingPages, "sheets", most=10_000, allow_none=True)
    study_minutes = fields.declared_field(ledger.VotingPages, "study_minutes", most=100_000, allow_none=True)
    texts = List(
        fields.Part(TextsRequest), required=True, metadata={"description": "The first language is the default."}
    )

    @post_load
    def pages(self, data: dict[str, Any], **_: Any) -> ledger.VotingPages:
        """Make the pages."""
        return blueprints.place_errors(lambda: ledger.VotingPages.from_dict(data))


_TEXTS: Final = shapes.exactly(language=shapes.TEXT, **shapes.properties_of(ledger.PageTexts))


class PagesAnswer(shapes.Answer):
    """The current pages and their version."""

    version = shapes.COUNT
    pages = shapes.exactly(**shapes.properties_of(ledger.VotingPages, texts=shapes.list_of(_TEXTS)))


voters_pages = blueprints.organiser_blueprint("pages", __name__, "What voters read")


@voters_pages.get("/<key>/pages", name="readPages")
@voters_pages.response(200, PagesAnswer)
def read_pages(campaign: ledger.Campaign) -> Any:
    """Return the current pages; a change must send their ETag."""
    version, pages = campaign.pages()
    return _pages_answer(version, pages)


@voters_pages.put("/<key>/pages", name="changePages")
@voters_pages.arguments(PagesRequest, as_kwargs=False)
@voters_pages.doc(**blueprints.CONDITIONAL)
@voters_pages.response(200, PagesAnswer)
def change_pages(pages: ledger.VotingPages, campaign: ledger.Campaign) -> Any:
    """Replace the pages from now on; all versions are kept, to record which text each voter agreed to.

    If-Match must hold the ETag of the pages that you edited; the answer is 412 if they have changed since.
    """
    stamp = blueprints.read_if_match()
    version, _ = campaign.pages()
    if stamp != _pages_stamp(version):
        raise Problem(412, f"the pages have changed and are now of version {version}; read them again")
    version = campaign.set_pages(pages, replaces=version)
    collecting().campaigns.forget_pages(campaign)
    return _pages_answer(version, pages)


def _pages_stamp(version: int) -> str:
    return str(version).zfill(4)


def _pages_answer(version: int, pages: ledger.VotingPages) -> dict[str, Any]:
    blueprints.set_etag(_pages_stamp(version))
    return {"version": version, "pages": pages.to_dict()}


MOST_ITEMS: Final = 200_000
MOST_VOTERS: Final = 100_000
MOST_COMPARISONS: Final = 2_000_000
_WAYS_OF_BATCHES: Final = ("budget", "hours")
_OF_BALLOTS: Final = ("n_ballots", "fraction", *(way for way in WAYS if way not in _WAYS_OF_BATCHES))
MODE: Final = fields.vocabulary(
    "CampaignMode", get_args(ledger.Mode), "Ballots of a plan, or small batches that are matched by all votes before."
)
_CONTINUOUS: Final = ("batch", "target", "set_size")


def plan_of(
    choice: dict[str, Any], n_items: int, n_voters: int, settings: ledger.CampaignSettings
) -> tuple[BallotPlan | ledger.ContinuousPlan, ledger.CampaignSettings]:
    """Return the plan of a `PlanChoice`, and the settings with the pay that its budget names.

    Raises
    ------
    ValidationError
        If there is no such plan, or it has more comparisons than a campaign may have.
    """
    is_continuous = choice.pop("mode") == "continuous"
    budget, hours, seconds = (choice.pop(name, None) for name in ("budget", "hours", "seconds"))
    money = budget if isinstance(budget, Money) else None
    if money is not None and money.pay is not None:
        if settings.pay is not None:
            raise fields.placed(["cannot be combined with settings.pay"], "plan", "budget", "pay")
        if seconds is None:
            raise fields.placed(["this field is needed: the pay is for an hour"], "plan", "seconds")
        pay = ledger.Pay(per_hour=money.pay, seconds=seconds, fee=money.fee)
        settings = dataclasses.replace(settings, pay=pay)
    if money is not None and settings.pay is None:
        raise fields.placed(["this field is needed: the budget is of money"], "settings", "pay")
    if hours is not None and seconds is None and (settings.pay is None or settings.pay.seconds is None):
        raise fields.placed(["this field is needed: the budget is of hours"], "plan", "seconds")

    def plan_with(n_comparisons: int | None) -> BallotPlan | ledger.ContinuousPlan:
        if is_continuous:
            options: dict[str, Any] = {"batch": ledger.batch_for(n_items), **choice}
            return ledger.ContinuousPlan(n_items, n_comparisons or 0, **options)
        return PlanOptions(**{"comparisons": n_comparisons, **choice}).plan(n_items)

    def make_plan() -> BallotPlan | ledger.ContinuousPlan:
        if money is None and hours is None:
            return plan_with(budget)
        euros = None if money is None else money.euros
        return ledger.affordable_plan(plan_with, n_voters, settings, money=euros, hours=hours, seconds=seconds)

    plan = blueprints.place_errors(make_plan, "plan")
    if isinstance(plan, ledger.ContinuousPlan):
        blueprints.place_errors(partial(plan.check_settings, settings), "settings")
    if plan.n_comparisons > MOST_COMPARISONS:
        message = f"at most {MOST_COMPARISONS:,} comparisons; this plan has {plan.n_comparisons:,}"
        raise ValidationError(message, "plan")
    return plan, settings


class PlanChoice(Request):
    """A plan of ballots or a continuous plan, from one of the ways to set the number of comparisons."""

    mode = fields.Choice(MODE, load_default="ballots")
    n_ballots = fields.declared_field(PlanOptions, "n_ballots", most=100)
    fraction = fields.declared_field(
        PlanOptions, "fraction", load_default=missing, about="alpha: the share of items that go on; 0.5 if left out."
    )
    presentations = fields.declared_field(PlanOptions, "presentations", most=10_000)
    comparisons = fields.declared_field(PlanOptions, "comparisons", most=MOST_COMPARISONS)
    budget = Budget(
        most=MOST_COMPARISONS,
        optional=("pay", "fee"),
        about="Or the most, in either mode: comparisons, or money for comparisons and checks. The pay is that of "
        "settings, or an hourly pay given here, which needs seconds and becomes the campaign's.",
    )
    hours = fields.Number(
        above=0, most=1e6, about="Or the most person-hours for comparisons and checks, with pay.seconds or seconds."
    )
    top_presentations = fields.declared_field(PlanOptions, "top_presentations", most=100_000)
    seconds = fields.Number(above=0, most=3_600, about="Mean time of an answer.")
    batch = fields.declared_field(BatchOptions, "batch", most=10_000)
    target = fields.declared_field(BatchOptions, "target")
    set_size = fields.declared_field(BatchOptions, "set_size", load_default=missing)

    @validates_schema
    def check_mode(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse options of the other mode, and a request with no way or several ways to set the comparisons."""
        continuous = data["mode"] == "continuous"
        other = [name for name in (_OF_BALLOTS if continuous else _CONTINUOUS) if name in data]
        if other:
            raise ValidationError({name: [f"cannot be combined with mode {data['mode']!r}"] for name in other})
        check_one(data, *(_WAYS_OF_BATCHES if continuous else WAYS))


class PayRequest(Request):
    """Voters' pay: per answer, or per hour at a given number of seconds per answer."""

    per_vote = fields.declared_field(ledger.Pay, "per_vote", most=1e6)
    per_hour = fields.declared_field(ledger.Pay, "per_hour", most=1e9)
    seconds = fields.declared_field(ledger.Pay, "seconds", most=3_600)
    fee = fields.declared_field(ledger.Pay, "fee", most=10)
    currency = blueprints.Line(10, load_default="")

    @post_load
    def pay(self, data: dict[str, Any], **_: Any) -> ledger.Pay:
        """Make the pay."""
        return blueprints.place_errors(lambda: ledger.Pay(**data))


class SettingsRequest(Request):
    """Settings of a campaign."""

    sheet_size = fields.declared_field(ledger.CampaignSettings, "sheet_size", most=500, load_default=ledger.SHEET_SIZE)
    lease_minutes = fields.declared_field(
        ledger.CampaignSettings, "lease_minutes", most=100_000, load_default=ledger.LEASE_MINUTES
    )
    first_minutes = fields.declared_field(ledger.CampaignSettings, "first_minutes", most=100_000)
    least_answered = fields.declared_field(ledger.CampaignSettings, "least_answered")
    grades = fields.declared_field(ledger.CampaignSettings, "grades")
    probes_csv = fields.Text(about="Pairs whose answer is known: left, right, winner and kind, as CSV.")
    probes_per_sheet = fields.declared_field(ledger.Probing, "known_per_sheet", most=100)
    repeats = fields.declared_field(ledger.Probing, "repeats")
    overlap = fields.declared_field(ledger.Probing, "overlap")
    pay = fields.Part(PayRequest)


class TargetsField(fields.Documented):
    """Candidates of target words, by category."""

    documented = shapes.map_of(
        shapes.map_of(fields.CANDIDATE.reference, minProperties=2, propertyNames={"minLength": 1}),
        minProperties=1,
        propertyNames={"minLength": 1},
    )

    def read(self, value: Any) -> Any:
        """Check a value."""
        groups = value.values() if isinstance(value, dict) else ()
        if not groups or sum(len(group) for group in groups if isinstance(group, dict)) > MOST_ITEMS:
            raise ValidationError(f"must be an object of target to candidates, with at most {MOST_ITEMS:,} of them")
        try:
            ledger.items_of_targets(value)
        except ledger.LedgerError as error:
            raise ValidationError(str(error).removeprefix("targets: ")) from error
        return value


class CampaignRequest(Request):
    """A campaign: its items, its plan, and the texts for its voters."""

    name = blueprints.Line(200, required=True)
    items_csv = fields.Text(about="The column item, or item_1, ...; if any, kind, content and alt_text. Needs plan.")
    targets = TargetsField(about="Or target groups: by target, the category of each candidate. Needs answers.")
    answers = fields.Whole(least=1, most=10_000, about="Answers to each pair of positive candidates of a target.")
    voters = fields.Whole(least=1, most=MOST_VOTERS, required=True, about="Voters that ballots are drawn for.")
    seed = fields.Seed(
        required=False, load_default=lambda: secrets.randbits(53), about="Of all draws; by default a random one."
    )
    plan = fields.Part(PlanChoice)
    settings = fields.Part(SettingsRequest, load_default=lambda: SettingsRequest().load({}))
    pages = fields.Part(PagesRequest, load_default=ledger.VotingPages)

    @validates_schema
    def check_ways(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither of items and targets, or without what belongs to them."""
        check_one(data, "items_csv", "targets")
        owner, needed, other = (
            ("items_csv", "plan", "answers") if "items_csv" in data else ("targets", "answers", "plan")
        )
        if needed not in data:
            raise ValidationError(f"this field is needed: it belongs to {owner}", needed)
        if other in data:
            raise ValidationError(f"cannot be combined with {owner}", other)

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the arguments of `Ledger.create_campaign`."""
        if "targets" in data:
            return self._of_targets(data)
        sheet = checked_sheet(data.pop("items_csv"))
        settings = settings_of(data.pop("settings"), sheet.items)
        plan, settings = plan_of(data.pop("plan"), len(sheet.items), data["voters"], settings)
        return {**data, "plan": plan, "items": sheet.items, "contents": sheet.contents, "settings": settings}

    @staticmethod
    def _of_targets(data: dict[str, Any]) -> dict[str, Any]:
        targets, answers = data.pop("targets"), data.pop("answers")
        plan = blueprints.place_errors(lambda: ledger.plan_of_targets(targets, answers), "targets")
        if plan.n_comparisons > MOST_COMPARISONS:
            message = f"at most {MOST_COMPARISONS:,} comparisons; these targets have {plan.n_comparisons:,}"
            raise ValidationError(message, "answers")
        items = ledger.items_of_targets(targets)
        settings = dataclasses.replace(settings_of(data.pop("settings"), items), targets=targets)
        return {**data, "plan": plan, "items": items, "settings": settings}


class ItemSheetRequest(Request):
    """A table of items to check."""

    items_csv = fields.Text(required=True)

    @post_load
    def sheet(self, data: dict[str, Any], **_: Any) -> ledger.ItemSheet:
        """Parse the table."""
        return sheet_of(data["items_csv"])


class ImageRequest(Request):
    """An image for an item."""

    image = fields.Text(required=True, about="The file (PNG, JPEG, GIF, WebP or AVIF) in base64.")

    @post_load
    def decode(self, data: dict[str, Any], **_: Any) -> tuple[bytes, str]:
        """Return the file, and the name to store it under."""
        try:
            image = binascii.a2b_base64(data["image"], strict_mode=True)
        except (ValueError, binascii.Error) as error:
            raise ValidationError("must be base64", "image") from error
        name = image_name(image)
        if name is None:
            raise ValidationError("must be a PNG, JPEG, GIF, WebP or AVIF file", "image")
        return image, name


class ImageAnswer(shapes.Answer):
    """A stored image."""

    content = shapes.TEXT("For the column content of the items; the image is at /assets/ and this name.")


class OutlookRequest(Request):
    """A plan to assess before the campaign is created."""

    n_items = fields.Whole(least=2, most=MOST_ITEMS)
    items_csv = fields.Text(about="Or the items as the campaign will have them; probes_csv needs them.")
    voters = fields.Whole(least=1, most=MOST_VOTERS, required=True)
    plan = fields.Part(PlanChoice, required=True)
    settings = fields.Part(SettingsRequest, load_default=lambda: SettingsRequest().load({}))
    accuracy = fields.Flag(load_default=False, about="Whether to simulate what it reaches, which takes seconds.")

    @validates_schema
    def check_items(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither way to give items, and known pairs of unknown items."""
        check_one(data, "n_items", "items_csv")
        if "items_csv" not in data and "probes_csv" in data.get("settings", {}):
            raise ValidationError("this field is needed: settings.probes_csv names items", "items_csv")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return plan, settings and seconds per answer."""
        items = checked_sheet(data["items_csv"]).items if "items_csv" in data else None
        n_items, n_voters = data["n_items"] if items is None else len(items), data["voters"]
        seconds = data["plan"].get("seconds")
        plan, settings = plan_of(data["plan"], n_items, n_voters, settings_of(data["settings"], items))
        options = {"settings": settings, "seconds": seconds, "accuracy": data["accuracy"]}
        return {"plan": plan, "n_voters": n_voters, **options}


class ItemSheetAnswer(shapes.Answer):
    """The content of a table of items, and its errors."""

    n_items = shapes.COUNT
    first = shapes.list_of(
        shapes.exactly(item=shapes.LABEL, **shapes.properties_of(ledger.ItemContent, "kind", "content", "alt_text"))
    )
    faults = shapes.list_of(shapes.shape_of(ledger.ItemFault), about="The first hundred.")


class OutlookAnswer(shapes.Answer, **shapes.properties_of(PlanAssessment, "plan", "spending", "advice", "outlook")):
    """The expected questions, cost and accuracy of a plan."""


class CampaignMade(shapes.Answer):
    """A new campaign; its organiser's token is shown only once."""

    campaign = shapes.TEXT("Key of the campaign.")
    token = shapes.TEXT("Of the organiser.")
    organiser_url = shapes.TEXT


class CampaignAnswer(shapes.Answer):
    """A campaign as it was created, and the address of its voters' page."""

    campaign = shapes.TEXT
    name = shapes.TEXT
    created_at = shapes.TEXT
    voters = shapes.COUNT("Voters that ballots are drawn for.")
    seed = shapes.TEXT("Digits.")
    plan = shapes.shape_of(PlanColumns)
    settings = shapes.Shape(type="object")
    voter_url = shapes.TEXT("The page of voters, without any capability.")


def settings_of(options: Mapping[str, Any], items: Collection[Hashable] | None) -> ledger.CampaignSettings:
    """Return the settings of a campaign on the web, where any visitor may claim the next sheet."""
    settings = dict(options)
    text = settings.pop("probes_csv", None)
    shares = (settings.pop("probes_per_sheet"), settings.pop("repeats"), settings.pop("overlap"))
    known: tuple[ledger.KnownPair, ...] = ()
    if text is not None and items is not None:
        known = blueprints.place_errors(
            lambda: ledger.read_known_pairs("checks", items, data=text.encode()), "settings", "probes_csv"
        )
    probing = blueprints.place_errors(lambda: ledger.Probing(known, *shares), "settings")
    settings["probing"] = None if probing == ledger.Probing() else probing
    return blueprints.place_errors(lambda: ledger.CampaignSettings(assigned=False, **settings), "settings")


def sheet_of(text: str) -> ledger.ItemSheet:
    """Return the items of a table, with its errors."""
    return ledger.read_item_sheet(text.encode(), why_no_file=partial(why_no_asset, collecting().settings.assets))


def checked_sheet(text: str) -> ledger.ItemSheet:
    """Return the items of a table that has no errors and at most as many items as a campaign may have."""
    sheet = sheet_of(text)
    if sheet.faults:
        raise ValidationError([str(fault) for fault in sheet.faults], "items_csv")
    if len(sheet.items) > MOST_ITEMS:
        raise ValidationError(f"at most {MOST_ITEMS:,} items; got {len(sheet.items):,}", "items_csv")
    return sheet


class ItemsAnswer(shapes.Answer):
    """Items; if a ballot is open, sorted by their answers in open ballots, fewest first."""

    n_items = shapes.COUNT
    items = shapes.list_of(
        shapes.exactly(
            item=shapes.LABEL,
            **shapes.properties_of(ledger.ItemContent, "kind", "content", "alt_text"),
            presentations=shapes.COUNT("In the ballots that are open."),
            n_answered=shapes.COUNT,
        )
    )


creation = Blueprint(
    "making", __name__, url_prefix=blueprints.CAMPAIGNS, description="Making campaigns", **blueprints.FOR_FOUNDERS
)

creation.before_request(admit_founder)  # before the body is parsed: a table of items takes seconds

blueprint = blueprints.organiser_blueprint("campaigns", __name__, "A campaign as it is")
items = blueprints.organiser_blueprint("items", __name__, "Items and plan")
_item_rows = blueprints.ValueCache(2)  # rows of 200,000 items take 80 MB
_FIRST_ITEMS = 20


@creation.post("", name="makeCampaign")
@creation.arguments(CampaignRequest)
@creation.response(201, CampaignMade)
def make(**request: Any) -> dict[str, str]:
    """Create a campaign; its organiser's token is in this answer and nowhere else."""
    campaign, token = collecting().ledger.get().create_campaign(**request)
    return {"campaign": campaign.key, "token": token, "organiser_url": organiser_url(campaign, token)}


@creation.post("/check", name="checkItems")
@creation.arguments(ItemSheetRequest, as_kwargs=False)
@creation.response(200, ItemSheetAnswer)
def check(sheet: ledger.ItemSheet) -> dict[str, Any]:
    """Check a table of items: return its content and all errors by line, and store nothing."""
    rows = zip(sheet.items[:_FIRST_ITEMS], sheet.contents[:_FIRST_ITEMS], strict=True)
    first = [{"item": item, **vars(content)} for item, content in rows]
    return {"n_items": len(sheet.items), "first": first, "faults": sheet.faults}


@creation.post("/images", name="uploadImage")
@creation.arguments(ImageRequest, as_kwargs=False)
@creation.response(201, ImageAnswer)
def upload(request: tuple[bytes, str]) -> dict[str, str]:
    """Store an image for an item; the same image has the same name, however often it is sent."""
    (image, name), folder = request, collecting().settings.assets
    if not folder:
        raise Problem(403, f"this server stores no images, because {variable('assets')} is empty")
    try:
        if not Path(folder, name).exists():  # the name is the checksum of the content
            write_atomically(Path(folder, name), image)
    except OSError as error:
        logs.log.error("an image cannot be stored in %s: %s", folder, error)
        raise Problem(503, f"the image cannot be stored in {variable('assets')}; ask the administrator") from error
    return {"content": name}


@creation.post("/plan", name="planCampaign")
@creation.arguments(OutlookRequest)
@creation.response(200, OutlookAnswer)
def plan(*, accuracy: bool, **request: Any) -> PlanAssessment:
    """Estimate the questions, the cost and the accuracy of a plan; store nothing.

    The accuracy is the mean tau_w of 4 to 40 simulations. They use the paper's simulated voters, and items whose
    similarities fall exponentially; real voters and items may give better or worse results. Simulations take up to
    about 8 seconds. From an accuracy of 0.95, the answer leaves out advice to ask for more votes.
    """
    if accuracy:
        state().pool.pass_on()  # votes must not wait for simulations
    return assess_plan(**request, is_simulated=accuracy)


@blueprint.get("/<key>", name="readCampaign")
@blueprint.response(200, CampaignAnswer)
def read(campaign: ledger.Campaign) -> dict[str, Any]:
    """Return a campaign as it was created."""
    info = campaign.info
    return {
        "campaign": info.key,
        "name": info.name,
        "created_at": ledger.time_text(info.created_at),
        "voters": len(info.slots),
        "seed": str(info.seed),
        "plan": PlanColumns.of(info.plan),
        "settings": info.settings.to_dict(),
        "voter_url": voter_url(campaign),
    }


@items.get("/<key>/items", name="listItems")
@items.arguments(blueprints.PageQuery, location="query")
@items.doc(**UNLESS_CHANGED)
@items.response(200, ItemsAnswer)
def read_items(campaign: ledger.Campaign, offset: int, limit: int) -> Any:
    """Return the items with their answers in open ballots; sorted by answers, fewest first."""
    return blueprints.answer_if_changed(
        _item_rows,
        campaign.key,
        campaign.stamp(),
        lambda: [{**vars(progress), **vars(content)} for progress, content in campaign.items_shown()],
        lambda rows: {"n_items": len(rows), "items": rows[offset : offset + limit]},
        *(offset, limit),
    )


@items.get("/<key>/plan", name="readPlan")
@items.response(200, OutlookAnswer)
def read_plan(campaign: ledger.Campaign) -> Any:
    """Return the plan of the campaign, with its questions and its cost in total."""
    info = campaign.info
    seconds = None if info.settings.pay is None else info.settings.pay.seconds
    return assess_plan(info.plan, len(info.slots), info.settings, seconds=seconds)
