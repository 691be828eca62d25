"""Read votings that were saved as JSON before the ledger existed, for `ballots run import` and `ballots fit`.

This format is read but never written. Version 2 holds every drawn comparison and selection, so reading it draws
nothing. Version 1 holds only the votes, so its ballots are drawn again and compared with their digests. The sha256
digests reveal an edited file; they protect against accidents, not against a forger.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot, draw_ballot
from adaptive.errors import AdaptiveError, ProtocolError, TableError
from adaptive.plan import BallotPlan
from adaptive.protocol import Position, ballot_rng, checked_items, checked_labels, close_ballot
from adaptive.record import BallotRecord, json_label
from adaptive.selection import Select, select_again, select_by_mean
from adaptive.votes import LEFT, RIGHT, TIE, UNANSWERED, comparison_place, parse_vote
from rankcorr.checks import checked_seed, repeated, shown

FORMAT: Final = "adaptive.BallotProtocol"
_HEADER: Final = ("plan", "items", "voters", "seed")
_CODES: Final[dict[str | None, int]] = {None: UNANSWERED, "left": LEFT, "right": RIGHT, "tie": TIE}

_Types: TypeAlias = Mapping[str, tuple[type, ...]]
_STATE: Final[dict[str, tuple[type, ...]]] = {
    "format": (str,),
    "version": (int,),
    "plan": (dict,),
    "items": (int, list),
    "voters": (int, list),
    "seed": (int,),
    "digest": (str,),
    "ballots": (list,),
}
_STATE_TYPES: Final[dict[int, _Types]] = {1: {**_STATE, "numpy": (str,)}, 2: {**_STATE, "ballots_digest": (str,)}}
_BALLOT_TYPES: Final[dict[int, _Types]] = {
    1: {"number": (int,), "closed": (bool,), "drawn": (str,), "votes": (dict,), "digest": (str,)},
    2: {
        "number": (int,),
        "closed": (bool,),
        **dict.fromkeys(("places", "left", "right", "voter", "votes"), (list,)),
        "selected": (list, type(None)),
        "n_tied_at_cut": (int, type(None)),
        "digest": (str,),
    },
}


@dataclass(frozen=True, eq=False)
class SavedVoting:
    """A saved voting.

    Attributes
    ----------
    plan : BallotPlan
    items, voters : sequence of hashable
        Labels of the items, and names of the voters.
    seed : int
    voted : tuple of (Ballot, ndarray of int8)
        Each ballot that was opened, and the answer to each of its comparisons: LEFT, RIGHT, TIE or UNANSWERED.
    records : tuple of BallotRecord
        Of the closed ballots.
    standing : Position
        Items of the ballot that is open or comes next.
    """

    plan: BallotPlan
    items: Sequence[Hashable]
    voters: Sequence[Hashable]
    seed: int
    voted: tuple[tuple[Ballot, NDArray[np.int8]], ...]
    records: tuple[BallotRecord, ...]
    standing: Position


def read_saved_voting(path: str | os.PathLike[str]) -> SavedVoting:
    """Read a voting from a file.

    Raises
    ------
    TableError
        When the file cannot be read, and as `saved_voting`.
    ProtocolError
        As `saved_voting`.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_bytes().decode()
    except OSError as error:
        raise TableError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{name}: is not UTF-8 from byte {error.start} on") from error
    return saved_voting(text, name)


def saved_voting(text: str, source: str) -> SavedVoting:
    """Read a voting from JSON; `source` names the text in messages.

    Raises
    ------
    TableError
        When the text is not JSON, a key appears twice, or a number is nan or infinite.
    ProtocolError
        When it is of another format or version, a key is missing or unknown, or its plan, items, voters, seed, draws,
        votes or selections were edited.
    """
    state = _checked_state(text, source)
    try:
        return _replayed(state)
    except AdaptiveError as error:
        raise ProtocolError(f"{source}: {error}") from error


