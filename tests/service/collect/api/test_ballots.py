"""Ballots: opening, review, closing, reopening; and progress, quality, items and ledger, which pages poll."""

import threading

import pytest

from service.collect.api.blueprints import CachedValue, ValueCache
from tests.service.collect.browsing import new_voter, problem


def test_only_one_ballot_is_open(voting):
    answer = voting.post("/ballots", status=409)
    assert problem(answer)[0] == "not-possible"
    assert [row["ballot"] for row in voting.get("/ballots").json["ballots"]] == [1]


def test_a_ballot_closes_only_in_the_reviewed_state(voting):
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


def test_a_refused_close_names_missing_answers(voting):
    voting.answer(4)
    preview = voting.get("/ballots/1/preview").json
    assert (preview["ready"], preview["n_answered"], preview["n_comparisons"]) == (False, 4, 12)
    stamp = voting.get("/ballots/1").headers["ETag"]
    refused = voting.post("/ballots/1/close", status=409, headers={"If-Match": stamp})
    kind, detail = problem(refused)
    few = "ballot 1: 4 of 12 comparisons are answered, 33%, and 90% are required; nothing was closed"
    silent = preview["preview"]["silent"]
    assert kind == "not-ready"
    assert detail.startswith(f"{few}, and a lower share cannot" if silent else f'{few} ("least_answered": 0.33 closes')
    assert voting.get("/ballots/1").json["ballot"]["state"] == "open"
    voting.answer(6)
    enough = {"least_answered": 0.5}
    silent = voting.get("/ballots/1/preview").json["preview"]["silent"]
    status = 409 if silent else 200
    voting.post("/ballots/1/close", enough, status=status, headers={"If-Match": stamp})


def test_a_ballot_full_of_cannot_say_names_the_comparisons_to_ask_again(voting):
    voters = [voting.voter() for _ in range(3)]
    for voter in voters:
        while (sheet := voter.sheet()) is not None:
            for pair in sheet["pairs"]:
                voter.vote(
                    pair["id"], "cannot say" if "ash" in (pair["left"]["text"], pair["right"]["text"]) else "left"
                )
    preview = voting.get("/ballots/1/preview")
    assert preview.json["n_answered"] == preview.json["n_comparisons"]
    assert preview.json["preview"]["silent"] == ["ash"]
    (name,) = preview.json["preview"]["to_void"]
    refused = voting.post("/ballots/1/close", status=409, headers={"If-Match": preview.headers["ETag"]})
    assert f"without any: 'ash'; void {name}, so that it is asked again" in problem(refused)[1]
    # The way that the page names, without the command: void all answers of a voter, who may answer again.
    voting.change_pages(cannot_say=False)
    for row in voting.get("/voters").json["voters"]:
        voting.post(f"/voters/{row['key']}/exclude", {"reason": "to answer again"}, status=204)
        voting.post(f"/voters/{row['key']}/ask-others")
        voting.post(f"/voters/{row['key']}/include", {"reason": "to answer again"}, status=204)
    for voter in voters:
        while (sheet := voter.sheet()) is not None:
            for pair in sheet["pairs"]:
                voter.vote(pair["id"], "right")
    assert voting.get("/ballots/1/preview").json["ready"]
    assert voting.close(1).json["ballot"]["n_counted"] == 12


def test_refusals_name_no_command_that_the_reader_cannot_run(voting):
    voter, _ = voting.answer(3)  # a sheet
    key = voter.me().json["voter"]
    voting.post(f"/voters/{key}/exclude", {"reason": "asked to"}, status=204)
    stamp = voting.get("/ballots/1").headers["ETag"]
    refusals = [
        voting.post("/ballots/1/close", {"least_answered": 1}, status=409, headers={"If-Match": stamp}),
        voting.post("/ballots", status=409),
    ]
    details = [problem(refusal)[1] for refusal in refusals]
    assert "of excluded voters do not count: ask others;" in details[0] or "a lower share cannot" in details[0]
    assert details[1] == "ballot 1 is open: close it before you open the next one"
    assert not any("ballots run" in detail for detail in details)


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


def test_a_closed_ballot_lists_the_selected_items(voting):
    voting.answer_all()
    assert voting.get("/ballots/1").json["going_on"] is None
    going_on = voting.close(1).json["going_on"]
    assert len(going_on) == 3
    voting.open()
    assert sorted(going_on) == sorted(row["item"] for row in voting.get("/items").json["items"] if row["presentations"])
    voting.answer_all()
    assert voting.close(2).json["going_on"] is None  # there is no next ballot


