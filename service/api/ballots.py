"""Serve POST /v1/pairings, /v1/plans, /v1/ballots and /v1/scores: tokens -> items -> plan -> ballot -> ranking."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from flask import g
from marshmallow import ValidationError, post_load, validates_schema

from adaptive import (
    Ballot,
    BallotCertificate,
    BallotPlan,
    BallotVotes,
    InterimResult,
    Pairing,
    PlanError,
    ProtocolResult,
    Token,
    draw_ballot,
    pair_tokens,
    score_ballots,
)
from adaptive._budget import PlanOptions, answers_for
from adaptive._plan import MOST_BALLOTS
from adaptive._protocol import ballot_rng
from adaptive._record import BallotRecord
from adaptive._tables import NextBallot, PairRow, VoterComparisons
from rankcorr._checks import collected_notices, counted_need
from rankcorr._input.numbers import LARGEST_EXACT
from service.http.problems import shown
from service.openapi.document import Blueprint
from service.schemas import fields, item_fields, shapes
from service.schemas.base import WAYS, Budget, Money, NoticedAnswer, Request, check_one, notices_of, refuse_long_text

# Blanks as Python defines them; regular expressions in JSON Schema do not know all of these.
_NOT_BLANK: Final = r"[^\s\u001c-\u001f\u0085]"
TOKEN: Final = shapes.Component.exactly(
    "Token",
    "A word, or words for one concept, in one semantic area.",
    token=shapes.TEXT(pattern=_NOT_BLANK),
    area=shapes.TEXT("A token with several areas is given for each.", pattern=_NOT_BLANK),
    frequency=shapes.NUMBER("In texts of the domain, as a count or a share; for all tokens or for none.", minimum=0),
    optional=["frequency"],
)
PAIR: Final = shapes.Component.of(PairRow, "Pair", optional=["rare"])


class TokenList(fields.Documented):
    """Tokens with their semantic areas."""

    documented: Mapping[str, Any] = shapes.list_of(TOKEN.reference, minItems=2, maxItems=fields.Limit("max_items"))
    _text = fields.Text()
    _frequency = fields.Number(least=0)

    def read(self, value: Any) -> list[Token]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or len(value) < 2:
            raise ValidationError(f"must be a list of at least 2 tokens; got {shown(value)}")
        fields.check_limit("max_items", len(value), of="tokens")
        tokens = [self._token(entry, str(place)) for place, entry in enumerate(value)]
        areas = Counter(token.text for token in tokens)
        shared = sum(count * (count - 1) // 2 for count in areas.values())
        fields.check_limit("max_items", shared, of="pairs of areas that have a token in common")
        g.n_items = len(tokens)
        return tokens

    def _token(self, entry: Any, place: str) -> Token:
        item_fields.check_keys(entry, {"token", "area"}, {"frequency"}, place)
        checks = {"token": self._text, "area": self._text, "frequency": self._frequency}
        for name, field in entry.items():
            fields.read_at(checks[name], field, place, name)
        return Token(entry["token"], entry["area"], entry.get("frequency"))


class PairingRequest(Request):
    """Tokens, and which pairs of them become items."""

    tokens = TokenList(required=True)
    sample = fields.Count(
        limit="max_items", of="pairs of tokens", about="Number of random pairs to take; all of them by default."
    )
    seed = fields.Seed(required=False, about="Seed of the sample; required with it.")
    across_areas = fields.Flag(load_default=False, about="Pair any two tokens, of one area or two.")

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a sample without a seed, a seed without a sample, and a request for too many items."""
        if ("sample" in data) != ("seed" in data):
            lacks, has = ("seed", "sample") if "sample" in data else ("sample", "seed")
            raise ValidationError(f"this field is needed: {lacks} and {has} belong together", lacks)
        if "sample" not in data:
            n_pairs = number_of_pairs(data["tokens"], across_areas=data["across_areas"])
            fields.check_limit("max_items", n_pairs, of="pairs of tokens; a sample takes fewer", field="tokens")


