"""Exports of other programs: names of columns and answers, encodings, pairs, one-hot columns, annotation tools."""

import gzip
import json
import warnings
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from adaptive import (
    AdaptiveError,
    ComparisonError,
    Comparisons,
    NumberedItemsWarning,
    TableError,
    VoteError,
    plan_ballots,
    read_choices,
    read_comparisons,
)
from adaptive._draw import draw_ballot
from adaptive._formats.records import map_column
from adaptive._formats.votes import comparisons_csv, read_votes
from adaptive._votes import LEFT, RIGHT, TIE, Comparison, comparisons_of
from adaptive.ledger import Ledger
from rankcorr import OptionError, UnicodeFormWarning
from tests.adaptive.strategies import rows_of


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("votes") / "votes.csv"


ONE_VOTE = "left,right,winner\na,b,left\n"


def winners_of(votes):
    return [row[3] for row in rows_of(votes)]


# --- names of columns and answers, encodings -------------------------------------------------------------------------


def test_other_names_of_answers_and_columns(write):
    text = "a,b,choice,who\nfig,plum,A,Ann\nplum,kiwi,B,Ann\nkiwi,fig,same,Bob\nfig,plum,skip,Bob\n"
    names = {"left": "a", "right": "b", "winner": "choice", "voter": "who"}
    votes = read_comparisons(write(text), **names, answers={"A": "left", "B": "right", "same": "tie", "skip": None})
    assert winners_of(votes) == ["left", "right", "tie"]
    assert (votes.n_unanswered, votes.voters) == (1, ("Ann", "Bob"))
    message = r"votes\.csv:4: column \"choice\": .*, 'A' or 'B'; got 'same' \(also 'skip'\)\. .* set answers="
    with pytest.raises(VoteError, match=message):
        read_comparisons(write(text), **names, answers={"A": "left", "B": "right"})


def test_capitals_and_outer_spaces_do_not_change_an_answer(write):
    path = write("left,right,winner\na,b,Left\nb,c, RIGHT\nc,a,Tie\nc,a,Cannot say\n")
    assert winners_of(read_comparisons(path)) == ["left", "right", "tie"]
    by_name = write("left,right,winner\nA,a,A\na,b,b\na,c,Tie \n", "names.csv")
    assert winners_of(read_comparisons(by_name)) == ["left", "right", "tie"]
    clothes = write("left,right,winner\nTie,Bow,Tie\nBow,Tie,Tie\nBow,Tie,tie\nBow,Tie,Bow\n", "clothes.csv")
    assert winners_of(read_comparisons(clothes)) == ["left", "right", "tie", "left"]
    rows = [{"model_a": "a", "model_b": "b", "winner": winner} for winner in ("Model_A", "Tie (bothbad)")]
    assert [row[2] for row in read_choices(rows).rows] == ["left", "both bad"]
    with pytest.raises(VoteError, match="got 'a'"):
        read_comparisons(write("left,right,winner\nx,y,a\n"), answers={"A": "left"})


def test_the_meaning_of_numbers_can_be_given(write):
    gaps = write("left,right,winner\na,b,1.0\nb,c,0.0\nc,a,\n", "gaps.csv")
    assert read_comparisons(gaps, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    path = write("left,right,winner\na,b,1\nb,c,0\n")
    assert read_comparisons(path, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    assert read_comparisons(path, answers="codes").winner.tolist() == [LEFT, TIE]
    message = r"""votes\.csv:2: .* got '1' \(also '0'\)\. .* set answers= to "left_won".*"codes" """
    with pytest.raises(VoteError, match=message):
        read_comparisons(path)


def test_parts_of_items_may_have_other_names(write):
    path = write("x_1,x_2,y_1,y_2,winner\na,b,c,d,left\n")
    for left, right in (("x", "y"), (["x_1", "x_2"], ["y_1", "y_2"])):
        assert read_comparisons(path, left=left, right=right).items == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_the_encoding_may_be_named(write, encoding):
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
def test_a_wrong_encoding_is_refused(write, written, read, message):
    with pytest.raises(TableError, match=message):
        read_comparisons(write("left,right,winner\nGrün,Äpfel,left\n".encode(written)), encoding=read)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "utf-99"}, "encoding must be one that Python knows, as .*; got 'utf-99'"),
        ({"encoding": "rot13"}, "encoding must be one that Python knows"),
        ({"answers": "0/1"}, "answers must be 'left_won' or 'codes', or a mapping"),
        ({"answers": {("a",): "left"}}, "an answer, text or a number, means"),
        ({"answers": {"A": "won"}}, r"means 'left', 'right', 'tie', 'cannot say', 'both bad', or None .* got"),
    ],
)
def test_invalid_options_are_refused(write, options, message):
    with pytest.raises(OptionError, match=message):
        read_comparisons(write(ONE_VOTE), **options)


def test_a_role_that_no_column_has(write):
    with pytest.raises(OptionError, match="columns: unknown role 'loser'; use left, right, winner, voter"):
        read_votes(write(ONE_VOTE), columns={"loser": "b"})
    with pytest.raises(TableError, match=':1: no column "judge"; the columns are "a", "b"'):
        read_votes(write("a,b\nx,y\n"), columns={"voter": "judge"})


