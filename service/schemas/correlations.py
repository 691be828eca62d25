"""Define requests and answers for comparing rankings."""

from typing import Any, Final

from marshmallow import post_dump, post_load

from rankcorr._coefficients import named_coefficient
from rankcorr.aggregate import MergedRanking
from rankcorr.aggregate._rankings import OFFSET_METHOD
from rankcorr.inference._gold_comparison import GoldComparison
from service.schemas.base import NOTICES, Answer, WeightOptions
from service.schemas.fields import (
    ABSENT_ITEMS,
    COEFFICIENT,
    MERGE_METHOD,
    Choice,
    Choices,
    Dumped,
    Number,
    NumbersByName,
    Part,
    Whole,
    dumped,
)
from service.schemas.inference import CHANCE, INFERENCE, INTERVAL, TEST, InferenceOptions
from service.schemas.ranking_fields import MatrixRankings, NamedRankings, RankingField
from service.schemas.shapes import (
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    WHOLE,
    WHOLE_OR_NULL,
    at_least,
    content_of,
    list_of,
    map_of,
    result_shapes,
)

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
    coefficients = Choices(COEFFICIENT, load_default=COEFFICIENT.words)
    worst = Whole(least=1, most=1_000, about="Number of items to list: those that cost the system most.")
    inference = Part(InferenceOptions, about="Ask for chance level, test and interval too.")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call, and the options of its test and interval."""
        data = super().gather(data)
        if (options := data.pop("inference", None)) is not None:
            data["test"] = {name: options[name] for name in ("n_resamples", "seed", "alternative")}
            data["interval"] = {name: options[name] for name in ("n_resamples", "seed", "level", "method")}
        return data


class Inference(Dumped):
    """Chance level, test and interval of each coefficient."""

    def _serialize(self, value: Any, attr: str | None, obj: GoldComparison, **kwargs: Any) -> Any:  # noqa: ARG002
        return {
            name: {
                "chance": content_of(test.null, CHANCE),
                **{figure: getattr(test, figure) for figure in TEST},
                "interval": content_of(obj.intervals[name], INTERVAL),
            }
            for name, test in obj.tests.items()
        }


class CorrelationAnswer(Answer):
    """Coefficients of two rankings; null where undefined."""

    n_items = Dumped(WHOLE)
    coefficients = Dumped(map_of(STATISTIC))
    ties = Dumped(at_least("Number of items that share their rank with another.", gold=WHOLE, system=WHOLE))
    n_missing = Dumped(WHOLE_OR_NULL, about="Items in one ranking only; null where they are an error.", required=False)
    worst = Dumped(WORST, required=False)
    inference = Inference(INFERENCE, required=False, attribute="tests")
    warnings = Dumped(NOTICES)

    @post_dump
    def omit_empty(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Leave out the parts that the request did not ask for."""
        return {name: value for name, value in data.items() if value or name not in ("worst", "inference")}


class BatchRequest(CoefficientRequest):
    """Many systems against one gold ranking."""

    gold = RankingField(required=True)
    systems = NamedRankings(required=True)
    coefficients = Choices(COEFFICIENT, load_default=COEFFICIENT.words)
    sort_by = Choice(COEFFICIENT, about="Coefficient to sort by; the first of them by default.")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Make the coefficients of the library call, with the one to sort by."""
        return {"sort_by": data["coefficients"][0], **super().gather(data)}


_ROW: Final = at_least(name=TEXT, n_items=WHOLE("Items compared."), coefficients=map_of(STATISTIC), ties=WHOLE)


class BatchAnswer(Answer):
    """A table of systems, best first; systems with an undefined coefficient are at the end."""

    n_items = Dumped(WHOLE)
    sort_by = Dumped(COEFFICIENT.reference)
    systems = Dumped(list_of(_ROW))
    warnings = Dumped(NOTICES)


class MatrixRequest(CoefficientRequest):
    """Rankings to compare with one another."""

    rankings = MatrixRankings(required=True)
    coefficient = Choice(COEFFICIENT, load_default="tau_w")


class MergeRequest(CoefficientRequest):
    """Rankings to merge into one."""

    refused = (
        *CoefficientRequest.refused,
        {"required": ["k"], "not": {"required": ["method"], "properties": {"method": {"const": OFFSET_METHOD}}}},
    )

    rankings = NamedRankings(required=True, of="rankings to merge")
    method = Choice(MERGE_METHOD, load_default=MERGE_METHOD.words[0])
    k = Number(least=0, about="Offset of reciprocal_rank_fusion, and of no other method; by default 60.")
    weights = NumbersByName(Number(least=0), about="Weight of each ranking; by default all are equal.")
    coefficient = Choice(
        COEFFICIENT,
        load_default="tau_w",
        about="Of each ranking with the result; consensus has the largest mean of it.",
    )
    missing = Choice(
        ABSENT_ITEMS,
        load_default=ABSENT_ITEMS.words[0],
        about="Items that a ranking lacks: an error; left out; for bottom tied below its items; for skip the ranking "
        "counts for its own items only.",
    )


class MergeAnswer(Answer):
    """One ranking from several, best first, and how far each of them agrees with it."""

    class Meta(Answer.Meta):  # noqa: D106
        include = dumped(MergedRanking, "method", "coefficient", "exact", "missing")

    ranking = Dumped(
        list_of(
            at_least(
                item={"type": ["string", "integer"], "description": "Without labels: the position, from 0."},
                rank=NUMBER,
                score=NUMBER("What ranks the items, except for kemeny and consensus."),
                optional=["score"],
            )
        )
    )
    agreements = Dumped(map_of(STATISTIC))
    objective = Dumped(result_shapes(MergedRanking, "objective")["objective"])
    weights = Dumped(map_of(NUMBER), about="Shares, whose sum is 1.")
    warnings = Dumped(NOTICES)


class MatrixAnswer(Answer):
    """In row i and column j: the coefficient with ranking i as gold and ranking j as the system's ranking."""

    n_items = Dumped(WHOLE)
    coefficient = Dumped(COEFFICIENT.reference)
    names = Dumped(list_of(TEXT))
    matrix = Dumped(list_of(list_of(STATISTIC)), attribute="statistic")
    n_compared = Dumped(
        list_of(
            list_of(WHOLE),
            about="Items that each two rankings were compared on; null where all have the same items.",
            type=["array", "null"],
        )
    )
    warnings = Dumped(NOTICES)
