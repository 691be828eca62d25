"""Serve POST /v1/strengths/choices: fit strengths to answers of any kind."""

from collections.abc import Mapping
from typing import Any, Final

from flask import g
from marshmallow import ValidationError

from adaptive import Agreement, ChoiceAnswers, JudgeAgreement, SideBias, read_choices
from adaptive._rows import ChoiceItem, JudgePower, OtherParameter
from adaptive.choices._answers import KINDS, ChoiceOptions
from adaptive.choices._fit import fit_answers
from adaptive.model._models import FitOptions
from rankcorr._checks import declaration_of
from service.api.strengths import PRIORS, blueprint
from service.http.problems import shown
from service.schemas import fields, shapes
from service.schemas.base import Request, WarnedAnswer
from service.schemas.ranking_fields import read_label

__all__ = ["blueprint"]

_LABEL: Final = fields.LABEL_SCHEMA(minLength=1)
_BESIDE: Final = {
    "voter": _LABEL("Who answered; of all answers or of none."),
    "prompt": _LABEL("What the answer is about; of all answers or of none."),
    "turn": _LABEL("Turn of a conversation on the prompt: another question of the same cluster."),
    "weight": shapes.NUMBER(
        "How often the answer counts; of all answers or of none.", minimum=0, exclusiveMaximum=1e12
    ),
}


def _kind(about: str, **properties: Any) -> shapes.Shape:
    return shapes.exactly(about, optional=_BESIDE, **properties, **_BESIDE)


_PAIR: Final = {"left": _LABEL, "right": _LABEL}
_GRADE: Final = shapes.Shape(type=["integer", "null"], minimum=-50, maximum=50)("Above 0: left is better.")
_LABELS: Final = shapes.list_of(_LABEL, minItems=2, uniqueItems=True)
_SIDES: Final[dict[str, Any]] = {
    # left_1 is a part of a label in a table
    "patternProperties": {"^(left|right)_(?![0-9]+$)": shapes.NUMBER("A covariate of one side; its name is no number.")}
}
CHOICE_CLUSTER: Final = fields.vocabulary("ChoiceCluster", ("voter", "prompt", "both"), "Answers that are dependent.")
CHOICE_KIND: Final = fields.vocabulary("ChoiceKind", KINDS, "Kind of the answers.")
PAIR_ANSWER: Final = fields.vocabulary(
    "PairAnswer", ("left", "right", "tie", "both bad"), "The side that won, a tie, or neither is good."
)
UNDECIDED: Final = fields.vocabulary("Undecided", ("tie", "left out"), "What an answer without a winner counts as.")
PAIR_VOTE: Final = shapes.Component(
    "PairVote",
    _kind("A vote on a pair.", **_PAIR, winner=PAIR_ANSWER.reference.or_null("null where there is no answer."))(
        **_SIDES
    ),
)
GRADED_VOTE: Final = shapes.Component("GradedVote", _kind("A graded vote.", **_PAIR, grade=_GRADE)(**_SIDES))
BEST_WORST_ANSWER: Final = shapes.Component(
    "BestWorstAnswer", _kind("The best and the worst of several items.", items=_LABELS, best=_LABEL, worst=_LABEL)
)
RANKING_ANSWER: Final = shapes.Component(
    "RankingAnswer",
    _kind(
        "A ranking, best first; a list in it is a tie.",
        ranking=shapes.list_of(shapes.one_of(_LABEL, shapes.list_of(_LABEL, minItems=1)), minItems=1),
    ),
)
_KEYS: Final = ("left", "right", "winner", "grade", "items", "best", "worst", "ranking", *_BESIDE)


class AnswerRows(fields.Documented):
    """Answers of one kind, one object each."""

    documented: Mapping[str, Any] = shapes.one_of(
        *(
            shapes.list_of(kind.reference, minItems=1, maxItems=fields.Limit("max_comparisons"))
            for kind in (PAIR_VOTE, GRADED_VOTE, BEST_WORST_ANSWER, RANKING_ANSWER)
        )
    )

    def read(self, value: Any) -> list[dict[str, Any]]:
        """Check that a value is a list of objects; the library checks what they hold."""
        if not isinstance(value, list) or not value:
            raise ValidationError(f"must be a list of answers; got {shown(value)}")
        fields.check_limit("max_comparisons", len(value), of="answers of a request")
        for place, row in enumerate(value):
            if not isinstance(row, dict):
                raise fields.placed([f"must be an object; got {shown(row)}"], str(place))
            is_pair = "left" in row or "right" in row
            odd = [name for name in row if name not in _KEYS and not (is_pair and name.startswith(("left_", "right_")))]
            if odd:
                raise fields.placed([f"is no part of an answer; its parts are {', '.join(_KEYS)}"], str(place), odd[0])
            for name in ("left", "right", "best", "worst", "voter", "prompt", "turn"):
                if name in row:
                    row[name] = read_label(row[name], str(place), name)
            for name in ("items", "ranking"):
                if isinstance(row.get(name), list):
                    row[name] = [_labels(entry, str(place), name) for entry in row[name]]
        g.n_items = len(value)
        return value