@pytest.mark.parametrize(
    ("column", "calls"),
    [
        ([True, False, True], [True, False]),
        (["b", "a", "b"], ["b", "a"]),
        ([1, True, 1.0, 1], [1, True, 1.0, 1]),  # one key of a dict, and three entries
        ([[1], [1]], [[1], [1]]),
    ],
)
def test_equal_entries_of_a_column_are_read_once(column, calls):
    read = []
    assert map_column(lambda entry: read.append(entry) or repr(entry), column) == list(map(repr, column))
    assert list(map(repr, read)) == list(map(repr, calls))


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
    with pytest.warns(NumberedItemsWarning, match=r"csv: .* so 5 items have no vote; format=\"pairs\" reads"):
        assert read_comparisons(path).items == range(8)
    assert read_comparisons(path, format="choix").items == range(8)
    assert read_comparisons(write("winner,loser\n0,1\n1,2\n"), encoding="ascii").items == range(3)
    assert read_comparisons(write("winner,loser\n007,8\n7,9\n")).items == ("007", "8", "7", "9")
    path = write("winner,loser\n7,1\n1,3\n")
    assert read_comparisons(path, format="pairs").items == ("7", "1", "3")
    assert rows_of(read_comparisons(path, format="pairs", items=names))[0] == (None, "7", "1", "left")
    assert read_comparisons(path, items=[str(place) for place in range(9)]).items[7] == "7"
    with pytest.raises(TableError, match="numbers may name the items or count them from 0; choose the format 'pairs'"):
        read_comparisons(path, items=names)
    counted = read_comparisons(write("winner,loser\n2,0\n"), format="choix", items=names)
    assert rows_of(counted) == [(None, "7", "1", "left")]
    with pytest.raises(TableError, match=r"votes\.csv:3: column \"loser\": 'x' is not a whole number from 0"):
        read_comparisons(write("winner,loser\n0,1\n1,x\n"), format="choix")


ONE_HOT = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n1,a,b,1,0,0\n2,b,c,0,1,0\n3,c,a,0,0,1\n"


def test_one_hot_columns_are_read(write):
    for text in (ONE_HOT, ONE_HOT.replace(",1", ",True").replace(",0", ",False"), ONE_HOT.replace(",1", ",1.0")):
        votes = read_comparisons(write(text))
        assert (votes.winner.tolist(), votes.items) == ([LEFT, RIGHT, TIE], ("a", "b", "c"))
    assert read_comparisons(write(ONE_HOT + "4,a,b,,,\n")).n_unanswered == 1
    text_without_ties = "model_a,model_b,judge,winner_model_a,winner_model_b\na,b,Ann,0,1\n"
    assert rows_of(read_comparisons(write(text_without_ties))) == [("Ann", "a", "b", "right")]


@pytest.mark.parametrize("row", ["1,0,1", "0,0,0", "0.3,0.3,0.4", ",,1", "2,0,0"])
def test_a_one_hot_row_must_set_exactly_one_column(write, row):
    message = r'votes\.csv:5: column "winner_model_a": one of "winner_model_a", .* must be 1, and the others 0; got '
    with pytest.raises(VoteError, match=message):
        read_comparisons(write(f"{ONE_HOT}4,a,b,{row}\n"))


def test_columns_of_an_arena_and_one_hot_columns(write):
    with pytest.raises(TableError, match=r"several formats \(arena and one_hot\); choose one with format="):
        read_comparisons(write(ONE_HOT.replace("id", "winner")))


# --- annotation tools ------------------------------------------------------------------------------------------------


def task(number, left, right, answers, kind="pairwise", value=lambda side: {"selected": side}):
    result = {"from_name": "pw", "to_name": "text1,text2", "type": kind}
    annotations = [{"completed_by": name, "result": [{**result, "value": value(answer)}]} for name, answer in answers]
    return {"id": number, "data": {"text1": left, "text2": right}, "annotations": annotations}


TASKS = [task(1, "one\nfig ", "plum", [(7, "left"), (8, "right")]), task(2, "plum", "kiwi", [(7, "left")])]
TASK_ROWS = [("7", "one\nfig ", "plum", "left"), ("8", "one\nfig ", "plum", "right"), ("7", "plum", "kiwi", "left")]


def flatten_tasks(tasks, result):
    """What Label Studio's converter writes as CSV and JSON-MIN: inputs and results by name."""
    rows = []
    for one_task in tasks:
        for number, annotation in enumerate(one_task["annotations"]):
            answer = {"id": one_task["id"], "pw": result(annotation["result"][0]["value"]), **one_task["data"]}
            about = {"annotator": annotation["completed_by"], "annotation_id": number, "lead_time": 1.5}
            rows.append({**answer, **about})
    return pd.DataFrame(rows)


def rows_with_text_voters(votes):
    return [(str(row[0]), *row[1:]) for row in rows_of(votes)]


@pytest.mark.parametrize("kind", ["auto", "label_studio"])
def test_exports_of_label_studio_are_read(write, kind):
    table = flatten_tasks(TASKS, lambda value: json.dumps([value]))
    minimal = flatten_tasks(TASKS, lambda value: [value]).to_json(orient="records")
    for text in (json.dumps(TASKS), json.dumps(TASKS, indent=2), table.to_csv(index=False), minimal):
        assert rows_with_text_voters(read_comparisons(write(text), format=kind)) == TASK_ROWS
    assert rows_with_text_voters(Comparisons.from_frame(table, format=kind)) == TASK_ROWS


def test_choices_of_label_studio_may_be_ties(write):
    values = {"kind": "choices", "value": lambda answer: {"choices": [answer]}}
    tasks = [
        task(1, "fig", "plum", [(7, "same"), (8, "B")], **values),
        task(2, "plum", "kiwi", [(7, "same")], **values),
    ]
    answers = {"same": "tie", "B": "right"}
    assert winners_of(read_comparisons(write(json.dumps(tasks)), answers=answers)) == ["tie", "right", "tie"]
    with pytest.raises(VoteError, match=r"column \"pw\": the winner must be 'left' or 'right'; got 'same'"):
        read_comparisons(write(json.dumps(tasks)))
    table = flatten_tasks(tasks, lambda value: value["choices"][0])
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


