"""Serve POST /v1/evaluations/groups: models of word similarity, scored on target groups."""

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, validates_schema

from rankcorr import RankingError
from rankcorr._checks import collected_notices, default_of
from rankcorr.inference._multiple_tests import holm
from rankcorr.vectors import (
    ReliabilityDifference,
    ReliabilityPart,
    ReliabilityScore,
    TargetGroups,
    compare_reliability,
    reliability_score,
)
from rankcorr.vectors._target_groups import CATEGORIES
from service.api.evaluations import blueprint
from service.http.problems import Name, shown
from service.schemas import fields, shapes
from service.schemas.base import Request, WarnedAnswer, texts_of

__all__ = ["blueprint"]

_WORD: Final = shapes.TEXT(minLength=1)
CANDIDATE: Final = fields.vocabulary("CandidateCategory", CATEGORIES, "How a candidate relates to its target.")
TARGET_GROUP: Final = shapes.Component(
    "TargetGroup",
    shapes.exactly(
        "A target word with its candidates, and the answers of annotators on pairs of positive ones.",
        target=_WORD,
        candidates=shapes.map_of(CANDIDATE.reference, minProperties=2, propertyNames=_WORD),
        comparisons=shapes.list_of(
            shapes.exactly(
                first=_WORD,
                second=_WORD,
                share=shapes.NUMBER("Share of the answers that rank the first above the second.", minimum=0, maximum=1),
                n_answers=shapes.WHOLE(type=["integer", "null"], minimum=1),
                optional=["n_answers"],
            )
        ),
    ),
)


class TargetGroupList(fields.Documented):
    """Target groups, as the library writes them."""

    documented: Mapping[str, Any] = shapes.list_of(TARGET_GROUP.reference, minItems=1)

    def read(self, value: Any) -> TargetGroups:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list):
            raise ValidationError(f"must be a list of target groups; got {shown(value)}")
        try:
            groups = TargetGroups.from_dict({"groups": value})
        except RankingError as error:
            raise ValidationError(str(error)) from error
        n_triplets = len(groups.shares) + sum(
            len(groups.candidates(target, "positive")) * (len(group) - len(groups.candidates(target, "positive")))
            for target, group in groups.categories.items()
        )
        fields.check_limit("max_query_documents", n_triplets, of="comparisons of candidates")
        return groups


class SimilaritiesByTarget(fields.Documented):
    """Similarities of one model: of a target and its candidates."""

    documented: Mapping[str, Any] = shapes.map_of(
        shapes.map_of(shapes.NUMBER, minProperties=1, propertyNames=_WORD),
        about="By target, the similarity of each candidate.",
        minProperties=1,
        propertyNames=_WORD,
    )

    def read(self, value: Any) -> dict[tuple[str, str], float]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of target to similarities; got {shown(value)}")
        for target, row in value.items():
            if not isinstance(row, dict):
                message = f"must be an object of candidate to similarity; got {shown(row)}"
                raise ValidationError({Name(target): [message]})
            fields.check_numbers(row, Name(target))
        return {(target, word): similarity for target, row in value.items() for word, similarity in row.items()}


class TargetGroupsRequest(Request):
    """Models of word similarity to score on target groups."""

    groups = TargetGroupList(required=True)
    models = fields.ByName(
        SimilaritiesByTarget(), "similarities", of="models", is_named=True, required=True, about="By name of the model."
    )
    versus = fields.Text(about="Name of the model that others are compared with; the first by default.")
    oov = fields.Choice(fields.UNKNOWN_WORDS, load_default=fields.UNKNOWN_WORDS.words[0])
    level = fields.level()
    n_resamples = fields.resamples(default_of(compare_reliability, "n_resamples"))
    seed = fields.Seed()

    @validates_schema(skip_on_field_errors=True)
    def check_versus(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a name that no model has."""
        if "versus" in data and data["versus"] not in data["models"]:
            raise ValidationError("there is no model of this name", "versus")


shapes.use_shape(ReliabilityPart)
RELIABILITY: Final = shapes.Component.at_least(
    "ReliabilityScore", model=shapes.TEXT, **shapes.properties_of(ReliabilityScore)
)
RELIABILITY_DIFFERENCE: Final = shapes.Component.at_least(
    "ReliabilityDifference",
    model=shapes.TEXT,
    versus=shapes.TEXT,
    **shapes.properties_of(ReliabilityDifference),
    corrected_pvalue=shapes.NUMBER_OR_NULL("By Holm's method over all comparisons."),
)


class TargetGroupsAnswer(WarnedAnswer):
    """Reliability scores of models on target groups, and tests of their differences."""

    n_targets = shapes.WHOLE
    n_triplets = shapes.WHOLE
    scores = shapes.list_of(RELIABILITY.reference)
    comparisons = shapes.list_of(RELIABILITY_DIFFERENCE.reference)


@blueprint.post("/groups", name="scoreTargetGroups")
@blueprint.arguments(TargetGroupsRequest)
@blueprint.response(200, TargetGroupsAnswer)
def score_target_groups(
    groups: TargetGroups,
    models: Mapping[str, Mapping[tuple[str, str], float]],
    versus: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score models of word similarity on target groups, and compare them."""
    baseline = next(iter(models)) if versus is None else versus
    with collected_notices() as notices:
        scores = {name: reliability_score(groups, model, **options) for name, model in models.items()}
        differences = {
            name: compare_reliability(groups, model, models[baseline], **options)
            for name, model in models.items()
            if name != baseline
        }
    corrected = holm([difference.pvalue for difference in differences.values()])
    return {
        "n_targets": len(groups.categories),
        "n_triplets": len(groups.triplets),
        "scores": [{"model": name, **vars(score)} for name, score in scores.items()],
        "comparisons": [
            {"model": name, "versus": baseline, **vars(difference), "corrected_pvalue": pvalue}
            for (name, difference), pvalue in zip(differences.items(), corrected.tolist(), strict=True)
        ],
        "warnings": texts_of(notices),
    }
