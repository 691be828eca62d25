"""Situations of new voters: previews, incomplete links, failures, waiting for a sheet, a full study."""

import re

import pytest
from playwright.sync_api import expect

from adaptive.ledger._ballots.sheets import MINUTE
from tests.adaptive.ledger.campaigns import change
from tests.service.collect.browser.conftest import agree, answer, n_events, n_unsent, read_pair, voter, votes
from tests.service.collect.browser.test_access import check, check_all, check_width
from tests.service.collect.browser.test_organiser import page_of
from tests.service.collect.browsing import ADMIN, BACK, PROLIFIC, Organiser, change_pages, new_voter, token_of

pytestmark = pytest.mark.wide


VOTES = re.compile(r"/v1/votes/[-0-9a-f]{36}$")
FAILURE_TIMEOUT = 120_000  # milliseconds, in which five requests fail


def test_a_vote_that_always_fails_is_kept_and_sent_on_request(site, visit):
    visit.breaks_requests = True
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    failures, is_broken = [], True

    def fail(route):
        if is_broken:
            failures.append(route.request.url)
            route.fulfill(status=500, json={"type": "urn:rankcorr:problem:internal-error", "detail": "broken"})
        else:
            route.continue_()

    page.route(VOTES, fail)
    pair = read_pair(page)
    answer(page)
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible(timeout=FAILURE_TIMEOUT)
    expect(page.locator("#message")).to_contain_text("The server cannot save your last answer.")
    assert (len(failures), n_unsent(page)) == (5, 1)
    check_all(page)
    page.wait_for_timeout(1_500)
    assert len(failures) == 5  # the page stops asking
    page.locator("#finish-link, .bottom-link").first.click()
    page.wait_for_url("**/finish*")
    expect(page.get_by_role("button", name="Try again")).to_be_visible(timeout=FAILURE_TIMEOUT)
    is_broken = False
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#missing")).to_contain_text("3")
    assert (votes(campaign), n_events(campaign), n_unsent(page)) == ({pair: "left"}, 1, 0)


def test_a_page_reports_a_server_that_always_fails(site, visit):
    visit.breaks_requests = True
    page = visit(site.link(site.campaign()))
    page.route("**/v1/sheets", lambda route: route.fulfill(status=500, json={}))
    page.locator("#agree").click()
    expect(page.get_by_text("Something went wrong.")).to_be_visible(timeout=FAILURE_TIMEOUT)
    page.unroute("**/v1/sheets")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#option-left")).to_be_visible()


@pytest.mark.parametrize(
    "query", ["", "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3XM0", "?workerId=A1B2C3D4E5F6&hitId=3XM0"]
)
def test_an_incomplete_link_of_mechanical_turk_names_the_missing_part(site, visit, query):
    visit.breaks_requests = True
    campaign = site.campaign(pages={"open_link": False, "platform": "mturk"})
    page = visit(f"{site.link(campaign, query=query)}#{token_of(campaign, 'study')}")
    if "workerId" in query:
        agree(page)
        return
    expect(page.get_by_role("heading", name="Please start from your task on Mechanical Turk")).to_be_visible()
    expect(page.get_by_text("Accept the task on Mechanical Turk first")).to_be_visible()
    expect(page.locator("#agree")).to_be_hidden()
    check_all(page)


