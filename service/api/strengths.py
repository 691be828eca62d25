"""Serve POST /v1/strengths and /v1/comparisons/next: fit strengths to votes, and choose the next comparisons."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from flask import g
from marshmallow import ValidationError, validates_schema

from adaptive import Comparisons, Matches, Reliability, Strengths, next_comparisons
from adaptive import reliability as reliability_of
from adaptive._rows import FittedVoter, ItemStrength, NextComparisons
from adaptive.matching._matching import Matching
from adaptive.model._likelihood import Misfit
from adaptive.model._models import FitOptions, Model, fit_named
from adaptive.model._signal import Signal
from rankcorr._checks import collected_notices, counted_need, declaration_of
from service.http.problems import shown
from service.openapi.blueprint import Blueprint
from service.schemas import ballot_fields, base, fields, shapes
from service.schemas.ballot_fields import Labels
from service.schemas.ranking_fields import BEST_FIRST, RANKS_ARRAY, check_labels, read_label

_ANSWER: Final = fields.VOTE.reference.or_null()
_WINNER: Final = "The side that won, or a tie; null where there is no answer."
_OF_ROWS: Final = {
    "voter": "Who answered; of all comparisons or of none.",
    "prompt": "Prompt that both items answer; of all comparisons or of none. The next comparisons stay within prompts; "
    "for intervals that allow for them see POST /v1/strengths/choices.",
}

COMPARISON_COLUMNS: Final = shapes.Component.exactly(
    "ComparisonColumns",
    "Answered comparisons as arrays of one length.",
    **ballot_fields.SIDES,
    winner=shapes.list_of(_ANSWER, about=_WINNER, maxItems=fields.Limit("max_comparisons")),
    **{name: ballot_fields.LABELS(about) for name, about in _OF_ROWS.items()},
    optional=list(_OF_ROWS),
)
COMPARISON: Final = shapes.Component.exactly(
    "AnsweredComparison",
    "A comparison and its answer.",
    **dict.fromkeys(ballot_fields.SIDES, fields.LABEL_SCHEMA),
    winner=_ANSWER(_WINNER),
    **{name: fields.LABEL_SCHEMA(about) for name, about in _OF_ROWS.items()},
    optional=list(_OF_ROWS),
)


@dataclass(frozen=True)
class Answered:
    """Columns of comparisons in the form of `Comparisons.from_labels`."""

    left: list[str | int]
    right: list[str | int]
    winner: list[str | None]
    voter: list[str | int] | None
    prompt: list[str | int] | None

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

    def read(self, value: Any) -> Answered:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list | dict):
            raise ValidationError(f"must be an object of columns, or a list of comparisons; got {shown(value)}")
        columns = _of_rows(value) if isinstance(value, list) else _of_columns(value)
        g.n_items = g.get("n_items", 0) + len(columns.winner)
        return columns


def _of_columns(value: dict[str, Any]) -> Answered:
    ballot_fields.check_keys(value, {*ballot_fields.SIDES, "winner"}, {*_OF_ROWS})
    labels = [name for name in (*ballot_fields.SIDES, *_OF_ROWS) if name in value]
    winner = value["winner"]
    ballot_fields.check_votes(winner, "winner")
    fields.check_limit("max_comparisons", len(winner), of="comparisons of a request")
    for name in labels:
        if isinstance(value[name], list) and len(value[name]) != len(winner):
            message = f"{counted_need(len(winner), 'winner')} as many entries here; got {len(value[name])}"
            raise fields.placed([message], name)
        check_labels(value[name], name)
    return Answered(value["left"], value["right"], winner, value.get("voter"), value.get("prompt"))


def _of_rows(value: list[Any]) -> Answered:
    fields.check_limit("max_comparisons", len(value), of="comparisons of a request")
    first = value[0] if value and isinstance(value[0], dict) else {}
    names = [*ballot_fields.SIDES, *(name for name in _OF_ROWS if name in first)]
    needed = {*names, "winner"}
    for place, row in enumerate(value):
        if not isinstance(row, dict) or row.keys() != needed:
            if isinstance(row, dict) and (more := [name for name in _OF_ROWS if name in row and name not in needed]):
                message = f"either all comparisons have a {more[0]} or none; the first has none"
                raise fields.placed([message], str(place), more[0])
            ballot_fields.check_keys(row, needed, set(), str(place))
        for name in names:
            row[name] = read_label(row[name], str(place), name)
        ballot_fields.check_vote(row["winner"], str(place), "winner")
    columns = {name: [row[name] for row in value] for name in names}
    winner = [row["winner"] for row in value]
    return Answered(columns["left"], columns["right"], winner, columns.get("voter"), columns.get("prompt"))


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

    items = ballot_fields.ItemNames(
        required=False,
        of="items",
        about="All items there may be, those never compared included, or N for 0 to N - 1. By default "
        "those of the comparisons, in the order of first appearance.",
    )
    comparisons = ComparisonsField(required=True)
    model = fields.Choice(fields.MODEL, load_default=fields.MODEL.words[0])
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
        if data["model"] != fields.MODEL.words[0] and "ties" in data["options"]:
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
    voters = ballot_fields.VoterNames(
        required=False,
        of="voters",
        about="Voters to ask, or V for the names 0 to V - 1. By default those of the comparisons, or one "
        "unknown voter, 0.",
    )
    prompts = ballot_fields.PromptNames(
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


shapes.Component.of(
    ItemStrength, is_open=False, item=fields.LABEL_SCHEMA, rank={"minimum": 1}, standard_error={"minimum": 0}
)
shapes.Component.of(
    FittedVoter,
    is_open=False,
    voter=fields.LABEL_SCHEMA,
    discrimination={"minimum": 0},
    oversight={"minimum": 0, "maximum": 1},
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
shapes.Component.of(Signal, is_open=False, pvalue=shapes.NUMBER(minimum=0, maximum=1), log_evidence=shapes.NUMBER)
shapes.Component.of(
    Misfit,
    is_open=False,
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
    is_open=False,
    items=ballot_fields.LABELS("Items, in the order of infit."),
    infit=_INFIT,
    voters=ballot_fields.LABELS.or_null("null if they are not known."),
    voter_infit=_INFIT.or_null("null if voters are not known."),
)
shapes.Component.of(
    NextComparisons,
    is_open=False,
    optional=["prompt"],
    left=ballot_fields.LABELS,
    right=ballot_fields.LABELS,
    voter=ballot_fields.LABELS,
    prompt=ballot_fields.LABELS,
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

    items = shapes.list_of(shapes.use_shape(ItemStrength), minItems=2)
    ranking = RANKS_ARRAY.reference(BEST_FIRST)
    parameters = FITTED_PARAMETERS.reference
    voters = shapes.list_of(shapes.use_shape(FittedVoter)).or_null("null where voters were not fitted.")
    reliability = RELIABILITY.reference.or_null("null unless the request asked for it.")


class NextAnswer(shapes.Answer, **shapes.properties_of(Matches, "n_comparisons")):
    """The next comparisons, in the order to show them."""

    comparisons = shapes.use_shape(NextComparisons)(
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
    comparisons: Answered,
    model: str,
    options: dict[str, Any],
    standard_errors: bool,
    reliability: bool,
    report: bool,
    items: Labels | None = None,
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
    comparisons: Answered,
    model: str,
    options: dict[str, Any],
    size: int,
    seed: int,
    n0: float,
    focus: float,
    items: Labels | None = None,
    voters: Labels | None = None,
    prompts: Labels | None = None,
) -> dict[str, Any]:
    """Choose the comparisons that tell most about the top items, given all votes so far."""
    strengths_fit, notices = fit_votes(comparisons, model, options, items)
    rng = np.random.default_rng(seed)
    if prompts is None and comparisons.prompt:
        prompts = tuple(dict.fromkeys(comparisons.prompt))
    prompt_options: dict[str, Any] = {}
    if prompts is not None:
        prompt_options = {"prompts": prompts, "prompt_history": prompts_shown(comparisons)}
    matches = next_comparisons(strengths_fit, size, rng=rng, voters=voters, n0=n0, focus=focus, **prompt_options)
    reasons = [f"{matches.n_comparisons} of {size} comparisons: {matches.reason}"] if matches.reason else []
    return {
        "n_comparisons": matches.n_comparisons,
        "comparisons": matches.by_labels(),
        "converged": strengths_fit.converged,
        "warnings": base.notices_of([*strengths_fit.warnings, *reasons, *notices]),
    }


def prompts_shown(comparisons: Answered) -> list[str | int]:
    """Return the prompt of each pair shown: those of answered comparisons, then the others."""
    rows = list(zip(comparisons.prompt or (), comparisons.winner, strict=False))
    return [prompt for is_open in (False, True) for prompt, winner in rows if (winner is None) == is_open]


def fit_votes(
    comparisons: Answered, model: str, options: dict[str, Any], items: Labels | None
) -> tuple[Strengths, list[str]]:
    """Fit strengths to votes; return notes on the votes as well."""
    with collected_notices() as notices:
        votes = Comparisons.from_labels(
            comparisons.left, comparisons.right, comparisons.winner, voter=comparisons.voter, items=items
        )
    return cast(Strengths, fit_named(votes, cast(Model, model), **options)), notices
