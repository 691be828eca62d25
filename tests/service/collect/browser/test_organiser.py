"""The organiser's pages: a campaign from a file to its ranking, by mouse and keyboard, on a phone and a desktop."""

import csv
import io

import pytest
from playwright.sync_api import expect

from tests.service.collect.browser.conftest import LONG_WORD, open_advanced
from tests.service.collect.browser.test_access import check, check_all, check_width
from tests.service.collect.browsing import ADMIN, Organiser, new_voter

pytestmark = pytest.mark.wide


CSV = "item\n" + "\n".join(f"term {number}" for number in range(12)) + "\n"


PAGES = ("", "/ballots", "/voters", "/items", "/result", "/settings")


@pytest.fixture
def organiser(site):
    """A campaign of twelve items whose first ballot is open, with an overlap between voters."""
    labels = [LONG_WORD, " ".join(["a label of many words"] * 5), *(f"term {number}" for number in range(10))]
    settings = {"sheet_size": 10, "overlap": 0.3, "pay": {"per_hour": 12, "seconds": 6, "currency": "EUR"}}
    new_organiser = Organiser(site.app, ADMIN).make(
        items_csv="item\n" + "\n".join(labels) + "\n", plan={"n_ballots": 2, "presentations": 6}, settings=settings
    )
    new_organiser.open()
    return new_organiser


def page_of(site, visit, organiser, page="", **options):
    """A page of a browser that was opened by the organiser's link."""
    result = visit(f"{site.url}/o/{organiser.key}{page}#{organiser.token}", **options)
    expect(result.locator('[data-view="shown"]')).to_be_visible()
    return result


def wait_for_image(image):
    """Wait until an image is drawn; a broken image has no width."""
    image.evaluate("(image) => image.complete || new Promise((done) => { image.onload = image.onerror = done; })")
    assert image.evaluate("(image) => image.naturalWidth") > 0


def make(page):
    """Fill in the question, and create the campaign."""
    page.locator("#question-0").fill("Which is clearer?")
    check_all(page)
    page.locator("#make").click()


def test_a_campaign_is_created_from_a_file(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}")
    expect(page.locator("#form")).to_be_visible()
    assert ADMIN not in page.url
    page.set_input_files("#file", {"name": "terms.csv", "mimeType": "text/csv", "buffer": CSV.encode()})
    expect(page.locator("#sheet .notice-good")).to_have_text("12 items, no errors.")
    expect(page.locator("#name")).to_have_value("terms")
    expect(page.locator("#outlook")).to_contain_text("Comparisons")
    expect(page.locator("#outlook")).to_contain_text("By fitted strengths", timeout=60_000)
    open_advanced(page)
    page.locator("#pay").select_option("per_hour")
    expect(page.locator("#outlook")).to_contain_text("EUR")
    page.locator("#budget").fill("60")
    page.locator("#sheet-size").fill("6")
    make(page)
    expect(page.get_by_role("heading", name="Campaign created")).to_be_focused()
    expect(page.locator("#created .notice")).to_contain_text("the administrator of this server can make another one")
    link = page.locator("#created-link input").input_value()
    assert "#" in link
    check_all(page)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as a file").click()
    assert saved.value.path().read_text(encoding="utf-8").splitlines() == [
        "Organiser\N{RIGHT SINGLE QUOTATION MARK}s link",
        "terms",
        link,
    ]
    key, _, token = link.rpartition("/o/")[2].partition("#")
    about = Organiser(site.app, token, key).get().json
    assert (about["plan"]["comparisons"], about["settings"]["sheet_size"]) == ([60], 6)
    page.locator("#created-go").click()
    expect(page.locator("#campaign-name")).to_have_text("terms")
    expect(page.locator("#open-link input")).to_have_value(link.replace("/o/", "/v/").partition("#")[0])
    page.get_by_role("button", name="Open ballot 1").click()
    expect(page.locator("#state")).to_have_text("open")


