"""Links that were given out, on the organiser's page: seen, taken back, made anew."""

from playwright.sync_api import expect

from tests.service.collect.browser.test_access import check_all
from tests.service.collect.browser.test_organiser import page_of
from tests.service.collect.organiser import ADMIN, Organiser


def test_a_leaked_link_of_an_organiser_is_replaced(site, visit):
    visit.breaks_requests = True  # the browser that is signed out
    organiser = Organiser(site.app, ADMIN).make()
    organiser.invite("Ann")
    mine, theirs = (page_of(site, visit, organiser) for _ in range(2))
    mine.get_by_text("Links given out").click()
    rows = mine.locator("#given-list tbody tr")
    expect(rows).to_have_count(4)
    expect(mine.locator("#given-list")).to_contain_text("Invitation: Ann")
    check_all(mine)
    leaked = rows.filter(has_text="s link")
    leaked.get_by_role("button").click()
    mine.get_by_role("button", name="Revoke", exact=True).click()
    expect(mine.locator("#revoke-error")).to_contain_text("make another one first")
    mine.get_by_role("button", name="Cancel").click()
    mine.get_by_role("button", name="Create another organiser").click()
    link = mine.locator("#another-link input").input_value()
    expect(rows).to_have_count(5)
    rows.filter(has_text="s link").last.get_by_role("button").click()
    mine.get_by_role("button", name="Revoke", exact=True).click()
    expect(mine.locator("#said")).to_have_text("The link has been revoked.")
    expect(rows.filter(has_text="revoked")).to_have_count(2)  # with the other browser
    theirs.reload()
    expect(theirs.locator('[data-view="link"]')).to_be_visible()
    expect(visit(link).locator('[data-view="shown"]')).to_be_visible()
    mine.reload()
    expect(mine.locator('[data-view="shown"]')).to_be_visible()
