"""Serve POST /v1/correlations, /batch and /matrix, POST /v1/rankings/merged, and GET /v1/weights: what n0 means."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from marshmallow import post_load

from rankcorr import (
    Coefficient,
    CorrelationInterval,
    NullDistribution,
    PermutationTest,
    Ranking,
    correlation_interval,
    correlation_matrix,
)
from rankcorr._checks import ALTERNATIVES, collected_notices, default_of
from rankcorr._shares import RankShare, WeightTable, weight_table
from rankcorr.aggregate import MergedRanking
from rankcorr.aggregate._rankings import ABSENT, MERGE_METHODS, merge
from rankcorr.inference import _gold_comparison as gold_comparison
from rankcorr.inference._interval import METHODS
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED, Blueprint
from service.schemas import fields
from service.schemas.base import NoticedAnswer, Request, WeightOptions, notices_of
from service.schemas.fields import QueryNumber, QueryWhole
from service.schemas.item_fields import RankingField, named_rankings
from service.schemas.shapes import NUMBER, TEXT, WHOLE, Answer, Component, at_least, list_of, map_of, properties_of

WORST: Final = map_of(
    list_of(
        at_least(
            label={"type": ["string", "integer"], "description": "Without labels: the position, from 0."},
            gold_rank=NUMBER,
            system_rank=NUMBER,
            weight=NUMBER("All weights sum to 1."),
            contribution=NUMBER("All sum to the coefficient."),
            cost=NUMBER("All sum to 1 less the coefficient."),
        ),
        type=["array", "null"],
    ),
    about="By coefficient: the items that cost the system most, dearest first; null where it is undefined.",
)


INTERVAL_METHOD: Final = fields.vocabulary("IntervalMethod", METHODS, "Kind of interval.")
ALTERNATIVE: Final = fields.vocabulary("Alternative", ALTERNATIVES, "Of the p-value.")


class InferenceOptions(Request):
    """How a coefficient is compared with chance."""

    seed = fields.Seed()
    n_resamples = fields.resamples(default_of(correlation_interval, "n_resamples"))
    level = fields.level()
    method = fields.first_of(INTERVAL_METHOD)
    alternative = fields.first_of(ALTERNATIVE)


INFERENCE: Final = map_of(
    at_least(
        chance=at_least(
            "Values when one ranking is permuted at random.",
            **properties_of(NullDistribution, "mean", "std", "exact", "n_resamples", "n_undefined"),
        ),
        **properties_of(
            PermutationTest,
            *("standardized", "percentile", "zscore", "pvalue"),
            percentile={"minimum": 0, "maximum": 100},
            pvalue={"minimum": 0, "maximum": 1},
            alternative=ALTERNATIVE.reference,
        ),
        interval=at_least(
            **properties_of(
                CorrelationInterval,
                *("low", "high", "method", "standard_error", "n_resamples", "n_undefined", "jackknife_share"),
                jackknife_share={"minimum": 0, "maximum": 1},
                method=INTERVAL_METHOD.reference,
                jackknife_item={"type": ["string", "integer", "null"]},
            )
        ),
    ),
    about="By coefficient: how it compares with chance, and its interval.",
)


class CorrelationRequest(WeightOptions):
    """A system's ranking against a gold ranking."""

    gold = RankingField(required=True)
    system = RankingField(required=True)
    coefficients = fields.ChoiceList(fields.COEFFICIENT, load_default=fields.COEFFICIENT.words)
    worst = fields.Whole(least=1, most=1_000, about="Number of items to list: those that cost the system most.")
    inference = fields.Part(InferenceOptions, about="Ask for chance level, test and interval too.")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call, and the options of its test and interval."""
        data = super().gather(data)
        if (options := data.pop("inference", None)) is not None:
            data["test"] = {name: options[name] for name in ("n_resamples", "seed", "alternative")}
            data["interval"] = {name: options[name] for name in ("n_resamples", "seed", "level", "method")}
        return data


class CorrelationAnswer(
    NoticedAnswer,
    **properties_of(gold_comparison.GoldComparison, "n_items", "n_missing", ties=at_least(gold=WHOLE, system=WHOLE)),
    optional=["n_missing", "worst", "inference"],
):
    """Coefficients of two rankings; null where undefined."""

    coefficients = map_of(fields.STATISTIC)
    worst = WORST
    inference = INFERENCE.read_from("tests")


class BatchRequest(WeightOptions):
    """Many systems against one gold ranking."""

    gold = RankingField(required=True)
    systems = named_rankings(required=True)
    coefficients = fields.ChoiceList(fields.COEFFICIENT, load_default=fields.COEFFICIENT.words)
    sort_by = fields.Choice(fields.COEFFICIENT, about="Coefficient to sort by; the first of them by default.")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call, with the one to sort by."""
        sort_by = data.setdefault("sort_by", data["coefficients"][0])
        data["coefficients"] = dict.fromkeys((*data["coefficients"], sort_by))
        return dict(super().gather(data))


