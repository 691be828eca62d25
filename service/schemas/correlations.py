"""Define requests and answers for comparing rankings."""

from typing import Final

from service.schemas.base import NOTICES, Answer, WeightOptions
from service.schemas.fields import COEFFICIENT, Choice, Choices, Dumped, Part, Whole
from service.schemas.inference import INFERENCE, InferenceOptions
from service.schemas.ranking_fields import MatrixRankings, NamedRankings, RankingField
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, TEXT, WHOLE, WHOLE_OR_NULL, at_least, list_of, map_of

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


class CorrelationRequest(WeightOptions):
    """A system's ranking against a gold ranking."""

    gold = RankingField(required=True)
    system = RankingField(required=True)
    coefficients = Choices(COEFFICIENT, load_default=COEFFICIENT.words)
    worst = Whole(least=1, most=1_000, about="Number of items to list: those that cost the system most.")
    inference = Part(InferenceOptions, about="Ask for chance level, test and interval too.")


class CorrelationAnswer(Answer):
    """Coefficients of two rankings; null where undefined."""

    n_items = Dumped(WHOLE)
    coefficients = Dumped(map_of(STATISTIC))
    ties = Dumped(at_least("Number of items that share their rank with another.", gold=WHOLE, system=WHOLE))
    n_missing = Dumped(WHOLE_OR_NULL, about="Items in one ranking only; null where they are an error.", required=False)
    worst = Dumped(WORST, required=False)
    inference = Dumped(INFERENCE, required=False)
    warnings = Dumped(NOTICES)


class BatchRequest(WeightOptions):
    """Many systems against one gold ranking."""

    gold = RankingField(required=True)
    systems = NamedRankings(required=True)
    coefficients = Choices(COEFFICIENT, load_default=COEFFICIENT.words)
    sort_by = Choice(COEFFICIENT, about="Coefficient to sort by; the first of them by default.")


_ROW: Final = at_least(name=TEXT, n_items=WHOLE("Items compared."), coefficients=map_of(STATISTIC), ties=WHOLE)


class BatchAnswer(Answer):
    """A table of systems, best first; systems with an undefined coefficient are at the end."""

    n_items = Dumped(WHOLE)
    sort_by = Dumped(COEFFICIENT.reference)
    systems = Dumped(list_of(_ROW))
    warnings = Dumped(NOTICES)


class MatrixRequest(WeightOptions):
    """Rankings to compare with one another."""

    rankings = MatrixRankings(required=True)
    coefficient = Choice(COEFFICIENT, load_default="tau_w")


class MatrixAnswer(Answer):
    """In row i and column j: the coefficient with ranking i as gold and ranking j as the system's ranking."""

    n_items = Dumped(WHOLE)
    coefficient = Dumped(COEFFICIENT.reference)
    names = Dumped(list_of(TEXT))
    matrix = Dumped(list_of(list_of(STATISTIC)))
    n_compared = Dumped(
        list_of(
            list_of(WHOLE),
            about="Items that each two rankings were compared on; null where all have the same items.",
            type=["array", "null"],
        )
    )
    warnings = Dumped(NOTICES)
