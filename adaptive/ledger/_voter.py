"""Let voters take their steps, and organisers those with a voter, each in a transaction."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adaptive.ledger._ballots import sheets
from adaptive.ledger._ballots.batches import draw_batch
from adaptive.ledger._ballots.pairs import VoteEvent, answer_at, pair_of_event
from adaptive.ledger._ballots.sheets import Origin
from adaptive.ledger._ballots.sheets import give_sheets as lease_sheets
from adaptive.ledger._ballots.voter_state import (
    Ending,
    Reason,
    VoterState,
    finish,
    is_more_left,
    next_sheet,
    state_of,
    why_none_left,
)
from adaptive.ledger._campaign.pages import VotingPages
from adaptive.ledger._campaign.transaction import OpenCampaign, Transaction
from adaptive.ledger._reports.quality import ExclusionPreview, exclusion_preview
from adaptive.ledger._voters import identity, participation
from adaptive.ledger._voters.identity import PlatformVoters, VoterRow, find_voter, voter_of_key, voter_rows
from adaptive.ledger._voters.participation import Visit, platform_name
from adaptive.ledger._voters.tokens import issue, voter_of_session
from adaptive.ledger._votes import casting
from adaptive.ledger._votes.casting import Receipt, VoteCast
from adaptive.ledger.errors import (
    ChangedError,
    ConflictError,
    LedgerBusyError,
    LedgerError,
    NotReadyError,
    UnreachableError,
)

_MOST_DRAWS: Final = 4


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

    def begin_session(self, pages: VotingPages, *, consent: str | None, hours: float) -> str:
        """Return the token of a new session, recording consent to a version of the text with it.

        Raises
        ------
        LedgerError
            If another version of the consent text is in force.
        """

        def begin(transaction: Transaction) -> str:
            if consent is not None:
                participation.consent(transaction, pages, self.id, consent)
            return issue(transaction, "session", voter_id=self.id, hours=hours)

        return self.write(begin)

    def consent(self, pages: VotingPages, version: str) -> None:
        """Record that the voter agreed to a version of the consent text.

        Raises
        ------
        LedgerError
            If another version is in force.
        """
        self.write(participation.consent, pages, self.id, version)

    def state(self, pages: VotingPages) -> VoterState:
        """Return the state of the voter."""
        return self.read(state_of, pages, self.id)

    def next_sheet(self, pages: VotingPages, origin: Origin | None = None) -> VoterState:
        """Give the voter the same sheet until it is done, then the next one, and return the voter's state.

        The state has a sheet with pairs to answer, or the reason why there is none. A continuous campaign draws its
        next batch for the voter who finds no sheet. That takes several transactions: search for a sheet, check whether
        a batch is due, draw it, and search again. Voters of this process who ask at the same moment wait for one draw,
        which has a sheet for each of them.

        Parameters
        ----------
        origin : Origin or None
            Limits the unanswered sheets of its address; None: no limit.
        """

        def claim(*, may_get_batch: bool) -> VoterState | None:
            return self.write(next_sheet, pages, self.id, origin, may_get_batch=may_get_batch)

        draws = self.database.draws(self.info.id)
        for _ in range(_MOST_DRAWS):  # voters of another process may take all sheets of a batch that is drawn here
            state = claim(may_get_batch=True)
            if state is not None:
                return state
            try:
                with draws.turn(time.monotonic() + self.database.patience):
                    state = claim(may_get_batch=True)  # perhaps from a batch that was drawn in the meantime
                    if state is not None:
                        return state
                    draw_batch(self, voter_id=self.id, n_voters=1 + draws.n_waiting)
            except (LedgerBusyError, UnreachableError):
                raise
            except (ChangedError, NotReadyError):  # another process drew it first
                continue
            except (LedgerError, TimeoutError):  # the target is reached, or the fit is long
                break
        return claim(may_get_batch=False) or self.state(pages)

    def cast(self, vote: VoteCast) -> Receipt:
        """Record a vote as `Campaign.cast` does; an error does not reveal another voter's answer."""
        try:
            return casting.cast(self, vote)
        except ConflictError as error:
            if error.recorded is None:
                raise
            answer = self.read(answer_at, vote.number, vote.place)
            if answer is None or answer.voter_id != self.id:
                raise ConflictError(str(error)) from error
            raise

    def vote(self, event_id: str) -> VoteEvent | None:
        """Return the comparison of an event of this voter; None if this voter sent no event of that id."""
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

        From then on the voter can change answers, but not take them back.

        Raises
        ------
        UnfinishedError
            If pairs or sheets are still to be answered.
        """
        return self.write(finish, pages, self.id)

    def leave(self) -> int:
        """Forget the voter, void the votes of ballots that are not closed, and return how many were voided.

        Raises
        ------
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self.write(participation.leave, self.id)

    def ask_others(self) -> int:
        """Ask other voters the comparisons of a voter who is left out, and return how many votes were voided.

        Raises
        ------
        LedgerError
            If the voter is not left out.
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self.write(participation.ask_others, self.id)

    def exclude(self, reason: str) -> None:
        """Exclude the voter's votes from all scores from now on, without changing any vote."""
        self.write(identity.set_excluded, self.id, True, reason)

    def include(self, reason: str) -> None:
        """Include the voter's votes again."""
        self.write(identity.set_excluded, self.id, False, reason)

    def preview_exclusion(self) -> ExclusionPreview:
        """Return the effect of leaving the voter out, or of taking back one who is left out.

        Raises
        ------
        LedgerError
            If the voter has no votes, or no other voter has any.
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
            A visit from a platform, by a known voter or a new one. None: a new voter by the open link.

        Raises
        ------
        LedgerError
            If the campaign has no open link, is not on the platform or belongs to another study there; if the id does
            not have the platform's form, is that of a voter who was left out and then left, or another consent text is
            in force.
        """

        def join(transaction: Transaction) -> tuple[int, str]:
            voter_id = participation.join(transaction, pages, visit)
            participation.consent(transaction, pages, voter_id, consent)
            return voter_id, issue(transaction, "session", voter_id=voter_id, hours=hours)

        voter_id, token = self.write(join)
        return Voter(self.database, self.info, voter_id), token

    def turns_away(self, pages: VotingPages, visit: Visit) -> bool:
        """Return whether a platform's participant is new and no sheet is left for a newcomer.

        Raises
        ------
        LedgerError
            If the platform, the study or the id is invalid, as in `join`.
        """

        def is_turned_away(transaction: Transaction) -> bool:
            name, source = platform_name(pages, visit)
            if find_voter(transaction, name, source=source) is not None:
                return False
            return not is_more_left(transaction) and why_none_left(transaction) == "none left"

        return self.read(is_turned_away)

    def is_left_out(self, token: str) -> bool:
        """Return whether a token is, or was, that of a session of a voter who is left out."""

        def is_left_out(transaction: Transaction) -> bool:
            voter_id = voter_of_session(transaction, token)
            return voter_id is not None and voter_id in transaction.excluded_voters()

        return self.read(is_left_out)

    def why_none_left(self) -> tuple[Reason | None, int | None]:
        """Return why a newcomer gets no sheet, and the seconds until one that others hold becomes free."""

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
            If a name is repeated, or is that of a voter who was left out of the scores and then left.
        """
        return self.write(participation.invite, names)

    def with_key(self, key: str) -> Voter:
        """Find the voter of a random key; names are not looked up.

        Raises
        ------
        NoVoterError
            If no voter has this key.
        """
        return Voter(self.database, self.info, self.read(voter_of_key, key))

    def named(self, name: str) -> Voter:
        """Find the voter whom a file calls `name`, or whose key it is.

        Raises
        ------
        NoVoterError
            If no voter has this name or key.
        """
        return Voter(self.database, self.info, self.read(identity.voter_named, name))

    def rows(self, *, names: bool = False) -> tuple[VoterRow, ...]:
        """Return all voters, in order of joining.

        Parameters
        ----------
        names : bool
            Whether to give their names, which are personal data.
        """
        return self.read(voter_rows, names=names)

    def give_sheets(self, name: str, *, giver: str | None = None, sheets: Sequence[int] = ()) -> int:
        """Give sheets of the open ballot to a voter, adding the voter if the name is new, and return how many.

        Parameters
        ----------
        giver : str or None
            Take all unfinished sheets of this voter. None: take those in `sheets`, counted from 1.

        Raises
        ------
        LedgerError
            If no ballot is open, the giver has no unfinished sheet, the ballot does not have a sheet, a sheet is
            answered, or the voter has withdrawn, already holds it, or was already asked one of its pairs.
        """
        return self.write(lease_sheets, name, giver=giver, sheets=sheets)

    def of_platform(self) -> PlatformVoters:
        """List the participants of the campaign's platform by their ids, which are personal data."""
        return self.read(identity.platform_voters)
