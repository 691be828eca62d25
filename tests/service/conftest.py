import pytest

from service import Limits, Settings, create_app
from service.http.state import Deadline
from tests.service.live import live_server  # noqa: F401 - a fixture


@pytest.fixture
def make_client():
    """Make a test client from limits and settings; what is not given has its default, but for ample time to work."""
    names = set(Limits.__dataclass_fields__)

    def make(**chosen):
        limits = Limits(**{"max_seconds": 600.0, **{name: value for name, value in chosen.items() if name in names}})
        settings = Settings(limits=limits, **{name: value for name, value in chosen.items() if name not in names})
        return create_app(settings).test_client()

    return make


@pytest.fixture
def slow_clock(monkeypatch):
    """Let a second pass with each look at the clock of a deadline."""

    class Slow(Deadline):
        def __init__(self, seconds):
            super().__init__(seconds, iter(range(1, 1_000_000)).__next__)

    monkeypatch.setattr("service.http.state.Deadline", Slow)


@pytest.fixture
def client(make_client):
    return make_client()