def test_the_page_of_ballots_names_the_comparisons_to_ask_again(site, visit):
    organiser = Organiser(site.app, ADMIN).make()
    organiser.open()
    for _ in range(2):
        voter = organiser.voter()
        while (sheet := voter.sheet()) is not None:
            for pair in sheet["pairs"]:
                voter.vote(pair["id"], "cannot say")
    comparisons = organiser.get("/ballots/1/preview").json["preview"]["to_void"]
    page = page_of(site, visit, organiser, "/ballots")
    notice = page.locator("#now .notice-warning")
    expect(notice).to_contain_text(
        f"To have one asked again, void its answer: {', '.join(comparisons)}.", timeout=30_000
    )


def test_the_page_of_ballots_says_how_others_answer_for_an_excluded_voter(site, visit):
    organiser = Organiser(site.app, ADMIN).make()
    organiser.open()
    excluded, n_answers = organiser.answer(3)
    organiser.answer_all()
    key = excluded.me().json["voter"]
    organiser.post(f"/voters/{key}/exclude", {"reason": "in no time"}, status=204)
    page = page_of(site, visit, organiser, "/ballots")
    notice = page.locator("#now .notice-warning")
    advice = f"Answers by excluded voters: {n_answers}. To have these comparisons answered by others"
    expect(notice).to_contain_text(advice, timeout=30_000)
    check_all(page)
    page.goto(page.url.replace("/ballots", "/voters"))
    page.get_by_role("button", name="Ask others …").first.click()
    check(page)
    page.get_by_role("button", name="Ask others", exact=True).click()
    expect(page.locator("#said")).to_have_text(f"Comparisons passed to other voters: {n_answers}")
    expect(page.locator("#others-dialog")).not_to_be_visible()
    page.goto(page.url.replace("/voters", "/ballots"))
    expect(notice).to_contain_text("needed", timeout=30_000)
    expect(notice).not_to_contain_text("excluded")
    organiser.answer_all()
    page.reload()
    expect(page.locator("#now .notice-good")).to_be_visible(timeout=30_000)


def test_an_organiser_who_closes_second_reads_that_and_the_page_recovers(site, visit):
    organiser = Organiser(site.app, ADMIN).make()
    organiser.open()
    organiser.answer_all()
    visit.breaks_requests = True
    page = page_of(site, visit, organiser, "/ballots")
    page.get_by_role("button", name="Close …").click(timeout=60_000)
    before = organiser.get("/progress")
    organiser.close(1)
    stale = {"status": 200, "body": before.get_data(as_text=True), "headers": {"ETag": before.headers["ETag"]}}
    page.route("**/progress", lambda route: route.fulfill(**stale), times=1)  # as if it was computed before
    for _ in range(2):
        page.locator("#close").click()
        expect(page.locator("#close-error")).to_contain_text("The campaign changed")
    page.locator("#close-dialog [data-close]").click()
    expect(page.get_by_role("button", name="Open ballot 2")).to_be_visible()
    expect(page.locator("#message")).to_be_hidden()


def test_a_campaign_needs_items_a_question_and_a_link_by_the_keyboard_alone(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}", viewport={"width": 375, "height": 667})
    expect(page.locator("#form")).to_be_visible()
    visible_fields = (
        "[...document.querySelectorAll('#form :is(input, select, textarea)')].filter((each) => each.checkVisibility())"
    )
    assert page.evaluate(f"{visible_fields}.map((each) => each.id)") == [
        "items",
        "file",
        "question-0",
        "open-link-allowed",
    ]
    assert page.evaluate("document.documentElement.scrollHeight") < 1_400
    page.locator("#items").focus()
    for item in ("Green tea", "Coffee, strong", "", "Cocoa"):
        page.keyboard.type(item)
        page.keyboard.press("Enter")
    expect(page.locator("#sheet .notice-good")).to_have_text("3 items, no errors.")
    expect(page.locator("#sheet li")).to_have_text(["Green tea", "Coffee, strong", "Cocoa"])
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.locator("#question-0")).to_be_focused()
    page.keyboard.type("Which is better?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Campaign created")).to_be_focused()
    _, _, rest = page.locator("#created-link input").input_value().rpartition("/o/")
    key, _, token = rest.partition("#")
    campaign = Organiser(site.app, token, key)
    about, pages = campaign.get().json, campaign.get("/pages").json["pages"]
    assert about["name"] == pages["texts"][0]["title"] == pages["texts"][0]["question"] == "Which is better?"
    assert pages["open_link"] is True
    assert (about["plan"]["mode"], about["plan"]["comparisons"]) == ("continuous", [30])


