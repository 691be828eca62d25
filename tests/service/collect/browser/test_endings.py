"""What voters and organisers see between ballots, and after the end of a campaign."""

import pytest
from playwright.sync_api import expect

from adaptive.ledger import ContinuousPlan
from tests.service.collect.browser.conftest import (
    answer,
    n_events,
    n_unsent,
    vote_as_another,
    voter,
    wait_ready,
    wait_until,
    wait_until_sent,
)
from tests.service.collect.browser.test_organiser import page_of
from tests.service.collect.browsing import ADMIN, Organiser

pytestmark = pytest.mark.wide

ENDED = "Voting has ended"
NOT_OPEN = "Voting is not open"


@pytest.fixture
def campaign(site):
    """A continuous campaign with an open batch of three sheets."""
    return site.campaign(plan=ContinuousPlan(6, 12, batch=12))


def end(campaign):
    campaign.close(1, least_answered=0.0)


def heading(page, name):
    return page.get_by_role("heading", name=name, exact=True)


def test_after_the_end_nothing_can_be_undone(site, visit, campaign):
    page = voter(site, visit, campaign)
    for _ in range(4):
        answer(page)
    expect(page.locator("#undo-done")).to_be_visible()
    end(campaign)
    page.reload()
    expect(heading(page, ENDED)).to_be_visible()
    expect(page.locator("#done-text")).to_contain_text("All answers that arrived in time count.")
    expect(page.locator("#undo-done")).to_be_hidden()
    page.locator("#to-finish").click()
    expect(page.locator("#counted")).to_have_text("Answers received: 4")
    page.goto(site.link(campaign))
    expect(heading(page, "You have finished")).to_be_visible()


def test_strangers_and_voters_without_an_answer_are_told_of_the_end(site, visit, campaign):
    page = voter(site, visit, campaign)
    end(campaign)
    for visitor in (page, visit()):
        visitor.goto(site.link(campaign))
        expect(heading(visitor, ENDED)).to_be_visible()
        expect(visitor.locator("#agree")).to_be_hidden()
    page.goto(site.link(campaign, "finish"))
    expect(page.locator("#missing")).to_have_text("You have not answered any comparisons yet.")
    expect(page.locator("#back")).to_be_hidden()
    expect(page.locator("#stop")).to_be_hidden()
    expect(page.locator("#withdraw")).to_be_visible()


def test_an_answer_kept_for_later_is_reported_after_the_end(site, visit, campaign):
    visit.breaks_requests = True
    page = voter(site, visit, campaign)
    answer(page, n_done=1)
    page.route("**/v1/votes/*", lambda route: route.abort())
    answer(page)
    wait_until(page, lambda: n_unsent(page) == 1)
    page.goto("about:blank")
    end(campaign)
    page.unroute("**/v1/votes/*")
    page.goto(site.link(campaign, "vote"))
    expect(heading(page, ENDED)).to_be_visible()
    expect(page.locator("#message")).to_have_text("Your last answer arrived too late and is not counted.")
    wait_until_sent(page)
    assert n_events(campaign) == 1


def test_between_ballots_voters_are_told_to_return(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    for _ in range(4):
        answer(page)
    expect(heading(page, "This part is complete")).to_be_visible()
    for _ in range(2):
        vote_as_another(campaign)
    campaign.close(1)
    for address in ("vote", ""):
        page.goto(site.link(campaign, address))
        expect(heading(page, NOT_OPEN)).to_be_visible()
        expect(page.locator("#undo-done")).to_be_hidden()
    page.evaluate("localStorage.clear()")  # as on another device
    page.goto(site.link(campaign, "vote"))
    expect(heading(page, NOT_OPEN)).to_be_visible()
    campaign.open_next()
    page.reload()
    wait_ready(page)


def test_the_overview_offers_links_until_the_end(site, visit):
    organiser = Organiser(site.app, ADMIN).make()
    organiser.open()
    page = page_of(site, visit, organiser)
    links = page.locator("#open-link, #invite-voters")
    expect(links.first).to_contain_text("Anyone with this link can vote.")
    for number in (1, 2):
        organiser.answer_all()
        organiser.close(number)
        if number == 1:
            organiser.open()
    expect(page.get_by_text("Voting has ended, and the links for voters say so.")).to_be_visible()
    assert [link.is_visible() for link in links.all()] == [False, False]
    organiser.post("/ballots/2/reopen", {"reason": "a mistake"})
    expect(links.first).to_be_visible()
