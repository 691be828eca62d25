"""Serve what a voter's pages call: /v1/sessions, me, consent, withdraw, sheets, finish, votes.

Voters join, agree, get pairs to compare, answer and leave; an answer sent again is recorded once.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from flask import Response, jsonify

from adaptive import ledger
from adaptive.errors import VoteError
from service.collect import access
from service.collect.access import CAMPAIGN_HEADER
from service.collect.api.blueprints import ERRORS, KEY, TOKEN, NoFields, Word, key_field
from service.collect.state import collecting
from service.http.problems import Problem
from service.openapi.document import Blueprint
from service.schemas import fields, shapes
from service.schemas.base import Request

VERSION: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,39}"
EVENT: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

CAMPAIGN_PARAMETER: Final[dict[str, Any]] = {
    "in": "header",
    "name": CAMPAIGN_HEADER,
    "required": True,
    "schema": {"type": "string", "pattern": f"^{KEY}$"},
    "description": "Key of the campaign, because a browser may be a voter of several. It is the part of the voters' "
    "link after /v/.",
}
EVENT_PARAMETER: Final[dict[str, Any]] = {
    "in": "path",
    "name": "event_id",
    "schema": {"type": "string", "format": "uuid", "pattern": f"^{EVENT}$"},
    "description": "Id of the answer: a random UUID in lower case, which the client makes for each answer.",
}
SESSION_HEADERS: Final[dict[str, Any]] = {
    "Set-Cookie": {
        "schema": {"type": "string"},
        "description": "The session. Absent if the request had a valid session by an open link.",
    }
}
ANSWER: Final = fields.vocabulary(
    "Answer",
    ledger.ANSWERS,
    "The side that won, by one grade or more, a tie, or none of these; of a set, the places of its best and its worst "
    "item, counted from 1.",
)
GIVEN_BY: Final = fields.vocabulary("GivenBy", ("click", "key", "touch"), "How it was answered.")
LAYOUT: Final = fields.vocabulary("Layout", ("side by side", "stacked"), "How the pair was shown.")
_CONTENT: Final = shapes.Component.at_least(
    "Content",
    "The content to show for an item.",
    kind=shapes.TEXT(enum=["text", "markdown", "image", "audio"]),
    text=shapes.TEXT("Of text."),
    html=shapes.TEXT("Of markdown: HTML that can do no harm."),
    url=shapes.TEXT("Of an image or audio: a path on this server."),
    alt=shapes.TEXT("Of an image or audio: its description."),
    optional=["text", "html", "url", "alt"],
)
_NULLABLE_ANSWER: Final = ANSWER.reference.or_null()
_PAIR: Final = shapes.Component.at_least(
    "Pair",
    "Two items to compare, or a set whose best and worst item is to be chosen.",
    id=shapes.TEXT,
    target=shapes.TEXT_OR_NULL("Target word of the pair, in a campaign of target groups."),
    practice=shapes.TRUTH("It is not counted, and the expected answer is shown."),
    left=_CONTENT.reference,
    right=_CONTENT.reference,
    other_items=shapes.list_of(_CONTENT.reference)("Of a set, its items after the first two; otherwise absent."),
    answer=_NULLABLE_ANSWER("The recorded answer."),
    event_id=shapes.TEXT_OR_NULL("Id of the recorded answer."),
    optional=["other_items"],
)
# Includes hidden checks, because an unchanged number would reveal that the last pair was one.
_ANSWERS: Final = shapes.WHOLE("Recorded answers of this voter, without practice.")
_PROGRESS: Final = shapes.at_least(
    sheets_done=shapes.WHOLE,
    sheets_limit=shapes.WHOLE_OR_NULL("Most sheets of a voter."),
    answered=shapes.WHOLE("Answered pairs of the current sheet."),
    of=shapes.WHOLE("Pairs of the current sheet."),
    answers=_ANSWERS,
)


class MeAnswer(shapes.Answer):
    """The progress of a voter and the next step."""

    campaign = shapes.TEXT
    voter = shapes.TEXT("A random key, under which the votes are exported.").read_from("voter_key")
    step = shapes.TEXT(enum=["consent", "vote", "finish"])
    consent_version = shapes.TEXT("The version to agree to.")
    offered = shapes.list_of(ANSWER.reference)("The answers that the campaign offers.")
    available = shapes.TRUTH("Whether a pair can be asked now.")
    reason = shapes.TEXT_OR_NULL(enum=["ended", "limit", "none left", "not open", "wait", None])
    retry_after = shapes.WHOLE_OR_NULL("wait: seconds until an unanswered sheet is free again.").read_from(
        "wait_seconds"
    )
    progress = _PROGRESS


_ME: Final = shapes.Component("Me", MeAnswer.component.schema)
_SHEET: Final = shapes.at_least(
    "null if no sheet is available for this voter now.",
    ballot=shapes.WHOLE,
    sheet=shapes.WHOLE,
    expires_at=shapes.TEXT_OR_NULL("ISO 8601; after this time another voter may get the sheet."),
    pairs=shapes.list_of(_PAIR.reference),
)(type=["object", "null"])


class PlatformPart(Request):
    """Values that a platform adds to its link."""

    name = Word("prolific|mturk", "prolific or mturk", required=True)
    participant = Word("[!-~]{1,64}", "the id of a participant", required=True)
    study = Word("[A-Za-z0-9_-]{1,64}", "the id of a study", required=True)
    session = Word("[!-~]{1,64}", "the id of a session")
    secret = Word(TOKEN, "the secret of the study's link", required=True)


class SessionRequest(Request):
    """The link that starts a voter's session."""

    campaign = key_field(required=True)
    token = Word(TOKEN, "the token of a link", about="Of an invitation: the part of the link after #.")
    platform = fields.Part(PlatformPart)
    consent = Word(
        VERSION, "a version of the consent text", about="The version agreed to; required without an invitation."
    )


