"""The exports that people have: names of columns and answers, encodings, pairs, one-hot columns, annotation tools."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import ComparisonError, Comparisons, TableError, VoteError, read_comparisons
from adaptive._draw import draw_ballot
from adaptive._formats.votes import comparisons_csv, read_votes
from adaptive._votes import LEFT, RIGHT, TIE, Comparison, comparisons_of
from rankcorr import OptionError
from tests.adaptive.model.votes import rows_of


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("votes") / "votes.csv"


PLAIN = "left,right,winner\na,b,left\n"


def winners_of(votes):
    return [row[3] for row in rows_of(votes)]


# --- names of columns and answers, encodings --------------------------------------------------------------------------


def test_answers_and_columns_of_others(write):
    text = "a,b,choice,who\nfig,plum,A,Ann\nplum,kiwi,B,Ann\nkiwi,fig,same,Bob\nfig,plum,skip,Bob\n"
    names = {"left": "a", "right": "b", "winner": "choice", "voter": "who"}
    votes = read_comparisons(write(text), **names, answers={"A": "left", "B": "right", "same": "tie", "skip": None})
    assert winners_of(votes) == ["left", "right", "tie"]
    assert (votes.n_unanswered, votes.voters) == (1, ("Ann", "Bob"))
    message = r"votes\.csv:4: column \"choice\": .*, 'A', 'B'; got 'same' \(also 'skip'\)\. The option answers"
    with pytest.raises(VoteError, match=message):
        read_comparisons(write(text), **names, answers={"A": "left", "B": "right"})


def test_numbers_mean_what_is_said(write):
    gaps = write("left,right,winner\na,b,1.0\nb,c,0.0\nc,a,\n", "gaps.csv")
    assert read_comparisons(gaps, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    path = write("left,right,winner\na,b,1\nb,c,0\n")
    assert read_comparisons(path, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    assert read_comparisons(path, answers="codes").winner.tolist() == [LEFT, TIE]
    message = r"""votes\.csv:2: .* got '1' \(also '0'\)\. The option .*"left_won".*"codes" """
    with pytest.raises(VoteError, match=message):
        read_comparisons(path)


def test_parts_of_items_may_have_other_names(write):
    path = write("x_1,x_2,y_1,y_2,winner\na,b,c,d,left\n")
    for left, right in (("x", "y"), (["x_1", "x_2"], ["y_1", "y_2"])):
        assert read_comparisons(path, left=left, right=right).items == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_encodings(write, encoding):
    data = "left,right,winner\nGrün,Äpfel,left\n".encode(encoding)
    for content in (data, gzip.compress(data)):
        assert read_comparisons(write(content), encoding=encoding).items == ("Grün", "Äpfel")


@pytest.mark.parametrize(
    ("written", "read", "message"),
    [
        ("latin-1", "utf-8", r"votes\.csv:2: byte 0xfc is not UTF-8; save the file as UTF-8, or name its encoding"),
        ("utf-16", "utf-8", r"votes\.csv: is text in UTF-16; save the file as UTF-8, or name its encoding"),
        ("utf-8", "ascii", r"votes\.csv:2: byte 0xc3 is not ascii"),
    ],
)
def test_an_encoding_that_is_not_that_of_the_file(write, written, read, message):
    with pytest.raises(TableError, match=message):
        read_comparisons(write("left,right,winner\nGrün,Äpfel,left\n".encode(written)), encoding=read)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "utf-99"}, "encoding must be one that Python knows, as .*; got 'utf-99'"),
        ({"encoding": "rot13"}, "encoding must be one that Python knows"),
        ({"answers": ["left"]}, "answers must be 'left_won' or 'codes', or a mapping"),
        ({"answers": "0/1"}, "answers must be 'left_won' or 'codes', or a mapping"),
        ({"answers": {("a",): "left"}}, "an answer, text or a number, means"),
        ({"answers": {"A": "won"}}, r"means 'left', 'right', 'tie', 'cannot say', or None .* got {'A': 'won'}"),
    ],
)
def test_refused_options(write, options, message):
    with pytest.raises(OptionError, match=message):
        read_comparisons(write(PLAIN), **options)


def test_a_role_that_no_column_has(write):
    with pytest.raises(OptionError, match="a column is named for left, right, winner, voter; got 'loser'"):
        read_votes(write(PLAIN), columns={"loser": "b"})


# --- pairs and one-hot columns ---------------------------------------------------------------------------------------


def test_pairs_of_names(write):
    text = "winner,loser,voter\nfig,plum,Ann\nplum,kiwi,Bob\n"
    assert rows_of(read_comparisons(write(text))) == [("Ann", "fig", "plum", "left"), ("Bob", "plum", "kiwi", "left")]
    assert read_comparisons(write("winner,loser\nfig,plum\n")).voters is None
    assert read_comparisons(write('["fig", "plum"]\n["plum", "7"]\n')).items == ("fig", "plum", "7")
    assert read_comparisons(write("winner,loser\n1,0\n1,x\n")).items == ("1", "0", "x")
    with pytest.raises(OptionError, match="answers and the column of winners cannot be chosen for the format 'pairs'"):
        read_comparisons(write(text), answers="codes")


def test_numbers_of_pairs_count_the_items_or_name_them(write):
    path, names = write("winner,loser\n7,1\n1,3\n"), ["1", "3", "7", "9"]
    assert read_comparisons(path).items == range(8)
    assert read_comparisons(path, format="pairs").items == ("7", "1", "3")
    assert rows_of(read_comparisons(path, format="pairs", items=names))[0] == (None, "7", "1", "left")
    assert read_comparisons(path, items=[str(place) for place in range(9)]).items[7] == "7"
    with pytest.raises(TableError, match="numbers may name the items or count them from 0; the format 'pairs' names"):
        read_comparisons(path, items=names)
    counted = read_comparisons(write("winner,loser\n2,0\n"), format="choix", items=names)
    assert rows_of(counted) == [(None, "7", "1", "left")]
    with pytest.raises(TableError, match=r"votes\.csv:3: column \"loser\": 'x' is not a whole number from 0"):
        read_comparisons(write("winner,loser\n0,1\n1,x\n"), format="choix")


ONE_HOT = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n1,a,b,1,0,0\n2,b,c,0,1,0\n3,c,a,0,0,1\n"


def test_one_hot_columns(write):
    for text in (ONE_HOT, ONE_HOT.replace(",1", ",True").replace(",0", ",False"), ONE_HOT.replace(",1", ",1.0")):
        votes = read_comparisons(write(text))
        assert (votes.winner.tolist(), votes.items) == ([LEFT, RIGHT, TIE], ("a", "b", "c"))
    assert read_comparisons(write(ONE_HOT + "4,a,b,,,\n")).n_unanswered == 1
    without = "model_a,model_b,judge,winner_model_a,winner_model_b\na,b,Ann,0,1\n"
    assert rows_of(read_comparisons(write(without))) == [("Ann", "a", "b", "right")]


@pytest.mark.parametrize("row", ["1,0,1", "0,0,0", "0.3,0.3,0.4", ",,1", "2,0,0"])
def test_a_row_in_which_not_one_column_is_set(write, row):
    message = r'votes\.csv:5: column "winner_model_a": 1 in one of "winner_model_a", .*, 0 in the others; got '
    with pytest.raises(VoteError, match=message):
        read_comparisons(write(f"{ONE_HOT}4,a,b,{row}\n"))


def test_columns_of_an_arena_and_one_hot_columns(write):
    with pytest.raises(TableError, match="the columns fit the formats arena and one_hot; say which by format="):
        read_comparisons(write(ONE_HOT.replace("id", "winner")))


# --- annotation tools ------------------------------------------------------------------------------------------------


def task(number, left, right, answers, kind="pairwise", value=lambda side: {"selected": side}):
    result = {"from_name": "pw", "to_name": "text1,text2", "type": kind}
    annotations = [{"completed_by": who, "result": [{**result, "value": value(said)}]} for who, said in answers]
    return {"id": number, "data": {"text1": left, "text2": right}, "annotations": annotations}


TASKS = [task(1, "one\nfig ", "plum", [(7, "left"), (8, "right")]), task(2, "plum", "kiwi", [(7, "left")])]
LABELLED = [("7", "one\nfig ", "plum", "left"), ("8", "one\nfig ", "plum", "right"), ("7", "plum", "kiwi", "left")]


def flat(tasks, result):
    """What Label Studio's converter writes as CSV and JSON-MIN: inputs and results by name."""
    rows = []
    for each in tasks:
        for number, annotation in enumerate(each["annotations"]):
            answer = {"id": each["id"], "pw": result(annotation["result"][0]["value"]), **each["data"]}
            about = {"annotator": annotation["completed_by"], "annotation_id": number, "lead_time": 1.5}
            rows.append({**answer, **about})
    return pd.DataFrame(rows)


