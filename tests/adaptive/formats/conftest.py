import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file of votes, and return its path."""

    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
