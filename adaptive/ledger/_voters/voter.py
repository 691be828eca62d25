"""Provide the steps of voters, and those that organisers take with a voter."""

import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from adaptive.ledger._ballots import sheets
from adaptive.ledger._ballots.continuous import draw_batch
from adaptive.ledger._ballots.shown_sheets import KnownEvent, answer_at, pair_of_event
from adaptive.ledger._campaign.status import voter_of_key, voter_rows
from adaptive.ledger._campaign.stored import Steps, reads, writes
from adaptive.ledger._campaign.voting_pages import Outcome, VotingPages, pages_of
from adaptive.ledger._quality.report import ExclusionPreview, exclusion_preview
from adaptive.ledger._voters import identity, participation
from adaptive.ledger._voters.identity import Participant
from adaptive.ledger._voters.newcomers import Origin
from adaptive.ledger._voters.participation import Journey, Reason, SheetInHand, Visit
from adaptive.ledger._voters.tokens import issue, voter_of_session
from adaptive.ledger._votes import casting
from adaptive.ledger._votes.casting import Receipt, VoteCast
from adaptive.ledger.errors import ConflictError, LedgerBusyError, LedgerError, UnfinishedError, UnreachableError


@dataclass(frozen=True)
class Ending:
    """The end of a voter's participation.

    Attributes
    ----------
    outcome : {"complete", "screened out", "quota full"}
        The outcome, which determines the code for a participant of a platform.
    n_answers : int
    """

    outcome: Outcome
    n_answers: int


@dataclass(frozen=True)
class PlatformVoters:
    """The participants sent by a platform.

    Attributes
    ----------
    platform : {"prolific", "mturk"} or None
    participants : tuple of Participant

    See Also
    --------
    Participant : The type of its participants.
    Visit : A participant who opens the link of the study.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, Settings, Visit, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(platform="prolific", study="6f8d0d55b54764421b715dd2")
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False))
    >>> version = campaign.set_pages(pages, replaces=0)
    >>> visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=pages.study)
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1, visit=visit)
    >>> found = campaign.voters.of_platform()
    >>> found.platform, len(found.participants)
    ('prolific', 1)
    >>> ledger.close()
    """

    platform: str | None
    participants: tuple[Participant, ...]