class ConsentRequest(Request):
    """Agreement to the consent text."""

    version = Word(VERSION, "a version of the consent text", required=True)


class VoteRequest(Request):
    """An answer to one pair."""

    pair = Word("[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}", "the id of a pair, like 1-0-3", required=True)
    answer = fields.Choice(ANSWER, required=True)
    response_ms = fields.Whole(least=0, most=2**31 - 1, about="Time that the answer took.")
    given_by = fields.Choice(GIVEN_BY)
    layout = fields.Choice(LAYOUT)


class RetractRequest(Request):
    """The retraction of an answer."""

    event_id = Word(EVENT, "a UUID in lower case", required=True, about="A new random UUID, for this retraction.")


class SheetAnswer(shapes.Answer):
    """The voter's current sheet, or the next one."""

    sheet = _SHEET
    reason = MeAnswer.component.schema["properties"]["reason"]
    retry_after = shapes.WHOLE_OR_NULL("wait: seconds to wait.")
    me = _ME.reference


class VoteAnswer(shapes.Answer, **shapes.properties_of(ledger.Receipt, "event_id", "repeated")):
    """The answer that counts now."""

    pair = shapes.TEXT
    answer = _NULLABLE_ANSWER
    feedback = shapes.at_least("Of practice.", expected=ANSWER.reference, agrees=shapes.TRUTH)(type=["object", "null"])


class FinishAnswer(shapes.Answer):
    """Confirmation that all answers are counted, or that a platform's participant is done."""

    finished = shapes.TRUTH(const=True)
    outcome = shapes.TEXT(enum=["complete", "screened out", "quota full"])
    answers = _ANSWERS
    completion_code = shapes.TEXT_OR_NULL
    completion_url = shapes.TEXT_OR_NULL


SOON_SECONDS: Final = 10  # within this time other voters at an address usually give their first answer

sessions = Blueprint("sessions", __name__, url_prefix="/v1/sessions", errors=ERRORS, security=({},))


def _voter_blueprint(name: str, prefix: str) -> Blueprint:
    headers = (CAMPAIGN_PARAMETER,)
    blueprint = Blueprint(name, __name__, url_prefix=prefix, errors=ERRORS, security=({"voter": []},), headers=headers)
    blueprint.before_request(access.admit_voter)
    return blueprint


voter = _voter_blueprint("voter", "/v1")
sheets = _voter_blueprint("sheets", "/v1")
votes = _voter_blueprint("votes", "/v1/votes")


@sessions.post("", name="beginSession")
@sessions.arguments(SessionRequest)
@sessions.response(201, MeAnswer, headers=SESSION_HEADERS)
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
    response = jsonify(MeAnswer.dump(me_of(joined, pages, voter.state(pages))))
    if session is not None:
        access.set_cookie(response, access.VOTER_COOKIE, joined, session)
    response.status_code = 201
    return response


@voter.get("/me", name="readMe")
@voter.response(200, MeAnswer)
def me(session: access.VoterSession) -> dict[str, Any]:
    """Return the voter's progress and next step."""
    return me_of(session.campaign, session.pages, session.voter.state(session.pages))


@voter.put("/consent", name="consent")
@voter.arguments(ConsentRequest)
@voter.response(200, MeAnswer)
def agree(session: access.VoterSession, version: str) -> dict[str, Any]:
    """Agree to a version of the consent text."""
    check_version(session.pages, version)
    session.voter.consent(session.pages, version)
    return me_of(session.campaign, session.pages, session.voter.state(session.pages))


@voter.post("/withdraw", name="withdraw")
@voter.arguments(NoFields)
@voter.response(204)
def withdraw(session: access.VoterSession) -> None:
    """Withdraw: the voter's personal data are erased, and votes in ballots that are not closed do not count."""
    session.voter.leave()


