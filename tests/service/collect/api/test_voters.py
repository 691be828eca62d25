"""Who votes, whom to leave out, and who leaves."""

import pytest

from adaptive.ledger import Ledger
from tests.adaptive.ledger.campaigns import check_ledger, query
from tests.service.collect.browsing import arrived, problem


@pytest.fixture
def two(voting):
    """Keys of two voters who have answered everything: one like the alphabet, one the other way round."""
    keys = []
    for prefer in (min, max):
        voter, _ = voting.answer(6, prefer=prefer)
        keys.append(voter.me().json["voter"])
    return keys


def test_voters_are_listed_without_their_names(voting):
    (token,) = voting.invite("Ada")
    voting.answer(2)
    found = voting.get("/voters")
    assert "Ada" not in found.text
    assert found.json["n_voters"] == 2
    first, second = found.json["voters"]
    assert (first["source"], first["name"], first["n_votes"]) == ("invitation", None, 0)
    assert (second["source"], second["n_votes"], second["n_comparisons"], second["n_answered"]) == ("open", 2, 3, 2)
    assert second["consent_version"] == "1"
    assert token not in found.text
    named = voting.get("/voters?names=true").json["voters"]
    assert [each["name"] for each in named] == ["Ada", None]


def test_a_long_list_comes_in_parts(voting):
    voting.post("/invitations", {"number": 5}, status=201)
    keys = [each["key"] for each in voting.get("/voters").json["voters"]]
    part = voting.get("/voters?offset=3&limit=1").json
    assert (part["n_voters"], [each["key"] for each in part["voters"]]) == (5, keys[3:4])


def test_leaving_a_voter_out_is_shown_before_it_is_done(voting, two):
    keep, leave = two
    seen = voting.get(f"/voters/{leave}/exclusion").json["preview"]
    assert (seen["voter"], seen["excluded"], seen["n_votes"], seen["n_others"]) == (leave, False, 6, 6)
    assert -1 <= seen["tau_w"] <= 1
    assert seen["changes"]
    voting.post(f"/voters/{leave}/exclude", {"reason": "the other way round"}, status=204)
    listed = {each["key"]: each["excluded"] for each in voting.get("/voters").json["voters"]}
    assert listed == {keep: False, leave: True}
    result = voting.get("/results?interim=true").json
    assert (result["n_votes"], result["excluded"]) == (6, [leave])
    assert voting.get("/ballots/1/preview").json["n_answered"] == 6
    voting.post(f"/voters/{leave}/include", {"reason": "a mistake of ours"}, status=204)
    assert voting.get("/results?interim=true").json["n_votes"] == 12


def test_a_reason_is_wanted(voting, two):
    for body in ({}, {"reason": ""}, {"reason": "x\ny"}, {"reason": "x" * 501}):
        voting.post(f"/voters/{two[0]}/exclude", body, status=422)
    assert not any(each["excluded"] for each in voting.get("/voters").json["voters"])


def test_who_withdraws_is_forgotten_and_votes_of_open_ballots_do_not_count(voting, target):
    came = arrived(voting.app, voting, token=voting.invite("Ada Lovelace")[0])
    came.answer_sheet()
    key = came.me().json["voter"]
    assert voting.get("/progress").json["status"]["n_answered"] == 3
    assert voting.post(f"/voters/{key}/withdraw").json == {"voided": 3}
    assert voting.get("/progress").json["status"]["n_answered"] == 0
    ledger = Ledger.open(target)
    assert query(ledger, "SELECT 1 FROM voter_identity") == []
    assert query(ledger, "SELECT external_hash FROM voter") == [(None,)]
    assert came.me().status_code == 401
    assert "Ada" not in voting.get("/voters?names=true").text
    assert voting.get("/voters").json["voters"][0]["withdrawn"]
    voting.answer_all()
    assert voting.close(1).json["ballot"]["n_answered"] == 12
    check_ledger(ledger)


@pytest.mark.parametrize("path", ["exclude", "include", "withdraw"])
def test_a_voter_of_another_campaign_is_not_there(admin, voting, path):
    other = admin.make(name="other")
    other.invite("Ada")
    key = other.get("/voters").json["voters"][0]["key"]
    body = {} if path == "withdraw" else {"reason": "x"}
    for voter in (key, "Ada", "0" * 32):
        assert problem(voting.post(f"/voters/{voter}/{path}", body, status=404))[0] == "no-such-voter"
    assert problem(voting.get(f"/voters/{key}/exclusion", status=404))[0] == "no-such-voter"
    assert not other.get("/voters").json["voters"][0]["withdrawn"]


def test_a_voter_without_votes_makes_no_difference_to_show(voting):
    voting.post("/invitations", {"number": 1}, status=201)
    key = voting.get("/voters").json["voters"][0]["key"]
    assert problem(voting.get(f"/voters/{key}/exclusion", status=409))[0] == "not-possible"
