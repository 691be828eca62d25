"""Random steps on a ledger, compared with a model of a campaign made of lists and loops."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from adaptive._plan import plan_ballots
from adaptive.errors import AdaptiveError, VoteError
from adaptive.ledger import CampaignSettings
from adaptive.ledger._ballots.sheets import claim_sheet, give_sheet
from adaptive.ledger._ballots.stored import (
    current_votes,
    drawn_columns,
    position_after,
    record_and_position,
    record_dict,
)
from adaptive.ledger._votes.casting import correct, retract
from adaptive.ledger._votes.voiding import withdraw
from tests.adaptive.ledger.campaigns import (
    ITEMS,
    change,
    load_ballot,
    new_id,
    query,
    query_ballots,
    vote,
    voters_of,
    write,
)
from tests.adaptive.strategies import Voting


@dataclass(eq=False)
class Lease:
    voter: int
    exclusive: bool
    expired: bool = False
    answered: bool = False  # since the lease began
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

    def has_held(self, sheet, voter):
        return any(lease.voter == voter for lease in self.leases.get(sheet, []))

    def counted_vote(self, place):
        """Answer and voter of the counted vote."""
        events = self.events.get(place, [])
        return (events[-1][1], events[-1][2]) if events and events[-1][0] == "cast" else None

    def count_answered(self, sheet):
        return sum(1 for place, (of, _) in enumerate(self.pairs) if of == sheet and self.counted_vote(place))

    def size(self, sheet):
        return sum(1 for of, _ in self.pairs if of == sheet)

    def has_seen_pairs(self, sheet, voter):
        """Whether the voter had a pair of this sheet on another sheet."""
        mine = {pair for of, pair in self.pairs if of != sheet and self.has_held(of, voter)}
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

    # Each step returns the expected answer of the ledger: "ok", or the name of an error.

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
                if ballot.state == "open" and ballot.count_answered(sheet) < ballot.size(sheet):
                    lease.expired = lease.expired and not lease.answered  # asking again does not prolong the lease
                    return number, sheet
                lease.end = "done" if ballot.count_answered(sheet) == ballot.size(sheet) else "closed"
        for number, ballot in enumerate(self.ballots, 1):
            if ballot.state != "open":
                continue
            for sheet in sorted(ballot.sheets(), key=lambda sheet: (ballot.count_answered(sheet) == 0, sheet)):
                lease = ballot.holder(sheet)
                if ballot.count_answered(sheet) == ballot.size(sheet) or ballot.has_seen_pairs(sheet, voter):
                    continue
                if lease is not None and not (lease.expired or lease.voter in self.excluded):
                    continue
                if lease is not None:
                    lease.end = "expired"
                ballot.leases.setdefault(sheet, []).append(Lease(voter, exclusive=True))
                return number, sheet
        return None

    def give(self, number, sheet, voter):
        ballot = self.ballots[number - 1]
        lease = ballot.holder(sheet)
        if ballot.state == "closed" or voter in self.withdrawn or ballot.count_answered(sheet) == ballot.size(sheet):
            return "LedgerError"
        if (lease is not None and lease.voter == voter) or ballot.has_seen_pairs(sheet, voter):
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
        """Name of an error, or the revision; `again` is true for a vote that was late before."""
        if number > len(self.ballots):
            return "VoteError"
        ballot = self.ballots[number - 1]
        sheet = ballot.pairs[place][0]
        if not ballot.has_held(sheet, voter):
            return "VoteError"
        holder, last = ballot.holder(sheet), ballot.leases[sheet][-1]
        why = None
        if ballot.state == "closed":
            why = "closed"
        elif not (last.voter == voter and last.end in (None, "done", "closed")):
            why = "reassigned"
        if again and (why or ballot.counted_vote(place)):
            return "LateVoteError"
        if why:
            ballot.late.append((place, answer, why))
            return "LateVoteError"
        if ballot.counted_vote(place):
            return "ConflictError"
        if holder is not None:
            holder.expired, holder.answered = False, True
        return self._event(ballot, place, "cast", answer, voter)

    def retract(self, number, place, voter):
        ballot = self.ballots[number - 1]
        if ballot.state == "closed":
            return "LateVoteError"
        events, holder = ballot.events.get(place), ballot.holder(ballot.pairs[place][0])
        if events and events[-1][2] == voter and holder is not None and holder.voter != voter:
            return "LateVoteError"  # the pair belongs to the new holder
        if ballot.counted_vote(place) is None or ballot.counted_vote(place)[1] != voter:
            return "ConflictError"
        return self._event(ballot, place, "retract", None, voter)

    def correct(self, number, place, answer):
        ballot = self.ballots[number - 1]
        if ballot.state == "closed":
            return "LateVoteError"
        kind, _, voter = ballot.events.get(place, [("none", None, 0)])[-1]
        is_restored = kind == "void" and answer is not None and voter not in self.withdrawn
        if kind != "cast" and not is_restored:
            return "ConflictError"
        return self._event(ballot, place, "void" if answer is None else "cast", answer, voter)

    def votes_in_open_ballots(self):
        """Number of the ballot and place of each comparison with a counted vote, in ballots that are not closed."""
        return [
            (number, place)
            for number, ballot in enumerate(self.ballots, 1)
            for place in sorted(ballot.events)
            if ballot.state != "closed" and ballot.counted_vote(place)
        ]

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
        counted_votes = {place: vote for place in range(len(ballot.pairs)) if (vote := ballot.counted_vote(place))}
        counted = {place: answer for place, (answer, voter) in counted_votes.items() if voter not in self.excluded}
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
        """The closed ballots, replayed by the state machine without a database."""
        protocol = Voting(self.plan, self.items, self.slots, self.seed)
        for number, ballot in enumerate(self.ballots, 1):
            if ballot.state == "closed":
                protocol.open_ballot()
                answers = {place: answer for place, answer in ballot.counted.items() if answer != "cannot say"}
                protocol.record({f"{number}-{place}": answer for place, answer in answers.items()})
                protocol.close_ballot()
        return protocol

    @staticmethod
    def _event(ballot, place, kind, answer, voter):
        events = ballot.events.setdefault(place, [])
        events.append((kind, answer, voter))
        return len(events)


PLAN = plan_ballots(5, n_ballots=2, fraction=0.6, presentations=2)
N_VOTERS = 4
VOTERS = st.integers(0, N_VOTERS - 1)
PICKS = st.integers(0, 10**6)
ANSWERS = st.sampled_from(["left", "right", "tie", "tie", "cannot say"])


def steps(ledger):
    """The state machine on a ledger; each run creates a campaign."""

    class Steps(RuleBasedStateMachine):
        @initialize(seed=st.integers(0, 5), size=st.sampled_from([2, 3, None]))
        def begin(self, seed, size):
            items = ITEMS[:5]
            options = CampaignSettings(sheet_size=size, assigned=False, lease_minutes=30, least_answered=0.5)
            self.campaign = ledger.new_campaign(PLAN, items, 2, seed, settings=options)
            self.model = Model(PLAN, items, 2, seed)
            self.voters = voters_of(self.campaign, N_VOTERS)
            self.acknowledged = {}  # event id: its step and its receipt
            self.late = {}  # event id: a late vote
            self.open_next()

        def answer_of(self, step):
            try:
                return step()
            except AdaptiveError as error:
                return type(error).__name__

        def choose_one(self, pick, among):
            among = sorted(among)
            return among[pick % len(among)] if among else None

        def place(self, pick, *, number=None):
            """A ballot, most often the last one, and one of its comparisons."""
            number = len(self.model.ballots) if pick % 4 else 1 + pick // 4 % len(self.model.ballots)
            return number, pick // 16 % len(self.model.ballots[number - 1].pairs)

        def send(self, event_id, step, expected, *, stored_errors=()):
            """Send a step and compare the answer with the model's; errors in `stored_errors` store the event too."""
            result = self.answer_of(step)
            if isinstance(expected, str):
                assert result == expected
            else:
                assert (result.event_id, result.revision, result.repeated) == (event_id, expected, False)
            if not isinstance(expected, str) or expected in stored_errors:
                self.acknowledged[event_id] = step, result

        @rule()
        def open_next(self):
            result = self.answer_of(self.campaign.open_next)
            pairs = []
            if isinstance(result, int):
                stored = self.campaign.ballots()[-1]
                draw = self.campaign.read(drawn_columns, stored.id)
                sides = zip(draw.sheet.tolist(), draw.items.tolist(), strict=True)
                pairs = [(sheet, frozenset({ITEMS[left], ITEMS[right]})) for sheet, (left, right) in sides]
            expected = self.model.open(pairs)
            assert result == (len(self.model.ballots) if expected == "ok" else expected)

        @rule(voter=VOTERS)
        def claim(self, voter):
            expected = self.model.claim(voter)
            result = self.answer_of(lambda: write(self.campaign, claim_sheet, self.voters[voter]))
            assert (result if result is None or isinstance(result, str) else (result.number, result.sheet)) == expected

        @rule(pick=PICKS, voter=VOTERS)
        def give(self, pick, voter):
            number, place = self.place(pick)
            sheet = self.model.ballots[number - 1].pairs[place][0]
            ballot_id = self.campaign.ballots()[number - 1].id
            result = self.answer_of(lambda: write(self.campaign, give_sheet, ballot_id, sheet, self.voters[voter]))
            assert (result if isinstance(result, str) else "ok") == self.model.give(number, sheet, voter)

        @rule(pick=PICKS)
        def let_expire(self, pick):
            number, place = self.place(pick)
            sheet = self.model.ballots[number - 1].pairs[place][0]
            self.model.expire(number, sheet)
            change(
                ledger,
                "UPDATE lease SET expires_at = expires_at - 3600000000 WHERE ended_at IS NULL AND sheet = :sheet "
                "AND ballot_id = :ballot",
                sheet=sheet,
                ballot=self.campaign.ballots()[number - 1].id,
            )

        def vote(self, number, place, voter, answer):
            event_id = new_id()
            cast = vote(self.voters[voter], place, answer, number=number, event_id=event_id)
            expected = self.model.cast(number, place, voter, answer)
            self.send(event_id, lambda: self.campaign.cast(cast), expected, stored_errors=["LateVoteError"])
            if expected == "LateVoteError":
                self.late[event_id] = number, place, voter, answer

        @rule(pick=PICKS, voter=VOTERS, answer=ANSWERS)
        def cast_anything(self, pick, voter, answer):
            self.vote(*self.place(pick), voter, answer)

        @rule(pick=PICKS, answers=st.lists(ANSWERS, min_size=1, max_size=6))
        def cast_what_is_asked(self, pick, answers):
            """Cast some votes by holders of the sheet, mostly the present one."""
            number, place = self.place(pick)
            ballot = self.model.ballots[number - 1]
            leases = ballot.leases.get(ballot.pairs[place][0], [])
            if leases:
                lease = leases[-1 - (pick // 7 % len(leases) if pick % 3 == 0 else 0)]
                for at, answer in enumerate(answers):
                    self.vote(number, (place + at) % len(ballot.pairs), lease.voter, answer)

        @precondition(lambda self: self.late)
        @rule(pick=PICKS)
        def send_what_was_late_again(self, pick):
            """A late vote counts once its ballot is open, its voter holds the sheet, and no other vote counts."""
            event_id = self.choose_one(pick, self.late)
            expected = self.model.cast(*self.late[event_id], again=True)
            self.send(event_id, self.acknowledged[event_id][0], expected, stored_errors=["LateVoteError"])
            if expected != "LateVoteError":
                del self.late[event_id]

        @precondition(lambda self: self.acknowledged.keys() - self.late.keys())
        @rule(pick=PICKS)
        def send_again(self, pick):
            event_id = self.choose_one(pick, self.acknowledged.keys() - self.late.keys())
            step, before = self.acknowledged[event_id]
            again = self.answer_of(step)
            if isinstance(before, str):
                assert again == before
            else:
                assert again == type(before)(before.event_id, before.revision, before.kind, before.answer, True)

        @precondition(lambda self: self.acknowledged)
        @rule(pick=PICKS, voter=VOTERS)
        def send_another_vote_under_the_id(self, pick, voter):
            event_id = self.choose_one(pick, self.acknowledged)
            number, place = self.place(pick)
            other = vote(self.voters[voter], place, "left", number=number, event_id=event_id)
            known = query(
                ledger,
                "SELECT payload_hash FROM vote_event WHERE event_id = :id "
                "UNION ALL SELECT payload_hash FROM late_vote WHERE event_id = :id",
                id=event_id,
            )
            if set(known) != {(other.payload_hash(),)}:
                assert self.answer_of(lambda: self.campaign.cast(other)) == "ConflictError"

        @rule(pick=PICKS, voter=VOTERS)
        def take_back(self, pick, voter):
            number, place = self.place(pick)
            counted_vote = self.model.ballots[number - 1].counted_vote(place)
            voter = counted_vote[1] if counted_vote and pick % 3 else voter
            event_id = new_id()
            expected = self.model.retract(number, place, voter)
            step = lambda: retract(self.campaign, event_id, number, place, self.voters[voter])  # noqa: E731
            self.send(event_id, step, expected)

        @rule(pick=PICKS, answer=st.none() | ANSWERS)
        def correct_a_vote(self, pick, answer):
            number, place = self.place(pick)
            self.correct_at(number, place, answer)

        @precondition(lambda self: self.model.votes_in_open_ballots())
        @rule(pick=PICKS, answer=ANSWERS)
        def void_a_vote_and_set_it_again(self, pick, answer):
            number, place = self.choose_one(pick, self.model.votes_in_open_ballots())
            self.correct_at(number, place, None)
            self.correct_at(number, place, answer)

        def correct_at(self, number, place, answer):
            event_id = new_id()
            expected = self.model.correct(number, place, answer)
            step = lambda: correct(self.campaign, event_id, number, place, answer, "misread")  # noqa: E731
            self.send(event_id, step, expected)

        @precondition(lambda self: len(self.model.withdrawn) < N_VOTERS - 3)
        @rule(voter=VOTERS)
        def withdraw(self, voter):
            self.model.withdraw(voter)
            write(self.campaign, withdraw, self.voters[voter])

        @rule(voter=VOTERS)
        def leave_out_or_take_in(self, voter):
            self.model.excluded ^= {voter}
            one = self.campaign.voter(self.voters[voter])
            (one.exclude if voter in self.model.excluded else one.include)("speed")

        @rule(pick=PICKS, least=st.sampled_from([None, 0.0, 1.0]))
        def close(self, pick, least):
            number = 1 + pick % len(self.model.ballots)
            result = self.answer_of(lambda: self.campaign.close(number, least_answered=least))
            expected = self.model.close(number, 0.5 if least is None else least)
            if isinstance(expected, str):
                assert result == expected
                return
            assert result == expected.records[-1]
            self.check_replay(expected)

        @rule(answers=st.lists(ANSWERS, min_size=5, max_size=5))
        def finish(self, answers):
            """Answer everything that is left and close, which random steps rarely reach."""
            number = len(self.model.ballots)
            ballot = self.model.ballots[-1]
            for place, (sheet, _) in enumerate(ballot.pairs):
                lease = ballot.holder(sheet)
                if ballot.state == "open" and lease is not None and ballot.counted_vote(place) is None:
                    self.vote(number, place, lease.voter, answers[place % 5])
            self.close(number - 1, 0.0)

        @rule(pick=PICKS)
        def open_again(self, pick):
            number = 1 + pick % len(self.model.ballots)
            result = self.answer_of(lambda: self.campaign.reopen(number, "a mistake"))
            assert (result or "ok") == self.model.reopen(number)

        def check_replay(self, protocol):
            """The stored records follow from the votes, and the status equals that of the pure state machine."""
            info, ballots = self.campaign.info, self.campaign.ballots()
            records, position = self.campaign.position()
            assert records == protocol.records
            if len(records) == PLAN.n_ballots:
                assert np.array_equal(self.campaign.paper_result().ybar, protocol.result().ybar)
            keys = dict(query(ledger, "SELECT key, id FROM voter WHERE campaign_id = :id", id=info.id))
            for stored in ballots[: len(records)]:
                _, before = position_after(info, ballots[: stored.number - 1])
                excluded = {keys[key]: key for key in stored.record["excluded"]}
                ballot = self.campaign.read(load_ballot, stored)
                votes = self.campaign.read(current_votes, stored.id).excluding(excluded)
                record, after = record_and_position(info, stored, ballot, votes, before)
                assert record_dict(record, after, votes.n_answered, excluded.values()) == stored.record
            assert position.n_closed == len(records)

        @invariant()
        def the_ledger_holds_what_it_acknowledged(self):
            columns = "b.number, t.place, t.kind, t.answer, t.voter_id, t.event_id"
            events = query_ballots(self.campaign, columns, "vote_event", "ORDER BY t.place, t.revision")
            codes = {"left": 1, "right": -1, "tie": 0, "cannot say": 2, None: None}
            for number, ballot in enumerate(self.model.ballots, 1):
                for place in range(len(ballot.pairs)):
                    expected = [(kind, codes[a], self.voters[v]) for kind, a, v in ballot.events.get(place, [])]
                    assert [row[2:5] for row in events if row[:2] == (number, place)] == expected
            assert len(events) == sum(len(history) for b in self.model.ballots for history in b.events.values())
            columns = "b.number, t.place, t.answer, t.why, t.event_id"
            late = query_ballots(self.campaign, columns, "late_vote", "ORDER BY t.id")
            for number, ballot in enumerate(self.model.ballots, 1):
                assert [row[1:4] for row in late if row[0] == number] == [(p, codes[a], w) for p, a, w in ballot.late]
            assert {row[-1] for row in events} | {row[-1] for row in late} == set(self.acknowledged)

        @invariant()
        def sheets_know_their_answers(self):
            rows = query_ballots(self.campaign, "b.number, t.number, t.n_answered, t.n_comparisons", "sheet")
            for number, sheet, n_answered, n_comparisons in rows:
                ballot = self.model.ballots[number - 1]
                assert (n_answered, n_comparisons) == (ballot.count_answered(sheet), ballot.size(sheet))

    return Steps


def test_any_steps_in_any_order(ledger):
    bounds = settings(
        max_examples=max(3, settings().max_examples // 4),
        stateful_step_count=45,
        suppress_health_check=list(HealthCheck),  # steps on a database are slow, and many are not possible in a state
        phases=[Phase.explicit, Phase.generate],  # shrinking a failure of 40 steps on a database takes many minutes
    )
    run_state_machine_as_test(steps(ledger), settings=bounds)