def test_a_continuous_campaign_to_its_end(site, visit):
    items = "item\n" + "\n".join(f"term {number}" for number in range(8)) + "\n"
    plan, settings = {"mode": "continuous", "budget": 24}, {"sheet_size": 6}
    organiser = Organiser(site.app, ADMIN).make(items_csv=items, plan=plan, settings=settings)
    page = visit(f"{site.url}/v/{organiser.key}", viewport={"width": 360, "height": 640})
    expect(page.get_by_role("heading", name="Voting is not open")).to_be_visible()
    organiser.open()
    page.reload()
    agree(page)
    check_width(page)
    while page.locator("#voting").is_visible():
        answer(page)
        page.wait_for_function("""() => document.querySelector("#voting").hidden
                                        || !document.querySelector("#status").textContent.startsWith("Saving")""")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible(timeout=FAILURE_TIMEOUT)
    n_counted = organiser.get("/progress").json["status"]["n_counted"]
    assert n_counted in (4, 5, 6)  # the sheet may also have pairs that measure the voter
    overview = page_of(site, visit, organiser)
    expect(overview.locator("#progress-text")).to_contain_text(f"{n_counted} of 24 comparisons")
    expect(overview.locator("#ballots tbody tr")).to_have_count(1)
    for _ in range(3):  # a remaining sheet may have a pair that both have seen, so it is for another voter
        organiser.answer_all()
    status = organiser.get("/progress").json["status"]
    assert (status["n_comparisons"], status["n_answered"]) == (24, 24)
    page.locator("#more").click()
    expect(page.locator("#done-text")).to_have_text("There are no comparisons left for you at the moment. Thank you!")
    review = overview.get_by_role("link", name="Review or end the campaign")
    expect(review).to_have_class(re.compile("button-primary"))  # the next step
    ballots = page_of(site, visit, organiser, "/ballots")
    ballots.get_by_role("button", name="End …").click(timeout=FAILURE_TIMEOUT)
    expect(ballots.get_by_role("heading", name="End the campaign?")).to_be_visible()
    check(ballots)
    ballots.get_by_role("button", name="End", exact=True).click()
    expect(ballots.locator("#now")).to_contain_text("The campaign is finished")
    result = page_of(site, visit, organiser, "/result")
    expect(result.locator("#ranking tbody tr")).to_have_count(8, timeout=FAILURE_TIMEOUT)


def test_right_to_left_labels_do_not_reorder_their_neighbours(site, visit):
    labels = ["\u0634\u062c\u0631\u0629 (Olea)", "\u0646\u062e\u0644\u0629!", "\u05d0\u05dc\u05d5\u05df 1."]
    labels += ["oak", "fir", "elm"]
    name = "\u0623\u0634\u062c\u0627\u0631 (2026)"
    organiser = Organiser(site.app, ADMIN).make(name=name, items_csv="item\n" + "\n".join(labels) + "\n")
    organiser.open()
    organiser.answer_all()
    page = page_of(site, visit, organiser, "/ballots")
    fewest = page.locator("dt", has_text="Fewest answers").locator("+ dd")
    expect(fewest).to_contain_text("(4)", timeout=FAILURE_TIMEOUT)
    places = fewest.evaluate(PLACES)
    assert len(places) == 5
    assert places == sorted(places)  # each number is between its label and the next one
    page.goto(f"{site.url}/o/{organiser.key}/items")
    check_width(page)
    expect(page.locator("#campaign-name")).to_have_text(name)


# Where each "(4)" of a line is, from left to right.
PLACES = r"""(line) => {
  const node = line.firstChild;
  return [...node.data.matchAll(/\(4\)/g)].map((found) => {
    const range = document.createRange();
    range.setStart(node, found.index);
    range.setEnd(node, found.index + 3);
    const { left, top } = range.getBoundingClientRect();
    return left + 10_000 * Math.round(top);
  });
}"""


CROWD_PAGES = {**PROLIFIC, "study_minutes": 45}
MINUTES_WITHOUT_ANSWER = 20  # minutes without an answer, enough for a test on a busy machine
OTHER_SCREENS = [(375, "dark"), (1280, "light"), (1280, "dark")]
SCREENS = [(375, "light"), *(pytest.param(*screen, marks=pytest.mark.nightly) for screen in OTHER_SCREENS)]


def participant(site, campaign, number):
    """A voter who has joined from the platform."""
    platform = {"name": "prolific", "participant": f"{number:024x}", "study": "s1"}
    return new_voter(site.app, campaign, platform={**platform, "secret": token_of(campaign, "study")})


def organiser_of(site, campaign):
    return Organiser(site.app, token_of(campaign, "organiser"), campaign.key)


