"""A campaign in memory: what a ledger must answer to each step, spelt out with lists and loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from adaptive.errors import VoteError
from tests.adaptive.votings import Voting


@dataclass(eq=False)
class Lease:
    voter: int
    exclusive: bool
    expired: bool = False
    answered: bool = False  # since it was given
    end: str | None = None


@dataclass(eq=False)
class Ballot:
    pairs: list[tuple[int, frozenset[str]]]  # sheet and items of each comparison
    state: str = "open"
    events: dict[int, list[tuple[str, str | None, int]]] = field(default_factory=dict)  # place: kind, answer, voter
    late: list[tuple[int, str, str]] = field(default_factory=list)  # place, answer, why
    leases: dict[int, list[Lease]] = field(default_factory=dict)  # by sheet
    counted: dict[int, str] | None = None  # what was scored when it was closed

    def sheets(self):
        return sorted({sheet for sheet, _ in self.pairs})

    def holder(self, sheet):
        """The open lease."""
        return next((lease for lease in self.leases.get(sheet, []) if lease.end is None), None)

    def had(self, sheet, voter):
        return any(lease.voter == voter for lease in self.leases.get(sheet, []))

    def standing(self, place):
        """Answer and voter of the vote that counts."""
        events = self.events.get(place, [])
        return (events[-1][1], events[-1][2]) if events and events[-1][0] == "cast" else None

    def answered(self, sheet):
        return sum(1 for place, (of, _) in enumerate(self.pairs) if of == sheet and self.standing(place))

    def size(self, sheet):
        return sum(1 for of, _ in self.pairs if of == sheet)

    def asked_before(self, sheet, voter):
        """Whether the voter has had a pair of this sheet on another."""
        mine = {pair for of, pair in self.pairs if of != sheet and self.had(of, voter)}
        return any(pair in mine for of, pair in self.pairs if of == sheet)


@dataclass(eq=False)
class Model:
    plan: object
    items: list[str]
    slots: int
    seed: int
    ballots: list[Ballot] = field(default_factory=list)
    withdrawn: set[int] = field(default_factory=set)
    excluded: set[int] = field(default_factory=set)

    # Each step returns what the ledger must answer: "ok", or the name of an error.

    def open(self, pairs):
        if (self.ballots and self.ballots[-1].state != "closed") or len(self.ballots) == self.plan.n_ballots:
            return "LedgerError"
        self.ballots.append(Ballot(pairs))
        return "ok"

    def claim(self, voter):
        """Number and sheet, None, or the name of an error."""
        if voter in self.withdrawn:
            return "LedgerError"
        for number, ballot in enumerate(self.ballots, 1):
            for sheet in ballot.sheets():
                lease = ballot.holder(sheet)
                if lease is None or lease.voter != voter or not lease.exclusive:
                    continue
                if ballot.state == "open" and ballot.answered(sheet) < ballot.size(sheet):
                    lease.expired = lease.expired and not lease.answered  # asking alone prolongs nothing
                    return number, sheet
                lease.end = "done" if ballot.answered(sheet) == ballot.size(sheet) else "closed"
        for number, ballot in enumerate(self.ballots, 1):
            if ballot.state != "open":
                continue
            for sheet in sorted(ballot.sheets(), key=lambda sheet: (ballot.answered(sheet) == 0, sheet)):
                lease = ballot.holder(sheet)
                if ballot.answered(sheet) == ballot.size(sheet) or ballot.asked_before(sheet, voter):
                    continue
                if lease is not None and not lease.expired:
                    continue
                if lease is not None:
                    lease.end = "expired"
                ballot.leases.setdefault(sheet, []).append(Lease(voter, exclusive=True))
                return number, sheet
        return None

    def give(self, number, sheet, voter):
        ballot = self.ballots[number - 1]
        lease = ballot.holder(sheet)
        if ballot.state == "closed" or voter in self.withdrawn or ballot.answered(sheet) == ballot.size(sheet):
            return "LedgerError"
        if (lease is not None and lease.voter == voter) or ballot.asked_before(sheet, voter):
            return "LedgerError"
        if lease is not None:
            lease.end = "reassigned"
        ballot.leases.setdefault(sheet, []).append(Lease(voter, exclusive=False))
        return "ok"

    def expire(self, number, sheet):
        lease = self.ballots[number - 1].holder(sheet)
        if lease is not None and lease.exclusive:
            lease.expired = True

    def cast(self, number, place, voter, answer, *, again=False):
        """Name of an error, or the revision; `again`: the vote came too late before."""
        if number > len(self.ballots):
            return "VoteError"
        ballot = self.ballots[number - 1]
        sheet = ballot.pairs[place][0]
        if not ballot.had(sheet, voter):
            return "VoteError"
        holder, last = ballot.holder(sheet), ballot.leases[sheet][-1]
        why = None
        if ballot.state == "closed":
            why = "closed"
        elif not (last.voter == voter and last.end in (None, "done", "closed")):
            why = "reassigned"
        if again and (why or ballot.standing(place)):
            return "LateVoteError"
        if why:
            ballot.late.append((place, answer, why))
            return "LateVoteError"
        if ballot.standing(place):
            return "ConflictError"
        if holder is not None:
            holder.expired, holder.answered = False, True
        return self._event(ballot, place, "cast", answer, voter)

    def retract(self, number, place, voter):
        ballot = self.ballots[number - 1]
        if ballot.state == "closed":
            return "LateVoteError"
        if ballot.standing(place) is None or ballot.standing(place)[1] != voter:
            return "ConflictError"
        return self._event(ballot, place, "retract", None, voter)

    def correct(self, number, place, answer):
        ballot = self.ballots[number - 1]
        if ballot.state == "closed":
            return "LateVoteError"
        standing = ballot.standing(place)
        if standing is None:
            return "ConflictError"
        return self._event(ballot, place, "void" if answer is None else "cast", answer, standing[1])

    def withdraw(self, voter):
        self.withdrawn.add(voter)
        for ballot in self.ballots:
            for leases in ballot.leases.values():
                for lease in leases:
                    if lease.voter == voter and lease.end is None:
                        lease.end = "withdrawn"

    def close(self, number, least):
        """Name of an error, or the protocol with the ballot closed."""
        if number > len(self.ballots) or self.ballots[number - 1].state == "closed":
            return "LedgerError"
        ballot = self.ballots[number - 1]
        standing = {place: ballot.standing(place) for place in range(len(ballot.pairs)) if ballot.standing(place)}
        counted = {place: answer for place, (answer, voter) in standing.items() if voter not in self.excluded}
        if len(counted) < least * len(ballot.pairs):
            return "NotReadyError"
        before = ballot.counted
        ballot.counted, ballot.state = counted, "closed"
        try:
            return self.protocol()
        except VoteError:
            ballot.counted, ballot.state = before, "open"
            return "NotReadyError"

    def reopen(self, number):
        if number != len(self.ballots) or self.ballots[-1].state != "closed":
            return "LedgerError"
        self.ballots[-1].state = "open"
        return "ok"

    def protocol(self):
        """The closed ballots, voted anew in the state machine that knows no database."""
        protocol = Voting(self.plan, self.items, self.slots, self.seed)
        for number, ballot in enumerate(self.ballots, 1):
            if ballot.state == "closed":
                protocol.open_ballot()
                said = {place: answer for place, answer in ballot.counted.items() if answer != "cannot say"}
                protocol.record({f"{number}-{place}": answer for place, answer in said.items()})
                protocol.close_ballot()
        return protocol

    @staticmethod
    def _event(ballot, place, kind, answer, voter):
        events = ballot.events.setdefault(place, [])
        events.append((kind, answer, voter))
        return len(events)
