"""Opening, looking at, closing and opening again."""

import pytest

from tests.service.collect.organiser import problem


def test_a_ballot_is_open_once(voting):
    answer = voting.post("/ballots", status=409)
    assert problem(answer)[0] == "not-possible"
    assert [row["ballot"] for row in voting.get("/ballots").json["ballots"]] == [1]


def test_a_ballot_closes_only_as_it_was_looked_at(voting):
    voting.answer_all()
    path = "/ballots/1/close"
    assert problem(voting.post(path, status=428))[0] == "condition-needed"
    assert problem(voting.post(path, status=428, headers={"If-Match": "*"}))[0] == "condition-needed"
    assert problem(voting.post(path, status=412, headers={"If-Match": '"another"'}))[0] == "changed"
    assert voting.get("/ballots/1").json["ballot"]["state"] == "open"
    stamp = voting.get("/ballots/1/preview").headers["ETag"]
    assert stamp.removeprefix("W/") == voting.get("/ballots/1").headers["ETag"].removeprefix("W/")
    closed = voting.post(path, headers={"If-Match": stamp}).json
    assert closed["ballot"]["state"] == "closed"
    assert problem(voting.post(path, status=412, headers={"If-Match": stamp}))[0] == "changed"


def test_votes_do_not_change_what_was_looked_at_but_voters_who_are_left_out_do(voting):
    voter, _ = voting.answer(4)
    stamp = voting.get("/ballots/1").headers["ETag"]
    voting.answer_all()
    assert voting.get("/ballots/1").headers["ETag"] == stamp
    key = voter.me().json["voter"]
    voting.post(f"/voters/{key}/exclude", {"reason": "asked to"}, status=204)
    refused = voting.post("/ballots/1/close", status=412, headers={"If-Match": stamp})
    assert problem(refused)[0] == "changed"
    assert voting.get("/ballots/1").headers["ETag"] != stamp


def test_what_is_missing_is_said_and_the_ballot_stays_open(voting):
    voting.answer(4)
    preview = voting.get("/ballots/1/preview").json
    assert (preview["ready"], preview["n_answered"], preview["n_comparisons"]) == (False, 4, 12)
    stamp = voting.get("/ballots/1").headers["ETag"]
    refused = voting.post("/ballots/1/close", status=409, headers={"If-Match": stamp})
    assert problem(refused) == (
        "not-ready",
        "ballot 1: 4 of 12 comparisons are answered, 33%, and 90% are required; nothing was closed "
        "(least_answered=0.33 closes it)",
    )
    assert voting.get("/ballots/1").json["ballot"]["state"] == "open"
    voting.answer(6)
    enough = {"least_answered": 0.5}
    silent = voting.get("/ballots/1/preview").json["preview"]["silent"]
    status = 409 if silent else 200
    voting.post("/ballots/1/close", enough, status=status, headers={"If-Match": stamp})


def test_a_preview_has_the_cut_and_the_items_with_few_answers(voting):
    preview = voting.get("/ballots/1/preview").json
    assert preview["preview"]["silent"] == ["ash", "birch", "cedar", "fir", "oak", "yew"]
    assert preview["preview"]["n_tied_at_cut"] is None
    voting.answer_all()
    preview = voting.get("/ballots/1/preview").json["preview"]
    assert preview["silent"] == []
    assert preview["n_tied_at_cut"] == 2
    assert preview["cut"]["k"] == preview["n_going_on"] == 3
    assert 0 <= preview["cut"]["confidence"] <= 1
    assert all(answers == 4 for _, answers in preview["fewest"])


def test_a_closed_ballot_says_which_items_go_on(voting):
    voting.answer_all()
    assert voting.get("/ballots/1").json["going_on"] is None
    going_on = voting.close(1).json["going_on"]
    assert len(going_on) == 3
    voting.open()
    assert sorted(going_on) == sorted(row["item"] for row in voting.get("/items").json["items"] if row["presentations"])
    voting.answer_all()
    assert voting.close(2).json["going_on"] is None  # nothing comes next


