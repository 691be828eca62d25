"""Serve POST /v1/strengths, /v1/strengths/choices and /v1/comparisons/next: fit strengths, and choose comparisons."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from flask import g
from marshmallow import ValidationError, validates_schema

from adaptive import (
    Agreement,
    ChoiceAnswers,
    Comparisons,
    JudgeAgreement,
    Matches,
    Reliability,
    SideBias,
    Strengths,
    next_comparisons,
    read_choices,
)
from adaptive import reliability as reliability_of
from adaptive._tables import ChoiceItem, FittedVoter, ItemStrength, JudgePower, NextComparisons, OtherParameter
from adaptive.choices._answers import KINDS, ChoiceOptions
from adaptive.choices._fit import fit_answers
from adaptive.matching._matching import Matching
from adaptive.model._misfit import Misfit
from adaptive.model._models import STRENGTH_MODELS, FitOptions, Model, fit_named
from adaptive.model._signal import Signal
from rankcorr._checks import collected_notices, counted_need, declaration_of
from service.http.problems import shown
from service.openapi.document import Blueprint
from service.schemas import base, fields, item_fields, shapes
from service.schemas.base import Request, WarnedAnswer

_ANSWER: Final = item_fields.VOTE.reference.or_null()
_WINNER: Final = "The side that won, or a tie; null where there is no answer."
_OF_ROWS: Final = {
    "voter": "Who answered; of all comparisons or of none.",
    "prompt": "Prompt that both items answer; of all comparisons or of none. The next comparisons stay within prompts; "
    "for intervals that allow for them see POST /v1/strengths/choices.",
}

COMPARISON_COLUMNS: Final = shapes.Component.exactly(
    "ComparisonColumns",
    "Answered comparisons as arrays of one length.",
    **item_fields.SIDES,
    winner=shapes.list_of(_ANSWER, about=_WINNER, maxItems=fields.Limit("max_comparisons")),
    **{name: item_fields.LABELS(about) for name, about in _OF_ROWS.items()},
    optional=list(_OF_ROWS),
)
COMPARISON: Final = shapes.Component.exactly(
    "AnsweredComparison",
    "A comparison and its answer.",
    **dict.fromkeys(item_fields.SIDES, fields.NAME_SCHEMA),
    winner=_ANSWER(_WINNER),
    **{name: fields.NAME_SCHEMA(about) for name, about in _OF_ROWS.items()},
    optional=list(_OF_ROWS),
)


@dataclass(frozen=True)
class ComparisonColumns:
    """Columns of comparisons in the form of `Comparisons.from_labels`."""

    left: list[str | int]
    right: list[str | int]
    winner: list[str | None]
    voter: list[str | int] | None = None
    prompt: list[str | int] | None = None

    @property
    def labels(self) -> dict[str | int, None]:
        """Each item that occurs, in order of first appearance."""
        return dict.fromkeys(label for pair in zip(self.left, self.right, strict=True) for label in pair)


class ComparisonsField(fields.Documented):
    """Answered comparisons, in one of two forms."""

    documented: Mapping[str, Any] = shapes.one_of(
        COMPARISON_COLUMNS.reference,
        shapes.list_of(COMPARISON.reference, maxItems=fields.Limit("max_comparisons"), title="one by one"),
    )

    def read(self, value: Any) -> ComparisonColumns:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list | dict):
            raise ValidationError(f"must be an object of columns, or a list of comparisons; got {shown(value)}")
        columns = _of_rows(value) if isinstance(value, list) else _of_columns(value)
        g.n_items = g.get("n_items", 0) + len(columns.winner)
        return columns


def _of_columns(value: dict[str, Any]) -> ComparisonColumns:
    item_fields.check_keys(value, {*item_fields.SIDES, "winner"}, {*_OF_ROWS})
    labels = [name for name in (*item_fields.SIDES, *_OF_ROWS) if name in value]
    winner = value["winner"]
    item_fields.check_votes(winner, "winner")
    fields.check_limit("max_comparisons", len(winner), of="comparisons of a request")
    for name in labels:
        if isinstance(value[name], list) and len(value[name]) != len(winner):
            message = f"{counted_need(len(winner), 'winner')} as many entries here; got {len(value[name])}"
            raise fields.placed([message], name)
        item_fields.check_names(value[name], name)
    return ComparisonColumns(**value)


def _of_rows(value: list[Any]) -> ComparisonColumns:
    fields.check_limit("max_comparisons", len(value), of="comparisons of a request")
    first = value[0] if value and isinstance(value[0], dict) else {}
    names = [*item_fields.SIDES, *(name for name in _OF_ROWS if name in first)]
    needed = {*names, "winner"}
    for place, row in enumerate(value):
        if not isinstance(row, dict) or row.keys() != needed:
            if isinstance(row, dict) and (more := [name for name in _OF_ROWS if name in row and name not in needed]):
                message = f"either all comparisons have a {more[0]} or none; the first has none"
                raise fields.placed([message], str(place), more[0])
            item_fields.check_keys(row, needed, set(), str(place))
        for name in names:
            row[name] = item_fields.read_label(row[name], str(place), name)
        item_fields.check_vote(row["winner"], str(place), "winner")
    return ComparisonColumns(**{name: [row[name] for row in value] for name in (*names, "winner")})


# Outside these limits a fit takes long without benefit: strengths that spread by 100 decide every vote.
PRIORS: Final = (0.001, 100.0)
_LEAST_OVERSIGHT: Final = 1e-6


class Oversight(fields.Number):
    """0, or a probability large enough that the fit of voters does not divide by 0."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(least=0, below=0.5, **kwargs)

    def _fits(self, number: float) -> bool:
        return super()._fits(number) and not 0 < number < _LEAST_OVERSIGHT

    def _range(self) -> str:
        return f": 0, or of at least {_LEAST_OVERSIGHT:g} and below 0.5"


