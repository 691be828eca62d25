"""What docs/voting.md says of the program."""

import re

from service.server.launch import COLLECT
from tests.distributions import ROOT
from tests.documents import PAGES

PAGE = PAGES["docs/voting.md"]


def test_the_table_of_settings_is_that_of_the_code():
    shown = re.findall(r"^\| `(RANKCORR_[A-Z_]+)` \| (.*?) \| (.+) \|$", PAGE, re.MULTILINE)
    code = [(name, "" if name.endswith("TOKENS") else str(value), about) for name, value, about in COLLECT.table()]
    assert shown == code


def test_the_folder_of_votes_is_that_of_the_makefile_and_is_ignored():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "RANKCORR_LEDGER=.collect/votes.db" in makefile
    assert "`.collect/votes.db`" in PAGE
    assert ".collect/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    clean = re.search(r"^clean:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    assert ".collect" not in clean
