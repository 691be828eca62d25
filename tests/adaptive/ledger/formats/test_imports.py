"""Files of votes that mean nothing are refused, with their line, and nothing is recorded."""

import json

import pytest

from adaptive.errors import ComparisonError, TableError, VoteError
from adaptive.ledger import LedgerError, Settings
from adaptive.ledger.formats import export_votes, foreign_comparisons, import_votes
from adaptive.plan import plan_ballots
from rankcorr.errors import OptionError
from tests.adaptive.ledger.voted import VOTERS, ledger_at, voted

PLAN = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
TASK = {"data": {"text1": "a", "text2": "b", "voter": "Ann"}}


@pytest.fixture
def campaign(sqlite):
    """Every pair of four items once; nobody has voted."""
    made = ledger_at(sqlite).new_campaign(PLAN, list("abcd"), VOTERS, 1, settings=Settings())
    made.open_ballot()
    return made


def with_result(*sides, **more):
    results = [{"type": "pairwise", "value": {"selected": side}} for side in sides]
    return {**TASK, "annotations": [{"result": results, **more}]}


@pytest.mark.parametrize(
    ("form", "text", "error", "message"),
    [
        ("csv", "comparison,winner\n1-0,both\n", VoteError, 'v:2: column "winner": a vote is'),
        ("csv", "comparison,winner\n1-0,left\n1-77,left\n", VoteError, "v:3: comparison '1-77' is unknown"),
        ("csv", "comparison,winner\n2-0,left\n", VoteError, "v:2: comparison '2-0' is unknown: ballot 2 has not"),
        ("csv", "winner\nleft\n", VoteError, "v:2: a row needs a comparison, or the two items of one"),
        ("csv", "left,right,winner,voter\na,b,left,Zoe\n", VoteError, "v:2: no voter is called 'Zoe'"),
        ("csv", "left,right,winner\na,x,left\n", VoteError, "v:2: no comparison of 'a' and 'x' is in an open ballot"),
        (
            "csv",
            "left,right,winner\na,b,tie\nb,a,tie\n",
            VoteError,
            "v:3: 'b' and 'a' come more often than the 1 times",
        ),
        (
            "arena",
            '{"model_a": "a", "model_b": "b", "winner": "A"}',
            VoteError,
            'v:1: column "winner": a winner is one',
        ),
        (
            "arena",
            '{"model_a": "a", "model_b": "b", "winner": null}',
            VoteError,
            'v:1: column "winner": a winner is one',
        ),
        ("arena", '{"model_a": "a", "model_b": null, "winner": "tie"}', TableError, "v:1: .*a label is text"),
        ("arena", '{"model_a": "a", "winner": "tie"}', TableError, 'v:1: no column "model_b"'),
        (
            "arena",
            '{"model_a": "a", "model_b": "b", "winner": "tie", "judge": [1]}',
            TableError,
            'v:1: column "judge": a name is text or a whole number; got',
        ),
        ("label_studio", "{}\n", TableError, 'v:1: column "data": an object is wanted; got None'),
        ("label_studio", '[{"data": {"text1": "a"}}]', TableError, 'v:1: column "data.text2": a label is text'),
        ("label_studio", "[\n7]", TableError, "v:2: an object is wanted for each; got 7"),
        ("label_studio", '[\n{"data"', TableError, "v:2: not JSON: Expecting ':'"),
        ("label_studio", "[{} {}]", TableError, "column|v:1"),
        ("label_studio", json.dumps([with_result("left")]) + "\nmore", TableError, "v:2: not JSON: something follows"),
        ("label_studio", json.dumps([with_result("tie")]), VoteError, "v:1: column \"selected\": a side is 'left'"),
        ("label_studio", json.dumps([with_result("left", "left")]), TableError, "one result of type pairwise .* got 2"),
        (
            "label_studio",
            json.dumps([{**TASK, "annotations": 1}]),
            TableError,
            'column "annotations": a list is wanted',
        ),
        ("label_studio", json.dumps([{**TASK, "annotations": [1]}]), TableError, "objects are wanted; got 1"),
        ("label_studio", json.dumps([{**TASK, "annotations": [{"result": 1}]}]), TableError, "a list of objects"),
        ("potato", '{"responses": ["a"]}', TableError, 'v:1: column "responses": a list of two responses is wanted'),
        (
            "potato",
            '{"responses": ["a", "b"]}\n{"responses": ["a", "b"], "preference": {"selection": "C"}}',
            VoteError,
            "v:2: column \"preference\": a selection is A, B or tie; got 'C'",
        ),
        ("potato", '{"responses": ["a", "b"], "preference": {"scale_value": "-2"}}', VoteError, "got None"),
        ("choix", "winner,loser\n0,4\n", TableError, "v:2: column \"loser\": '4' is not a number from 0 to 3"),
        ("choix", "0,1\n2,2\n", TableError, "v:2: item 2 is compared with itself"),
    ],
)
def test_a_file_that_means_nothing(form, text, error, message, campaign, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v").write_text(text)
    with pytest.raises(error, match=message):
        import_votes(campaign, "v", form)
    assert export_votes(campaign, "csv").n_votes == 0


def test_an_unknown_format(campaign, tmp_path):
    for step in (lambda: import_votes(campaign, "v", "brat"), lambda: export_votes(campaign, "brat")):
        with pytest.raises(OptionError, match="format must be one of"):
            step()
    with pytest.raises(OptionError, match="format must be one of"):
        foreign_comparisons(tmp_path / "v", "brat")


def test_a_ballot_that_was_not_opened(campaign):
    with pytest.raises(LedgerError, match="ballot 2 has not been opened"):
        export_votes(campaign, "csv", ballots=[1, 2])


def test_a_pair_that_several_voters_have_needs_its_voter(sqlite, tmp_path):
    campaign = voted(sqlite, 0, plan=plan_ballots(4, n_ballots=2, fraction=0.5, presentations=6), items=list("abcd"))
    (tmp_path / "v").write_text("winner,loser\n0,1\n")
    with pytest.raises(VoteError, match="'a' and 'b' are compared 2 times: the voter or the comparison must be named"):
        import_votes(campaign, tmp_path / "v", "choix")


def test_both_bad_is_a_tie_and_a_cancelled_annotation_is_none(campaign, tmp_path):
    arena = tmp_path / "arena"
    arena.write_text('{"model_a": "a", "model_b": "b", "winner": "tie (bothbad)"}\n')
    assert import_votes(campaign, arena, "arena").n_new == 1
    studio = tmp_path / "studio"
    studio.write_text(json.dumps([with_result("left", was_cancelled=True), with_result()]))
    assert import_votes(campaign, studio, "label_studio").n_new == 0


def test_output_of_potato_itself(campaign, tmp_path):
    path = tmp_path / "annotated_instances.jsonl"
    entry = {"instance_id": "1-0", "label_annotations": {"preference": {"selection": "B"}}}
    shown = export_votes(campaign, "potato", unanswered=True, names=True).files["instances.jsonl"].splitlines()
    first = json.loads(shown[0])
    path.write_text(json.dumps({**entry, "user_id": first["user_id"], "responses": first["responses"]}))
    assert import_votes(campaign, path, "potato").n_new == 1


def test_who_completed_an_annotation_is_its_voter(tmp_path):
    path = tmp_path / "tasks.json"
    tasks = [
        {
            "data": {"text1": "a", "text2": "b"},
            "annotations": [{**each, "result": with_result("left")["annotations"][0]["result"]}],
        }
        for each in ({"completed_by": 7}, {"completed_by": {"id": 8, "email": "x"}}, {"completed_by": {"id": 9}})
    ]
    path.write_text(json.dumps(tasks))
    assert foreign_comparisons(path, "label_studio").voters == ("7", "x", "9")


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        ([], TableError, "v: the file is empty"),
        ([["a", "a", "Ann", "A"]], ComparisonError, "v:1: 'a' is compared with itself"),
        (
            [["a", "b", "Ann", "A"], ["a", "b", None, "A"]],
            ComparisonError,
            "v:2: either all votes have a voter or none",
        ),
        ([["a", "z", "Ann", "A"]], ComparisonError, "v: .*'z'"),
    ],
)
def test_a_foreign_file_that_makes_no_comparisons(entries, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        json.dumps({"responses": [left, right], "user_id": voter, "preference": {"selection": side}})
        for left, right, voter, side in entries
    ]
    (tmp_path / "v").write_text("\n".join(lines))
    with pytest.raises(error, match=message):
        foreign_comparisons("v", "potato", items=["a", "b"])


def test_tasks_without_a_vote_are_no_foreign_votes(tmp_path):
    (tmp_path / "tasks.json").write_text(json.dumps([TASK]))
    with pytest.raises(TableError, match=r"tasks\.json: no votes"):
        foreign_comparisons(tmp_path / "tasks.json", "label_studio")
