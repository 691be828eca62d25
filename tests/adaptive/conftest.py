"""What tests of files share."""

import pytest


@pytest.fixture
def write(tmp_path, request):
    """Write a file, called as the module's FILE says, and return its path."""
    usual = getattr(request.module, "FILE", "votes.csv")

    def write(content, name=usual):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
