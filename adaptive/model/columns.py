"""Columns of comparisons, from labels or from ballots, and the checks of columns that are numbers already."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import Asked, Ballot
from adaptive.errors import ComparisonError, VoteError
from adaptive.model.labels import Where, check_lengths, coded_labels, coded_winners, in_arrays, listed_column
from adaptive.model.shown_pairs import ShownPairs
from adaptive.protocol import Items, checked_labels
from adaptive.votes import LEFT, RIGHT, UNANSWERED, WORDS, checked_answers
from rankcorr.checks import shown


class HasAnswers(Protocol):
    """What `Comparisons.from_protocol` takes: `adaptive.BallotProtocol` is one."""

    @property
    def items(self) -> Sequence[Hashable]:
        """Labels of all items."""

    @property
    def voters(self) -> Sequence[Hashable]:
        """Names of the voters."""

    def answers(self) -> Sequence[tuple[Ballot, NDArray[np.int8]]]:
        """Ballots so far, each with its answers."""


class Columns(NamedTuple):
    """The fields of `adaptive.model.comparisons.Comparisons`, in their order."""

    items: Sequence[Hashable]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    winner: NDArray[np.int8]
    voters: Sequence[Hashable] | None
    voter: NDArray[np.int32] | None
    n_unanswered: int = 0
    unanswered: ShownPairs | None = None


def columns_of_labels(
    left: Iterable[Hashable],
    right: Iterable[Hashable],
    winner: Iterable[Any],
    *,
    voter: Iterable[Hashable] | None,
    items: Items | None,
    voters: Items | None = None,
    words: Mapping[str, int] = WORDS,
    where: Where = in_arrays,
    codes: bool = True,
) -> Columns:
    """Number the labels of `Comparisons.from_labels`.

    `words` name the winners, `where` is the place of a cell for messages, and `codes` says if a winner may be a code.
    """
    sides = {"left": listed_column(left, "left"), "right": listed_column(right, "right")}
    winners = coded_winners(winner, where, words, codes=codes)
    casts = {} if voter is None else {"voter": listed_column(voter, "voter")}
    check_lengths({**sides, "winner": winners, **casts})
    names = None if items is None else checked_labels(items, "items", ComparisonError)
    all_items, (left_codes, right_codes) = coded_labels(sides, names, "item", where)
    alike = np.flatnonzero(left_codes == right_codes)
    if alike.size:
        row = int(alike[0])
        raise ComparisonError(f"{where('right', row)}: item {shown(sides['right'][row])} is compared with itself")
    if voter is None and voters is not None:
        raise ComparisonError("voters without voter: it is not known who answered which comparison")
    all_voters, voter_codes = None, None
    if casts:
        known = None if voters is None else checked_labels(voters, "voters", ComparisonError)
        all_voters, (voter_codes,) = coded_labels(casts, known, "voter", where)
    return _answered(all_items, left_codes, right_codes, winners, all_voters, voter_codes)


def columns_of_ballots(
    ballots: Iterable[tuple[Asked, ArrayLike]], items: Items | None, voters: Items | None
) -> Columns:
    """Join the columns of `Comparisons.from_ballots`."""
    drawn = list(ballots)
    for number, pair in enumerate(drawn):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Asked)):
            raise ComparisonError(f"ballots[{number}] must be a Ballot and its answers; got {shown(pair)}")
    all_items = all_names([ballot.items for ballot, _ in drawn], items, "items")
    all_voters = all_names([ballot.voters for ballot, _ in drawn], voters, "voters")
    parts, none = [], np.empty(0, np.int32)
    for number, (ballot, answers) in enumerate(drawn):
        try:
            codes = checked_answers(ballot, answers)
        except VoteError as error:
            raise VoteError(f"ballots[{number}]: {error}") from None
        where = f"ballots[{number}]"
        places = places_among(ballot.items, all_items, "item", where)
        voter = places_among(ballot.voters, all_voters, "voter", where)[ballot.voter]
        parts.append((places[ballot.left], places[ballot.right], codes, voter))
    if not parts:
        return _answered(all_items, none, none, np.empty(0, np.int8), all_voters, none)
    left, right, winner, voter = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _answered(all_items, left, right, winner, all_voters, voter)


def columns_of_pairs(pairs: ArrayLike, n_items: int) -> Columns:
    """Winners on the left and losers on the right, as `Comparisons.from_pairs` has them."""
    try:
        array = np.asarray(pairs)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"pairs must be a list of pairs (winner, loser); got {shown(pairs)}") from error
    if array.size == 0:
        array = np.empty((0, 2), np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ComparisonError(f"pairs must be of shape (n_comparisons, 2); got {array.shape}")
    items = checked_labels(n_items, "items", ComparisonError)
    return Columns(items, array[:, 0], array[:, 1], np.full(len(array), LEFT, np.int8), None, None)


def selected(columns: Columns, which: ArrayLike) -> Columns:
    """Some rows, by a mask or by indices."""
    chosen, n_rows = np.asarray(which), columns.left.size
    if chosen.shape == (0,) and chosen.dtype.kind == "f":  # an empty list
        chosen = chosen.astype(np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise ComparisonError(f"select takes a mask or indices; got {chosen.dtype} of shape {chosen.shape}")
    if chosen.dtype.kind == "b" and chosen.size != n_rows:
        raise ComparisonError(f"a mask needs {n_rows} entries, one for each comparison; got {chosen.size}")
    if chosen.dtype.kind != "b" and (wrong := chosen[(chosen < 0) | (chosen >= n_rows)]).size:
        raise ComparisonError(f"{_indices(n_rows, 'comparison')}; got {wrong[0]}")
    return columns._replace(
        left=columns.left[chosen],
        right=columns.right[chosen],
        winner=columns.winner[chosen],
        voter=None if columns.voter is None else columns.voter[chosen],
        n_unanswered=0,
        unanswered=None,
    )


def joined_columns(first: Columns, then: Columns) -> Columns:
    """Rows of both, of the same items."""
    if not same_labels(first.items, then.items):
        raise ComparisonError(_difference(first.items, then.items))
    if (first.voter is None) != (then.voter is None):
        who = "the other does not" if then.voter is None else "only the other does"
        raise ComparisonError(f"both or neither must know their voters; {who}")
    voters, voter, silent = first.voters, None, then.unanswered
    if first.voter is not None and then.voter is not None and voters is not None and then.voters is not None:
        voters = all_names([voters, then.voters], None, "voters")
        places = places_among(then.voters, voters, "voter", "other")
        voter = np.concatenate([first.voter, places[then.voter]])
        silent = None if silent is None else silent.renumbered(voters=places)
    if first.unanswered is not None:
        silent = first.unanswered if silent is None else first.unanswered.followed_by(silent)
    return Columns(
        first.items,
        np.concatenate([first.left, then.left]),
        np.concatenate([first.right, then.right]),
        np.concatenate([first.winner, then.winner]),
        voters,
        voter,
        first.n_unanswered + then.n_unanswered,
        silent,
    )


def _answered(
    items: Sequence[Hashable],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    winner: NDArray[np.int8],
    voters: Sequence[Hashable] | None,
    voter: NDArray[np.int32] | None,
) -> Columns:
    """Keep what is answered apart from what is not."""
    kept = winner != UNANSWERED
    if kept.all():
        return Columns(items, left, right, winner, voters, voter)
    silent = ShownPairs(left[~kept], right[~kept], None if voter is None else voter[~kept])
    voter = None if voter is None else voter[kept]
    return Columns(items, left[kept], right[kept], winner[kept], voters, voter, len(silent), silent)


def checked_indices(column: str, values: object, kind: str, n_names: int) -> NDArray[np.int32]:
    """Copy of a column of indices into names."""
    array = _whole_numbers(column, values)
    wrong = np.flatnonzero((array < 0) | (array >= n_names))
    if wrong.size:
        raise ComparisonError(f"{column}[{wrong[0]}] is {array[wrong[0]]}; {_indices(n_names, kind)}")
    return array.astype(np.int32)


def checked_codes(values: object) -> NDArray[np.int8]:
    """Copy of a column of winners; none is unanswered."""
    array = _whole_numbers("winner", values)
    wrong = np.flatnonzero((array < RIGHT) | (array > LEFT))
    if wrong.size:
        found = array[wrong[0]]
        apart = "; an unanswered comparison is counted, not kept" if found == UNANSWERED else ""
        raise VoteError(f"winner[{wrong[0]}] is {found}; it must be 1 (left), 0 (tie) or -1 (right){apart}")
    return array.astype(np.int8)


def _indices(n_things: int, kind: str) -> str:
    """Which indices there are, for messages."""
    if n_things < 2:
        return f"the only {kind} has the index 0" if n_things else f"there are no {kind}s"
    return f"the {n_things} {kind}s have the indices from 0 to {n_things - 1}"


def _whole_numbers(column: str, values: object) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"{column} must be a list of whole numbers; got {shown(values)}") from error
    if array.ndim == 1 and array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ComparisonError(
            f"{column} must be whole numbers in one dimension; got {array.dtype} of shape {array.shape}"
        )
    return array


def same_labels(names: Sequence[Hashable], others: Sequence[Hashable]) -> bool:
    """Whether two lists of labels are equal, entry by entry; one may be a range, and the other a tuple."""
    return names is others or (len(names) == len(others) and tuple(names) == tuple(others))


def all_names(several: Sequence[Sequence[Hashable]], given: Items | None, what: str) -> Sequence[Hashable]:
    """Names given, or those that come, in the order of first appearance."""
    if given is not None:
        return checked_labels(given, what, ComparisonError)
    first = several[0] if several else ()
    if set(first).issuperset(chain.from_iterable(several[1:])):
        return first
    return tuple(dict.fromkeys(chain.from_iterable(several)))


def places_among(names: Sequence[Hashable], among: Sequence[Hashable], kind: str, where: str) -> NDArray[np.int32]:
    """Index of each name among others; `where` the names are begins the message about an unknown one."""
    if names is among:
        return np.arange(len(among), dtype=np.int32)
    _, (places,) = coded_labels({where: list(names)}, among, kind, lambda column, _: column)
    return places


def _difference(items: Sequence[Hashable], others: Sequence[Hashable]) -> str:
    start = "comparisons are joined if their items are the same, in the same order"
    if len(items) != len(others):
        return f"{start}; got {len(items)} and {len(others)} items"
    place = next(place for place, pair in enumerate(zip(items, others, strict=True)) if pair[0] != pair[1])
    return f"{start}; items[{place}] is {shown(items[place])} here and {shown(others[place])} there"