def as_labelled(votes):
    return [(str(row[0]), *row[1:]) for row in rows_of(votes)]


@pytest.mark.parametrize("kind", ["auto", "label_studio"])
def test_exports_of_label_studio(write, kind):
    table = flat(TASKS, lambda value: json.dumps([value]))
    minimal = flat(TASKS, lambda value: [value]).to_json(orient="records")
    for text in (json.dumps(TASKS), json.dumps(TASKS, indent=2), table.to_csv(index=False), minimal):
        assert as_labelled(read_comparisons(write(text), format=kind)) == LABELLED
    assert as_labelled(Comparisons.from_frame(table, format=kind)) == LABELLED


def test_choices_of_label_studio_may_be_ties(write):
    values = {"kind": "choices", "value": lambda said: {"choices": [said]}}
    tasks = [
        task(1, "fig", "plum", [(7, "same"), (8, "B")], **values),
        task(2, "plum", "kiwi", [(7, "same")], **values),
    ]
    answers = {"same": "tie", "B": "right"}
    assert winners_of(read_comparisons(write(json.dumps(tasks)), answers=answers)) == ["tie", "right", "tie"]
    with pytest.raises(VoteError, match=r"column \"pw\": a winner is 'left', 'right'; got 'same' \(also 'B'\)"):
        read_comparisons(write(json.dumps(tasks)))
    table = flat(tasks, lambda value: value["choices"][0])
    for content in (table.to_csv(index=False), table.to_json(orient="records")):
        votes = read_comparisons(write(content), winner="pw", answers=answers)
        assert winners_of(votes) == ["tie", "right", "tie"]
        with pytest.raises(TableError, match="no results of a Pairwise tag; name the column of winners"):
            read_comparisons(write(content), answers=answers)


