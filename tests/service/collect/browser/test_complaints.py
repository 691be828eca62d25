"""What users of other tools complain about, each as it would be met in a browser; test_complaints.py of the ledger has
those that concern storage. A name has the tool and the number of its issue.
"""

import urllib.request

from playwright.sync_api import expect

from tests.adaptive.ledger.campaigns import check_ledger, query
from tests.service.collect.browser.voting import agree, answer, events, is_kept, ready, saved, shown, voter, votes
from tests.service.collect.browsing import change_pages

PHONE = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
FINGER = 44  # pixels


def test_supabase_auth_1214_a_link_burnt_by_a_mail_scanner(site, visit):
    campaign = site.campaign()
    link = site.invitation(campaign)
    for method in ("HEAD", "GET", "GET"):  # a scanner sends no fragment
        request = urllib.request.Request(link.partition("#")[0], method=method)
        with urllib.request.urlopen(request) as seen:
            assert seen.status == 200
    expect(visit(link).locator("#agree")).to_be_visible()  # one that runs scripts looks, and goes
    assert events(campaign) == 0
    page = visit(link)
    agree(page)
    answer(page)
    saved(page, 1, 4)
    assert len(votes(campaign)) == 1
    assert query(campaign, "SELECT count(*) FROM voter WHERE campaign_id = :id", id=campaign.info.id) == [(1,)]


def test_label_studio_8083_not_usable_on_a_phone(site, visit):
    campaign = site.campaign(items=["antidisestablishmentarianism" * 2, *("tree " * 30 + str(n) for n in range(5))])
    page = voter(site, visit, campaign, **PHONE)
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    buttons = page.locator("button:visible, a.button:visible")
    assert buttons.count() >= 4
    for place in range(buttons.count()):
        box = buttons.nth(place).bounding_box()
        assert min(box["width"], box["height"]) >= FINGER
    for _ in range(4):
        page.wait_for_timeout(600)  # sooner, a second tap belongs to the pair before
        answer(page, "right", by="tap")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert list(votes(campaign).values()) == ["right"] * 4


def test_label_studio_1101_6674_795_submits_that_are_lost_or_doubled(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    site.delay = 0.3  # long enough to be clicked again
    try:
        for done in range(1, 4):
            ready(page)
            # All at once: from a busy test the second might come when the next pair is there to be answered.
            page.evaluate("for (let n = 0; n < 3; n += 1) document.querySelector('[data-answer=left]').click()")
            saved(page, done, 4)
    finally:
        site.delay = 0.0
    assert events(campaign) == 3
    assert len(votes(campaign)) == 3
    check_ledger(campaign)


def test_allourideas_25_a_vote_lost_after_a_skip(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    ready(page)
    put_off = shown(page)
    page.locator("#skip").click()
    for _ in range(4):
        answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(votes(campaign)) == 4
    assert votes(campaign)[put_off] == "left"


def test_allourideas_56_the_same_pair_twice_to_a_voter(site, visit):
    campaign = site.campaign(sheet_size=2)
    page = voter(site, visit, campaign)
    seen = []
    for sheet in range(2):
        if sheet:
            page.get_by_role("button", name="Next part").click()
        for _ in range(2):
            ready(page)
            seen.append(frozenset(shown(page)))
            answer(page)
        expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(seen) == 4
    assert len(set(seen)) == len(seen)


def test_gavel_22_no_undo_for_a_misclick(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    ready(page)
    pair = shown(page)
    answer(page, "left")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Answer undone. Please answer again.")
    assert shown(page) == pair
    assert votes(campaign) == {}
    answer(page, "right")
    saved(page, 1, 4)
    assert votes(campaign) == {pair: "right"}


def test_salmon_saved_every_15_minutes_only(site, visit):
    campaign = site.campaign()
    page = voter(site, visit, campaign)
    for done in range(1, 4):
        answer(page)
        saved(page, done, 4)
        assert events(campaign) == done  # it is in the ledger when the page says so


def test_gabriel_73_half_of_the_rounds_missing_after_a_resume(site, visit):
    campaign = site.campaign()
    link = site.invitation(campaign)
    first = visit(link)
    agree(first)
    answer(first)
    answer(first)
    saved(first, 2, 4)
    second = visit(link)  # another browser
    second.get_by_role("link", name="Continue").click()
    ready(second)
    answer(second)
    answer(second)
    expect(second.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(votes(campaign)) == 4
    check_ledger(campaign)


def test_ibex_20_a_completion_code_although_nothing_was_stored(site, visit):
    campaign = site.campaign(pages={"sheets": 1, "completion_code": "C0DE-9"})
    visit.breaks_requests = True
    page = voter(site, visit, campaign)
    for _ in range(3):
        answer(page)
    saved(page, 3, 4)
    page.route("**/v1/votes/**", lambda route: route.abort())
    ready(page)
    page.locator('[data-answer="left"]').click()
    is_kept(page, campaign, 4)
    page.goto(site.link(campaign, "finish"))
    expect(page.locator("#message")).to_be_visible()
    assert "C0DE-9" not in page.content()
    assert events(campaign) == 3
    page.unroute("**/v1/votes/**")
    page.goto(site.link(campaign, "finish"))
    expect(page.locator("#code")).to_have_text("C0DE-9")
    assert events(campaign) == 4


def test_a_change_of_the_pages_between_two_sheets_loses_nothing(site, visit):
    campaign = site.campaign(sheet_size=2)
    page = voter(site, visit, campaign)
    answer(page)
    change_pages(campaign, ties=False)
    answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(votes(campaign)) == 2
