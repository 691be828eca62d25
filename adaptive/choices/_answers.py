"""Answers of any kind by column, with weights, voters, prompts and covariates -> `Choices`."""

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
from adaptive.choices._choices import Choices
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError, ModelError
from rankcorr._checks import check_choice, declare, shown

Kind: TypeAlias = Literal["pairs", "grades", "best-worst", "rankings"]
BothBad: TypeAlias = Literal["tie", "left out"]
Disagreement: TypeAlias = Literal["tie", "left out"]
Cluster: TypeAlias = Literal["voter", "prompt", "both"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
NOUNS: Final[dict[str, str]] = {
    "pairs": "votes on pairs",
    "grades": "graded votes",
    "best-worst": "best-worst answers",
    "rankings": "rankings",
}
_NAMES: Final = {"voters": "voter", "prompts": "prompt", "turns": "turn"}  # columns of names, in a file
_MOST_OF_ONE: Final = 0.5  # of the answers: a voter with more decides the ranking
_FAR_AHEAD: Final = 2  # times as many answers as the next voter: so does this voter, if a third of all are theirs
_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class ChoiceOptions:
    """Options of a fit to answers of any kind."""

    cluster: str | None = declare(
        str,
        None,
        choices=get_args(Cluster),
        about="Answers of one voter, or on one prompt, depend on each other: standard errors allow for that.",
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
        about="Also report how far this voter agrees with all others, who count as people. The ranking counts all "
        "votes alike.",
    )
    powered_by: str | None = declare(
        str,
        None,
        about="Rank by the votes of all others, who count as people: those of this judge on more prompts make the "
        "ranking more precise, without adding the judge's bias. No prior is used, unless one is given.",
    )
    swapped: str | None = declare(
        str,
        None,
        choices=get_args(Disagreement),
        about="Make two answers of one voter to the same pair with exchanged sides one answer, and this if they "
        "disagree.",
    )
    elo: bool = declare(
        bool, False, about="Also give strengths on the scale of chess: 1000 + 400 / ln 10 times the strength."
    )


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceAnswers:
    """Answers of one kind, with weight, voter, prompt and covariates of each.

    Attributes
    ----------
    kind : {"pairs", "grades", "best-worst", "rankings"}
    rows : tuple
        Pairs: (left, right, answer), where the answer is "left", "right", "tie" or "both bad". Grades: (left, right,
        grade), above 0 if the left side is better. Best-worst: (items, best, worst). Rankings: groups of ties, best
        first.
    weights : ndarray of float64, shape (n_answers,)
        How often each answer counts.
    voters, prompts, turns : tuple of hashable, or None
        None if they are not known. A turn is one of a conversation on a prompt; answers on two turns are answers to two
        questions, but of one cluster.
    covariates : dict of str to (ndarray, ndarray)
        Property of what was shown on the left and on the right.
    unanswered : dict of (hashable, hashable) to int
        Number of rows without an answer, which are not in `rows`, by voter and prompt; None stands for an unknown one.

    See Also
    --------
    read_choices : Returns it.
    Choices : Its likelihood.

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
        """What each answer is about: a prompt, or one turn of a conversation; None if that is not known."""
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
        """What limits any ranking by these answers: they are of one voter, or mostly of one."""
        if self.voters is None or not self.rows:
            return ()
        if len(set(self.voters)) == 1:
            return ("all votes are from one voter: other voters may differ",)
        if (dominant := self._dominant_voter()) is None:
            return ()
        voter, share = dominant
        # Only votes on the same prompts show how a judge differs from people.
        advice = "" if self.prompts is None else "; if this is a judge, powered_by ranks by the people instead"
        return (f"{share} % of the answers are of the voter {shown(voter)}, so the ranking is largely theirs{advice}",)

    def _dominant_voter(self) -> tuple[Hashable, int] | None:
        """Return the voter whose answers decide the ranking, and their share in percent; None without such a voter."""
        (voter, number), *rest = Counter(self.voters).most_common(2)
        is_far_ahead = bool(rest) and number > _FAR_AHEAD * rest[0][1] and 3 * number > len(self.rows)
        is_dominant = number > _MOST_OF_ONE * len(self.rows) or is_far_ahead
        return (voter, math.floor(100 * number / len(self.rows))) if is_dominant else None

    def basis_of(self, n_answers: str) -> str:
        """Return the number of answers and whose they are, for a title."""
        if self.voters is None or not self.rows:
            return n_answers
        if len(set(self.voters)) == 1:
            return f"{n_answers} of {self.voters[0]}"
        dominant = self._dominant_voter()
        share = "" if dominant is None else f" ({dominant[1]} % of {dominant[0]})"
        return f"{n_answers} of {len(set(self.voters)):,} voters{share}"

    def counts(self, both_bad: BothBad = "tie") -> dict[Hashable, dict[str, float]]:
        """Return the presentations, wins, ties and losses of each item, of votes on pairs with their weights.

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
            raise ModelError(f"only votes on pairs are won and lost; these answers are {NOUNS[self.kind]}")
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
            The voters are not known, or one of these is not among them.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("a", "b", "right"), ("a", "b", "left"))
        >>> answers = ChoiceAnswers("pairs", rows, np.ones(3), voters=("Ann", "gpt", "Bob"))
        >>> answers.of_voters(["gpt"]), answers.of_voters(["gpt"], others=True).voters
        (<ChoiceAnswers: 1 votes on pairs on 2 items>, ('Ann', 'Bob'))
        """
        for voter in voters:
            self.check_voter(voter)
        names = set(voters)
        part = self.select([place for place, name in enumerate(self.voters or ()) if (name in names) != others])
        counts = {key: number for key, number in self.unanswered.items() if (key[0] in names) != others}
        return replace(part, unanswered=counts)

    def check_voter(self, voter: Hashable) -> None:
        """Refuse a voter who gave no answer.

        Raises
        ------
        ModelError
            The voters are not known, or this one is not among them.
        """
        if self.voters is None:
            raise ModelError("the voters are not known")
        if voter not in self.voters:
            names = [shown(name) for name in dict.fromkeys(self.voters)]
            rest = f", and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
            raise ModelError(f"no voter is called {shown(voter)}; there are {', '.join(names[:_MOST_NAMED])}{rest}")

    def select(self, places: Sequence[int]) -> ChoiceAnswers:
        """Return some of the answers.

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
        """Return the columns of names, by the noun of each."""
        return {noun: getattr(self, noun) for noun in _NAMES}

    def without_both_bad(self) -> ChoiceAnswers:
        """Return the answers other than "both bad", which become rows without an answer.

        Examples
        --------
        >>> rows = (("a", "b", "left"), ("b", "c", "both bad"))
        >>> ChoiceAnswers("pairs", rows, np.ones(2)).without_both_bad().rows
        (('a', 'b', 'left'),)
        """
        if self.kind != "pairs":
            return self
        is_bad = [row[2] == "both bad" for row in self.rows]
        unanswered = Counter(self.unanswered)
        unanswered.update(key for key, bad in zip(self._voters_and_prompts(), is_bad, strict=True) if bad)
        return replace(self.select([place for place, bad in enumerate(is_bad) if not bad]), unanswered=unanswered)

    def _voters_and_prompts(self) -> list[tuple[Hashable, Hashable]]:
        nobody = (None,) * len(self.rows)
        return list(zip(self.voters or nobody, self.prompts or nobody, strict=True))

    def without_gaps(self) -> ChoiceAnswers:
        """Return the rows with an answer, and count the others, which are None.

        Examples
        --------
        >>> rows = (("a", "b", "left"), None)
        >>> ChoiceAnswers("pairs", rows, np.ones(2), voters=("Ann", "Bob")).without_gaps().unanswered
        Counter({('Bob', None): 1})
        """
        keys = zip(self._voters_and_prompts(), self.rows, strict=True)
        unanswered = Counter(key for key, row in keys if row is None)
        answered = [place for place, row in enumerate(self.rows) if row is not None]
        return replace(self.select(answered), unanswered=unanswered)

    @property
    def seen_prompts(self) -> set[Hashable]:
        """Prompts of all rows, also of those without an answer."""
        return {*(self.prompts or ()), *(prompt for _, prompt in self.unanswered)} - {None}

    def choices(self, *, side_bias: bool = False, cluster: Cluster | None = None, both_bad: BothBad = "tie") -> Choices:
        """Return the likelihood of the answers.

        Parameters
        ----------
        side_bias : bool
            Fit a preference for the left side, of pairs and grades.
        cluster : {"voter", "prompt", "both"}, optional
            Answers of one voter, or on one prompt, depend on each other.
        both_bad : {"tie", "left out"}
            What "both bad" counts as; `n_both_bad` counts these answers.

        Raises
        ------
        ModelError
            The voters or prompts are not known, no item has a side, or an error of `Choices`.

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
        names, numbers = self._clusters(cluster)
        options: dict[str, Any] = {"weights": self.weights, "clusters": names}
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
        clusters = built.clusters if numbers is None else numbers[built.clusters]
        return replace(built, clusters=clusters, basis=self.basis_of(built.basis))

    def _clusters(self, cluster: Cluster | None) -> tuple[list[Hashable] | None, NDArray[np.int64] | None]:
        """Return the cluster of each answer, and the two numbers of each cluster if it is one of a voter and prompt."""
        columns: list[tuple[Hashable, ...]] = []
        for name in () if cluster is None else ("voter", "prompt") if cluster == "both" else (cluster,):
            column = self.voters if name == "voter" else self.prompts
            if column is None:
                raise ModelError(f"clusters of {name}s need the {name} of each answer, and no column has it")
            columns.append(column)
        if len(columns) < 2:
            return (list(columns[0]) if columns else None), None
        pairs = list(zip(*columns, strict=True))
        known = [{name: number for number, name in enumerate(dict.fromkeys(column))} for column in columns]
        table = [[known[0][voter], known[1][prompt]] for voter, prompt in dict.fromkeys(pairs)]
        return list(pairs), np.array(table, np.int64)

    def with_text_labels(self) -> ChoiceAnswers:
        """Return the answers with text for all items, voters and prompts.

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
        """Return a table that `read_choices` reads.

        Rankings are cells such as ``a > b = c``, and the items of a best-worst answer are in item_1, item_2, ... Rows
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
            raise ModelError(f"a cell holds text or a whole number; the item {shown(odd[0])} is neither")
        columns: dict[str, Sequence[Any]] = {}
        if self.kind == "rankings":
            if odd := [item for item in self.items if re.search("[>=]", str(item))]:
                raise ModelError(f"a ranking in a cell has > and = between items; the item is {shown(odd[0])}")
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
        return f"<ChoiceAnswers: {len(self.rows):,} {NOUNS[self.kind]} on {len(self.items):,} items>"


def items_of_row(kind: Kind, row: Any) -> Sequence[Hashable]:
    """Return the items of a row of `ChoiceAnswers`."""
    if kind == "rankings":
        return list(chain.from_iterable(row))
    return row[0] if kind == "best-worst" else row[:2]  # type: ignore[no-any-return]


def _text(label: Hashable) -> Hashable:
    return tuple(map(str, label)) if isinstance(label, tuple) else str(label)


def joined_answers(parts: Sequence[ChoiceAnswers], sources: Sequence[str] = ()) -> ChoiceAnswers:
    """Return the answers of several sources of one kind; names are text, as a number in JSON is text in CSV.

    Messages name the sources, if they are known.

    Raises
    ------
    ComparisonError
        Only some of them know the voters, or the prompts; or a whole number is written with decimals in one source.

    A source without turns is about no turn that another one has.

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
    """Refuse a name of one source that is also written with decimals in another."""

    def source_of(text: str) -> str:
        return next((source for source, part in zip(sources, names, strict=False) if text in map(str, part)), "")

    check_decimals(chain.from_iterable(names), noun, ComparisonError, source_of)
