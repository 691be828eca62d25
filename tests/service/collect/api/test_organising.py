"""The whole way of a campaign, from a table of items to the exports."""

import io
import zipfile

from tests.service.collect.organiser import ITEMS


def test_a_campaign_goes_from_its_items_to_the_exported_ranking(organiser):
    about = organiser.get().json
    assert (about["name"], about["plan"]["sizes"], about["plan"]["comparisons"]) == ("trees", [6, 3], [12, 6])
    opened = organiser.open()
    assert (opened.json["ballot"]["state"], opened.json["ballot"]["n_comparisons"]) == ("open", 12)
    made = organiser.post("/invitations", {"voters": ["Ada", "=Grace"]}, status=201).json
    assert [each["name"] for each in made["invitations"]] == ["Ada", "=Grace"]
    assert made["csv"].splitlines()[2].startswith("'=Grace,http://localhost/v/")
    before = organiser.get("/progress")
    assert before.json["status"]["n_answered"] == 0
    organiser.answer_all()
    assert organiser.get("/progress").json["status"]["n_answered"] == 12
    preview = organiser.get("/ballots/1/preview").json
    assert preview["ready"]
    assert preview["preview"]["n_going_on"] == 3
    closed = organiser.close(1).json
    assert closed["ballot"]["state"] == "closed"
    assert len(closed["chain_digest"]) == 64
    organiser.open()
    organiser.answer_all()
    organiser.close(2)
    results = organiser.get("/results").json
    assert results["final"]
    assert [row["item"] for row in results["rows"]] == ITEMS
    assert results["rows"][0]["rank_low"] <= 1 <= results["rows"][0]["rank_high"]
    votes = organiser.get("/exports/csv")
    assert votes.headers["Rankcorr-Votes"] == "18"
    assert len(votes.text.splitlines()) == 19
    bundle = zipfile.ZipFile(io.BytesIO(organiser.get("/exports/bundle").data))
    assert "SHA256SUMS" in {name.rpartition("/")[2] for name in bundle.namelist()}
    ranking = organiser.get("/exports/ranking").text.splitlines()
    assert ranking[1].startswith("ash,1")
    for name in ("strengths", "ranks", "in-top"):
        drawn = organiser.get(f"/plots/{name}.svg")
        assert drawn.mimetype == "image/svg+xml"
        assert b"<svg" in drawn.data
