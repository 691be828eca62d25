"""Define requests and answers for chance levels, tests, intervals and leaderboards."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, post_load, validates_schema
from marshmallow.fields import List, Nested

from service.schemas.base import Answer, Notice, Request, WeightOptions
from service.schemas.fields import (
    ALTERNATIVE,
    COEFFICIENT,
    INTERVAL_METHOD,
    MISSING_ITEMS,
    NOTHING,
    SWAP,
    Choice,
    Component,
    Count,
    Dumped,
    Flag,
    Number,
    Seed,
    Text,
    check_label_bytes,
    check_limit,
)
from service.schemas.ranking_fields import NamedRankings, RankingField, scores_in
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, TEXT, TRUTH, WHOLE, list_of, object_of

UNDEFINED: Final[dict[str, Any]] = NUMBER_OR_NULL


def level() -> Number:
    """Return a field for a confidence level."""
    return Number(least=1e-6, most=1 - 1e-6, load_default=0.95, about="Level of confidence of the intervals.")


class InferenceOptions(Request):
    """How a coefficient is compared with chance."""

    seed = Seed(about="The same seed, the same answer.")
    n_resamples = Count(limit="max_resamples", of="resamples", load_default=2_000)
    level = level()
    method = Choice(INTERVAL_METHOD, load_default=INTERVAL_METHOD.words[0])
    alternative = Choice(ALTERNATIVE, load_default=ALTERNATIVE.words[0])


INFERENCE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "By coefficient: how it compares with chance, and its interval.",
    "additionalProperties": object_of(
        {
            "chance": object_of(
                {"mean": UNDEFINED, "std": UNDEFINED, "exact": TRUTH, "n_resamples": WHOLE, "n_undefined": WHOLE},
                about="Values when one ranking is permuted at random.",
                closed=False,
            ),
            "standardized": {
                **UNDEFINED,
                "description": (
                    "Mapped so that chance gives 0, and -1 and 1 stay; null where n0 is so near -1 that different "
                    "coefficients would have the same value."
                ),
            },
            "percentile": {
                **UNDEFINED,
                "minimum": 0,
                "maximum": 100,
                "description": "Per cent of the values of chance below the coefficient, equal ones counted half.",
            },
            "zscore": {**UNDEFINED, "description": "Standard deviations of chance above the mean of chance."},
            "pvalue": {**UNDEFINED, "minimum": 0, "maximum": 1},
            "interval": object_of(
                {
                    "low": UNDEFINED,
                    "high": UNDEFINED,
                    "method": INTERVAL_METHOD.reference,
                    "standard_error": UNDEFINED,
                    "n_resamples": WHOLE,
                    "n_undefined": WHOLE,
                },
                closed=False,
            ),
        },
        closed=False,
    ),
}

_SCORE: Final[dict[str, Any]] = object_of(
    {
        "statistic": UNDEFINED,
        "low": UNDEFINED,
        "high": UNDEFINED,
        "n_items": WHOLE,
        "n_missing": WHOLE,
        "n_undefined": WHOLE,
    },
    closed=False,
)
SCORE: Final = Component("LeaderboardScore", _SCORE)


class LeaderboardRequest(WeightOptions):
    """Systems to rank against one gold ranking, or against several gold sets."""

    refused = (
        *WeightOptions.refused,
        {"required": ["gold", "gold_sets"]},
        {"properties": {"gold": NOTHING, "gold_sets": NOTHING}},
    )

    gold = RankingField(about="One gold ranking; or gold_sets.")
    gold_sets = NamedRankings(limit="max_systems", of="gold sets", about="By name; or gold.")
    systems = NamedRankings(required=True)
    coefficient = Choice(COEFFICIENT, load_default="tau_w")
    by = Text(load_default="sum", about="What ranks the systems: sum, mean, or the name of a gold set.")
    standardized = Flag(load_default=False, about="Standardize coefficients: chance gives 0 in each gold set.")
    swap = Choice(
        SWAP,
        load_default=SWAP.words[0],
        about="Scores must be given, and mean the same in all systems; tests are then exact.",
    )
    level = level()
    n_resamples = Count(limit="max_resamples", of="resamples", load_default=1_000)
    seed = Seed(about="The same seed, the same answer.")
    missing = Choice(
        MISSING_ITEMS,
        load_default=MISSING_ITEMS.words[0],
        about="Items of a gold set that a system lacks: an error, left out of that gold set, or, for bottom and gold,"
        " tied below the others. Items of a system that are in no gold set: an error too, or left out and "
        "counted, or, for bottom, tied below the others in each gold set and each system that lacks them.",
    )

    @validates_schema(skip_on_field_errors=True)
    def check_gold(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither of gold and gold_sets, or above a limit."""
        if ("gold" in data) == ("gold_sets" in data):
            raise ValidationError("exactly one of gold and gold_sets is needed")
        sets, n_systems = data.get("gold_sets", {}), len(data["systems"])
        try:
            check_limit("max_matrix_cells", len(sets) * n_systems, of="gold sets times systems")
        except ValidationError as error:
            raise ValidationError(error.messages, "gold_sets") from error
        check_label_bytes("gold_sets", list(sets), n_systems)
        try:
            n_values = max(1, len(sets)) * n_systems * data["n_resamples"]
            check_limit("max_resampled_values", n_values, of="values, gold sets times systems times resamples")
        except ValidationError as error:
            raise ValidationError(error.messages, "n_resamples") from error

    @post_load(pass_original=True)
    def keep_scores(self, data: dict[str, Any], original: Any, **_: Any) -> dict[str, Any]:
        """Keep scores with the rankings if tests swap scores."""
        if data["swap"] == SWAP.words[0]:
            return data
        found = {name: scores_in(given) for name, given in original["systems"].items()}
        return data | {"scores": {name: scores for name, scores in found.items() if scores is not None}}


class LeaderboardAnswer(Answer):
    """Systems from best to worst, with the tests of each against the best."""

    coefficient = Dumped(COEFFICIENT.reference)
    by = Dumped(TEXT)
    standardized = Dumped(TRUTH)
    swap = Dumped(SWAP.reference)
    exact = Dumped(
        {
            "type": ["boolean", "null"],
            "description": "Whether the tests enumerate all swaps; null where nothing is tested.",
        }
    )
    unit = Dumped({"type": "string", "description": "What is resampled: items, within each gold set."})
    gold_sets = Dumped(list_of(TEXT))
    level = Dumped(NUMBER)
    n_resamples = Dumped(WHOLE)
    rows = Dumped(
        list_of(
            object_of(
                {
                    "system": TEXT,
                    "rank": {**UNDEFINED, "description": "Mid-rank; null where the coefficient is undefined."},
                    "group": {"type": ["integer", "null"], "description": "Systems of one group cannot be told apart."},
                    "scores": {
                        "type": "object",
                        "description": "By gold set.",
                        "additionalProperties": SCORE.reference,
                    },
                    "total": SCORE.reference,
                    "mean": SCORE.reference,
                    "pvalue": {**UNDEFINED, "description": "Of the paired test against the best."},
                    "corrected_pvalue": {
                        **UNDEFINED,
                        "description": "Corrected for a best one that was found by looking.",
                    },
                    "n_unused": {"type": "integer", "description": "Items of the system that are in no gold set."},
                },
                needed=["system", "rank", "group", "scores", "total", "mean", "pvalue", "corrected_pvalue"],
                closed=False,
            )
        )
    )
    warnings = List(Nested(Notice), required=True)