def test_a_budget_suits_items_and_voters_or_gives_advice(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}")
    page.locator("#items").fill("\n".join(f"term {number}" for number in range(12)))
    comparisons = page.locator("#outlook dt", has_text="Comparisons").locator("+ dd")
    expect(comparisons).to_have_text("120")  # ten for each item
    open_advanced(page)
    page.locator("#voters").fill("1")
    expect(comparisons).to_have_text("66")  # each pair once
    expect(page.locator("#outlook .notice-warning")).to_have_count(0)
    page.locator("#voters").fill("3")
    page.locator("#budget").fill("12000")
    expect(page.locator("#outlook .notice-warning")).to_contain_text("these voters can answer at most 198")


def test_the_form_of_a_new_campaign_explains_its_fields_and_counts_checks(site, visit):
    visit.breaks_requests = True  # the last pair is refused
    page = visit(f"{site.url}/o/new#{ADMIN}")
    page.set_input_files("#file", {"name": "terms.csv", "mimeType": "text/csv", "buffer": CSV.encode()})
    open_advanced(page)
    page.locator("[name=mode][value=ballots]").check()
    amount = page.locator("#amount-label")
    expect(amount).to_have_text("Times each ballot shows an item")
    page.locator("#way").select_option("hours")
    expect(amount).to_have_text("Maximum hours of work")
    page.locator("#amount").fill("0.5")
    expect(page.locator("#outlook")).to_contain_text("minutes")
    expect(page.locator("#languages summary")).to_have_text("English (default)")
    assert page.locator("#question-0").get_attribute("placeholder") == "For example: Which word is more positive?"
    warning = page.locator("#study-warning")
    expect(warning).to_be_hidden()
    page.locator("#platform").select_option("prolific")
    expect(warning).to_be_visible()
    check(page)
    page.locator("#study").fill("65a1")
    expect(warning).to_be_hidden()
    page.locator("#repeats").fill("0")
    page.locator("#overlap").fill("0")
    page.get_by_text("Pairs with a known answer").click()
    page.locator("#probes").fill("left,right,winner,kind\nterm 0,term 1,left,practice\n")
    checks = page.locator("#outlook dt", has_text="Checks").locator("+ dd")
    expect(checks).to_have_text("20")  # one for each voter
    page.locator("#probes").fill("left,right,winner,kind\nterm 0,term 99,left,practice\n")
    expect(page.locator("#outlook")).to_contain_text("is not an item of the campaign")