def test_several_results_of_label_studio(write):
    tasks = json.loads(json.dumps(TASKS))
    clear = {"from_name": "clear", "type": "pairwise", "value": {"selected": "right"}}
    tasks[0]["annotations"][0]["result"].append(clear)
    path = write(json.dumps(tasks))
    with pytest.raises(TableError, match='the answers may be those of "pw", "clear"; name the column of winners'):
        read_comparisons(path)
    assert winners_of(read_comparisons(path, winner="pw")) == ["left", "right", "left"]
    clear = read_comparisons(path, winner="clear")
    assert (winners_of(clear), clear.n_unanswered) == (["right"], 2)


def test_images_of_label_studio_who_completed_them_and_what_was_cancelled(write):
    tasks = json.loads(json.dumps(TASKS).replace("text1", "image1").replace("text2", "image2"))
    for annotation, who in zip(tasks[0]["annotations"], ({"id": 8, "email": "x"}, {"id": 9}), strict=True):
        annotation["completed_by"] = who
    tasks[1]["annotations"][0]["was_cancelled"] = True
    votes = read_comparisons(write(json.dumps(tasks)), left="image1", right="image2")
    assert votes.voters == ("x", 9)
    with pytest.raises(TableError, match='no column "text1"'):
        read_comparisons(write(json.dumps(tasks)))


def instance(user, answers, **more):
    return {"id": "7", "user_id": user, "responses": ["fig", "plum"], "label_annotations": answers, **more}


def test_output_of_potato(write):
    said = [instance("Ann", {"best": {"selection": "A"}}), instance("Bob", {"best": {"selection": "tie"}})]
    path = write("".join(json.dumps(each) + "\n" for each in [*said, instance("Cid", {})]))
    votes = read_comparisons(path)
    assert rows_of(votes) == [("Ann", "fig", "plum", "left"), ("Bob", "fig", "plum", "tie")]
    assert (votes.n_unanswered, votes.voters) == (1, ("Ann", "Bob", "Cid"))


def test_a_scale_of_potato_needs_its_answers(write):
    path = write(json.dumps(instance("Ann", {"best": {"scale_value": "-2"}})))
    with pytest.raises(VoteError, match=r"""votes\.csv:1: column "best": a winner is 'A', 'B', 'tie'; got '-2'"""):
        read_comparisons(path)
    assert winners_of(read_comparisons(path, answers={-2: "left"})) == ["left"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"data": 1, "annotations": []}], 'votes.csv:1: column "data": an object is wanted; got 1'),
        ([{**TASKS[0], "annotations": 1}], 'column "annotations": a list of objects is wanted; got 1'),
        ([{**TASKS[0], "annotations": [{"result": 1}]}], 'column "result": a list of objects is wanted; got 1'),
        ([{**TASKS[0], "annotations": []}], "votes.csv: no votes"),
        ([task(1, "fig", None, [(7, "left")])], 'column "text2": a label is text, a whole number .* got None'),
        ([task(1, "fig", "plum", [(7, "left")], "rating")], "no results of a Pairwise tag"),
        ([TASKS[0], instance("Ann", {})], "votes of several tools; each file is of one"),
        ([instance("Ann", {"other": {"yes": "1"}})], 'column "label_annotations": answers of a pairwise scheme'),
        ([{"responses": ["fig"]}], 'column "responses": a list of two responses is wanted'),
        ([{"responses": ["a", "b"], "preference": "A"}], 'column "preference": an object with a selection is wanted'),
    ],
)
def test_refused_tasks(write, entries, message):
    with pytest.raises(TableError, match=message):
        read_comparisons(write(json.dumps(entries)))