def test_images_annotators_and_cancelled_tasks_of_label_studio(write):
    tasks = json.loads(json.dumps(TASKS).replace("text1", "image1").replace("text2", "image2"))
    for annotation, who in zip(tasks[0]["annotations"], ({"id": 8, "email": "x"}, {"id": 9}), strict=True):
        annotation["completed_by"] = who
    tasks[1]["annotations"][0]["was_cancelled"] = True
    votes = read_comparisons(write(json.dumps(tasks)), left="image1", right="image2")
    assert votes.voters == ("x", "9")
    with pytest.raises(TableError, match='no column "text1"'):
        read_comparisons(write(json.dumps(tasks)))


def instance(user, answers, **more):
    return {"id": "7", "user_id": user, "responses": ["fig", "plum"], "label_annotations": answers, **more}


def test_output_of_potato_is_read(write):
    instances = [instance("Ann", {"best": {"selection": "A"}}), instance("Bob", {"best": {"selection": "tie"}})]
    path = write("".join(json.dumps(document) + "\n" for document in [*instances, instance("Cid", {})]))
    votes = read_comparisons(path)
    assert rows_of(votes) == [("Ann", "fig", "plum", "left"), ("Bob", "fig", "plum", "tie")]
    assert (votes.n_unanswered, votes.voters) == (1, ("Ann", "Bob", "Cid"))


def test_a_scale_of_potato_prefers_a_if_it_is_negative(write):
    """Of the slider: "A much better" is its smallest value, "B much better" its largest (potato's schema pairwise)."""
    values = ["-2", 3, 0, -0.5, ""]
    path = write("".join(json.dumps(instance("Ann", {"best": {"scale_value": value}})) + "\n" for value in values))
    votes = read_comparisons(path)
    assert (winners_of(votes), votes.n_unanswered) == (["left", "right", "tie", "left"], 1)
    for value in ("much", "1_0", "\N{ARABIC-INDIC DIGIT ONE}", True, [1]):
        path = write(json.dumps(instance("Ann", {"best": {"scale_value": value}})))
        with pytest.raises(TableError, match=r'votes\.csv:1: column "best": expected a number, negative for A'):
            read_comparisons(path)


def test_a_scale_of_potato_with_another_middle_needs_its_meaning(write):
    """The scale of a pairwise scheme of potato is from -3 to 3 unless `scale.min` and `scale.max` say otherwise."""

    def votes_of(*values, **options):
        lines = [json.dumps(instance("Ann", {"best": {"scale_value": value}})) + "\n" for value in values]
        return read_comparisons(write("".join(lines)), **options)

    message = r'votes\.csv:2: column "best": no number on the scale is below 0, so all 3 that prefer an item favour'
    with pytest.raises(VoteError, match=message):
        votes_of(1, "7", 4)
    with pytest.raises(VoteError, match="so all 20 that prefer an item favour the second"):
        votes_of(*[1, 0] * 20)
    assert winners_of(votes_of(1, 2, 3)) == ["right"] * 3
    text = json.dumps(instance("Ann", {"best": {"selection": float("nan")}}))
    assert read_comparisons(write(text)).n_unanswered == 1
    meanings = {"1": "left", "4": "tie", "7": "right"}
    assert winners_of(votes_of(1, "7", 4, answers=meanings)) == ["left", "right", "tie"]
    with pytest.raises(VoteError, match="the winner must be 'A', 'B', 'tie', '1', '4' or '7'; got 2"):
        votes_of(1, 2, answers=meanings)


def test_a_scheme_or_dimension_of_potato_is_chosen_by_name(write):
    """A form of potato names the answer to a dimension ``{scheme}:::{dimension}``, and its label the dimension."""
    answers = [
        {"best": {"style": "A", "facts": "B", "justification": "short"}},
        {"best": {"style": "tie", "facts": ""}},
        {"best": {"justification": "none"}},
    ]
    path = write("".join(json.dumps(instance("Ann", answer)) + "\n" for answer in answers[:2]))
    message = r'the answers may be those of "best:::style", "best:::facts"; name .* set columns= to winner=best:::style'
    with pytest.raises(TableError, match=message):
        read_comparisons(path)
    assert winners_of(read_comparisons(path, winner="best:::style")) == ["left", "tie"]
    votes = read_comparisons(path, winner="best:::facts")
    assert (winners_of(votes), votes.n_unanswered) == (["right"], 1)
    labels = dict(zip(("i1", "i2", "i3"), answers, strict=True))
    state = write(json.dumps({"user_id": "Ann", "instance_id_to_label_to_value": labels}), "user_state.json")
    data = write("\n".join(map(json.dumps, DATA)), "data.jsonl")
    votes = read_comparisons(state, instances=data, winner="best:::style")
    assert (winners_of(votes), votes.n_unanswered) == (["left", "tie"], 1)
    two = write(json.dumps(instance("Ann", {"style": {"selection": "A"}, "facts": {"selection": "B"}})))
    assert winners_of(read_comparisons(two, winner="facts")) == ["right"]


@pytest.mark.parametrize("answer", [{"text_box": "the first"}, {"neither": "neither"}, "?", ["B"]])
def test_answers_of_other_schemes_may_look_like_dimensions(write, answer):
    """A comment "A" or a label A beside a preference."""
    answers = [{"best": {"selection": "B"}, "why": {"text_box": "A"}}, {"best": {"selection": "A"}, "why": answer}]
    path = write("".join(json.dumps(instance("Ann", labels)) + "\n" for labels in answers))
    assert winners_of(read_comparisons(path)) == ["right", "left"]
    state = {"user_id": "Ann", "instance_id_to_label_to_value": dict(zip(("i1", "i2"), answers, strict=True))}
    data = write("\n".join(map(json.dumps, DATA)), "data.jsonl")
    state_path = write(json.dumps(state), "user_state.json")
    assert winners_of(read_comparisons(state_path, instances=data)) == ["right", "left"]
    with pytest.raises(TableError, match='column "why": A, B or tie is expected for each dimension; got'):
        read_comparisons(path, winner="why:::text_box")


