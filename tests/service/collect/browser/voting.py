"""What a voter does with the pages, and what the ledger then has."""

import json
import time

from playwright.sync_api import expect

from adaptive.ledger import KnownPair, Probing, VoteCast
from adaptive.ledger._campaign.voting_pages import pages_of
from adaptive.ledger._voters.participation import consent, join, next_sheet
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import new_id

PRACTICE = Probing((KnownPair("practice", "ash", "yew", "left"),))


def agree(page):
    """Consent, and wait for the first pair."""
    page.locator("#agree").click()
    ready(page)


def ready(page):
    """Wait until an answer counts."""
    expect(page.locator('#option-left .choose:not([aria-disabled="true"])')).to_be_visible()


def shown(page):
    """The two items on the page."""
    return tuple(page.locator(f"#content-{side}").inner_text() for side in ("left", "right"))


def answer(page, side="left", *, by="click", done=None, of=4):
    """Answer the pair that is shown, by a click or a tap, and wait until something else is shown.

    With `done`, wait also until the server has saved so many `of` the sheet.
    """
    ready(page)
    before = shown(page)
    getattr(page.locator(f'[data-answer="{side}"]'), by)()
    page.wait_for_function(
        """before => document.querySelector("#voting")?.hidden !== false
           || !document.querySelector("#feedback").hidden
           || ["left", "right"].some((side, at) =>
                document.querySelector(`#content-${side}`).innerText !== before[at])""",
        arg=list(before),
    )
    if done is not None:
        saved(page, done, of)


def saved(page, done, of):
    """Wait until the server has said so."""
    expect(page.locator("#status")).to_have_text(f"Saved. {done} of {of}")


def votes(campaign):
    """Left item, right item and answer of each recorded vote; practice and other checks are left out."""
    events = query(
        campaign,
        """SELECT l.label, r.label, e.kind, e.answer FROM vote_event e
           JOIN ballot b ON b.id = e.ballot_id
           JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place
           JOIN item l ON l.campaign_id = b.campaign_id AND l.place = c.left_item
           JOIN item r ON r.campaign_id = b.campaign_id AND r.place = c.right_item
           WHERE b.campaign_id = :campaign AND c.probe IS NULL ORDER BY e.id""",
        campaign=campaign.info.id,
    )
    stands = {}
    for left, right, kind, code in ((json.loads(row[0]), json.loads(row[1]), *row[2:]) for row in events):
        if kind == "cast":
            stands[left, right] = {1: "left", -1: "right", 0: "tie", 2: "cannot say"}.get(code, code)
        else:
            stands.pop((left, right), None)
    return stands


def voter(site, visit, campaign, **options):
    """The page of a voter who came by the open link and agreed."""
    page = visit(site.link(campaign), **options)
    agree(page)
    return page


def events(campaign):
    """How many events the ledger has of a campaign."""
    return query(
        campaign,
        "SELECT count(*) FROM vote_event e JOIN ballot b ON b.id = e.ballot_id WHERE b.campaign_id = :campaign",
        campaign=campaign.info.id,
    )[0][0]


def unsent(page):
    """How many votes the browser keeps for later."""
    return page.evaluate(
        """() => new Promise((resolve) => {
             const request = indexedDB.open("rankcorr", 1);
             request.onsuccess = () => {
               const all = request.result.transaction("unsent").objectStore("unsent").getAll();
               all.onsuccess = () => resolve(all.result.length);
             };
           })"""
    )


def all_sent(page):
    """Wait until the browser keeps no vote any more."""
    wait_until(page, lambda: unsent(page) == 0)


def is_kept(page, campaign, n):
    """Wait until `n` votes have arrived, or are kept by the browser: only then a page may be left."""
    wait_until(page, lambda: events(campaign) + unsent(page) >= n)


def wait_until(page, condition):
    """Wait until a condition holds, and let the page go on meanwhile."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        page.wait_for_timeout(50)


def another_votes(campaign):
    """Somebody else answers a sheet of this campaign, which has an open link, behind the pages."""

    def taken(connection):
        _, pages = pages_of(connection, campaign.info.id)
        found = join(connection, campaign.info, pages, None)
        consent(connection, campaign.info, pages, found, pages.consent_version)
        return found, next_sheet(connection, campaign.info, pages, found)[0]

    found, hand = campaign.database.write(taken)
    for pair in hand.pairs:
        campaign.cast(VoteCast(new_id(), hand.number, pair.place, found, "left"))
