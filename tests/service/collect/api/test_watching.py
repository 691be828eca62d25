"""Progress, quality, items, ledger: what an organiser's pages ask again and again."""

import threading

import pytest

from service.collect.api.blueprints import CachedValue, ValueCache
from tests.service.collect.browsing import arrived
from tests.service.collect.organiser import problem

WATCHED = ["/progress", "/quality", "/items", "/voters", "/results?interim=true", "/plots/strengths.svg?interim=true"]


@pytest.mark.parametrize("path", WATCHED)
def test_nothing_is_sent_again_while_nothing_has_changed(voting, path):
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


@pytest.mark.parametrize("act", ["exclude", "invite", "close", "pages", "retract"])
def test_whatever_is_done_shows(voting, act):
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
    voting.get("/progress", headers=tag)


def test_progress_counts_votes_and_ballots(voting):
    voting.answer(5)
    found = voting.get("/progress").json
    status = found["status"]
    assert (status["state"], status["ballot"], status["n_ballots"]) == ("open", 1, 2)
    assert (status["n_answered"], status["n_comparisons"], status["n_voters"]) == (5, 12, 1)
    (ballot,) = found["ballots"]
    assert (ballot["ballot"], ballot["state"], ballot["n_answered"], ballot["n_sheets_done"]) == (1, "open", 5, 1)
    assert ballot["closed_at"] is None


def test_items_with_the_fewest_answers_come_first(voting):
    voting.answer(5)
    rows = voting.get("/items").json["items"]
    answers = [row["n_answered"] for row in rows]
    assert answers == sorted(answers)
    assert sum(answers) == 10
    assert all(row["presentations"] == 4 for row in rows)
    part = voting.get("/items?offset=4&limit=5").json
    assert (part["n_items"], part["items"]) == (6, rows[4:])


def test_quality_flags_who_answers_in_no_time_and_on_one_side(admin):
    organiser = admin.make(items_csv="item\n" + "\n".join(f"i{n:02}" for n in range(20)) + "\n", voters=2,
                           settings={"sheet_size": 50}, plan={"n_ballots": 2, "presentations": 8})  # fmt: skip
    organiser.open()
    honest, _ = organiser.answer(40)
    hasty = organiser.voter()
    while (sheet := hasty.sheet()) is not None:
        for pair in sheet["pairs"]:
            hasty.vote(pair["id"], "left", response_ms=200)
    found = {each["key"]: each for each in organiser.get("/quality").json["quality"]["voters"]}
    assert {"speed", "side"} <= {flag["kind"] for flag in found[hasty.me().json["voter"]]["flags"]}
    # Of two voters the model cannot know which one flips coins.
    assert {flag["kind"] for flag in found[honest.me().json["voter"]]["flags"]} <= {"random"}
    slow = organiser.get("/quality?fast=0.1").json["quality"]["voters"]
    assert "speed" not in [flag["kind"] for each in slow for flag in each["flags"]]


def test_quality_has_names_only_where_they_are_asked_for(voting):
    came = arrived(voting.app, voting, token=voting.invite("Ada Lovelace")[0])
    came.vote(came.sheet()["pairs"][0]["id"])
    assert "Ada" not in voting.get("/quality").text
    assert "Ada Lovelace" in voting.get("/quality?names=true").text
    assert "Ada" not in voting.get("/quality").text


@pytest.mark.parametrize("query", ["fast=-1", "fast=abc", "fast=3601", "fast=nan", "slow=1"])
def test_a_limit_that_is_none_is_refused(voting, query):
    assert problem(voting.get(f"/quality?{query}", status=422))[0] == "invalid-request"


def test_the_ledger_is_read_from_where_one_has_got_to(voting):
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


def test_a_vote_that_was_taken_back_is_in_the_ledger_too(voting):
    voter = voting.voter()
    pair = voter.sheet()["pairs"][0]["id"]
    event = voter.vote(pair).json["event_id"]
    voter.post(f"/v1/votes/{event}/retract", {"event_id": event[:-4] + "0000"})
    assert [(each["kind"], each["answer"]) for each in voting.get("/ledger").json["events"]] == [
        ("cast", "left"),
        ("retract", None),
    ]


def test_the_ledger_has_the_votes_of_its_campaign_alone(admin, voting):
    voting.answer(2)
    other = admin.make(name="other")
    assert other.get("/ledger").json["events"] == []


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=1001"])
def test_a_place_in_the_ledger_is_a_number(voting, query):
    assert problem(voting.get(f"/ledger?{query}", status=422))[0] == "invalid-request"


def test_who_asks_while_another_waits_for_an_answer_gets_the_one_of_before():
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


def test_what_fails_is_tried_again_and_only_so_many_answers_are_kept():
    memory = ValueCache(3)
    with pytest.raises(ZeroDivisionError):
        memory.get("name", "stamp", lambda: 1 // 0)
    assert memory.get("name", "stamp", lambda: 7).value == 7
    for number in range(10):
        memory.get(number, "stamp", lambda: 0)
    assert len(memory._entries) == 3
    assert len(memory._computing) <= 3
