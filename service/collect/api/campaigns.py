"""Serve /v1/campaigns: check the items and the plan of a new campaign, create it, describe it, and change its pages."""

from dataclasses import asdict
from typing import Any

from adaptive._tuning.assessment import PlanAssessment, PlanColumns, assess_plan
from adaptive.ledger import Campaign, ItemSheet, VotingPages, time_text
from service.collect.access import admit_founder, public_origin
from service.collect.api import blueprints
from service.collect.api.links import organiser_url
from service.collect.content import store_image
from service.collect.schemas import campaigns as schemas
from service.collect.schemas import running_campaigns
from service.collect.state import collecting
from service.environment import variable
from service.http import logs
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED, Blueprint

creation = Blueprint(
    "making", __name__, url_prefix=blueprints.CAMPAIGNS, description="Making campaigns", **blueprints.FOR_FOUNDERS
)
creation.before_request(admit_founder)  # before the body is parsed: a table of items takes seconds

blueprint = blueprints.organiser_blueprint("campaigns", __name__, "A campaign as it is")
items = blueprints.organiser_blueprint("items", __name__, "Items and plan")
voting_pages = blueprints.organiser_blueprint("pages", __name__, "What voters read")

_item_rows = blueprints.ValueCache(2)  # rows of 200,000 items take 80 MB

_FIRST_ITEMS = 20


@creation.post("", name="makeCampaign")
@creation.arguments(schemas.CampaignRequest)
@creation.response(201, schemas.CampaignMade)
def make(**request: Any) -> dict[str, str]:
    """Create a campaign; its organiser's token is in this answer and nowhere else."""
    campaign, token = collecting().ledger.get().create_campaign(**request)
    return {"campaign": campaign.key, "token": token, "organiser_url": organiser_url(campaign, token)}


@creation.post("/check", name="checkItems")
@creation.arguments(schemas.ItemSheetRequest, as_kwargs=False)
@creation.response(200, schemas.ItemSheetAnswer)
def check(sheet: ItemSheet) -> dict[str, Any]:
    """Check a table of items: return its content and all errors by line, and store nothing."""
    rows = zip(sheet.items[:_FIRST_ITEMS], sheet.contents[:_FIRST_ITEMS], strict=True)
    first = [{"item": item, **asdict(content)} for item, content in rows]
    return {"n_items": len(sheet.items), "first": first, "faults": sheet.faults}


@creation.post("/images", name="uploadImage")
@creation.arguments(schemas.ImageRequest, as_kwargs=False)
@creation.response(201, schemas.ImageAnswer)
def upload(request: tuple[bytes, str]) -> dict[str, str]:
    """Store an image for an item; the same image has the same name, however often it is sent."""
    (image, name), folder = request, collecting().settings.assets
    if not folder:
        raise Problem(403, f"this server stores no images, because {variable('assets')} is empty")
    try:
        store_image(folder, name, image)
    except OSError as error:
        logs.log.error("an image cannot be stored in %s: %s", folder, error)
        raise Problem(503, f"the image cannot be stored in {variable('assets')}; ask the administrator") from error
    return {"content": name}


@creation.post("/plan", name="planCampaign")
@creation.arguments(schemas.OutlookRequest)
@creation.response(200, schemas.OutlookAnswer)
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
@blueprint.response(200, schemas.CampaignAnswer)
def read(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign as it was created."""
    info = campaign.info
    return {
        "campaign": info.key,
        "name": info.name,
        "created_at": time_text(info.created_at),
        "voters": len(info.slots),
        "seed": str(info.seed),
        "plan": PlanColumns.of(info.plan),
        "settings": info.settings.to_dict(),
        "voter_url": f"{public_origin()}/v/{info.key}",
    }


@items.get("/<key>/items", name="listItems")
@items.arguments(running_campaigns.PageQuery, location="query")
@items.doc(**UNLESS_CHANGED)
@items.response(200, running_campaigns.ItemsAnswer)
def read_items(campaign: Campaign, offset: int, limit: int) -> Any:
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
@items.response(200, schemas.OutlookAnswer)
def read_plan(campaign: Campaign) -> Any:
    """Return the plan of the campaign, with its questions and its cost in total."""
    info = campaign.info
    seconds = None if info.settings.pay is None else info.settings.pay.seconds
    return assess_plan(info.plan, len(info.slots), info.settings, seconds=seconds)


@voting_pages.get("/<key>/pages", name="readPages")
@voting_pages.response(200, schemas.PagesAnswer)
def read_pages(campaign: Campaign) -> Any:
    """Return the current pages; a change must send their ETag."""
    version, pages = campaign.pages()
    return _pages_answer(version, pages)


@voting_pages.put("/<key>/pages", name="changePages")
@voting_pages.arguments(schemas.PagesRequest, as_kwargs=False)
@voting_pages.doc(**blueprints.CONDITIONAL)
@voting_pages.response(200, schemas.PagesAnswer)
def change_pages(pages: VotingPages, campaign: Campaign) -> Any:
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


def _pages_answer(version: int, pages: VotingPages) -> dict[str, Any]:
    blueprints.set_etag(_pages_stamp(version))
    return {"version": version, "pages": pages.to_dict()}
