"""From the link to the code."""

from playwright.sync_api import expect

from tests.service.collect.browser.voting import PRACTICE, agree, answer, ready, saved, shown, votes


def test_a_voter_goes_from_the_invitation_to_the_code(site, visit):
    campaign = site.campaign(
        probing=PRACTICE,
        pages={"sheets": 1, "completion_code": "C0DE-1", "completion_url": "https://crowd.example/done?cc=C0DE-1"},
    )
    link = site.invitation(campaign)
    page = visit(link)
    expect(page.get_by_role("heading", name="Your consent")).to_be_visible()
    assert page.url == site.link(campaign)  # the secret has left the address
    agree(page)
    expect(page.locator("#practice")).to_be_visible()
    expect(page.get_by_role("heading", name="Which tree is taller?")).to_be_focused()
    practice = shown(page)
    answer(page, "right" if practice[0] == "ash" else "left")
    expect(page.locator("#feedback-text")).to_contain_text("The expected answer is")
    page.locator("#next").click()
    expect(page.locator("#practice")).to_be_hidden()
    first = shown(page)
    answer(page, "left")
    saved(page, 2, 5)
    second = shown(page)
    ready(page)
    page.locator("#skip").click()
    third = shown(page)
    assert len({first, second, third}) == 3
    answer(page, "tie")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Taken back. Please answer again.")
    assert shown(page) == third
    answer(page, "cannot say")
    fourth = shown(page)
    answer(page, "left")
    assert shown(page) == second
    answer(page, "right")
    expect(page.get_by_role("heading", name="Sheet complete")).to_be_focused()
    assert votes(campaign) == {first: "left", third: "cannot say", fourth: "left", second: "right"}
    page.get_by_role("link", name="Finish", exact=True).click()
    expect(page.locator("#code")).to_have_text("C0DE-1")
    expect(page.get_by_role("link", name="Return to the study")).to_have_attribute(
        "href", "https://crowd.example/done?cc=C0DE-1"
    )
    expect(page.locator("#counted")).to_have_text("The server has counted your answers: 4")
    secret = link.partition("#")[2]
    assert not [asked for asked in site.asked if secret in "".join(asked)]
