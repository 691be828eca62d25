"""What a crowd meets: waiting for a sheet, a full study; and what its organiser sees of it."""

import pytest
from playwright.sync_api import expect

from adaptive.ledger._voters.newcomers import MINUTE
from tests.adaptive.ledger.campaigns import change
from tests.service.collect.browser.test_access import check_all
from tests.service.collect.browser.test_organiser import page_of
from tests.service.collect.browser.voting import agree, answer, shown
from tests.service.collect.browsing import BACK, PROLIFIC, arrived, change_pages, token_of
from tests.service.collect.organiser import Organiser

PAGES = {**PROLIFIC, "study_minutes": 45}
HELD = 20  # minutes without an answer, in which a busy machine comes through a test
OTHER_SCREENS = [(375, "dark"), (1280, "light"), (1280, "dark")]
SCREENS = [(375, "light"), *(pytest.param(*screen, marks=pytest.mark.nightly) for screen in OTHER_SCREENS)]


def participant(site, campaign, number):
    """A voter who has joined from the platform."""
    platform = {"name": "prolific", "participant": f"{number:024x}", "study": "s1"}
    return arrived(site.app, campaign, platform={**platform, "secret": token_of(campaign, "study")})


def organiser_of(site, campaign):
    return Organiser(site.app, token_of(campaign, "organiser"), campaign.key)


def screen(visit, size, scheme, **options):
    return visit.context(viewport={"width": size, "height": 812}, color_scheme=scheme, **options)


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_who_waits_for_a_sheet_goes_on_by_itself(site, visit, size, scheme):
    campaign = site.campaign(first_minutes=HELD)
    for _ in range(3):
        arrived(site.app, campaign).sheet()
    page = visit(context=screen(visit, size, scheme))
    page.clock.install()
    page.goto(site.link(campaign))
    expect(page.get_by_text("All parts are taken at the moment.")).to_be_visible()
    check_all(page)
    page.locator("#agree").click()
    expect(page.get_by_role("heading", name="Please wait a moment")).to_be_visible()
    expect(page.locator("#wait-text")).to_contain_text(f"within {HELD} min")
    check_all(page)
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=HELD * MINUTE)
    page.clock.fast_forward(15_000)
    expect(page.locator("#voting")).to_be_visible()
    shown(page)


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_a_participant_who_comes_too_late_gets_the_way_back(site, visit, size, scheme):
    campaign = site.campaign(pages={**PAGES, "open_link": False})
    for number in range(3):
        participant(site, campaign, number).answer_sheet()
    query = f"?PROLIFIC_PID={99:024x}&STUDY_ID=s1&SESSION_ID=x#{token_of(campaign, 'study')}"
    visit.breaks_requests = True  # what the server answers to one who comes too late is a refusal
    page = visit(site.link(campaign, query=query), context=screen(visit, size, scheme))
    expect(page.get_by_role("heading", name="This study is full")).to_be_visible()
    expect(page.locator("#full-code")).to_have_text("FULL")
    expect(page.locator("#full-return")).to_have_attribute("href", f"{BACK}FULL")
    check_all(page)


def test_a_participant_who_is_left_out_gets_the_way_back(site, visit):
    campaign = site.campaign(pages={**PAGES, "open_link": False, "sheets": 3})
    query = f"?PROLIFIC_PID={1:024x}&STUDY_ID=s1&SESSION_ID=x#{token_of(campaign, 'study')}"
    page = visit(site.link(campaign, query=query))
    agree(page)
    shown(page)
    organiser = organiser_of(site, campaign)
    (voter,) = organiser.get("/voters").json["voters"]
    organiser.post(f"/voters/{voter['key']}/exclude", {"reason": "Clicked at random"}, status=204)
    while not page.locator("#to-finish").is_visible():
        answer(page)
    page.locator("#to-finish").click()
    expect(page.get_by_text("The study ends here for you.")).to_be_visible()
    expect(page.locator("#code")).to_have_text("SCREEN")
    expect(page.locator("#return")).to_have_attribute("href", f"{BACK}SCREEN")
    check_all(page)


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_an_organiser_finds_whom_to_approve_and_to_reject(site, visit, size, scheme):
    campaign = site.campaign(pages=PAGES)
    organiser = organiser_of(site, campaign)
    for number in range(3):
        voter = participant(site, campaign, number)
        voter.answer_sheet()
        assert voter.post("/v1/finish").status_code == 200
        if number == 2:
            reason = {"reason": "Two attention checks wrong"}
            organiser.post(f"/voters/{voter.me().json['voter']}/exclude", reason, status=204)
    context = screen(visit, size, scheme, permissions=["clipboard-read", "clipboard-write"])
    page = page_of(site, visit, organiser, "/voters", context=context)
    box = page.locator("#participants")
    expect(box.get_by_role("heading", name="Approve and reject on Prolific")).to_be_visible()
    approve = box.get_by_role("textbox", name="To approve: 2")
    expect(approve).to_have_value(f"{0:024x}\n{1:024x}")
    expect(box.get_by_role("textbox", name="To reject: 1")).to_have_value(f"{2:024x}")
    box.get_by_text("Reasons").click()
    expect(box).to_contain_text("Two attention checks wrong")
    box.get_by_role("button", name="Copy").first.click()
    expect(box.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{0:024x}\n{1:024x}"
    with page.expect_download() as download:
        box.get_by_role("link", name="Save as CSV").last.click()
    assert download.value.path().read_text() == f"{2:024x}\n"
    check_all(page)


def test_a_campaign_on_no_platform_has_no_lists(site, visit):
    page = page_of(site, visit, organiser_of(site, site.campaign()), "/voters")
    expect(page.locator("#voters")).to_be_visible()
    expect(page.locator("#participants")).to_be_hidden()


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_an_organiser_sees_sheets_without_an_answer(site, visit, size, scheme):
    campaign = site.campaign(sheet_size=2, first_minutes=HELD)
    for _ in range(6):
        arrived(site.app, campaign).sheet()
    page = page_of(site, visit, organiser_of(site, campaign), context=screen(visit, size, scheme))
    held = page.locator("#awaited")
    expect(held).to_contain_text("Sheets that wait for a first answer: 6.")
    expect(held).to_contain_text("6 of them went to one network address")
    check_all(page)
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=HELD * MINUTE)
    expect(held).to_be_hidden()


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_codes_and_the_time_of_a_study_are_set_where_a_platform_is_chosen(site, visit, size, scheme):
    campaign = site.campaign()
    organiser = organiser_of(site, campaign)
    page = page_of(site, visit, organiser, "/settings", context=screen(visit, size, scheme))
    expect(page.locator("#quota-full-code")).to_be_hidden()
    page.locator("#platform").select_option("prolific")
    for name, value in (("completion-code", "A"), ("screened-out-code", "B"), ("quota-full-code", "C")):
        page.locator(f"#{name}").fill(value)
    page.locator("#study-minutes").fill("45")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#saved")).not_to_be_empty()
    pages = organiser.get("/pages").json["pages"]
    assert (pages["screened_out_code"], pages["quota_full_code"], pages["study_minutes"]) == ("B", "C", 45)
    check_all(page)
    page.locator("#platform").select_option("")
    page.locator("#completion-code").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#saved")).to_contain_text("3")
    assert organiser.get("/pages").json["pages"]["quota_full_code"] is None
    change_pages(campaign)
