"""Lead a voter through a campaign: join, consent, vote on one sheet after another, finish or leave.

Each step of the browser is one transaction here and is safe to repeat.
"""

import re
import secrets
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive._plan import BallotPlan
from adaptive.ledger._ballots import sheets
from adaptive.ledger._ballots.continuous import is_budget_left, is_more_wanted, may_draw, may_replace, note_in_vain
from adaptive.ledger._ballots.open_pairs import open_pairs
from adaptive.ledger._ballots.shown_sheets import Answered, ShownPair, answers_on, shown_pairs
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.voting_pages import Outcome, VotingPages
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import now
from adaptive.ledger._store.locks import count_answers, lock_address, lock_ballot, open_overdue
from adaptive.ledger._store.rows import audit
from adaptive.ledger._voters.identity import FILE, excluded_voters, find_voter, is_participant, register
from adaptive.ledger._voters.newcomers import Origin, has_room
from adaptive.ledger._voters.tokens import issue, revoke_of_voter
from adaptive.ledger._votes.reading import in_force, is_last
from adaptive.ledger.errors import LedgerBusyError, LedgerError
from rankcorr._checks import shown

Step: TypeAlias = Literal["consent", "vote", "finish"]
Reason: TypeAlias = Literal["limit", "none left", "not open", "wait"]
OPEN, INVITED = "open", "invitation"
_PARTICIPANTS: Final = {
    # The form of the ids that the platforms assign; any other id was made up.
    "prolific": re.compile(r"[0-9a-f]{24}"),
    "mturk": re.compile(r"A[0-9A-Z]{9,30}"),
}


@dataclass(frozen=True)
class Visit:
    """A participant of a platform who opens the link of a study.

    Attributes
    ----------
    platform : {"prolific", "mturk"}
    participant, study : str
        Ids assigned by the platform.

    See Also
    --------
    Campaign.voters : Its method `join` takes a visit.
    VotingPages : Names the platform and the study of a campaign.
    Participant : The record that the ledger keeps.

    Examples
    --------
    >>> from adaptive.ledger import Visit
    >>> visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study="6f8d0d55b54764421b715dd2")
    >>> visit.platform
    'prolific'
    """

    platform: Literal["prolific", "mturk"]
    participant: str
    study: str


@dataclass(frozen=True)
class SheetInHand:
    """A sheet that a voter holds.

    Attributes
    ----------
    number, sheet : int
        Ballot, counted from 1, and sheet in it, counted from 0.
    expires_at : int or None
    pairs : tuple of ShownPair
        Practice is left out for voters who have practised or voted on another sheet. So are pairs that another holder
        of the sheet answered, and pairs that the voter was asked on another sheet.
    answers : dict of int to Answered
        The voter's own answers, by position.

    See Also
    --------
    Voter.next_sheet : Returns it.
    ShownPair : The type of its pairs.

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
    >>> hand.number, hand.sheet, len(hand.pairs), len(hand.missing)
    (1, 0, 2, 2)
    >>> ledger.close()
    """

    number: int
    sheet: int
    expires_at: int | None
    pairs: tuple[ShownPair, ...]
    answers: Mapping[int, Answered]

    @property
    def missing(self) -> tuple[ShownPair, ...]:
        """Pairs without an answer."""
        return tuple(pair for pair in self.pairs if pair.position not in self.answers)


@dataclass(frozen=True)
class Journey:
    """The state of a voter in the campaign.

    Attributes
    ----------
    voter_key : str
        The voter's key in exports.
    step : {"consent", "vote", "finish"}
        The next step.
    hand : SheetInHand or None
        The sheet in hand, done or not.
    n_sheets_done : int
    n_answers : int
        The voter's current answers in all ballots. Practice is left out but no other check, because voters who count
        their answers must not find out which pairs are checks.
    available : bool
        Whether there is a pair to answer now.
    reason : {"limit", "none left", "not open", "wait"} or None
        Why there is no pair. "not open": the first or next ballot has not been opened yet. "wait": other voters hold
        the remaining sheets and have not answered anything on them, or have not answered enough for the next batch.
    wait_seconds : int or None
        Seconds until one of the sheets that others hold unanswered becomes free; None if that is not known.

    See Also
    --------
    Voter.journey : Returns it.
    SheetInHand : The type of `hand`.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, Settings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> journey = voter.journey(pages)
    >>> journey.step, journey.available, journey.hand, journey.n_answers
    ('vote', True, None, 0)
    >>> ledger.close()
    """

    voter_key: str
    step: Step
    hand: SheetInHand | None
    n_sheets_done: int
    n_answers: int
    available: bool
    reason: Reason | None
    wait_seconds: int | None


