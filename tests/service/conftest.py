import pytest

from service import Limits, Settings, create_app
from tests.service.live import live_server  # noqa: F401 - a fixture


@pytest.fixture
def make_client():
    """Create a test client with these limits and settings; others have defaults, except that work may take long."""
    names = set(Limits.__dataclass_fields__)

    def make(**options):
        limits = Limits(**{"max_seconds": 600.0, **{name: value for name, value in options.items() if name in names}})
        settings = Settings(limits=limits, **{name: value for name, value in options.items() if name not in names})
        return create_app(settings).test_client()

    return make


@pytest.fixture
def client(make_client):
    return make_client()
