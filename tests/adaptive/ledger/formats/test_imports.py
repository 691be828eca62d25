"""Files of votes that mean nothing are refused, with their line, and nothing is recorded."""

import json

import pytest

from adaptive._plan import plan_ballots
from adaptive.errors import VoteError
from adaptive.ledger import Settings
from rankcorr.errors import OptionError, TableError
from tests.adaptive.ledger.voted import VOTERS, ledger_at, voted

PLAN = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
TASK = {"data": {"text1": "a", "text2": "b", "voter": "Ann"}}


@pytest.fixture
def campaign(sqlite):
    """Every pair of four items once; nobody has voted."""
    made = ledger_at(sqlite).new_campaign(PLAN, list("abcd"), VOTERS, 1, settings=Settings())
    made.open_next()
    return made


def arena(**fields):
    """A battle of a and b."""
    return json.dumps({"model_a": "a", "model_b": "b", "winner": "tie", **fields})


def with_result(*sides, **more):
    results = [{"type": "pairwise", "value": {"selected": side}} for side in sides]
    return {**TASK, "annotations": [{"result": results, **more}]}


@pytest.mark.parametrize(
    ("form", "text", "error", "message"),
    [
        ("csv", "comparison,winner\n1-0-0,both", VoteError, 'v:2: column "winner": a winner is .* The option answers'),
        ("csv", "comparison,winner\n1-0-0,left\n1-0-77,left\n", VoteError, "v:3: comparison '1-0-77' is unknown"),
        ("csv", "comparison,winner\n2-0-0,left\n", VoteError, "v:2: comparison '2-0-0' is unknown: ballot 2 has not"),
        ("csv", "winner\nleft\n", VoteError, "v:2: a row needs a comparison, or the two items of one"),
        ("csv", "left,right,winner,voter\na,b,left,Zoe\n", VoteError, "v:2: no voter is called 'Zoe'"),
        ("csv", "left,right,winner\na,x,left\n", VoteError, "v:2: no comparison of 'a' and 'x' is in an open ballot"),
        ("csv", "left,right,winner\na,b,tie\nb,a,tie", VoteError, "v:3: 'b' and 'a' come more often than the 1 times"),
        ("arena", arena(winner="A"), VoteError, 'v:1: column "winner": a winner is .*; got'),
        ("arena", arena(model_b=None), TableError, "v:1: .*a label is text"),
        ("arena", '{"model_a": "a", "winner": "tie"}', TableError, 'v:1: no column "model_b"'),
        ("arena", arena(judge=[1]), TableError, 'v:1: column "judge": a name is text or a whole number; got'),
        ("label_studio", json.dumps([with_result("left") | {"data": {"text1": "a"}}]), TableError, 'no column "text2"'),
        (
            "label_studio",
            json.dumps([with_result("left")]) + "\nmore",
            TableError,
            "v:2: is not JSON: something follows",
        ),
        ("label_studio", json.dumps([with_result("tie")]), VoteError, "v:1: column \"pairwise\": a winner is 'left'"),
        ("label_studio", json.dumps([with_result("left", "left")]), TableError, "more than one result has this name"),
        ("potato", '{"responses": ["a"]}', TableError, 'v:1: column "responses": a list of two responses is expected'),
        (
            "potato",
            '{"responses": ["a", "b"]}\n{"responses": ["a", "b"], "preference": {"selection": "C"}}',
            VoteError,
            "v:2: column \"preference\": a winner is 'A', 'B', 'tie'; got 'C'",
        ),
        ("potato", '{"responses": ["a", "b"], "preference": {"scale_value": "x"}}', TableError, "got 'x'"),
        (
            "csv",
            "comparison,winner,n\n1-0-0,left,2\n",
            TableError,
            'column "n": counts votes, but here each row is one vo',
        ),
        ("choix", "winner,loser\n0,4", TableError, 'v:2: .* "loser": 4 is not one of the 4 items, which count from 0'),
        ("choix", "0,1\n2,2\n", VoteError, "v:2: no comparison of 'c' and 'c' is in an open ballot"),
    ],
)
def test_a_file_that_means_nothing(form, text, error, message, campaign, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v").write_text(text)
    with pytest.raises(error, match=message):
        campaign.import_votes("v", form)
    assert campaign.export_votes("csv").n_votes == 0


def test_an_unknown_format(campaign, tmp_path):
    (tmp_path / "v.csv").write_text("left,right,winner\na,b,left\n")
    for step in (lambda: campaign.import_votes(tmp_path / "v.csv", "brat"), lambda: campaign.export_votes("brat")):
        with pytest.raises(OptionError, match="format must be one of"):
            step()


def test_a_pair_that_several_voters_have_needs_its_voter(sqlite, tmp_path):
    campaign = voted(sqlite, 0, plan=plan_ballots(4, n_ballots=2, fraction=0.5, presentations=6), items=list("abcd"))
    (tmp_path / "v").write_text("winner,loser\n0,1\n")
    with pytest.raises(VoteError, match="'a' and 'b' are compared 2 times: the voter or the comparison must be named"):
        campaign.import_votes(tmp_path / "v", "choix")


def test_both_bad_is_a_tie_and_a_cancelled_annotation_is_none(campaign, tmp_path):
    (tmp_path / "arena").write_text(arena(winner="tie (bothbad)"))
    assert campaign.import_votes(tmp_path / "arena", "arena").n_new == 1
    (tmp_path / "studio").write_text(json.dumps([with_result("left", was_cancelled=True), with_result()]))
    assert campaign.import_votes(tmp_path / "studio", "label_studio").n_new == 0


def test_output_of_potato_itself(campaign, tmp_path):
    path = tmp_path / "annotated_instances.jsonl"
    shown = campaign.export_votes("potato", unanswered=True, names=True).files["instances.jsonl"].splitlines()
    first = json.loads(shown[0])
    entry = {"instance_id": first["id"], "label_annotations": {"preference": {"selection": "B"}}}
    path.write_text(json.dumps({**entry, "user_id": first["user_id"], "responses": first["responses"]}))
    assert campaign.import_votes(path, "potato").n_new == 1


def test_exports_are_recognised(campaign, tmp_path):
    """Names of columns, answers and an encoding of another program; the same twice changes nothing."""
    (tmp_path / "v.csv").write_text("one;two;choice\na;b;A\nc;a;same\n", encoding="utf-16")
    columns, answers = {"left": "one", "right": "two", "winner": "choice"}, {"A": "left", "B": "right", "same": "tie"}
    for n_new in (2, 0):
        recorded = campaign.import_votes(tmp_path / "v.csv", columns=columns, answers=answers, encoding="utf-16")
        assert (recorded.n_new, recorded.n_known) == (n_new, 2 - n_new)
    (tmp_path / "pairs.csv").write_text("winner,loser\nb,c\nd,a\n")
    assert campaign.import_votes(tmp_path / "pairs.csv").n_new == 2
    (tmp_path / "hot.csv").write_text("model_a,model_b,winner_model_a,winner_model_b\nd,b,0,1\n")
    assert campaign.import_votes(tmp_path / "hot.csv").n_new == 1
    assert campaign.export_votes("csv").n_votes == 5


def test_numbers_that_may_be_names_are_refused(sqlite, tmp_path):
    made = ledger_at(sqlite).new_campaign(PLAN, list("4321"), VOTERS, 1, settings=Settings())
    made.open_next()
    (tmp_path / "v").write_text("winner,loser\n2,1\n")
    with pytest.raises(TableError, match="numbers may name the items or count them from 0; the format 'pairs' names"):
        made.import_votes(tmp_path / "v")
    assert made.import_votes(tmp_path / "v", "pairs").n_new == 1
    assert made.import_votes(tmp_path / "v", "choix").n_new == 1  # items 2 and 1 are "2" and "3"


def test_an_unknown_answer_refuses_the_whole_file(campaign, tmp_path):
    (tmp_path / "v.csv").write_text("left,right,winner\na,b,left\nb,c,A\nc,d,B\n")
    with pytest.raises(VoteError, match=r"v\.csv:3: column \"winner\": .* got 'A' \(also 'B'\)\. The option answers"):
        campaign.import_votes(tmp_path / "v.csv")
    assert campaign.export_votes("csv").n_votes == 0


def test_votes_without_a_winner_are_no_votes(campaign, tmp_path):
    (tmp_path / "v").write_text(arena(winner=None))
    assert campaign.import_votes(tmp_path / "v").n_new == 0
