"""Accessibility: keyboard, touch, screen readers, large text, dark screens, right-to-left writing."""

import time

import pytest
from playwright.sync_api import expect

from adaptive.ledger import ItemContent, PageTexts
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browser.conftest import (
    LONG_WORD,
    PRACTICE,
    agree,
    answer,
    expect_saved,
    read_pair,
    voter,
    votes,
    wait_ready,
)
from tests.service.collect.browsing import ITEMS

pytestmark = pytest.mark.wide

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
VIOLATIONS = {"resultTypes": ["violations"]}  # otherwise the result would include all elements
RULES = {"runOnly": {"type": "tag", "values": TAGS}, **VIOLATIONS}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, **VIOLATIONS}  # the only rule that checks them


SENTENCE = " ".join(["each of these thirty words is here so that a voter reads a long item"] * 2)
HEBREW = {"he": PageTexts("עצים", "איזה עץ גבוה יותר?", "הסתכלו על **שני** העצים.", "אני מסכים להשתתף.", "תודה!")}


def check(page, rules=RULES):
    """Check axe's rules for WCAG 2.2 AA and its best practices."""
    script = ["0"] if page.evaluate("'axe' in window") else []  # half a megabyte, loaded once per page
    result = axe.Axe(*script).run(page, options=rules)
    assert result.violations_count == 0, result.generate_report()


def check_width(page):
    """Check that nothing is wider than the screen, and no control wider than its card."""
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    wide = page.evaluate(
        """() => [...document.querySelectorAll(".card :is(button, a.button, input, select)")]
             .filter((control) => control.checkVisibility() && !control.closest(".scroll"))
             .filter((control) => {
               const card = control.closest(".card").getBoundingClientRect();
               const box = control.getBoundingClientRect();
               return box.left < card.left || box.right > card.right;
             })
             .map((control) => control.outerHTML)"""
    )
    assert wide == []


def check_words(page):
    """Check that no line ends within a word of a button that answers."""
    broken = page.evaluate(
        """() => [...document.querySelectorAll("[data-word]")].flatMap(({ firstChild: node }) =>
             node.data.trim().split(/\\s+/).filter((word) => {
               const range = document.createRange();
               range.setStart(node, node.data.indexOf(word));
               range.setEnd(node, node.data.indexOf(word) + word.length);
               return range.getClientRects().length > 1;
             }))"""
    )
    assert broken == []