class BatchAnswer(NoticedAnswer, **properties_of(gold_comparison.GoldTable, "n_items")):
    """A table of systems, best first; systems with an undefined coefficient are at the end."""

    sort_by = fields.COEFFICIENT.reference
    systems = list_of(at_least(**properties_of(gold_comparison.SystemRow, coefficients=map_of(fields.STATISTIC))))


class MatrixRankings(fields.ByName):
    """Rankings by name, to compare with one another."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(RankingField(), "ranking", **kwargs)
        self.documented = {**self.documented, "maxProperties": fields.Limit("max_matrix_cells", math.isqrt)}

    def check_count(self, count: int) -> None:
        """Refuse more cells than the limit allows."""
        fields.check_limit("max_matrix_cells", count * count, of="cells of a matrix, rankings times rankings")


class MatrixRequest(WeightOptions):
    """Rankings to compare with one another."""

    rankings = MatrixRankings(required=True)
    coefficient = fields.Choice(fields.COEFFICIENT, load_default="tau_w")


class MatrixAnswer(NoticedAnswer):
    """In row i and column j: the coefficient with ranking i as gold and ranking j as the system's ranking."""

    n_items = WHOLE
    coefficient = fields.COEFFICIENT.reference
    names = list_of(TEXT)
    matrix = list_of(list_of(fields.STATISTIC)).read_from("statistic")
    n_compared = list_of(
        list_of(WHOLE),
        about="Items that each two rankings were compared on; null where all have the same items.",
        type=["array", "null"],
    )


blueprint = Blueprint("correlations", __name__, url_prefix="/v1/correlations", description="Compare rankings")

MOST_LIGHT_ITEMS = 2_000  # a worker's thread compares as many in 5 ms
MOST_LIGHT_BYTES = 1 << 17
MOST_LIGHT_VALUES = 4 * MOST_LIGHT_ITEMS + 100  # scores and labels of both rankings, and options


@blueprint.post("", name="correlate")
@blueprint.arguments(CorrelationRequest)
@blueprint.response(200, CorrelationAnswer)
def correlate(gold: Ranking, system: Ranking, coefficients: Sequence[Coefficient], **options: Any) -> Any:
    """Compare a system's ranking with a gold ranking."""
    if "test" in options or max(gold.n_items, system.n_items) > MOST_LIGHT_ITEMS:
        state().pool.pass_on()
    comparison = gold_comparison.compare_with_gold(gold, system, coefficients, workers=1, **options)
    tests = {
        name: {"chance": test.null, **vars(test), "interval": comparison.intervals[name]}
        for name, test in comparison.tests.items()
    }
    answer = {**vars(comparison), "tests": tests}
    return {name: value for name, value in answer.items() if value or name not in ("worst", "tests")}


@blueprint.post("/batch", name="correlateBatch")
@blueprint.arguments(BatchRequest)
@blueprint.response(200, BatchAnswer)
def correlate_batch(
    gold: Ranking, systems: Mapping[str, Ranking], coefficients: Sequence[Coefficient], **options: Any
) -> gold_comparison.GoldTable:
    """Compare many systems with one gold ranking."""
    return gold_comparison.rank_against_gold(gold, systems, coefficients, workers=1, **options)


