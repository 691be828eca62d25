"""Read answers of any kind: a file, a data frame or rows of JSON -> columns by name -> answers -> `Choices`.

The columns say the kind: graded votes, best-worst answers, rankings, and otherwise votes on pairs, in any format of
`adaptive._formats.votes`. Each answer may have a weight, voter, prompt and covariates.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from adaptive._formats.answers import Answers
from adaptive._formats.records import Frame, Objects, Records, is_missing, records_of_file
from adaptive._formats.votes import (
    PROMPT_NAMES,
    ROLES,
    Columns,
    Format,
    check_meaning,
    is_count,
    name_words,
    vote_columns,
)
from adaptive._tables import csv_text
from adaptive.errors import ComparisonError, ModelError
from adaptive.model._choices import Choices, ChoiceStrengths
from adaptive.model._comparisons import Comparisons
from rankcorr._checks import check_choice, real_number, shown
from rankcorr._input.frames import arrow
from rankcorr._io.source import printable
from rankcorr._io.table import TextTable
from rankcorr._options import declare
from rankcorr._results import read_only
from rankcorr.errors import OptionError

Kind: TypeAlias = Literal["pairs", "grades", "best-worst", "rankings"]
BothBad: TypeAlias = Literal["tie", "left out"]
Disagreement: TypeAlias = Literal["tie", "left out"]
Cluster: TypeAlias = Literal["voter", "prompt", "both"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
CHOICE_ROLES: Final = (
    *ROLES,
    "grade",
    "items",
    "best",
    "worst",
    "ranking",
    "item",
    "rank",
    "prompt",
    "weight",
    "count",
)
NOUNS: Final[dict[str, str]] = {
    "pairs": "votes on pairs",
    "grades": "graded votes",
    "best-worst": "best-worst answers",
    "rankings": "rankings",
}
GRADE_WORDS: Final = {"A>>B": 2, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -2}
_BOTH_BAD: Final = frozenset({"tie (bothbad)", "both_bad", "both bad", "bothbad"})
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "left": ("left", "model_a"),
    "right": ("right", "model_b"),
    "voter": ("voter", "judge", "worker", "annotator", "user_id"),
    "prompt": PROMPT_NAMES,
    "winner": ("winner", "answer", "vote", "choice", "preference"),
    "grade": ("grade",),
    "items": ("items",),
    "best": ("best", "BestItem"),
    "worst": ("worst", "WorstItem"),
    "ranking": ("ranking",),
    "item": ("item",),
    "rank": ("rank",),
}
_WEIGHT_WORDS: Final = frozenset({"weight", "weights", "w", "importance"})
_PLACE: Final = re.compile(r"rank_?([1-9][0-9]*)")
_SHOWN: Final = re.compile(r"[Ii]tem_?([1-9][0-9]*)")
_METADATA: Final = "conv_metadata"
_TURN: Final = "turn"  # of a conversation on one prompt
_MOST_OF_ONE: Final = 0.5  # of the answers: a voter with more decides the ranking
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
    voters, prompts : tuple of hashable, or None
        None if they are not known.
    covariates : dict of str to (ndarray, ndarray)
        Property of what was shown on the left and on the right.
    n_unanswered : int
        Rows without an answer, which are not in `rows`.

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
    n_unanswered: int = 0

    @property
    def items(self) -> tuple[Hashable, ...]:
        """Items, in the order of first appearance."""
        return tuple(dict.fromkeys(chain.from_iterable(map(self._items_of, self.rows))))

    @property
    def n_both_bad(self) -> int:
        """Number of answers "both bad"."""
        return sum(row[2] == "both bad" for row in self.rows) if self.kind == "pairs" else 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits any ranking by these answers: they are of one voter, or mostly of one."""
        if self.voters is None or not self.rows:
            return ()
        voter, number = Counter(self.voters).most_common(1)[0]
        if number == len(self.rows):
            return ("all votes are from one voter: other voters may differ",)
        if number <= _MOST_OF_ONE * len(self.rows):
            return ()
        share = math.floor(100 * number / len(self.rows))
        return (f"{share} % of the answers are of the voter {shown(voter)}, so the ranking is largely theirs",)

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
        return self.select([place for place, name in enumerate(self.voters or ()) if (name in names) != others])

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

    def _items_of(self, row: Any) -> Sequence[Hashable]:
        if self.kind == "rankings":
            return list(chain.from_iterable(row))
        return row[0] if self.kind == "best-worst" else row[:2]  # type: ignore[no-any-return]

    def select(self, rows: Sequence[int]) -> ChoiceAnswers:
        """Return some of the answers.

        Examples
        --------
        >>> answers = ChoiceAnswers("rankings", ((("a",), ("b",)), (("b",), ("c",))), np.ones(2))
        >>> answers.select([1]).items
        ('b', 'c')
        """
        places = list(rows)
        voters, prompts = (
            None if names is None else tuple(names[place] for place in places) for names in (self.voters, self.prompts)
        )
        covariates = {name: (of[0][places], of[1][places]) for name, of in (self.covariates or {}).items()}
        chosen = tuple(self.rows[place] for place in places)
        return replace(
            self, rows=chosen, weights=self.weights[places], voters=voters, prompts=prompts, covariates=covariates
        )

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
            rest = self.select([place for place, row in enumerate(self.rows) if row[2] != "both bad"])
            return rest.choices(side_bias=side_bias, cluster=cluster)
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
        return built if numbers is None else replace(built, clusters=numbers[built.clusters])

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

    def to_csv(self) -> str:
        """Return a table that `read_choices` reads.

        Rankings are cells such as ``a > b = c``, and the items of a best-worst answer are in item_1, item_2, ...

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
        for name, names in (("voter", self.voters), ("prompt", self.prompts)):
            columns |= {} if names is None else {name: names}
        if (self.weights != 1).any():
            columns["weight"] = self.weights.tolist()
        for name, sides in (self.covariates or {}).items():
            columns |= {f"left_{name}": sides[0].tolist(), f"right_{name}": sides[1].tolist()}
        return csv_text(list(columns), zip(*columns.values(), strict=True))

    def __repr__(self) -> str:
        return f"<ChoiceAnswers: {len(self.rows):,} {NOUNS[self.kind]} on {len(self.items):,} items>"


def read_choices(
    source: str | os.PathLike[str] | object,
    *,
    format: Format = "auto",  # noqa: A002 - the same name as elsewhere
    columns: Columns | None = None,
    answers: Answers | Mapping[str, Any] | None = None,
    covariates: Sequence[str] = (),
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
) -> ChoiceAnswers:
    r"""Read answers of any kind from CSV, TSV, JSON, Parquet, a data frame, or a list of dicts.

    =========== ===================================================================================================
    kind        columns
    =========== ===================================================================================================
    grades      left, right (or model_a, model_b), and grade: whole numbers, above 0 if the left side is better, or
                A>>B, A>B, A=B, B>A, B>>A
    best-worst  best, worst (or BestItem, WorstItem), and items, a list or a cell such as ``a|b|c``, or item_1,
                item_2, ... (Item1, ...), where the last ones may be empty
    rankings    ranking: a list, or a cell such as ``a > b = c``, where ``=`` is a tie; or rank_1, rank_2, ... (rank1,
                ...) with the item of each rank; or item and rank, one row for each item, where the ranking is that of
                the column ranking, or of the voter and prompt
    pairs       those of any format of `read_comparisons`; winner may also be "both bad"
    =========== ===================================================================================================

    Each answer may have a voter (or judge, worker, annotator), a prompt (or question_id, query, topic), a weight from 0
    and a count, and, for pairs and grades, covariates: left_length and right_length, or length_left and length_right,
    or length_a and length_b, also inside conv_metadata of arenas. A covariate may be a number, a dict of numbers, which
    are added, or a conversation, the list of its turns, whose characters by the assistant are counted.

    Parameters
    ----------
    source : str, path-like, data frame, or list of dict
    format : str
        Of pairs, as in `read_comparisons`.
    columns : mapping of str to str, optional
        Names of columns that differ from the table above, by role: left, right, winner, voter, prompt, grade, items,
        best, worst, ranking, item, rank, weight, count.
    answers : mapping of answer to meaning, or {"left_won", "codes"}, optional
        Meanings of winners, as in `read_comparisons`; of grades, whole numbers: ``{"much better": 2, ...}``.
    covariates : sequence of str
        Names of covariates to read, such as "length".
    encoding : str
    ignore : sequence of str
        Columns to leave out although their names say that they change the meaning of an answer.

    Returns
    -------
    ChoiceAnswers

    Raises
    ------
    TableError, ComparisonError
        With file, line and column: columns of several kinds, or none; a missing column; a cell that is not of its
        kind; an item twice in one answer; a best item that was not shown, or is also the worst; weights below 0.
    VoteError
        With file, line and column: an unknown winner.
    OptionError
        An unknown role, format, or column.

    See Also
    --------
    read_comparisons : Votes on pairs alone, for `bradley_terry` and models of voters.

    Examples
    --------
    >>> from adaptive import read_choices
    >>> rows = [{"items": ["a", "b", "c"], "best": "a", "worst": "c", "voter": "Ann"}]
    >>> read_choices(rows).rows
    ((('a', 'b', 'c'), 'a', 'c'),)
    """
    records = _records(source, encoding)
    if unknown := [role for role in columns or () if role not in CHOICE_ROLES]:
        raise OptionError(f"columns: unknown role {shown(unknown[0])}; use {', '.join(CHOICE_ROLES)}")
    if isinstance(covariates, str) or isinstance(ignore, str):
        raise OptionError("covariates and ignore are lists of names; got one name")
    if absent := [name for name in ignore if name not in records.names]:
        raise OptionError(f"ignore: there is no column {shown(absent[0])}")
    return _Reader(records, dict(columns or {}), tuple(ignore), tuple(covariates)).answers(format, answers)


def kind_of_choices(
    source: str | os.PathLike[str], encoding: str = "utf-8", columns: Columns | None = None, ignore: Sequence[str] = ()
) -> Kind:
    """Return the kind of answers of a file, by the names of its columns; errors are those of `read_choices`."""
    return _Reader(_records(source, encoding), dict(columns or {}), tuple(ignore), ()).kind()


def joined_answers(parts: Sequence[ChoiceAnswers]) -> ChoiceAnswers:
    """Return the answers of several sources of one kind.

    Raises
    ------
    ComparisonError
        Only some of them know the voters, or the prompts.

    Examples
    --------
    >>> one = ChoiceAnswers("rankings", ((("a",), ("b",)),), np.ones(1))
    >>> joined_answers([one, one])
    <ChoiceAnswers: 2 rankings on 2 items>
    """
    first = parts[0]
    names: dict[str, tuple[Hashable, ...] | None] = {}
    for noun in ("voters", "prompts"):
        columns = [getattr(part, noun) for part in parts]
        if 0 < columns.count(None) < len(columns):
            raise ComparisonError(f"either all files have {noun} or none")
        names[noun] = None if None in columns else tuple(chain.from_iterable(columns))
    covariates = {
        name: tuple(np.concatenate([(part.covariates or {})[name][side] for part in parts]) for side in (0, 1))
        for name in first.covariates or {}
    }
    return ChoiceAnswers(
        first.kind,
        tuple(chain.from_iterable(part.rows for part in parts)),
        np.concatenate([part.weights for part in parts]),
        names["voters"],
        names["prompts"],
        cast("Mapping[str, Any]", covariates),
        sum(part.n_unanswered for part in parts),
    )


def choice_content(fitted: ChoiceStrengths, *, level: float, elo: bool) -> dict[str, Any]:
    """Return a fit as a command and an HTTP answer give it: items best first, parameters, likelihood and warnings."""
    intervals = fitted.rank_intervals(level)
    ratings = fitted.elo()
    items = [
        {
            "item": list(fitted.items[place]) if isinstance(fitted.items[place], tuple) else fitted.items[place],
            "rank": float(fitted.ranking.ranks[place]),
            "strength": float(fitted.theta[place]),
            "standard_error": float(fitted.standard_errors[place]),
            **({"elo": float(ratings[place])} if elo else {}),
            "rank_low": int(intervals.low[place]),
            "rank_high": int(intervals.high[place]),
        }
        for place in np.argsort(fitted.ranking.ranks, kind="stable").tolist()
    ]
    others = [
        {"name": name, "estimate": value, "standard_error": error} for name, (value, error) in fitted.others.items()
    ]
    return {
        "items": items,
        "others": others,
        "log_likelihood": fitted.log_likelihood,
        "prior_sd": fitted.prior_sd if math.isfinite(fitted.prior_sd) else None,
        "warnings": list(fitted.warnings),
    }


def _records(source: Any, encoding: str) -> Records:
    if isinstance(source, str | os.PathLike):
        if os.fspath(source).endswith((".parquet", ".pq")):
            arrow()
            from pyarrow import parquet

            return Frame(parquet.read_table(source))
        return records_of_file(source, encoding=encoding)
    if isinstance(source, list):
        rows = list(source)
        table = TextTable("answers")
        if not rows:
            table.fail("no answers")
        for line, row in enumerate(rows):
            if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
                table.fail(f"an answer is a dict by the names of its columns; got {shown(row)}", line)
        objects = Objects(table, [dict(row) for row in rows], list(range(len(rows))))
        objects.are_texts = True
        return objects
    return Frame(source)


class _Reader:
    """The columns of one source of answers."""

    def __init__(
        self, records: Records, columns: dict[str, Any], ignore: tuple[str, ...], covariates: tuple[str, ...]
    ) -> None:
        self.records, self.columns, self.ignore, self.covariates = records, columns, ignore, covariates
        self.names = [name for name in records.names if name not in ignore]
        self.used: set[str] = {"comparison"}

    def column_of(self, role: str) -> str | None:
        """Return the column of a role, or None."""
        if role in self.columns:
            name = str(self.columns[role])
            if name not in self.names:
                raise OptionError(f"columns names one for {role} that is not there: {shown(name)}")
            return name
        return next((name for name in _NAMES.get(role, ()) if name in self.names), None)

    def fail(self, row: int, column: str, message: str) -> NoReturn:
        """Raise an error with its place."""
        raise self.records.table.error(f"{self.records.place(row, column)}: {message}")

    def numbered(self, pattern: re.Pattern[str]) -> list[str]:
        """Columns with numbers from 1 in their names, in this order."""
        matches = {int(match[1]): name for name in self.names if (match := pattern.fullmatch(name))}
        names = [matches[number] for number in sorted(matches)]
        if names and sorted(matches) != list(range(1, len(names) + 1)):
            self.records.table.fail(f"columns are numbered from 1 without gaps; got {', '.join(names)}")
        return names

    def entries(self, name: str, *, optional: bool = False) -> Sequence[Any]:
        self.used.add(name)
        return self.records.column(name, optional=optional)

    def kind(self) -> Kind:
        """Return the kind of the answers by their columns."""
        names: dict[Kind, str] = {}
        if (best := self.column_of("best")) and (worst := self.column_of("worst")):
            names["best-worst"] = f"{best}, {worst}"
        if grade := self.column_of("grade"):
            names["grades"] = grade
        rank, item, ranking = (self.column_of(role) for role in ("rank", "item", "ranking"))
        if rank and item:
            names["rankings"] = f"{item}, {rank}"
        elif ranking or self.numbered(_PLACE):
            names["rankings"] = ranking or ", ".join(self.numbered(_PLACE)[:2])
        if len(names) > 1:
            parts = " and ".join(f"{kind} ({printable(text)})" for kind, text in names.items())
            self.records.table.fail(
                f"the columns fit several kinds of answers: {parts}; leave out those of the others by ignore",
                self.records.header.line,
            )
        return next(iter(names), "pairs")

    def answers(self, form: Format, meanings: Any) -> ChoiceAnswers:
        """Return all answers."""
        kind = self.kind()
        if form != "auto" and kind != "pairs":
            raise OptionError(f"format is one of pairs, but the columns are those of {kind}")
        if meanings is not None and kind in ("best-worst", "rankings"):
            raise OptionError(f"answers gives words for winners and grades a meaning; these answers are {kind}")
        if self.covariates and kind not in ("pairs", "grades"):
            raise OptionError(f"covariates are those of two sides; these answers are {kind}")
        if kind == "pairs":
            rows = self.pairs(form, meanings)
        elif kind == "grades":
            rows = self.grades(meanings)
        elif kind == "best-worst":
            rows = self.best_worst()
        else:
            rows = self.rankings()
        self.check_pairs(kind, rows)
        if not self.records.lines:
            self.records.table.fail("no answers, only the names of the columns", self.records.header.line)
        if kind == "rankings" and self._has_ranked_items:
            return self.grouped(rows)
        voters, prompts = self.labels("voter"), self.labels("prompt")
        weights = self.weights()
        covariates = {name: self.covariate(name) for name in self.covariates}
        self.check_rest()
        everything = ChoiceAnswers(kind, tuple(rows), weights, voters, prompts, covariates)
        return self.without_gaps(everything)

    def check_pairs(self, kind: Kind, rows: Sequence[Any]) -> None:
        """Refuse votes on pairs in rows without an answer of the kind that other rows have."""
        winner = self.column_of("winner") if kind != "pairs" else None
        if winner is None or winner in self.used:
            return
        for place, (row, entry) in enumerate(zip(rows, self.records.column(winner, optional=True), strict=True)):
            has_answer = not _is_empty(row[1]) if kind == "rankings" and self._has_ranked_items else row is not None
            if not has_answer and not _is_empty(entry) and entry != "cannot say":
                self.fail(
                    place,
                    winner,
                    f"a vote on a pair, whereas other rows have {NOUNS[kind]}: give each kind a file, or leave this "
                    f"column out by ignore",
                )

    @property
    def _has_ranked_items(self) -> bool:
        """Whether a row is an item with its rank."""
        return bool(self.column_of("rank") and self.column_of("item"))

    def without_gaps(self, everything: ChoiceAnswers) -> ChoiceAnswers:
        """Count rows without an answer, and check that no item is written in two ways."""
        answered = [place for place, row in enumerate(everything.rows) if row is not None]
        answers = replace(everything.select(answered), n_unanswered=len(everything.rows) - len(answered))
        texts: dict[str, Hashable] = {}
        for item in answers.items:
            if texts.setdefault(str(item), item) is not item and type(texts[str(item)]) is not type(item):
                self.records.table.fail(f"the item {shown(str(item))} is text in one row, and a number in another")
        read_only(answers.weights)
        return answers

    def check_rest(self) -> None:
        """Refuse columns that would change the meaning of an answer."""
        for name in self.names:
            if name not in self.used:
                check_meaning(self.records, name)

    def labels(self, role: str) -> tuple[Hashable, ...] | None:
        """Return voters or prompts; None without such a column, or if it is empty."""
        name = self.column_of(role)
        if name is None:
            return None
        entries = [None if is_missing(entry) or entry == "" else entry for entry in self.entries(name, optional=True)]
        if None in entries:
            row = entries.index(None)
            if all(entry is None for entry in entries):
                return None
            self.fail(row, name, f"a {role} is missing here, and other answers have one: name it in every row, or none")
        if role == "prompt" and _TURN in self.names:
            turns = self.entries(_TURN, optional=True)
            if any(turn != turns[0] for turn in turns):
                entries = [f"{entry}, turn {turn}" for entry, turn in zip(entries, turns, strict=True)]
        return tuple(
            json.dumps(entry, sort_keys=True, ensure_ascii=False) if isinstance(entry, list | dict) else entry
            for entry in entries
        )

    def weights(self) -> NDArray[np.float64]:
        """Return how often each answer counts: its weight times its count."""
        total = np.ones(len(self.records.lines))
        rest = [name for name in self.names if name not in self.used and is_count(name_words(name))]
        for role, is_weight in (("weight", True), ("count", False)):
            named = self.column_of(role)
            names = [named] if named else [name for name in rest if bool(name_words(name) & _WEIGHT_WORDS) == is_weight]
            if len(names) > 1:
                self.records.table.fail(
                    f"both {printable(names[0])} and {printable(names[1])} say how often an answer counts; leave one "
                    "out by ignore",
                    self.records.header.line,
                )
            for name in names:
                for row, entry in enumerate(self.entries(name)):
                    number = _number(entry)
                    if not 0 <= number < 1e12 or not (is_weight or number.is_integer()):
                        need = "a number" if is_weight else "a whole number"
                        self.fail(row, name, f"a {role} is {need} from 0 to below 1e12; got {shown(entry)}")
                    total[row] *= number
        return total

    def covariate(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a covariate of both sides."""
        forms = [(f"left_{name}", f"right_{name}"), (f"{name}_left", f"{name}_right"), (f"{name}_a", f"{name}_b")]
        for first, second in forms:
            if {first, second} <= set(self.names):
                return self.values(first, self.entries(first)), self.values(second, self.entries(second))
        if _METADATA in self.names:
            rows = [entry if isinstance(entry, dict) else {} for entry in self.entries(_METADATA)]
            for first, second in (*forms, *_inner_forms(name)):
                if all({first, second} <= row.keys() for row in rows):
                    left, right = ([row[side] for row in rows] for side in (first, second))
                    return self.values(_METADATA, left), self.values(_METADATA, right)
        pairs = [text[:-2] for text in self.names if text.endswith("_a") and f"{text[:-2]}_b" in self.names]
        pairs += [text[5:] for text in self.names if text.startswith("left_") and f"right_{text[5:]}" in self.names]
        known = ", ".join(printable(pair) for pair in pairs if pair != "model")
        raise self.records.table.error(
            f"{self.records.table.name}: no columns left_{name} and right_{name}, or {name}_a and {name}_b, for the "
            f"covariate {shown(name)}; "
            + (f"covariates of this file: {known}" if known else f"got {', '.join(map(printable, self.names))}")
        )

    def values(self, name: str, entries: Sequence[Any]) -> NDArray[np.float64]:
        numbers = [_size(entry) for entry in entries]
        for row, number in enumerate(numbers):
            if not math.isfinite(number):
                self.fail(row, name, f"a covariate is a finite number; got {shown(entries[row])}")
        return np.array(numbers, np.float64)

    def pairs(self, form: Format, meanings: Any) -> list[Any]:
        """Return (left, right, answer) of each row; None without an answer."""
        columns = {role: name for role, name in self.columns.items() if role in ROLES}
        more = dict.fromkeys(_BOTH_BAD, "tie")
        votes = vote_columns(self.records, form, columns, meanings, ignore=self.ignore, more_words=more)
        self.used |= set(votes.names.values()) | (set(self.records.names) - set(votes.unused) - set(self.ignore))
        answers = list(votes.answer)
        if "winner" in votes.names and votes.names["winner"] in self.names:
            said = self.records.column(votes.names["winner"], optional=True)
            answers = [
                "both bad" if answer == "tie" and isinstance(word, str) and word in _BOTH_BAD else answer
                for answer, word in zip(answers, said, strict=True)
            ]
        left, right = votes.left or (), votes.right or ()
        winner = votes.names.get("winner", "winner")
        rows: list[Any] = []
        for place, row in enumerate(zip(left, right, answers, strict=True)):
            if row[0] == row[1]:
                self.fail(place, winner, f"an item is compared with itself: {shown(row[0])}")
            rows.append(None if row[2] in (None, "cannot say") else row)
        return rows

    def grades(self, meanings: Any) -> list[Any]:
        """Return (left, right, grade) of each row; None without a grade."""
        stems = [self.column_of(side) for side in ("left", "right")]
        for side, stem in zip(("left", "right"), stems, strict=True):
            if stem is None and not self.records.has_side(side):
                self.records.table.fail(f"graded votes need a column {side}", self.records.header.line)
        used, sides = self.records.sides(*(stem or side for stem, side in zip(stems, ("left", "right"), strict=True)))
        self.used |= set(chain.from_iterable(used.values()))
        name = str(self.column_of("grade"))
        if isinstance(meanings, str):
            raise OptionError(f"answers {shown(meanings)} are those of winners; grades are whole numbers")
        table = {**GRADE_WORDS, **_grade_meanings(meanings or {})}
        rows: list[Any] = []
        for place, row in enumerate(zip(sides["left"], sides["right"], self.entries(name), strict=True)):
            grade = _grade(row[2], table)
            if grade is None and not (is_missing(row[2]) or row[2] == ""):
                self.fail(place, name, f"a grade is a whole number, or {', '.join(table)}; got {shown(row[2])}")
            if row[0] == row[1]:
                self.fail(place, name, f"an item is compared with itself: {shown(row[0])}")
            rows.append(None if grade is None else (row[0], row[1], grade))
        if rows and not any(row[2] for row in rows if row):
            self.records.table.fail("no grade prefers a side", self.records.header.line, name)
        return rows

    def best_worst(self) -> list[Any]:
        """Return (items, best, worst) of each row; None without an answer."""
        names = [str(self.column_of(role)) for role in ("best", "worst")]
        column = self.column_of("items")
        numbered = [] if column else self.numbered(_SHOWN)
        if not column and not numbered:
            self.records.table.fail("best-worst answers need a column items, or item_1, item_2, ...", 1)
        best, worst = (self.entries(name, optional=True) for name in names)
        lists: Sequence[Any]
        if column:
            lists = [_listed(entry, "|") for entry in self.entries(column)]
        else:
            cells = zip(*(self.entries(name, optional=True) for name in numbered), strict=True)
            lists = [[cell for cell in row if not _is_empty(cell)] for row in cells]
        rows: list[Any] = []
        for place, (items, top, last) in enumerate(zip(lists, best, worst, strict=True)):
            where = column or numbered[0]
            if not isinstance(items, list) or len(items) < 2:
                self.fail(place, where, f"two items or more are shown; got {shown(items)}")
            self.check_items(place, where, items)
            if _is_empty(top) and _is_empty(last):
                rows.append(None)
                continue
            for name, entry in zip(names, (top, last), strict=True):
                if entry not in items:
                    self.fail(place, name, f"one of {', '.join(map(shown, items))} is expected; got {shown(entry)}")
            if top == last:
                self.fail(place, names[1], f"{shown(last)} is the best and the worst")
            rows.append((tuple(items), top, last))
        return rows

    def rankings(self) -> list[Any]:
        """Return groups of ties of each row, best first; or (ranking, item, rank) if rows are ranked items."""
        rank, item = self.column_of("rank"), self.column_of("item")
        if rank and item:
            return list(zip(self.entries(item), self.entries(rank, optional=True), strict=True))
        name = self.column_of("ranking")
        if name:
            column = [_order(entry) for entry in self.entries(name, optional=True)]
            return [self.checked_order(place, name, order) for place, order in enumerate(column)]
        names = self.numbered(_PLACE)
        rows = []
        for place, cells in enumerate(zip(*(self.entries(name, optional=True) for name in names), strict=True)):
            listed = [cell for cell in cells if not _is_empty(cell)]
            if any(map(_is_empty, cells[: len(listed)])):
                gap = next(number for number, cell in enumerate(cells) if _is_empty(cell))
                self.fail(place, names[gap], "an empty rank before others")
            rows.append(self.checked_order(place, names[0], [[cell] for cell in listed]))
        return rows

    def checked_order(self, place: int, name: str, order: Any) -> tuple[tuple[Hashable, ...], ...] | None:
        if order == []:
            return None
        if not isinstance(order, list):
            self.fail(place, name, f"a ranking is a list of items, or text such as a > b = c; got {shown(order)}")
        if not all(order) or any(_is_empty(item) for group in order for item in group):
            self.fail(place, name, "a ranking has an empty item")
        self.check_items(place, name, list(chain.from_iterable(order)))
        if sum(map(len, order)) < 2:
            self.fail(place, name, f"a ranking has two items or more; got {shown(order[0][0])} alone")
        return tuple(map(tuple, order))

    def check_items(self, place: int, name: str, items: Sequence[Any]) -> None:
        """Refuse entries that are no labels, and an item that comes twice."""
        for item in items:
            if isinstance(item, bool) or not isinstance(item, str | int) or _is_empty(item):
                self.fail(place, name, f"an item is text or a whole number; got {shown(item)}")
            if isinstance(item, str) and not self.records.are_texts and (item != item.strip() or "\n" in item):
                self.fail(place, name, f"a space or a line break at an end of {shown(item)}")
        if len(set(items)) < len(items):
            again = next(item for item in items if items.count(item) > 1)
            self.fail(place, name, f"{shown(again)} comes twice in one answer")

    def grouped(self, rows: list[Any]) -> ChoiceAnswers:
        """Return rankings from rows of one item and its rank each."""
        item, rank = str(self.column_of("item")), str(self.column_of("rank"))
        list_column = self.column_of("ranking")
        keys: list[tuple[Hashable, ...]] = []
        voters, prompts = self.labels("voter"), self.labels("prompt")
        parts = [names for names in (voters, prompts) if names is not None]
        if list_column:
            parts = [tuple(map(str, self.entries(list_column)))]
        keys = list(zip(*parts, strict=True)) if parts else [()] * len(rows)
        weights = self.weights()
        self.check_rest()
        orders: dict[tuple[Hashable, ...], dict[Hashable, float]] = {}
        first: dict[tuple[Hashable, ...], int] = {}
        for place, (key, (label, entry)) in enumerate(zip(keys, rows, strict=True)):
            self.check_items(place, item, [label])
            start = first.setdefault(key, place)
            ranks = orders.setdefault(key, {})
            for names, noun in ((voters, "voter"), (prompts, "prompt"), (weights, "weight")):
                if names is not None and names[place] != names[start]:
                    self.fail(place, item, f"the rows of one ranking have several {noun}s")
            if label in ranks:
                self.fail(place, item, f"{shown(label)} comes twice in one ranking")
            if _is_empty(entry):
                continue
            ranks[label] = _number(entry)
            if not 0 < ranks[label] < math.inf:
                self.fail(place, rank, f"a rank is a number above 0, 1 for the best; got {shown(entry)}")
        lists: list[Any] = []
        for key, ranks in orders.items():
            groups = [tuple(label for label in ranks if ranks[label] == value) for value in sorted(set(ranks.values()))]
            if len(ranks) == 1:
                self.fail(first[key], item, f"a ranking has two items or more; got {shown(next(iter(ranks)))} alone")
            lists.append(tuple(groups) or None)
        starts = list(first.values())
        names_of: list[Callable[[int], Hashable] | None] = [
            None if names is None else names.__getitem__ for names in (voters, prompts)
        ]
        of_voter, of_prompt = (None if get is None else tuple(map(get, starts)) for get in names_of)
        return self.without_gaps(ChoiceAnswers("rankings", tuple(lists), weights[starts], of_voter, of_prompt))