def check_targets(page):
    """Check that each control is at least 44 px high and wide; links in a text may be smaller."""
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, a.button, .check, .bottom-link")]
             .filter((control) => control.checkVisibility() && !control.matches(".skip-link"))
             .map((control) => [control.innerText, control.getBoundingClientRect()])
             .filter(([, box]) => box.width < 44 || box.height < 44)
             .map(([text]) => text)"""
    )
    assert small == []


def check_all(page):
    check(page)
    check_width(page)
    check_targets(page)


def check_screens(page):
    """Check a page on a phone and on a desktop, light and dark, and restore its window."""
    before = page.viewport_size
    for size in ({"width": 375, "height": 667}, {"width": 1280, "height": 800}):
        page.set_viewport_size(size)
        check_all(page)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")  # without transitions of colours
        check(page, COLOURS)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(before)


def test_every_page_and_state_is_accessible(site, visit):
    campaign = site.campaign(
        probing=PRACTICE,
        items=[*ITEMS[:3], LONG_WORD, SENTENCE, "yew"],
        pages={"sheets": 2, "completion_code": "C0DE", "completion_url": "https://crowd.example/done"},
    )
    page = visit(site.link(campaign), viewport={"width": 320, "height": 700})
    expect(page.locator("#agree")).to_be_visible()
    check_screens(page)
    agree(page)
    check_screens(page)
    answer(page)
    expect(page.locator("#next")).to_be_visible()
    check_screens(page)
    page.locator("#next").click()
    for _ in range(3):
        wait_ready(page)
        check_screens(page)
        answer(page)
    page.locator("#pause").click()
    expect(page.get_by_role("heading", name="Paused")).to_be_focused()
    check_screens(page)
    page.locator("#resume").click()
    answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_focused()
    check_screens(page)
    page.goto(site.link(campaign))
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    check_screens(page)
    page.goto(site.link(campaign, "finish"))
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_focused()
    check_screens(page)
    page.get_by_role("link", name="Back to the comparisons").click()
    page.locator("#more").click()
    for _ in range(4):
        answer(page)
    page.locator("#to-finish").click()
    expect(page.locator("#code")).to_have_text("C0DE")
    check_screens(page)
    page.locator("#withdraw").click()
    expect(page.locator("#stay")).to_be_focused()
    check_screens(page)
    page.locator("#go").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_focused()
    check_screens(page)


def test_text_of_twice_the_size_needs_no_horizontal_scrolling(site, visit):
    campaign = site.campaign(probing=PRACTICE, items=[*ITEMS[:3], LONG_WORD, SENTENCE, "yew"])
    page = visit(site.link(campaign), viewport={"width": 640, "height": 700})
    larger = "document.documentElement.style.fontSize = '200%'"
    page.evaluate(larger)
    check_width(page)
    agree(page)
    page.evaluate(larger)
    for _ in range(5):
        wait_ready(page)
        check_width(page)
        check_targets(page)
        answer(page)
        if page.locator("#next").is_visible():
            page.locator("#next").click()
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    check_width(page)


def test_messages_have_enough_contrast(site, visit):
    visit.breaks_requests = True
    page = voter(site, visit, site.campaign(), color_scheme="dark")
    page.context.set_offline(True)
    answer(page)
    expect(page.locator("#message")).to_be_visible()
    check_all(page)


def test_pages_for_visitors_without_a_link(site, visit):
    visit.breaks_requests = True
    closed = site.campaign(pages={"open_link": False})
    for page_name in ("", "vote", "finish"):
        page = visit(site.link(closed, page_name))
        expect(page.get_by_role("heading", name="personal link")).to_be_visible()
        check_all(page)
    for secret in ("x" * 43, "%", "%20x"):
        page = visit(f"{site.link(closed)}#{secret}")
        expect(page.get_by_text("This link is not valid")).to_be_visible()
    page = visit(f"{site.url}/v/{'0' * 32}")
    expect(page.get_by_role("heading", name="This page does not exist")).to_be_visible()
    check_all(page)


def test_the_keyboard_alone_is_enough_and_buttons_are_named_after_the_items(site, visit):
    campaign = site.campaign(pages={"sheets": 1, "completion_code": "C0DE"})
    page = visit(site.link(campaign))
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#agree")).to_be_focused()
    page.keyboard.press("Enter")
    answers = {}
    for key, side in (("9", "cannot say"), ("ArrowRight", "right"), ("0", "tie")):
        wait_ready(page)
        before = read_pair(page)
        for item in before:
            expect(page.get_by_role("button", name=f"This one: {item}", exact=True)).to_be_visible()
        answers[before] = side
        page.keyboard.press(key)
        page.wait_for_function(
            f"document.querySelector('#content-left').innerText !== {before[0]!r} || "
            f"document.querySelector('#content-right').innerText !== {before[1]!r}"
        )
        expect(page.locator("#question")).to_be_focused()
    wait_ready(page)
    answers[read_pair(page)] = "right"
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.locator('[data-answer="right"]')).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#code")).to_have_text("C0DE")
    assert votes(campaign) == answers
    assert {row[0] for row in query(campaign, "SELECT given_by FROM vote_event")} >= {"key"}


def test_keyboard_shortcuts_can_be_switched_off_permanently(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    page.locator("#keys").uncheck()
    expect(page.locator(".key").first).to_be_hidden()
    page.locator("#question").focus()
    for key in ("1", "2", "0", "ArrowLeft"):
        page.keyboard.press(key)
    page.reload()
    wait_ready(page)
    page.keyboard.press("1")
    expect(page.locator("#keys")).not_to_be_checked()
    page.locator("#keys").check()
    page.locator("#question").focus()
    page.keyboard.press("Control+1")
    assert votes(campaign) == {}
    pair = read_pair(page)
    page.keyboard.press("2")
    expect_saved(page, 1, 4)
    assert votes(campaign) == {pair: "right"}


def test_a_phone_stacks_the_options_and_announces_it(site, visit):
    campaign, begun = site.campaign(), time.monotonic()
    phone = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    page = voter(site, visit, campaign, **phone)
    expect(page.locator("#keys")).to_be_hidden()
    left, right = (page.locator(f"#option-{side}").bounding_box() for side in ("left", "right"))
    assert right["y"] >= left["y"] + left["height"]
    first = read_pair(page)
    box = page.locator("#content-right").bounding_box()
    page.touchscreen.tap(box["x"] + 5, box["y"] + 5)  # the whole card of a short text is its button
    expect_saved(page, 1, 4)
    assert votes(campaign) == {first: "right"}
    result = query(
        campaign,
        "SELECT given_by, layout, response_ms FROM vote_event WHERE ballot_id IN "
        "(SELECT id FROM ballot WHERE campaign_id = :id)",
        id=campaign.info.id,
    )
    assert [row[:2] for row in result] == [("touch", "stacked")]
    assert 200 <= result[0][2] <= 1_000 * (time.monotonic() - begun)


def test_time_in_another_tab_does_not_count(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    # The page is hidden for longer than it was visible, so that the time away exceeds all other time.
    page.evaluate(
        """async () => {
             const turn = (hidden) => {
               Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
               document.dispatchEvent(new Event("visibilitychange"));
             };
             const left = performance.now();
             turn(true);
             await new Promise((resolve) => setTimeout(resolve, left + 500));
             turn(false);
             const back = performance.now();
             window.addEventListener("keydown", () => (window.seen = left + performance.now() - back));
           }"""
    )
    page.keyboard.press("1")
    expect_saved(page, 1, 4)
    statement = "SELECT e.response_ms FROM vote_event e JOIN ballot b ON b.id = e.ballot_id WHERE b.campaign_id = :id"
    assert 200 <= query(campaign, statement, id=campaign.info.id)[0][0] <= page.evaluate("window.seen") + 1


def test_a_right_to_left_language_keeps_the_left_option_on_the_left(site, visit):
    campaign = site.campaign(items=["שקד", "אלון", "ברוש", "ארז", "זית", "תמר"], pages={"texts": HEBREW})
    page = visit(site.link(campaign))
    check_all(page)
    agree(page)
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    left, right = (page.locator(f"#option-{side}").bounding_box() for side in ("left", "right"))
    assert left["x"] < right["x"]
    check_all(page)
    pair = read_pair(page)
    page.keyboard.press("ArrowLeft")
    expect_saved(page, 1, 4)
    assert votes(campaign) == {pair: "left"}


def test_pictures_sounds_and_markdown_are_accessible(site, visit):
    visit.breaks_requests = True  # the server of this test does not have these files
    kinds = [
        ItemContent("markdown", "# Ash\n\n*Fraxinus* [more](https://tree.example/)"),
        ItemContent("image", "birch.png", "a birch"),
        ItemContent("audio", "cedar.mp3", "wind in a cedar"),
    ]
    campaign = site.campaign(contents=kinds * 2)
    page = voter(site, visit, campaign)
    kinds_shown = set()
    for _ in range(4):
        wait_ready(page)
        kinds_shown |= {
            page.locator(f"#content-{side}").get_attribute("class").split("-")[-1] for side in ("left", "right")
        }
        check(page)
        assert page.evaluate(
            "[...document.querySelectorAll('audio')].every((sound) => sound.paused && !sound.autoplay)"
        )
        assert page.evaluate("[...document.querySelectorAll('#pair img')].every((image) => image.alt !== '')")
        sound = page.locator("#pair audio").first
        if sound.count():
            sound.focus()
            page.keyboard.press("ArrowLeft")  # belongs to the player
        answered = page.locator("#count").inner_text()
        page.keyboard.press("1")
        expect(page.locator("#count")).not_to_have_text(answered)
    assert kinds_shown == {"markdown", "image", "audio"}


def test_the_german_interface_can_be_chosen(site, visit):
    texts = {
        "de": PageTexts("Bäume", "Welcher Baum ist höher?", "", "Ich nehme teil."),
        "en": PageTexts("Trees", "Which?"),
    }
    campaign = site.campaign(pages={"texts": texts})
    page = visit(site.link(campaign), locale="en-GB")
    expect(page.get_by_role("heading", name="Trees")).to_be_visible()
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Ihre Einwilligung")).to_be_visible()
    agree(page)
    answer(page)
    expect(page.locator("#status")).to_have_text("Gespeichert. 1 von 4")
    page.goto(site.link(campaign, "vote"))  # without a language in the address
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("heading", name="Welcher Baum ist höher?")).to_be_visible()
