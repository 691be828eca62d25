"""Serve POST /v1/leaderboards."""

from collections.abc import Mapping
from typing import Any

from rankcorr import Ranking
from rankcorr._checks import collected_notices
from rankcorr._coefficients import named_coefficient
from rankcorr.inference._leaderboard import leaderboard
from service.openapi.blueprint import Blueprint
from service.schemas.inference import LeaderboardAnswer, LeaderboardRequest

blueprint = Blueprint("leaderboards", __name__, url_prefix="/v1/leaderboards", description="Which system is better?")


@blueprint.post("", name="rankSystems")
@blueprint.arguments(LeaderboardRequest)
@blueprint.response(200, LeaderboardAnswer)
def rank_systems(
    systems: Mapping[str, Ranking],
    coefficient: Any,
    options: Mapping[str, Any],
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
    weighting = {
        name: options[name] for name in ("scheme", "tied_weights")
    }  # the answer repeats them even for rho and tau
    warnings = [{"message": text, "coefficients": [coefficient]} for text in notices]
    return result.to_dict() | weighting | {"warnings": warnings}
