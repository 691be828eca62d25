"""Define fields of plans, ballots, votes and voters; as strict and fast as those of `service.schemas.fields`."""

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from flask import g
from marshmallow import ValidationError
from numpy.typing import NDArray

from adaptive import BallotVotes
from adaptive._protocol import checked_labels
from adaptive._votes import UNANSWERED, WORDS
from adaptive.errors import AdaptiveError
from rankcorr._checks import counted, counted_need
from rankcorr._input.numbers import LARGEST_EXACT
from service.http.problems import shown, unknown_fields
from service.schemas import fields
from service.schemas.ranking_fields import check_labels, read_label
from service.schemas.shapes import NUMBER, WHOLE, Component, exactly, list_of, one_of

# Above this, some languages cannot read whole numbers in JSON exactly.
LARGEST: Final = LARGEST_EXACT
ANSWERS: Final[Mapping[str | None, int]] = MappingProxyType(
    {**{word: int(vote) for word, vote in WORDS.items()}, None: UNANSWERED}
)
LABELS: Final = list_of(fields.LABEL_SCHEMA)
Labels: TypeAlias = int | Sequence[str | int]  # as a request has them; N stands for 0 to N - 1
SIDES: Final = {side: LABELS(f"The item on the {side} of each comparison.") for side in ("left", "right")}


class ItemCount(fields.Count):
    """Number of items of a plan."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(limit="max_items", of="items of a plan", least=2, required=True, **kwargs)

    def read(self, value: Any) -> Any:
        """Check a value, and return it as the library call takes it."""
        g.n_items = super().read(value)
        return g.n_items


class ItemNames(fields.Documented):
    """Labels of items, or a number N for the labels 0 to N - 1."""

    noun, least, limit = "items", 2, "max_items"

    def __init__(self, *, of: str = "", required: bool = True, **kwargs: Any) -> None:
        super().__init__(required=required, **kwargs)
        self.of = of or f"{self.noun} of a ballot"
        most = fields.Limit(self.limit)
        self.documented = one_of(
            WHOLE(minimum=self.least, maximum=most, title=f"number of {self.noun}"),
            list_of(fields.LABEL_SCHEMA, minItems=self.least, maxItems=most, uniqueItems=True, title="labels"),
        )
        self._number = fields.Whole(least=self.least)

    def read(self, value: Any) -> int | tuple[str | int, ...]:
        """Check a value, and return it as the library call takes it."""
        if isinstance(value, list):
            self._check_count(len(value))
            check_labels(value)
            try:
                checked_labels(value, self.noun)
            except AdaptiveError as error:
                raise ValidationError(str(error)) from error
            return tuple(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError(f"must be a number of {self.noun}, or a list of labels; got {shown(value)}")
        count: int = self._number.read(value)
        self._check_count(count)
        return count

    def _check_count(self, count: int) -> None:
        if count < self.least:
            raise ValidationError(f"must be at least {counted(self.least, self.noun.removesuffix('s'))}; got {count}")
        fields.check_limit(self.limit, count, of=self.of)
        if self.noun == "items":
            g.n_items = count


class VoterNames(ItemNames):
    """Names of voters, or a number V for the names 0 to V - 1."""

    noun, least, limit = "voters", 1, "max_comparisons"


class PromptNames(ItemNames):
    """Names of prompts, or a number P for the names 0 to P - 1."""

    noun, least, limit = "prompts", 1, "max_comparisons"


class Interval(fields.Documented):
    """The lower and upper end of a voter's level."""

    def __init__(self, *, most: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        bounds = NUMBER(minimum=0, maximum=most)
        self.documented = list_of(bounds, minItems=2, maxItems=2)
        self._number = fields.Number(least=0, most=most)

    def read(self, value: Any) -> tuple[float, float]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or len(value) != 2:
            raise ValidationError(f"must be a list of the least and the largest; got {shown(value)}")
        low, high = (fields.read_at(self._number, entry, str(place)) for place, entry in enumerate(value))
        if low > high:
            raise ValidationError(f"must be the least, then the largest; got {shown(value)}")
        return low, high


class Similarity(fields.Documented):
    """A distribution by name, or the similarity of each item."""

    _item: Final = NUMBER(minimum=-1, maximum=1)
    documented: Mapping[str, Any] = one_of(
        fields.DISTRIBUTION.reference, list_of(_item, minItems=2, maxItems=fields.Limit("max_items"))
    )
    _name = fields.Choice(fields.DISTRIBUTION)
    _number = fields.Number(least=-1, most=1)

    def read(self, value: Any) -> str | NDArray[np.float64]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list):
            if isinstance(value, str):
                return self._name.read(value)
            words = ", ".join(map(shown, fields.DISTRIBUTION.words))
            raise ValidationError(f"must be one of {words} or a list of numbers; got {shown(value)}")
        if len(value) < 2:
            raise ValidationError(f"must be a similarity for each of at least 2 items; got {len(value)}")
        fields.check_limit("max_items", len(value), of="similarities")
        for place, number in enumerate(value):
            if type(number) not in (int, float) or not -1 <= number <= 1:
                fields.read_at(self._number, number, str(place))
        return np.array(value, np.float64)


