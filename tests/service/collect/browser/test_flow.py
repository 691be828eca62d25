"""From the link to the completion code; the size of pages; and issues reported for other tools, named in the tests."""

import urllib.request

import pytest
from playwright.sync_api import expect

from adaptive.ledger import PageTexts, items_of_targets, plan_of_targets
from service.collect import access
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browser.conftest import (
    PRACTICE,
    agree,
    answer,
    expect_saved,
    n_events,
    read_pair,
    vote_as_another,
    voter,
    votes,
    wait_ready,
)
from tests.service.collect.browser.test_access import check_all, check_targets, check_width
from tests.service.collect.browsing import change_pages, token_of

pytestmark = pytest.mark.wide


def test_a_voter_goes_from_the_invitation_to_the_code(site, visit):
    campaign = site.campaign(
        probing=PRACTICE,
        pages={"sheets": 1, "completion_code": "C0DE-1", "completion_url": "https://crowd.example/done?cc=C0DE-1"},
    )
    link = site.invitation(campaign)
    page = visit(link)
    expect(page.get_by_role("heading", name="Your consent")).to_be_visible()
    assert page.url == site.link(campaign)  # the secret is removed from the address
    agree(page)
    expect(page.locator("#practice")).to_be_visible()
    expect(page.get_by_role("heading", name="Which tree is taller?")).to_be_focused()
    practice = read_pair(page)
    answer(page, "right" if practice[0] == "ash" else "left")
    expect(page.locator("#feedback-text")).to_contain_text("The expected answer is")
    page.locator("#next").click()
    expect(page.locator("#practice")).to_be_hidden()
    first = read_pair(page)
    answer(page, "left", n_done=2, of=5)
    second = read_pair(page)
    wait_ready(page)
    page.locator("#skip").click()
    third = read_pair(page)
    assert len({first, second, third}) == 3
    answer(page, "tie")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Answer undone. Please answer again.")
    assert read_pair(page) == third
    answer(page, "cannot say")
    fourth = read_pair(page)
    answer(page, "left")
    assert read_pair(page) == second
    answer(page, "right")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_focused()
    assert votes(campaign) == {first: "left", third: "cannot say", fourth: "left", second: "right"}
    page.get_by_role("link", name="Finish and get the code").click()
    expect(page.locator("#code")).to_have_text("C0DE-1")
    page.go_back()
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    expect(page.locator("#undo-done")).to_be_hidden()  # after the code nothing can be undone
    page.goto(site.link(campaign))  # returning voters who have finished see the code at once
    expect(page.get_by_role("heading", name="We have received your answers")).to_be_visible()
    expect(page.locator("#code")).to_have_text("C0DE-1")
    expect(page.get_by_role("link", name="Return to the site you came from")).to_have_attribute(
        "href", "https://crowd.example/done?cc=C0DE-1"
    )
    expect(page.locator("#counted")).to_have_text("Answers received: 4")  # without practice
    secret = link.partition("#")[2]
    assert not [site_request for site_request in site.requests if secret in "".join(site_request)]


def test_without_pairs_left_the_page_says_so_before_consent(site, visit):
    campaign = site.campaign()
    for _ in range(3):
        vote_as_another(campaign)
    page = visit(site.link(campaign))
    expect(page.get_by_role("heading", name="Nothing left to do")).to_be_visible()
    expect(page.locator("#agree")).to_be_hidden()
    page = visit(site.invitation(campaign))
    expect(page.get_by_role("heading", name="Nothing left to do")).to_be_visible()
    expect(page.locator("#agree")).to_be_hidden()