def number_of_pairs(tokens: Sequence[Token], *, across_areas: bool) -> int:
    """Return how many pairs the tokens have."""
    sizes = (
        [len({token.text for token in tokens})] if across_areas else Counter(token.area for token in tokens).values()
    )
    return sum(size * (size - 1) // 2 for size in sizes)


class PairingAnswer(NoticedAnswer, **shapes.properties_of(Pairing, "n_items", "n_admissible", "rare_tokens")):
    """The items in a fixed order: by area, first token and second token, in the order of the request."""

    items = shapes.list_of(PAIR.reference, minItems=1)


pairings = Blueprint("pairings", __name__, url_prefix="/v1/pairings", description="From tokens to items")


@pairings.post("", name="pairTokens")
@pairings.arguments(PairingRequest)
@pairings.response(200, PairingAnswer)
def pair(
    tokens: Sequence[Token], across_areas: bool, sample: int | None = None, seed: int | None = None
) -> dict[str, Any]:
    """Pair the tokens of each semantic area; the pairs are the items of a ranking."""
    rng = None if seed is None else np.random.default_rng(seed)
    with collected_notices() as notices:
        pairing = pair_tokens(tokens, sample=sample, across_areas=across_areas, rng=rng)
    refuse_long_text([pairing.items, pairing.areas], "/tokens")
    return {"n_items": pairing.n_items, **vars(pairing), "items": pairing.table(), "warnings": notices_of(notices)}


class ItemCount(fields.Count):
    """Number of items of a plan."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(limit="max_items", of="items of a plan", least=2, required=True, **kwargs)

    def read(self, value: Any) -> Any:
        """Check a value, and return it as the library call takes it."""
        g.n_items = super().read(value)
        return g.n_items


class Sizes(Request):
    """How the number of items shrinks from ballot to ballot."""

    n_items = ItemCount(about="Items of the first ballot.")
    n_ballots = fields.declared_field(PlanOptions, "n_ballots", required=True, about="Number of ballots, n_b.")
    fraction = fields.declared_field(PlanOptions, "fraction", required=True)


class PlanRequest(Sizes):
    """A plan from a number of presentations, a budget, or the needs of the top items: exactly one of these."""

    n_ballots = fields.declared_field(PlanOptions, "n_ballots")
    fraction = fields.declared_field(PlanOptions, "fraction")
    presentations = fields.declared_field(PlanOptions, "presentations")
    comparisons = fields.declared_field(PlanOptions, "comparisons")
    budget = Budget(
        most=LARGEST_EXACT,
        optional=("fee",),
        about="Or a budget: comparisons of all ballots, or money; money needs seconds_per_comparison as well.",
    )
    hours = fields.declared_field(PlanOptions, "hours", most=1e12)
    top_presentations = fields.declared_field(PlanOptions, "top_presentations")
    seconds_per_comparison = fields.declared_field(PlanOptions, "seconds_per_comparison", most=1e9)
    n_voters = fields.Whole(least=1, most=LARGEST_EXACT, about="Also advise on this number of voters.")

    @validates_schema
    def check_presentations(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request that sets the presentations in no way or in several ways."""
        check_one(data, *WAYS)
        of_time = "hours" if "hours" in data else "money" if isinstance(data.get("budget"), Money) else None
        if of_time and "seconds_per_comparison" not in data:
            raise ValidationError(f"this field is needed: the budget is of {of_time}", "seconds_per_comparison")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Turn a budget into comparisons or hours."""
        budget = data.pop("budget", None)
        if isinstance(budget, Money):
            per_answer = (budget.pay or 0.0) * data["seconds_per_comparison"] / 3600
            data["comparisons"] = answers_for(budget.euros, per_answer=per_answer, fee=budget.fee)
        elif budget is not None:
            data["comparisons"] = budget
        return data


class PlanInputs(Sizes):
    """A plan by its four inputs, as in `plan` of the answer of POST /v1/plans."""

    presentations = fields.declared_field(PlanOptions, "presentations", required=True)

    @post_load
    def plan(self, data: dict[str, Any], **_: Any) -> BallotPlan:
        """Make the plan."""
        return BallotPlan(**data)


PLAN_INPUTS: Final = shapes.Shape({"$ref": f"#/components/schemas/{PlanInputs.__name__}"})
_OF_EACH_BALLOT: Final = shapes.list_of(shapes.WHOLE(minimum=1), minItems=2)


class PlanAnswer(
    shapes.Answer,
    **shapes.properties_of(
        BallotPlan,
        *("n_comparisons", "top_presentations", "uniform_presentations", "advice"),
        has_nan=False,
        sizes=_OF_EACH_BALLOT("Items of each ballot."),
        comparisons=_OF_EACH_BALLOT("Comparisons of each ballot."),
        advice={"description": "Points to reconsider; a plan is never refused for them."},
    ),
):
    """Sizes and cost of all ballots, known before any vote."""

    plan = PLAN_INPUTS("The inputs, as /v1/scores and /v1/simulations take a plan.")
    hours = shapes.NUMBER_OR_NULL("Cost in person-hours; null without seconds_per_comparison.")


class BallotRequest(Request):
    """The items and voters of a ballot, and how often each item is presented."""

    items = item_fields.Names(about="Labels of the items (text or whole numbers), or N for the labels 0 to N - 1.")
    presentations = fields.Count(
        limit="max_comparisons",
        of="comparisons of a ballot",
        required=True,
        about="M: how often each item is presented.",
    )
    voters = item_fields.Names("voters", about="Names of the voters, or V for the names 0 to V - 1.")
    seed = fields.Seed(about="The same seed, and number, draws the same ballot of the same items.")
    number = fields.Whole(
        least=1,
        most=MOST_BALLOTS,
        load_default=1,
        about="Number of the ballot in its plan, counted from 1. Each ballot has separate random numbers, so one seed "
        "serves all ballots.",
    )

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a ballot with too many comparisons."""
        n_items = data["items"] if isinstance(data["items"], int) else len(data["items"])
        count = (n_items * data["presentations"] + 1) // 2
        fields.check_limit("max_comparisons", count, of="comparisons of a ballot", field="presentations")
        fields.check_label_bytes(
            "items", [] if isinstance(data["items"], int) else data["items"], data["presentations"]
        )


VOTER_COMPARISONS: Final = shapes.Component.of(
    VoterComparisons, voter=fields.NAME_SCHEMA, left=item_fields.SIDES["left"], right=item_fields.SIDES["right"]
)


class BallotAnswer(shapes.Answer, **shapes.properties_of(Ballot, "n_comparisons")):
    """The comparisons of a ballot, and counts that show what the draw guarantees."""

    number = shapes.WHOLE
    comparisons = shapes.list_of(
        VOTER_COMPARISONS.reference,
        about="Voter by voter, in the order to show them. Add the answers to each as `votes`, an array of the same "
        "length, and send them to POST /v1/scores.",
        minItems=1,
    )
    certificate = shapes.exactly(
        "Counted again from the comparisons alone.",
        **shapes.properties_of(
            BallotCertificate,
            item_with_one_more={
                "type": ["string", "integer", "null"],
                "description": "The item that is presented once more, where the items and the presentations are odd in "
                "number.",
            },
            broken=shapes.list_of(shapes.TEXT, about="Guarantees that do not hold: none."),
        ),
    )


FORM: Final = shapes.Component.exactly(
    "VotedComparisons",
    voter=fields.NAME_SCHEMA("Who voted; the scores do not depend on it."),
    **item_fields.SIDES,
    votes=shapes.list_of(
        item_fields.VOTE.reference.or_null(),
        about="The answer to each comparison: the side that won, or a tie; null without an answer.",
    ),
    optional=["voter"],
)
VOTED_BALLOT: Final = shapes.Component(
    "VotedBallot", shapes.exactly(comparisons=shapes.list_of(FORM.reference, minItems=1))
)


class VotedBallots(fields.Documented):
    """Ballots with their votes, voter by voter, in the order of the comparisons from `POST /v1/ballots`."""

    documented: Mapping[str, Any] = shapes.list_of(VOTED_BALLOT.reference, minItems=1)

    def read(self, value: Any) -> list[BallotVotes]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or not value:
            raise ValidationError(f"must be a list of ballots, at least one; got {shown(value)}")
        for place, ballot in enumerate(value):
            item_fields.check_keys(ballot, {"comparisons"}, set(), str(place))
            forms = ballot["comparisons"]
            if not isinstance(forms, list) or not forms:
                message = f"must be a list of comparisons by voter, at least one; got {shown(forms)}"
                raise fields.placed([message], str(place), "comparisons")
            for number, form in enumerate(forms):
                _check_form(form, str(place), "comparisons", str(number))
        total = sum(len(form["votes"]) for ballot in value for form in ballot["comparisons"])
        fields.check_limit("max_comparisons", total, of="comparisons of all ballots together")
        return [_read_votes(ballot["comparisons"]) for ballot in value]


def _check_form(form: Any, *path: str) -> None:
    item_fields.check_keys(form, {"left", "right", "votes"}, {"voter"}, *path)
    for side in item_fields.SIDES:
        item_fields.check_names(form[side], *path, side)
    if "voter" in form:
        item_fields.read_label(form["voter"], *path, "voter")
    votes = form["votes"]
    item_fields.check_votes(votes, *path, "votes")
    for side in item_fields.SIDES:
        if len(form[side]) != len(votes):
            message = f"{counted_need(len(votes), 'vote')} as many items on each side; got {len(form[side])}"
            raise fields.placed([message], *path, side)


def _read_votes(forms: list[dict[str, Any]]) -> BallotVotes:
    columns = {key: list(chain.from_iterable(form[key] for form in forms)) for key in ("left", "right", "votes")}
    answers = np.array([item_fields.ANSWERS[vote] for vote in columns["votes"]], np.int8)
    return BallotVotes(columns["left"], columns["right"], answers)


class ScoresRequest(Request):
    """All ballots of a plan so far, with their votes."""

    plan = fields.Part(PlanInputs, required=True)
    items = item_fields.Names(about="Labels of the plan's items, in the same order each time, or N for 0 to N - 1.")
    seed = fields.Seed(
        about="Breaks ties at the cut. Each ballot has separate random numbers, so a request with more ballots "
        "repeats the earlier selections."
    )
    ballots = VotedBallots(required=True, about="Ballots 1, 2, ... with all of their comparisons, answered or not.")

    @validates_schema
    def check_plan(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse items and ballots that do not match the plan."""
        plan, items = data["plan"], data["items"]
        n_items = items if isinstance(items, int) else len(items)
        if n_items != plan.n_items:
            raise ValidationError(f"the plan is for {plan.n_items} items; got {n_items}", "items")
        if len(data["ballots"]) > plan.n_ballots:
            raise ValidationError(f"the plan has {plan.n_ballots} ballots; got {len(data['ballots'])}", "ballots")


SCORED_BALLOT: Final = shapes.Component.exactly(
    "ScoredBallot",
    **shapes.properties_of(
        BallotRecord,
        *("number", "items", "x", "y", "b", "ybar", *shapes.COUNTS, "n_tied_at_cut"),
        has_nan=False,
        number={"minimum": 1},
        items=item_fields.LABELS("Items of the ballot; the arrays below are in their order."),
    ),
)
shapes.Component.of(
    NextBallot, number={"minimum": 2}, items=item_fields.LABELS(minItems=2), presentations={"minimum": 1}
)


class ScoresAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ProtocolResult,
        *("ybar", "last_ballot"),
        has_nan=False,
        ybar={"description": "In the order of the ranking: mean of y up to the last ballot of each item."},
        last_ballot={"description": "In the order of the ranking: the last ballot that each item took part in."},
    ),
    **shapes.properties_of(
        InterimResult,
        "next_ballot",
        next_ballot={
            "description": "Add `voters` and the seed, and send it to POST /v1/ballots; null after the last ballot."
        },
    ),
):
    """Scores of each ballot, the ranking so far, and the next ballot."""

    ballots = shapes.list_of(SCORED_BALLOT.reference, minItems=1)
    ranking = item_fields.RANKS_ARRAY.reference(item_fields.BEST_FIRST)


plans = Blueprint("plans", __name__, url_prefix="/v1/plans", description="Sizes and cost of ballots")
ballots = Blueprint("ballots", __name__, url_prefix="/v1/ballots", description="Comparisons for voters")
scores = Blueprint("scores", __name__, url_prefix="/v1/scores", description="From votes to a ranking")


@plans.post("", name="planBallots")
@plans.arguments(PlanRequest)
@plans.response(200, PlanAnswer)
def plan(*, n_items: int, n_voters: int | None = None, **options: Any) -> dict[str, Any]:
    """Plan the ballots: their sizes, comparisons and cost, with advice on weak points."""
    planning = PlanOptions(**options)
    planned, seconds = planning.plan(n_items), planning.seconds_per_comparison
    if max(planned.n_comparisons, planned.top_presentations) > LARGEST_EXACT:
        raise PlanError(f"a plan has at most {LARGEST_EXACT} comparisons; this one has {planned.n_comparisons}")
    numbers = planned.to_dict()
    return {
        "plan": {name: numbers.pop(name) for name in ("n_items", "n_ballots", "fraction", "presentations")},
        **numbers,
        "hours": None if seconds is None else planned.cost(seconds),
        "advice": planned.advice if n_voters is None else planned.advice_for(n_voters),
    }


@ballots.post("", name="drawBallot")
@ballots.arguments(BallotRequest)
@ballots.response(200, BallotAnswer)
def draw(
    *, items: item_fields.Labels, presentations: int, voters: item_fields.Labels, seed: int, number: int
) -> dict[str, Any]:
    """Draw a ballot: balanced comparisons for each voter, reproducible with a seed."""
    ballot = draw_ballot(items, presentations, voters, ballot_rng(seed, number, "draw"))
    return {
        "number": number,
        "n_comparisons": ballot.n_comparisons,
        "comparisons": ballot.by_voter(),
        "certificate": ballot.certificate().to_dict(ballot.items),
    }


@scores.post("", name="scoreBallots")
@scores.arguments(ScoresRequest)
@scores.response(200, ScoresAnswer)
def score(**votes: Any) -> dict[str, Any]:
    """Score the ballots so far, and select the items of the next one."""
    return score_ballots(**votes).to_dict()
