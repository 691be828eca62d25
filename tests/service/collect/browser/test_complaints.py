"""What users of other tools complain about, each as it would be met in a browser; a name has the tool and its issue.

test_complaints.py of the ledger has those that concern storage, test_flow.py and test_sending.py those of answers that
are lost, doubled or undone.
"""

import urllib.request

from playwright.sync_api import expect

from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browser.test_access import check_targets, check_width
from tests.service.collect.browser.voting import agree, answer, events, ready, shown, voter, votes
from tests.service.collect.browsing import change_pages

PHONE = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


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
    answer(page, done=1)
    assert len(votes(campaign)) == 1
    assert query(campaign, "SELECT count(*) FROM voter WHERE campaign_id = :id", id=campaign.info.id) == [(1,)]


def test_label_studio_8083_not_usable_on_a_phone(site, visit):
    campaign = site.campaign(items=["antidisestablishmentarianism" * 2, *("tree " * 30 + str(n) for n in range(5))])
    page = voter(site, visit, campaign, **PHONE)
    ready(page)
    check_width(page)
    assert page.locator("button:visible, a.button:visible").count() >= 4
    check_targets(page)
    for _ in range(4):
        page.wait_for_timeout(600)  # sooner, a second tap belongs to the pair before
        answer(page, "right", by="tap")
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert list(votes(campaign).values()) == ["right"] * 4


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


def test_a_change_of_the_pages_between_two_sheets_loses_nothing(site, visit):
    campaign = site.campaign(sheet_size=2)
    page = voter(site, visit, campaign)
    answer(page)
    change_pages(campaign, ties=False)
    answer(page)
    expect(page.get_by_role("heading", name="This part is complete")).to_be_visible()
    assert len(votes(campaign)) == 2
