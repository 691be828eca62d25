"""A protocol whose votes arrive over days: open a ballot, record votes, close it, save it as JSON in between."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot, draw_ballot
from adaptive.errors import AdaptiveError, ProtocolError, TableError
from adaptive.plan import BallotPlan
from adaptive.protocol import (
    Items,
    Standing,
    ballot_rng,
    checked_items,
    checked_labels,
    close_ballot,
)
from adaptive.record import BallotRecord, ProtocolResult
from adaptive.selection import Select, select_by_mean
from adaptive.session.ballot_box import BallotBox, Votes, read_votes
from adaptive.session.state import (
    checked_state,
    drawn_digest,
    first_state,
    full_state,
    json_labels,
    labels_of,
)
from adaptive.session.status import ProtocolStatus
from adaptive.session.stored import answers_of, ballot_of, selection_of
from adaptive.votes import Comparison, comparisons_of
from rankcorr.checks import checked_seed
from rankcorr.io.files import write_atomically

__all__ = ["BallotProtocol", "ProtocolStatus"]


class BallotProtocol:
    """The ballots of a plan, one after the other, for votes that arrive over days.

    Each ballot is drawn from a generator of its own, which depends on the seed and the ballot's number alone. The
    order in which votes arrive does not matter.

    Parameters
    ----------
    plan : BallotPlan
    items : int or sequence of hashable
        Unique labels of the plan's items; an integer N stands for 0..N-1.
    voters : int or sequence of hashable
        Unique names of the voters; an integer V stands for 0..V-1.
    seed : int
        At least 0.

    Raises
    ------
    ProtocolError
        When the items are not those of the plan, or a label is not a string, an integer or a tuple of those: the
        protocol is kept as JSON.

    Examples
    --------
    >>> from adaptive.plan import plan_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
    >>> protocol = BallotProtocol(plan, ["plum", "fig", "apple", "pear"], voters=["Ann", "Bob"], seed=1)
    >>> while protocol.status().state != "finished":
    ...     ballot = protocol.open_ballot()
    ...     for shown in protocol.comparisons():
    ...         n_new = protocol.record({shown.id: "left" if shown.left < shown.right else "right"})
    ...     record = protocol.close_ballot()
    >>> protocol.result().ranking
    <Ranking of 4 items, 0 tied: 'apple' 1, 'fig' 2, 'pear' 3, 'plum' 4>
    """

    def __init__(self, plan: BallotPlan, items: Items, voters: Items, seed: int) -> None:
        self._plan = plan
        self._items = checked_items(plan, items)
        self._voters = checked_labels(voters, "voters")
        if not self._voters:
            raise ProtocolError("voting needs at least one voter; got none")
        self._seed = checked_seed(seed, ProtocolError)
        self._standing = Standing.first(plan)
        self._boxes: list[BallotBox] = []
        self._header()  # refuses labels that would not survive JSON

    @property
    def plan(self) -> BallotPlan:
        """The plan."""
        return self._plan

    @property
    def items(self) -> Sequence[Hashable]:
        """Labels of all items, in the order in which they were given."""
        return self._items

    @property
    def voters(self) -> Sequence[Hashable]:
        """Names of the voters."""
        return self._voters

    @property
    def seed(self) -> int:
        """Seed of every draw."""
        return self._seed

    @property
    def ballot(self) -> Ballot | None:
        """The ballot that is open, or None."""
        return self._boxes[-1].ballot if self._is_open else None

    @property
    def standing(self) -> Standing:
        """Items of the ballot that is open or comes next, and the scores so far."""
        return self._standing

    @property
    def records(self) -> tuple[BallotRecord, ...]:
        """Records of the ballots closed so far."""
        return tuple(box.record for box in self._boxes if box.record is not None)

    def open_ballot(self) -> Ballot:
        """Draw the next ballot.

        Raises
        ------
        ProtocolError
            When a ballot is open, or all are closed.
        DrawError
            When no ballot can be drawn for the voters.
        """
        number = self._next_number()
        rng = ballot_rng(self._seed, number, "draw")
        ballot = draw_ballot(self._standing.labels(self._items), self._plan.presentations, self._voters, rng)
        self._boxes.append(BallotBox(number, ballot, self._standing.places))
        return ballot

    def comparisons(self) -> tuple[Comparison, ...]:
        """Comparisons of the open ballot, in the order in which they are to be shown.

        Raises
        ------
        ProtocolError
            When no ballot is open.
        """
        box = self._open_box("show")
        return comparisons_of(box.ballot, box.number)

    def answers(self) -> tuple[tuple[Ballot, NDArray[np.int8]], ...]:
        """Ballots opened so far, each with its answers: LEFT, RIGHT, TIE, or UNANSWERED where there is none yet.

        The answers are copies, shape (n_comparisons,), in the order of the ballot's comparisons.
        """
        return tuple((box.ballot, box.answers.copy()) for box in self._boxes)

    def record(self, votes: Votes) -> int:
        """Record votes, some or all, in any order; a vote that is recorded already changes nothing.

        Parameters
        ----------
        votes : mapping of comparison id to winner, or iterable of such pairs
            The winner is "left", "right", "tie" or a `Vote`.

        Returns
        -------
        int
            Number of votes that are new.

        Raises
        ------
        VoteError
            When a comparison or a winner is unknown, a comparison has a different vote already, or its ballot is
            closed. Nothing is recorded then.
        """
        new = read_votes(votes, self._boxes)
        for (number, index), code in new.items():
            self._boxes[number - 1].answers[index] = code
        return len(new)

    def close_ballot(self) -> BallotRecord:
        """Score the open ballot and select the items of the next one.

        Raises
        ------
        ProtocolError
            When no ballot is open.
        VoteError
            When an item has no answer yet; the ballot stays open.
        """
        box = self._open_box("close")
        return self._closed(box, select_by_mean)

    def result(self) -> ProtocolResult:
        """Return the ranking of all items.

        Raises
        ------
        ProtocolError
            When not all ballots are closed.
        """
        if self._standing.n_closed < self._plan.n_ballots:
            raise ProtocolError(
                f"the result needs all {self._plan.n_ballots} ballots; {self._standing.n_closed} are closed"
            )
        return ProtocolResult(self._plan, self._items, self._standing.mean, self.records)

    def status(self) -> ProtocolStatus:
        """Return where the protocol stands."""
        n_closed, n_ballots = self._standing.n_closed, self._plan.n_ballots
        number = min(n_closed + 1, n_ballots)
        n_items = self._plan.sizes[number - 1]
        box = self._boxes[-1] if number == len(self._boxes) else None
        return ProtocolStatus(
            state="open" if self._is_open else "finished" if n_closed == n_ballots else "ready",
            ballot=number,
            n_ballots=n_ballots,
            n_items=n_items,
            n_comparisons=self._plan.comparisons[number - 1],
            n_answered=box.n_answered if box else 0,
            n_silent_items=box.n_silent_items if box else n_items,
        )

    def to_json(self) -> str:
        """Return the plan, the seed, every drawn comparison and every vote as JSON; the same votes give the same text.

        Digests (sha256) of the plan, of each ballot and of the list of ballots reveal an edited file. They guard
        against accidents, not against somebody who computes them again.
        """
        return json.dumps(self._state(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, *, source: str = "JSON") -> BallotProtocol:
        """Return the protocol that `to_json` wrote: all votes are replayed on the comparisons that were drawn.

        A file of version 1 has no comparisons: its ballots are drawn again, and held against their digests.

        Parameters
        ----------
        text : str
        source : str
            Name of the text, for messages.

        Raises
        ------
        TableError
            When the text is not JSON, a key appears twice, or a number is nan or infinite.
        ProtocolError
            When it is of another format or version, a key is missing or unknown, or its plan, items, voters, seed or
            votes were edited.

        Examples
        --------
        >>> from adaptive.plan import plan_ballots
        >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
        >>> protocol = BallotProtocol(plan, [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d")], voters=5, seed=1)
        >>> BallotProtocol.from_json(protocol.to_json()).items[0]
        ('a', 'b')
        """
        state = checked_state(text, source)
        try:
            protocol = cls(
                BallotPlan.from_dict(state["plan"]),
                labels_of(state["items"]),
                labels_of(state["voters"]),
                state["seed"],
            )
            for entry in state["ballots"]:
                if state["version"] == 1:
                    protocol._draw_again(entry, state["numpy"])
                else:
                    protocol._take(entry)
        except AdaptiveError as error:
            raise ProtocolError(f"{source}: {error}") from error
        if protocol._state(state) != state:
            raise ProtocolError(f"{source}: the votes do not replay to the state that they are in: the file was edited")
        return protocol

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file; whatever happens, the file is the old one or the new one.

        A process that is killed while it saves may leave a file ``.NAME.*.tmp`` beside it, which can be removed.

        Raises
        ------
        OSError
            When the file cannot be written; the old one is left as it was.
        """
        write_atomically(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BallotProtocol:
        """Return the protocol that `save` wrote.

        Raises
        ------
        TableError
            When the file cannot be read, and as `from_json`.
        ProtocolError
            As `from_json`.
        """
        name = os.fspath(path)
        try:
            text = Path(path).read_bytes().decode()
        except OSError as error:
            raise TableError(f"{name}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise TableError(f"{name}: is not UTF-8 from byte {error.start} on") from error
        return cls.from_json(text, source=name)

    @property
    def _is_open(self) -> bool:
        return bool(self._boxes) and self._boxes[-1].record is None

    def _open_box(self, purpose: str) -> BallotBox:
        if not self._is_open:
            raise ProtocolError(f"no ballot is open: there is nothing to {purpose}")
        return self._boxes[-1]

    def _next_number(self) -> int:
        if self._is_open:
            raise ProtocolError(f"ballot {len(self._boxes)} is open: close it before the next one is opened")
        if len(self._boxes) == self._plan.n_ballots:
            raise ProtocolError(f"all {self._plan.n_ballots} ballots are closed: none is left to open")
        return len(self._boxes) + 1

    def _closed(self, box: BallotBox, select: Select) -> BallotRecord:
        rng = ballot_rng(self._seed, box.number, "cut")
        record, self._standing = close_ballot(
            self._plan, self._standing, box.ballot, box.answers, rng=rng, select=select
        )
        box.close(record, self._standing.places)
        return record

    def _take(self, entry: dict[str, Any]) -> None:
        """Take over a ballot of version 2: its comparisons, votes and selection."""
        number, plan = self._next_number(), self._plan
        ballot = ballot_of(
            entry,
            self._standing,
            self._items,
            self._voters,
            presentations=plan.presentations,
            n_comparisons=plan.comparisons[number - 1],
        )
        box = BallotBox(number, ballot, self._standing.places)
        box.answers[:] = answers_of(entry)
        self._boxes.append(box)
        if entry["closed"]:
            self._closed(box, selection_of(entry, self._standing))

    def _draw_again(self, entry: dict[str, Any], numpy: str) -> None:
        """Draw a ballot of version 1 again, and record its votes."""
        self.open_ballot()
        box = self._boxes[-1]
        if drawn_digest(box.ballot, box.places) != entry["drawn"]:
            raise ProtocolError(
                f"ballot {box.number} is not the one that was voted on: the file was edited, or written by another "
                f"release (numpy {numpy} then, {np.__version__} now)"
            )
        self.record(entry["votes"])
        if entry["closed"]:
            self.close_ballot()

    def _header(self) -> dict[str, Any]:
        return {
            "plan": self._plan.to_dict(),
            "items": json_labels(self._items),
            "voters": json_labels(self._voters),
            "seed": self._seed,
        }

    def _state(self, read: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """All that JSON keeps, in the version of what was read."""
        if read.get("version") == 1:
            return first_state(self._header(), [box.first_state() for box in self._boxes], read["numpy"])
        return full_state(self._header(), [box.state() for box in self._boxes])

    def __repr__(self) -> str:
        status = self.status()
        where = f"ballot {status.ballot} of {status.n_ballots} {status.state}"
        return f"<BallotProtocol of {self._plan.n_items} items: {where}>"
