import pytest

from tests.adaptive.ledger.voted import sqlite, target

__all__ = ["other", "sqlite", "target"]


@pytest.fixture
def other(tmp_path):
    """Path of another ledger that is not there yet."""
    return str(tmp_path / "other.db")