def _replayed(state: dict[str, Any]) -> SavedVoting:
    """Score the ballots again, with the draws and selections of the file."""
    plan = BallotPlan.from_dict(state["plan"])
    items = checked_items(plan, _labels(state["items"]))
    voters = checked_labels(_labels(state["voters"]), "voters")
    if not voters:
        raise ProtocolError("voting needs at least one voter; got none")
    seed = checked_seed(state["seed"], ProtocolError)
    agrees = {"plan": plan.to_dict(), "items": _json_labels(items), "voters": _json_labels(voters), "seed": seed}
    is_replayed = agrees == {key: state[key] for key in _HEADER}
    voting = SavedVoting(plan, items, voters, seed, (), (), Position.first(plan))
    for entry in state["ballots"]:
        number, standing = entry["number"], voting.standing
        if len(voting.voted) > len(voting.records):
            raise ProtocolError(f"ballot {number - 1} is open: close it before the next one is opened")
        if number > plan.n_ballots:
            raise ProtocolError(f"all {plan.n_ballots} ballots are closed: none is left to open")
        if state["version"] == 1:
            ballot, answers = _drawn_again(entry, voting, state["numpy"])
        else:
            ballot, answers = _ballot_of(entry, voting), _answers_of(entry)
            is_replayed &= entry["closed"] or (entry["selected"] is None and entry["n_tied_at_cut"] is None)
        records = voting.records
        if entry["closed"]:
            select = select_by_mean if state["version"] == 1 else _selection_of(entry, standing)
            rng = ballot_rng(seed, number, "cut")
            record, standing = close_ballot(plan, standing, ballot, answers, rng=rng, select=select)
            records = (*records, record)
            if state["version"] > 1:
                is_replayed &= entry["selected"] == standing.places.tolist()
                is_replayed &= entry["n_tied_at_cut"] == record.n_tied_at_cut
        voting = SavedVoting(plan, items, voters, seed, (*voting.voted, (ballot, answers)), records, standing)
    if not is_replayed:
        raise ProtocolError("the votes do not replay to the state that they are in: the file was edited")
    return voting


def _drawn_again(entry: dict[str, Any], voting: SavedVoting, numpy: str) -> tuple[Ballot, NDArray[np.int8]]:
    """Draw a ballot of version 1 again, and put its votes in their places."""
    number, standing = entry["number"], voting.standing
    rng = ballot_rng(voting.seed, number, "draw")
    ballot = draw_ballot(standing.labels(voting.items), voting.plan.presentations, voting.voters, rng)
    digest = hashlib.sha256(standing.places.astype("<i8").tobytes())
    for column in (ballot.left, ballot.right, ballot.voter):
        digest.update(column.astype("<i4").tobytes())
    if digest.hexdigest() != entry["drawn"]:
        raise ProtocolError(
            f"ballot {number} is not the one that was voted on: the file was edited, or written by another "
            f"release (numpy {numpy} then, {np.__version__} now)"
        )
    answers = np.full(ballot.n_comparisons, UNANSWERED, np.int8)
    for comparison, winner in entry["votes"].items():
        of, place = comparison_place(comparison)
        if of != number:
            raise ProtocolError("the votes do not replay to the state that they are in: the file was edited")
        if place >= ballot.n_comparisons:
            last = ballot.n_comparisons - 1
            raise ProtocolError(
                f"comparison {shown(comparison)} is unknown: those of ballot {number} end at '{number}-{last}'"
            )
        try:
            answers[place] = parse_vote(winner)
        except AdaptiveError as error:
            raise ProtocolError(f"comparison {shown(comparison)}: {error}") from error
    return ballot, answers


def _ballot_of(entry: dict[str, Any], voting: SavedVoting) -> Ballot:
    """Make the ballot of an entry of version 2, whose rows must have its items and voters."""
    number, standing = entry["number"], voting.standing
    n_comparisons = voting.plan.comparisons[number - 1]
    if entry["places"] != standing.places.tolist():
        before = f"selected in ballot {number - 1}" if number > 1 else "of the protocol"
        raise ProtocolError(f"ballot {number}: its items, places, are not those {before}")
    index = np.full(len(voting.items), -1, np.int64)
    index[standing.places] = np.arange(standing.places.size)
    left, right = (_column(entry, side, index) for side in ("left", "right"))
    voter = _column(entry, "voter", np.arange(len(voting.voters)))
    for name, column in (("left", left), ("right", right), ("voter", voter), ("votes", entry["votes"])):
        if len(column) != n_comparisons:
            raise ProtocolError(
                f"ballot {number}: {name} has {len(column)} entries; the plan has {n_comparisons} comparisons"
            )
    if (alike := np.flatnonzero(left == right)).size:
        raise ProtocolError(f"ballot {number}: comparison '{number}-{alike[0]}' is of an item with itself")
    labels, voters = standing.labels(voting.items), voting.voters
    names = labels if isinstance(labels, range) else tuple(labels)
    own = voters if isinstance(voters, range) else tuple(voters)
    columns = (column.astype(np.int32) for column in (left, right, voter))
    return Ballot(names, voting.plan.presentations, own, *columns)