def join(connection: sa.Connection, info: CampaignInfo, pages: VotingPages, visit: Visit | None) -> int:
    """Return the id of a new voter by the open link, or of a platform's participant, added on the first visit.

    A participant of a study is one voter, because the platform opens another session on each visit.

    Raises
    ------
    LedgerError
        If the campaign has no open link, is not on the platform or belongs to another study there, if the id does not
        have the platform's form, or if the id is that of a voter who was left out of the scores and then left.
    """
    if visit is not None:
        return _registered(connection, info, *_of_platform(pages, visit))
    if not pages.open_link:
        raise LedgerError("this campaign is for those who were invited")
    return register(connection, info, secrets.token_hex(16), source=OPEN)


def is_turned_away(connection: sa.Connection, info: CampaignInfo, pages: VotingPages, visit: Visit) -> bool:
    """Return whether a platform's participant is new and no sheet is left for a newcomer.

    Raises
    ------
    LedgerError
        If the platform, the study or the id is invalid, as in `join`.
    """
    name, source = _of_platform(pages, visit)
    if find_voter(connection, info, name, source=source) is not None:
        return False
    return not is_more_left(connection, info) and why_none_left(connection, info) == "none left"


def invite(connection: sa.Connection, info: CampaignInfo, names: Sequence[str]) -> list[str]:
    """Add a voter for each name and return the tokens of their links; voters already invited get another token.

    Raises
    ------
    LedgerError
        If a name is repeated, or is that of a voter who was left out of the scores and then left.
    """
    if len(set(names)) < len(names):
        raise LedgerError("a name is twice among those to invite")
    tokens = []
    for name in names:
        voter_id = _registered(connection, info, name, INVITED)
        tokens.append(issue(connection, info, "invitation", voter_id=voter_id))
    audit(connection, info.id, "invited", {"voters": len(names)})
    return tokens


def consent(connection: sa.Connection, info: CampaignInfo, pages: VotingPages, voter_id: int, version: str) -> None:
    """Record that a voter agreed to a version of the consent text.

    Raises
    ------
    LedgerError
        If another version is in force.
    """
    if version != pages.consent_version:
        raise LedgerError(f"the consent text is of version {pages.consent_version}; got {shown(version)}")
    table = schema.voter
    before = connection.execute(sa.select(table.c.consent_version).where(table.c.id == voter_id)).scalar_one()
    if before == version:
        return
    connection.execute(sa.update(table).where(table.c.id == voter_id).values(consent_version=version))
    audit(connection, info.id, "consented", {"version": version}, voter_id=voter_id)


def journey_of(connection: sa.Connection, info: CampaignInfo, pages: VotingPages, voter_id: int) -> Journey:
    """Return the state of a voter, without changing anything."""
    hand = _in_hand(connection, info, voter_id)
    reason: Reason | None = None
    if hand is None or not hand.missing:
        reason = _bar(connection, info, pages, voter_id, hand)
        if reason is None and not is_more_left(connection, info, voter_id):
            reason = why_none_left(connection, info, voter_id)
    return journey_with(connection, info, pages, voter_id, hand, reason)


def journey_with(
    connection: sa.Connection,
    info: CampaignInfo,
    pages: VotingPages,
    voter_id: int,
    hand: SheetInHand | None,
    reason: Reason | None = None,
) -> Journey:
    """Return the state of a voter whose sheet in hand is known, or who has none for the given reason."""
    voter = schema.voter
    own = sa.select(voter.c.key, voter.c.consent_version).where(voter.c.id == voter_id)
    key, agreed = connection.execute(own).one()
    step: Step = "finish" if reason not in (None, "wait") else "vote"
    if agreed != pages.consent_version:
        step = "consent"
    done = _n_done(connection, info, voter_id, hand)
    n_answers = _n_standing(connection, info, voter_id)
    wait = sheets.seconds_left(connection, info, voter_id) if reason == "wait" else None
    return Journey(key, step, hand, done, n_answers, reason is None, reason, wait)


