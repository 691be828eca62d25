"""Answers of any kind with their weights, voters, prompts and covariates, and their conversion to `Choices`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from adaptive._tables import check_decimals, csv_text
from adaptive.choices._choices import Choices, number_clusters
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError, ModelError
from rankcorr._checks import check_choice, counted, declare, shown

Kind: TypeAlias = Literal["pairs", "grades", "best-worst", "rankings"]
BothBad: TypeAlias = Literal["tie", "left out"]
Disagreement: TypeAlias = Literal["tie", "left out"]
Cluster: TypeAlias = Literal["voter", "prompt", "both"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
NOUNS: Final[dict[str, tuple[str, str]]] = {  # one answer, several answers
    "pairs": ("vote on a pair", "votes on pairs"),
    "grades": ("graded vote", "graded votes"),
    "best-worst": ("best-worst answer", "best-worst answers"),
    "rankings": ("ranking", "rankings"),
}
_NAMES: Final = {"voters": "voter", "prompts": "prompt", "turns": "turn"}  # attribute: column of a file
# A voter is dominant with more than half of all answers, or with a third and twice as many as the next voter.
_MOST_OF_ONE: Final = 0.5
_FAR_AHEAD: Final = 2
_MOST_NAMED: Final = 20


@dataclass(frozen=True)
class ChoiceOptions:
    """Options of a fit to answers of any kind."""

    cluster: str | None = declare(
        str,
        None,
        choices=get_args(Cluster),
        about="Allow in standard errors for the dependence of answers of one voter, or on one prompt.",
    )
    both_bad: str | None = declare(
        str,
        None,
        choices=get_args(BothBad),
        about='Treatment of the answer "both bad" on a pair: a tie, which is the default, or left out.',
    )
    judge: str | None = declare(
        str,
        None,
        about="Also report how well this voter agrees with all others, who count as people. The ranking does not "
        "distinguish their votes.",
    )
    powered_by: str | None = declare(
        str,
        None,
        about="Rank by the votes of all other voters, who count as people. The votes of this judge on more prompts "
        "make the ranking more precise, without adding the judge's bias. By default there is no prior.",
    )
    swapped: str | None = declare(
        str,
        None,
        choices=get_args(Disagreement),
        about="Merge two answers of one voter to the same pair with swapped sides into one, and into this if they "
        "disagree.",
    )
    elo: bool = declare(
        bool, False, about="Also give strengths on the Elo scale of chess: 1000 + 400 / ln 10 times the strength."
    )


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceAnswers:
    """Answers of one kind, each with its weight, voter, prompt and covariates.

    Attributes
    ----------
    kind : {"pairs", "grades", "best-worst", "rankings"}
    rows : tuple
        Pairs: (left, right, answer), where the answer is "left", "right", "tie" or "both bad". Grades: (left, right,
        grade), above 0 if the left side is better. Best-worst: (items, best, worst). Rankings: groups of ties, best
        first.
    weights : ndarray of float64, shape (n_answers,)
        Weight of each answer in the likelihood.
    voters, prompts, turns : tuple of hashable, or None
        Voter, prompt and turn of each answer; None if unknown. A turn is a step of a conversation on a prompt. Answers
        on two turns are answers to different questions, but belong to one cluster.
    covariates : dict of str to (ndarray, ndarray)
        Property of the left and of the right side of each answer, such as its length.
    unanswered : dict of (hashable, hashable) to int
        Number of rows without an answer, which are not in `rows`, by voter and prompt; None if one is unknown.

    See Also
    --------
    read_choices : Returns it.
    Choices : The likelihood of the answers.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import ChoiceAnswers
    >>> answers = ChoiceAnswers("best-worst", ((("a", "b", "c"), "a", "c"), (("a", "b", "d"), "b", "d")), np.ones(2))
    >>> answers
    <ChoiceAnswers: 2 best-worst answers on 4 items>
    >>> answers.choices().fit(prior=1).ranking.best_first.tolist()
    [0, 1, 2, 3]
    """

    kind: Kind
    rows: tuple[Any, ...]
    weights: NDArray[np.float64]
    voters: tuple[Hashable, ...] | None = None
    prompts: tuple[Hashable, ...] | None = None
    covariates: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None
    turns: tuple[Hashable, ...] | None = None
    unanswered: Mapping[tuple[Hashable, Hashable], int] = field(default_factory=dict)

    @property
    def n_unanswered(self) -> int:
        """Number of rows without an answer."""
        return sum(self.unanswered.values())

    @property
    def questions(self) -> list[Hashable]:
        """The prompt and turn of each answer, as far as known; None if neither is."""
        columns = [names for names in (self.prompts, self.turns) if names is not None]
        return list(zip(*columns, strict=True)) if columns else [None] * len(self.rows)

    @property
    def items(self) -> tuple[Hashable, ...]:
        """Items, in the order of first appearance."""
        return tuple(dict.fromkeys(chain.from_iterable(items_of_row(self.kind, row) for row in self.rows)))

    @property
    def n_both_bad(self) -> int:
        """Number of answers "both bad"."""
        return sum(row[2] == "both bad" for row in self.rows) if self.kind == "pairs" else 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if all or most answers come from one voter."""
        if self.voters is None or not self.rows:
            return ()
        if len(set(self.voters)) == 1:
            return ("all votes are from one voter: other voters may differ",)
        if (dominant := self._dominant_voter()) is None:
            return ()
        voter, share = dominant
        # powered_by needs prompts: only votes on the same prompts show how a judge differs from people.
        advice = "" if self.prompts is None else "; if this is a judge, set powered_by= to rank by the people instead"
        return (f"{share} % of the answers are from the voter {shown(voter)}, who dominates the ranking{advice}",)

    def _dominant_voter(self) -> tuple[Hashable, int] | None:
        """Return the voter whose answers dominate the ranking, and their share in percent; None if nobody's do."""
        (voter, number), *rest = Counter(self.voters).most_common(2)
        is_far_ahead = bool(rest) and number > _FAR_AHEAD * rest[0][1] and 3 * number > len(self.rows)
        is_dominant = number > _MOST_OF_ONE * len(self.rows) or is_far_ahead
        return (voter, math.floor(100 * number / len(self.rows))) if is_dominant else None

    def basis_of(self, n_answers: str) -> str:
        """Return the number of answers and their voters, for a title."""
        if self.voters is None or not self.rows:
            return n_answers
        if len(set(self.voters)) == 1:
            return f"{n_answers} of {self.voters[0]}"
        dominant = self._dominant_voter()
        share = "" if dominant is None else f" ({dominant[1]} % of {dominant[0]})"
        return f"{n_answers} of {len(set(self.voters)):,} voters{share}"

    def counts(self, both_bad: BothBad = "tie") -> dict[Hashable, dict[str, float]]:
        """Return the weighted presentations, wins, ties and losses of each item in votes on pairs.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("b", "a", "tie"))
        >>> ChoiceAnswers("pairs", rows, np.ones(2)).counts()["a"]
        {'presentations': 2, 'wins': 1, 'ties': 1, 'losses': 0}

        Raises
        ------
        ModelError
            The answers are of another kind.
        """
        if self.kind != "pairs":
            raise ModelError(f"only votes on pairs have wins and losses; these answers are {NOUNS[self.kind][1]}")
        counts: dict[Hashable, dict[str, float]] = {
            item: dict.fromkeys(("presentations", "wins", "ties", "losses"), 0) for item in self.items
        }
        weights = [int(weight) if weight.is_integer() else weight for weight in self.weights.tolist()]
        for (left, right, answer), weight in zip(self.rows, weights, strict=True):
            if answer == "both bad" and both_bad == "left out":
                continue
            for item, winner in ((left, "left"), (right, "right")):
                counts[item]["presentations"] += weight
                outcome = "ties" if answer in ("tie", "both bad") else "wins" if answer == winner else "losses"
                counts[item][outcome] += weight
        return counts

    def of_voters(self, voters: Sequence[Hashable], *, others: bool = False) -> ChoiceAnswers:
        """Return the answers of some voters, or those of all others.

        Raises
        ------
        ModelError
            The voters are unknown, or there is no voter of this name.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("a", "b", "right"), ("a", "b", "left"))
        >>> answers = ChoiceAnswers("pairs", rows, np.ones(3), voters=("Ann", "gpt", "Bob"))
        >>> answers.of_voters(["gpt"]), answers.of_voters(["gpt"], others=True).voters
        (<ChoiceAnswers: 1 vote on a pair on 2 items>, ('Ann', 'Bob'))
        """
        if isinstance(voters, str):
            raise ModelError(f"voters must be a list of names; got {shown(voters)}")
        for voter in voters:
            self.check_voter(voter)
        names = set(voters)
        part = self.select([place for place, name in enumerate(self.voters or ()) if (name in names) != others])
        counts = {key: number for key, number in self.unanswered.items() if (key[0] in names) != others}
        return replace(part, unanswered=counts)

    def check_voter(self, voter: Hashable) -> None:
        """Raise ModelError if the voters are unknown, or if this one gave no answer."""
        if self.voters is None:
            raise ModelError("the voters are not known")
        if voter not in self.voters:
            names = [shown(name) for name in dict.fromkeys(self.voters)]
            rest = f", and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
            raise ModelError(f"no voter is called {shown(voter)}; there are {', '.join(names[:_MOST_NAMED])}{rest}")

    def select(self, places: Sequence[int]) -> ChoiceAnswers:
        """Return the answers at some indices.

        Examples
        --------
        >>> answers = ChoiceAnswers("rankings", ((("a",), ("b",)), (("b",), ("c",))), np.ones(2))
        >>> answers.select([1]).items
        ('b', 'c')
        """
        places = list(places)
        names: dict[str, Any] = {
            noun: None if column is None else tuple(column[place] for place in places)
            for noun, column in self._names().items()
        }
        covariates = {name: (of[0][places], of[1][places]) for name, of in (self.covariates or {}).items()}
        rows = tuple(self.rows[place] for place in places)
        return replace(self, rows=rows, weights=self.weights[places], covariates=covariates, **names)

    def _names(self) -> dict[str, tuple[Hashable, ...] | None]:
        """Return the voters, prompts and turns by attribute."""
        return {noun: getattr(self, noun) for noun in _NAMES}

    def without_both_bad(self) -> ChoiceAnswers:
        """Return the answers other than "both bad"; those count as rows without an answer.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("b", "c", "both bad"))
        >>> ChoiceAnswers("pairs", rows, np.ones(2)).without_both_bad().rows
        (('a', 'b', 'left'),)
        """
        if self.kind != "pairs":
            return self
        return self._without([row[2] == "both bad" for row in self.rows])

    def without_gaps(self) -> ChoiceAnswers:
        """Return the rows with an answer, and count the others, which are None, in `unanswered`.

        Examples
        --------
        >>> rows = (("a", "b", "left"), None)
        >>> ChoiceAnswers("pairs", rows, np.ones(2), voters=("Ann", "Bob")).without_gaps().unanswered
        Counter({('Bob', None): 1})
        """
        return self._without([row is None for row in self.rows])

    def _without(self, is_unanswered: Sequence[bool]) -> ChoiceAnswers:
        """Return the other rows, and count these in `unanswered`."""
        nobody, unanswered = (None,) * len(self.rows), Counter(self.unanswered)
        keys = zip(self.voters or nobody, self.prompts or nobody, strict=True)
        unanswered.update(key for key, is_without in zip(keys, is_unanswered, strict=True) if is_without)
        answered = [place for place, is_without in enumerate(is_unanswered) if not is_without]
        return replace(self.select(answered), unanswered=unanswered)

    @property
    def seen_prompts(self) -> set[Hashable]:
        """Prompts of all rows, including those without an answer."""
        return {*(self.prompts or ()), *(prompt for _, prompt in self.unanswered)} - {None}

    def choices(self, *, side_bias: bool = False, cluster: Cluster | None = None, both_bad: BothBad = "tie") -> Choices:
        """Return the likelihood of the answers.

        Parameters
        ----------
        side_bias : bool
            Fit a preference for the left side; for pairs and grades.
        cluster : {"voter", "prompt", "both"}, optional
            Allow for the dependence of answers of one voter, or on one prompt.
        both_bad : {"tie", "left out"}
            Treatment of the answer "both bad"; `n_both_bad` is the number of these answers.

        Raises
        ------
        ModelError
            The voters or prompts of the clusters are unknown, a side bias is fitted to answers without sides, or an
            error of `Choices`.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("b", "c", "both bad"), ("a", "c", "left"))
        >>> answers = ChoiceAnswers("pairs", rows, np.ones(3))
        >>> answers.choices().names, answers.choices(both_bad="left out").names
        (('tie',), ())
        """
        check_choice("both_bad", both_bad, get_args(BothBad))
        if cluster is not None:
            check_choice("cluster", cluster, get_args(Cluster))
        if both_bad == "left out" and self.n_both_bad:
            return self.without_both_bad().choices(side_bias=side_bias, cluster=cluster)
        if side_bias and self.kind not in ("pairs", "grades"):
            raise ModelError(f"only pairs have sides; these answers are {self.kind}")
        numbers = self._clusters(cluster)
        # Each answer is a cluster at first, because an answer can become several choices.
        options: dict[str, Any] = {"weights": self.weights, "clusters": range(len(self.rows))}
        if self.kind == "rankings":
            built = Choices.from_rankings([list(map(list, row)) for row in self.rows], **options)
        elif self.kind == "best-worst":
            built = Choices.from_best_worst(self.rows, **options)
        else:
            options |= {"side_bias": side_bias, "covariates": self.covariates}
            left, right, answers = map(list, zip(*self.rows, strict=True)) if self.rows else ([], [], [])
            if self.kind == "pairs":
                winners = ["tie" if answer == "both bad" else answer for answer in answers]
                built = Choices.from_pairs(Comparisons.from_labels(left, right, winners), **options)
            else:
                place = {item: number for number, item in enumerate(self.items)}
                places = [np.array([place[item] for item in side], np.int64) for side in (left, right)]
                built = Choices.from_grades(self.items, places[0], places[1], np.array(answers, np.int64), **options)
        clusters = None if numbers is None else numbers[built.clusters]
        return replace(built, clusters=clusters, basis=self.basis_of(built.basis))

    def _clusters(self, cluster: Cluster | None) -> NDArray[np.int64] | None:
        """Return the number of the voter or prompt of each answer, or both in two columns."""
        columns: list[Any] = []
        for name in () if cluster is None else ("voter", "prompt") if cluster == "both" else (cluster,):
            column = self.voters if name == "voter" else self.prompts
            if column is None:
                raise ModelError(f"clusters of {name}s need the {name} of each answer, and no column has it")
            columns.append(number_clusters(column, len(self.rows)))
        return np.column_stack(columns) if len(columns) > 1 else columns[0] if columns else None

    def with_text_labels(self) -> ChoiceAnswers:
        """Return the answers with all items, voters and prompts converted to text.

        Examples
        --------
        >>> ChoiceAnswers("pairs", ((1, 2, "left"),), np.ones(1), prompts=(81,)).with_text_labels().rows
        (('1', '2', 'left'),)
        """
        rows: tuple[Any, ...]
        if self.kind == "rankings":
            rows = tuple(tuple(tuple(map(_text, group)) for group in row) for row in self.rows)
        elif self.kind == "best-worst":
            rows = tuple((tuple(map(_text, items)), _text(best), _text(worst)) for items, best, worst in self.rows)
        else:
            rows = tuple((_text(left), _text(right), answer) for left, right, answer in self.rows)
        voters, prompts = (
            None if column is None else tuple(map(str, column)) for column in (self.voters, self.prompts)
        )
        unanswered: Counter[tuple[Hashable, Hashable]] = Counter()
        for key, number in self.unanswered.items():
            voter, prompt = (None if name is None else str(name) for name in key)
            unanswered[voter, prompt] += number
        return replace(self, rows=rows, unanswered=unanswered, voters=voters, prompts=prompts)

    def to_csv(self) -> str:
        """Return the answers as CSV that `read_choices` can read.

        Rankings are cells such as ``a > b = c``. The items of a best-worst answer are in item_1, item_2, ... Rows
        without an answer are left out.

        Raises
        ------
        ModelError
            An item is neither text nor a whole number, or a ranking has an item with ``>`` or ``=`` in its name.

        Examples
        --------
        >>> answers = ChoiceAnswers("rankings", ((("a",), ("b", "c")),), np.ones(1), voters=("Ann",))
        >>> print(answers.to_csv(), end="")
        ranking,voter
        a > b = c,Ann
        """
        if odd := [item for item in self.items if not isinstance(item, str | int)]:
            raise ModelError(f"items in CSV must be text or whole numbers; got {shown(odd[0])}")
        columns: dict[str, Sequence[Any]] = {}
        if self.kind == "rankings":
            if odd := [item for item in self.items if re.search("[>=]", str(item))]:
                raise ModelError(
                    f"items of a ranking in CSV must not contain > or =, which separate items; got {shown(odd[0])}"
                )
            columns["ranking"] = [" > ".join(" = ".join(map(str, group)) for group in row) for row in self.rows]
        elif self.kind == "best-worst":
            most = max((len(row[0]) for row in self.rows), default=0)
            for place in range(most):
                columns[f"item_{place + 1}"] = [row[0][place] if place < len(row[0]) else "" for row in self.rows]
            columns |= {"best": [row[1] for row in self.rows], "worst": [row[2] for row in self.rows]}
        else:
            last = "winner" if self.kind == "pairs" else "grade"
            columns |= {name: [row[place] for row in self.rows] for place, name in enumerate(("left", "right", last))}
        columns |= {_NAMES[noun]: names for noun, names in self._names().items() if names is not None}
        if (self.weights != 1).any():
            columns["weight"] = self.weights.tolist()
        for name, sides in (self.covariates or {}).items():
            columns |= {f"left_{name}": sides[0].tolist(), f"right_{name}": sides[1].tolist()}
        return csv_text(list(columns), zip(*columns.values(), strict=True))

    def __repr__(self) -> str:
        return f"<ChoiceAnswers: {counted(len(self.rows), *NOUNS[self.kind])} on {counted(len(self.items), 'item')}>"


