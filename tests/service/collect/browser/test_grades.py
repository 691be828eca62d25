"""Grades of a preference on the page: by mouse, keys and touch, in practice, and on a phone."""

import pytest
from playwright.sync_api import expect

from adaptive.ledger import PageTexts
from tests.service.collect.browser.conftest import PRACTICE, answer, expect_saved, read_pair, voter, votes, wait_ready
from tests.service.collect.browser.test_access import check_targets, check_width, check_words

pytestmark = pytest.mark.wide

KEYS = {"1": "left 2", "2": "left", "3": "right", "4": "right 2", "0": "tie", "9": "cannot say"}


def test_buttons_and_keys_have_the_same_grades_and_names_with_items(site, visit):
    campaign = site.campaign(grades=2, sheet_size=20)
    page = voter(site, visit, campaign)
    buttons = {button.get_attribute("data-key"): button for button in page.locator("[data-answer]").all()}
    assert {key: button.get_attribute("data-answer") for key, button in buttons.items()} == KEYS
    left, right = read_pair(page)
    names = [button.get_attribute("aria-label") for button in page.locator(".choose").all()]
    assert names == [f"Clearly: {left}", f"Slightly: {left}", f"Slightly: {right}", f"Clearly: {right}"]
    page.keyboard.press("ArrowLeft")  # selects no grade
    page.wait_for_timeout(300)
    assert (read_pair(page), votes(campaign)) == ((left, right), {})
    expected = {}
    for n_done, (key, word) in enumerate(KEYS.items(), start=1):
        if n_done > int(page.locator("#bar").get_attribute("max")) - 1:
            break
        wait_ready(page)
        pair = read_pair(page)
        page.keyboard.press(key)
        expect_saved(page, n_done, int(page.locator("#bar").get_attribute("max")))
        expected[pair] = word
    assert votes(campaign) == expected
    assert {"left 2", "left"} <= set(expected.values())


def test_an_answer_to_practice_is_correct_with_any_grade(site, visit):
    campaign = site.campaign(grades=3, probing=PRACTICE)
    page = voter(site, visit, campaign)
    side = "left" if read_pair(page)[0] == "ash" else "right"
    answer(page, f"{side} 3")
    expect(page.locator("#feedback-text")).to_have_text("That is the expected answer.")


def test_a_phone_has_room_for_all_grades(site, visit):
    campaign = site.campaign(grades=3)
    page = voter(site, visit, campaign, viewport={"width": 320, "height": 640}, has_touch=True)
    check_width(page)
    check_targets(page)
    pair = read_pair(page)
    answer(page, "right 3", by="tap", n_done=1)
    assert votes(campaign) == {pair: "right 3"}
    # A tap on the item itself selects no grade.
    page.locator("#content-left").tap()
    page.wait_for_timeout(300)
    assert len(votes(campaign)) == 1


def test_a_phone_has_room_for_german_grades(site, visit):
    campaign = site.campaign(grades=3, pages={"texts": {"de": PageTexts("Bäume", "Welcher ist höher?")}})
    page = voter(site, visit, campaign, viewport={"width": 320, "height": 640}, has_touch=True)
    expect(page.locator("[data-word]", has_text="Deutlich")).to_have_count(2)
    check_width(page)
    check_targets(page)
    check_words(page)