def test_errors_in_a_list_or_a_file_are_listed_by_line(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}")
    page.locator("#items").fill("ash\n\noak\nfir\noak\n")
    rows = page.locator("#sheet tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("'oak' is also on line 3")
    expect(rows.locator("th")).to_have_text("5")
    wrong = "item,kind,content,alt_text\nash,image,ash.png,\noak,,,\noak,,,\n"
    page.set_input_files("#file", {"name": "wrong.csv", "mimeType": "text/csv", "buffer": wrong.encode()})
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("alt_text")
    expect(rows.nth(1)).to_contain_text("RANKCORR_ASSETS")
    expect(rows.nth(2)).to_contain_text("'oak' is also on line 3")
    check(page)
    page.locator("#question-0").fill("Q")
    page.locator("#make").click()
    expect(page.locator("#form-error")).to_have_text("Please add items first.")
    latin = "item\nf\xfcr\nzwei\n".encode("latin-1")
    page.set_input_files("#file", {"name": "latin.csv", "mimeType": "text/csv", "buffer": latin})
    expect(page.locator("#sheet")).to_contain_text("not UTF-8")


def test_a_missing_token_is_requested(site, visit):
    visit.breaks_requests = True
    page = visit(f"{site.url}/o/new")
    expect(page.locator("#token-form")).to_be_visible()
    check_all(page)
    page.locator("#token").fill("a-token-that-nobody-has")
    page.keyboard.press("Enter")
    expect(page.locator("#token-error")).to_have_text(
        "This token is not valid. Check it, or ask the administrator of this server for another one."
    )
    page.locator("#token").fill(ADMIN)
    page.keyboard.press("Enter")
    expect(page.locator("#form")).to_be_visible()


def test_a_ballot_is_watched_closed_and_ranked(site, visit, organiser):
    page = page_of(site, visit, organiser)
    assert organiser.token not in page.url
    assert not [site_request for site_request in site.requests if organiser.token in "".join(site_request)]
    expect(page.locator("#progress-text")).to_contain_text("0 of 36")
    organiser.answer_all()
    expect(page.locator("#progress-text")).to_contain_text("36 of 36")  # by itself
    page.get_by_role("link", name="Review or close the ballot").click()
    expect(page.get_by_role("button", name="Close …")).to_have_class("button button-primary", timeout=60_000)
    page.get_by_role("button", name="Close …").click(timeout=60_000)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("#now")).to_contain_text("Next: ballot 2")
    page.get_by_text("Items kept after ballot 1").click()
    expect(page.locator("#going-on li")).to_have_text(organiser.get("/ballots/1").json["going_on"])
    page.get_by_role("button", name="Reopen …").click()
    page.locator("#reopen-reason").fill("a group came late")
    page.locator("#reopen-form [type=submit]").click()
    page.get_by_role("button", name="Close …").click(timeout=60_000)
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Open ballot 2").click()
    expect(page.locator("#now")).to_contain_text("If you closed ballot 2 now")
    organiser.answer_all()
    organiser.close(2)
    page.get_by_role("link", name="Ranking").click()
    expect(page.locator("#which")).to_contain_text("The final ranking", timeout=60_000)
    expect(page.locator("#basis")).to_contain_text(
        "A closed ballot keeps its scores, even if a voter is excluded later."
    )
    expect(page.locator("#ranking tbody tr")).to_have_count(12)
    expect(page.locator("#ranking tbody tr").first).to_contain_text(LONG_WORD)
    page.locator("#plots img").first.scroll_into_view_if_needed()
    wait_for_image(page.locator("#plots img").first)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Ranking (CSV)").click()
    assert saved.value.suggested_filename == f"ranking-{organiser.key[:8]}.csv"
    assert saved.value.path().read_text(encoding="utf-8").splitlines()[1].startswith(LONG_WORD)


def test_the_page_names_missing_answers_before_a_close(site, visit):
    plan = {"n_ballots": 2, "presentations": 6}
    organiser = Organiser(site.app, ADMIN).make(items_csv=CSV, plan=plan, settings={"sheet_size": 10})
    organiser.open()
    page = page_of(site, visit, organiser, "/ballots")
    verdict, close = page.locator("#now .notice"), page.get_by_role("button", name="Close …")
    expect(verdict).to_have_text("Every item needs an answer other than “Cannot say” first.", timeout=60_000)
    expect(close).to_have_count(0)
    voter, _ = organiser.answer(30)
    page.reload()
    expect(verdict).to_have_text(
        "83.3% answered, 90% needed. You can lower this limit in the next step.", timeout=60_000
    )
    expect(close).to_have_class("button")  # not the primary button
    unanswered = [pair["id"] for pair in voter.sheet()["pairs"] if pair["answer"] is None]
    assert [voter.vote(pair, "left", response_ms=1500).status_code for pair in unanswered[:2]] == [200, 200]
    page.reload()
    expect(verdict).to_contain_text("88.8% answered, 90% needed.", timeout=60_000)  # 88.89 % is not rounded up
    expect(page.locator("#now dd").first).to_have_text("32 of 36 comparisons (88.8%; 90% needed)")
    close.click()
    least, confirm = page.locator("#least:invalid"), page.get_by_role("button", name="Close", exact=True)
    for refused in ("", "89"):  # the browser asks for a share that the answers reach, in its language
        page.locator("#least").fill(refused)
        confirm.click()
        expect(least).to_be_focused()
        expect(page.locator("#close-error")).to_be_hidden()
    page.locator("#least").fill("88")
    confirm.click()
    expect(page.locator("#close-title")).to_be_hidden(timeout=60_000)


