"""Fixtures: an app on a ledger of its own, its campaign, its voters and its organiser."""

import shutil
from importlib.util import find_spec

import pytest

from service.collect import CollectSettings, create_app
from service.http.state import state
from tests.adaptive.ledger.databases import empty_file
from tests.service.collect.browsing import ADMIN, Organiser, Voter, new_campaign

# `make test` installs no playwright.
collect_ignore = [] if find_spec("playwright") else ["browser"]


@pytest.fixture
def target(tmp_path):
    """Path of the ledger of the server, without campaigns."""
    return shutil.copy(empty_file(), str(tmp_path / "collect.db"))


@pytest.fixture
def make_app(target):
    """Make an app on a ledger of its own, from settings; what is not given has its default."""
    made = []

    def make(**chosen):
        app = create_app(CollectSettings(**{"ledger": target, **chosen}))
        made.append(app)
        return app

    yield make
    for app in made:
        state(app).resources.close()


@pytest.fixture
def client(make_app):
    return make_app().test_client()


@pytest.fixture
def campaign(target):
    """A campaign with an open link, whose first ballot is open."""
    made = new_campaign(target)
    yield made
    made.database.close()


@pytest.fixture
def arrive(make_app, campaign):
    """Make a voter of the campaign with a browser of its own, who has not come in yet."""
    app = make_app()

    def make():
        return Voter(app.test_client(), campaign)

    return make


@pytest.fixture
def app(make_app):
    """An app in which campaigns may be made."""
    return make_app(tokens=(ADMIN,))


@pytest.fixture
def admin(app):
    """A program with a token that may make campaigns."""
    return Organiser(app, ADMIN)


@pytest.fixture
def organiser(admin):
    """The organiser of a new campaign of six items, without a ballot yet."""
    return admin.make()


@pytest.fixture
def voting(organiser):
    """The organiser of a campaign whose first ballot is open."""
    organiser.open()
    return organiser