@pytest.mark.parametrize("answer", [{"style": "much"}, "A", {"style": "A", "facts": 1}])
def test_an_answer_that_is_no_side_is_refused_in_a_scheme_with_dimensions(write, answer):
    answers = [{"best": {"style": "A"}}, {"best": answer, "other": {"selection": "A"}}]
    path = write("".join(json.dumps(instance("Ann", labels)) + "\n" for labels in answers))
    with pytest.raises(TableError, match=r':2: column "best": A, B or tie is expected for each dimension; got'):
        read_comparisons(path, winner="best:::style")


STATE = {
    "user_id": "Ann",
    "instance_id_to_label_to_value": {
        "i1": [[{"schema": "best", "name": "selection"}, "A"], [{"schema": "best", "name": "selection"}, "B"]],
        "i2": {"best": {"selection": "tie"}, "why": {"text": "so"}},
        "i3": [],
    },
    "instance_id_to_span_to_value": {},
}
DATA = [
    {"id": "i1", "responses": ["fig", "plum"]},
    {"id": "i2", "text": ["fig", "kiwi"]},
    {"id": "i3", "text": ["a", "b"]},
]


def test_a_user_state_of_potato_with_its_instances(write):
    data = write("\n".join(map(json.dumps, DATA)), "data.jsonl")
    votes = read_comparisons(write(json.dumps(STATE, indent=1), "user_state.json"), instances=data)
    assert rows_of(votes) == [("Ann", "fig", "plum", "right"), ("Ann", "fig", "kiwi", "tie")]
    assert votes.n_unanswered == 1
    scale = {**STATE, "instance_id_to_label_to_value": {"i1": [[{"schema": "best", "name": "scale_value"}, "-1"]]}}
    assert winners_of(read_comparisons(write(json.dumps(scale)), instances=data)) == ["left"]
    reason = {"i1": {"best": {"selection": "", "scale_value": -1}}, "i2": {"best": {"justification": "so"}}}
    votes = read_comparisons(write(json.dumps({**STATE, "instance_id_to_label_to_value": reason})), instances=data)
    assert (winners_of(votes), votes.n_unanswered) == (["left"], 1)


@pytest.mark.parametrize(
    ("labels", "data", "message"),
    [
        ({"i1": []}, None, r"a user_state\.json has no items: name the data file with instances="),
        ([], DATA, "expected an object of instances; got"),
        ({"i9": []}, DATA, "no instance has the id 'i9'"),
        ({"i1": 3}, DATA, "expected a list of answers; got 3"),
        ({"i1": {"best": {"style": "C"}}}, DATA, "answers of a pairwise scheme are expected; got {'best': {'style'"),
        ({"i1": [[{"schema": "best", "name": "A"}, "true"]]}, DATA, "answers of a pairwise scheme are expected"),
        ({"i1": {"best": {"selection": "A"}}, "i2": {"best": {"style": "B"}}}, DATA, r'column "best": an object with'),
        ({"i1": [["A"]]}, DATA, "expected a schema, a name and a value; got"),
        ({"i1": []}, [{"id": "i1", "text": "fig"}], r"data\.jsonl:1: expected two responses; got"),
        ({"i1": []}, [{"text": ["a", "b"]}], r"data\.jsonl:1: expected an object with an id; got"),
        ({"i1": []}, [DATA[0], DATA[0]], r"data\.jsonl:2: the id 'i1' is listed twice .lines 1 and 2."),
    ],
)
def test_a_user_state_without_its_items(write, labels, data, message):
    state = write(json.dumps({"user_id": "Ann", "instance_id_to_label_to_value": labels}), "user_state.json")
    instances = None if data is None else write("\n".join(map(json.dumps, data)), "data.jsonl")
    with pytest.raises(TableError, match=message):
        read_comparisons(state, instances=instances)


@pytest.mark.parametrize("header", ["voter,winner,loser", "winner,loser", "left,right,winner"])
@pytest.mark.parametrize("n_rows", [1, 100_000])
def test_concatenated_files_with_repeated_headers_are_refused(write, header, n_rows):
    """Items may be named like the columns winner and loser; pyarrow reads files of 1 MB."""
    rows = ",".join(["fig", "plum", "fig"][: header.count(",") + 1]) + "\n"
    assert read_comparisons(write(f"{header}\n{2 * n_rows * rows}")).n_comparisons == 2 * n_rows
    message = rf"votes\.csv:{n_rows + 2}: this row repeats the names of the columns; remove it, or read the files one"
    with pytest.raises(TableError, match=message):
        read_comparisons(write(2 * f"{header}\n{n_rows * rows}"))


def test_label_of_crowd_kit_names_the_winner(write):
    text = "worker,left,right,label\nw1,fig,plum,plum\nw2,fig,plum,fig\nw2,plum,kiwi,\n"
    votes = read_comparisons(write(text))
    assert rows_of(votes) == [("w1", "fig", "plum", "right"), ("w2", "fig", "plum", "left")]
    assert votes.n_unanswered == 1
    frame = pd.DataFrame({"worker": ["w1"], "left": [7], "right": [8], "label": [8]})
    assert Comparisons.from_frame(frame).wins.tolist() == [0, 1]
    with pytest.raises(VoteError, match=r"votes\.csv:2: .*the winner must be 'fig' or 'plum'; got 'kiwi'"):
        read_comparisons(write("left,right,label\nfig,plum,kiwi\n"))
    assert read_comparisons(write("left,right,label,winner\nfig,plum,x,tie\n")).n_ties == 1
    sides = write("left,right,label\nfig,plum,left\n")
    with pytest.raises(VoteError, match=r"got 'left'\. If it is a side, set columns= to winner=label"):
        read_votes(sides)
    assert read_votes(sides, columns={"winner": "label"}).answer == ["left"]


