"""The steps of voters, and of organisers with a voter, each in a transaction."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive._plan import BallotPlan
from adaptive.ledger import _membership as membership
from adaptive.ledger import errors
from adaptive.ledger._ballots import batches, sheets
from adaptive.ledger._ballots.pairs import VoteEvent, current_answers, pair_of_event
from adaptive.ledger._ballots.sheets import Origin, VoterSheet
from adaptive.ledger._ballots.stored import stored_ballots
from adaptive.ledger._campaign.content import PLATFORMS, Outcome, VotingPages
from adaptive.ledger._campaign.transaction import OpenCampaign, Transaction
from adaptive.ledger._membership import PlatformVoters, Visit, VoterRow
from adaptive.ledger._reports.results import ExclusionPreview, exclusion_preview
from adaptive.ledger._store import schema
from adaptive.ledger._tokens import issue, voter_of_session
from adaptive.ledger._votes import casting, voiding
from adaptive.ledger._votes.casting import Receipt, VoteCast

Step: TypeAlias = Literal["consent", "vote", "finish"]
Reason: TypeAlias = Literal["ended", "limit", "none left", "not open", "wait"]
_MOST_DRAWS: Final = 4
# Sheets that a ``voter`` has finished, sheets with a retracted answer, and the number of answers without practice.
_OF_CAMPAIGN: Final = schema.ballot.c.campaign_id == sa.bindparam("campaign")
_IS_VOTERS: Final = schema.vote_event.c.voter_id == sa.bindparam("voter")
_SHEETS_DONE: Final = (
    sa.select(schema.ballot.c.number, schema.lease.c.sheet)
    .select_from(schema.LEASES)
    .where(_OF_CAMPAIGN, schema.lease.c.voter_id == sa.bindparam("voter"), schema.lease.c.end_reason == "done")
)
_TAKEN_BACK: Final = (
    sa.select(schema.ballot.c.number, schema.comparison.c.sheet)
    .select_from(schema.VOTES.join(schema.comparison))
    .where(_OF_CAMPAIGN, _IS_VOTERS, schema.IS_LAST, schema.vote_event.c.kind == "retract")
)
_KEY: Final = sa.select(schema.voter.c.key).where(schema.voter.c.id == sa.bindparam("voter"))
_N_ANSWERS: Final = (
    sa.select(sa.func.count())
    .select_from(schema.VOTES.join(schema.comparison))
    .where(_OF_CAMPAIGN, _IS_VOTERS, schema.IN_FORCE, schema.IS_NO_PRACTICE)
)


@dataclass(frozen=True)
class VoterState:
    """The state of a voter in the campaign.

    Attributes
    ----------
    voter_key : str
        Key of the voter in exports.
    step : {"consent", "vote", "finish"}
        The next step.
    sheet : VoterSheet or None
        The sheet that the voter holds, finished or not.
    n_sheets_done : int
        Number of finished sheets.
    n_answers : int
        Number of current answers of the voter in all ballots. It excludes practice but includes other checks: a voter
        who counts answers must not be able to recognise checks.
    available : bool
        Whether there is a pair to answer now.
    reason : {"ended", "limit", "none left", "not open", "wait"} or None
        Why there is no pair. "ended": the last ballot is closed. "not open": the first or next ballot has not been
        opened yet. "wait": other voters hold the remaining sheets without an answer, or have not answered enough for
        the next batch, the address holds as many unanswered sheets as it may, or the ballot is being closed, which may
        fail.
    wait_seconds : int or None
        Seconds until one of the unanswered sheets of other voters becomes free; None if unknown.

    See Also
    --------
    Voter.state : Returns it.
    VoterSheet : The type of `sheet`.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> state = voter.state(pages)
    >>> state.step, state.available, state.sheet, state.n_answers
    ('vote', True, None, 0)
    >>> ledger.close()
    """

    voter_key: str
    step: Step
    sheet: VoterSheet | None
    n_sheets_done: int
    n_answers: int
    available: bool
    reason: Reason | None
    wait_seconds: int | None


@dataclass(frozen=True)
class Ending:
    """The end of a voter's participation.

    Attributes
    ----------
    outcome : {"complete", "screened out", "quota full"}
        Outcome, which determines the code for a participant of a platform.
    n_answers : int
    """

    outcome: Outcome
    n_answers: int


def state_of(transaction: Transaction, pages: VotingPages, voter_id: int) -> VoterState:
    """Return the state of a voter, without changing anything."""
    sheet = sheets.sheet_of_voter(transaction, voter_id)
    reason: Reason | None = None
    if sheet is None or not sheet.missing:
        reason = _reason_to_stop(transaction, pages, voter_id, sheet)
        if reason is None and not is_more_left(transaction, voter_id):
            reason = why_none_left(transaction, voter_id)
    return _state(transaction, pages, voter_id, sheet, reason)


def next_sheet(
    transaction: Transaction,
    pages: VotingPages,
    voter_id: int,
    origin: Origin | None = None,
    *,
    may_get_batch: bool = False,
) -> VoterState | None:
    """Run a step of `Voter.next_sheet`; with `may_get_batch`, None means that a batch can be drawn instead.

    The origin limits neither invited voters, who have personal links, nor voters who have answered something, who need
    not wait for others at their address.
    """
    sheet = sheets.sheet_of_voter(transaction, voter_id)
    if sheet is not None and sheet.missing:
        lease = sheets.renew_lease(transaction, voter_id)
        sheet = replace(sheet, expires_at=None if lease is None else lease.expires_at)
        return _state(transaction, pages, voter_id, sheet)
    reason = _reason_to_stop(transaction, pages, voter_id, sheet)
    if reason is not None:
        return _state(transaction, pages, voter_id, sheet, reason)
    if origin is not None:
        # An address limits only voters who were not invited and have not answered anything yet.
        if membership.source_of(transaction, voter_id) == membership.INVITED or sheets.has_begun(transaction, voter_id):
            origin = None
        else:
            transaction.lock_address(origin.hash_address(transaction.info))
            if not sheets.has_room(transaction, origin):
                return _state(transaction, pages, voter_id, sheet, "wait")

    is_due = False

    def may_draw() -> bool:
        nonlocal is_due  # remains true, because the claim then skips partial sheets
        is_due = is_due or (may_get_batch and batches.may_draw(transaction, voter_id))
        return is_due

    sheet = sheets.claim_sheet(transaction, voter_id, origin, is_batch_due=may_draw)
    if sheet is None and transaction.open_all_overdue():
        sheet = sheets.claim_sheet(transaction, voter_id, origin, is_batch_due=may_draw)
    if sheet is not None:
        return _state(transaction, pages, voter_id, sheet)
    # A batch may have become due while others took the remaining sheets.
    if may_draw() or (may_get_batch and batches.may_replace(transaction, voter_id)):
        return None
    batches.record_no_pairs_left(transaction, voter_id)
    return _state(transaction, pages, voter_id, None, why_none_left(transaction, voter_id))


def finish(transaction: Transaction, pages: VotingPages, voter_id: int) -> Ending:
    """Run the step of `Voter.finish`."""
    transaction.lock_voter(voter_id)  # a simultaneous retraction happens before this step, or fails
    state = state_of(transaction, pages, voter_id)
    missing = 0 if state.sheet is None else len(state.sheet.missing)
    if missing:
        raise errors.UnfinishedError(f"{missing} pairs have no answer yet", missing=missing)
    outcome: Outcome = "complete"
    early = _early_outcome(transaction, pages, voter_id, state)
    if early is not None and pages.way_back(early)[0] is not None:
        outcome = early
    elif pages.sheets is not None and (state.available or state.reason == "wait"):
        left = pages.sheets - state.n_sheets_done
        raise errors.UnfinishedError(f"{left} sheets are still to come", missing=left, unit="sheets")
    elif not state.n_answers:
        raise errors.UnfinishedError("there is no answer yet", missing=0)
    if pages.platform is not None or any(pages.way_back(outcome)):
        membership.write_outcome(transaction, voter_id, outcome)
    return Ending(outcome, state.n_answers)


def _state(
    transaction: Transaction, pages: VotingPages, voter_id: int, sheet: VoterSheet | None, reason: Reason | None = None
) -> VoterState:
    """Return the state of a voter, given the sheet or the reason why there is none."""
    voter = schema.voter
    columns = sa.select(voter.c.key, voter.c.consent_version).where(voter.c.id == voter_id)
    key, consent_version = transaction.execute(columns).one()
    step: Step = "finish" if reason not in (None, "wait") else "vote"
    if consent_version != pages.consent_version:
        step = "consent"
    return VoterState(
        voter_key=key,
        step=step,
        sheet=sheet,
        n_sheets_done=_count_sheets_done(transaction, voter_id, sheet),
        n_answers=int(transaction.scalar(_N_ANSWERS, {"campaign": transaction.info.id, "voter": voter_id})),
        available=reason is None,
        reason=reason,
        wait_seconds=sheets.seconds_left(transaction, voter_id) if reason == "wait" else None,
    )


def _early_outcome(transaction: Transaction, pages: VotingPages, voter_id: int, state: VoterState) -> Outcome | None:
    """Return the outcome of a participant who gets no further sheet and is not complete; otherwise None.

    "screened out": the participant was excluded before finishing all sheets, or the first one if there is no limit.
    "quota full": no sheet was left, and the participant has answered nothing.
    """
    if state.reason in (None, "wait", "not open") or membership.source_of(transaction, voter_id) not in PLATFORMS:
        return None
    if voter_id in transaction.excluded_voters():
        return "screened out" if state.n_sheets_done < (pages.sheets or 1) else None
    return "quota full" if not state.n_answers else None


def _reason_to_stop(
    transaction: Transaction, pages: VotingPages, voter_id: int, sheet: VoterSheet | None
) -> Reason | None:
    """Return why this voter gets no further sheet, even if some are left; None if the voter may get one."""
    if pages.sheets is not None and _count_sheets_done(transaction, voter_id, sheet) >= pages.sheets:
        return "limit"
    # Answers of excluded voters would not count.
    return "none left" if voter_id in transaction.excluded_voters() else None


def is_more_left(transaction: Transaction, voter_id: int | None = None) -> bool:
    """Return whether this voter, or a new one, would get a sheet now, perhaps from a batch that is due."""
    if sheets.is_sheet_left(transaction, voter_id) or batches.may_draw(transaction, voter_id):
        return True
    return voter_id is not None and batches.may_replace(transaction, voter_id)


def why_none_left(transaction: Transaction, voter_id: int | None = None) -> Reason:
    """Return why there is no sheet for a voter, or for a new one.

    "wait": a sheet will become free unless it is answered, or a batch will be drawn once others have answered more of
    the last one, or a ballot is being closed, which may fail. "not open": the first or next ballot has not been opened
    yet. "ended": the last ballot is closed. Otherwise "none left".
    """
    if sheets.seconds_left(transaction, voter_id) is not None:
        return "wait"
    if batches.is_more_wanted(transaction, voter_id) and batches.is_budget_left(transaction):
        return "wait"
    ballot = schema.ballot
    of_campaign = sa.select(ballot.c.state).where(transaction.of_campaign(ballot))
    states = transaction.execute(of_campaign).scalars().all()
    if not states:
        return "not open"
    if "closing" in states:
        return "wait"
    if any(state != "closed" for state in states):
        return "none left"
    plan = transaction.info.plan
    return "not open" if isinstance(plan, BallotPlan) and len(states) < plan.n_ballots else "ended"


def _begin_session(
    transaction: Transaction, pages: VotingPages, voter_id: int, consent: str | None, hours: float
) -> str:
    if consent is not None:
        membership.consent(transaction, pages, voter_id, consent)
    return issue(transaction, "session", voter_id=voter_id, hours=hours)


def _invite(transaction: Transaction, names: Sequence[str]) -> list[str]:
    """Add voters and return the tokens of their links; see `Voters.invite`."""
    if len(set(names)) < len(names):
        raise errors.LedgerError("names must be unique; one is repeated")
    voters = [membership.register_unless_withdrawn(transaction, name, membership.INVITED) for name in names]
    transaction.audit("invited", {"voters": len(names)})
    return [issue(transaction, "invitation", voter_id=voter_id) for voter_id in voters]


def _give_sheets(transaction: Transaction, name: str, *, giver: str | None = None, numbers: Sequence[int] = ()) -> int:
    """Give sheets to a voter and return how many; see `Voters.give_sheets`."""
    transaction.open_all_overdue()
    open_ones = [stored for stored in stored_ballots(transaction) if stored.state == "open"]
    if not open_ones:
        raise errors.LedgerError("no ballot is open: there is no sheet to give")
    taker = membership.register(transaction, name)
    sheets_to_give = [(open_ones[-1].id, sheet - 1) for sheet in numbers]
    if giver is not None:
        sheets_to_give = sheets.unfinished_sheets(transaction, membership.voter_named(transaction, giver))
        if not sheets_to_give:
            raise errors.LedgerError(f"voter {giver!r} has no unfinished sheet")
    for ballot_id, sheet in sheets_to_give:
        sheets.give_sheet(transaction, ballot_id, sheet, taker)
    return len(sheets_to_give)


def _voter_at(transaction: Transaction, number: int, place: int) -> int | None:
    """Return the voter of the current answer to a comparison."""
    answer = current_answers(transaction, transaction.ballot_numbered(number), [place]).get(place)
    return None if answer is None else answer.voter_id


def _count_sheets_done(transaction: Transaction, voter_id: int, sheet: VoterSheet | None) -> int:
    """Return the number of sheets that the voter has finished, including a complete sheet that the voter still holds.

    A sheet does not count while the voter has retracted an answer on it that nobody has replaced.
    """
    values = {"campaign": transaction.info.id, "voter": voter_id}
    finished = {tuple(row) for row in transaction.execute(_SHEETS_DONE, values)}
    finished -= {tuple(row) for row in transaction.execute(_TAKEN_BACK, values)}
    if sheet is not None:
        finished -= {(sheet.number, sheet.sheet)}
    return len(finished) + (sheet is not None and not sheet.missing)


@dataclass(frozen=True, eq=False)
class Voter(OpenCampaign):
    """One voter of a campaign; each step is one transaction, unless stated otherwise.

    See Also
    --------
    Campaign.voters : Finds voters and lets them join.
    VoterState : The state of a voter.
    VoterRow : A voter in a list.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> state = voter.next_sheet(pages)
    >>> len(state.sheet.pairs), state.step
    (2, 'vote')
    >>> ledger.close()
    """

    id: int

    @cached_property
    def key(self) -> str:
        """Random key of the voter, used in exports."""
        return str(self.read(lambda transaction: transaction.scalar(_KEY, {"voter": self.id})))

    def begin_session(self, pages: VotingPages, *, consent: str | None, hours: float) -> str:
        """Return the token of a new session, and record consent to a version of the text.

        Raises
        ------
        LedgerError
            If another version of the consent text is in force.
        """
        return self.write(_begin_session, pages, self.id, consent, hours)

    def consent(self, pages: VotingPages, version: str) -> None:
        """Record that the voter agreed to a version of the consent text.

        Raises
        ------
        LedgerError
            If another version is in force.
        """
        self.write(membership.consent, pages, self.id, version)

    def state(self, pages: VotingPages) -> VoterState:
        """Return the state of the voter."""
        return self.read(state_of, pages, self.id)

    def next_sheet(self, pages: VotingPages, origin: Origin | None = None) -> VoterState:
        """Give the voter the same sheet until it is finished, then the next one, and return the voter's state.

        The state has a sheet with pairs to answer, or the reason why there is none. Once its first batch is opened, a
        continuous campaign draws the next one for a voter who finds no sheet. This takes several transactions: search
        for a sheet, check whether a batch is due, draw it, and search again. Voters of this process who ask at the same
        time wait for the same draw, which has a sheet for each of them.

        Parameters
        ----------
        origin : Origin or None
            Limits the number of unanswered sheets of its address; None for no limit.
        """

        def claim(*, may_get_batch: bool) -> VoterState | None:
            return self.write(next_sheet, pages, self.id, origin, may_get_batch=may_get_batch)

        draws = self.database.draws(self.info.id)
        for _ in range(_MOST_DRAWS):  # voters of another process may take all sheets of a batch drawn here
            state = claim(may_get_batch=True)
            if state is not None:
                return state
            try:
                with draws.turn(time.monotonic() + self.database.patience):
                    state = claim(may_get_batch=True)  # perhaps from a batch that was drawn in the meantime
                    if state is not None:
                        return state
                    batches.draw_batch(self, voter_id=self.id, n_voters=1 + draws.n_waiting)
            except (errors.LedgerBusyError, errors.UnreachableError):
                raise
            except (errors.ChangedError, errors.NotReadyError):  # another process drew it first
                continue
            except (errors.LedgerError, TimeoutError):  # the target is reached, or the fit takes too long
                break
        return claim(may_get_batch=False) or self.state(pages)

    def cast(self, vote: VoteCast) -> Receipt:
        """Record a vote as `Campaign.cast` does; an error does not reveal another voter's answer."""
        try:
            return casting.cast(self, vote)
        except errors.ConflictError as error:
            if error.recorded is None:
                raise
            if self.read(_voter_at, vote.number, vote.place) != self.id:
                raise errors.ConflictError(str(error)) from error
            raise

    def vote(self, event_id: str) -> VoteEvent | None:
        """Return the comparison of an event of this voter; None if this voter sent no event with that id."""
        event = self.read(pair_of_event, event_id)
        return event if event is not None and event.voter_id == self.id else None

    def retract(self, vote: VoteEvent, event_id: str) -> Receipt:
        """Retract a vote by a new event, while its ballot is open; the comparison may then be answered again.

        Raises
        ------
        FinishedError
            If the voter has finished; `cast` can still change the answer.
        ConflictError
            If this voter has no current vote on the comparison.
        LateVoteError
            If the ballot is closed; the vote stays in force.
        LedgerBusyError
            While the ballot is being closed.
        """
        return casting.retract(self, event_id, vote.number, vote.place, self.id)

    def finish(self, pages: VotingPages) -> Ending:
        """End the voter's participation, and record the outcome if it has a code or the voter came from a platform.

        Afterwards, the voter can change answers but not retract them.

        Raises
        ------
        UnfinishedError
            Pairs or sheets are still to be answered.
        """
        return self.write(finish, pages, self.id)

    def leave(self) -> int:
        """Erase the voter's name, void the votes in ballots that are not closed, and return how many were voided.

        Raises
        ------
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self.write(voiding.leave, self.id)

    def ask_others(self) -> int:
        """Ask other voters the comparisons of this excluded voter, and return how many votes were voided.

        Raises
        ------
        LedgerError
            The voter is not excluded.
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self.write(voiding.ask_others, self.id)

    def exclude(self, reason: str, *, ask_others: bool = False) -> int:
        """Exclude the voter's votes from all scores from now on, and return how many were voided.

        Parameters
        ----------
        ask_others : bool
            Whether to ask others the comparisons at once, as `ask_others` does, with its errors. False voids no vote.
        """

        def exclude(transaction: Transaction) -> int:
            transaction.audit("excluded", {"reason": reason}, voter_id=self.id)
            return voiding.ask_others(transaction, self.id) if ask_others else 0

        return self.write(exclude)

    def include(self, reason: str) -> None:
        """Include the voter's votes again."""
        self.write(Transaction.audit, "included", {"reason": reason}, voter_id=self.id)

    def preview_exclusion(self) -> ExclusionPreview:
        """Return the effect of excluding the voter, or of including an excluded voter again.

        Raises
        ------
        LedgerError
            The voter has no votes, or no other voter has any.
        """
        return self.read(exclusion_preview, self.id)


