"""Define requests and answers for chance levels, tests, intervals and leaderboards."""

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, validates_schema

from rankcorr import CorrelationInterval, Leaderboard, NullDistribution, PermutationTest
from rankcorr.inference._leaderboard import LeaderboardRow, Score
from service.http.problems import Name, shown
from service.schemas import fields
from service.schemas.base import NOTICES, Answer, Request, WeightOptions, check_one
from service.schemas.ranking_fields import NamedRankings, RankingField
from service.schemas.shapes import NUMBER_OR_NULL, TEXT, at_least, list_of, map_of, result_shapes

UNDEFINED: Final = NUMBER_OR_NULL


def level() -> fields.Number:
    """Return a field for a confidence level."""
    return fields.Number(least=1e-6, most=1 - 1e-6, load_default=0.95, about="Level of confidence of the intervals.")


class InferenceOptions(Request):
    """How a coefficient is compared with chance."""

    seed = fields.Seed()
    n_resamples = fields.Count(limit="max_resamples", of="resamples", load_default=2_000)
    level = level()
    method = fields.Choice(fields.INTERVAL_METHOD, load_default=fields.INTERVAL_METHOD.words[0])
    alternative = fields.Choice(fields.ALTERNATIVE, load_default=fields.ALTERNATIVE.words[0])


TWO_SIDED: Final = UNDEFINED("Two-sided.")
CHANCE: Final = at_least(
    "Values when one ranking is permuted at random.",
    **result_shapes(NullDistribution, "mean", "std", "exact", "n_resamples", "n_undefined"),
)
INTERVAL: Final = at_least(
    **result_shapes(
        CorrelationInterval,
        *("low", "high", "method", "standard_error", "n_resamples", "n_undefined", "jackknife_share"),
        jackknife_share={"minimum": 0, "maximum": 1},
        method=fields.INTERVAL_METHOD.reference,
        jackknife_item={"type": ["string", "integer", "null"]},
    )
)
TEST: Final = result_shapes(
    PermutationTest,
    *("standardized", "percentile", "zscore", "pvalue"),
    percentile={"minimum": 0, "maximum": 100},
    pvalue={"minimum": 0, "maximum": 1},
    alternative=fields.ALTERNATIVE.reference,
)
INFERENCE: Final = map_of(
    at_least(chance=CHANCE, **TEST, interval=INTERVAL),
    about="By coefficient: how it compares with chance, and its interval.",
)

SCORE: Final = fields.Component.at_least("LeaderboardScore", **result_shapes(Score))


class GroupsByName(fields.Documented):
    """A group for each item or query."""

    def read(self, value: Any) -> dict[str, str]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of id to group; got {shown(value)}")
        for name, group in value.items():
            if not isinstance(group, str):
                raise ValidationError({Name(name): [f"a group is text; got {shown(group)}"]})
        return value


class ClustersOfItems(GroupsByName):
    """A cluster for each item."""

    documented: Mapping[str, Any] = map_of(
        TEXT,
        about="By item: items of a cluster are not independent, and tests exchange them together; intervals do not.",
        minProperties=1,
    )


class SystemNames(fields.Documented):
    """Names of systems."""

    documented: Mapping[str, Any] = list_of(
        TEXT, about="Systems that are shown without rank or test, such as late submissions."
    )

    def read(self, value: Any) -> list[str]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ValidationError(f"must be a list of names of systems; got {shown(value)}")
        return value


class LeaderboardRequest(WeightOptions):
    """Systems to rank against one gold ranking, or against several gold sets."""

    refused = (
        *WeightOptions.refused,
        {"required": ["gold", "gold_sets"]},
        {"properties": {"gold": fields.NOTHING, "gold_sets": fields.NOTHING}},
    )

    gold = RankingField(about="One gold ranking; or gold_sets.")
    gold_sets = NamedRankings(limit="max_systems", of="gold sets", about="By name; or gold.")
    systems = NamedRankings(required=True)
    coefficient = fields.Choice(fields.SYSTEM_COEFFICIENT, load_default="tau_w")
    by = fields.Text(load_default="sum", about="What ranks the systems: sum, mean, or the name of a gold set.")
    standardized = fields.Flag(load_default=False, about="Standardize coefficients: chance gives 0 in each gold set.")
    swap = fields.Choice(
        fields.SWAP,
        load_default=fields.SWAP.words[0],
        about="Scores must be given, and mean the same in all systems; tests are then exact. auto takes scores if all "
        "systems have them and their distributions may be one, else ranks; the answer says which.",
    )
    clusters = ClustersOfItems()
    unranked = SystemNames(load_default=())
    level = level()
    n_resamples = fields.Count(limit="max_resamples", of="resamples", load_default=1_000)
    seed = fields.Seed()
    missing = fields.Choice(
        fields.MISSING_ITEMS,
        load_default=fields.MISSING_ITEMS.words[0],
        about="Items of a gold set that a system lacks: an error, left out of that gold set, or, for bottom and gold,"
        " tied below the others. Items of a system that are in no gold set: an error too, or left out and "
        "counted, or, for bottom, tied below the others in each gold set and each system that lacks them.",
    )

    @validates_schema(skip_on_field_errors=True)
    def check_gold(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request with both or neither of gold and gold_sets, or above a limit."""
        check_one(data, "gold", "gold_sets")
        sets, n_systems = data.get("gold_sets", {}), len(data["systems"])
        fields.check_limit("max_matrix_cells", len(sets) * n_systems, of="gold sets times systems", field="gold_sets")
        fields.check_label_bytes("gold_sets", list(sets), n_systems)
        n_values, of = max(1, len(sets)) * n_systems * data["n_resamples"], "gold sets times systems times resamples"
        fields.check_limit("max_resampled_values", n_values, of=f"values, {of}", field="n_resamples")


_ROW: Final = at_least(
    **result_shapes(
        LeaderboardRow,
        scores=map_of(SCORE.reference, about="By gold set."),
        total=SCORE.reference,
        mean=SCORE.reference,
    ),
    optional=["n_unused"],
)


class LeaderboardAnswer(Answer):
    """Systems from best to worst, with the tests of each against the best."""

    class Meta(Answer.Meta):  # noqa: D106
        include = fields.dumped(Leaderboard, "by", "standardized", "exact", "unit", "gold_sets", "level", "n_resamples")

    coefficient = fields.Dumped(fields.SYSTEM_COEFFICIENT.reference)
    swap = fields.Dumped(fields.EXCHANGED.reference)
    rows = fields.Dumped(list_of(_ROW))
    warnings = fields.Dumped(NOTICES)