@dataclass(frozen=True, eq=False)
class Voter(Steps):
    """One voter of a campaign; each step is one transaction, unless stated otherwise.

    See Also
    --------
    Campaign.voters : Finds voters and lets them join.
    Journey : The state of a voter.
    VoterRow : A voter in a list.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, Settings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> hand, reason = voter.next_sheet(pages)
    >>> len(hand.pairs), voter.journey(pages).step
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

        def write(connection: sa.Connection) -> str:
            if consent is not None:
                participation.consent(connection, self.info, pages, self.id, consent)
            return issue(connection, self.info, "session", voter_id=self.id, hours=hours)

        return self.database.write(write)

    def consent(self, pages: VotingPages, version: str) -> None:
        """Record that the voter agreed to a version of the consent text.

        Raises
        ------
        LedgerError
            If another version is in force.
        """
        self._write(participation.consent, pages, self.id, version)

    def journey(self, pages: VotingPages) -> Journey:
        """Return the state of the voter."""
        return self._read(participation.journey_of, pages, self.id)

    def journey_with(self, pages: VotingPages, hand: SheetInHand) -> Journey:
        """Return the state of a voter who has just got this sheet."""
        return self._read(participation.journey_with, pages, self.id, hand)

    def next_sheet(self, pages: VotingPages, origin: Origin | None = None) -> tuple[SheetInHand | None, Reason | None]:
        """Return the sheet in hand until it is done, then the next one, or None and the reason.

        A continuous campaign draws its next batch for the voter who finds no sheet. That takes several transactions:
        search for a sheet, check whether a batch is due, draw it, and search again. Voters of this process who ask at
        the same moment wait for one draw, which has a sheet for each of them.

        Parameters
        ----------
        origin : Origin or None
            Limits the unanswered sheets of its address; None: no limit.
        """

        def claim(*, may_get_batch: bool) -> tuple[SheetInHand | None, Any]:
            return self._write(participation.next_sheet, pages, self.id, origin, may_get_batch=may_get_batch)

        hand, reason = claim(may_get_batch=True)
        if reason != "batch due":
            return hand, reason
        draws = self.database.draws(self.info.id)
        try:
            with draws.turn(time.monotonic() + self.database.patience):
                hand, reason = claim(may_get_batch=True)  # perhaps from a batch that was drawn in the meantime
                if reason != "batch due":
                    return hand, reason
                draw_batch(self.database, self.info, voter_id=self.id, n_voters=1 + draws.n_waiting)
        except (LedgerBusyError, UnreachableError):
            raise
        except (LedgerError, TimeoutError):  # another process drew it first, the target is reached, or the fit is long
            pass
        return claim(may_get_batch=False)

    def cast(self, vote: VoteCast) -> Receipt:
        """Record a vote as `Campaign.cast` does; an error does not reveal another voter's answer."""
        try:
            return casting.cast(self.database, self.info, vote)
        except ConflictError as error:
            if error.recorded is None:
                raise
            recorded = self._read(answer_at, vote.number, vote.place)
            if recorded is None or recorded.voter_id != self.id:
                raise ConflictError(str(error)) from error
            raise

    def vote(self, event_id: str) -> KnownEvent | None:
        """Return the comparison of an event of this voter; None if this voter sent no event of that id."""
        known = self._read(pair_of_event, event_id)
        return known if known is not None and known.voter_id == self.id else None

    def retract(self, vote: KnownEvent, event_id: str) -> Receipt:
        """Retract a vote by a new event.

        Raises
        ------
        FinishedError
            If the voter has finished; `cast` can still change the answer.
        """
        return casting.retract(self.database, self.info, event_id, vote.number, vote.place, self.id)

    def finish(self, pages: VotingPages) -> Ending:
        """End the voter's participation, and record the outcome if it has a code or the voter came from a platform.

        From then on the voter can change answers, but not take them back.

        Raises
        ------
        UnfinishedError
            If pairs or sheets are still to be answered.
        """
        return self.database.write(lambda connection: self._finish(connection, pages))

    def _finish(self, connection: sa.Connection, pages: VotingPages) -> Ending:
        identity.lock_voter(connection, self.id)  # an answer that is being taken back is taken back before, or not
        journey = participation.journey_of(connection, self.info, pages, self.id)
        missing = 0 if journey.hand is None else len(journey.hand.missing)
        if missing:
            raise UnfinishedError(f"{missing} pairs have no answer yet", missing=missing)
        early = participation.ended_early(connection, self.info, pages, self.id, journey)
        if early is not None and pages.way_back(early)[0] is not None:
            return self._ended(connection, pages, journey, early)
        if pages.sheets is not None and (journey.available or journey.reason == "wait"):
            left = pages.sheets - journey.n_sheets_done
            raise UnfinishedError(f"{left} sheets are still to come", missing=left, unit="sheets")
        if not journey.n_answers:
            raise UnfinishedError("there is no answer yet", missing=0)
        return self._ended(connection, pages, journey, "complete")

    def leave(self) -> int:
        """Forget the voter, void the votes of ballots that are not closed, and return how many were voided.

        Raises
        ------
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self._write(participation.leave, self.id)

    def ask_others(self) -> int:
        """Ask other voters the comparisons of a voter who is left out, and return how many votes were voided.

        Raises
        ------
        LedgerError
            If the voter is not left out.
        LedgerBusyError
            While a ballot is being closed; try again in a moment.
        """
        return self._write(participation.ask_others, self.id)

    def exclude(self, reason: str) -> None:
        """Exclude the voter's votes from all scores from now on, without changing any vote."""
        self._write(identity.set_excluded, self.id, True, reason)

    def include(self, reason: str) -> None:
        """Include the voter's votes again."""
        self._write(identity.set_excluded, self.id, False, reason)

    def preview_exclusion(self) -> ExclusionPreview:
        """Return the effect of leaving the voter out, or of taking back one who is left out.

        Raises
        ------
        LedgerError
            If the voter has no votes, or no other voter has any.
        """
        return self._read(exclusion_preview, self.id)

    def _ended(self, connection: sa.Connection, pages: VotingPages, journey: Journey, outcome: Outcome) -> Ending:
        if pages.platform is not None or any(pages.way_back(outcome)):
            identity.write_outcome(connection, self.info, self.id, outcome)
        return Ending(outcome, journey.n_answers)


@dataclass(frozen=True, eq=False)
class Voters(Steps):
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

        def write(connection: sa.Connection) -> tuple[int, str]:
            found = participation.join(connection, self.info, pages, visit)
            participation.consent(connection, self.info, pages, found, consent)
            return found, issue(connection, self.info, "session", voter_id=found, hours=hours)

        voter_id, token = self.database.write(write)
        return Voter(self.database, self.info, voter_id), token

    turns_away = reads(participation.is_turned_away)

    def is_left_out(self, token: str) -> bool:
        """Return whether a token is, or was, that of a session of a voter who is left out."""

        def read(connection: sa.Connection) -> bool:
            voter_id = voter_of_session(connection, self.info, token)
            return voter_id is not None and voter_id in identity.excluded_voters(connection, self.info.id)

        return self.database.read(read)

    def why_none_left(self) -> tuple[Reason | None, int | None]:
        """Return why a newcomer gets no sheet, and the seconds until one that others hold becomes free."""

        def read(connection: sa.Connection) -> tuple[Reason | None, int | None]:
            if participation.is_more_left(connection, self.info):
                return None, None
            reason = participation.why_none_left(connection, self.info)
            return (None, sheets.seconds_left(connection, self.info)) if reason == "wait" else (reason, None)

        return self.database.read(read)

    invite = writes(participation.invite)

    def with_key(self, key: str) -> Voter:
        """Find the voter of a random key; names are not looked up.

        Raises
        ------
        NoVoterError
            If no voter has this key.
        """
        return Voter(self.database, self.info, self._read(voter_of_key, key))

    def named(self, name: str) -> Voter:
        """Find the voter whom a file calls `name`, or whose key it is.

        Raises
        ------
        NoVoterError
            If no voter has this name or key.
        """
        return Voter(self.database, self.info, self._read(identity.voter_named, name))

    rows = reads(voter_rows)
    give_sheets = writes(sheets.give_sheets)

    def of_platform(self) -> PlatformVoters:
        """List the participants of the campaign's platform by their ids, which are personal data."""
        return self.database.read(
            lambda connection: PlatformVoters(
                pages_of(connection, self.info.id)[1].platform, identity.participants(connection, self.info)
            )
        )