@pytest.mark.parametrize("sides", ["left,right", "model_a,model_b"])
def test_a_winner_may_be_named_by_its_item(write, sides):
    rows = [(None, "fig", "plum", "right"), (None, "plum", "kiwi", "tie"), (None, "kiwi", "fig", "left")]
    named = read_comparisons(write(f"{sides},winner\nfig,plum,plum\nplum,kiwi,tie\nkiwi,fig,kiwi\nfig,kiwi,\n"))
    assert rows_of(named) == rows
    assert named.n_unanswered == 1
    left, right = sides.split(",")
    frame = pd.DataFrame({left: [7, 8], right: [8, 9], "won": ["7", "9"]})
    assert Comparisons.from_frame(frame, left=left, right=right, winner="won").wins.tolist() == [1, 0, 1]
    gap = pd.DataFrame({left: [7, 8, 9], right: [8, 9, 7], "winner": [7, None, 9]})  # 7.0, nan, 9.0
    assert Comparisons.from_frame(gap).wins.tolist() == [1, 0, 1]
    for winners in (["fig", "left"], ["fig", "lime"], [["fig"], "fig"]):
        odd = pd.DataFrame({left: ["fig", "fig"], right: ["kiwi", "kiwi"], "winner": winners})
        with pytest.raises(VoteError, match="the winner must be "):
            Comparisons.from_frame(odd)
    with pytest.raises(VoteError, match="got '1'"):  # codes, or items of these names
        read_comparisons(write(f"{sides},winner\n1,0,1\n0,1,0\n"))


@pytest.mark.parametrize("name", ["word_count", "n_tokens", "No", "number", "vote number", "vote_id", "voters", "turn"])
def test_other_columns_do_not_count(write, name):
    assert read_comparisons(write(f"left,right,winner,{name}\na,b,left,3\nb,a,right,2\n")).n_comparisons == 2


def test_a_data_field_may_have_the_name_of_the_control(write):
    tasks = json.loads(json.dumps(TASKS))
    for one in tasks:
        one["data"]["pw"] = "a field of the data"
    tasks[0]["annotations"].append({"completed_by": 9, "result": []})
    votes = read_comparisons(write(json.dumps(tasks)))
    assert winners_of(votes) == winners_of(read_comparisons(write(json.dumps(TASKS))))
    assert votes.n_unanswered == read_comparisons(write(json.dumps(TASKS))).n_unanswered + 1


# --- large files -----------------------------------------------------------------------------------------------------


CELLS = st.sampled_from(
    ["a", "a", "b", "c", "é", "1", "007", "", " ", " a", "left", "tie", "x,y", 'q"', "\x00", "\x85"]
)
HEADERS = [["left", "right", "winner"], ["left", "right", "winner", "voter"], ["winner", "loser"], ["1", "0"]]
HEADERS += [["left", "right", "winner", "n"], ["comparison", "left", "right", "winner"], ['"left"', "right", "winner"]]
HEADERS += [["model_a", "model_b", "winner", "judge"], ["left", "right", "label"], ["left", "left", "winner"]]
HEADERS += [["model_a", "model_b", "winner_model_a", "winner_model_b"], ["left", "right", "winner", "prompt"]]


@st.composite
def tables_of_votes(draw):
    """Bytes of votes: most are plain, some have rows of wrong width, quotes, blank lines or invalid names."""
    header, end = draw(st.sampled_from(HEADERS)), draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    names = st.sampled_from("abcd")
    answers = {"winner": ["left", "right", "tie", "a", "", "?"], "n": ["1", "2.0", "0", "x"], "label": ["a", "b"]}
    answers |= {f"winner_model_{side}": ["0", "1"] for side in "ab"}
    columns = [st.sampled_from(answers[name]) if len(header) > 2 and name in answers else names for name in header]
    if header == ["1", "0"] or draw(st.booleans()):
        columns = [st.sampled_from("0123") if len(header) == 2 else column for column in columns]
    rows = draw(st.lists(st.one_of(*[st.tuples(*columns)] * 9, st.lists(CELLS, max_size=5)), max_size=6))
    separator = draw(st.sampled_from([",", ",", "\t", ";"]))
    text = end.join(separator.join(row) for row in [header, *rows]) + draw(st.sampled_from([end, ""]))
    text = draw(st.sampled_from(["", "", "", "sep=,\n", "\ufeff", "\ufeff\ufeff", "\n"])) + text
    return text.encode() + draw(st.sampled_from([b"", b"", b"\xff"]))


