"""Target words with candidates of three categories, and the answers of annotators: data sets of word similarity.

Made from votes or read from a file; written as a table or as JSON.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from rankcorr._checks import counted, offending, real_number, shown, whole_number
from rankcorr._io.source import path_text, write_atomically
from rankcorr._io.table import Record, TextTable, is_json, list_names
from rankcorr._output.results import Result
from rankcorr.errors import RankingError, TableError
from rankcorr.measures._agreement import checked_votes

Category: TypeAlias = Literal["positive", "distractor", "random"]
Triplet: TypeAlias = tuple[str, str, str]  # target, and two of its candidates

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
COLUMNS: Final = ("target", "first", "first_category", "second", "second_category", "share", "n_answers")


class TargetGroupError(RankingError):
    """Target groups, votes on them, or similarities that contradict their definition.

    See Also
    --------
    TargetGroups : Raises it.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups
    >>> TargetGroups({"singer": {"musician": "positive", "singer": "positive"}})
    Traceback (most recent call last):
        ...
    rankcorr.vectors._target_groups.TargetGroupError: target 'singer' is among its own candidates
    """


@dataclass(frozen=True, eq=False, repr=False)
class TargetGroups(Result):
    """Target words with candidates of three categories, and the answers of annotators on pairs of positives.

    Positive candidates have the preferred relation to their target, distractors another one, and random candidates
    none. Annotators compare positives only: a positive candidate ranks above every distractor and every random
    candidate of its target by definition.

    Parameters
    ----------
    categories : mapping of target to mapping of candidate to {"positive", "distractor", "random"}
    shares : mapping of (target, candidate, candidate) to float, optional
        Share of the answers that rank the first candidate above the second. Pairs of positives without an entry were
        not compared, and do not count.
    n_answers : mapping of (target, candidate, candidate) to int, optional
        Number of answers behind each share; keys as in `shares`.

    Raises
    ------
    TargetGroupError
        A target is its own candidate, has fewer than two positives, or a category is unknown; a share is not between 0
        and 1, of candidates that are not positives of one target, or given twice.

    See Also
    --------
    TargetGroups.of_votes : Count the answers of annotators.
    read_target_groups : Read them from a file.
    reliability_score : Score a model.
    rankcorr.measures.comparison_agreement : How the annotators agree.

    References
    ----------
    O. Avraham and Y. Goldberg, Improving Reliability of Word Similarity Evaluation by Redesigning Annotation Task and
    Performance Measure, RepEval 2016, section 4.

    Examples
    --------
    >>> from rankcorr.vectors import TargetGroups
    >>> categories = {"singer": {"musician": "positive", "person": "positive", "song": "distractor", "ink": "random"}}
    >>> groups = TargetGroups(categories, {("singer", "musician", "person"): 0.9})
    >>> groups, len(groups.triplets)
    (<TargetGroups of 1 target, 4 candidates, 1 comparison>, 5)
    """

    categories: Mapping[str, Mapping[str, Category]]
    shares: Mapping[Triplet, float]
    n_answers: Mapping[Triplet, int]

    def __init__(
        self,
        categories: Mapping[str, Mapping[str, Category]],
        shares: Mapping[Triplet, float] | None = None,
        n_answers: Mapping[Triplet, int] | None = None,
    ) -> None:
        for name, value in (("categories", categories), ("shares", shares), ("n_answers", n_answers)):
            if value is not None and not isinstance(value, Mapping):
                raise TargetGroupError(f"{name} must be a mapping; got {shown(value)}")
        checked = {target: _checked_candidates(target, group) for target, group in categories.items()}
        if not checked:
            raise TargetGroupError("target groups are needed; got none")
        object.__setattr__(self, "categories", checked)
        object.__setattr__(self, "shares", _checked_shares(checked, shares or {}))
        unknown = [key for key in n_answers or {} if key not in self.shares]
        if unknown:
            raise TargetGroupError(offending("n_answers has triplets that shares lacks", unknown))
        if wrong := [number for number in (n_answers or {}).values() if (whole_number(number) or 0) < 1]:
            raise TargetGroupError(offending("n_answers must be whole numbers from 1; got", wrong))
        object.__setattr__(self, "n_answers", dict(n_answers or {}))

    @classmethod
    def of_votes(
        cls, votes: Iterable[tuple[Hashable, str, str, str]], categories: Mapping[str, Mapping[str, Category]]
    ) -> TargetGroups:
        """Count the votes of annotators.

        Parameters
        ----------
        votes : iterable of (annotator, target, better, worse)
            Each says that the annotator ranks one positive candidate of the target above another.
        categories
            As in `TargetGroups`.

        Raises
        ------
        TargetGroupError
            A vote has another form, an annotator compared a candidate with itself, or two candidates of a target twice,
            or the votes do not fit the categories.

        Examples
        --------
        >>> from rankcorr.vectors import TargetGroups
        >>> categories = {"singer": {"musician": "positive", "person": "positive", "song": "distractor"}}
        >>> votes = [("a", "singer", "musician", "person"), ("b", "singer", "musician", "person")]
        >>> votes += [("c", "singer", "person", "musician")]
        >>> TargetGroups.of_votes(votes, categories).triplets[0]
        ('singer', 'musician', 'person', 0.6666666666666666)
        """
        wins: Counter[Triplet] = Counter(vote[1:] for vote in checked_votes(votes, TargetGroupError))
        shares: dict[Triplet, float] = {}
        n_answers: dict[Triplet, int] = {}
        for target, better, worse in wins:
            if (target, worse, better) in shares:
                continue
            key = target, better, worse
            n_answers[key] = wins[key] + wins[target, worse, better]
            shares[key] = wins[key] / n_answers[key]
        return cls(categories, shares, n_answers)

    @cached_property
    def triplets(self) -> tuple[tuple[str, str, str, float], ...]:
        """All comparisons that count: target, candidate, candidate, and the share that ranks the first higher.

        First those of positives, then those that hold by definition, for one target after another.
        """
        compared: dict[str, list[tuple[str, str, str, float]]] = {target: [] for target in self.categories}
        for (target, better, worse), share in self.shares.items():
            compared[target].append((target, better, worse, share))
        for target, rows in compared.items():
            others = [*self.candidates(target, "distractor"), *self.candidates(target, "random")]
            rows += [(target, *pair, 1.0) for pair in product(self.candidates(target, "positive"), others)]
        return tuple(row for rows in compared.values() for row in rows)

    def candidates(self, target: str, category: Category) -> list[str]:
        """Candidates of a target that are of a category."""
        return [candidate for candidate, other in self.categories[target].items() if other == category]

    @property
    def words(self) -> tuple[str, ...]:
        """Targets and candidates, in the order of their first use."""
        return tuple(dict.fromkeys(word for target, group in self.categories.items() for word in (target, *group)))

    @property
    def uncompared(self) -> list[Triplet]:
        """Pairs of positives without an answer: target, candidate, candidate."""
        return [
            (target, first, second)
            for target in self.categories
            for first, second in combinations(self.candidates(target, "positive"), 2)
            if (target, first, second) not in self.shares and (target, second, first) not in self.shares
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: a list of groups, each with its comparisons."""
        return {
            "groups": [
                {
                    "target": target,
                    "candidates": dict(group),
                    "comparisons": [
                        {"first": first, "second": second, "share": share, "n_answers": self.n_answers.get(key)}
                        for key, share in self.shares.items()
                        for other, first, second in [key]
                        if other == target
                    ],
                }
                for target, group in self.categories.items()
            ]
        }

    @classmethod
    def from_dict(cls, content: Any) -> TargetGroups:
        """Return the groups that `to_dict` wrote.

        Raises
        ------
        TargetGroupError
            A part is missing or of another type, or the groups contradict their definition.

        Examples
        --------
        >>> from rankcorr.vectors import TargetGroups
        >>> groups = TargetGroups({"singer": {"musician": "positive", "person": "positive"}})
        >>> TargetGroups.from_dict(groups.to_dict()).categories == groups.categories
        True
        """
        categories: dict[str, dict[str, Category]] = {}
        shares: dict[Triplet, float] = {}
        n_answers: dict[Triplet, int] = {}
        try:
            for group in content["groups"]:
                target = group["target"]
                if target in categories:
                    raise TargetGroupError(f"target {shown(target)} has two groups")
                categories[target] = dict(group["candidates"])
                for comparison in group["comparisons"]:
                    key = target, comparison["first"], comparison["second"]
                    if key in shares:
                        raise TargetGroupError(f"{shown(key)} has two shares")
                    shares[key] = comparison["share"]
                    if comparison.get("n_answers") is not None:
                        n_answers[key] = comparison["n_answers"]
        except KeyError as error:
            raise TargetGroupError(f"target groups lack the field {error}") from error
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, TargetGroupError):
                raise
            raise TargetGroupError(
                "target groups must have a list of groups, each with target, candidates and comparisons"
            ) from error
        return cls(categories, shares, n_answers)

    def to_csv(self, delimiter: str = ",") -> str:
        """Return the table that `write` writes."""
        table = io.StringIO()
        writer = csv.writer(table, delimiter=delimiter, lineterminator="\n")
        writer.writerow(COLUMNS)
        rows = [(target, first, second, repr(share)) for target, first, second, share in self.triplets]
        for target, first, second, share in (*rows, *((*triplet, "") for triplet in self.uncompared)):
            categories = self.categories[target]
            n_answers = self.n_answers.get((target, first, second), "")
            writer.writerow([target, first, categories[first], second, categories[second], share, n_answers])
        return table.getvalue()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the groups to a file that `read_target_groups` reads: JSON if it ends in .json, TSV, or CSV.

        A table has a row for each comparison, and for each pair of positives without answers.
        """
        name = os.fspath(path)
        if name.endswith(".json"):
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        else:
            text = self.to_csv("\t" if name.endswith(".tsv") else ",")
        try:
            write_atomically(Path(name), text.encode())
        except IsADirectoryError as error:
            raise TableError(f"{name} is a folder: name a file that ends in .csv, .tsv or .json") from error

    def __repr__(self) -> str:
        n_candidates = sum(map(len, self.categories.values()))
        sizes = counted(len(self.categories), "target"), counted(n_candidates, "candidate")
        return f"<TargetGroups of {', '.join(sizes)}, {counted(len(self.shares), 'comparison')}>"


def _checked_candidates(target: str, group: Mapping[str, Category]) -> dict[str, Category]:
    """Return the categories of the candidates of a target."""
    if not isinstance(group, Mapping):
        raise TargetGroupError(f"candidates of {shown(target)} must map each to its category; got {shown(group)}")
    if wrong := [word for word in (target, *group) if not isinstance(word, str) or not word]:
        raise TargetGroupError(offending(f"words must be text, not empty; target {shown(target)} has", wrong))
    if target in group:
        raise TargetGroupError(f"target {shown(target)} is among its own candidates")
    for candidate, category in group.items():
        if category not in CATEGORIES:
            raise TargetGroupError(
                f"the category of {shown(candidate)} for {shown(target)} must be one of "
                f"{', '.join(map(repr, CATEGORIES))}; got {shown(category)}"
            )
    n_positives = list(group.values()).count("positive")
    if n_positives < 2:
        raise TargetGroupError(f"target {shown(target)} needs two positive candidates or more; it has {n_positives}")
    return dict(group)


def _checked_shares(
    categories: Mapping[str, Mapping[str, Category]], shares: Mapping[Triplet, float]
) -> dict[Triplet, float]:
    """Return the shares of pairs of positives as floats."""
    checked: dict[Triplet, float] = {}
    for key, share in shares.items():
        if not isinstance(key, tuple) or len(key) != 3:
            raise TargetGroupError(f"a comparison is (target, candidate, candidate); got {shown(key)}")
        target, first, second = key
        if target not in categories:
            raise TargetGroupError(f"{shown(target)} is not a target: it is compared in {shown(key)}")
        if not_positive := [word for word in key[1:] if categories[target].get(word) != "positive"]:
            raise TargetGroupError(
                offending(f"annotators compare positive candidates of {shown(target)} only; not one is", not_positive)
            )
        if first == second:
            raise TargetGroupError(f"{shown(first)} is compared with itself for {shown(target)}")
        if (target, second, first) in checked:
            raise TargetGroupError(f"{shown(first)} and {shown(second)} have two shares for {shown(target)}")
        value = real_number(share)
        if not 0 <= value <= 1:
            raise TargetGroupError(f"a share must be a number from 0 to 1; that of {shown(key)} is {shown(share)}")
        checked[key] = value
    return checked


def read_target_groups(path: str | os.PathLike[str]) -> TargetGroups:
    r"""Read target groups from a file in UTF-8: JSON, CSV or TSV, as `TargetGroups.write` writes them.

    A table has the columns target, first, first_category, second, second_category and share, and perhaps n_answers. The
    share is that of the answers that rank the first candidate above the second; it is empty for positives that were not
    compared, and may be empty where the categories decide. A positive candidate outranks the others by definition.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input. The file may be compressed by gzip.

    Returns
    -------
    TargetGroups

    Raises
    ------
    TableError
        The file cannot be read; the message names file, line and column.
    TargetGroupError
        The groups contradict their definition.

    See Also
    --------
    TargetGroups.write : Write them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import read_target_groups
    >>> lines = ["target,first,first_category,second,second_category,share",
    ...          "singer,musician,positive,person,positive,0.9", "singer,person,positive,song,distractor,"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "groups.csv")
    ...     _ = file.write_text("\n".join(lines))
    ...     read_target_groups(file)
    <TargetGroups of 1 target, 3 candidates, 1 comparison>
    """
    table = TextTable(path_text(path), content="target groups are expected")
    text = table.text()
    try:
        return _json_groups(table, text) if is_json(text) else TargetGroups(*_table_groups(table, text))
    except TargetGroupError as error:
        raise TargetGroupError(f"{table.name}: {error}") from error


def read_candidates(path: str | os.PathLike[str]) -> dict[str, dict[str, Category]]:
    r"""Read the candidates of targets, before any vote, from CSV or TSV with the columns target, candidate, category.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input. The file may be compressed by gzip.

    Returns
    -------
    dict of target to dict of candidate to category
        As `TargetGroups` and campaigns of target groups take it.

    Raises
    ------
    TableError
        The file cannot be read, a candidate of a target is repeated, or a category is unknown; the message names file,
        line and column.

    See Also
    --------
    read_target_groups : Read groups with votes.
    adaptive.ledger.plan_of_targets : Plan the collection of votes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.vectors import read_candidates
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "candidates.csv")
    ...     _ = file.write_text("target,candidate,category\noak,tree,positive\noak,plant,positive\n")
    ...     read_candidates(file)
    {'oak': {'tree': 'positive', 'plant': 'positive'}}
    """
    names = ("target", "candidate", "category")
    table = TextTable(path_text(path), content="candidates of targets are expected")
    text = table.columns_text()
    records = table.records(text, table.delimiter(text, names))
    header = next(records)
    if tuple(cell.strip() for cell in header.cells) != names:
        table.fail(f"the columns must be {list_names(names)}; got {list_names(header.cells)}", header.line)
    categories: dict[str, dict[str, Category]] = {}
    for line, row in _rows(table, records, names):
        group, candidate = categories.setdefault(row["target"], {}), row["candidate"]
        category = _category(table, row, line, "category")
        if candidate in group:
            table.fail(f"{shown(candidate)} is a candidate of {shown(row['target'])} twice", line, "candidate")
        group[candidate] = category
    return categories


def _rows(table: TextTable, records: Iterable[Record], names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the line, and cells by column, of each row after the header."""
    for line, cells in records:
        if len(cells) != len(names):
            table.fail(f"{counted(len(cells), 'cell')}; the header has {len(names)}", line)
        yield line, {name: cell.strip() for name, cell in zip(names, cells, strict=True)}


