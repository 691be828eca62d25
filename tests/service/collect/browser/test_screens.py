"""Important elements are on the screen, on a phone and a desktop, light and dark."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from adaptive.ledger import ItemContent, PageTexts
from service.server.warm_up import warm_up_campaigns
from tests.service.collect.browser.conftest import LONG_WORD, run_site, wait_ready
from tests.service.collect.browser.test_access import check_screens
from tests.service.collect.browser.test_organiser import PAGES
from tests.service.collect.browsing import ADMIN, Organiser

pytestmark = pytest.mark.wide

PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
NARROW_WINDOW = {"viewport": {"width": 375, "height": 667}}  # a phone that reports touch as a mouse
IMAGES = {"tower.svg": (300, 900), "bridge.svg": (900, 300)}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"><rect width="999" height="999" fill="teal"/></svg>'
)
ITEMS = f"""item,kind,content,alt_text
tower,image,tower.svg,a tall tower
bridge,image,bridge.svg,a long bridge
{LONG_WORD * 3},,,
{" ".join(["a label of many words"] * 6)},,,
oak,,,
elm,,,
ash,,,
yew,,,
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A server with two images."""
    warm_up_campaigns()
    folder = tmp_path_factory.mktemp("assets")
    for name, size in IMAGES.items():
        (folder / name).write_text(SVG.format(*size), encoding="utf-8")
    with run_site(tmp_path_factory.mktemp("site"), assets=str(folder)) as new_site:
        yield new_site


@pytest.fixture(scope="module")
def organiser(site):
    """A campaign with images and long labels; two voters have few pairs in common, and a third is excluded."""
    new_organiser = Organiser(site.app, ADMIN).make(
        items_csv=ITEMS, plan={"n_ballots": 2, "presentations": 4}, settings={"sheet_size": 4, "overlap": 0.5}
    )
    new_organiser.open()
    for _ in range(4):
        voter = new_organiser.voter()
        for place, pair in enumerate(voter.sheet()["pairs"]):
            voter.vote(pair["id"], "cannot say" if place == 0 else "left", response_ms=1500)
    key = new_organiser.get("/voters").json["voters"][0]["key"]
    new_organiser.post(f"/voters/{key}/exclude", {"reason": "a test"}, status=204)
    return new_organiser


@pytest.fixture(scope="module")
def desk(site, browser, organiser):
    """A browser that has signed in as the organiser."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{site.url}/o/{organiser.key}#{organiser.token}")
    expect(page.locator('[data-view="shown"]')).to_be_visible()
    yield page
    context.close()


SELECTORS = {
    "": "#ballots tbody tr",
    "/ballots": "#now dl",
    "/voters": "#agreement .figure",
    "/items": "#items tbody tr",
    "/result": "#ranking tbody tr",
    "/settings": "#fixed dd",
}


def open_page(site, desk, organiser, path):
    """A page of the organiser, fully loaded."""
    desk.goto(f"{site.url}/o/{organiser.key}{path}")
    expect(desk.locator(SELECTORS[path]).first).to_be_visible(timeout=20_000)
    return desk


def is_in_window(page, place):
    """Whether all of an element is within the window."""
    return page.locator(place).evaluate(
        """(place) => {
             const { left, top, right, bottom } = place.getBoundingClientRect();
             return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && bottom > top;
           }"""
    )


@pytest.mark.parametrize("path", PAGES)
def test_every_page_of_an_organiser_on_every_screen(site, desk, organiser, path):
    page = open_page(site, desk, organiser, path)
    if path == "/voters":
        expect(page.locator("#voters tbody tr")).to_have_count(4)
    check_screens(page)


def test_tables_cut_neither_words_nor_numbers_nor_buttons(site, visit, organiser):
    closed = Organiser(site.app, ADMIN).make()
    closed.open()
    closed.answer_all()
    closed.close(1)
    for campaign, width, language, path, place in (
        (organiser, 1024, "en", "/items", "#items table"),
        (organiser, 768, "en", "/items", "#items table"),
        (organiser, 320, "de", "/ballots", "#plan table"),
        (closed, 768, "de", "/ballots", "#all table"),
        (closed, 768, "de", "", "#ballots table"),
    ):
        viewport = {"width": width, "height": 700}
        page = visit(f"{site.url}/o/{campaign.key}{path}?lang={language}#{campaign.token}", viewport=viewport)
        table = page.locator(place)
        expect(table).to_be_visible()
        assert table.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth"), (width, path)
        for name in table.locator("th .cell", has_text="tower").all():
            assert name.evaluate("(name) => name.getClientRects().length") == 1, "the name is on several lines"


