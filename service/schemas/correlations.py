"""Define requests and answers for comparing rankings."""

from typing import Any, Final

from marshmallow import post_load

from rankcorr._coefficients import named_coefficient
from rankcorr.aggregate import MergedRanking
from rankcorr.aggregate._rankings import OFFSET_METHOD
from rankcorr.inference._gold_comparison import GoldComparison, GoldTable, SystemRow
from service.schemas import fields
from service.schemas.base import NoticedAnswer, WeightOptions
from service.schemas.inference import INFERENCE, InferenceOptions
from service.schemas.ranking_fields import MatrixRankings, NamedRankings, RankingField
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, TEXT, WHOLE, at_least, list_of, map_of, properties_of

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
STATISTIC: Final = NUMBER_OR_NULL(minimum=-1, maximum=1)


class CoefficientRequest(WeightOptions):
    """Rankings to compare by one coefficient or several."""

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call."""
        data = super().gather(data)
        options = data.pop("options")
        if "coefficient" in data:
            data["coefficient"] = named_coefficient(data["coefficient"], **options)
        else:
            names = dict.fromkeys((*data["coefficients"], *([data["sort_by"]] if "sort_by" in data else [])))
            data["coefficients"] = [named_coefficient(name, **options) for name in names]
        return data | {"missing": options["missing"]}


class CorrelationRequest(CoefficientRequest):
    """A system's ranking against a gold ranking."""

    gold = RankingField(required=True)
    system = RankingField(required=True)
    coefficients = fields.Choices(fields.COEFFICIENT, load_default=fields.COEFFICIENT.words)
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
    NoticedAnswer, **properties_of(GoldComparison, "n_items", "n_missing"), optional=["n_missing", "worst", "inference"]
):
    """Coefficients of two rankings; null where undefined."""

    coefficients = map_of(STATISTIC)
    ties = at_least("Number of items that share their rank with another.", gold=WHOLE, system=WHOLE)
    worst = WORST
    inference = INFERENCE.read_from("tests")


class BatchRequest(CoefficientRequest):
    """Many systems against one gold ranking."""

    gold = RankingField(required=True)
    systems = NamedRankings(required=True)
    coefficients = fields.Choices(fields.COEFFICIENT, load_default=fields.COEFFICIENT.words)
    sort_by = fields.Choice(fields.COEFFICIENT, about="Coefficient to sort by; the first of them by default.")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call, with the one to sort by."""
        return {"sort_by": data["coefficients"][0], **super().gather(data)}


class BatchAnswer(NoticedAnswer, **properties_of(GoldTable, "n_items")):
    """A table of systems, best first; systems with an undefined coefficient are at the end."""

    sort_by = fields.COEFFICIENT.reference
    systems = list_of(at_least(**properties_of(SystemRow, coefficients=map_of(STATISTIC))))


class MatrixRequest(CoefficientRequest):
    """Rankings to compare with one another."""

    rankings = MatrixRankings(required=True)
    coefficient = fields.Choice(fields.COEFFICIENT, load_default="tau_w")


class MergeRequest(CoefficientRequest):
    """Rankings to merge into one."""

    refused = (
        *CoefficientRequest.refused,
        {"required": ["k"], "not": {"required": ["method"], "properties": {"method": {"const": OFFSET_METHOD}}}},
    )

    rankings = NamedRankings(required=True, of="rankings to merge")
    method = fields.Choice(fields.MERGE_METHOD, load_default=fields.MERGE_METHOD.words[0])
    k = fields.Number(least=0, about="Offset of reciprocal_rank_fusion, and of no other method; by default 60.")
    weights = fields.NumbersByName(fields.Number(least=0), about="Weight of each ranking; by default all are equal.")
    coefficient = fields.Choice(
        fields.COEFFICIENT,
        load_default="tau_w",
        about="Of each ranking with the result; consensus has the largest mean of it.",
    )
    missing = fields.Choice(
        fields.ABSENT_ITEMS,
        load_default=fields.ABSENT_ITEMS.words[0],
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
    agreements = map_of(STATISTIC)
    weights = map_of(NUMBER, about="Shares, whose sum is 1.")


class MatrixAnswer(NoticedAnswer):
    """In row i and column j: the coefficient with ranking i as gold and ranking j as the system's ranking."""

    n_items = WHOLE
    coefficient = fields.COEFFICIENT.reference
    names = list_of(TEXT)
    matrix = list_of(list_of(STATISTIC)).read_from("statistic")
    n_compared = list_of(
        list_of(WHOLE),
        about="Items that each two rankings were compared on; null where all have the same items.",
        type=["array", "null"],
    )