def test_what_the_preview_and_the_table_count_is_the_same(voting):
    voter, given = voting.answer(3)  # a sheet
    voting.answer_all()
    voting.post(f"/voters/{voter.me().json['voter']}/exclude", {"reason": "asked to"}, status=204)
    preview, found = voting.get("/ballots/1/preview").json, voting.get("/progress").json
    assert preview["n_answered"] == 12 - given < 12
    assert found["ballots"][0]["n_counted"] == found["status"]["n_counted"] == preview["n_answered"]
    assert found["ballots"][0]["n_answered"] == 12
    answers = {row["item"]: row["n_answered"] for row in voting.get("/items").json["items"]}
    assert [answers[item] for item, _ in preview["preview"]["fewest"]] == [n for _, n in preview["preview"]["fewest"]]
    assert sum(answers.values()) == 2 * preview["n_answered"]


def test_the_last_closed_ballot_opens_again_with_a_reason(voting):
    voting.answer_all()
    closed = voting.close(1).json
    voting.post("/ballots/1/reopen", {}, status=422)
    voting.post("/ballots/1/reopen", {"reason": " "}, status=422)
    opened = voting.post("/ballots/1/reopen", {"reason": "a group came late"}).json
    assert (opened["ballot"]["state"], opened["chain_digest"]) == ("open", None)
    assert voting.close(1).json["chain_digest"] == closed["chain_digest"]
    voting.open()
    refused = voting.post("/ballots/1/reopen", {"reason": "too late"}, status=409)
    assert problem(refused)[0] == "not-possible"


@pytest.mark.parametrize("number", [0, 2, 99, 2**70])
def test_a_ballot_that_was_not_opened_is_not_there(voting, number):
    for path in (f"/ballots/{number}", f"/ballots/{number}/preview"):
        assert problem(voting.get(path, status=404))[0] == "no-such-ballot"
    stamp = {"If-Match": '"stamp"'}
    assert problem(voting.post(f"/ballots/{number}/close", status=404, headers=stamp))[0] == "no-such-ballot"
    assert problem(voting.post(f"/ballots/{number}/reopen", {"reason": "x"}, status=404))[0] == "no-such-ballot"


@pytest.mark.parametrize("share", [-0.1, 1.1, "0.5", None])
def test_the_share_that_is_enough_is_a_share(voting, share):
    answer = voting.post("/ballots/1/close", {"least_answered": share}, status=422, headers={"If-Match": '"x"'})
    assert "/least_answered" in answer.json["errors"]


def test_a_ballot_without_enough_votes_has_nothing_to_preview_after_the_last(voting):
    voting.answer_all()
    voting.close(1)
    voting.open()
    voting.answer_all()
    voting.close(2)
    assert problem(voting.post("/ballots", status=409))[0] == "not-possible"
    assert problem(voting.get("/ballots/2/preview", status=409))[0] == "not-possible"
    assert voting.get("/progress").json["status"]["state"] == "finished"


def test_batches_of_a_continuous_campaign_are_drawn_and_ended(admin):
    organiser = admin.make(plan={"mode": "continuous", "budget": 20, "batch": 10})
    assert organiser.open().json["ballot"]["n_comparisons"] == 10
    assert problem(organiser.post("/ballots", status=409))[0] == "not-ready"
    assert organiser.open(at_once=True).json["ballot"]["ballot"] == 2
    organiser.answer_all()
    last = organiser.get("/progress").json["status"]["ballot"]  # one may replace what its voter could not be asked
    preview = organiser.get(f"/ballots/{last}/preview").json
    assert preview["ready"]
    assert preview["preview"] is None
    assert preview["expected"] is None or preview["expected"] <= 1  # 20 votes may show no signal
    stamp = organiser.get("/ballots/1").headers["ETag"]  # of another batch than the last
    assert organiser.post(f"/ballots/{last}/close", status=412, headers={"If-Match": stamp}).json["status"] == 412
    assert organiser.close(last).json["ballot"]["state"] == "closed"
    assert organiser.get("/progress").json["status"]["state"] == "finished"
    assert organiser.get("/results").json["final"]
