"""Serve what a voter's pages call: /v1/sessions, me, consent, withdraw, sheets, finish, votes.

Voters join, agree, get pairs to compare, answer and leave; an answer sent again is recorded once.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from flask import Response, after_this_request, g, jsonify

from adaptive import ledger
from adaptive.errors import VoteError
from service.collect import access
from service.collect.api.blueprints import ERRORS
from service.collect.schemas import voting as schemas
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.blueprint import Blueprint

SOON_SECONDS: Final = 10  # within this time other voters at an address usually give their first answer

sessions = Blueprint("sessions", __name__, url_prefix="/v1/sessions", errors=ERRORS, security=({},))


def _voter_blueprint(name: str, prefix: str) -> Blueprint:
    headers = (schemas.CAMPAIGN_PARAMETER,)
    blueprint = Blueprint(name, __name__, url_prefix=prefix, errors=ERRORS, security=({"voter": []},), headers=headers)
    blueprint.before_request(access.admit_voter)
    return blueprint


voter = _voter_blueprint("voter", "/v1")
sheets = _voter_blueprint("sheets", "/v1")
votes = _voter_blueprint("votes", "/v1/votes")


@sessions.post("", name="beginSession")
@sessions.arguments(schemas.SessionRequest)
@sessions.response(201, schemas.MeAnswer, headers=schemas.SESSION_HEADERS)
def begin(campaign: str, token: str = "", platform: dict[str, str] | None = None, consent: Any = None) -> Response:
    """Start a session from a link; the cookie in the answer identifies the voter from now on.

    An invitation can be used any number of times: it opens the same voter's session again, on other devices too. An
    open link or a platform's link creates a voter only with consent, so that a mere visit leaves no data.
    """
    joined = collecting().campaigns.of(campaign)
    _, pages = collecting().campaigns.pages(joined)
    voter = known = None
    if token:
        invited = access.holder_of_link(joined, token, "invitation")
        voter = access.voter_of(joined, invited)
        if consent is not None:
            check_version(pages, consent)
    else:
        if platform is not None:
            access.holder_of_link(joined, platform["secret"], "study")
            check_quota(joined, pages, platform)
        if consent is None:
            raise consent_needed("agree to the consent text before you begin", pages)
        if platform is None and (known := access.voter_of_cookie(joined)) is not None:
            voter = access.voter_of(joined, known)  # a returning voter
        check_version(pages, consent)
        if voter is None and platform is None:
            if not pages.open_link:
                raise Problem(403, "this campaign is only for invited voters", kind="not-invited")
            if access.is_left_out(joined):
                raise Problem(403, "there are no more pairs for this voter", kind="nothing-left")

    session, hours = None, access.SESSION_HOURS
    with _for_this_campaign():
        if voter is None:
            visit = None if platform is None else _visit(platform)
            voter, session = joined.voters.join(pages, consent=consent, hours=hours, visit=visit)
        elif known is not None:  # the browser has a session
            voter.consent(pages, consent)
        else:
            session = voter.begin_session(pages, consent=consent, hours=hours)
    response = jsonify(me_of(joined, pages, voter.state(pages)))
    if session is not None:
        access.set_cookie(response, access.VOTER_COOKIE, joined, session)
    response.status_code = 201
    return response


@voter.get("/me", name="readMe")
@voter.response(200, schemas.MeAnswer)
def me() -> dict[str, Any]:
    """Return the voter's progress and next step."""
    session = _session()
    return me_of(session.campaign, session.pages, session.voter.state(session.pages))


@voter.put("/consent", name="consent")
@voter.arguments(schemas.ConsentRequest)
@voter.response(200, schemas.MeAnswer)
def agree(version: str) -> dict[str, Any]:
    """Agree to a version of the consent text."""
    session = _session()
    check_version(session.pages, version)
    session.voter.consent(session.pages, version)
    return me_of(session.campaign, session.pages, session.voter.state(session.pages))


@voter.post("/withdraw", name="withdraw")
@voter.arguments(schemas.NoFields)
@voter.response(204)
def withdraw() -> None:
    """Withdraw: the voter's personal data are erased, and votes in ballots that are not closed do not count."""
    _session().voter.leave()