def test_voting_continues_on_another_device(site, visit):
    campaign = site.campaign()
    link = site.invitation(campaign)
    page = visit(link)
    agree(page)
    first = read_pair(page)
    answer(page, n_done=1)
    second = read_pair(page)
    page.locator("#pause").click()
    expect(page.get_by_text("open your personal link there")).to_be_visible()
    page.keyboard.press("1")  # no pair is shown
    other = visit(link, viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
    expect(other.locator("#answered")).to_have_text("Answers so far: 1")
    other.get_by_role("link", name="Continue").tap()
    wait_ready(other)
    assert read_pair(other) == second
    other.locator("#undo").tap()  # including answers from another device
    expect(other.locator("#status")).to_contain_text("Answer undone")
    assert read_pair(other) == first
    other.locator('[data-answer="right"]').tap()
    expect_saved(other, 1, 4)
    other.locator('[data-answer="tie"]').tap()
    expect_saved(other, 2, 4)
    page.locator("#resume").click()
    wait_ready(page)
    expect(page.locator("#count")).to_have_text("2 of 4")
    assert votes(campaign) == {first: "right", second: "tie"}


def test_a_participant_of_prolific_leaves_and_returns(site, visit):
    campaign = site.campaign(
        pages={"open_link": False, "platform": "prolific", "study": "6f0c", "sheets": 1, "completion_code": "CC"}
    )
    secret = token_of(campaign, "study")
    participant = "0123456789abcdef01234567"
    query_text = f"?PROLIFIC_PID={participant}&STUDY_ID=6f0c&SESSION_ID="
    page = visit(f"{site.link(campaign, query=query_text)}s1#{secret}")
    expect(page.locator("#agree")).to_be_visible()
    assert page.url == site.link(campaign)
    # A visit alone makes no voter.
    assert query(campaign, "SELECT 1 FROM voter WHERE campaign_id = :id", id=campaign.info.id) == []
    page.reload()  # and this tab still knows the participant
    agree(page)
    first = read_pair(page)
    answer(page, n_done=1)
    page = visit(f"{site.link(campaign, query=query_text)}s2#{secret}")
    agree(page)
    expect(page.locator("#count")).to_have_text("1 of 4")
    assert votes(campaign) == {first: "left"}
    assert query(campaign, "SELECT count(*) FROM voter WHERE source = 'prolific'") == [(1,)]
    for _ in range(3):
        answer(page)
    page.locator("#to-finish").click()
    expect(page.locator("#code")).to_have_text("CC")
    requests = [request for request in site.requests if campaign.key in request[1]]
    # In no path or Referer.
    assert not [request for request in requests if secret in "".join(request) or participant in request[2]]


def test_the_code_is_shown_only_after_all_votes_are_saved(site, visit):
    visit.breaks_requests = True
    campaign = site.campaign(pages={"sheets": 1, "completion_code": "C0DE"})
    page = voter(site, visit, campaign)
    for _ in range(3):
        answer(page)
    expect_saved(page, 3, 4)
    other = visit(site.link(campaign, "finish"), context=page.context)
    expect(other.locator("#missing")).to_have_text("Comparisons left in this part: 1")
    expect(other.locator("#stop")).to_contain_text("You can stop here")
    expect(other.locator("#stop")).to_contain_text("completion code when you have answered everything")
    page.route("**/v1/votes/*", lambda route: route.abort())
    wait_ready(page)
    page.locator('[data-answer="left"]').click()
    expect(page.locator("#message")).to_contain_text("No connection")
    page.goto(site.link(campaign, "finish"))
    expect(page.locator("#message")).to_be_visible()
    expect(page.locator("#code")).to_be_hidden()
    assert n_events(campaign) == 3
    page.unroute("**/v1/votes/*")
    expect(page.locator("#code")).to_have_text("C0DE")  # it sends the remaining votes
    assert n_events(campaign) == 4


def test_withdrawing_needs_confirmation_and_erases_the_voter(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    answer(page, n_done=1)
    page.get_by_role("link", name="Finish or withdraw").click()
    stop = "You can stop here: just close this page. The answers you have given count."
    expect(page.locator("#stop")).to_have_text(stop)
    page.locator("#withdraw").click()
    page.keyboard.press("Escape")
    assert len(votes(campaign)) == 1
    page.locator("#withdraw").click()
    expect(page.locator("#sure-text")).to_contain_text("a personal link will stop working")  # the open link does not
    page.locator("#go").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_focused()
    assert votes(campaign) == {}
    assert page.evaluate("localStorage.length") == 0
    page.goto(site.link(campaign, "vote"))
    expect(page.locator("#agree")).to_be_visible()  # a stranger again


def test_the_preview_of_an_organiser_goes_to_the_last_page_and_sends_no_votes(site, visit):
    back = {"completion_code": "C0DE", "completion_url": "https://a.example/back"}
    campaign = site.campaign(probing=PRACTICE, pages=back)
    context = visit.context()
    name = access.cookie_name(access.ORGANISER_COOKIE, campaign, https=False)
    context.add_cookies([{"name": name, "value": token_of(campaign, "organiser session"), "url": site.url}])
    before = len(site.requests)
    page = visit(site.link(campaign, query="?preview=1"), context=context)
    expect(page.get_by_text("This is a preview")).to_be_visible()
    expect(page.get_by_role("heading", name="Instructions")).to_be_visible()
    expect(page.get_by_text("I agree.", exact=True)).to_be_visible()
    agree(page)
    expect(page.get_by_text("This is a preview")).to_be_visible()
    notice, badge = (page.locator(place).bounding_box() for place in ("#main > .notice:visible", "#practice .badge"))
    assert badge["y"] - (notice["y"] + notice["height"]) >= 16
    assert read_pair(page) == ("ash", "yew")  # the campaign's own practice
    answer(page, "left")
    expect(page.locator("#feedback-text")).to_have_text("That is the expected answer.")
    page.locator("#next").click()
    for n_done in range(2, 8):
        answer(page)
        if n_done < 7:
            expect(page.locator("#status")).to_have_text(f"{n_done} of 7")  # and not that it was saved
    expect(page.locator("#done-text")).to_contain_text("The preview ends here")
    page.locator("#undo-done").click()
    wait_ready(page)
    expect(page.locator("#practice")).to_be_hidden()
    answer(page)
    page.locator("#to-finish").click()
    expect(page.locator("#code")).to_have_text("C0DE")
    expect(page.locator("#return")).to_have_attribute("href", "https://a.example/back")
    expect(page.get_by_text("This is a preview.")).to_be_visible()
    check_all(page)
    page.locator("#withdraw").click()
    page.locator("#go").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    assert not [site_request for site_request in site.requests[before:] if site_request[1].startswith("/v1/")]
    assert n_events(campaign) == 0
    page.get_by_role("link", name="Back to your campaign").click()
    expect(page).to_have_url(f"{site.url}/o/{campaign.key}")
    for place in ("", "vote", "finish"):
        stranger = visit(site.link(campaign, place, "?preview=1"))
        expect(stranger.locator("#agree")).to_be_visible()
        expect(stranger.get_by_text("This is a preview")).to_be_hidden()


PHONE = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def test_supabase_auth_1214_a_mail_scanner_does_not_use_up_a_link(site, visit):
    campaign = site.campaign()
    link = site.invitation(campaign)
    for method in ("HEAD", "GET", "GET"):  # a scanner sends no fragment
        request = urllib.request.Request(link.partition("#")[0], method=method)
        with urllib.request.urlopen(request) as response:
            assert response.status == 200
    expect(visit(link).locator("#agree")).to_be_visible()  # one that runs scripts opens the page and leaves
    assert n_events(campaign) == 0
    page = visit(link)
    agree(page)
    answer(page, n_done=1)
    assert len(votes(campaign)) == 1
    assert query(campaign, "SELECT count(*) FROM voter WHERE campaign_id = :id", id=campaign.info.id) == [(1,)]


def test_label_studio_8083_voting_works_on_a_phone(site, visit):
    campaign = site.campaign(items=["antidisestablishmentarianism" * 2, *("tree " * 30 + str(n) for n in range(5))])
    page = voter(site, visit, campaign, **PHONE)
    wait_ready(page)
    check_width(page)
    assert page.locator("button:visible, a.button:visible").count() >= 4
    check_targets(page)
    for _ in range(4):
        page.wait_for_timeout(600)  # an earlier second tap would belong to the previous pair
        answer(page, "right", by="tap")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert list(votes(campaign).values()) == ["right"] * 4


def test_a_change_of_the_pages_between_two_sheets_loses_nothing(site, visit):
    campaign = site.campaign(sheet_size=2)
    page = voter(site, visit, campaign)
    answer(page)
    change_pages(campaign, ties=False)
    answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(votes(campaign)) == 2


MOST_BYTES = 100_000


def measure_page(page, address):
    """Bytes that a page loads, without headers, and the hosts that it contacts."""
    responses = []

    def note(response):
        responses.append(response)

    page.on("response", note)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    hosts = {response.url.split("/")[2] for response in responses}
    return sum(len(response.body()) for response in responses if response.status == 200), hosts


def test_both_pages_are_small_and_load_nothing_from_other_hosts(site, visit):
    campaign, first = site.campaign(), visit()
    result = [measure_page(first, site.link(campaign))]
    agree(first)
    page = visit(context=first.context)
    result.append(measure_page(page, site.link(campaign, "vote")))
    wait_ready(page)
    for weight, hosts in result:
        assert 10_000 < weight < MOST_BYTES
        assert hosts == {site.url.split("/")[2]}


def test_the_content_security_policy_blocks_injected_scripts(site, visit):
    visit.breaks_policy = True
    page = visit()
    page.add_init_script(
        "window.breaches = []; document.addEventListener('securitypolicyviolation', (event) => "
        "breaches.push(event.effectiveDirective));"
    )
    page.goto(site.link(site.campaign()))
    agree(page)
    assert page.evaluate("breaches") == []
    page.evaluate(
        """() => {
             const script = document.createElement("script");
             script.textContent = "window.written = true";
             document.body.append(script);
             document.body.insertAdjacentHTML("beforeend", "<p style='color: red'></p><iframe src='/docs'></iframe>");
           }"""
    )
    page.wait_for_function("breaches.length >= 3")
    assert page.evaluate("window.written") is None
    assert {"script-src-elem", "style-src-attr", "frame-src"} <= set(page.evaluate("breaches"))


def test_votes_arrive_without_browser_storage(site, visit):
    page = visit()
    page.add_init_script(
        """const refuse = () => { throw new DOMException("no", "SecurityError"); };
           Object.defineProperty(window, "indexedDB", { get: refuse });
           Object.defineProperty(window, "localStorage", { get: refuse });
           Object.defineProperty(window, "sessionStorage", { get: refuse });"""
    )
    campaign = site.campaign()
    page.goto(site.invitation(campaign))
    agree(page)
    pair = read_pair(page)
    page.locator('[data-answer="left"]').click()
    expect(page.locator("#status")).to_have_text("Saved. 1 of 4")
    assert votes(campaign) == {pair: "left"}


@pytest.mark.parametrize("question", ["Which is closer to {target}?", "Which is closer?"])
def test_a_voter_sees_the_target_of_each_pair(site, visit, question):
    targets = {
        "singer": dict.fromkeys(["musician", "person", "artist"], "positive"),
        "oak": dict.fromkeys(["tree", "plant"], "positive"),
    }
    texts = {"en": PageTexts("Words", question)}
    plan = plan_of_targets(targets, 1, batch=10)
    items = items_of_targets(targets)
    campaign = site.campaign(plan=plan, items=items, targets=targets, sheet_size=4, pages={"texts": texts})
    page = visit(site.link(campaign))
    agree(page)
    targets_shown = set()
    for n_done in range(4):
        words = read_pair(page)
        (target,) = [target for target, group in targets.items() if set(words) <= set(group)]
        targets_shown.add(target)
        if "{target}" in question:
            expect(page.locator("#question")).to_have_text(f"Which is closer to {target}?")
            expect(page.locator("#target")).to_be_hidden()
        else:
            expect(page.locator("#target")).to_have_text(target)
        if n_done < 3:
            answer(page, "left")
    assert targets_shown == set(targets)
