"""What the pages weigh, and what they may load."""

from playwright.sync_api import expect

from tests.service.collect.browser.voting import agree, ready, shown, votes

MOST_BYTES = 100_000


def weighed(page, address):
    """Bytes of all that a page loads, headers apart, and the hosts that it asks."""
    asked = []

    def note(response):
        asked.append(response)

    page.on("response", note)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    hosts = {response.url.split("/")[2] for response in asked}
    return sum(len(response.body()) for response in asked if response.status == 200), hosts


def test_both_pages_are_light_and_load_nothing_from_elsewhere(site, visit):
    campaign, first = site.campaign(), visit()
    found = [weighed(first, site.link(campaign))]
    agree(first)
    page = visit(context=first.context)
    found.append(weighed(page, site.link(campaign, "vote")))
    ready(page)
    for weight, hosts in found:
        assert 10_000 < weight < MOST_BYTES
        assert hosts == {site.url.split("/")[2]}


def test_the_policy_refuses_what_is_written_into_a_page(site, visit):
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


def test_without_a_place_to_keep_things_votes_arrive_all_the_same(site, visit):
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
    pair = shown(page)
    page.locator('[data-answer="left"]').click()
    expect(page.locator("#status")).to_have_text("Saved. 1 of 4")
    assert votes(campaign) == {pair: "left"}