def test_the_preview_and_the_table_have_the_same_counts(voting):
    voter, n_answers = voting.answer(3)  # a sheet
    voting.answer_all()
    voting.post(f"/voters/{voter.me().json['voter']}/exclude", {"reason": "asked to"}, status=204)
    preview, result = voting.get("/ballots/1/preview").json, voting.get("/progress").json
    assert preview["n_answered"] == 12 - n_answers < 12
    assert result["ballots"][0]["n_counted"] == result["status"]["n_counted"] == preview["n_answered"]
    assert result["ballots"][0]["n_answered"] == 12
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
def test_an_unopened_ballot_is_not_found(voting, number):
    for path in (f"/ballots/{number}", f"/ballots/{number}/preview"):
        assert problem(voting.get(path, status=404))[0] == "no-such-ballot"
    stamp = {"If-Match": '"stamp"'}
    assert problem(voting.post(f"/ballots/{number}/close", status=404, headers=stamp))[0] == "no-such-ballot"
    assert problem(voting.post(f"/ballots/{number}/reopen", {"reason": "x"}, status=404))[0] == "no-such-ballot"


@pytest.mark.parametrize("share", [-0.1, 1.1, "0.5", None])
def test_the_required_share_must_be_a_share(voting, share):
    answer = voting.post("/ballots/1/close", {"least_answered": share}, status=422, headers={"If-Match": '"x"'})
    assert "/least_answered" in answer.json["errors"]


def test_the_last_ballot_without_enough_votes_has_no_preview(voting):
    voting.answer_all()
    voting.close(1)
    voting.open()
    voting.answer_all()
    voting.close(2)
    assert problem(voting.post("/ballots", status=409))[0] == "not-possible"
    assert problem(voting.get("/ballots/2/preview", status=409))[0] == "not-possible"
    assert voting.get("/progress").json["status"]["state"] == "finished"


def test_a_continuous_campaign_draws_batches_and_ends(admin):
    organiser = admin.make(plan={"mode": "continuous", "budget": 20, "batch": 10})
    assert organiser.open().json["ballot"]["n_comparisons"] == 10
    assert problem(organiser.post("/ballots", status=409))[0] == "not-ready"
    assert organiser.open(at_once=True).json["ballot"]["ballot"] == 2
    organiser.answer_all()
    last = organiser.get("/progress").json["status"]["ballot"]  # it may replace pairs of an earlier batch
    preview = organiser.get(f"/ballots/{last}/preview").json
    assert preview["ready"]
    assert preview["preview"] is None
    assert preview["expected"] is None or preview["expected"] <= 1  # 20 votes may not show a signal
    stamp = organiser.get("/ballots/1").headers["ETag"]  # of an earlier batch
    assert organiser.post(f"/ballots/{last}/close", status=412, headers={"If-Match": stamp}).json["status"] == 412
    detail = organiser.post("/ballots/1/close", status=412, headers={"If-Match": stamp}).json["detail"]
    assert f"closes it only if it is the last, {last}" in detail
    previews = [organiser.get(f"/ballots/{number}/preview") for number in (1, last)]
    assert len({answer.headers["ETag"] for answer in previews}) == 1
    assert organiser.close(last).json["ballot"]["state"] == "closed"
    headers = {"If-Match": previews[1].headers["ETag"]}
    assert problem(organiser.post(f"/ballots/{last}/close", status=412, headers=headers))[0] == "changed"
    assert organiser.get("/progress").json["status"]["state"] == "finished"
    assert organiser.get("/results").json["final"]


PATHS = ["/progress", "/quality", "/items", "/voters", "/results?interim=true", "/plots/strengths.svg?interim=true"]


@pytest.mark.wide
@pytest.mark.parametrize("path", PATHS)
def test_unchanged_answers_are_304(voting, path):
    voting.answer(4)
    first = voting.get(path)
    tag = {"If-None-Match": first.headers["ETag"]}
    again = voting.get(path, status=304, headers=tag)
    assert again.data == b""
    assert again.headers["ETag"] == first.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    voting.answer(1)
    changed = voting.get(path, headers=tag)
    assert changed.headers["ETag"] != first.headers["ETag"]


@pytest.mark.wide
@pytest.mark.parametrize("act", ["exclude", "invite", "close", "pages", "retract"])
def test_every_change_is_visible(voting, act):
    voter, _ = voting.answer(1)
    event = voter.sheet()["pairs"][0]["event_id"]
    key = voter.me().json["voter"]
    voting.answer_all()
    tag = {"If-None-Match": voting.get("/progress").headers["ETag"]}
    voting.get("/progress", status=304, headers=tag)
    {
        "exclude": lambda: voting.post(f"/voters/{key}/exclude", {"reason": "x"}, status=204),
        "invite": lambda: voting.invite("Ann"),
        "close": lambda: voting.close(1, least_answered=0.5),
        "pages": voting.change_pages,
        "retract": lambda: voter.post(f"/v1/votes/{event}/retract", {"event_id": event[:-4] + "0000"}),
    }[act]()
    changed = voting.get("/progress", headers=tag)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag["If-None-Match"]


@pytest.mark.wide
def test_items_with_the_fewest_answers_come_first(voting):
    voting.answer(5)
    rows = voting.get("/items").json["items"]
    answers = [row["n_answered"] for row in rows]
    assert answers == sorted(answers)
    assert sum(answers) == 10
    assert all(row["presentations"] == 4 for row in rows)
    part = voting.get("/items?offset=4&limit=5").json
    assert (part["n_items"], part["items"]) == (6, rows[4:])


