"""A server in this process and a browser, shared by the tests of a module; each test has a new browser context."""

import contextlib
import json
import shutil
import threading
import time
from dataclasses import dataclass, field

import pytest
from flask import Flask
from playwright.sync_api import expect
from werkzeug.serving import WSGIRequestHandler, make_server

from adaptive.ledger import KnownPair, Probing, VoteCast
from adaptive.ledger._store.schema import answer_name
from service.collect import CollectSettings, create_app
from service.http.state import state
from service.server.warm_up import warm_up_campaigns
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import ADMIN, invitation_tokens, new_campaign, new_id

# The headless shell, which draws the same pages, takes half of the processor time of the browser with windows.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
PATIENCE = 120_000  # milliseconds, because the machine may be busy
LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
SECONDS = 60.0  # for which the server lets requests wait: a refusal would be an error of the page

# Chromium reports each 4xx or 5xx answer and each broken connection, which some tests cause.
NETWORK = "Failed to load resource"
POLICY = "Content Security Policy"


def pytest_collection_modifyitems(items):
    for item in items:
        if "collect/browser" in item.nodeid and CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="there is no Chromium on the path"))


class QuietHandler(WSGIRequestHandler):
    """A handler without a log, because the application has one."""

    def log(self, type, message, *args):  # noqa: A002 - its name in the base class
        pass


@dataclass
class Site:
    """The server and its requests."""

    url: str
    ledger: str
    app: Flask
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, path with its query, Referer
    delay: float = 0.0  # seconds before each answer to /v1

    def campaign(self, **settings):
        """A campaign with three sheets of four pairs."""
        return new_campaign(self.ledger, **{"voters": 3, "sheet_size": 4, **settings})

    def link(self, campaign, page="", query=""):
        return f"{self.url}/v/{campaign.key}{page and '/' + page}{query}"

    def invitation(self, campaign, name="anna"):
        return f"{self.link(campaign)}#{invitation_tokens(campaign, name)[0]}"