FORM: Final = Component.exactly(
    "VotedComparisons",
    voter=fields.LABEL_SCHEMA("Who voted; the scores do not depend on it."),
    **SIDES,
    votes=list_of(
        fields.VOTE.reference.or_null(),
        about="The answer to each comparison: the side that won, or a tie; null without an answer.",
    ),
    optional=["voter"],
)
VOTED_BALLOT: Final = Component("VotedBallot", exactly(comparisons=list_of(FORM.reference, minItems=1)))


class VotedBallots(fields.Documented):
    """Ballots with their votes, voter by voter, in the order of the comparisons from `POST /v1/ballots`."""

    documented: Mapping[str, Any] = list_of(VOTED_BALLOT.reference, minItems=1)

    def read(self, value: Any) -> list[BallotVotes]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or not value:
            raise ValidationError(f"must be a list of ballots, at least one; got {shown(value)}")
        for place, ballot in enumerate(value):
            check_keys(ballot, {"comparisons"}, set(), str(place))
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
    check_keys(form, {"left", "right", "votes"}, {"voter"}, *path)
    for side in SIDES:
        check_labels(form[side], *path, side)
    if "voter" in form:
        read_label(form["voter"], *path, "voter")
    votes = form["votes"]
    check_votes(votes, *path, "votes")
    for side in SIDES:
        if len(form[side]) != len(votes):
            message = f"{counted_need(len(votes), 'vote')} as many items on each side; got {len(form[side])}"
            raise fields.placed([message], *path, side)


def check_votes(votes: Any, *path: str) -> None:
    """Refuse any value except a list of votes, with null for no answer."""
    if not isinstance(votes, list):
        raise fields.placed([f"must be a list of votes; got {shown(votes)}"], *path)
    for place, vote in enumerate(votes):
        check_vote(vote, *path, str(place))


def check_vote(value: Any, *path: str) -> None:
    """Refuse any value except a vote, or null for no answer."""
    if not (value is None or (type(value) is str and value in ANSWERS)):
        words = ", ".join(map(shown, WORDS))
        raise fields.placed([f"must be one of {words}, or null for no answer; got {shown(value)}"], *path)


def check_keys(value: Any, needed: set[str], possible: set[str], *path: str) -> None:
    """Refuse any value except an object with these keys."""
    if not isinstance(value, dict):
        raise fields.placed([f"must be an object; got {shown(value)}"], *path)
    faults = {key: ["this field is needed"] for key in sorted(needed - value.keys())}
    faults |= unknown_fields([key for key in value if key not in needed | possible])
    if faults:
        raise fields.placed(faults, *path)


def _read_votes(forms: list[dict[str, Any]]) -> BallotVotes:
    columns = {key: list(chain.from_iterable(form[key] for form in forms)) for key in ("left", "right", "votes")}
    answers = np.array([ANSWERS[vote] for vote in columns["votes"]], np.int8)
    return BallotVotes(columns["left"], columns["right"], answers)
