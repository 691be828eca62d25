import pytest

from tests.adaptive.ledger.voted import postgres, sqlite, target

__all__ = ["other", "postgres", "sqlite", "target"]


@pytest.fixture
def other(tmp_path):
    """Path of another ledger that is not there yet."""
    return str(tmp_path / "other.db")
