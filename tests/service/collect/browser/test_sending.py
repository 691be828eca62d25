"""Votes over a bad network, from two windows and by double clicks: nothing is lost, and nothing counts twice."""

import random
import re

import pytest
from playwright.sync_api import expect

from tests.adaptive.ledger.campaigns import change
from tests.service.collect.browser.conftest import (
    agree,
    answer,
    expect_saved,
    n_events,
    n_unsent,
    read_pair,
    vote_as_another,
    voter,
    votes,
    wait_ready,
    wait_until_sent,
    wait_until_stored,
)
from tests.service.collect.browsing import change_pages

pytestmark = pytest.mark.wide

VOTES = re.compile(r"/v1/votes/[-0-9a-f]{36}$")
RETRACTIONS = re.compile(r"/v1/votes/[-0-9a-f]{36}/retract$")
WARNING = "#message"


@pytest.fixture
def campaign(site):
    return site.campaign()


@pytest.fixture
def page(site, visit, campaign):
    """The comparisons of a voter, whose requests may fail."""
    visit.breaks_requests = True
    return voter(site, visit, campaign)


def answer_unsent(page):
    """Answer "left" while no vote gets through."""
    page.route(VOTES, lambda route: route.abort())
    answer(page)
    expect(page.locator(WARNING)).to_contain_text("No connection")


