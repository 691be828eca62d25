"""The best and the worst item of a set: by mouse, keys and touch, with undo, without a connection, and on a phone."""

import pytest
from playwright.sync_api import expect

from adaptive.ledger import ContinuousPlan, PageTexts
from tests.service.collect.browser.conftest import (
    expect_saved,
    n_unsent,
    open_advanced,
    votes,
    wait_until,
    wait_until_sent,
)
from tests.service.collect.browser.test_access import check_targets, check_width, check_words
from tests.service.collect.browsing import ADMIN

pytestmark = pytest.mark.wide

TREES = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "lime", "maple", "oak", "pine", "yew"]


def campaign_of_sets(site, set_size=4, **options):
    plan = ContinuousPlan(len(TREES), 36, batch=12, set_size=set_size)
    return site.campaign(plan=plan, items=TREES, sheet_size=4, **options)


def voter(site, visit, campaign, **options):
    page = visit(site.link(campaign), **options)
    page.locator("#agree").click()
    wait_ready(page)
    return page


def wait_ready(page):
    expect(page.locator('#option-1 .choose:not([aria-disabled="true"])').first).to_be_visible()


def shown_set(page):
    return tuple(page.locator("#pair .content").all_inner_texts())


def part(page, name):
    return page.locator(f'[data-answer="{name}"]')


def choose(page, best, worst, *, by="click", n_done=None, of=4):
    """Answer the shown set, and wait for the next one."""
    wait_ready(page)
    before = shown_set(page)
    for name in (f"best {best}", f"worst {worst}"):
        getattr(part(page, name), by)()
    page.wait_for_function(
        """before => document.querySelector("#voting").hidden
           || Array.from(document.querySelectorAll("#pair .content"), (box) => box.innerText).join() !== before""",
        arg=",".join(before),
    )
    if n_done is not None:
        expect_saved(page, n_done, of)
    return before


@pytest.mark.parametrize("set_size", [3, 6])
def test_two_clicks_answer_a_set_and_buttons_are_named_after_its_items(site, visit, set_size):
    campaign = campaign_of_sets(site, set_size)
    page = voter(site, visit, campaign)
    assert len(shown_set(page)) == set_size
    names = [button.get_attribute("aria-label") for button in page.locator(".choose").all()]
    assert names == [f"{kind}: {item}" for item in shown_set(page) for kind in ("Best", "Worst")]
    of = int(page.locator("#bar").get_attribute("max"))
    first = choose(page, set_size, 1, n_done=1, of=of)
    assert votes(campaign) == {first: f"best {set_size} worst 1"}
    if of > 1:
        second = shown_set(page)
        page.locator('[data-answer="cannot say"]').click()
        expect_saved(page, 2, of)
        assert votes(campaign)[second] == "cannot say"


