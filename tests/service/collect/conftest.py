"""Fixtures: an app on a new ledger, with a campaign, voters and an organiser."""

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
    """Path of the server's ledger, without campaigns."""
    return shutil.copy(empty_file(), str(tmp_path / "collect.db"))


@pytest.fixture
def make_app(target):
    """Create an app on a new ledger, with these settings or defaults."""
    apps = []

    def make(**settings):
        app = create_app(CollectSettings(**{"ledger": target, **settings}))
        apps.append(app)
        return app

    yield make
    for app in apps:
        state(app).resources.close()


@pytest.fixture
def client(make_app):
    return make_app().test_client()


@pytest.fixture
def campaign(target):
    """A campaign with an open link, whose first ballot is open."""
    new_campaign_ = new_campaign(target)
    yield new_campaign_
    new_campaign_.database.close()


@pytest.fixture
def arrive(make_app, campaign):
    """Create a voter of the campaign with a new browser, who has not joined yet."""
    app = make_app()

    def make():
        return Voter(app.test_client(), campaign)

    return make


@pytest.fixture
def app(make_app):
    """An app in which campaigns can be created."""
    return make_app(tokens=(ADMIN,))


@pytest.fixture
def admin(app):
    """A client with a token that may create campaigns."""
    return Organiser(app, ADMIN)


@pytest.fixture
def organiser(admin):
    """The organiser of a new campaign of six items, without a ballot."""
    return admin.make()


@pytest.fixture
def voting(organiser):
    """The organiser of a campaign with an open first ballot."""
    organiser.open()
    return organiser
