"""Voters: lists, exclusions and withdrawals."""

import pytest

from adaptive._cli.main import main
from adaptive.ledger import ContinuousPlan, Ledger, LedgerError, NotReadyError
from tests.adaptive.ledger.campaigns import check_ledger, query
from tests.commands import Command
from tests.service.collect.browsing import Organiser, new_campaign, new_voter, problem, token_of


@pytest.fixture
def keys(voting):
    """Keys of two voters who have answered everything: one alphabetically, one in reverse."""
    keys = []
    for prefer in (min, max):
        voter, _ = voting.answer(6, prefer=prefer)
        keys.append(voter.me().json["voter"])
    return keys


def test_voters_are_listed_without_their_names(voting):
    (token,) = voting.invite("Ada")
    voting.answer(2)
    result = voting.get("/voters")
    assert "Ada" not in result.text
    assert result.json["n_voters"] == 2
    first, second = result.json["voters"]
    assert (first["source"], first["name"], first["n_votes"]) == ("invitation", None, 0)
    assert (second["source"], second["n_votes"], second["n_comparisons"], second["n_answered"]) == ("open", 2, 3, 2)
    assert second["consent_version"] == "1"
    assert token not in result.text
    named = voting.get("/voters?names=true").json["voters"]
    assert [row["name"] for row in named] == ["Ada", None]


def test_a_long_list_is_sent_in_parts(voting):
    voting.post("/invitations", {"number": 5}, status=201)
    keys = [row["key"] for row in voting.get("/voters").json["voters"]]
    part = voting.get("/voters?offset=3&limit=1").json
    assert (part["n_voters"], [row["key"] for row in part["voters"]]) == (5, keys[3:4])


def test_an_exclusion_can_be_previewed(voting, keys):
    keep, leave = keys
    preview = voting.get(f"/voters/{leave}/exclusion").json["preview"]
    assert (preview["voter"], preview["excluded"], preview["n_votes"], preview["n_others"]) == (leave, False, 6, 6)
    assert -1 <= preview["tau_w"] <= 1
    assert preview["changes"]
    voting.post(f"/voters/{leave}/exclude", {"reason": "the other way round"}, status=204)
    listed = {row["key"]: row["excluded"] for row in voting.get("/voters").json["voters"]}
    assert listed == {keep: False, leave: True}
    result = voting.get("/results?interim=true").json
    assert (result["n_votes"], result["excluded"]) == (6, [leave])
    assert voting.get("/ballots/1/preview").json["n_answered"] == 6
    voting.post(f"/voters/{leave}/include", {"reason": "a mistake of ours"}, status=204)
    assert voting.get("/results?interim=true").json["n_votes"] == 12


def test_an_exclusion_needs_a_reason(voting, keys):
    for body in ({}, {"reason": ""}, {"reason": "x\ny"}, {"reason": "x" * 501}):
        voting.post(f"/voters/{keys[0]}/exclude", body, status=422)
    assert not any(row["excluded"] for row in voting.get("/voters").json["voters"])


def test_withdrawing_erases_the_voter_and_voids_votes_of_open_ballots(voting, target):
    voter = new_voter(voting.app, voting, token=voting.invite("Ada Lovelace")[0])
    voter.answer_sheet()
    key = voter.me().json["voter"]
    assert voting.get("/progress").json["status"]["n_answered"] == 3
    assert voting.post(f"/voters/{key}/withdraw").json == {"voided": 3}
    assert voting.get("/progress").json["status"]["n_answered"] == 0
    ledger = Ledger.open(target)
    assert query(ledger, "SELECT 1 FROM voter_identity") == []
    assert query(ledger, "SELECT external_hash FROM voter") == [(None,)]
    assert voter.me().status_code == 401
    assert "Ada" not in voting.get("/voters?names=true").text
    assert voting.get("/voters").json["voters"][0]["withdrawn"]
    voting.answer_all()
    assert voting.close(1).json["ballot"]["n_answered"] == 12
    check_ledger(ledger)


@pytest.mark.parametrize("path", ["exclude", "include", "withdraw"])
def test_a_voter_of_another_campaign_is_not_found(admin, voting, path):
    other = admin.make(name="other")
    other.invite("Ada")
    key = other.get("/voters").json["voters"][0]["key"]
    body = {} if path == "withdraw" else {"reason": "x"}
    for voter in (key, "Ada", "0" * 32):
        assert problem(voting.post(f"/voters/{voter}/{path}", body, status=404))[0] == "no-such-voter"
    assert problem(voting.get(f"/voters/{key}/exclusion", status=404))[0] == "no-such-voter"
    assert not other.get("/voters").json["voters"][0]["withdrawn"]


def test_excluding_a_voter_without_votes_has_no_preview(voting):
    voting.post("/invitations", {"number": 1}, status=201)
    key = voting.get("/voters").json["voters"][0]["key"]
    assert problem(voting.get(f"/voters/{key}/exclusion", status=409))[0] == "not-possible"


@pytest.fixture
def campaign(target):
    """A continuous campaign that deals its sheets to Ann, Bob and Cy, who have answered two batches."""
    plan, names = ContinuousPlan(6, budget=30, batch=10), ["Ann", "Bob", "Cy"]
    campaign = new_campaign(target, plan=plan, voters=names, assigned=True, sheet_size=None, lease_minutes=None)
    answer_held(campaign)
    campaign.open_next()
    answer_held(campaign)
    yield campaign
    campaign.database.close()


def answer_held(campaign):
    """All voters answer what they hold."""
    campaign.record({pair.id: "left" for pair in campaign.asked(unanswered=True) if pair.voter})


@pytest.mark.parametrize("surface", ["command", "http"])
def test_sheets_of_a_voter_who_left_go_to_another_whatever_the_surface(app, campaign, target, surface):
    bob = campaign.voters.named("Bob")
    if surface == "http":
        Organiser(app, token_of(campaign, "organiser"), campaign.key).post(f"/voters/{bob.key}/withdraw")
    else:
        assert bob.key in Command(main, "ballots").ok("run", "withdraw", target, "Bob")
    with pytest.raises(NotReadyError, match=r"6 are on sheets of voters who left or are excluded: give them to others"):
        campaign.open_next()
    campaign.open_next(at_once=True)
    assert "Bob" not in [row.name for row in campaign.voters.rows(names=True)]  # a draw does not bring the voter back
    answer_held(campaign)
    with pytest.raises(LedgerError, match="already seen in this campaign; give it to another voter or to a new one"):
        campaign.voters.give_sheets("Ann", giver=bob.key)
    assert Command(main, "ballots").ok("run", "assign", target, "Dora", "--from", bob.key) == "3 sheets given to Dora\n"
    answer_held(campaign)
    status = campaign.status()
    assert (status.n_answered, status.n_comparisons) == (30, 30)
    campaign.close(3)
    check_ledger(campaign)
    assert campaign.verify().n_comparisons == 30