def test_a_choice_can_be_changed_before_the_other_is_made(site, visit):
    campaign = campaign_of_sets(site)
    page = voter(site, visit, campaign)
    items = shown_set(page)
    part(page, "best 2").click()
    expect(part(page, "best 2")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#status")).to_have_text("Now choose the worst.")
    part(page, "best 3").click()
    expect(part(page, "best 2")).to_have_attribute("aria-pressed", "false")
    part(page, "best 3").click()  # deselects it
    expect(page.locator("#status")).to_have_text("Choose the best and the worst.")
    page.wait_for_timeout(300)
    part(page, "worst 4").click()
    expect(page.locator("#status")).to_have_text("Now choose the best.")
    part(page, "best 4").click()  # no item can be both
    expect(part(page, "worst 4")).to_have_attribute("aria-pressed", "false")
    assert votes(campaign) == {}
    part(page, "worst 1").click()
    expect_saved(page, 1, 4)
    assert votes(campaign) == {items: "best 4 worst 1"}
    wait_ready(page)
    assert page.locator('#pair [aria-pressed="true"]').count() == 0


def test_keys_choose_the_best_and_then_the_worst(site, visit):
    campaign = campaign_of_sets(site)
    page = voter(site, visit, campaign)
    items = shown_set(page)
    page.keyboard.press("3")
    expect(part(page, "best 3")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("1")
    expect_saved(page, 1, 4)
    assert votes(campaign) == {items: "best 3 worst 1"}
    wait_ready(page)
    page.keyboard.press("5")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.wait_for_timeout(300)
    assert len(votes(campaign)) == 1
    assert page.locator('#pair [aria-pressed="true"]').count() == 0


def test_undo_and_a_lost_connection(site, visit):
    campaign = campaign_of_sets(site)
    page = voter(site, visit, campaign)
    first = choose(page, 1, 2, n_done=1)
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Answer undone. Please answer again.")
    assert shown_set(page) == first
    assert page.locator('#pair [aria-pressed="true"]').count() == 0
    visit.breaks_requests = True
    page.context.set_offline(True)
    choose(page, 4, 3)
    wait_until(page, lambda: n_unsent(page) == 1)
    page.context.set_offline(False)
    wait_until_sent(page)
    wait_until(page, lambda: votes(campaign) == {first: "best 4 worst 3"})


def test_a_waiting_answer_can_still_be_changed(site, visit):
    """While the last answer is being sent, the choices for the next set wait and may be changed."""
    campaign = campaign_of_sets(site)
    page = voter(site, visit, campaign)
    choose(page, 1, 2, n_done=1)
    site.delay = 1.5
    try:
        second = choose(page, 1, 2)
        wait_ready(page)
        third = shown_set(page)
        part(page, "best 1").click()
        part(page, "worst 2").click()
        part(page, "worst 3").click()
        expect_saved(page, 3, 4)
    finally:
        site.delay = 0.0
    recorded = votes(campaign)
    assert recorded[second] == "best 1 worst 2"
    assert recorded[third] == "best 1 worst 3"


def test_a_phone_has_room_for_a_set(site, visit):
    campaign = campaign_of_sets(site, 6)
    page = voter(site, visit, campaign, viewport={"width": 320, "height": 640}, has_touch=True)
    check_width(page)
    check_targets(page)
    items = choose(page, 2, 1, by="tap", n_done=1, of=int(page.locator("#bar").get_attribute("max")))
    assert votes(campaign) == {items: "best 2 worst 1"}
    page.locator("#content-1").tap()  # a tap on the item itself selects nothing
    page.wait_for_timeout(300)
    assert page.locator('#pair [aria-pressed="true"]').count() == 0


def test_a_phone_has_room_for_a_german_set(site, visit):
    campaign = campaign_of_sets(site, pages={"texts": {"de": PageTexts("Bäume", "Welcher ist höher?")}})
    page = voter(site, visit, campaign, viewport={"width": 320, "height": 640}, has_touch=True)
    expect(page.locator("[data-word]", has_text="Schlechtestes")).to_have_count(4)
    check_width(page)
    check_targets(page)
    check_words(page)


def test_an_answer_from_another_window_is_shown(site, visit):
    campaign = campaign_of_sets(site)
    page = voter(site, visit, campaign)
    visit.breaks_requests = True
    items = shown_set(page)
    other = page.context.new_page()
    other.goto(site.link(campaign, "vote"))
    wait_ready(other)
    assert shown_set(other) == items
    choose(other, 1, 4, n_done=1)
    choose(page, 2, 3)
    message = f"You answered the previous pair elsewhere: best: {items[0]}, worst: {items[3]}. That answer counts."
    expect(page.locator("#message")).to_contain_text(message)
    assert votes(campaign) == {items: "best 1 worst 4"}


def test_an_organiser_creates_a_campaign_of_sets(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}")
    page.locator("#items").fill("\n".join(TREES))
    page.locator("#question-0").fill("Which tree is the tallest, and which the lowest?")
    open_advanced(page)
    page.locator("[name=mode][value=ballots]").check()
    page.locator("#grades").select_option("set 4")
    expect(page.locator("[name=mode][value=continuous]")).to_be_checked()
    expect(page.locator("[name=mode][value=ballots]")).to_be_disabled()
    expect(page.locator("#repeats")).to_be_hidden()
    expect(page.locator("#ties")).to_be_hidden()
    expect(page.locator("#outlook dt", has_text="Comparisons").locator("+ dd")).to_have_text("24")
    expect(page.locator("#outlook")).to_contain_text("Accuracy is simulated for pairs only.")
    page.locator("#make").click()
    _, _, rest = page.locator("#created-link input").input_value().rpartition("/o/")
    key = rest.partition("#")[0]
    early = visit(f"{site.url}/v/{key}")
    expect(early.get_by_role("heading", name="Voting is not open")).to_be_visible()
    page.locator("#created-go").click()
    page.get_by_role("button", name="Open ballot 1").click()
    expect(page.get_by_text("Review or end the campaign")).to_be_visible()
    voting = visit(f"{site.url}/v/{key}")
    page.goto(f"{site.url}/o/{key}/settings")
    expect(page.locator("#fixed")).to_contain_text("The best and the worst of 4")
    voting.locator("#agree").click()
    wait_ready(voting)
    expect(voting.get_by_text("Which tree is the tallest, and which the lowest?")).to_have_count(1)  # no second title
    for _ in range(3):
        choose(voting, 1, 2)
    expect(voting.locator("#status")).to_contain_text("Saved. 3 of")
    page.goto(f"{site.url}/o/{key}/result")
    expect(page.locator("#exports a")).to_have_count(4)
    page.goto(f"{site.url}/o/{key}/voters")
    expect(page.locator("th", has_text="Best shown first")).to_be_visible()
