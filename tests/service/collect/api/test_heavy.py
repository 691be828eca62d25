"""Requests of organisers that take long: separate processes answer them, and fit the strengths once."""

import pytest

from adaptive.ledger._ballots import results
from service.http.state import state
from tests.service.http.pool_scenarios import PoolOfCalls

HEAVY = (
    "/results?interim=true",
    "/ballots/1/preview",
    "/quality",
    "/plots/strengths.svg?interim=true",
    "/plots/voters.svg?interim=true",
    *(f"/exports/{name}" for name in ("bundle", "ranking", "csv")),
)


@pytest.fixture
def voted(voting):
    """A campaign whose first ballot is answered and open."""
    voting.answer_all()
    return voting


@pytest.fixture
def pool(voted, monkeypatch):
    pool = PoolOfCalls(voted.app)
    monkeypatch.setattr(state(voted.app), "pool", pool)
    return pool


@pytest.mark.parametrize("path", HEAVY)
def test_a_separate_process_answers(voted, pool, path):
    voted.call("GET", f"/v1/campaigns/{voted.key}{path}")  # one voter has no agreement with others to draw
    assert pool.clients == [f"organiser {voted.key}"]


def test_the_exclusion_of_a_voter_is_previewed_in_a_separate_process(voted, pool):
    voter = voted.get("/voters").json["voters"][0]["key"]
    assert pool.clients == []
    voted.get(f"/voters/{voter}/exclusion", status=409)  # there is no other voter
    assert len(pool.clients) == 1


def test_threads_answer_voters_who_watch_and_what_is_unchanged(voted, pool):
    for path in ("", "/progress", "/ballots", "/items", "/voters"):
        voted.get(path)
    assert pool.clients == []
    tag = voted.get("/results?interim=true").headers["ETag"]
    pool.clients.clear()
    voted.get("/results?interim=true", headers={"If-None-Match": tag}, status=304)
    assert pool.clients == []
    voted.get("/exports/unheard-of", status=404)
    assert pool.clients == []


def test_the_same_fit_serves_every_cut_and_figure(voted, monkeypatch):
    fits = []
    fit = results.bradley_terry
    monkeypatch.setattr(results, "bradley_terry", lambda *args: fits.append(args) or fit(*args))
    answers = [voted.get(f"/results?interim=true&top={top}").json for top in range(1, 6)]
    assert [(answer["top"], answer["cut"]["k"]) for answer in answers] == [(top, top) for top in range(1, 6)]
    for top in (2, 3):
        voted.get(f"/plots/in-top.svg?interim=true&top={top}")
    assert len(fits) == 1
    assert answers[2]["rows"] == voted.get("/results?interim=true").json["rows"]
