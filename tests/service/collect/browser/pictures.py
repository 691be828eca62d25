"""Take the pictures of the documents again: ``python -m tests.service.collect.browser.pictures``.

A campaign is created on the page, as a new organiser would, and voters who sometimes err answer all of it. Pictures
show three pages: the plan, a pair on a phone, and the ranking.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import deque
from http import HTTPStatus
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.repository import ROOT
from tests.service.collect.browser.conftest import CHROMIUM, open_advanced, run_site
from tests.service.collect.browsing import ADMIN, Organiser

FOLDER = ROOT / "docs" / "images"
MOST_BYTES = 150_000
SECONDS = 120_000  # milliseconds: kernels may have to be compiled first

# Sorted by weight, so that errors in the ranking are visible.
ANIMALS = (
    *("blue whale", "elephant", "hippopotamus", "giraffe", "cow", "horse", "brown bear", "lion", "kangaroo", "wolf"),
    *("beaver", "fox", "cat", "rabbit", "hedgehog", "squirrel", "hamster", "mouse", "wasp", "ant"),
)
INSTRUCTIONS = "You will see **two animals** at a time. Choose the one that is heavier when it is fully grown."
CONSENT = "We keep your answers and the time that they took. You may stop at any time, and have your data erased."
VOTERS = 6


def main() -> None:
    """Take all pictures."""
    if CHROMIUM is None:
        sys.exit("there is no Chromium on the path")
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),  # a line for each request
        run_site(Path(folder), assets=folder) as site,
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1100, "height": 800}, locale="en-GB").new_page()
        page.set_default_timeout(SECONDS)
        key, token = make_campaign(page, site.url)
        organiser = Organiser(site.app, token, key)
        organiser.open()
        pair(browser, f"{site.url}/v/{key}")
        vote(organiser)
        end(organiser)
        ranking(page, f"{site.url}/o/{key}/result")
        browser.close()


def make_campaign(page: Page, url: str) -> tuple[str, str]:
    """Create the campaign on the page, and take a picture of its plan; return its key and the organiser's token."""
    page.goto(f"{url}/o/new#{ADMIN}")
    page.locator("#items").fill("\n".join(sorted(ANIMALS)))
    page.locator("#question-0").fill("Which animal is heavier?")
    open_advanced(page)
    page.locator("#name").fill("Heavier animals")
    page.locator("#voters").fill(str(VOTERS))
    page.locator("#budget").fill("300")
    page.locator("#batch").fill("30")
    page.locator("#pay").select_option("per_hour")
    page.locator("#rate").fill("15")
    page.locator("#currency").fill("EUR")
    page.locator("#title-0").fill("Heavier animals")
    page.locator("#instructions-0").fill(INSTRUCTIONS)
    page.locator("#consent-0").fill(CONSENT)
    expect(page.locator("#outlook")).to_contain_text("By fitted strengths", timeout=SECONDS)
    page.evaluate("scrollTo(0, 0)")
    picture(page, "plan.png")
    page.locator("#make").click()
    _, _, key = page.locator("#created-link input").input_value().rpartition("/o/")
    campaign, _, token = key.partition("#")
    return campaign, token


def pair(browser: Browser, link: str) -> None:
    """Take a picture of a pair on a phone."""
    phone = {"width": 360, "height": 640}
    page = browser.new_context(viewport=phone, has_touch=True, is_mobile=True, locale="en-GB").new_page()
    page.set_default_timeout(SECONDS)
    page.goto(link)
    page.locator("#agree").tap()
    expect(page.locator('#option-left .choose:not([aria-disabled="true"])')).to_be_visible()
    picture(page, "pair.png")


def vote(organiser: Organiser) -> None:
    """Answer everything, sheet by sheet; errors are more likely for animals with similar weights.

    A new voter replaces one without remaining pairs, until new voters get none either.
    """
    rng = np.random.default_rng(1)
    voters = deque(organiser.voter() for _ in range(VOTERS))
    while voters:
        voter = voters.popleft()
        if (sheet := voter.sheet()) is None and (sheet := (voter := organiser.voter()).sheet()) is None:
            continue
        for pair in sheet["pairs"]:
            left, right = (ANIMALS.index(pair[side]["text"]) for side in ("left", "right"))
            answer = "left" if rng.logistic(left, 0.6) < rng.logistic(right, 0.6) else "right"
            answered = voter.vote(pair["id"], answer, response_ms=2_500)
            if answered.status_code != HTTPStatus.OK:
                sys.exit(answered.text)
        voters.append(voter)


def end(organiser: Organiser) -> None:
    """Close the last batch; the pair in the picture is unanswered."""
    last = organiser.get("/progress").json["ballots"][-1]["ballot"]
    organiser.close(last, least_answered=0.5)


def ranking(page: Page, link: str) -> None:
    """Take a picture of the ranking."""
    page.goto(link)
    expect(page.locator("#ranking tbody tr")).to_have_count(len(ANIMALS), timeout=SECONDS)
    picture(page, "ranking.png")


def picture(page: Page, name: str) -> None:
    """Save the visible part of a page."""
    data = page.screenshot(animations="disabled")
    if len(data) > MOST_BYTES:
        sys.exit(f"{name} has {len(data):,} bytes; at most {MOST_BYTES:,} are allowed")
    (FOLDER / name).write_bytes(data)
    sys.stderr.write(f"{FOLDER.relative_to(ROOT) / name}: {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