def open_screen(visit, size, scheme, **options):
    return visit.context(viewport={"width": size, "height": 812}, color_scheme=scheme, **options)


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_a_waiting_page_continues_by_itself(site, visit, size, scheme):
    campaign = site.campaign(first_minutes=MINUTES_WITHOUT_ANSWER)
    for _ in range(3):
        new_voter(site.app, campaign).sheet()
    page = visit(context=open_screen(visit, size, scheme))
    page.clock.install()
    page.goto(site.link(campaign))
    expect(page.get_by_text("Other people are working on all the comparisons at the moment.")).to_be_visible()
    check_all(page)
    page.locator("#agree").click()
    expect(page.get_by_role("heading", name="Please wait a moment")).to_be_visible()
    expect(page.locator("#wait-text")).to_contain_text(f"within {MINUTES_WITHOUT_ANSWER} min")
    check_all(page)
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=MINUTES_WITHOUT_ANSWER * MINUTE)
    page.clock.fast_forward(15_000)
    expect(page.locator("#voting")).to_be_visible()
    read_pair(page)


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_a_participant_who_is_too_late_gets_the_link_back(site, visit, size, scheme):
    campaign = site.campaign(pages={**CROWD_PAGES, "open_link": False})
    for number in range(3):
        participant(site, campaign, number).answer_sheet()
    query = f"?PROLIFIC_PID={99:024x}&STUDY_ID=s1&SESSION_ID=x#{token_of(campaign, 'study')}"
    visit.breaks_requests = True  # the server refuses participants who are too late
    page = visit(site.link(campaign, query=query), context=open_screen(visit, size, scheme))
    expect(page.get_by_role("heading", name="This study is full")).to_be_visible()
    expect(page.locator("#full-code")).to_have_text("FULL")
    expect(page.locator("#full-return")).to_have_attribute("href", f"{BACK}FULL")
    check_all(page)


def test_an_excluded_participant_gets_the_link_back(site, visit):
    campaign = site.campaign(pages={**CROWD_PAGES, "open_link": False, "sheets": 3})
    query = f"?PROLIFIC_PID={1:024x}&STUDY_ID=s1&SESSION_ID=x#{token_of(campaign, 'study')}"
    page = visit(site.link(campaign, query=query))
    agree(page)
    read_pair(page)
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
def test_an_organiser_sees_participants_to_approve_and_to_reject(site, visit, size, scheme):
    campaign = site.campaign(pages=CROWD_PAGES)
    organiser = organiser_of(site, campaign)
    for number in range(3):
        voter = participant(site, campaign, number)
        voter.answer_sheet()
        assert voter.post("/v1/finish").status_code == 200
        if number == 2:
            reason = {"reason": "Two attention checks wrong"}
            organiser.post(f"/voters/{voter.me().json['voter']}/exclude", reason, status=204)
    context = open_screen(visit, size, scheme, permissions=["clipboard-read", "clipboard-write"])
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


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_an_organiser_sees_sheets_without_an_answer(site, visit, size, scheme):
    campaign = site.campaign(sheet_size=2, first_minutes=MINUTES_WITHOUT_ANSWER)
    for _ in range(6):
        new_voter(site.app, campaign).sheet()
    page = page_of(site, visit, organiser_of(site, campaign), context=open_screen(visit, size, scheme))
    awaited = page.locator("#awaited")
    expect(awaited).to_contain_text("Sheets handed out but not started: 6.")
    expect(awaited).to_contain_text("6 of them went to one network address")
    check_all(page)
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=MINUTES_WITHOUT_ANSWER * MINUTE)
    expect(awaited).to_be_hidden()


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_codes_and_the_time_of_a_study_are_set_if_a_platform_is_selected(site, visit, size, scheme):
    campaign = site.campaign()
    organiser = organiser_of(site, campaign)
    page = page_of(site, visit, organiser, "/settings", context=open_screen(visit, size, scheme))
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