@sheets.post("/sheets", name="leaseSheet")
@sheets.arguments(schemas.NoFields)
@sheets.response(200, schemas.SheetAnswer)
def lease() -> dict[str, Any]:
    """Return the current sheet until it is done, then the next one; repeated requests return the same sheet.

    The reason "wait" means one of two things: other voters hold all remaining sheets without an answer on them, or the
    voter's address holds as many unanswered sheets as it may. `retry_after` and the header Retry-After give the seconds
    to wait.
    """
    session = _session()
    campaign, pages = session.campaign, session.pages
    if session.consent_version != pages.consent_version:
        raise consent_needed("agree to the consent text before you see pairs", pages)
    state = session.voter.next_sheet(pages, session.origin)
    me = me_of(campaign, pages, state)
    if state.sheet is None or not state.available:
        seconds = (state.wait_seconds or SOON_SECONDS) if state.reason == "wait" else None

        @after_this_request
        def say_when(response: Response) -> Response:
            if seconds is not None:
                response.headers["Retry-After"] = str(seconds)
            return response

        return {"sheet": None, "reason": state.reason, "retry_after": seconds, "me": me}
    return {"sheet": _sheet_answer(campaign, state.sheet), "reason": None, "retry_after": None, "me": me}


@sheets.post("/finish", name="finish")
@sheets.arguments(schemas.NoFields)
@sheets.response(200, schemas.FinishAnswer)
def finish() -> dict[str, Any]:
    """Return the completion code once all answers of this voter are counted.

    Participants of a platform may get another code: "screened out" if they were excluded before the end, "quota full"
    if no sheet was left for them.
    """
    session = _session()
    try:
        ending = session.voter.finish(session.pages)
    except ledger.UnfinishedError as error:
        raise Problem(
            409, str(error), kind="unfinished", members={"missing": error.missing, "unit": error.unit}
        ) from error
    code, url = session.pages.way_back(ending.outcome)
    answer = {"finished": True, "outcome": ending.outcome, "answers": ending.n_answers}
    return answer | {"completion_code": code, "completion_url": url}


@votes.put("/<event_id>", name="castVote", parameters=[schemas.EVENT_PARAMETER])
@votes.arguments(schemas.VoteRequest)
@votes.response(200, schemas.VoteAnswer)
def cast(event_id: str, pair: str, answer: str, **details: Any) -> dict[str, Any]:
    """Record an answer; it is on disk when this returns, and sending it again under the same id changes nothing."""
    session = _session()
    campaign, voter, pages = session.campaign, session.voter, session.pages
    if session.consent_version is None:
        raise consent_needed("agree to the consent text before you answer", pages)
    if answer not in offered_answers(campaign, pages):
        raise Problem(422, f"this campaign does not offer the answer {answer!r}")
    try:
        number, shown_pair = _pair(campaign, pair)
        vote = ledger.VoteCast(_event_id(event_id), number, shown_pair.place, voter.id, answer, **details)
        receipt = voter.cast(vote)
    except ledger.ConflictError as error:
        raise _conflict(error, pair) from error
    except VoteError as error:
        raise Problem(404, "this voter has no such pair", kind="no-such-pair") from error
    expected, feedback = shown_pair.expected, None
    if shown_pair.is_practice:
        feedback = {"expected": expected, "agrees": expected == answer.partition(" ")[0]}
    return {**_receipt(receipt, pair), "feedback": feedback}


def _pair(campaign: ledger.Campaign, name: str) -> tuple[int, ledger.ShownPair]:
    number, sheet, position = ledger.pair_at(name)
    pairs = collecting().campaigns.pairs(campaign, number, sheet)
    if position >= len(pairs):
        raise VoteError(f"the sheet has {len(pairs)} pairs; got {name!r}")
    return number, pairs[position]