def is_more_left(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> bool:
    """Return whether this voter, or a new one, would get a sheet now, perhaps from a batch that is due."""
    if sheets.is_sheet_left(connection, info, voter_id) or may_draw(connection, info, voter_id):
        return True
    return voter_id is not None and may_replace(connection, info, voter_id)


def why_none_left(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> Reason:
    """Return why there is no sheet for a voter, or for a new one.

    Either all sheets are leased or done, or a ballot has not been opened yet. The reason is "wait" if a sheet becomes
    free again unless it is answered, or if a batch is drawn as soon as others have answered more of the last one.
    """
    if sheets.seconds_left(connection, info, voter_id) is not None:
        return "wait"
    if is_more_wanted(connection, info, voter_id) and is_budget_left(connection, info):
        return "wait"
    ballot = schema.ballot
    states = connection.execute(sa.select(ballot.c.state).where(ballot.c.campaign_id == info.id)).scalars().all()
    if not isinstance(info.plan, BallotPlan) or any(state != "closed" for state in states):
        return "none left"
    return "not open" if len(states) < info.plan.n_ballots else "none left"


def next_sheet(
    connection: sa.Connection,
    info: CampaignInfo,
    pages: VotingPages,
    voter_id: int,
    origin: Origin | None = None,
    *,
    may_get_batch: bool = False,
) -> tuple[SheetInHand | None, Reason | Literal["batch due"] | None]:
    """Return the sheet in hand until all its pairs are answered, then the next one, or None and the reason.

    Parameters
    ----------
    origin : Origin or None
        Limits the unanswered sheets of its address, but not those of invited voters, because each has a link, nor of
        voters who have answered something: they need not wait because another voter at their address does not answer.
        None: no limit.
    may_get_batch : bool
        Whether to stop with the reason "batch due" if a batch can be drawn for a voter for whom no whole sheet is left.
    """
    hand = _in_hand(connection, info, voter_id)
    if hand is not None and hand.missing:
        renewed = sheets.renew_lease(connection, info, voter_id)
        return replace(hand, expires_at=None if renewed is None else renewed.expires_at), None
    bar = _bar(connection, info, pages, voter_id, hand)
    if bar is not None:
        return None, bar
    if origin is not None and not _is_known(connection, voter_id):
        lock_address(connection, info.id, origin.hashed(info))
        if not has_room(connection, info, origin):
            return None, "wait"
    else:
        origin = None
    is_due = may_get_batch and may_draw(connection, info, voter_id)
    lease = sheets.claim_sheet(connection, info, voter_id, origin, only_whole=is_due)
    if lease is not None:
        return _sheet(connection, info, voter_id, lease), None
    if is_due or (may_get_batch and may_replace(connection, info, voter_id)):
        return None, "batch due"
    note_in_vain(connection, info, voter_id)
    return None, why_none_left(connection, info, voter_id)


def _bar(
    connection: sa.Connection, info: CampaignInfo, pages: VotingPages, voter_id: int, hand: SheetInHand | None
) -> Reason | None:
    """Return why this voter gets no further sheet, whatever is left; None: the voter may have one."""
    if pages.sheets is not None and _n_done(connection, info, voter_id, hand) >= pages.sheets:
        return "limit"
    # Answers that would not count are not asked for.
    return "none left" if voter_id in excluded_voters(connection, info.id) else None


def ended_early(
    connection: sa.Connection, info: CampaignInfo, pages: VotingPages, voter_id: int, journey: Journey
) -> Outcome | None:
    """Return the outcome of a participant who has no sheet and gets none; None if complete or free to go on.

    "screened out": the participant was left out before finishing all sheets (at least one). "quota full": no sheet was
    left and the participant has answered nothing.
    """
    if not is_participant(connection, voter_id) or journey.reason in (None, "wait", "not open"):
        return None
    if voter_id in excluded_voters(connection, info.id):
        return "screened out" if journey.n_sheets_done < (pages.sheets or 1) else None
    return "quota full" if not journey.n_answers else None


def leave(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Forget a voter, void the votes in ballots that are not closed, and return how many were voided.

    Votes in closed ballots are kept under an untraceable key, because those ballots have been decided. For a voter who
    was left out of the scores, the keyed hash of the name is also kept, so that the voter cannot leave and then rejoin.

    Raises
    ------
    LedgerBusyError
        While a ballot is being closed; try again in a moment.
    """
    n_voided = _void_all(connection, info, voter_id, "the voter left")
    audit(connection, info.id, "left", {"voided": n_voided}, voter_id=voter_id)
    withdraw(connection, info, voter_id)
    erase(connection, info, voter_id, keep_hash=voter_id in excluded_voters(connection, info.id))
    return n_voided


def ask_others(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Ask other voters the comparisons of a voter who is left out, and return how many votes were voided.

    Only ballots that are not closed are affected: there, a vote that does not count still prevents its comparison from
    being asked again. The voter's sheets become free for others. Voided votes stay in the ledger and do not count again
    if the voter is taken back.

    Raises
    ------
    LedgerError
        If the voter is not left out.
    LedgerBusyError
        While a ballot is being closed; try again in a moment.
    """
    if voter_id not in excluded_voters(connection, info.id):
        raise LedgerError("the voter is not excluded: the answers count, so no other voter is asked")
    n_voided = _void_all(connection, info, voter_id, "asked of others")
    lease, ballot = schema.lease, schema.ballot
    still_open = sa.select(ballot.c.id).where(ballot.c.campaign_id == info.id, ballot.c.state != "closed")
    in_hand = (lease.c.voter_id == voter_id, lease.c.ended_at.is_(None), lease.c.ballot_id.in_(still_open))
    connection.execute(sa.update(lease).where(*in_hand).values(ended_at=now(), end_reason="reassigned"))
    audit(connection, info.id, "asked of others", {"voided": n_voided}, voter_id=voter_id)
    return n_voided


def _void_all(connection: sa.Connection, info: CampaignInfo, voter_id: int, why: str) -> int:
    """Void the voter's votes in all ballots that are not closed; return how many, not counting checks."""
    ballot, n_voided = schema.ballot, 0
    left = sa.select(ballot.c.id).where(ballot.c.campaign_id == info.id, ballot.c.state != "closed")
    for ballot_id in connection.execute(left.order_by(ballot.c.id)).scalars().all():
        lock_ballot(connection, ballot_id, exclusive=True)  # no vote of this voter and no closing is in progress
        state = connection.execute(sa.select(ballot.c.state).where(ballot.c.id == ballot_id)).scalar_one()
        if state == "closing":
            open_overdue(connection, ballot_id)  # voters can leave even if the closer died
            state = connection.execute(sa.select(ballot.c.state).where(ballot.c.id == ballot_id)).scalar_one()
        if state == "closing":
            raise LedgerBusyError("a ballot is being closed: try again in a moment")
        if state == "open":
            n_voided += _void(connection, ballot_id, voter_id, why)
    return n_voided


def _of_platform(pages: VotingPages, visit: Visit) -> tuple[str, str]:
    """Return the name and source of a participant."""
    participant, study = visit.participant, visit.study
    if visit.platform != pages.platform:
        raise LedgerError(f"this campaign does not use {visit.platform}")
    if pages.study is not None and study != pages.study:
        raise LedgerError("the link belongs to another study")
    if not _PARTICIPANTS[visit.platform].fullmatch(participant):
        raise LedgerError(f"this is not the id of a participant of {visit.platform}: {shown(participant)}")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", study):
        raise LedgerError(f"this is not the id of a study: {shown(study)}")
    return f"{study} {participant}", visit.platform


def _registered(connection: sa.Connection, info: CampaignInfo, name: str, source: str) -> int:
    """Return the id of the voter with this name, unless that voter may not rejoin."""
    voter_id = register(connection, info, name, source=source)
    voter = schema.voter
    if connection.execute(sa.select(voter.c.withdrawn_at).where(voter.c.id == voter_id)).scalar() is not None:
        raise LedgerError("a voter with this name has withdrawn from the campaign and cannot rejoin")
    return voter_id


def _void(connection: sa.Connection, ballot_id: int, voter_id: int, why: str) -> int:
    event, asked = schema.vote_event, schema.comparison
    # All other writers wait for this query, so it reads only the voter's own events, not those of the ballot.
    own = (event.c.ballot_id == ballot_id, event.c.voter_id == voter_id, *in_force(event))
    wanted = sa.select(event.c.place, event.c.revision, asked.c.sheet, asked.c.probe).select_from(event.join(asked))
    voided = connection.execute(wanted.where(*own).order_by(event.c.place)).all()
    if not voided:
        return 0
    scored, checked = Counter[int](), Counter[int]()
    for row in voided:
        scored[row.sheet] -= row.probe is None
        checked[row.sheet] -= row.probe not in (None, "practice")
    same = {"ballot_id": ballot_id, "voter_id": voter_id, "kind": "void", "reason": why, "payload_hash": ""}
    same["received_at"] = now()
    events = [{"event_id": str(uuid.uuid4()), "place": row.place, "revision": row.revision + 1} for row in voided]
    connection.execute(sa.insert(event), [{**same, **each} for each in events])
    count_answers(connection, ballot_id, scored, checked)
    return -scored.total()


def _is_known(connection: sa.Connection, voter_id: int) -> bool:
    """Return whether a voter was invited or has answered something."""
    voter = schema.voter
    source = connection.execute(sa.select(voter.c.source).where(voter.c.id == voter_id)).scalar_one()
    return source == INVITED or sheets.has_begun(connection, voter_id)


def _in_hand(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> SheetInHand | None:
    lease = sheets.lease_of_voter(connection, voter_id)
    return None if lease is None or lease.is_closed else _sheet(connection, info, voter_id, lease)


def _sheet(connection: sa.Connection, info: CampaignInfo, voter_id: int, lease: sheets.Lease) -> SheetInHand:
    pairs = shown_pairs(connection, info, lease.number, lease.sheet)
    answers = answers_on(connection, info, lease.number, pairs)
    here = lease.ballot_id, lease.sheet
    hidden = open_pairs(connection, info, [here], voter_id)[here].hidden
    if any(pair.is_practice for pair in pairs) and sheets.has_begun(connection, voter_id, besides=here):
        pairs = tuple(pair for pair in pairs if not pair.is_practice)
    own = {position: answer for position, answer in answers.items() if answer.voter_id == voter_id}
    pairs = tuple(
        pair for pair in pairs if pair.position in own or not (pair.position in answers or pair.place in hidden)
    )
    return SheetInHand(lease.number, lease.sheet, lease.expires_at, pairs, own)


def _n_done(connection: sa.Connection, info: CampaignInfo, voter_id: int, hand: SheetInHand | None) -> int:
    """Return how many sheets the voter finished; the one in hand counts once nothing on it is missing.

    A sheet does not count while the voter has taken back an answer on it that nobody has given again.
    """
    lease, ballot, event, asked = schema.lease, schema.ballot, schema.vote_event, schema.comparison
    done = (ballot.c.campaign_id == info.id, lease.c.voter_id == voter_id, lease.c.end_reason == "done")
    sheets_done = sa.select(ballot.c.number, lease.c.sheet).join(ballot, ballot.c.id == lease.c.ballot_id).where(*done)
    joined = event.join(asked).join(ballot, ballot.c.id == event.c.ballot_id)
    own = (ballot.c.campaign_id == info.id, event.c.voter_id == voter_id, *is_last(event), event.c.kind == "retract")
    taken_back = sa.select(ballot.c.number, asked.c.sheet).select_from(joined).where(*own)
    finished = {tuple(row) for row in connection.execute(sheets_done)}
    finished -= {tuple(row) for row in connection.execute(taken_back)}
    if hand is not None:
        finished -= {(hand.number, hand.sheet)}
    return len(finished) + (hand is not None and not hand.missing)


def _n_standing(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Return the number of the voter's current answers, practice left out."""
    ballot, event, asked = schema.ballot, schema.vote_event, schema.comparison
    is_no_practice = sa.or_(asked.c.probe.is_(None), asked.c.probe != "practice")
    own = (ballot.c.campaign_id == info.id, event.c.voter_id == voter_id, *in_force(event), is_no_practice)
    joined = event.join(ballot, ballot.c.id == event.c.ballot_id).join(asked)
    return int(connection.execute(sa.select(sa.func.count()).select_from(joined).where(*own)).scalar_one())


def erase(connection: sa.Connection, info: CampaignInfo, voter_id: int, *, keep_hash: bool = False) -> None:
    """Erase a voter's name, e-mail and the hash that identifies a returning voter; votes are kept under the key.

    Parameters
    ----------
    keep_hash : bool
        Whether to keep the keyed hash of the name. Not for voters of files, who do not join by themselves.
    """
    voter = schema.voter
    connection.execute(sa.delete(schema.voter_identity).where(schema.voter_identity.c.voter_id == voter_id))
    found = voter.c.id == voter_id
    if keep_hash:
        found = sa.and_(found, voter.c.source == FILE)
    connection.execute(sa.update(voter).where(found).values(external_hash=None))
    lease = schema.lease
    connection.execute(sa.update(lease).where(lease.c.voter_id == voter_id).values(address=None))
    revoke_of_voter(connection, voter_id)
    audit(connection, info.id, "erased", {}, voter_id=voter_id)


def withdraw(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> None:
    """Release a voter: the sheets in hand become free for others."""
    at = now()
    # Lock the voter first: a request that is claiming a sheet holds that row, and its lease is then ended with the
    # others.
    connection.execute(sa.update(schema.voter).where(schema.voter.c.id == voter_id).values(withdrawn_at=at))
    in_hand = (schema.lease.c.voter_id == voter_id, schema.lease.c.ended_at.is_(None))
    connection.execute(sa.update(schema.lease).where(*in_hand).values(ended_at=at, end_reason="withdrawn"))
    audit(connection, info.id, "withdrawn", {}, voter_id=voter_id)
