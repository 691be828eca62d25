import pytest

from tests.rankcorr.cli.commands import write_rankings


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files that `write_rankings` makes."""
    monkeypatch.chdir(tmp_path)
    write_rankings()
    return tmp_path
