"""Which columns of a table hold the two items, the winner and the voter, and which words name the winner."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, Final, Literal, TypeAlias

from adaptive.errors import ComparisonError
from adaptive.model.labels import is_missing
from adaptive.votes import LEFT, RIGHT, TIE, UNANSWERED, WORDS
from rankcorr.checks import check_choice
from rankcorr.io.records import listed

Format: TypeAlias = Literal["auto", "ballots", "evalica", "arena", "choix"]


@dataclass(frozen=True)
class Layout:
    """Columns of one format, and the words of its winners.

    Attributes
    ----------
    left, right : str
        Names of the columns of items; where there are parts, of their beginnings.
    winner : str or None
        None where the winner is always on the left.
    voter : str or None
        Read if it is there.
    words : mapping of str to int
    has_unanswered : bool
        An empty winner is a comparison without an answer; elsewhere it is an error.
    """

    left: str
    right: str
    winner: str | None
    voter: str | None
    words: Mapping[str, int]
    has_unanswered: bool = False


ARENA_WORDS: Final = {"model_a": LEFT, "model_b": RIGHT, "tie": TIE, "tie (bothbad)": TIE, "both_bad": TIE}
LAYOUTS: Final = {
    "ballots": Layout("left", "right", "winner", "voter", WORDS, has_unanswered=True),
    "evalica": Layout("left", "right", "winner", None, WORDS),
    "arena": Layout("model_a", "model_b", "winner", "judge", ARENA_WORDS),
    "choix": Layout("winner", "loser", None, None, {}),
}
FORMATS: Final = ("auto", *LAYOUTS)
_WANTED: Final = "left, right and winner, model_a, model_b and winner, or winner and loser"


def layout_of(names: Collection[str], format: Format) -> Layout:  # noqa: A002 - the name of the option
    """Layout of a format; "auto" finds it by the names of the columns.

    left, right and winner are the layout "ballots" if there is a column comparison or voter, or if items have parts,
    and "evalica" otherwise. Both are read alike, but for the voter and winners that are empty.

    Raises
    ------
    OptionError
        An unknown format.
    ComparisonError
        The columns are of no format, or of several.

    Examples
    --------
    >>> layout_of(["judge", "model_a", "model_b", "winner"], "auto").voter
    'judge'
    """
    check_choice("format", format, FORMATS)
    if format != "auto":
        return LAYOUTS[format]
    sides = bool(side_columns(names, "left") and side_columns(names, "right"))
    ours = sides and ("left" not in names or not {"comparison", "voter"}.isdisjoint(names))
    found = {
        "ballots": ours,
        "evalica": sides and not ours,
        "arena": {"model_a", "model_b"} <= set(names),
        "choix": {"winner", "loser"} <= set(names),
    }
    formats = [name for name, is_it in found.items() if is_it]
    if not formats:
        raise ComparisonError(f"the columns {_WANTED} are wanted; got {listed([str(name) for name in names])}")
    if len(formats) > 1:
        raise ComparisonError(f"the columns fit the formats {' and '.join(formats)}; say which by format=")
    return LAYOUTS[formats[0]]


def side_columns(names: Collection[str], stem: str) -> list[str]:
    """Columns that name an item: the one called `stem`, or else one for each of its parts; none if it has none.

    Examples
    --------
    >>> side_columns(["left", "right"], "left"), side_columns(["left_1", "left_2"], "left")
    (['left'], ['left_1', 'left_2'])
    """
    return [stem] if stem in names else list(takewhile(names.__contains__, (f"{stem}_{part}" for part in count(1))))


def is_blank(winner: Any) -> bool:
    """Whether a winner is empty: text without characters, None or nan."""
    return not winner.strip() if isinstance(winner, str) else is_missing(winner)


def answers_in(layout: Layout, winners: list[Any]) -> tuple[list[Any], Mapping[str, int]]:
    """Winners, of which the empty ones are "" if they stand for no answer, and the words that they may be.

    A voter who cannot say has given no answer either.
    """
    if not layout.has_unanswered:
        return winners, layout.words
    words = {**layout.words, "cannot say": UNANSWERED, "": UNANSWERED}
    return ["" if is_blank(winner) else winner for winner in winners], words
