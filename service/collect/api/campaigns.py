"""Serve /v1/campaigns: check the items and the plan of a new campaign, create it, and describe it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import request as asked

from adaptive.advice import Advice
from adaptive.ledger import ContinuousPlan, ItemSheet, Settings, planned_spending, time_text
from adaptive.model.matching import Matching
from adaptive.plan import BallotPlan
from adaptive.tuning.outlook import Outlook, outlook_of_ballots, outlook_of_matching
from service.collect.access import founder, organiser, own_origin
from service.collect.api.blueprints import CAMPAIGNS, OF_ADMINS, of_organisers
from service.collect.api.tokens import organiser_url
from service.collect.schemas.campaigns import (
    CampaignAnswer,
    CampaignMade,
    CampaignRequest,
    ItemSheetAnswer,
    ItemSheetRequest,
    OutlookAnswer,
    OutlookRequest,
    plan_columns,
)
from service.collect.state import ledger
from service.http.state import state
from service.openapi.blueprint import Blueprint, operation

making = Blueprint("making", __name__, url_prefix=CAMPAIGNS, description="Making campaigns", **OF_ADMINS)
making.before_request(founder)  # before the body is parsed: a table of items takes seconds

blueprint = of_organisers("campaigns", __name__, "A campaign as it is")

_SHOWN = 20
_OF_ACCURACY = frozenset({"few_top_presentations", "few_comparisons"})  # a simulation answers these better
_ACCURATE = 0.95
_TENTH_IS_TWO = 20  # with fewer items, 10 % is less than the two items that the last ballot needs


@making.route("", methods=["POST"])
@making.arguments(
    CampaignRequest,
    example={
        "name": "Fruit",
        "items_csv": "item\nfig\nplum\npear\nquince\n",
        "voters": 4,
        "plan": {"presentations": 4},
        "pages": {"texts": [{"language": "en", "title": "Fruit", "question": "Which is sweeter?"}], "open_link": True},
    },
)
@operation("makeCampaign")
@making.response(201, CampaignMade)
def make(request: dict[str, Any]) -> dict[str, str]:
    """Create a campaign; its organiser's token is in this answer and nowhere else."""
    campaign, token = ledger().create_campaign(**request)
    key = campaign.key
    return {"campaign": key, "token": token, "organiser_url": organiser_url(key, token)}


@making.route("/check", methods=["POST"])
@making.arguments(ItemSheetRequest, example={"items_csv": "item\nfig\nplum\nfig\n"})
@operation("checkItems")
@making.response(200, ItemSheetAnswer)
def check(sheet: ItemSheet) -> dict[str, Any]:
    """Check a table of items: return its content and all errors by line, and store nothing."""
    shown = zip(sheet.items[:_SHOWN], sheet.contents[:_SHOWN], strict=True)
    first = [{"item": item, **asdict(content)} for item, content in shown]
    return {"n_items": len(sheet.items), "first": first, "faults": sheet.faults}


@making.route("/plan", methods=["POST"])
@making.arguments(
    OutlookRequest, example={"n_items": 40, "voters": 20, "plan": {"presentations": 10, "seconds": 6}, "accuracy": True}
)
@operation("planCampaign")
@making.response(200, OutlookAnswer)
def plan(request: dict[str, Any]) -> dict[str, Any]:
    """Estimate the questions, the cost and the accuracy of a plan; store nothing.

    The accuracy is the mean tau_w of 4 to 40 simulations. They use the paper's simulated voters, and items whose
    similarities fall exponentially; real voters and items may give better or worse results. Simulations take up to
    about 8 seconds. From an accuracy of 0.95, the answer leaves out advice to ask for more votes.
    """
    return looked_at(**request)


@blueprint.route("/<key>", methods=["GET"])
@operation("readCampaign")
@blueprint.response(200, CampaignAnswer)
def read(key: str) -> dict[str, Any]:
    """Return a campaign as it was created."""
    info = organiser(key).info
    return {
        "campaign": info.key,
        "name": info.name,
        "created_at": time_text(info.created_at),
        "voters": len(info.slots),
        "seed": str(info.seed),
        "plan": plan_columns(info.plan),
        "settings": info.settings.to_dict(),
        "voter_url": f"{own_origin(asked)}/v/{info.key}",
    }


def looked_at(
    *, plan: BallotPlan | ContinuousPlan, settings: Settings, seconds: float | None, voters: int, accuracy: bool
) -> dict[str, Any]:
    """Return cost, advice and outlook of a plan."""
    if accuracy:
        state().lane.pass_on()  # votes must not wait for simulations
    outlook = outlook_of(plan, voters) if accuracy else None
    advice = advice_on(plan, voters, outlook) if isinstance(plan, BallotPlan) else []
    return {
        "plan": plan_columns(plan),
        "spending": planned_spending(plan, voters, settings, seconds=seconds),
        "advice": [asdict(each) for each in advice],
        "outlook": outlook,
    }


def advice_on(plan: BallotPlan, voters: int, outlook: Outlook | None) -> list[Advice]:
    """Return the advice that can be followed and that the simulated accuracy does not contradict."""
    needless = set(_OF_ACCURACY) if outlook is not None and expected_to_do(outlook) else set()
    if plan.n_items < _TENTH_IS_TWO:
        needless.add("many_survivors")
    return [each for each in plan.advice_for(voters) if each.code not in needless]


def expected_to_do(outlook: Outlook) -> bool:
    """Return whether a simulation reaches the accuracy that rules of thumb about the number of votes aim for."""
    reached = [each.mean for each in (outlook.scores, outlook.strengths) if each is not None]
    return bool(reached) and max(reached) >= _ACCURATE


def outlook_of(plan: BallotPlan | ContinuousPlan, voters: int) -> Outlook:
    """Return the expected accuracy of a plan."""
    if isinstance(plan, BallotPlan):
        return outlook_of_ballots(plan, voters)
    matching = Matching(batch=plan.batch, n0=plan.n0, focus=plan.focus)
    return outlook_of_matching(plan.n_items, plan.budget, voters, matching)