def _category(table: TextTable, row: Mapping[str, str], line: int, column: str) -> Category:
    if row[column] not in CATEGORIES:
        table.fail(f"must be one of {list_names(CATEGORIES)}; got {shown(row[column])}", line, column)
    return cast("Category", row[column])


_Groups: TypeAlias = tuple[dict[str, dict[str, Category]], dict[Triplet, float], dict[Triplet, int]]


def _table_groups(table: TextTable, text: str) -> _Groups:
    """Categories, shares and numbers of answers of a table, with its own checks; the rest is that of `TargetGroups`."""
    records = table.records(text, table.delimiter(text, COLUMNS))
    header = next(records)
    names = [cell.strip() for cell in header.cells]
    needed = COLUMNS[:-1]
    if lacking := [name for name in needed if name not in names]:
        table.fail(f"no column {list_names(lacking)}; the columns are {list_names(names)}", header.line)
    if unknown := [name for name in names if name not in COLUMNS or names.count(name) > 1]:
        table.fail(f"unknown or repeated column {list_names(unknown)}; known are {list_names(COLUMNS)}", header.line)
    categories: dict[str, dict[str, Category]] = {}
    shares: dict[Triplet, float] = {}
    n_answers: dict[Triplet, int] = {}
    for line, row in _rows(table, records, names):
        target, first, second = row["target"], row["first"], row["second"]
        group = categories.setdefault(target, {})
        for candidate, column in ((first, "first_category"), (second, "second_category")):
            category = _category(table, row, line, column)
            if group.setdefault(candidate, category) != category:
                table.fail(f"{shown(candidate)} was {group[candidate]} for {shown(target)} before", line, column)
        are_positive = [group[candidate] == "positive" for candidate in (first, second)]
        share = table.number(row["share"], line, "share") if row["share"] else None
        if not any(are_positive):
            table.fail("one of the two candidates must be positive", line)
        if not all(are_positive):
            by_definition = float(are_positive[0])
            if share is not None and share != by_definition:
                table.fail(f"a positive candidate outranks others, so that it is {by_definition:g}", line, "share")
        elif share is not None:
            key = target, first, second
            if key in shares or (target, second, first) in shares:
                table.fail(f"{shown(first)} and {shown(second)} have a share for {shown(target)} already", line)
            shares[key] = share
            if answers := row.get("n_answers"):
                if not re.fullmatch("[0-9]{1,18}", answers):
                    table.fail(f"must be a whole number; got {shown(answers)}", line, "n_answers")
                n_answers[key] = int(answers)
    return categories, shares, n_answers


def _json_groups(table: TextTable, text: str) -> TargetGroups:
    try:
        content = json.loads(text, object_pairs_hook=_unique_keys)
    except ValueError as error:
        if isinstance(error, RankingError):
            raise
        table.fail(f"is not JSON: {error}")
    return TargetGroups.from_dict(content)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise TableError(f"field {shown(next(name for name in names if names.count(name) > 1))} is given twice")
    return fields
