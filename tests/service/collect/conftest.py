import pytest

from service.collect import CollectSettings, create_app
from service.http.state import state


@pytest.fixture
def make_app(tmp_path):
    """Make an app on a ledger of its own, from settings; what is not given has its default."""
    made = []

    def make(**chosen):
        app = create_app(CollectSettings(**{"ledger": str(tmp_path / "collect.db"), **chosen}))
        made.append(app)
        return app

    yield make
    for app in made:
        state(app).resources.close()


@pytest.fixture
def client(make_app):
    return make_app().test_client()