def _column(entry: dict[str, Any], name: str, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return entries as indices into the ballot's items or voters; `index` is -1 for those it does not have."""
    values = entry[name]
    for at, value in enumerate(values):
        if type(value) is not int or not 0 <= value < index.size or index[value] < 0:
            wanted = "a voter" if name == "voter" else "one of its places"
            raise ProtocolError(f"ballot {entry['number']}: {name}[{at}] must be {wanted}; got {shown(value)}")
    return index[np.array(values, np.int64)]


def _answers_of(entry: dict[str, Any]) -> NDArray[np.int8]:
    for place, word in enumerate(entry["votes"]):
        if not (word is None or (isinstance(word, str) and word in _CODES)):
            wanted = "must be 'left', 'right', 'tie' or null"
            raise ProtocolError(f"ballot {entry['number']}: votes[{place}] {wanted}; got {shown(word)}")
    return np.array([_CODES[word] for word in entry["votes"]], np.int8)


def _selection_of(entry: dict[str, Any], standing: Position) -> Select:
    """Return the recorded selection; the last ballot selects nothing, and its selection is never requested."""
    number, chosen = entry["number"], entry["selected"]
    if chosen is None or entry["n_tied_at_cut"] is None:
        raise ProtocolError(f"ballot {number} is closed: selected and n_tied_at_cut must say which items go on")
    index = {place: at for at, place in enumerate(standing.places.tolist())}
    for at, place in enumerate(chosen):
        if type(place) is not int or place not in index:
            raise ProtocolError(f"ballot {number}: selected[{at}] must be one of its places; got {shown(place)}")
    return select_again(np.array([index[place] for place in chosen], np.intp), entry["n_tied_at_cut"])


def _labels(labels: int | list[Any]) -> int | list[Hashable]:
    if isinstance(labels, int):
        return labels
    return [tuple(label) if isinstance(label, list) else label for label in labels]


def _json_labels(labels: Sequence[Hashable]) -> int | list[Any]:
    """Return the labels as in the file, where a range is its length."""
    return len(labels) if isinstance(labels, range) else [json_label(label) for label in labels]


def _checked_state(text: str, source: str) -> dict[str, Any]:
    """Parse a state and check as much as possible without a replay."""
    state = _parsed(text, source)
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ProtocolError(f"{source}: not a saved protocol: it needs the format {FORMAT!r}")
    version = state.get("version")
    if type(version) is not int or version not in _STATE_TYPES:
        raise ProtocolError(f"{source}: version {shown(version)} of the format; this release reads 1 and 2")
    _check_keys(state, _STATE_TYPES[version], source)
    header = {key: state[key] for key in _HEADER}
    if state["digest"] != _digest(header):
        raise ProtocolError(f"{source}: the digest does not match: the plan, items, voters or seed were edited")
    types = _BALLOT_TYPES[version]
    for place, entry in enumerate(state["ballots"]):
        where = f"{source}: ballots[{place}]"
        if not isinstance(entry, dict):
            raise ProtocolError(f"{where} must be an object; got {shown(entry)}")
        _check_keys(entry, types, where)
        if entry["number"] != place + 1:
            raise ProtocolError(f"{where} must have number {place + 1}; got {entry['number']}")
        if entry["digest"] != _digest({key: entry[key] for key in types if key != "digest"}):
            what = "votes" if version == 1 else "draw, votes or selection"
            raise ProtocolError(f"{where}: the digest does not match: the {what} of ballot {place + 1} were edited")
    ballots = [_digest(header), *(entry["digest"] for entry in state["ballots"])]
    if version > 1 and state["ballots_digest"] != _digest(ballots):
        raise ProtocolError(
            f"{source}: the digest of all ballots does not match: one was removed, added or put elsewhere"
        )
    return state


def _parsed(text: str, source: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            raise TableError(f"{source}: the key {shown(repeated(key for key, _ in pairs)[0])} appears twice")
        return keys

    def refused(constant: str) -> NoReturn:
        raise TableError(f"{source}: {constant} is not a number of JSON")

    def finite(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            raise TableError(f"{source}: {digits:.60} is too large for a number")
        return number

    try:
        return json.loads(text, object_pairs_hook=distinct, parse_float=finite, parse_constant=refused)
    except TableError:
        raise
    except json.JSONDecodeError as error:
        raise TableError(f"{source}:{error.lineno}: column {error.colno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, thousands of brackets
        raise TableError(f"{source}: not JSON that can be read: {error}") from error


def _check_keys(entry: dict[str, Any], types: _Types, where: str) -> None:
    if missing := [key for key in types if key not in entry]:
        raise ProtocolError(f"{where}: missing: {', '.join(missing)}")
    if unknown := [key for key in entry if key not in types]:
        raise ProtocolError(f"{where}: unknown: {', '.join(map(repr, unknown[:5]))}")
    for key, wanted in types.items():
        if type(entry[key]) not in wanted:
            names = " or ".join(kind.__name__ for kind in wanted)
            raise ProtocolError(f"{where}: {key} must be of type {names}; got {shown(entry[key])}")


def _digest(value: Any) -> str:
    canonical = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