def test_images_are_uploaded_and_shown(site, visit):
    visit.breaks_requests = True  # the last file is no image
    page = visit(f"{site.url}/o/new#{ADMIN}")
    files = []
    for name, colour in (("tall tower.png", "teal"), ("bridge.png", "navy")):
        data = io.BytesIO()
        Image.new("RGB", (60, 40), colour).save(data, "PNG")
        files.append({"name": name, "mimeType": "image/png", "buffer": data.getvalue()})
    large = io.BytesIO()
    noise = np.random.default_rng(1).integers(0, 256, (900, 2_000, 3), dtype=np.uint8)
    Image.fromarray(noise).save(large, "PNG")
    files.append({"name": "noise.png", "mimeType": "image/png", "buffer": large.getvalue()})
    page.locator("#items").fill("no picture")
    page.set_input_files("#file", files)
    expect(page.locator("#sheet .notice-good")).to_have_text("4 items, no errors.")
    expect(page.locator("#sheet img")).to_have_count(3)
    sizes = "(images) => Promise.all(images.map(async (image) => (await image.decode(), image.naturalWidth)))"
    page.locator("#sheet img").last.scroll_into_view_if_needed()
    assert page.locator("#sheet img").evaluate_all(sizes) == [60, 60, 1600]
    expect(page.locator("#items")).to_have_value(
        re.compile('^"tall tower",image,[0-9a-f]{32}.png,"tall tower"$', re.MULTILINE)
    )
    check_screens(page)
    page.set_input_files("#file", [{"name": "a.png", "mimeType": "image/png", "buffer": b"no image"}])
    expect(page.locator("#sheet .notice-bad")).to_contain_text("must be a PNG, JPEG, GIF, WebP or AVIF file")


@pytest.mark.parametrize("path", ["", "/o/new", "/o/nowhere/at/all"])
def test_the_pages_of_voters_on_every_screen(site, visit, path):
    visit.breaks_requests = True
    page = visit(f"{site.url}{path}{f'#{ADMIN}' if path == '/o/new' else ''}")
    expect(page.locator("h1:visible")).to_be_visible()
    check_screens(page)


@pytest.mark.parametrize("path", ["/ballots", "/items", "/result"])
def test_a_long_label_moves_no_column_out_of_view(site, desk, organiser, path):
    page = open_page(site, desk, organiser, path)
    for width in (375, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        outside = page.evaluate(
            """() => [...document.querySelectorAll("th, td, dd")]
                 .filter((cell) => cell.checkVisibility())
                 .filter((cell) => cell.getBoundingClientRect().right > innerWidth
                                   || cell.scrollWidth > cell.clientWidth + 1)
                 .map((cell) => cell.innerText.slice(0, 40))"""
        )
        assert (width, outside) == (width, [])


def test_the_ranking_has_thumbnails_of_images(site, desk, organiser):
    page = open_page(site, desk, organiser, "/result")
    page.set_viewport_size({"width": 1280, "height": 800})
    thumbs = page.locator("#ranking .thumb")
    expect(thumbs).to_have_count(2)
    for place in range(2):
        thumbs.nth(place).scroll_into_view_if_needed()
        assert thumbs.nth(place).evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
        box = thumbs.nth(place).bounding_box()
        assert min(box["width"], box["height"]) >= 16
        assert max(box["width"], box["height"]) <= 100
    row = page.locator("#ranking tr", has_text="tower")
    expect(row.get_by_role("img", name="a tall tower")).to_be_visible()


@pytest.mark.parametrize(("path", "place"), [("/result", "#plots .plot"), ("/voters", "#plot .plot")])
def test_figures_are_dark_on_a_dark_page(site, desk, organiser, path, place):
    page = open_page(site, desk, organiser, path)
    figure = page.locator(place).first
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".plot-waits")).to_have_count(0, timeout=20_000)
    mean = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        pixels = np.asarray(Image.open(io.BytesIO(figure.locator("img").screenshot())).convert("L"), float)
        mean[scheme] = pixels.mean()
        assert pixels.std() > 5  # something is drawn
    page.emulate_media(color_scheme="light")
    assert mean["light"] > 200
    assert mean["dark"] < 80


def test_agreement_needs_enough_pairs_and_has_an_interval(site, desk, organiser):
    page = open_page(site, desk, organiser, "/voters")
    result = organiser.get("/quality").json["quality"]
    assert 0 < result["n_pairs"] < 20
    figures = page.locator("#agreement")
    expect(figures.locator(".figure")).to_have_count(1)
    expect(figures).to_contain_text(f"Pairs still needed: {20 - result['n_pairs']}")
    expect(figures).not_to_contain_text("%")
    enough = {
        "n_pairs": 40,
        "n_missing": 0,
        "agreement": {"n": 40, "n_so": 30, "share": 0.75},
        "agreement_low": 0.625,
        "agreement_high": 0.844,
        "alpha": 0.51,
        "alpha_low": 0.26,
        "alpha_high": 0.69,
    }
    page.route("**/quality", lambda route: route.fulfill(json={"quality": {**result, **enough}}))
    page.reload()
    expect(figures).to_contain_text("30 of 40 pairs of answers; 90% interval 63% to 84%")
    expect(figures).to_contain_text("90% interval 0.26 to 0.69")
    page.unroute("**/quality")