class ModelOptions(base.Request):
    """Options of the vote model; see the library's bradley_terry."""

    ties = fields.declared_field(FitOptions, "ties", vocabulary="TiesModel")
    oversight = Oversight(
        about=f"{declaration_of(FitOptions, 'oversight').about} Give 0, or at least {_LEAST_OVERSIGHT:g}."
    )
    prior = fields.declared_field(FitOptions, "prior", above=-math.inf, least=PRIORS[0], most=PRIORS[1])
    voters = fields.declared_field(FitOptions, "voters")
    side_bias = fields.declared_field(FitOptions, "side_bias")


class VotesRequest(base.Request):
    """Votes, and options of the model to fit."""

    items = item_fields.Names(
        required=False,
        of="items",
        about="All items there may be, those never compared included, or N for 0 to N - 1. By default "
        "those of the comparisons, in the order of first appearance.",
    )
    comparisons = ComparisonsField(required=True)
    model = fields.first_of(fields.vocabulary("VoteModel", STRENGTH_MODELS, "Logistic or normal curve of a vote."))
    options = fields.Part(ModelOptions, load_default={"voters": False, "side_bias": False})

    @validates_schema
    def check_items(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse too many items, fewer than two, and options that the model or the votes do not allow."""
        labels = data["comparisons"].labels
        if "items" not in data:
            if len(labels) < 2:
                message = f"must have at least 2 items, or there must be a list of items; got {len(labels)}"
                raise ValidationError(message, "comparisons")
            fields.check_limit("max_items", len(labels), of="items", field="comparisons")
        if data["options"]["voters"] and data["comparisons"].voter is None:
            raise ValidationError({"voters": ["voters can be fitted only if each comparison has one"]}, "options")
        if data["model"] != STRENGTH_MODELS[0] and "ties" in data["options"]:
            raise ValidationError({"ties": [f"{data['model']} does not have this option"]}, "options")


class StrengthsRequest(VotesRequest):
    """Votes, and options of the model to fit."""

    standard_errors = fields.Flag(
        load_default=True, about="Standard errors of the strengths too; of more than 1,500 items they take long."
    )
    reliability = fields.Flag(
        load_default=False, about="How reliable the strengths are, and the infit of items and voters; 40 fits."
    )
    report = base.report_flag()

    @validates_schema
    def check_labels(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse labels that would make the answer too large; each is in the ranking and in the rows of items."""
        fields.check_label_bytes("comparisons", _labels(data), 2)


class NextRequest(VotesRequest):
    """Votes so far, and the number of comparisons to choose."""

    size = fields.Count(
        limit="max_comparisons",
        of="comparisons of an answer",
        required=True,
        about="Number of comparisons; 50 is good.",
    )
    seed = fields.Seed(about="The same seed and votes give the same comparisons.")
    voters = item_fields.Names(
        "voters",
        required=False,
        of="voters",
        about="Voters to ask, or V for the names 0 to V - 1. By default those of the comparisons, or one "
        "unknown voter, 0.",
    )
    prompts = item_fields.Names(
        "prompts",
        required=False,
        of="prompts",
        about="Prompts to compare within, or P for the names 0 to P - 1. By default those of the comparisons, if they "
        "have any. A voter may get a pair once with each.",
    )
    # Above this, all weights are equal even for a million items.
    n0 = fields.declared_field(Matching, "n0", most=1e12)
    focus = fields.declared_field(Matching, "focus")

    @validates_schema
    def check_prompts(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse comparisons without a prompt where there are prompts."""
        if "prompts" in data and data["comparisons"].prompt is None and data["comparisons"].winner:
            raise ValidationError("every comparison needs a prompt, because there are prompts", "comparisons")

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse labels that would make the answer too large."""
        names_of = [_labels(data), *(data.get(f"{name}s", getattr(data["comparisons"], name)) for name in _OF_ROWS)]
        of_item, of_voter, of_prompt = (
            max((len(name.encode()) for name in names if isinstance(name, str)), default=0)
            for names in (names if isinstance(names, list | tuple) else () for names in names_of)
        )
        fields.check_label_bytes("size", ["-" * (2 * of_item + of_voter + of_prompt)], data["size"])


def _labels(data: dict[str, Any]) -> list[str | int]:
    """Return the labels of a request's items; an empty list if the items are numbers."""
    items = data.get("items", data["comparisons"].labels)
    return [] if isinstance(items, int) else list(items)


ITEM_STRENGTH: Final = shapes.Component.of(
    ItemStrength, item=fields.NAME_SCHEMA, rank={"minimum": 1}, standard_error={"minimum": 0}
)
FITTED_VOTER: Final = shapes.Component.of(
    FittedVoter, voter=fields.NAME_SCHEMA, discrimination={"minimum": 0}, oversight={"minimum": 0, "maximum": 1}
)
FITTED_PARAMETERS: Final = shapes.Component.exactly(
    "FittedParameters",
    **shapes.properties_of(
        Strengths,
        "opinion_sd",
        prior_sd=shapes.NUMBER(minimum=0),
        tie_parameter=shapes.NUMBER(minimum=0),
        side_bias=shapes.NUMBER,
        oversight=shapes.NUMBER(
            "Probability of a slip: of all votes, or with voters the mean of its prior.", minimum=0, maximum=0.5
        ),
        opinion_sd={"minimum": 0},
    ),
)
shapes.Component.of(Signal, pvalue=shapes.NUMBER(minimum=0, maximum=1), log_evidence=shapes.NUMBER)
shapes.Component.of(
    Misfit,
    pairs=shapes.NUMBER(
        "Above 3: preferences go in circles, or depend on the pair. In standard errors, as the next two."
    ),
    far=shapes.NUMBER("Below -3: the stronger item wins less often against far weaker ones than fitted."),
    voters=shapes.NUMBER("Above 3: voters differ more than fitted."),
)
_INFIT: Final = shapes.list_of(
    shapes.NUMBER_OR_NULL(minimum=0), about="Above 1: votes depart from the order; null without votes."
)
RELIABILITY: Final = shapes.Component.of(
    Reliability,
    items=item_fields.LABELS("Items, in the order of infit."),
    infit=_INFIT,
    voters=item_fields.LABELS.or_null("null if they are not known."),
    voter_infit=_INFIT.or_null("null if voters are not known."),
)
NEXT_COMPARISONS: Final = shapes.Component.of(
    NextComparisons,
    optional=["prompt"],
    left=item_fields.LABELS,
    right=item_fields.LABELS,
    voter=item_fields.LABELS,
    prompt=item_fields.LABELS,
)


class StrengthsAnswer(
    base.NoticedAnswer,
    base.ReportedAnswer,
    **shapes.properties_of(Comparisons, "n_comparisons", "n_unanswered"),
    **shapes.properties_of(
        Strengths,
        "log_likelihood",
        "converged",
        "n_iterations",
        "signal",
        "misfit",
        "cluster_ratio",
        cluster_ratio={
            "minimum": 0,
            "description": "Variance with voters as clusters, over that of the model; null with few voters.",
        },
    ),
):
    """Strengths, best first, and the other fitted parameters."""

    items = shapes.list_of(ITEM_STRENGTH.reference, minItems=2)
    ranking = item_fields.RANKS_ARRAY.reference(item_fields.BEST_FIRST)
    parameters = FITTED_PARAMETERS.reference
    voters = shapes.list_of(FITTED_VOTER.reference).or_null("null where voters were not fitted.")
    reliability = RELIABILITY.reference.or_null("null unless the request asked for it.")


class NextAnswer(shapes.Answer, **shapes.properties_of(Matches, "n_comparisons")):
    """The next comparisons, in the order to show them."""

    comparisons = NEXT_COMPARISONS.reference(
        "Add the answers as `winner`, an array of the same length, append them to the earlier comparisons, and send "
        "all to POST /v1/strengths."
    )
    converged = shapes.TRUTH("Whether the fit behind the choice converged.")
    warnings = base.NOTICES("Of the fit, and why there are fewer than wanted.")


blueprint = Blueprint("strengths", __name__, url_prefix="/v1/strengths", description="From votes to strengths")
comparisons = Blueprint("comparisons", __name__, url_prefix="/v1/comparisons", description="Whom to compare next")


@blueprint.post("", name="fitStrengths")
@blueprint.arguments(StrengthsRequest)
@blueprint.response(200, StrengthsAnswer)
def strengths(
    *,
    comparisons: ComparisonColumns,
    model: str,
    options: dict[str, Any],
    standard_errors: bool,
    reliability: bool,
    report: bool,
    items: item_fields.Labels | None = None,
) -> dict[str, Any]:
    """Fit strengths to votes; return a ranking and its uncertainty."""
    strengths_fit, notices = fit_votes(comparisons, model, options, items)
    content = strengths_fit.to_dict(standard_errors=standard_errors)
    rows = content["items"]
    labels, ranks = [row["item"] for row in rows], [row["rank"] for row in rows]
    return {
        "n_comparisons": strengths_fit.comparisons.n_comparisons,
        "n_unanswered": strengths_fit.comparisons.n_unanswered,
        **content,
        "ranking": {"labels": labels, "ranks": ranks},
        "reliability": reliability_of(strengths_fit).to_dict() if reliability else None,
        "report": base.report_content(strengths_fit.report()) if report else None,
        "warnings": base.notices_of([*strengths_fit.warnings, *notices]),
    }


@comparisons.post("/next", name="chooseComparisons")
@comparisons.arguments(NextRequest)
@comparisons.response(200, NextAnswer)
def choose(
    *,
    comparisons: ComparisonColumns,
    model: str,
    options: dict[str, Any],
    size: int,
    seed: int,
    items: item_fields.Labels | None = None,
    prompts: item_fields.Labels | None = None,
    **matching: Any,
) -> dict[str, Any]:
    """Choose the comparisons that tell most about the top items, given all votes so far."""
    strengths_fit, notices = fit_votes(comparisons, model, options, items)
    if prompts is None and comparisons.prompt:
        prompts = tuple(dict.fromkeys(comparisons.prompt))
    if prompts is not None:
        matching |= {"prompts": prompts, "prompt_history": prompts_shown(comparisons)}
    matches = next_comparisons(strengths_fit, size, rng=np.random.default_rng(seed), **matching)
    reasons = [f"{matches.n_comparisons} of {size} comparisons: {matches.reason}"] if matches.reason else []
    return {
        "n_comparisons": matches.n_comparisons,
        "comparisons": matches.by_labels(),
        "converged": strengths_fit.converged,
        "warnings": base.notices_of([*strengths_fit.warnings, *reasons, *notices]),
    }


def prompts_shown(comparisons: ComparisonColumns) -> list[str | int]:
    """Return the prompt of each pair shown: those of answered comparisons, then the others."""
    rows = list(zip(comparisons.prompt or (), comparisons.winner, strict=False))
    return [prompt for is_open in (False, True) for prompt, winner in rows if (winner is None) == is_open]


def fit_votes(
    comparisons: ComparisonColumns, model: str, options: dict[str, Any], items: item_fields.Labels | None
) -> tuple[Strengths, list[str]]:
    """Fit strengths to votes; return notes on the votes as well."""
    with collected_notices() as notices:
        votes = Comparisons.from_labels(
            comparisons.left, comparisons.right, comparisons.winner, voter=comparisons.voter, items=items
        )
    return cast(Strengths, fit_named(votes, cast(Model, model), **options)), notices


_LABEL: Final = fields.NAME_SCHEMA
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
                    row[name] = item_fields.read_label(row[name], str(place), name)
            for name in ("items", "ranking"):
                if isinstance(row.get(name), list):
                    row[name] = [_read_labels(entry, str(place), name) for entry in row[name]]
        g.n_items = len(value)
        return value


def _read_labels(entry: Any, *place: str) -> Any:
    if isinstance(entry, list):
        return [item_fields.read_label(label, *place) for label in entry]
    return item_fields.read_label(entry, *place)


class VoterName(fields.Documented):
    """The name of a voter, as in the answers."""

    documented: Mapping[str, Any] = _LABEL

    def read(self, value: Any) -> str | int:
        """Check a value, and return it as the library call takes it."""
        return item_fields.read_label(value)


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
    optional=["elo", *shapes.COUNTS],
    item=_LABEL,
    rank={"minimum": 1},
    standard_error={"minimum": 0},
    rank_low=shapes.COUNT,
    rank_high=shapes.COUNT,
)
OTHER_PARAMETER: Final = shapes.Component.of(OtherParameter, standard_error={"minimum": 0})
SIDE_BIAS: Final = shapes.Component.of(
    SideBias, voter=shapes.Shape(type=["string", "integer", "null"])("null if not known.")
)
shapes.Component.of(Agreement)
JUDGE_AGREEMENT: Final = shapes.Component.of(JudgeAgreement)
POWER: Final = shapes.Component.of(JudgePower, judge=_LABEL, weight={"minimum": 0, "maximum": 1})


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