@sheets.post("/sheets", name="leaseSheet")
@sheets.arguments(NoFields)
@sheets.response(200, SheetAnswer)
def lease(session: access.VoterSession) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the current sheet until it is done, then the next one; repeated requests return the same sheet.

    The reason is "wait" if other voters hold all remaining sheets without an answer on them, the voter's address holds
    as many unanswered sheets as it may, others must first answer more of the last batch, or the ballot is being closed,
    which may fail. `retry_after` and the header Retry-After give the seconds to wait.
    """
    campaign, pages = session.campaign, session.pages
    if session.consent_version != pages.consent_version:
        raise consent_needed("agree to the consent text before you see pairs", pages)
    state = session.voter.next_sheet(pages, session.origin)
    me = me_of(campaign, pages, state)
    if state.sheet is not None and state.available:
        return {"sheet": _sheet_answer(campaign, state.sheet), "reason": None, "retry_after": None, "me": me}, {}
    seconds = (state.wait_seconds or SOON_SECONDS) if state.reason == "wait" else None
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return {"sheet": None, "reason": state.reason, "retry_after": seconds, "me": me}, headers


@sheets.post("/finish", name="finish")
@sheets.arguments(NoFields)
@sheets.response(200, FinishAnswer)
def finish(session: access.VoterSession) -> dict[str, Any]:
    """Return the completion code once all answers of this voter are counted.

    Participants of a platform may get another code: "screened out" if they were excluded before the end, "quota full"
    if no sheet was left for them.
    """
    try:
        ending = session.voter.finish(session.pages)
    except ledger.UnfinishedError as error:
        raise Problem(
            409, str(error), kind="unfinished", members={"missing": error.missing, "unit": error.unit}
        ) from error
    code, url = session.pages.way_back(ending.outcome)
    answer = {"finished": True, "outcome": ending.outcome, "answers": ending.n_answers}
    return answer | {"completion_code": code, "completion_url": url}


@votes.put("/<event_id>", name="castVote", parameters=[EVENT_PARAMETER])
@votes.arguments(VoteRequest)
@votes.response(200, VoteAnswer)
def cast(session: access.VoterSession, event_id: str, pair: str, answer: str, **details: Any) -> dict[str, Any]:
    """Record an answer; it is on disk when this returns, and sending it again under the same id changes nothing."""
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
    return {**vars(receipt), "pair": pair, "feedback": feedback}


def _pair(campaign: ledger.Campaign, name: str) -> tuple[int, ledger.ShownPair]:
    number, sheet, position = ledger.pair_at(name)
    pairs = collecting().campaigns.pairs(campaign, number, sheet)
    if position >= len(pairs):
        raise VoteError(f"the sheet has {len(pairs)} pairs; got {name!r}")
    return number, pairs[position]


@votes.post("/<event_id>/retract", name="retractVote", parameters=[EVENT_PARAMETER])
@votes.arguments(RetractRequest, as_kwargs=False)
@votes.response(200, VoteAnswer)
def take_back(request: dict[str, Any], session: access.VoterSession, event_id: str) -> dict[str, Any]:
    """Retract an answer while its ballot is open; its pair can then be answered again."""
    voter = session.voter
    known = voter.vote(_event_id(event_id))
    if known is None:
        raise Problem(404, "this voter gave no such answer", kind="no-such-vote")
    try:
        receipt = voter.retract(known, request["event_id"])
    except ledger.ConflictError as error:
        raise _conflict(error, known.pair) from error
    return {**vars(receipt), "pair": known.pair, "feedback": None}


def offered_answers(campaign: ledger.Campaign, pages: ledger.VotingPages) -> list[str]:
    """Return the answers that a campaign offers to its voters."""
    absent = {name for name, is_offered in (("tie", pages.ties), ("cannot say", pages.cannot_say)) if not is_offered}
    return [answer for answer in campaign.info.answers if answer not in absent]


def me_of(campaign: ledger.Campaign, pages: ledger.VotingPages, state: ledger.VoterState) -> dict[str, Any]:
    """Return a voter's progress and next step, as `MeAnswer` writes them."""
    sheet = state.sheet
    return {
        **vars(state),
        "campaign": campaign.key,
        "consent_version": pages.consent_version,
        "offered": offered_answers(campaign, pages),
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


def _event_id(text: str) -> str:
    if not re.fullmatch(EVENT, text):
        raise Problem(422, "the id of an event is a UUID in lower case")
    return text


def _conflict(error: ledger.ConflictError, pair: str) -> Problem:
    if error.reused:
        return Problem(422, "the id of this event was used for another answer", kind="event-reused")
    if error.recorded is None:
        return Problem(409, f"pair {pair} is answered, or has no answer of this voter to take back", kind="conflict")
    answer = error.recorded
    return Problem(409, f"pair {pair} already has the answer {answer!r}", kind="conflict", members={"answer": answer})
