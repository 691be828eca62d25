"""Read labels, rankings of items and votes on them from requests: checked as a whole, and fast on long lists."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from flask import g
from marshmallow import ValidationError

from adaptive._protocol import checked_labels
from adaptive._votes import UNANSWERED, WORDS
from adaptive.errors import AdaptiveError
from rankcorr import Ranking, RankingError
from rankcorr._checks import counted
from rankcorr._input.scores import check_count
from rankcorr.errors import LabelError, LengthError
from service.http.problems import shown, unknown_fields
from service.schemas import fields
from service.schemas.shapes import NUMBER, WHOLE, Component, list_of, map_of, one_of

_MOST: Final = fields.Limit("max_items")
_NUMBERS: Final = list_of(NUMBER, minItems=2, maxItems=_MOST)
_NUMBER_OF_LABEL: Final = map_of(NUMBER, minProperties=2, maxProperties=_MOST)
_LABELS: Final = list_of(fields.LABEL_SCHEMA, minItems=2, maxItems=_MOST, uniqueItems=True)
_TIED: Final = list_of(fields.LABEL_SCHEMA, minItems=1, uniqueItems=True)
_PLACES: Final = list_of({"anyOf": [fields.LABEL_SCHEMA, _TIED]}, minItems=1, maxItems=_MOST, uniqueItems=True)


_way_to_give: Final = partial(Component.exactly, optional=["labels"])
RANKS_ARRAY: Final = _way_to_give(
    "RanksArray", "Ranks in an array: smaller is better, 1 is the top.", ranks=_NUMBERS, labels=_LABELS
)
BEST_FIRST: Final = "All items, best first, as the other endpoints take a ranking; tied items share their rank."
WAYS_TO_GIVE: Final = (
    _way_to_give("ScoresByLabel", "Scores by label: larger is better.", scores=_NUMBER_OF_LABEL),
    _way_to_give("ScoresArray", "Scores in an array: larger is better.", scores=_NUMBERS, labels=_LABELS),
    _way_to_give("RanksByLabel", "Ranks by label: smaller is better, 1 is the top.", ranks=_NUMBER_OF_LABEL),
    RANKS_ARRAY,
    _way_to_give("Order", "Labels from best to worst; a nested list is a group of ties.", order=_PLACES),
)
RANKING: Final = Component(
    "Ranking",
    {
        "description": (
            "A ranking, in exactly one way. `scores`: larger is better. `ranks`: smaller is better, 1 is the top. "
            "`order`: labels from best to worst, where a nested list is a group of ties. Scores and ranks are an "
            "object of label to number, or an array of numbers, with the labels in a second array if there are any."
        ),
        "oneOf": [way.reference for way in WAYS_TO_GIVE],
        "example": {"scores": {"king": 9.1, "queen": 8.7, "cabbage": 1.2}},
    },
)

_WAYS: Final = ("scores", "ranks", "order")


class RankingField(fields.Documented):
    """A ranking, given in exactly one of `WAYS_TO_GIVE`; it is read into a `Ranking`."""

    documented: Mapping[str, Any] = RANKING.reference

    def read(self, value: Any) -> Ranking:
        """Check a value, and return it as the library call takes it."""
        way = _way(value)
        numbers = value[way]
        if "labels" in value:
            check_labels(value["labels"], "labels")
        n_items = _n_items(way, numbers)
        fields.check_limit("max_items", n_items, of="items of a ranking")
        try:
            check_count(n_items)
            ranking = _read_order(numbers) if way == "order" else _read_numbers(way, numbers, value.get("labels"))
        except RankingError as error:
            at = "labels" if "labels" in value and isinstance(error, LabelError | LengthError) else way
            raise ValidationError({at: [str(error)]}) from error
        g.n_items = g.get("n_items", 0) + ranking.n_items
        return ranking


def _way(value: Any) -> str:
    """Return the key that shows what the numbers or labels mean."""
    if not isinstance(value, dict):
        raise ValidationError(
            f'must be an object with one of the keys "scores", "ranks" and "order"; got {shown(value)}'
        )
    ways = [name for name in _WAYS if name in value]
    if len(ways) != 1:
        got = f"both {' and '.join(map(shown, ways))}" if ways else f"none, but {shown(list(value))}"
        raise ValidationError(
            'exactly one of "scores" (larger is better), "ranks" (1 is the top) and "order" (labels, best first) is '
            f"needed; got {got}"
        )
    with_labels = ways[0] != "order" and isinstance(value[ways[0]], list)
    unknown = [key for key in value if key != ways[0] and not (with_labels and key == "labels")]
    if "labels" in unknown:
        where = "an order is made of labels" if ways[0] == "order" else "the keys of the object are the labels"
        raise ValidationError({"labels": [f"labels are given twice: {where}"]})
    if unknown:
        raise ValidationError(unknown_fields(unknown))
    return ways[0]


def _n_items(way: str, numbers: Any) -> int:
    if not isinstance(numbers, list) and (way == "order" or not isinstance(numbers, dict)):
        form = "an array" if way == "order" else "an object of label to number, or an array of numbers"
        raise ValidationError({way: [f"must be {form}; got {shown(numbers)}"]})
    if way == "order":
        # An empty group is refused later.
        return sum(len(entry) or 1 if isinstance(entry, list) else 1 for entry in numbers)
    return len(numbers)


def _read_numbers(way: str, values: Any, labels: Any) -> Ranking:
    fields.check_numbers(values, way)
    numbers, names = (list(values.values()), list(values)) if isinstance(values, dict) else (values, labels)
    return (Ranking.from_scores if way == "scores" else Ranking.from_ranks)(numbers, names)


def _read_order(groups: list[Any]) -> Ranking:
    if not set(map(type, groups)) <= fields.LABEL_TYPES:
        groups[:] = map(unify_label, groups)
        for place, entry in enumerate(groups):
            if isinstance(entry, list):
                check_labels(entry, "order", str(place))
            elif type(entry) not in fields.LABEL_TYPES:
                message = f"must be a label (text or whole number) or a list of tied labels; got {shown(entry)}"
                raise ValidationError({"order": {str(place): [message]}})
    return Ranking.from_order(groups)


def unify_label(label: Any) -> Any:
    """Return a label with 2.0 changed to 2, because JSON Schema treats both as one whole number.

    >>> unify_label(2.0), unify_label(2.5), unify_label("2.0")
    (2, 2.5, '2.0')
    """
    return int(label) if type(label) is float and label.is_integer() and abs(label) < 2**63 else label


def read_label(value: Any, *path: str) -> str | int:
    """Return a label of an item, a voter or a prompt; refuse any value that is neither text nor a whole number."""
    label: str | int = unify_label(value)
    if type(label) not in fields.LABEL_TYPES:
        raise fields.placed([f"a label is text or a whole number; got {shown(value)}"], *path)
    if label == "":
        raise fields.placed(["a label must not be empty"], *path)
    return label


def check_labels(labels: Any, *path: str) -> None:
    """Refuse any value except a list of labels; a label is text or a whole number."""
    if not isinstance(labels, list):
        raise fields.placed([f"must be a list of labels; got {shown(labels)}"], *path)
    if fields.place_of_other(labels, fields.LABEL_TYPES) is not None:
        labels[:] = map(unify_label, labels)
    if (wrong := fields.place_of_other(labels, fields.LABEL_TYPES)) is not None:
        read_label(labels[wrong], *path, str(wrong))


def check_names(labels: Any, *path: str) -> None:
    """Refuse any value except a list of labels, none of them empty text."""
    check_labels(labels, *path)
    if "" in labels:
        read_label("", *path, str(labels.index("")))


def named_rankings(*, of: str = "systems of a batch", **options: Any) -> fields.ByName:
    """Make the field of rankings by name."""
    return fields.ByName(RankingField(), "ranking", of=of, **options)


ANSWERS: Final[Mapping[str | None, int]] = MappingProxyType(
    {**{word: int(vote) for word, vote in WORDS.items()}, None: UNANSWERED}
)
VOTE: Final = fields.vocabulary("Vote", WORDS, "The side that won, or a tie.")
LABELS: Final = list_of(fields.NAME_SCHEMA)
Labels: TypeAlias = int | Sequence[str | int]  # as a request has them; N stands for 0 to N - 1
SIDES: Final = {side: LABELS(f"The item on the {side} of each comparison.") for side in ("left", "right")}


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


class Names(fields.Documented):
    """Labels of items, or names of voters or prompts; or a number N for 0 to N - 1."""

    def __init__(self, noun: str = "items", *, of: str = "", required: bool = True, **kwargs: Any) -> None:
        super().__init__(required=required, **kwargs)
        self.noun, self.of = noun, of or f"{noun} of a ballot"
        self.least, self.limit = (2, "max_items") if noun == "items" else (1, "max_comparisons")
        most = fields.Limit(self.limit)
        self.documented = one_of(
            WHOLE(minimum=self.least, maximum=most, title=f"number of {noun}"),
            list_of(fields.NAME_SCHEMA, minItems=self.least, maxItems=most, uniqueItems=True, title="labels"),
        )
        self._number = fields.Whole(least=self.least)

    def read(self, value: Any) -> int | tuple[str | int, ...]:
        """Check a value, and return it as the library call takes it."""
        if isinstance(value, list):
            self._check_count(len(value))
            check_names(value)
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