def test_answered_batches_and_rank_intervals_are_shown(site, visit):
    items = "item\n" + "\n".join(f"term {number}" for number in range(8)) + "\n"
    plan = {"mode": "continuous", "budget": 40, "batch": 10}
    organiser = Organiser(site.app, ADMIN).make(items_csv=items, voters=3, plan=plan, settings={"sheet_size": 5})
    organiser.open()
    organiser.answer(13)
    page = page_of(site, visit, organiser)
    states = page.locator("#ballots tbody .badge")
    expect(states).to_have_text(["answered", "open"])
    expect(page.get_by_role("button", name="Copy: Open link", exact=True)).to_be_visible()
    page.get_by_role("link", name="Review or end the campaign").click()
    page.get_by_role("button", name="End …").click(timeout=60_000)
    expect(page.get_by_role("button", name="End", exact=True)).to_be_visible()
    page.get_by_role("button", name="Cancel").first.click()
    page.get_by_role("link", name="Ranking").click()
    heads = ["Rank", "Item", "Rank, 90% interval", "Range", "In the top 1", "Rank, valid at any time", "Strength"]
    expect(page.locator("#ranking thead th")).to_have_text(heads, timeout=60_000)


def test_the_first_batch_has_no_size_before_it_is_drawn_and_zero_no_sign(site, visit):
    plan = {"mode": "continuous", "budget": 40, "batch": 10}
    organiser = Organiser(site.app, ADMIN).make(plan=plan)
    page = page_of(site, visit, organiser, "/ballots")
    expect(page.locator("#now p").first).to_have_text("6 items.")
    shown = "async () => { const { number } = await import('/static/organiser/page.js'); return number(-0.001, 2); }"
    assert page.evaluate(shown) == "0.00"  # a number that rounds to zero has no sign


def test_voters_are_invited_by_name(site, visit, organiser):
    page = page_of(site, visit, organiser)
    expect(page.locator("#open-link")).not_to_be_empty()  # until then, what is below it moves
    page.get_by_text("Invite voters by personal link").click()
    page.locator("#names").fill("Ada\n\n=Grace\n")
    page.locator("#qr").check()
    page.get_by_role("button", name="Create links").click()
    expect(page.get_by_role("heading", name="New links")).to_be_focused()
    expect(page.locator("#invited-list tbody tr")).to_have_count(2)
    wait_for_image(page.locator("#invited-list img").last)
    check_all(page)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV").click()
    rows = list(csv.reader(io.StringIO(saved.value.path().read_text(encoding="utf-8-sig"))))
    assert [row[0] for row in rows] == ["voter", "Ada", "'=Grace"]
    link = page.locator("#invited-list code").first.inner_text()
    assert rows[1][1] == link
    voter = visit(link)
    expect(voter.locator("#agree")).to_be_visible()