@dataclass(frozen=True, eq=False)
class Voters(OpenCampaign):
    """The voters of a campaign; each step is one transaction."""

    def join(self, pages: VotingPages, *, consent: str, hours: float, visit: Visit | None = None) -> tuple[Voter, str]:
        """Add a voter who agrees to a version of the consent text, and return the voter with a session's token.

        Parameters
        ----------
        visit : Visit or None
            Visit of a participant of a platform, who may be a known voter. None for a new voter by the open link.

        Raises
        ------
        LedgerError
            The campaign has no open link, is not on the platform, or belongs to another study there; the id does not
            have the platform's form, or is that of an excluded voter who has left; or another consent text is in
            force.
        """

        def join(transaction: Transaction) -> tuple[int, str]:
            voter_id = membership.join(transaction, pages, visit)
            return voter_id, _begin_session(transaction, pages, voter_id, consent, hours)

        voter_id, token = self.write(join)
        return Voter(self.database, self.info, voter_id), token

    def turns_away(self, pages: VotingPages, visit: Visit) -> bool:
        """Return whether a participant of a platform is new and no sheet is left for a new voter.

        Raises
        ------
        LedgerError
            The platform, the study or the id is invalid, as in `join`.
        """

        def is_turned_away(transaction: Transaction) -> bool:
            name, source = membership.platform_name(pages, visit)
            if membership.find_voter(transaction, name, source=source) is not None:
                return False
            return not is_more_left(transaction) and why_none_left(transaction) in ("ended", "none left")

        return self.read(is_turned_away)

    def is_left_out(self, token: str) -> bool:
        """Return whether a token belongs, or belonged, to a session of an excluded voter."""

        def is_left_out(transaction: Transaction) -> bool:
            voter_id = voter_of_session(transaction, token)
            return voter_id is not None and voter_id in transaction.excluded_voters()

        return self.read(is_left_out)

    def why_none_left(self) -> tuple[Reason | None, int | None]:
        """Return why a new voter gets no sheet, and the seconds until a sheet of others becomes free."""

        def reason_and_wait(transaction: Transaction) -> tuple[Reason | None, int | None]:
            if is_more_left(transaction):
                return None, None
            reason = why_none_left(transaction)
            return (None, sheets.seconds_left(transaction)) if reason == "wait" else (reason, None)

        return self.read(reason_and_wait)

    def invite(self, names: Sequence[str]) -> list[str]:
        """Add a voter for each name and return the tokens of their links; voters already invited get another token.

        Raises
        ------
        LedgerError
            A name is repeated, or is that of an excluded voter who has left.
        """
        return self.write(_invite, names)

    def with_key(self, key: str) -> Voter:
        """Find the voter with a random key; names are not accepted.

        Raises
        ------
        NoVoterError
            If no voter has this key.
        """
        return Voter(self.database, self.info, self.read(membership.voter_of_key, key))

    def named(self, name: str) -> Voter:
        """Find the voter whom a file calls `name`, or whose key it is.

        Raises
        ------
        NoVoterError
            If no voter has this name or key.
        """
        return Voter(self.database, self.info, self.read(membership.voter_named, name))

    def rows(self, *, names: bool = False) -> tuple[VoterRow, ...]:
        """Return all voters, in order of joining.

        Parameters
        ----------
        names : bool
            Whether to include their names, which are personal data.
        """
        return self.read(membership.voter_rows, names=names)

    def give_sheets(self, name: str, *, giver: str | None = None, sheets: Sequence[int] = ()) -> int:
        """Give sheets of the open ballot to a voter, adding the voter if the name is new, and return how many.

        Parameters
        ----------
        giver : str or None
            Take all unfinished sheets of this voter. None to take those in `sheets`, counted from 1.

        Raises
        ------
        LedgerError
            No ballot is open, the giver has no unfinished sheet, the ballot does not have a sheet, a sheet is answered,
            the voter has withdrawn, already holds it, or was already asked one of its pairs, or the name is a key.
        """
        return self.write(_give_sheets, name, giver=giver, numbers=sheets)

    def of_platform(self) -> PlatformVoters:
        """List the participants of the campaign's platform by their ids, which are personal data."""
        return self.read(membership.platform_voters)