def _inner_forms(name: str) -> list[tuple[str, str]]:
    """Names of arenas with the side inside: sum_assistant_a_tokens."""
    head, _, last = name.rpartition("_")
    return [(f"{head}_a_{last}", f"{head}_b_{last}")] if head else []


def _is_empty(entry: object) -> bool:
    return is_missing(entry) or (isinstance(entry, str) and not entry.strip())


def _number(entry: object) -> float:
    """Return the number in a cell; nan if there is none."""
    if isinstance(entry, str):
        try:
            return float(entry)
        except ValueError:
            return math.nan
    return real_number(entry)


def _size(entry: object) -> float:
    """Return a number, the sum of a dict of numbers, or the characters of an assistant in a conversation."""
    if isinstance(entry, dict):
        return math.fsum(map(_number, entry.values())) if entry else math.nan
    if isinstance(entry, list) and entry and all(isinstance(turn, dict) for turn in entry):
        contents = [turn.get("content") for turn in entry if turn.get("role", "assistant") == "assistant"]
        return float(sum(map(len, contents))) if all(isinstance(text, str) for text in contents) else math.nan
    return _number(entry)


def _grade(entry: object, table: Mapping[str, int]) -> int | None:
    if isinstance(entry, str) and entry.strip() in table:
        return table[entry.strip()]
    number = math.nan if isinstance(entry, bool) else _number(entry)
    return int(number) if number.is_integer() and abs(number) <= 50 else None


def _grade_meanings(meanings: Mapping[str, Any]) -> dict[str, int]:
    table = {}
    for word, meaning in meanings.items():
        number = _number(meaning)
        if not isinstance(word, str) or not number.is_integer():
            raise OptionError(f"a grade is a whole number; got {shown({word: meaning})}")
        table[word] = int(number)
    return table


def _listed(entry: object, separator: str) -> object:
    return [part.strip() for part in entry.split(separator)] if isinstance(entry, str) else entry


def _order(entry: object) -> object:
    """Return groups of ties from a cell; an empty list without a ranking."""
    if _is_empty(entry):
        return []
    if isinstance(entry, str):
        return [[item.strip() for item in group.split("=")] for group in entry.split(">")]
    if not isinstance(entry, list):
        return entry
    return [group if isinstance(group, list) else [group] for group in entry]