def test_a_flagged_voter_is_reviewed_excluded_and_included_again(site, visit, organiser):
    voters = [organiser.voter() for _ in range(2)]
    while sheets := [(voter, sheet) for voter in voters if (sheet := voter.sheet()) is not None]:
        for voter, sheet in sheets:
            for pair in sheet["pairs"]:
                hasty = voter is voters[1]
                by_length = len(pair["left"]["text"]) > len(pair["right"]["text"])
                voter.vote(pair["id"], "left" if hasty or by_length else "right", response_ms=200 if hasty else 4_000)
    page = page_of(site, visit, organiser, "/voters")
    flagged = page.locator(".person")
    expect(flagged).to_have_count(1, timeout=60_000)
    expect(page.locator("#participants")).to_be_hidden()  # the lists of a platform
    expect(flagged).to_contain_text("answers took less than a second")
    check_all(page)
    flagged.get_by_role("button", name="Exclude …").click()
    expect(page.locator("#exclude-preview")).to_contain_text("all others gave", timeout=60_000)
    check(page)
    page.locator("#exclude-reason").fill("answered in no time")
    page.keyboard.press("Enter")
    expect(page.locator("#exclude-dialog")).not_to_be_visible()
    expect(flagged).to_contain_text("excluded")
    flagged.get_by_role("button", name="Include again …").click()
    page.locator("#exclude-reason").fill("a mistake of ours")
    page.keyboard.press("Enter")
    expect(flagged.locator(".badge-bad")).to_have_count(0)
    page.get_by_role("button", name="Erase …").click()
    expect(page.get_by_role("button", name="Cancel").last).to_be_focused()
    page.get_by_role("button", name="Erase", exact=True).click()
    expect(page.locator("#withdraw-dialog")).not_to_be_visible()
    expect(page.get_by_text("withdrawn").first).to_be_visible()


def test_the_table_of_voters_fits_a_small_desktop(site, visit, organiser):
    (token,) = organiser.invite("carla.rodriguez@university.example")
    voter = new_voter(site.app, organiser, token=token)
    key = voter.me().json["voter"]
    voter.answer_sheet()
    organiser.post(f"/voters/{key}/exclude", {"reason": "in no time"}, status=204)
    for locale in ("en-GB", "de-AT"):
        page = page_of(site, visit, organiser, "/voters", viewport={"width": 1024, "height": 800}, locale=locale)
        page.locator("#show-names").check()
        expect(page.locator("#voters").get_by_text("carla.rodriguez")).to_be_visible()
        expect(page.locator("#voters .badge-bad")).to_be_visible()
        expect(page.locator("#voters .button")).to_have_count(2)
        expect(page.locator("#agreement .figure").first).to_be_visible(timeout=60_000)
        for width in (1024, 768):
            page.set_viewport_size({"width": width, "height": 800})
            outside = page.locator("#voters").evaluate("(place) => place.scrollWidth - place.clientWidth")
            assert (locale, width, outside) == (locale, width, 0)


def test_tables_of_german_fit_a_narrow_window_and_figures_show_that_they_load(site, visit, organiser):
    organiser.answer(10)
    narrow = {"viewport": {"width": 768, "height": 1024}, "locale": "de-AT"}
    page = page_of(site, visit, organiser, **narrow)
    expect(page.locator("#ballots tbody tr")).to_have_count(1)
    assert page.locator("#ballots").evaluate("(place) => place.scrollWidth - place.clientWidth") == 0
    page = visit(**narrow)
    routes = []

    def hold(route):
        routes.append(route)

    page.route("**/plots/**", hold)
    page.goto(f"{site.url}/o/{organiser.key}/result#{organiser.token}")
    expect(page.locator("#ranking tbody tr")).to_have_count(12, timeout=60_000)
    assert page.locator("#ranking").evaluate("(place) => place.scrollWidth - place.clientWidth") <= 0
    waits = page.locator("#plots .plot-waits")
    expect(waits).to_have_text(["Wird gezeichnet …"] * 3)
    page.locator("#plots").scroll_into_view_if_needed()
    expect(page.locator("#plots img")).to_have_count(3)
    for route in routes:
        route.continue_()
    page.unroute("**/plots/**")
    page.locator("#plots img").first.scroll_into_view_if_needed()
    expect(page.locator("#plots .plot").first.locator(".plot-waits")).to_have_count(0, timeout=60_000)


def test_items_are_counted_while_a_ballot_is_open(site, visit):
    organiser_of_campaign = Organiser(site.app, ADMIN).make()
    page = page_of(site, visit, organiser_of_campaign, "/items")
    expect(page.locator("#closed")).to_have_text("No ballot is open.")
    expect(page.locator("#items thead th")).to_have_text(["Item"])
    organiser_of_campaign.open()
    expect(page.locator("#items-title")).to_have_text("Items of the open ballot, fewest answers first")
    expect(page.locator("#closed")).to_be_hidden()
    expect(page.locator("#items thead th")).to_have_text(["Item", "Comparisons", "Answered", "Share"])