@contextlib.contextmanager
def run_site(folder, **settings):
    """A server on a new ledger in a folder."""
    defaults = {"ledger": str(folder / "collect.db"), "tokens": (ADMIN,)}
    patience = {"max_wait_seconds": SECONDS, "max_ledger_seconds": SECONDS}
    app = create_app(CollectSettings(**defaults, **patience, **settings))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    new_site = Site(f"http://127.0.0.1:{server.server_port}", defaults["ledger"], app)

    def record_request(environ, start_response):
        path = environ["PATH_INFO"]
        path_and_query = path + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
        new_site.requests.append((environ["REQUEST_METHOD"], path_and_query, environ.get("HTTP_REFERER", "")))
        if path.startswith("/v1/"):
            time.sleep(new_site.delay)
        chunks = app(environ, start_response)
        body = b"".join(chunks)
        if hasattr(chunks, "close"):  # werkzeug does not close a file if the browser breaks the connection
            chunks.close()
        return [body]

    server.app = record_request
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield new_site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        state(app).resources.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    warm_up_campaigns()  # as the command does before it listens, so that no page waits for compilation
    with run_site(tmp_path_factory.mktemp("site")) as new_site:
        yield new_site


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visits:
    """Opens pages, each in a new browser context unless one is given; collects errors of pages."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.complaints = []
        self.breaks_requests = self.breaks_policy = False  # errors that a test causes and the browser reports

    def __call__(self, url=None, context=None, **options):
        page = (context or self.context(**options)).new_page()
        if url is not None:
            page.goto(url)
        return page

    def context(self, **options):
        context = self.browser.new_context(**{"viewport": {"width": 1024, "height": 768}, "locale": "en-GB", **options})
        context.set_default_timeout(PATIENCE)
        context.on("page", self._watch)
        self.contexts.append(context)
        return context

    def check(self):
        """Check that no page has thrown an error or violated the content security policy."""
        allowed = [NETWORK] * self.breaks_requests + [POLICY] * self.breaks_policy
        assert [text for text in self.complaints if not any(allowed_text in text for allowed_text in allowed)] == []

    def _watch(self, page):
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda note: note.type in ("error", "warning") and self.complaints.append(note.text))


@pytest.fixture
def visit(browser):
    visits = Visits(browser)
    yield visits
    for context in visits.contexts:
        context.close()
    visits.check()


PRACTICE = Probing((KnownPair("practice", "ash", "yew", "left"),))


def open_advanced(page):
    """Open the advanced settings of a new campaign, once its items are checked: the table of items moves them down."""
    expect(page.locator("#sheet .notice-good")).to_be_visible()
    page.locator("#advanced > summary").click()


def agree(page):
    """Consent, and wait for the first pair."""
    page.locator("#agree").click()
    wait_ready(page)


def wait_ready(page):
    """Wait until an answer counts."""
    expect(page.locator('#option-left .choose:not([aria-disabled="true"])').first).to_be_visible()


def read_pair(page):
    """The two items on the page."""
    return tuple(page.locator(f"#content-{side}").inner_text() for side in ("left", "right"))


def answer(page, side="left", *, by="click", n_done=None, of=4):
    """Answer the shown pair by a click or a tap, and wait until it is replaced.

    With `n_done`, also wait until the server has saved this many answers of `of` on the sheet.
    """
    wait_ready(page)
    before = read_pair(page)
    getattr(page.locator(f'[data-answer="{side}"]'), by)()
    page.wait_for_function(
        """before => document.querySelector("#voting")?.hidden !== false
           || !document.querySelector("#feedback").hidden
           || ["left", "right"].some((side, at) =>
                document.querySelector(`#content-${side}`).innerText !== before[at])""",
        arg=list(before),
    )
    if n_done is not None:
        expect_saved(page, n_done, of)


def expect_saved(page, n_done, of):
    """Wait until the page shows that these answers are saved."""
    expect(page.locator("#status")).to_have_text(f"Saved. {n_done} of {of}")


def votes(campaign):
    """The answer to each pair or set that counts, by the labels of its items; checks are left out."""
    rows = query(
        campaign,
        """SELECT c.left_item, c.right_item, c.other_items, e.kind, e.answer FROM vote_event e
           JOIN ballot b ON b.id = e.ballot_id
           JOIN comparison c ON c.ballot_id = e.ballot_id AND c.place = e.place
           WHERE b.campaign_id = :campaign AND c.probe IS NULL ORDER BY e.id""",
        campaign=campaign.info.id,
    )
    answers = {}
    for left, right, other_items, kind, code in rows:
        labels = tuple(campaign.info.items[place] for place in (left, right, *json.loads(other_items or "[]")))
        if kind == "cast":
            answers[labels] = answer_name(code)
        else:
            answers.pop(labels, None)
    return answers


def voter(site, visit, campaign, **options):
    """The page of a voter who came by the open link and consented."""
    page = visit(site.link(campaign), **options)
    agree(page)
    return page


def n_events(campaign):
    """Number of events of a campaign in the ledger."""
    return query(
        campaign,
        "SELECT count(*) FROM vote_event e JOIN ballot b ON b.id = e.ballot_id WHERE b.campaign_id = :campaign",
        campaign=campaign.info.id,
    )[0][0]


def n_unsent(page):
    """Number of votes that the browser keeps for later."""
    return page.evaluate(
        """() => new Promise((resolve) => {
             const request = indexedDB.open("rankcorr", 1);
             request.onsuccess = () => {
               const all = request.result.transaction("unsent").objectStore("unsent").getAll();
               all.onsuccess = () => resolve(all.result.length);
             };
           })"""
    )


def wait_until_sent(page):
    """Wait until the browser has sent all votes."""
    wait_until(page, lambda: n_unsent(page) == 0)


def wait_until_stored(page, campaign, n):
    """Wait until `n` votes have arrived or are stored by the browser, so that the page may be left."""
    wait_until(page, lambda: n_events(campaign) + n_unsent(page) >= n)


def wait_until(page, condition):
    """Wait until a condition holds, while the page keeps running."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        page.wait_for_timeout(50)


def vote_as_another(campaign):
    """Let another voter answer a sheet of this campaign by the API."""

    _, pages = campaign.pages()
    voter, _ = campaign.voters.join(pages, consent=pages.consent_version, hours=1)
    sheet = voter.next_sheet(pages).sheet
    for pair in sheet.pairs:
        campaign.cast(VoteCast(new_id(), sheet.number, pair.place, voter.id, "left"))
