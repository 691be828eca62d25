"""Serve POST /v1/leaderboards, /v1/leaderboards/scores and /v1/leaderboards/rank-sets."""

import math
from collections.abc import Mapping
from typing import Any, Final, get_args

from marshmallow import ValidationError, validates_schema

from rankcorr import Coefficient, Leaderboard, Ranking, RankSet, RankSets, rank_sets
from rankcorr._checks import collected_notices, default_of
from rankcorr.evaluation import NeededItems, ScoreLeaderboard, leaderboard_of_scores, needed_items
from rankcorr.evaluation._comparison.results import Verdict
from rankcorr.evaluation._scores.leaderboard import AGGREGATES, MISSING_SCORES
from rankcorr.inference._exchange import SWAPS
from rankcorr.inference._leaderboard import LeaderboardRow, Score, leaderboard
from service.http.problems import Name, shown
from service.openapi.document import Blueprint
from service.schemas import base, fields, shapes
from service.schemas.base import notices_of, report_content, texts_of
from service.schemas.item_fields import RankingField, named_rankings

SCORE: Final = shapes.Component.of(Score, "LeaderboardScore")


def names(about: str) -> fields.ListOf:
    """Make the field of some names of systems or tasks."""
    return fields.ListOf(fields.Text(least=0), "names", is_unique=False, load_default=(), about=about)


