"""Serve what concerns voters below /v1/campaigns/{key}: their ways in, and whether their votes count.

Voters join by invitations, links, study-links or tokens. Organisers list and revoke the links that were issued, let a
browser act for them (/v1/organiser/sessions), exclude or include voters, and erase those who withdraw. Participants
come from a platform, where their submissions are approved or rejected.
"""

import io
import secrets
from dataclasses import replace
from functools import partial
from typing import Any, Final

import segno
from flask import Response
from marshmallow import validates_schema

from adaptive import ledger
from adaptive._tables import csv_text
from service.collect import access
from service.collect.api import blueprints
from service.collect.state import collecting
from service.http.problems import Problem
from service.http.state import state
from service.openapi.document import UNLESS_CHANGED
from service.schemas import shapes
from service.schemas.base import Request, check_one
from service.schemas.fields import Flag, ListOf, Whole

MOST_INVITED: Final = 2_000


class OrganiserSessionRequest(Request):
    """An organiser's token, exchanged for a session cookie."""

    campaign = blueprints.key_field(required=True)
    token = blueprints.Word(blueprints.TOKEN, "a token", required=True)


class InvitationRequest(Request):
    """Voters to invite: a list of names, or a number of voters without names."""

    voters = ListOf(
        blueprints.Line(200),
        f"1 to {MOST_INVITED:,} names",
        least=1,
        most=MOST_INVITED,
        about="Names, which are personal data and stay in the ledger.",
    )
    number = Whole(least=1, most=MOST_INVITED, about="Or a number of voters without a name.")
    qr = Flag(load_default=False, about="Whether to draw a QR code for each link.")

    @validates_schema
    def check_way(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse both or neither."""
        check_one(data, "voters", "number")


class InvitationsAnswer(shapes.Answer):
    """Links that each let one voter vote; they are shown only once."""

    invitations = shapes.list_of(
        shapes.exactly(name=shapes.TEXT, url=shapes.TEXT, qr=shapes.TEXT_OR_NULL("SVG, where it was asked for."))
    )
    csv = shapes.TEXT("The same as CSV, with the columns voter and link.")


class LinksAnswer(shapes.Answer):
    """Links that several voters share; null if the pages of the campaign do not allow them."""

    voter_url = shapes.TEXT
    open_url = shapes.TEXT_OR_NULL("Anybody who has it may vote.")
    open_qr = shapes.TEXT_OR_NULL("SVG.")


class StudyLinkAnswer(shapes.Answer):
    """A new link for a platform, to enter there as the address of the study; it is shown only once."""

    url = shapes.TEXT
    platform = shapes.TEXT


class TokensAnswer(shapes.Answer):
    """Links that were issued, newest first; the ledger keeps only hashes of their tokens."""

    n_tokens = shapes.COUNT
    tokens = shapes.list_of(shapes.shape_of(ledger.TokenRow))


class OrganiserLinkAnswer(shapes.Answer):
    """Another token for an organiser; it is shown only once."""

    token = shapes.TEXT
    organiser_url = shapes.TEXT("The organiser's page, which takes the token.")


ways_in = blueprints.organiser_blueprint("links", __name__, "How voters come")
tokens = blueprints.organiser_blueprint("tokens", __name__, "Links that were issued")
browsers = blueprints.organiser_blueprint(
    "organisers", __name__, "Sessions of browsers", prefix="/v1/organiser/sessions"
)

# A platform replaces these words in the address of a study.
_PROLIFIC = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@ways_in.post("/<key>/invitations", name="inviteVoters")
@ways_in.arguments(InvitationRequest)
@ways_in.response(201, InvitationsAnswer)
def invitations(campaign: ledger.Campaign, qr: bool, voters: list[str] | None = None, number: int = 0) -> Any:
    """Make a link for each voter, which only that voter can use; a voter who already has a link gets another."""
    names = voters or [f"guest {secrets.token_hex(4)}" for _ in range(number)]
    urls = [f"{access.voter_url(campaign)}#{token}" for token in campaign.voters.invite(names)]
    rows = list(zip(names, urls, strict=True))
    return {
        "invitations": [{"name": name, "url": url, "qr": qr_code(url) if qr else None} for name, url in rows],
        "csv": csv_text(["voter", "link"], [[ledger.guarded(name), url] for name, url in rows]),
    }


@ways_in.get("/<key>/links", name="readLinks")
@ways_in.response(200, LinksAnswer)
def links(campaign: ledger.Campaign) -> Any:
    """Return the address of the voters' page, and the open link if the pages of the campaign allow it."""
    _, pages = campaign.pages()
    url = access.voter_url(campaign)
    is_open = pages.open_link
    return {"voter_url": url, "open_url": url if is_open else None, "open_qr": qr_code(url) if is_open else None}


@ways_in.post("/<key>/study-links", name="makeStudyLink")
@ways_in.arguments(blueprints.NoFields)
@ways_in.response(201, StudyLinkAnswer)
def study_link(campaign: ledger.Campaign) -> Any:
    """Make a link for the campaign's platform; earlier links continue to work."""
    _, pages = campaign.pages()
    if pages.platform is None:
        raise Problem(409, "the campaign has no platform: choose one in its settings first", kind="not-possible")
    token = campaign.tokens.issue("study")
    query = f"?{_PROLIFIC}" if pages.platform == "prolific" else ""
    return {"url": f"{access.voter_url(campaign)}{query}#{token}", "platform": pages.platform}


@tokens.get("/<key>/tokens", name="listTokens")
@tokens.arguments(blueprints.VotersQuery, location="query")
@tokens.response(200, TokensAnswer)
def read_tokens(campaign: ledger.Campaign, offset: int, limit: int, names: bool) -> Any:
    """List the tokens of organisers, invitations and study links, newest first, without their secrets."""
    n_tokens, rows = campaign.tokens.rows(start=offset, most=limit, names=names)
    return {"n_tokens": n_tokens, "tokens": rows}


@tokens.post("/<key>/tokens", name="makeOrganiserToken")
@tokens.arguments(blueprints.NoFields)
@tokens.response(201, OrganiserLinkAnswer)
def make_token(campaign: ledger.Campaign) -> Any:
    """Make another token for an organiser: for a second person, or to replace one that you revoke."""
    token = campaign.tokens.issue("organiser")
    return {"token": token, "organiser_url": access.organiser_url(campaign, token)}


@tokens.post("/<key>/tokens/<token_id>/revoke", name="revokeToken")
@tokens.arguments(blueprints.NoFields)
@tokens.response(204)
def revoke(campaign: ledger.Campaign, token_id: str) -> None:
    """Revoke a link, so that it is no longer valid; revoking it again changes nothing.

    Revoking an organiser's token also ends the sessions of organisers' browsers, except your own. Revoking an
    invitation ends the sessions of its voter, whose votes are kept. The link of a study admits no new participants once
    it is revoked. The last organiser's token cannot be revoked.
    """
    if not campaign.tokens.revoke_listed(token_id, mine=access.organiser_session(campaign)):
        raise Problem(404, "there is no link with this id", kind="no-such-token")


@browsers.post("", name="beginOrganiserSession")
@browsers.arguments(OrganiserSessionRequest)
@browsers.response(204)
def begin(campaign: str, token: str) -> Response:
    """Exchange an organiser's token for the cookie of a session that lasts a week."""
    organised = collecting().campaigns.of(campaign)
    access.holder_of_link(organised, token, "organiser")
    session = organised.tokens.issue("organiser session", hours=access.ORGANISER_HOURS)
    response = Response(status=204)
    access.set_cookie(response, access.ORGANISER_COOKIE, organised, session)
    return response


@browsers.post("/<key>/end", name="endOrganiserSession")
@browsers.arguments(blueprints.NoFields)
@browsers.response(204)
def end(campaign: ledger.Campaign) -> Response:
    """End the session of a browser; its cookie is no longer valid."""
    if token := access.organiser_session(campaign):
        campaign.tokens.revoke(token)
    response = Response(status=204)
    access.set_cookie(response, access.ORGANISER_COOKIE, campaign, "")
    return response


def qr_code(text: str) -> str:
    """Return a QR code as SVG, black on white, with its quiet zone."""
    file = io.BytesIO()
    segno.make(text, error="m", micro=False).save(file, kind="svg", scale=4, border=4, dark="#000", light="#fff")
    return file.getvalue().decode()


class StudyQuery(Request):
    """The study whose participants to return."""

    study = blueprints.Word("[A-Za-z0-9_-]{1,64}", "the id of a study", about="By default of all.")


class VotersAnswer(shapes.Answer):
    """Voters, in order of arrival."""

    n_voters = shapes.COUNT
    voters = shapes.list_of(shapes.shape_of(ledger.VoterRow))


class ParticipantsAnswer(shapes.Answer, **shapes.properties_of(ledger.PlatformVoters)):
    """Participants of a platform, in order of arrival."""


class ExclusionAnswer(shapes.Answer):
    """How the result would change if a voter were excluded, or included again."""

    preview = shapes.shape_of(ledger.ExclusionPreview)


class WithdrawalAnswer(shapes.Answer):
    """The effect of a withdrawal."""

    voided = shapes.COUNT("Votes of open ballots that no longer count.")


blueprint = blueprints.organiser_blueprint("voters", __name__, "Who votes")
of_platform = blueprints.organiser_blueprint("participants", __name__, "Participants of a platform")

_voters = blueprints.ValueCache(4)
_participants = blueprints.ValueCache()


@blueprint.get("/<key>/voters", name="listVoters")
@blueprint.arguments(blueprints.VotersQuery, location="query")
@blueprint.doc(**UNLESS_CHANGED)
@blueprint.response(200, VotersAnswer)
def read(campaign: ledger.Campaign, offset: int, limit: int, names: bool) -> Any:
    """Return the voters in order of arrival, by random keys unless you ask for names."""
    return blueprints.answer_if_changed(
        _voters,
        (campaign.key, names),
        campaign.stamp(),
        partial(campaign.voters.rows, names=names),
        lambda rows: {"n_voters": len(rows), "voters": rows[offset : offset + limit]},
        *(offset, limit, names),
    )


@blueprint.get("/<key>/voters/<voter>/exclusion", name="previewExclusion")
@blueprint.response(200, ExclusionAnswer)
def preview(campaign: ledger.Campaign, voter: str) -> Any:
    """Show how excluding a voter, or including one again, would change the ranking by strengths."""
    state().pool.pass_on()
    return {"preview": replace(campaign.voters.with_key(voter).preview_exclusion(), voter=voter)}


@blueprint.post("/<key>/voters/<voter>/exclude", name="excludeVoter")
@blueprint.arguments(blueprints.ReasonRequest)
@blueprint.response(204)
def exclude(campaign: ledger.Campaign, voter: str, reason: str) -> None:
    """Exclude a voter's votes from all scores from now on; closed ballots keep them, and no vote is deleted."""
    campaign.voters.with_key(voter).exclude(reason)


@blueprint.post("/<key>/voters/<voter>/include", name="includeVoter")
@blueprint.arguments(blueprints.ReasonRequest)
@blueprint.response(204)
def include(campaign: ledger.Campaign, voter: str, reason: str) -> None:
    """Include the votes of an excluded voter again."""
    campaign.voters.with_key(voter).include(reason)


@blueprint.post("/<key>/voters/<voter>/withdraw", name="withdrawVoter")
@blueprint.arguments(blueprints.NoFields)
@blueprint.response(200, WithdrawalAnswer)
def withdraw(campaign: ledger.Campaign, voter: str) -> Any:
    """Withdraw a voter on request: personal data are erased, and votes in open ballots no longer count.

    Votes in closed ballots stay, under a key that cannot be traced to the person. This cannot be undone.
    """
    return {"voided": campaign.voters.with_key(voter).leave()}


@blueprint.post("/<key>/voters/<voter>/ask-others", name="askOthers")
@blueprint.arguments(blueprints.NoFields)
@blueprint.response(200, WithdrawalAnswer)
def ask_others(campaign: ledger.Campaign, voter: str) -> Any:
    """Ask other voters the comparisons of an excluded voter, in open ballots.

    The excluded voter's answers are voided. This cannot be undone: including the voter again does not restore them.
    """
    return {"voided": campaign.voters.with_key(voter).ask_others()}


@of_platform.get("/<key>/participants", name="listParticipants")
@of_platform.doc(**UNLESS_CHANGED)
@of_platform.response(200, ParticipantsAnswer)
def read_participants(campaign: ledger.Campaign) -> Any:
    """Return participants in order of arrival, by their platform ids, which are personal data.

    The decision concerns participants who received the completion code: "approve" while their votes count, "reject"
    once they are excluded. Other participants have no submission to decide on.
    """
    return blueprints.answer_if_changed(
        _participants, campaign.key, campaign.stamp(), campaign.voters.of_platform, lambda voters: voters
    )


@of_platform.get("/<key>/participants/<decision>", name="exportParticipants")
@of_platform.arguments(StudyQuery, location="query")
@of_platform.doc(responses={200: {"content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}})
@of_platform.response(200)
def export(campaign: ledger.Campaign, decision: str, study: str | None = None) -> Response:
    """Return the ids to approve, or those to reject, one per line and without a header, as platforms expect."""
    if decision not in ledger.DECISIONS:
        detail = f"there is no list of this name; there are {' and '.join(ledger.DECISIONS)}"
        raise Problem(404, detail, kind="no-such-list")
    rows = [row for row in campaign.voters.of_platform().participants if row.decision == decision]
    ids = [f"{row.participant}\n" for row in rows if study in (None, row.study)]
    return blueprints.download(f"{decision}.csv", "".join(ids).encode(), campaign)
