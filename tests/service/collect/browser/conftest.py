"""A server in this process and a browser, which the tests of a module share; each test has a context of its own."""

import contextlib
import shutil
import threading
import time
from dataclasses import dataclass, field

import pytest
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from service.collect import CollectSettings, create_app
from service.http.state import state
from service.server.warm_up import warm_up_campaigns
from tests.service.collect.browsing import invited, new_campaign
from tests.service.collect.organiser import ADMIN

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 120_000  # milliseconds: the machine may be busy
SECONDS = 60.0  # for which the server lets others have their turns: a refusal would be an error of the page

# Chromium says so of each answer of 4xx or 5xx and of each broken connection, which some tests bring about.
NETWORK = "Failed to load resource"
POLICY = "Content Security Policy"


def pytest_collection_modifyitems(items):
    for item in items:
        if "collect/browser" in item.nodeid and CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="there is no Chromium on the path"))


class Quiet(WSGIRequestHandler):
    """The application has a log of its own."""

    def log(self, type, message, *args):  # noqa: A002 - its name in the base class
        pass


@dataclass
class Site:
    """The server, and what it was asked."""

    url: str
    ledger: str
    app: Flask
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path with its query, Referer
    delay: float = 0.0  # seconds before each answer to /v1

    def campaign(self, **chosen):
        """A campaign with three sheets of four pairs."""
        return new_campaign(self.ledger, **{"voters": 3, "sheet_size": 4, **chosen})

    def link(self, campaign, page="", query=""):
        return f"{self.url}/v/{campaign.key}{page and '/' + page}{query}"

    def invitation(self, campaign, name="anna"):
        return f"{self.link(campaign)}#{invited(campaign, name)[0]}"


@contextlib.contextmanager
def serving(folder, **settings):
    """A server on a new ledger in a folder."""
    chosen = {"ledger": str(folder / "collect.db"), "tokens": (ADMIN,)}
    patience = {"max_wait_seconds": SECONDS, "max_ledger_seconds": SECONDS}
    app = create_app(CollectSettings(**chosen, **patience, **settings))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    made = Site(f"http://127.0.0.1:{server.server_port}", chosen["ledger"], app)

    def recorded(environ, start_response):
        path = environ["PATH_INFO"]
        asked = path + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
        made.asked.append((environ["REQUEST_METHOD"], asked, environ.get("HTTP_REFERER", "")))
        if path.startswith("/v1/"):
            time.sleep(made.delay)
        return app(environ, start_response)

    server.app = recorded
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        state(app).resources.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    warm_up_campaigns()  # as the command does before it listens: a page does not wait for compilers
    with serving(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visits:
    """Opens pages, each in a browser of its own unless a context is given; keeps what pages complain about."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.complaints = []
        self.breaks_requests = self.breaks_policy = False  # what a test brings about, and the browser reports

    def __call__(self, url=None, context=None, **options):
        page = (context or self.context(**options)).new_page()
        if url is not None:
            page.goto(url)
        return page

    def context(self, **options):
        made = self.browser.new_context(**{"viewport": {"width": 1024, "height": 768}, "locale": "en-GB", **options})
        made.set_default_timeout(PATIENCE)
        made.on("page", self._watch)
        self.contexts.append(made)
        return made

    def check(self):
        """No page has thrown an error, or met the content security policy."""
        allowed = [NETWORK] * self.breaks_requests + [POLICY] * self.breaks_policy
        assert [text for text in self.complaints if not any(each in text for each in allowed)] == []

    def _watch(self, page):
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))


@pytest.fixture
def visit(browser):
    visits = Visits(browser)
    yield visits
    for context in visits.contexts:
        context.close()
    visits.check()
