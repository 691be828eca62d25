"""The ranking, figures and files, which separate processes compute with a single fit."""

import io
import json
import zipfile

import pytest

from adaptive.ledger._reports import results
from service.http.state import state
from tests.service.collect.browsing import ITEMS, new_voter, problem
from tests.service.http.pool_scenarios import PoolOfCalls


@pytest.fixture
def answered_campaign(voting):
    """A campaign whose first ballot is answered and open."""
    voting.answer_all()
    return voting


def test_the_ranking_is_interim_before_the_last_ballot(answered_campaign):
    refused = answered_campaign.get("/results", status=409)
    kind, detail = problem(refused)
    assert kind == "not-possible"
    assert "interim=true" in detail  # as in the query
    result = answered_campaign.get("/results?interim=true").json
    assert not result["final"]
    order = [row["item"] for row in result["rows"]]
    order[2:4] = sorted(order[2:4])  # cedar and fir have equal wins and losses, and were never compared
    assert order == ITEMS
    assert "ybar" not in result["rows"][0]
    assert result["top"] == 3
    assert answered_campaign.get("/results?interim=true&top=2").json["cut"]["k"] == 2


def test_the_ranking_is_final_after_the_last_ballot_and_files_have_all_votes(answered_campaign):
    answered_campaign.close(1)
    answered_campaign.open()
    answered_campaign.answer_all()
    answered_campaign.close(2)
    result = answered_campaign.get("/results").json
    assert (result["final"], [row["item"] for row in result["rows"]]) == (True, ITEMS)
    assert result["rows"][0]["rank_low"] <= 1 <= result["rows"][0]["rank_high"]
    assert answered_campaign.get("/exports/csv").headers["Rankcorr-Votes"] == "18"
    assert answered_campaign.get("/exports/ranking").text.splitlines()[1].startswith("ash,1")
    assert b"<svg" in answered_campaign.get("/plots/strengths.svg").data


def test_without_a_vote_there_is_no_ranking(voting):
    assert problem(voting.get("/results?interim=true", status=409))[0] == "not-possible"
    assert problem(voting.get("/plots/strengths.svg?interim=true", status=409))[0] == "not-possible"
    assert problem(voting.get("/exports/ranking", status=409))[0] == "not-possible"


@pytest.mark.parametrize("query", ["top=0", "top=6", "top=x", "interim=1", "interim=true&k=2"])
def test_an_invalid_cut_is_refused(answered_campaign, query):
    assert problem(answered_campaign.get(f"/results?{query}", status=422))[0] == "invalid-request"


@pytest.mark.wide
@pytest.mark.parametrize("name", ["strengths", "ranks", "in-top", "voters"])
def test_figures_are_svg_without_scripts(answered_campaign, name):
    if name == "voters":  # with overlap or repeated pairs: two voters compare six items twelve times
        figure = answered_campaign.call("GET", f"/v1/campaigns/{answered_campaign.key}/plots/voters.svg")
        if figure.status_code == 409:
            assert problem(figure)[1] == "no two voters have answered the same pair yet"
            return
    figure = answered_campaign.get(f"/plots/{name}.svg?interim=true")
    assert figure.mimetype == "image/svg+xml"
    assert "sandbox" in figure.headers["Content-Security-Policy"]
    assert figure.headers["X-Content-Type-Options"] == "nosniff"
    assert b"<script" not in figure.data


def campaign_of_three(admin, label):
    """A campaign of this item and two others with an answered first ballot."""
    organiser = admin.make(
        items_csv=f"item\n{label}\nash\noak\n", plan={"n_ballots": 2, "fraction": 0.8, "presentations": 2}
    )
    organiser.open()
    organiser.answer_all()
    return organiser


@pytest.mark.wide
def test_labels_are_text_in_figures(admin):
    organiser = campaign_of_three(admin, "<script>alert(1)</script>")
    assert b"<script" not in organiser.get("/plots/strengths.svg?interim=true").data


def test_unknown_figures_and_formats_are_not_found(answered_campaign):
    assert problem(answered_campaign.get("/plots/pie.svg", status=404))[0] == "no-such-plot"
    assert problem(answered_campaign.get("/exports/xlsx", status=404))[0] == "no-such-format"
    assert problem(answered_campaign.get("/exports/csv?guard=maybe", status=422))[0] == "invalid-request"


def test_each_format_is_an_attachment(answered_campaign):
    endings = {"csv": "csv", "arena": "jsonl", "label_studio": "json", "potato": "jsonl", "choix": "zip"}
    for form, ending in endings.items():
        answer = answered_campaign.get(f"/exports/{form}")
        name = answer.headers["Content-Disposition"]
        assert name.startswith("attachment; filename=")
        assert name.endswith(f'-{answered_campaign.key[:8]}.{ending}"')
        assert (answer.headers["Rankcorr-Votes"], answer.headers["Rankcorr-Left-Out"]) == ("12", "0")
        assert answer.headers["Cache-Control"] == "no-store"
    assert len(json.loads(answered_campaign.get("/exports/label_studio").text)) == 12
    files = zipfile.ZipFile(io.BytesIO(answered_campaign.get("/exports/choix").data))
    assert sorted(files.namelist()) == ["items.csv", "pairs.csv"]
    assert answered_campaign.get("/exports/choix").data == answered_campaign.get("/exports/choix").data


