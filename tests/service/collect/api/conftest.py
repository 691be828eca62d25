import pytest

from tests.service.collect.organiser import ADMIN, Organiser


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