def outcome_of(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            votes = read_comparisons(path).to_dict()
        except (AdaptiveError, TableError) as error:
            votes = type(error), str(error)
    return votes, [str(warning.message) for warning in caught]


@given(tables_of_votes())
def test_columns_of_pyarrow_are_those_of_the_exact_reader(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "large.csv"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankcorr._io.table.LEAST_BYTES", 0)
        fast = outcome_of(path)
        patch.setattr("adaptive._formats.records.read_plain", lambda *_, **__: None)
        assert fast == outcome_of(path)


def test_plain_votes_are_read_by_pyarrow(write, monkeypatch):
    monkeypatch.setattr("rankcorr._io.table.LEAST_BYTES", 0)
    monkeypatch.setattr("adaptive._formats.records.Cells.of", None)
    votes = read_comparisons(write('"left","right","winner"\r\nfig,plum,left\r\nplum,kiwi,\r\n'))
    assert (votes.items, votes.wins.tolist(), votes.n_unanswered) == (("fig", "plum", "kiwi"), [1, 0, 0], 1)
    with pytest.raises(VoteError, match=r'votes\.csv:3: column "winner": .*got \'won\''):
        read_comparisons(write("left,right,winner\nfig,plum,left\nplum,kiwi,won\n"))
    with pytest.raises(ComparisonError, match=r'votes\.csv:3: column "left": \'plum\' is not one of the 2 items'):
        read_comparisons(write("left,right,winner\nfig,kiwi,left\nplum,fig,tie\n"), items=["fig", "kiwi"])


VOTES = {
    "id": [1, 2, 3],
    "turns": [["a"], None, ["b", "c"]],
    "left": ["fig", "plum", "fig"],
    "right": ["plum", "kiwi", "kiwi"],
    "winner": ["left", "tie", None],
    "voter": [7, 8, 7],
}


def write_table(kind, table, path):
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif kind == "feather":
        feather.write_feather(table, path)
    else:
        with ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=1)
    return path


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
@pytest.mark.parametrize("is_coded", [False, True])
def test_parquet_and_arrow_are_read(tmp_path, kind, is_coded):
    table = pa.table(VOTES)
    if is_coded:
        unordered = pa.DictionaryArray.from_arrays([2, 1, 2], ["kiwi", "plum", "fig", "unused"])
        repeated = pa.DictionaryArray.from_arrays([0, 1, 2], ["plum", "kiwi", "kiwi"])
        table = table.set_column(2, "left", unordered).set_column(3, "right", repeated)
    path = write_table(kind, table, tmp_path / "votes.bin")
    votes = read_comparisons(path)
    assert votes == Comparisons.from_frame(pd.DataFrame(VOTES).drop(columns="turns"))
    assert votes.items == ("fig", "plum", "kiwi")
    assert votes.voters == (7, 8)
    rows = read_votes(path).file().rows
    assert [(row.line, row.left, row.voter, row.answer) for row in rows[1:]] == [
        (2, "plum", "8", "tie"),
        (3, "fig", "7", None),
    ]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"winner": ["left", "right", "won"]}, VoteError, r'votes\.parquet:3: column "winner": .* got \'won\''),
        ({"left": ["fig", None, "fig"]}, ComparisonError, r'votes\.parquet:2: column "left": None is missing'),
        ({"winner": VOTES["turns"]}, VoteError, r'votes\.parquet:1: column "winner": .* got \[\'a\'\]'),
        ({"right": ["fig"] * 3}, ComparisonError, r'votes\.parquet:1: column "right": item \'fig\' is compared with'),
        ({"Left": VOTES["left"], "left": None}, TableError, r'votes\.parquet: column "Left": did you mean "left"'),
    ],
)
def test_faults_in_parquet_have_the_row(tmp_path, columns, error, message):
    columns = {name: column for name, column in {**VOTES, **columns}.items() if column is not None}
    path = write_table("parquet", pa.table(columns), tmp_path / "votes.parquet")
    with pytest.raises(error, match=message):
        read_comparisons(path)


def test_damaged_and_empty_parquet_is_refused(tmp_path):
    path = write_table("parquet", pa.table(VOTES), tmp_path / "votes.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:60])
    with pytest.raises(TableError, match=r"votes\.parquet: cannot be read as Parquet or Arrow"):
        read_comparisons(path)
    path.write_bytes(gzip.compress(content))
    assert read_comparisons(path).n_comparisons == 2
    write_table("parquet", pa.table(VOTES).slice(0, 0), path)
    with pytest.raises(TableError, match=r"votes\.parquet: no votes, only the names of the columns"):
        read_comparisons(path)


# --- columns that change the meaning of a vote -----------------------------------------------------------------------


COUNTS = ["n", "N", "count", "Count", "weight", "w", "n_votes", "n votes", "nVotes", "freq", "freq.", "wins", "n_wins"]
COUNTS += ["vote_count", "num_judgments", "repeats", "importance", "n_obs", "number of raters", "total votes"]
COUNTS += ["weights"]


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_a_number_of_votes(write, name):
    text = f"winner,loser,{name}\na,b,10\nb,a,1\nb,c,4.0\nc,a,0\n"
    votes = read_comparisons(write(text))
    assert votes.n_comparisons == 15
    assert dict(zip(votes.items, votes.wins.tolist(), strict=True)) == {"a": 10, "b": 5, "c": 0}
    frame = pd.DataFrame({"winner": ["a", "b", "b"], "loser": ["b", "a", "c"], name: [10, 1, 4.0]})
    assert Comparisons.from_frame(frame).wins.tolist() == [10, 5, 0]
    assert read_comparisons(write(text), ignore=[name]).n_comparisons == 4


@pytest.mark.parametrize("name", ["confidence", "left_score", "winner_rank", "Rating", "margin"])
def test_columns_about_a_vote_or_an_item_do_not_hide_the_vote(write, name):
    assert read_comparisons(write(f"left,right,winner,{name}\na,b,left,2\n")).wins.tolist() == [1, 0]
    assert read_choices(write(f"voter,item,rank,{name}\nAnn,a,1,2\nAnn,b,2,5\n")).rows == ((("a",), ("b",)),)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("def"), st.integers(0, 4)), min_size=1, max_size=8))
