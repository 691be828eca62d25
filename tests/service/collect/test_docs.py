"""The pages on campaigns over HTTP: their tables and files against the code."""

import re

from tests.repository import PAGES, ROOT


def test_the_tables_name_every_operation(client):
    served = {
        (method.upper(), path)
        for path, methods in client.get("/openapi.json").json["paths"].items()
        for method in methods
        if method != "parameters" and path.startswith("/v1/")
    }
    page = PAGES["docs/reference/http-collect.md"]
    rows = re.findall(r"^\| `([A-Z]+) (\S+)` \|", page, re.MULTILINE)
    shown = [(method, path.replace("...", "/v1/campaigns/{key}")) for method, path in rows]
    assert len(shown) == len(set(shown)) > 40
    assert set(shown) == served


def test_the_folder_of_votes_is_that_of_the_makefile_and_is_ignored():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "RANKCORR_LEDGER=.collect/votes.db" in makefile
    assert "`.collect/votes.db`" in PAGES["docs/how-to/servers.md"]
    assert ".collect/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    clean = re.search(r"^clean:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    assert ".collect" not in clean
