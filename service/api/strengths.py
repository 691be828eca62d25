"""Serve POST /v1/strengths and /v1/comparisons/next."""

from typing import Any, cast

import numpy as np

from adaptive import Comparisons, Strengths, next_comparisons, read_choices
from adaptive import reliability as reliability_of
from adaptive.choices._fit import fit_answers
from adaptive.model._models import Model, fit_named
from rankcorr._checks import collected_notices
from service.api.ballots import Labels, labels_at
from service.openapi.blueprint import Blueprint
from service.schemas.base import notices_of, report_content
from service.schemas.choices import ChoicesAnswer, ChoicesRequest
from service.schemas.strengths import Answered, NextAnswer, NextRequest, StrengthsAnswer, StrengthsRequest

blueprint = Blueprint("strengths", __name__, url_prefix="/v1/strengths", description="From votes to strengths")
comparisons = Blueprint("comparisons", __name__, url_prefix="/v1/comparisons", description="Whom to compare next")


@blueprint.post("", name="fitStrengths")
@blueprint.arguments(StrengthsRequest)
@blueprint.response(200, StrengthsAnswer)
def strengths(
    *,
    comparisons: Answered,
    model: str,
    options: dict[str, Any],
    standard_errors: bool,
    reliability: bool,
    report: bool,
    items: Labels | None = None,
) -> dict[str, Any]:
    """Fit strengths to votes; return a ranking and its uncertainty."""
    strengths_fit, notices = fit_votes(comparisons, model, options, items)
    content = strengths_fit.to_dict(standard_errors=standard_errors)
    rows = content["items"]
    labels, ranks = [row["item"] for row in rows], [row["rank"] for row in rows]
    return {
        "n_comparisons": strengths_fit.comparisons.n_comparisons,
        "n_unanswered": strengths_fit.comparisons.n_unanswered,
        **content,
        "ranking": {"labels": labels, "ranks": ranks},
        "reliability": reliability_of(strengths_fit).to_dict() if reliability else None,
        "report": report_content(strengths_fit.report()) if report else None,
        "warnings": notices_of([*strengths_fit.warnings, *notices]),
    }


@blueprint.post("/choices", name="fitChoices")
@blueprint.arguments(ChoicesRequest)
@blueprint.response(200, ChoicesAnswer)
def choices(*, answers: list[dict[str, Any]], covariates: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Fit strengths to graded votes, best-worst answers, rankings, or pairs with prompts, covariates and judges."""
    return fit_answers(read_choices(answers, covariates=covariates), **options).content


@comparisons.post("/next", name="chooseComparisons")
@comparisons.arguments(NextRequest)
@comparisons.response(200, NextAnswer)
def choose(
    *,
    comparisons: Answered,
    model: str,
    options: dict[str, Any],
    size: int,
    seed: int,
    n0: float,
    focus: float,
    items: Labels | None = None,
    voters: Labels | None = None,
    prompts: Labels | None = None,
) -> dict[str, Any]:
    """Choose the comparisons that tell most about the top items, given all votes so far."""
    strengths_fit, notices = fit_votes(comparisons, model, options, items)
    rng = np.random.default_rng(seed)
    if prompts is None and comparisons.prompt:
        prompts = tuple(dict.fromkeys(comparisons.prompt))
    within: dict[str, Any] = {}
    if prompts is not None:
        within = {"prompts": prompts, "prompt_history": prompts_shown(comparisons)}
    matches = next_comparisons(strengths_fit, size, rng=rng, voters=voters, n0=n0, focus=focus, **within)
    columns = {
        "left": labels_at(matches.items, matches.left),
        "right": labels_at(matches.items, matches.right),
        "voter": labels_at(matches.voters, matches.voter),
    }
    if matches.prompts is not None and matches.prompt is not None:
        columns["prompt"] = labels_at(matches.prompts, matches.prompt)
    reasons = [f"{matches.n_comparisons} of {size} comparisons: {matches.reason}"] if matches.reason else []
    return {
        "n_comparisons": matches.n_comparisons,
        "comparisons": columns,
        "converged": strengths_fit.converged,
        "warnings": notices_of([*strengths_fit.warnings, *reasons, *notices]),
    }


def prompts_shown(comparisons: Answered) -> list[str | int]:
    """Return the prompt of each pair shown: those of answered comparisons, then the others."""
    rows = list(zip(comparisons.prompt or (), comparisons.winner, strict=False))
    return [prompt for is_open in (False, True) for prompt, winner in rows if (winner is None) == is_open]


def fit_votes(
    comparisons: Answered, model: str, options: dict[str, Any], items: Labels | None
) -> tuple[Strengths, list[str]]:
    """Fit strengths to votes; return notes on the votes as well."""
    with collected_notices() as notices:
        votes = Comparisons.from_labels(
            comparisons.left, comparisons.right, comparisons.winner, voter=comparisons.voter, items=items
        )
    return cast(Strengths, fit_named(votes, cast(Model, model), **options)), notices