def test_a_bad_network_loses_and_duplicates_no_vote(site, visit):
    visit.breaks_requests = True
    campaign = site.campaign(voters=1, sheet_size=12)
    page = voter(site, visit, campaign)
    rng, of_fates = random.Random(5), random.Random(5)  # the order of the two requests depends on timing
    fates = []

    def chance(route):
        fates.append(of_fates.choice(["fine", "fine", "never arrives", "answer lost", "busy"]))
        if fates[-1] == "answer lost":
            route.fetch()
        if fates[-1] in ("never arrives", "answer lost"):
            route.abort()
        elif fates[-1] == "busy":
            route.fulfill(status=503, headers={"Retry-After": "0"}, json={"type": "urn:rankcorr:problem:busy"})
        else:
            route.continue_()

    page.route(VOTES, chance)
    answers = {}
    for number in range(12):
        side = rng.choice(["left", "right", "tie"])
        answers[read_pair(page)] = side
        answer(page, side)
        if number == 6:
            wait_until_stored(page, campaign, 7)
            page.reload()
            wait_ready(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert set(fates) == {"fine", "never arrives", "answer lost", "busy"}
    assert (len(answers), votes(campaign), n_events(campaign)) == (12, answers, 12)


def test_a_vote_without_network_is_stored_and_the_next_one_waits(page, campaign):
    first = read_pair(page)
    page.context.set_offline(True)
    answer(page)
    expect(page.locator(WARNING)).to_contain_text("No connection")
    assert n_unsent(page) == 1
    second = read_pair(page)
    wait_ready(page)
    page.locator('[data-answer="right"]').click()
    expect(page.locator("#option-right")).to_have_class(re.compile("is-chosen"))
    assert read_pair(page) == second
    assert (n_unsent(page), n_events(campaign)) == (1, 0)
    page.context.set_offline(False)
    expect_saved(page, 2, 4)
    expect(page.locator(WARNING)).to_be_hidden()
    assert votes(campaign) == {first: "left", second: "right"}
    assert (n_unsent(page), n_events(campaign)) == (0, 2)


def test_the_page_respects_retry_after_of_a_busy_server(page, campaign):
    moments = []

    def answer_busy_at_first(route):
        moments.append(page.evaluate("performance.now()"))
        if len(moments) == 1:
            route.fulfill(status=503, headers={"Retry-After": "2"}, json={"type": "urn:rankcorr:problem:busy"})
        else:
            route.continue_()

    page.route(VOTES, answer_busy_at_first)
    answer(page)
    expect(page.locator(WARNING)).to_contain_text("The server is busy")
    page.evaluate("window.dispatchEvent(new Event('online'))")  # no reason to send earlier
    expect_saved(page, 1, 4)
    assert len(moments) == 2
    assert moments[1] - moments[0] >= 2_000
    assert n_events(campaign) == 1


def test_two_windows_keep_one_vote_and_show_it(page, site, visit, campaign):
    other = visit(site.link(campaign, "vote"), context=page.context)
    wait_ready(other)
    first = read_pair(page)
    assert read_pair(other) == first
    answer(page, "left", n_done=1)
    answer(other, "right")
    expect(other.locator(WARNING)).to_have_text(
        f"You answered the previous pair elsewhere: {first[0]}. That answer counts."
    )
    expect(other.locator("#status")).to_have_text("")  # nothing is being saved any more
    assert read_pair(other) != first
    expect(other.locator("#count")).to_have_text("1 of 4")
    assert (votes(campaign), n_events(campaign)) == ({first: "left"}, 1)


def test_the_last_pair_of_a_sheet_may_be_answered_in_another_window_too(page, site, visit, campaign):
    for number in range(3):
        answer(page, n_done=number + 1)
    other = visit(site.link(campaign, "vote"), context=page.context)
    wait_ready(other)
    last = read_pair(other)
    answer(page, "tie")
    answer(other, "right")
    expect(other.get_by_role("heading", name="This part is complete")).to_be_visible()
    expect(other.locator(WARNING)).to_contain_text("elsewhere: both equally.")
    expect(other.locator("#status")).to_have_text("")
    assert votes(campaign)[last] == "tie"
    assert n_events(campaign) == 4


def test_messages_about_a_sheet_disappear_with_it(site, visit, campaign):
    page = voter(site, visit, campaign)
    for number in range(4):
        answer(page, n_done=number + 1)
    page.locator("#more").click()
    wait_ready(page)
    expect(page.locator("#count")).to_have_text("0 of 4")
    expect(page.locator("#status")).to_have_text("")


def test_a_choice_undone_before_sending_is_no_longer_being_saved(page, campaign):
    answer(page, n_done=1)
    answer_unsent(page)
    wait_ready(page)
    page.locator('[data-answer="right"]').click()
    expect(page.locator("#status")).to_have_text("This answer will be sent after the previous one.")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("")
    assert (n_events(campaign), n_unsent(page)) == (1, 1)


@pytest.mark.parametrize("scrolled", [0, 10_000])
def test_the_notice_of_a_lost_connection_covers_nothing_on_a_phone(site, visit, scrolled):
    visit.breaks_requests = True
    long = [" ".join([f"Item {number} with a description that is long."] * 9) for number in range(6)]
    campaign = site.campaign(items=long)
    phone = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
    page = voter(site, visit, campaign, **phone)
    page.route(VOTES, lambda route: route.abort())
    answer(page)
    expect(page.locator(WARNING)).to_contain_text("No connection")
    page.evaluate("top => scrollTo(0, top)", scrolled)
    notice = page.locator(WARNING).bounding_box()
    assert notice["y"] >= 0
    assert notice["y"] + notice["height"] <= 667  # it is visible
    places = ["#question"] if scrolled == 0 else ["#middle button", "#tools button"]
    for place in places:
        for box in [element.bounding_box() for element in page.locator(place).all()]:
            assert box["y"] + box["height"] <= notice["y"] or box["y"] >= notice["y"] + notice["height"]


def test_a_double_click_is_one_vote(site, visit, campaign):
    page = voter(site, visit, campaign)
    first = read_pair(page)
    wait_ready(page)
    page.locator('[data-answer="left"]').dblclick()
    expect_saved(page, 1, 4)
    wait_ready(page)
    assert votes(campaign) == {first: "left"}
    second = read_pair(page)
    page.evaluate(
        """async () => {
             const button = document.querySelector('[data-answer="left"]');
             const begun = performance.now(); // a quarter of a second later a click is an answer to the next pair
             for (let click = 0; click < 5 && performance.now() - begun < 200; click += 1) {
               button.click();
               await new Promise((resolve) => setTimeout(resolve, 20));
             }
           }"""
    )
    expect_saved(page, 2, 4)
    wait_ready(page)
    assert votes(campaign) == {first: "left", second: "left"}
    expect(page.locator("#count")).to_have_text("2 of 4")


def test_the_back_button_answers_nothing_twice(site, visit, campaign):
    page = voter(site, visit, campaign)
    answer(page, n_done=1)
    second = read_pair(page)
    page.go_back()
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    expect(page.locator("#answered")).to_have_text("Answers so far: 1")
    page.go_forward()
    wait_ready(page)
    assert read_pair(page) == second
    assert n_events(campaign) == 1


def test_a_slow_network_keeps_the_pace_of_the_voter(site, visit, campaign):
    page = voter(site, visit, campaign)
    pairs = []
    site.delay = 0.3
    try:
        for side in ("left", "right", "left", "right"):
            pairs.append(read_pair(page))
            answer(page, side)
        expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    finally:
        site.delay = 0.0
    assert votes(campaign) == dict(zip(pairs, ("left", "right", "left", "right"), strict=True))
    assert n_events(campaign) == 4


def test_a_late_vote_is_reported_and_another_sheet_follows(page, campaign):
    answer(page, n_done=1)
    for _ in range(2):
        vote_as_another(campaign)
    campaign.close(1, least_answered=0.0)
    campaign.open_next()
    answer(page)
    expect(page.locator(WARNING)).to_contain_text("arrived too late")
    wait_ready(page)
    expect(page.locator("#count")).to_have_text("0 of 2")  # from a sheet of the second ballot
    wait_until_sent(page)
    assert n_events(campaign) == 9
    answer(page, n_done=1, of=2)
    assert n_events(campaign) == 10


def test_a_new_consent_text_shows_the_welcome_page_and_the_vote_is_sent_afterwards(page, campaign):
    first = read_pair(page)
    page.route(
        VOTES,
        lambda route: route.fulfill(status=403, json={"type": "urn:rankcorr:problem:consent-needed", "status": 403}),
    )
    change_pages(campaign, consent_version="2")
    page.wait_for_timeout(2_100)  # the server looks for changes every two seconds
    page.locator('[data-answer="left"]').click()
    expect(page.get_by_role("heading", name="Your consent")).to_be_visible()
    assert n_unsent(page) == 1
    page.unroute(VOTES)
    agree(page)
    expect(page.locator("#count")).to_have_text("1 of 4")
    assert votes(campaign) == {first: "left"}


def test_a_stored_vote_counts_after_the_lease_has_expired(page, campaign):
    answer(page, n_done=1)
    answer_unsent(page)
    change(campaign, "UPDATE lease SET expires_at = 1 WHERE ended_at IS NULL")
    page.reload()  # still without votes getting through
    page.unroute(VOTES)
    expect(page.locator("#count")).to_have_text("2 of 4", timeout=60_000)
    wait_until_sent(page)
    assert (len(votes(campaign)), n_events(campaign)) == (2, 2)
    expect(page.locator(WARNING)).to_be_hidden()


def test_a_stored_vote_is_not_sent_for_another_voter(site, visit, campaign):
    visit.breaks_requests = True
    page = visit(site.invitation(campaign, "anna"))
    agree(page)
    answer_unsent(page)
    page.goto("about:blank")
    page.unroute(VOTES)  # not earlier, or the page might still send it
    page.goto(site.invitation(campaign, "bert"))
    agree(page)
    expect(page.locator("#count")).to_have_text("0 of 4")
    assert (n_unsent(page), n_events(campaign)) == (1, 0)


def test_a_refused_pair_is_asked_again(page, campaign):
    first = read_pair(page)
    refusal = {"type": "urn:rankcorr:problem:invalid-request", "status": 422}
    page.route(VOTES, lambda route: route.fulfill(status=422, json=refusal), times=1)
    page.locator('[data-answer="left"]').click()
    expect(page.locator(WARNING)).to_have_text("Your last answer could not be saved. Please continue from here.")
    expect(page.locator("#status")).to_have_text("")
    assert read_pair(page) == first
    answer(page, "right", n_done=1)
    assert votes(campaign) == {first: "right"}


def test_undo_takes_back_the_last_answer_of_a_sheet_even_after_a_reload(site, visit, campaign):
    page = voter(site, visit, campaign)
    for _ in range(3):
        answer(page)
    last = read_pair(page)
    answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    page.locator("#undo-done").click()
    wait_ready(page)
    assert read_pair(page) == last
    expect(page.locator("#count")).to_have_text("3 of 4")
    answer(page, "right")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert votes(campaign)[last] == "right"


def test_an_answer_after_undo_is_for_the_undone_pair(site, visit, campaign):
    page = voter(site, visit, campaign)
    first = read_pair(page)
    answer(page, n_done=1)
    second = read_pair(page)
    wait_ready(page)
    routes = []

    def hold(route):
        routes.append(route)

    page.route(RETRACTIONS, hold)
    page.locator("#undo").click()
    page.keyboard.press("2")  # too early: the second pair is still shown
    page.keyboard.press("2")
    assert read_pair(page) == second
    while not routes:
        page.wait_for_timeout(20)
    routes[0].continue_()
    expect(page.locator("#status")).to_contain_text("Answer undone")
    assert read_pair(page) == first
    answer(page, "right", n_done=1)
    assert read_pair(page) == second
    assert votes(campaign) == {first: "right"}


def test_a_refused_stored_vote_is_reported(page, site, visit, campaign):
    other = visit(site.link(campaign, "vote"), context=page.context)
    wait_ready(other)
    answer_unsent(page)
    answer(other, "right", n_done=1)
    page.goto("about:blank")
    page.unroute(VOTES)  # not earlier, or the page might get the refusal before it is left
    page.goto(site.link(campaign, "vote"))
    wait_ready(page)
    expect(page.locator(WARNING)).to_have_text("You answered a pair elsewhere: the second option. That answer counts.")
    expect(page.locator("#status")).to_have_text("")
    assert n_unsent(page) == 0