@pytest.mark.wide
def test_quality_flags_fast_and_one_sided_voters(admin):
    organiser = admin.make(items_csv="item\n" + "\n".join(f"i{n:02}" for n in range(20)) + "\n", voters=2,
                           settings={"sheet_size": 50}, plan={"n_ballots": 2, "presentations": 8})  # fmt: skip
    organiser.open()
    honest, _ = organiser.answer(40)
    hasty = organiser.voter()
    while (sheet := hasty.sheet()) is not None:
        for pair in sheet["pairs"]:
            hasty.vote(pair["id"], "left", response_ms=200)
    result = {row["key"]: row for row in organiser.get("/quality").json["quality"]["voters"]}
    assert {"speed", "side"} <= {flag["kind"] for flag in result[hasty.me().json["voter"]]["flags"]}
    # With two voters, the model cannot tell which one is random.
    assert {flag["kind"] for flag in result[honest.me().json["voter"]]["flags"]} <= {"random"}
    slow = organiser.get("/quality?fast=0.1").json["quality"]["voters"]
    assert "speed" not in [flag["kind"] for row in slow for flag in row["flags"]]


@pytest.mark.wide
def test_quality_has_names_only_on_request(voting):
    voter = new_voter(voting.app, voting, token=voting.invite("Ada Lovelace")[0])
    voter.vote(voter.sheet()["pairs"][0]["id"])
    assert "Ada" not in voting.get("/quality").text
    assert "Ada Lovelace" in voting.get("/quality?names=true").text
    assert "Ada" not in voting.get("/quality").text


@pytest.mark.wide
@pytest.mark.parametrize(
    "path",
    [
        *(f"/quality?{query}" for query in ("fast=-1", "fast=abc", "fast=3601", "fast=nan", "slow=1")),
        *(f"/ledger?{query}" for query in ("after=-1", "after=x", "limit=0", "limit=1001")),
        *(f"/voters?{query}" for query in ("limit=0", "limit=1001", "offset=-1", "names=yes", "x=1")),
        "/voters?names=true&names=true",
    ],
)
def test_invalid_query_parameters_are_refused(voting, path):
    assert problem(voting.get(path, status=422))[0] == "invalid-request"


@pytest.mark.wide
def test_the_ledger_is_read_in_parts(voting):
    voter, _ = voting.answer(5)
    first = voting.get("/ledger?limit=3").json
    assert [event["kind"] for event in first["events"]] == ["cast"] * 3
    assert not first["complete"]
    event = first["events"][0]
    assert event["comparison"].startswith("1-")
    assert event["answer"] == ("left" if event["left"] < event["right"] else "right")
    assert (event["voter"], event["response_ms"], event["revision"]) == (voter.me().json["voter"], 1500, 1)
    rest = voting.get(f"/ledger?after={first['next']}").json
    assert len(rest["events"]) == 2
    assert rest["complete"]
    assert voting.get(f"/ledger?after={rest['next']}").json == {"events": [], "next": rest["next"], "complete": True}


@pytest.mark.wide
def test_a_retracted_vote_is_in_the_ledger_too(voting):
    voter = voting.voter()
    pair = voter.sheet()["pairs"][0]["id"]
    event = voter.vote(pair).json["event_id"]
    voter.post(f"/v1/votes/{event}/retract", {"event_id": event[:-4] + "0000"})
    assert [(event["kind"], event["answer"]) for event in voting.get("/ledger").json["events"]] == [
        ("cast", "left"),
        ("retract", None),
    ]


@pytest.mark.wide
def test_the_ledger_has_only_votes_of_its_campaign(admin, voting):
    voting.answer(2)
    other = admin.make(name="other")
    assert other.get("/ledger").json["events"] == []


@pytest.mark.wide
def test_requests_during_a_computation_get_the_previous_answer():
    memory, begun, go_on, got = ValueCache(), threading.Event(), threading.Event(), []
    memory.get("name", "old", lambda: 1)

    def slow():
        begun.set()
        assert go_on.wait(60)
        return 2

    maker = threading.Thread(target=lambda: got.append(memory.get("name", "new", slow)))
    maker.start()
    assert begun.wait(60)
    assert memory.get("name", "new", lambda: 3) == CachedValue("old", 1)
    go_on.set()
    maker.join()
    assert got == [CachedValue("new", 2)]
    assert memory.get("name", "new", lambda: 3) == CachedValue("new", 2)


@pytest.mark.wide
def test_failures_are_retried_and_the_cache_is_bounded():
    memory = ValueCache(3)
    with pytest.raises(ZeroDivisionError):
        memory.get("name", "stamp", lambda: 1 // 0)
    assert memory.get("name", "stamp", lambda: 7).value == 7
    for number in range(10):
        memory.get(number, "stamp", lambda: 0)
    assert len(memory._entries) == 3
    assert len(memory._computing) <= 3


@pytest.mark.parametrize("number", ["\u0661", "1_0", "+1", "%201", "1.0", "inf"])
def test_numbers_in_addresses_are_written_in_digits_of_ascii(voting, number):
    assert voting.get("/ballots/1").status_code == 200
    voting.get(f"/ballots/{number}", status=404)