def _labels(entry: Any, *place: str) -> Any:
    if isinstance(entry, list):
        return [read_label(label, *place) for label in entry]
    return read_label(entry, *place)


class VoterName(fields.Documented):
    """The name of a voter, as in the answers."""

    documented: Mapping[str, Any] = _LABEL

    def read(self, value: Any) -> str | int:
        """Check a value, and return it as the library call takes it."""
        return read_label(value)


class ChoicesRequest(Request):
    """Answers of one kind, and options of their fit."""

    answers = AnswerRows(required=True)
    covariates = fields.ListOf(
        fields.Text(),
        "at most 100 names",
        most=100,
        load_default=(),
        about="Slopes to fit: length stands for left_length and right_length of each answer.",
    )
    cluster = fields.declared_field(ChoiceOptions, "cluster", vocabulary=CHOICE_CLUSTER)
    both_bad = fields.declared_field(ChoiceOptions, "both_bad", vocabulary=UNDECIDED)
    swapped = fields.declared_field(ChoiceOptions, "swapped", vocabulary=UNDECIDED)
    elo = fields.declared_field(ChoiceOptions, "elo")
    side_bias = fields.declared_field(FitOptions, "side_bias")
    prior = fields.declared_field(FitOptions, "prior", above=float("-inf"), least=PRIORS[0], most=PRIORS[1])
    judge = VoterName(about=declaration_of(ChoiceOptions, "judge").about)
    powered_by = VoterName(about=declaration_of(ChoiceOptions, "powered_by").about)
    level = fields.Number(above=0, below=1, load_default=0.9, about="Level of the intervals.")


CHOICE_ITEM: Final = shapes.Component.of(
    ChoiceItem,
    is_open=False,
    optional=["elo", *shapes.COUNTS],
    item=_LABEL,
    rank={"minimum": 1},
    standard_error={"minimum": 0},
    rank_low=shapes.COUNT,
    rank_high=shapes.COUNT,
)
OTHER_PARAMETER: Final = shapes.Component.of(OtherParameter, is_open=False, standard_error={"minimum": 0})
SIDE_BIAS: Final = shapes.Component.of(
    SideBias, is_open=False, voter=shapes.Shape(type=["string", "integer", "null"])("null if not known.")
)
shapes.Component.of(Agreement, is_open=False)
JUDGE_AGREEMENT: Final = shapes.Component.of(JudgeAgreement, is_open=False)
POWER: Final = shapes.Component.of(JudgePower, is_open=False, judge=_LABEL, weight={"minimum": 0, "maximum": 1})


class ChoicesAnswer(WarnedAnswer, **shapes.properties_of(ChoiceAnswers, "n_unanswered", "n_both_bad")):
    """Strengths, best first, the other fitted parameters, and what is known of judges."""

    kind = CHOICE_KIND.reference
    n_answers = shapes.COUNT("Answers of the fit, after swapped pairs became one.")
    items = shapes.list_of(CHOICE_ITEM.reference)
    others = shapes.list_of(OTHER_PARAMETER.reference)
    log_likelihood = shapes.NUMBER
    prior_sd = shapes.NUMBER_OR_NULL("Standard deviation of the strengths before any answer.")
    degrees_of_freedom = shapes.NUMBER_OR_NULL("Of Student's t distribution of the strengths; null without clusters.")
    side_biases = shapes.list_of(SIDE_BIAS.reference, about="Of each voter, with `swapped` or `judge` in the request.")
    agreement = JUDGE_AGREEMENT.reference.or_null("null without a judge.")
    prediction_powered = POWER.reference.or_null("null without powered_by.")


@blueprint.post("/choices", name="fitChoices")
@blueprint.arguments(ChoicesRequest)
@blueprint.response(200, ChoicesAnswer)
def choices(*, answers: list[dict[str, Any]], covariates: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Fit strengths to graded votes, best-worst answers, rankings, or pairs with prompts, covariates and judges."""
    return fit_answers(read_choices(answers, covariates=covariates), **options).content