def test_the_report_is_available_in_each_format_with_its_sources(answered_campaign):
    files = zipfile.ZipFile(io.BytesIO(answered_campaign.get("/exports/report").data))
    assert sorted(files.namelist()) == ["report.bib", "report.md", "report.tex", "report.txt"]
    texts = {name: files.read(name).decode() for name in files.namelist()}
    assert texts["report.md"].startswith("**Methods.** ")
    assert texts["report.tex"].startswith(r"\paragraph{Methods.} ")
    assert "12 votes" in texts["report.txt"]
    assert all("@software{rankcorr," in text for name, text in texts.items() if name != "report.tex")


def unpack(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    return b"".join(archive.read(name) for name in archive.namelist())


def test_names_are_exported_only_on_request(voting):
    voter = new_voter(voting.app, voting, token=voting.invite("Ada Lovelace")[0])
    voter.vote(voter.sheet()["pairs"][0]["id"])
    key = voter.me().json["voter"]
    for form in ("csv", "arena", "label_studio", "potato", "bundle"):
        for query, is_named in (("", False), ("?names=true", True)):
            data = voting.get(f"/exports/{form}{query}").data
            assert (b"Ada Lovelace" in (unpack(data) if form == "bundle" else data)) is is_named
    assert key in voting.get("/exports/csv").text


def test_formulas_in_cells_are_guarded_unless_disabled(admin):
    organiser = campaign_of_three(admin, "=1+1")
    for form in ("csv", "ranking"):
        assert "'=1+1" in organiser.get(f"/exports/{form}").text
        plain = organiser.get(f"/exports/{form}?guard=false").text
        assert "=1+1" in plain
        assert "'=1+1" not in plain


def test_comparisons_without_a_vote_are_exported_on_request(voting):
    voting.answer(2)
    assert len(voting.get("/exports/csv").text.splitlines()) == 3
    assert len(voting.get("/exports/csv?unanswered=true").text.splitlines()) == 13


def test_the_bundle_can_be_verified(answered_campaign, tmp_path):
    from adaptive.ledger._bundle.files import verify_bundle

    answered_campaign.close(1)
    path = tmp_path / "campaign.zip"
    path.write_bytes(answered_campaign.get("/exports/bundle").data)
    assert verify_bundle(path).n_votes == 12


def test_no_outdated_figure_is_cached_as_current(answered_campaign, monkeypatch):
    from adaptive.ledger import Campaign
    from service.collect.api import results
    from service.collect.api.blueprints import CachedValue

    calls = []
    monkeypatch.setattr(results._results, "get", lambda *_: CachedValue("of before", None))  # is being computed
    ranked = Campaign.result
    monkeypatch.setattr(Campaign, "result", lambda *args, **kwargs: calls.append(kwargs) or ranked(*args, **kwargs))
    assert answered_campaign.get("/plots/ranks.svg?interim=true").mimetype == "image/svg+xml"
    assert len(calls) == 1


HEAVY_PATHS = (
    "/results?interim=true",
    "/ballots/1/preview",
    "/quality",
    "/plots/strengths.svg?interim=true",
    "/plots/voters.svg?interim=true",
    *(f"/exports/{name}" for name in ("bundle", "ranking", "csv")),
)


@pytest.fixture
def pool(answered_campaign, monkeypatch):
    pool = PoolOfCalls(answered_campaign.app)
    monkeypatch.setattr(state(answered_campaign.app), "pool", pool)
    return pool


@pytest.mark.parametrize("path", HEAVY_PATHS)
def test_a_separate_process_answers(answered_campaign, pool, path):
    answered_campaign.call(
        "GET", f"/v1/campaigns/{answered_campaign.key}{path}"
    )  # one voter has no agreement with others to draw
    assert pool.clients == [f"organiser {answered_campaign.key}"]


def test_the_exclusion_of_a_voter_is_previewed_in_a_separate_process(answered_campaign, pool):
    voter = answered_campaign.get("/voters").json["voters"][0]["key"]
    assert pool.clients == []
    answered_campaign.get(f"/voters/{voter}/exclusion", status=409)  # there is no other voter
    assert len(pool.clients) == 1


def test_threads_answer_voters_and_unchanged_results(answered_campaign, pool):
    for path in ("", "/progress", "/ballots", "/items", "/voters"):
        answered_campaign.get(path)
    assert pool.clients == []
    tag = answered_campaign.get("/results?interim=true").headers["ETag"]
    pool.clients.clear()
    answered_campaign.get("/results?interim=true", headers={"If-None-Match": tag}, status=304)
    assert pool.clients == []
    answered_campaign.get("/exports/unheard-of", status=404)
    assert pool.clients == []


def test_the_same_fit_serves_every_cut_and_figure(answered_campaign, monkeypatch):
    fits = []
    fit = results.bradley_terry
    monkeypatch.setattr(results, "bradley_terry", lambda *args: fits.append(args) or fit(*args))
    answers = [answered_campaign.get(f"/results?interim=true&top={top}").json for top in range(1, 6)]
    assert [(answer["top"], answer["cut"]["k"]) for answer in answers] == [(top, top) for top in range(1, 6)]
    for top in (2, 3):
        answered_campaign.get(f"/plots/in-top.svg?interim=true&top={top}")
    assert len(fits) == 1
    assert answers[2]["rows"] == answered_campaign.get("/results?interim=true").json["rows"]