def test_a_count_repeats_its_row(rows):
    frame = pd.DataFrame(
        [{"left": left, "right": right, "winner": "left", "voter": right, "n": number} for left, right, number in rows]
    )
    written_out = frame.loc[frame.index.repeat(frame["n"])].drop(columns="n")
    items = sorted({*frame["left"], *frame["right"]})
    votes = Comparisons.from_frame(frame, items=items)
    assert rows_of(votes) == rows_of(Comparisons.from_frame(written_out, items=items))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser,weight\na,b,1\na,c,0.5\n", 'csv:3: column "weight": a count of votes must be a whole number'),
        ("winner,loser,n\na,b,\n", r'csv:2: column "n": a count of .* got \'\'\. Leave the column out with ignore='),
        ("winner,loser,Obs\na,b,1\na,c,2\nb,c,3\nb,a,4\n", r'column "Obs": numbers the rows, but .* ignore=\["Obs"\]'),
        ("winner,loser,n,count\na,b,1,1\n", r'column "count": counts votes, and so does "n"'),
        ("winner,loser,n\na,b,999999999999\n", "counts 999,999,999,999 votes; at most 100,000,000 can be read"),
        ("left,right,winner,grade\na,b,left,2\n", r'column "grade": says how much an item is preferred'),
        ("left,right,winner,votes_left\na,b,left,2\n", r'column "votes_left": may count votes'),
        ("left,right,winner,total\na,b,left,2\n", r'column "total": may count votes'),
        ("left,right,winner,prompt\na,b,left,p\na,b,left,q\nb,a,left,q\n", r'column "prompt": holds several prompts'),
    ],
)
def test_columns_that_change_the_meaning_are_refused_or_ignored(write, text, message):
    with pytest.raises(TableError, match=message):
        read_comparisons(write(text))
    column = text.splitlines()[0].split(",")[-1]
    assert read_comparisons(write(text), ignore=[column]).n_comparisons >= 1
    with pytest.raises(OptionError, match="ignore: there is no column 'colour'"):
        read_comparisons(write(text), ignore=["colour"])
    with pytest.raises(OptionError, match="ignore is a list of columns; got 'prompt'"):
        read_comparisons(write(text), ignore="prompt")


@pytest.mark.parametrize("column", ["voter", "comparison"])
def test_voters_and_ids_can_be_ignored(write, column):
    text = f"left,right,winner,{column}\na,b,left,x\nb,c,left,\n"
    with pytest.raises(TableError, match=f'csv:3: column "{column}": empty cell'):
        read_comparisons(write(text))
    for read in (read_comparisons, read_choices):
        assert len(read(write(text), ignore=[column]).items) == 3
    assert read_comparisons(write(text), ignore=[column]).voters is None
    with pytest.raises(OptionError, match="ignore: the votes are read from the column 'winner'"):
        read_comparisons(write(text), ignore=[column, "winner"])


@pytest.mark.parametrize("prompts", ["ppp", "pqr"])
def test_a_prompt_without_effect_is_accepted(write, prompts):
    rows = "".join(f"a,{loser},left,{prompt}\n" for loser, prompt in zip("bcd", prompts, strict=True))
    assert read_comparisons(write(f"left,right,winner,prompt\n{rows}")).n_comparisons == 3
    by_pair = "left,right,winner,topic\na,b,left,p\nb,a,left,p\nc,d,tie,q\n"
    assert read_comparisons(write(by_pair)).n_comparisons == 3


# --- identifiers ------------------------------------------------------------------------------------------------------


def test_mixed_text_and_numbers_are_refused(write):
    rows = [{"left": 7, "right": "8", "winner": "left"}]
    with pytest.raises(ComparisonError, match=r"""csv:1: column "right": '8' is text, but 7 is a whole number"""):
        read_comparisons(write(json.dumps(rows)))
    with pytest.raises(ComparisonError, match=r"right\[0\]: 7 is a whole number, but '7' is text"):
        Comparisons.from_labels(["7"], [7], ["left"])
    with pytest.raises(ComparisonError, match=r"voter\[1\]: 'Ann' is text, but 1 is a whole number"):
        Comparisons.from_labels(["a", "b"], ["b", "c"], ["left", "tie"], voter=[1, "Ann"])
    with pytest.raises(ComparisonError, match=r"left\[1\]: \('b', 2\) has a whole number in part 2, but"):
        Comparisons.from_labels([("a", "1"), ("b", 2)], [("c", "3"), ("d", "4")], ["left", "tie"])


def test_numbers_equal_their_text(write):
    numbers = write(json.dumps([{"left": 7, "right": 8, "winner": "left", "voter": 1}]), "v.json")
    for items in ([7, 8, 9], ["7", "8", "9"], np.array([7, 8, 9]), [np.int64(7), np.int64(8), np.int64(9)]):
        votes = read_comparisons(numbers, items=items)
        assert votes.items == tuple(np.asarray(items).tolist())
        assert votes.wins.tolist() == [1, 0, 0]
    texts = read_comparisons(write("left,right,winner,voter\n8,7,left,1\n"), items=["7", "8"])
    both = texts.joined(read_comparisons(numbers, items=[7, 8]))
    assert (both.items, both.voters, both.wins.tolist()) == (("7", "8"), ("1",), [1, 1])
    with pytest.raises(ComparisonError, match="items differ only in their types: '7'"):
        read_comparisons(numbers, items=[7, "7", 8])
    frame = pd.DataFrame({"left": [np.int64(7)], "right": [np.int64(8)], "winner": ["left"]}, dtype=object)
    assert set(map(type, Comparisons.from_frame(frame).items)) == {int}
    assert read_comparisons(numbers).without_voter("1").n_comparisons == 0


def test_items_that_look_the_same_are_named():
    with pytest.warns(UnicodeFormWarning, match=r"item ids that look the same .*'cafe\\u0301'"):
        Comparisons.from_labels(["caf\u00e9"], ["cafe\u0301"], ["left"])


# --- formulas ---------------------------------------------------------------------------------------------------------

FORMULAS = ["=SUM(A1)", "'=SUM(A1)", "@x", "'plum", "-1.5", "plum"]