def items_of_row(kind: Kind, row: Any) -> Sequence[Hashable]:
    """Return the items of a row of `ChoiceAnswers`."""
    if kind == "rankings":
        return list(chain.from_iterable(row))
    return row[0] if kind == "best-worst" else row[:2]  # type: ignore[no-any-return]


def _text(label: Hashable) -> Hashable:
    return tuple(map(str, label)) if isinstance(label, tuple) else str(label)


def joined_answers(parts: Sequence[ChoiceAnswers], sources: Sequence[str] = ()) -> ChoiceAnswers:
    """Join the answers of several sources of the same kind.

    Labels become text, because a number in JSON is text in CSV. Answers of a source without turns are not merged with
    those of any turn.

    Parameters
    ----------
    parts : sequence of ChoiceAnswers
    sources : sequence of str
        Names of the sources for messages, if known.

    Raises
    ------
    ComparisonError
        Only some sources have voters, or prompts; or one source writes whole numbers with decimals.

    Examples
    --------
    >>> one = ChoiceAnswers("rankings", ((("a",), ("b",)),), np.ones(1))
    >>> joined_answers([one, one])
    <ChoiceAnswers: 2 rankings on 2 items>
    """
    if len(parts) > 1:
        parts = [part.with_text_labels() for part in parts]
    first = parts[0]
    names: dict[str, tuple[Hashable, ...] | None] = {}
    for noun, column in _NAMES.items():
        columns = [getattr(part, noun) for part in parts]
        if noun == "turns" and any(columns):
            columns = [turns or (None,) * len(part.rows) for turns, part in zip(columns, parts, strict=True)]
        if 0 < columns.count(None) < len(columns):
            n_lacking = columns.count(None)
            raise ComparisonError(
                f"{n_lacking} of {len(columns)} files {'has' if n_lacking == 1 else 'have'} no {noun}: give each a "
                f"column {column}, such as one name in all rows"
            )
        names[noun] = None if None in columns else tuple(chain.from_iterable(columns))
        _check_decimals_of([getattr(part, noun) or () for part in parts], column, sources)
    _check_decimals_of([part.items for part in parts], "item", sources)
    covariates = {
        name: tuple(np.concatenate([(part.covariates or {})[name][side] for part in parts]) for side in (0, 1))
        for name in first.covariates or {}
    }
    return ChoiceAnswers(
        first.kind,
        tuple(chain.from_iterable(part.rows for part in parts)),
        np.concatenate([part.weights for part in parts]),
        covariates=cast("Mapping[str, Any]", covariates),
        unanswered=sum((Counter(part.unanswered) for part in parts), Counter()),
        **names,
    )


def _check_decimals_of(names: Sequence[Sequence[Hashable]], noun: str, sources: Sequence[str]) -> None:
    """Raise ComparisonError if one source writes a whole number with decimals and another one without."""

    def source_of(text: str) -> str:
        return next((source for source, part in zip(sources, names, strict=False) if text in map(str, part)), "")

    check_decimals(chain.from_iterable(names), noun, ComparisonError, source_of)
