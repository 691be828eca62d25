"""The JSON of a session: what it holds, and the checks before it is replayed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot
from adaptive.errors import ProtocolError, TableError
from adaptive.record import json_label
from rankcorr.checks import shown

STATE_FORMAT: Final = "adaptive.BallotProtocol"
STATE_VERSION: Final = 2
HEADER: Final = ("plan", "items", "voters", "seed")

_Types: TypeAlias = Mapping[str, tuple[type, ...]]
_HEADER_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "plan": (dict,),
    "items": (int, list),
    "voters": (int, list),
    "seed": (int,),
    "digest": (str,),
}
_STATE_TYPES: Final[dict[int, _Types]] = {
    1: {"format": (str,), "version": (int,), "numpy": (str,), **_HEADER_TYPES, "ballots": (list,)},
    2: {"format": (str,), "version": (int,), **_HEADER_TYPES, "ballots": (list,), "ballots_digest": (str,)},
}
_BALLOT_TYPES: Final[dict[int, _Types]] = {
    1: {"number": (int,), "closed": (bool,), "drawn": (str,), "votes": (dict,), "digest": (str,)},
    2: {
        "number": (int,),
        "closed": (bool,),
        "places": (list,),
        "left": (list,),
        "right": (list,),
        "voter": (list,),
        "votes": (list,),
        "selected": (list, type(None)),
        "n_tied_at_cut": (int, type(None)),
        "digest": (str,),
    },
}


def full_state(header: dict[str, Any], ballots: list[dict[str, Any]]) -> dict[str, Any]:
    """Complete the state: format, version, and digests of the header and of the list of ballots."""
    return {
        "format": STATE_FORMAT,
        "version": STATE_VERSION,
        **header,
        "digest": _digest(header),
        "ballots": ballots,
        "ballots_digest": _digest_of_ballots(header, ballots),
    }


def first_state(header: dict[str, Any], ballots: list[dict[str, Any]], numpy: str) -> dict[str, Any]:
    """The state as version 1 had it, without the draws."""
    return {
        "format": STATE_FORMAT,
        "version": 1,
        "numpy": numpy,
        **header,
        "digest": _digest(header),
        "ballots": ballots,
    }


def sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """Complete the state of one ballot by its digest."""
    return {**entry, "digest": _digest(entry)}


def drawn_digest(ballot: Ballot, places: NDArray[np.intp]) -> str:
    """Digest of a drawn ballot: which items of the protocol it has, and who compares which of them in which order."""
    digest = hashlib.sha256(places.astype("<i8").tobytes())
    for column in (ballot.left, ballot.right, ballot.voter):
        digest.update(column.astype("<i4").tobytes())
    return digest.hexdigest()


def json_labels(labels: Sequence[Hashable]) -> int | list[Any]:
    """Labels as JSON holds them; those of a range are its length."""
    return len(labels) if isinstance(labels, range) else [json_label(label) for label in labels]


def labels_of(labels: int | list[Any]) -> int | list[Hashable]:
    """Labels that `json_labels` wrote."""
    if isinstance(labels, int):
        return labels
    return [tuple(label) if isinstance(label, list) else label for label in labels]


def checked_state(text: str, source: str) -> dict[str, Any]:
    """Parse a state and check all that can be checked without a replay.

    Raises
    ------
    TableError
        When the text is not JSON, a key appears twice, or a number is nan or infinite.
    ProtocolError
        When it is of another format or version, a key is missing or unknown, or a digest does not match.
    """
    state = _parsed(text, source)
    if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
        raise ProtocolError(f"{source}: not a saved protocol: it needs the format {STATE_FORMAT!r}")
    version = state.get("version")
    if type(version) is not int or version not in _STATE_TYPES:
        raise ProtocolError(f"{source}: version {shown(version)} of the format; this release reads 1 and 2")
    _check_keys(state, _STATE_TYPES[version], source)
    header = {key: state[key] for key in HEADER}
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
    if version > 1 and state["ballots_digest"] != _digest_of_ballots(header, state["ballots"]):
        raise ProtocolError(
            f"{source}: the digest of all ballots does not match: one was removed, added or put elsewhere"
        )
    return state


def _parsed(text: str, source: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            seen: set[str] = set()
            again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise TableError(f"{source}: the key {shown(again)} appears twice")
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
    missing = [key for key in types if key not in entry]
    if missing:
        raise ProtocolError(f"{where}: missing: {', '.join(missing)}")
    unknown = [key for key in entry if key not in types]
    if unknown:
        raise ProtocolError(f"{where}: unknown: {', '.join(map(repr, unknown[:5]))}")
    for key, wanted in types.items():
        if type(entry[key]) not in wanted:
            names = " or ".join(kind.__name__ for kind in wanted)
            raise ProtocolError(f"{where}: {key} must be of type {names}; got {shown(entry[key])}")


def _digest_of_ballots(header: dict[str, Any], ballots: list[dict[str, Any]]) -> str:
    return _digest([_digest(header), *(entry["digest"] for entry in ballots)])


def _digest(value: Any) -> str:
    canonical = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