class LeaderboardRequest(base.WeightOptions):
    """Systems to rank against one gold ranking, or against several gold sets."""

    gold = RankingField(about="One gold ranking; or gold_sets.")
    gold_sets = named_rankings(of="gold sets", about="By name; or gold.")
    systems = named_rankings(required=True)
    coefficient = fields.Choice(fields.SYSTEM_COEFFICIENT, load_default="tau_w")
    by = fields.Text(load_default="sum", about="What ranks the systems: sum, mean, or the name of a gold set.")
    standardized = fields.Flag(load_default=False, about="Standardize coefficients: chance gives 0 in each gold set.")
    swap = fields.first_of(
        fields.vocabulary("Swap", SWAPS, "What systems exchange in tests."),
        about="Scores must be given, and mean the same in all systems; tests are then exact. auto takes scores if all "
        "systems have them and their distributions may be one, else ranks; the answer says which.",
    )
    clusters = fields.ByName(
        fields.Text(least=0),
        "cluster",
        about="By item: items of a cluster are not independent, and tests exchange them together; intervals do not.",
    )
    unranked = names(about="Systems without rank or test, such as late submissions.")
    level = fields.level()
    n_resamples = fields.resamples(default_of(leaderboard, "n_resamples"))
    seed = fields.Seed()
    missing = fields.first_of(
        fields.MISSING_ITEMS,
        about="Items of a gold set that a system lacks: an error, left out of that gold set, or, for bottom and gold,"
        " tied below the others. Items of a system that are in no gold set: an error too, or left out and "
        "counted, or, for bottom, tied below the others in each gold set and each system that lacks them.",
    )
    report = base.report_flag()

    @validates_schema(skip_on_field_errors=True)
    def check_gold(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither of gold and gold_sets, or above a limit."""
        base.check_one(data, "gold", "gold_sets")
        sets, n_systems = data.get("gold_sets", {}), len(data["systems"])
        fields.check_limit("max_matrix_cells", len(sets) * n_systems, of="gold sets times systems", field="gold_sets")
        fields.check_label_bytes("gold_sets", list(sets), n_systems)
        n_values, of = max(1, len(sets)) * n_systems * data["n_resamples"], "gold sets times systems times resamples"
        fields.check_limit("max_resampled_values", n_values, of=f"values, {of}", field="n_resamples")


shapes.Component.of(LeaderboardRow, optional=["n_unused"], scores=shapes.map_of(SCORE.reference, about="By gold set."))


class LeaderboardAnswer(
    base.NoticedAnswer,
    base.ReportedAnswer,
    **shapes.properties_of(
        Leaderboard,
        *("by", "standardized", "exact", "unit", "gold_sets", "level", "n_resamples", "rows"),
        has_nan=False,
    ),
):
    """Systems from best to worst, with the tests of each against the best."""

    coefficient = fields.SYSTEM_COEFFICIENT.reference
    swap = fields.vocabulary("Exchanged", ("scores", "ranks", "standardized scores"), "By systems, in tests.").reference


_NAME: Final = {"pattern": r"\S"}
_SCORE: Final = shapes.NUMBER(minimum=-1e150, maximum=1e150)
_CELL: Final = shapes.one_of(_SCORE, {"type": "null"}, shapes.list_of(_SCORE, minItems=1))


class ScoresByTask(fields.Documented):
    """Scores of systems on tasks."""

    documented: Mapping[str, Any] = shapes.map_of(
        shapes.map_of(_CELL, minProperties=1, propertyNames=_NAME),
        about="By system and task: a score, or the scores of several seeds or queries. null: a missing score.",
        minProperties=2,
        propertyNames=_NAME,
        maxProperties=fields.Limit("max_systems"),
    )

    def read(self, value: Any) -> dict[str, dict[str, Any]]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or len(value) < 2:
            raise ValidationError(f"must be an object of system to an object of scores; got {shown(value)}")
        fields.check_limit("max_systems", len(value), of="systems of a batch")
        n_cells = 0
        for system, scores in value.items():
            if not isinstance(scores, dict) or not scores:
                raise ValidationError({Name(system): [f"must be an object of task to score; got {shown(scores)}"]})
            for task, cell in scores.items():
                entries = cell if isinstance(cell, list) else [cell]
                n_cells += len(entries)
                allowed = fields.NUMBER_TYPES if isinstance(cell, list) else fields.NUMBER_TYPES | {type(None)}
                if not entries or fields.place_of_other(entries, allowed) is not None:
                    message = f"a score is a number, null, or a list of numbers; got {shown(cell)}"
                    raise fields.placed([message], Name(system), Name(task))
        fields.check_limit("max_matrix_cells", n_cells, of="scores")
        return value


class ScoreLeaderboardRequest(base.Request):
    """A table of scores whose systems are to be ranked."""

    scores = ScoresByTask(required=True)
    aggregate = fields.first_of(
        fields.vocabulary("Aggregate", AGGREGATES, "What ranks systems: mean score, Borda points or mean rank.")
    )
    groups = fields.ByName(
        fields.Text(least=0), "group", about="By task: its group. Systems are then ranked by the mean over groups."
    )
    lower_is_better = names(about="Tasks on which smaller scores are better.")
    missing = fields.first_of(
        fields.vocabulary("MissingScores", MISSING_SCORES, "An error, leave out the task, or its worst score.")
    )
    equivalent_within = fields.Number(
        above=0, about="A margin in the unit of the means: each pair of systems then has a verdict."
    )
    difference = fields.Number(
        above=0, about="A true difference of the means: the answer says how many tasks a test needs to find it."
    )
    report = base.report_flag()
    level = fields.level()
    n_resamples = fields.resamples(default_of(leaderboard_of_scores, "n_resamples"))
    seed = fields.Seed()

    @validates_schema(skip_on_field_errors=True)
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request above a limit."""
        n_values, of = len(data["scores"]) * data["n_resamples"], "systems times resamples"
        fields.check_limit("max_resampled_values", n_values, of=f"values, {of}", field="n_resamples")


class RankSetsRequest(base.Request):
    """Estimates with their errors, whose ranks are to be found."""

    estimates = fields.ByName(
        fields.Number(), "number", required=True, least=2, of="estimates", about="Larger is better."
    )
    standard_errors = fields.ByName(
        fields.Number(least=0), "number", about="Of independent estimates, by name; or covariance."
    )
    covariance = fields.NumberMatrix(about="Of the estimates, in their order; or standard_errors.")
    level = fields.level()
    n_resamples = fields.resamples(default_of(rank_sets, "n_resamples"))
    seed = fields.Seed()

    @validates_schema(skip_on_field_errors=True)
    def check_errors(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither of standard_errors and covariance, or above a limit."""
        base.check_one(data, "standard_errors", "covariance")
        n_pairs = len(data["estimates"]) ** 2
        fields.check_limit("max_matrix_cells", n_pairs, of="pairs, estimates times estimates", field="estimates")


shapes.Component.of(RankSet, name=shapes.TEXT)


class RankSetsAnswer(shapes.Answer, **shapes.properties_of(RankSets, "level", "n_resamples", "rows", has_nan=False)):
    """The ranks that estimates may have, the largest estimate first."""


VERDICT: Final = fields.vocabulary("Verdict", get_args(Verdict), "On one system compared with another.")


class ScoreLeaderboardAnswer(
    base.WarnedAnswer,
    base.ReportedAnswer,
    **shapes.properties_of(
        ScoreLeaderboard,
        *("coefficient", "aggregate", "exact", "unit", "gold_sets", "tasks", "left_out", "lower_is_better"),
        *("level", "n_resamples", "rows"),
        has_nan=False,
        detectable={"type": ["number", "null"]},
        gold_sets={"description": "Groups of tasks."},
        coefficient={"description": "Mean score, Borda score or mean rank."},
    ),
):
    """Systems of a table of scores, from best to worst."""

    verdicts = shapes.list_of(shapes.list_of(VERDICT.reference)).or_null(
        "On the system of a row compared with that of a column."
    )
    needed = shapes.at_least(**shapes.properties_of(NeededItems)).or_null(
        "Number of tasks that finds the difference; null without one, or if the tasks are too few to tell."
    )


blueprint = Blueprint("leaderboards", __name__, url_prefix="/v1/leaderboards", description="Which system is better?")


@blueprint.post("", name="rankSystems")
@blueprint.arguments(LeaderboardRequest)
@blueprint.response(200, LeaderboardAnswer)
def rank_systems(
    systems: Mapping[str, Ranking],
    coefficient: Coefficient,
    report: bool,
    gold: Ranking | None = None,
    gold_sets: Mapping[str, Ranking] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Rank systems on one or several gold sets, with intervals and corrected tests."""
    golds: Any = gold_sets if gold is None else gold
    with collected_notices() as notices:
        result = leaderboard(golds, systems, coefficient=coefficient, workers=1, **options)
    content = report_content(result.report()) if report else None
    return {**result.to_dict(), "report": content, "warnings": notices_of(notices, coefficient.name)}


@blueprint.post("/scores", name="rankByScores")
@blueprint.arguments(ScoreLeaderboardRequest)
@blueprint.response(200, ScoreLeaderboardAnswer)
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
@blueprint.arguments(RankSetsRequest)
@blueprint.response(200, RankSetsAnswer)
def find_rank_sets(estimates: Mapping[str, float], **options: Any) -> RankSets:
    """Find the ranks that estimates may have, from their standard errors or covariance."""
    return rank_sets(estimates, **options)