def test_the_cost_precedes_the_button_on_a_narrow_page(site, visit):
    page = visit(f"{site.url}/o/new#{ADMIN}")
    expect(page.locator("#form")).to_be_visible()
    for width in (320, 768):
        page.set_viewport_size({"width": width, "height": 800})
        outlook, button = (page.locator(place).bounding_box() for place in ("aside", "#make"))
        assert outlook["y"] + outlook["height"] <= button["y"]
        check_all(page)


def test_settings_are_changed(site, visit, organiser):
    page = page_of(site, visit, organiser, "/settings")
    page.locator("#new-language").fill("de")
    page.keyboard.press("Enter")
    page.locator("#title-1").fill("Bäume")
    page.locator("#question-1").fill("Welcher ist höher?")
    check_all(page)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved as version 2.")
    assert [text["language"] for text in organiser.get("/pages").json["pages"]["texts"]] == ["en", "de"]


def test_changes_of_another_organiser_are_not_overwritten(site, visit, organiser):
    visit.breaks_requests = True
    page = page_of(site, visit, organiser, "/settings")
    organiser.change_pages(ties=False)
    page.locator("#title-0").fill("Mine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#form-error")).to_contain_text("The campaign changed while this page was open.")
    assert organiser.get("/pages").json["version"] == 2


def test_without_a_session_a_page_shows_nothing(site, visit, organiser):
    visit.breaks_requests = True
    for link in (
        f"/o/{organiser.key}",
        f"/o/{organiser.key}#{'x' * 43}",
        f"/o/{organiser.key}#{'x' * 22}",
        f"/o/{'0' * 32}/result",
    ):
        page = visit(site.url + link)
        expect(page.get_by_role("heading", name="Please open your organiser")).to_be_visible()
    check_all(page)
    page = page_of(site, visit, organiser)
    page.get_by_role("button", name="Sign out in this browser").click()
    expect(page.get_by_role("heading", name="Please open your organiser")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Please open your organiser")).to_be_visible()


def test_a_hidden_page_stops_polling_and_polls_when_visible_again(site, visit, organiser):
    page = page_of(site, visit, organiser)
    expect(page.locator("#progress-text")).to_contain_text("0 of 36")  # and the page waits for its next poll
    page.evaluate(
        """() => {
          window.requests = [];
          const real = window.fetch;
          window.fetch = (path, options) => {
            window.requests.push(path);
            return real(path, options);
          };
          Object.defineProperty(document, "hidden", { get: () => window.away ?? false, configurable: true });
          window.away = true;
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    page.wait_for_timeout(6_000)
    assert page.evaluate("window.requests") == []
    paths = page.evaluate("window.away = false, document.dispatchEvent(new Event('visibilitychange')), window.requests")
    assert paths == [f"/v1/campaigns/{organiser.key}/progress"]


def test_every_page_is_available_in_german(site, visit, organiser):
    page = page_of(site, visit, organiser, locale="de-AT", viewport={"width": 320, "height": 700})
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("heading", name="Übersicht")).to_be_visible()
    for path in PAGES:
        page.goto(f"{site.url}/o/{organiser.key}{path}")
        expect(page.locator('[data-view="shown"]')).to_be_visible()
        check_width(page)
    page.goto(f"{site.url}/o/{organiser.key}?lang=en")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Ballots").click()
    expect(page.get_by_role("heading", name="Ballots", exact=True)).to_be_visible()  # links keep the language


def test_a_leaked_link_of_an_organiser_is_replaced(site, visit):
    visit.breaks_requests = True  # the browser that will be signed out
    organiser = Organiser(site.app, ADMIN).make()
    organiser.invite("Ann")
    mine, theirs = (page_of(site, visit, organiser) for _ in range(2))
    mine.get_by_text("Links given out").click()
    rows = mine.locator("#issued-list tbody tr")
    expect(rows).to_have_count(4)
    expect(mine.locator("#issued-list")).to_contain_text("Invitation: Ann")
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
