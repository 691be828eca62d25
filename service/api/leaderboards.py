"""Serve POST /v1/leaderboards, /v1/leaderboards/scores and /v1/leaderboards/rank-sets."""

import math
from collections.abc import Mapping
from typing import Any

from rankcorr import Ranking, rank_sets
from rankcorr._checks import collected_notices
from rankcorr._coefficients import named_coefficient
from rankcorr.evaluation import leaderboard_of_scores, needed_items
from rankcorr.inference._leaderboard import leaderboard
from service.openapi.blueprint import Blueprint
from service.schemas import inference as schemas
from service.schemas.base import notices_of, report_content, texts_of

blueprint = Blueprint("leaderboards", __name__, url_prefix="/v1/leaderboards", description="Which system is better?")


@blueprint.post("", name="rankSystems")
@blueprint.arguments(schemas.LeaderboardRequest)
@blueprint.response(200, schemas.LeaderboardAnswer)
def rank_systems(
    systems: Mapping[str, Ranking],
    coefficient: Any,
    options: Mapping[str, Any],
    report: bool,
    gold: Ranking | None = None,
    gold_sets: Mapping[str, Ranking] | None = None,
    **resampling: Any,
) -> dict[str, Any]:
    """Rank systems on one or several gold sets, with intervals and corrected tests."""
    golds: Any = gold_sets if gold is None else gold
    with collected_notices() as notices:
        result = leaderboard(
            golds,
            systems,
            workers=1,
            **resampling,
            coefficient=named_coefficient(coefficient, **options),
            missing=options["missing"],
        )
    content = report_content(result.report()) if report else None
    return {**result.to_dict(), "report": content, "warnings": notices_of(notices, coefficient)}


@blueprint.post("/scores", name="rankByScores")
@blueprint.arguments(schemas.ScoreLeaderboardRequest)
@blueprint.response(200, schemas.ScoreLeaderboardAnswer)
def rank_by_scores(
    scores: Mapping[str, Mapping[str, Any]], report: bool, difference: float | None = None, **options: Any
) -> dict[str, Any]:
    """Rank systems by a table of their scores on tasks, with intervals and tests over tasks."""
    with collected_notices() as notices:
        result = leaderboard_of_scores(scores, workers=1, **options)
        if difference is None or math.isnan(result.detectable):
            needed = None
        else:
            needed = needed_items(result, difference, level=result.level)
    content = report_content(result.report()) if report else None
    return {**result.to_dict(), "needed": needed, "report": content, "warnings": texts_of(notices)}


@blueprint.post("/rank-sets", name="rankSets")
@blueprint.arguments(schemas.RankSetsRequest)
@blueprint.response(200, schemas.RankSetsAnswer)
def find_rank_sets(estimates: Mapping[str, float], **options: Any) -> dict[str, Any]:
    """Find the ranks that estimates may have, from their standard errors or covariance."""
    sets = rank_sets(estimates, **options)
    return {**vars(sets), "rows": sets.table()}