@blueprint.post("/matrix", name="correlateMatrix")
@blueprint.arguments(MatrixRequest)
@blueprint.response(200, MatrixAnswer)
def correlate_matrix(rankings: Mapping[str, Ranking], coefficient: Coefficient, **options: Any) -> dict[str, Any]:
    """Compare many rankings with one another."""
    with collected_notices() as notices:
        result = correlation_matrix(rankings, coefficient=coefficient, workers=1, **options)
    return {**vars(result), "warnings": notices_of(notices, coefficient.name)}


class MergeRequest(WeightOptions):
    """Rankings to merge into one."""

    rankings = named_rankings(required=True, of="rankings to merge")
    method = fields.first_of(
        fields.vocabulary(
            "MergeMethod",
            MERGE_METHODS,
            "Mean Borda points, mean rank, sums of 1/(k + rank), fewest discordant pairs, or largest mean coefficient.",
        )
    )
    k = fields.Number(least=0, about="Offset of reciprocal_rank_fusion, and of no other method; by default 60.")
    weights = fields.ByName(fields.Number(least=0), "number", about="Weight of each ranking; by default all are equal.")
    coefficient = fields.Choice(
        fields.COEFFICIENT,
        load_default="tau_w",
        about="Of each ranking with the result; consensus has the largest mean of it.",
    )
    missing = fields.first_of(
        fields.vocabulary("AbsentItems", ABSENT, "What becomes of items that a ranking to merge lacks."),
        about="Items that a ranking lacks: an error; left out; for bottom tied below its items; for skip the ranking "
        "counts for its own items only.",
    )


class MergeAnswer(
    NoticedAnswer, **properties_of(MergedRanking, *("method", "coefficient", "exact", "missing", "objective"))
):
    """One ranking from several, best first, and how far each of them agrees with it."""

    ranking = list_of(
        at_least(
            item={"type": ["string", "integer"], "description": "Without labels: the position, from 0."},
            rank=NUMBER,
            score=NUMBER("What ranks the items, except for kemeny and consensus."),
            optional=["score"],
        )
    )
    agreements = map_of(fields.STATISTIC)
    weights = map_of(NUMBER, about="Shares, whose sum is 1.")


rankings = Blueprint("rankings", __name__, url_prefix="/v1/rankings", description="Merge rankings")


@rankings.post("/merged", name="mergeRankings")
@rankings.arguments(MergeRequest)
@rankings.response(200, MergeAnswer)
def merge_rankings(
    rankings: Mapping[str, Ranking], method: str, coefficient: Coefficient, **options: Any
) -> dict[str, Any]:
    """Merge rankings into one."""
    with collected_notices() as notices:
        merged = merge(rankings, method, coefficient=coefficient, **options)
    return {**vars(merged), "ranking": merged.table(), "warnings": notices_of(notices, coefficient.name)}


weights = Blueprint("weights", __name__, url_prefix="/v1/weights", description="What n0 means")


MAX_TOP = 1_000
MOST_LIGHT_TOP = 100  # the decimal arithmetic of a row takes 0.1 ms


class WeightsQuery(Request):
    """n0, or a share of the weight that determines n0."""

    n0 = QueryNumber(above=-1, most=1e300, about="2 by default; cannot be combined with share.")
    share = QueryNumber(above=0, about="Find the n0 for which the first k ranks have this share.")
    k = QueryWhole(least=1, most=MAX_TOP, about="Number of ranks that have the share together; 1 by default.")
    top = QueryWhole(least=1, most=MAX_TOP, about="Number of ranks to list; 10 by default.")
    n_items = QueryWhole(least=1, most=2**40, about="Length of the ranking; infinite by default.")


Component.of(RankShare)


class WeightsAnswer(Answer, **properties_of(WeightTable, "n0", "first_rank_share", "n_items", "ranks", has_nan=False)):
    """The share of the weight of each of the top ranks."""


@weights.get("", name="showWeights")
@weights.arguments(WeightsQuery, location="query")
@weights.doc(**UNLESS_CHANGED)
@weights.response(200, WeightsAnswer)
def show_weights(**query: Any) -> WeightTable:
    """Return the share of the weight on each of the top ranks, or find n0 from a share."""
    if query.get("top", 0) > MOST_LIGHT_TOP:
        state().pool.pass_on()
    return weight_table(**query)