@votes.post("/<event_id>/retract", name="retractVote", parameters=[schemas.EVENT_PARAMETER])
@votes.arguments(schemas.RetractRequest, as_kwargs=False)
@votes.response(200, schemas.VoteAnswer)
def take_back(request: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Retract an answer while its ballot is open; its pair can then be answered again."""
    voter = _session().voter
    known = voter.vote(_event_id(event_id))
    if known is None:
        raise Problem(404, "this voter gave no such answer", kind="no-such-vote")
    try:
        receipt = voter.retract(known, request["event_id"])
    except ledger.ConflictError as error:
        raise _conflict(error, known.pair) from error
    return {**_receipt(receipt, known.pair), "feedback": None}


def offered_answers(campaign: ledger.Campaign, pages: ledger.VotingPages) -> list[str]:
    """Return the answers that a campaign offers to its voters."""
    absent = {name for name, is_offered in (("tie", pages.ties), ("cannot say", pages.cannot_say)) if not is_offered}
    return [answer for answer in campaign.info.answers if answer not in absent]


def me_of(campaign: ledger.Campaign, pages: ledger.VotingPages, state: ledger.VoterState) -> dict[str, Any]:
    """Return a voter's progress and next step as JSON."""
    sheet = state.sheet
    return {
        "campaign": campaign.key,
        "voter": state.voter_key,
        "step": state.step,
        "consent_version": pages.consent_version,
        "offered": offered_answers(campaign, pages),
        "available": state.available,
        "reason": state.reason,
        "retry_after": state.wait_seconds,
        "progress": {
            "sheets_done": state.n_sheets_done,
            "sheets_limit": pages.sheets,
            "answered": 0 if sheet is None else len(sheet.pairs) - len(sheet.missing),
            "of": 0 if sheet is None else len(sheet.pairs),
            "answers": state.n_answers,
        },
    }


def check_quota(campaign: ledger.Campaign, pages: ledger.VotingPages, platform: dict[str, str]) -> None:
    """Give a participant the "quota full" code if no sheet is left; no voter is created.

    Raises
    ------
    Problem
        409, with the code and the address that returns the participant to the platform.
    """
    if pages.quota_full_code is None or platform["name"] != pages.platform:
        return
    with _for_this_campaign():
        is_full = campaign.voters.turns_away(pages, _visit(platform))
    if is_full:
        code, url = pages.way_back("quota full")
        members = {"completion_code": code, "completion_url": url}
        raise Problem(409, "there are no more pairs", kind="quota-full", members=members)


def check_version(pages: ledger.VotingPages, version: str) -> None:
    """Refuse consent to an outdated version of the text.

    Raises
    ------
    Problem
        409 for another version than the current one.
    """
    if version != pages.consent_version:
        detail = f"the consent text has changed and is now version {pages.consent_version}; read it again"
        raise Problem(409, detail, kind="consent-changed", members={"consent_version": pages.consent_version})


def consent_needed(detail: str, pages: ledger.VotingPages) -> Problem:
    """Return the refusal of a request that needs consent; it names the version to agree to."""
    return Problem(403, detail, kind="consent-needed", members={"consent_version": pages.consent_version})


def _session() -> access.VoterSession:
    session: access.VoterSession = g.session
    return session


@contextmanager
def _for_this_campaign() -> Iterator[None]:
    """Refuse a link that is not for this campaign."""
    try:
        yield
    except ledger.LedgerError as error:
        if type(error) is ledger.LedgerError:
            raise Problem(403, str(error), kind="not-invited") from error
        raise


def _visit(platform: dict[str, Any]) -> ledger.Visit:
    return ledger.Visit(platform["name"], platform["participant"], platform["study"])


def _sheet_answer(campaign: ledger.Campaign, sheet: ledger.VoterSheet) -> dict[str, Any]:
    campaigns = collecting().campaigns
    pairs = []
    for pair in sheet.pairs:
        answered = sheet.answers.get(pair.position)
        sides: dict[str, Any] = {side: campaigns.content(campaign, getattr(pair, side)) for side in ("left", "right")}
        if pair.other_items:
            sides["other_items"] = [campaigns.content(campaign, place) for place in pair.other_items]
        name = ledger.pair_id(sheet.number, sheet.sheet, pair.position)
        latest = {part: getattr(answered, part, None) for part in ("answer", "event_id")}
        target = campaign.info.target_of(pair.left)
        pairs.append({"id": name, "practice": pair.is_practice, "target": target, **sides, **latest})
    expires = None if sheet.expires_at is None else ledger.time_text(sheet.expires_at)
    return {"ballot": sheet.number, "sheet": sheet.sheet, "expires_at": expires, "pairs": pairs}


def _receipt(receipt: ledger.Receipt, pair: str) -> dict[str, Any]:
    return {"event_id": receipt.event_id, "pair": pair, "answer": receipt.answer, "repeated": receipt.repeated}


def _event_id(text: str) -> str:
    if not re.fullmatch(schemas.EVENT, text):
        raise Problem(422, "the id of an event is a UUID in lower case")
    return text


def _conflict(error: ledger.ConflictError, pair: str) -> Problem:
    if error.reused:
        return Problem(422, "the id of this event was used for another answer", kind="event-reused")
    if error.recorded is None:
        return Problem(409, f"pair {pair} is answered, or has no answer of this voter to take back", kind="conflict")
    answer = error.recorded
    return Problem(409, f"pair {pair} already has the answer {answer!r}", kind="conflict", members={"answer": answer})