@pytest.mark.parametrize("key", ["data", "responses"])
def test_other_keys_of_a_vote_make_no_task_of_it(write, key):
    path = write(json.dumps({"left": "a", "right": "b", "winner": "left", key: {"text1": 1}}))
    assert rows_of(read_comparisons(path)) == [(None, "a", "b", "left")]


def test_several_results_of_one_name(write):
    tasks = json.loads(json.dumps(TASKS))
    tasks[0]["annotations"][0]["result"] *= 2
    with pytest.raises(TableError, match=r'votes\.csv:1: column "pw": more than one result has this name'):
        read_comparisons(write(json.dumps(tasks)))


def test_either_all_votes_have_a_voter_or_none(write):
    entries = [instance("Ann", {}), instance(None, {})]
    with pytest.raises(ComparisonError, match=r'votes\.csv:2: column "voter": None is missing; every comparison needs'):
        read_comparisons(write("\n".join(map(json.dumps, entries))))


# --- rows for a ledger -----------------------------------------------------------------------------------------------


def test_columns_that_are_not_there_are_none(write):
    votes = read_votes(write("comparison,winner\n1-0,tie\n"), needed=["comparison", "winner"])
    (row,) = votes.file().rows
    assert row == (2, "1-0", None, None, None, "tie", ())
    votes = read_votes(write('{"comparison": "1-0", "winner": "cannot say", "seconds": 1.5}'), needed=["winner"])
    (row,) = votes.file().rows
    assert row == (1, "1-0", None, None, None, "cannot say", (("seconds", "1.5"),))


def test_other_columns_are_kept_as_far_as_they_are_filled(write):
    text = "note,left_1,left_2,right_1,right_2,winner,voter\n,a,b,c,d,,Ann\nwhy,a,b,d,c,left,Ann\n"
    first, second = read_votes(write(text)).file().rows
    assert (first.left, first.answer, first.extra) == (("a", "b"), None, ())
    assert (second.extra, second.voter) == ((("note", "why"),), "Ann")


def test_a_voter_who_is_no_name(write):
    votes = read_votes(write('{"model_a": "a", "model_b": "b", "winner": "tie", "judge": [1]}'))
    with pytest.raises(TableError, match=r'votes\.csv:1: column "judge": a name is text or a whole number; got \[1\]'):
        votes.file()


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 99), st.sampled_from(["left", "right", "tie", ""]))
def test_comparisons_come_back_as_votes(file, presentations, n_voters, seed, winner):
    items = [("a", "b"), ("a", "c,d"), ("b", "Ж"), ("b", "d")]
    ballot = draw_ballot(items, presentations, n_voters, np.random.default_rng(seed))
    shown = comparisons_of(ballot, 3)
    file.write_text("".join(f"{line}{winner if n else ''}\n" for n, line in enumerate(comparisons_csv(shown).split())))
    rows = read_votes(file, format="csv").file().rows
    said = winner or None
    assert {row[1:] for row in rows} == {(each.id, str(each.voter), each.left, each.right, said, ()) for each in shown}
    assert [int(row.voter) for row in rows] == sorted(each.voter for each in shown)
    for voter in range(n_voters):
        own = [int(row.comparison.removeprefix("3-")) for row in rows if int(row.voter) == voter]
        assert own == sorted(own)  # each voter's in the order of the ballot


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\n", r'votes\.csv:1: no column "left"; the columns are "a"'),
        ("left,right,winner,comparison\na,b\n", r'got 2, none for "winner", "comparison"'),
        ("left, right,winner\na,b,tie\n", r'column " right": did you mean "right"\? Capitals and spaces'),
        ("left,right,winner\na,b ,tie\n", r"""votes\.csv:2: column "right": 'b ' begins or ends"""),
    ],
)
def test_refused_votes(write, text, message):
    with pytest.raises(TableError, match=message):
        read_votes(write(text), format="csv")


def test_items_of_several_lengths_are_no_table():
    with pytest.raises(TableError, match=r"all of one length; got \[0, 2\]"):
        comparisons_csv([Comparison("1-0", 0, "a", ("b", "c"))])


def test_voters_with_names_come_in_the_order_of_the_ballot():
    shown = [Comparison(f"1-{n}", voter, "a", "b") for n, voter in enumerate(["Zoe", "Ann", "Zoe"])]
    found = [line.split(",")[:2] for line in comparisons_csv(shown).splitlines()[1:]]
    assert found == [["1-0", "Zoe"], ["1-2", "Zoe"], ["1-1", "Ann"]]