@pytest.mark.parametrize("guard", [True, False])
def test_exported_formulas_are_read_unchanged(write, guard):
    with closing(Ledger.in_memory()) as ledger:
        campaign = ledger.new_campaign(plan_ballots(6, n_ballots=2, fraction=0.5, presentations=4), FORMULAS, 2, seed=1)
        campaign.open_next()
        text = campaign.export_votes("csv", unanswered=True, guard=guard).files["votes.csv"]
    assert ("''=SUM(A1)" in text) == guard
    votes = read_comparisons(write(text), items=FORMULAS)
    assert (votes.n_unanswered, votes.items) == (12, tuple(FORMULAS))
    assert set(read_comparisons(write(text)).items) == set(FORMULAS)


def test_own_tables_keep_apostrophes(write):
    votes = Comparisons.from_labels(FORMULAS[:3], FORMULAS[3:], ["left", "tie", "right"])
    assert read_comparisons(write(votes.to_csv())).items == votes.items


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"data": 1, "annotations": []}], 'votes.csv:1: column "data": the data of a task of Label Studio must'),
        ([{**TASKS[0], "annotations": 1}], 'column "annotations": a list of objects is expected; got 1'),
        ([{**TASKS[0], "annotations": [{"result": 1}]}], 'column "result": a list of objects is expected; got 1'),
        ([{**TASKS[0], "annotations": []}], "votes.csv: no votes"),
        ([task(1, "fig", None, [(7, "left")])], 'column "text2": a label is text, a whole number .* got None'),
        ([task(1, "fig", "plum", [(7, "left")], "rating")], "no results of a Pairwise tag"),
        ([TASKS[0], instance("Ann", {})], "must have the votes of one tool; got those of label_studio and potato"),
        ([instance("Ann", {"other": {"yes": "1"}})], 'column "label_annotations": answers of a pairwise scheme'),
        ([{"responses": ["fig"]}], 'column "responses": an instance of potato must have two'),
        ([{"responses": ["a", "b"], "preference": "A"}], 'column "preference": an object with a selection is expected'),
    ],
)
def test_invalid_tasks_are_refused(write, entries, message):
    with pytest.raises(TableError, match=message):
        read_comparisons(write(json.dumps(entries)))


@pytest.mark.parametrize("key", ["data", "responses"])
def test_votes_with_other_keys_are_no_tasks(write, key):
    path = write(json.dumps({"left": "a", "right": "b", "winner": "left", key: {"text1": 1}}))
    assert rows_of(read_comparisons(path)) == [(None, "a", "b", "left")]


def test_several_results_with_one_name_are_refused(write):
    tasks = json.loads(json.dumps(TASKS))
    tasks[0]["annotations"][0]["result"] *= 2
    with pytest.raises(TableError, match=r'votes\.csv:1: column "pw": this result is listed twice in one annotation'):
        read_comparisons(write(json.dumps(tasks)))


def test_all_votes_have_a_voter_or_none_has(write):
    entries = [instance("Ann", {}), instance(None, {})]
    with pytest.raises(ComparisonError, match=r'votes\.csv:2: column "voter": None is missing; every comparison needs'):
        read_comparisons(write("\n".join(map(json.dumps, entries))))


# --- rows for a ledger -----------------------------------------------------------------------------------------------


def test_absent_columns_are_none(write):
    votes = read_votes(write("comparison,winner\n1-0,tie\n"), needed=["comparison", "winner"])
    (row,) = votes.file().rows
    assert row == (2, "1-0", None, None, None, "tie", ())
    votes = read_votes(write('{"comparison": "1-0", "winner": "cannot say", "seconds": 1.5}'), needed=["winner"])
    (row,) = votes.file().rows
    assert row == (1, "1-0", None, None, None, "cannot say", (("seconds", "1.5"),))


def test_nonempty_cells_of_other_columns_are_kept(write):
    text = "note,left_1,left_2,right_1,right_2,winner,voter\n,a,b,c,d,,Ann\nwhy,a,b,d,c,left,Ann\n"
    first, second = read_votes(write(text)).file().rows
    assert (first.left, first.answer, first.extra) == (("a", "b"), None, ())
    assert (second.extra, second.voter) == ((("note", "why"),), "Ann")


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 99), st.sampled_from(["left", "right", "tie", ""]))
def test_comparisons_come_back_as_votes(file, presentations, n_voters, seed, winner):
    items = [("a", "b"), ("a", "c,d"), ("b", "Ж"), ("b", "d")]
    ballot = draw_ballot(items, presentations, n_voters, np.random.default_rng(seed))
    pairs = comparisons_of(ballot, 3)
    file.write_text("".join(f"{line}{winner if n else ''}\n" for n, line in enumerate(comparisons_csv(pairs).split())))
    rows = read_votes(file, format="csv").file().rows
    word = winner or None
    assert {row[1:] for row in rows} == {(pair.id, str(pair.voter), pair.left, pair.right, word, ()) for pair in pairs}
    assert [int(row.voter) for row in rows] == sorted(pair.voter for pair in pairs)
    for voter in range(n_voters):
        places = [int(row.comparison.removeprefix("3-")) for row in rows if int(row.voter) == voter]
        assert places == sorted(places)  # each voter's in the order of the ballot


def test_items_with_different_numbers_of_parts_are_refused():
    with pytest.raises(TableError, match=r"all of one length; got \[0, 2\]"):
        comparisons_csv([Comparison("1-0", 0, "a", ("b", "c"))])


def test_voters_with_names_come_in_the_order_of_the_ballot():
    asked_comparisons = [Comparison(f"1-{n}", voter, "a", "b") for n, voter in enumerate(["Zoe", "Ann", "Zoe"])]
    result = [line.split(",")[:2] for line in comparisons_csv(asked_comparisons).splitlines()[1:]]
    assert result == [["1-0", "Zoe"], ["1-2", "Zoe"], ["1-1", "Ann"]]