def test_shares_of_few_answers_are_not_percentages(site, desk, organiser):
    page = open_page(site, desk, organiser, "/voters")
    page.set_viewport_size({"width": 1280, "height": 800})
    cells = page.locator("#voters td:nth-child(n+5):not(:last-child) .cell")
    expect(cells.first).to_be_visible()
    assert not [words for words in cells.all_inner_texts() if "%" in words]


@pytest.mark.parametrize("width", [375, 1280])
def test_erasing_is_apart_from_excluding(site, desk, organiser, width):
    page = open_page(site, desk, organiser, "/voters")
    page.set_viewport_size({"width": width, "height": 800})
    expect(page.locator("#voters .button").first).to_be_visible()
    expect(page.locator("#voters, #flagged").get_by_role("button", name="Erase")).to_have_count(0)
    erase = page.get_by_role("button", name="Erase …").bounding_box()
    for button in page.locator("#voters .button").all():
        box = button.bounding_box()
        assert box["y"] + box["height"] + 100 <= erase["y"]


def test_the_difference_of_recorded_and_ranked_votes_is_explained(site, desk, organiser):
    recorded = organiser.get("/progress").json["status"]["n_votes"]
    used = organiser.get("/results?interim=true").json["n_votes"]
    assert used < recorded
    page = open_page(site, desk, organiser, "/result")
    figure = page.locator(".figure", has_text="Votes in the model")
    expect(figure.locator(".figure-value")).to_have_text(str(used))
    expect(figure).to_contain_text(f"of {recorded} recorded. “Cannot say” and votes by excluded voters are not used.")
    page = open_page(site, desk, organiser, "")
    figure = page.locator(".figure", has_text="Votes recorded")
    expect(figure.locator(".figure-value")).to_have_text(str(recorded))
    expect(figure).to_contain_text("including excluded ones, whose votes are not in the ranking")


# Voters


@pytest.mark.parametrize("kind", [PHONE, NARROW_WINDOW], ids=["touch", "narrow"])
def test_a_phone_shows_no_keyboard_hints(site, visit, kind):
    page = visit(site.link(site.campaign()), **kind)
    page.locator("#agree").click()
    wait_ready(page)
    for place in (".key", ".keys", ".keys-text"):
        assert not any(hint.is_visible() for hint in page.locator(place).all())
    page.keyboard.press("1")  # has no effect if the switch is not visible
    expect(page.locator("#count")).to_have_text("0 of 4")
    page.set_viewport_size({"width": 1280, "height": 800})
    hints = page.locator(".key").first
    expect(hints).to_be_hidden() if kind is PHONE else expect(hints).to_be_visible()


@pytest.mark.parametrize(
    ("language", "question"),
    [("en", "Which tree is taller?"), ("de", "Welches der beiden Bilder zeigt den höheren Baum?")],
)
def test_two_images_question_and_buttons_fit_the_screen_of_a_phone(site, visit, language, question):
    contents = [ItemContent("image", name, name) for name in list(IMAGES) * 3]
    texts = {language: PageTexts("Trees", question)}
    page = visit(site.link(site.campaign(contents=contents, pages={"texts": texts})), **PHONE)
    page.locator("#agree").tap()
    orientations = set()
    for n_done in range(4):
        wait_ready(page)
        expect(page.locator("#count")).to_have_text(re.compile(rf"{n_done} \w+ 4"))
        page.wait_for_function("[...document.querySelectorAll('#pair img')].every((image) => image.naturalWidth > 0)")
        page.evaluate("scrollTo(0, 0)")
        for place in ("#question", "#content-left img", "#content-right img", "#undo", "#skip"):
            assert is_in_window(page, place), place
        for side in ("left", "right", "tie", "cannot say"):
            assert is_in_window(page, f'[data-answer="{side}"]'), side
        for side in ("left", "right"):
            box = page.locator(f"#content-{side} img").bounding_box()
            orientations.add(box["width"] > box["height"])
            assert max(box["width"], box["height"]) >= 150
        page.wait_for_timeout(600)  # an earlier second tap would belong to the previous pair
        page.locator('[data-answer="left"]').tap()
    assert orientations == {True, False}
