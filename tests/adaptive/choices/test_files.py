"""Answers of any kind: each file format, and errors that name the cell, column or row."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive import (
    ChoiceAnswers,
    ComparisonError,
    ModelError,
    TableError,
    VoteError,
    merge_swapped,
    prediction_powered,
    read_choices,
    read_comparisons,
)
from adaptive.choices._answers import joined_answers
from rankcorr.errors import OptionError

FILE = "answers.csv"
CONVERSATIONS = [
    {
        "question_id": 1,
        "model_a": "a",
        "model_b": "b",
        "winner": "model_a",
        "judge": ["gpt-4", "pair-v2" if turn == 1 else "pair-v2-multi-turn"],
        "turn": turn,
        "conversation_a": [
            {"role": "user", "content": "why?"},
            {"role": "assistant", "content": "abc"},
            {"role": "user", "content": "how?"},
            {"role": "assistant", "content": "defgh"},
        ],
        "conversation_b": [{"role": "assistant", "content": "x"}, {"role": "assistant", "content": "yz"}],
    }
    for turn in (1, 2)
]
PAIRS = """left,right,winner,voter,prompt,left_length,right_length,weight
a,b,left,Ann,p1,100,50,0.5
b,c,tie,Ann,p2,20,30,1
a,c,both bad,Bob,p1,5,6,2
c,a,right,Bob,p2,5,9,1
b,a,,Bob,p3,1,1,1
"""
GRADES = "left,right,grade,voter\na,b,2,Ann\nb,c,A=B,Bob\na,c,B>A,Bob\nb,a,,Bob\n"
BEST_WORST = "Item1,Item2,Item3,Item4,BestItem,WorstItem\na,b,c,d,a,d\na,b,c,,b,c\n"
RANKED = "voter,item,rank\nAnn,a,1\nAnn,b,2\nBob,b,1\nBob,a,2\nBob,c,2\n"
ORDERS = ((("a",), ("b",)), (("b",), ("a", "c")))


@pytest.mark.parametrize(
    ("text", "kind", "rows"),
    [
        (GRADES, "grades", (("a", "b", 2), ("b", "c", 0), ("a", "c", -1))),
        ("model_a,model_b,grade\na,b,1.0\n", "grades", (("a", "b", 1),)),
        (BEST_WORST, "best-worst", ((("a", "b", "c", "d"), "a", "d"), (("a", "b", "c"), "b", "c"))),
        ("items,best,worst\na | b|c,a,c\n", "best-worst", ((("a", "b", "c"), "a", "c"),)),
        ("ranking\na > b\nb>a = c\n", "rankings", ORDERS),
        (RANKED, "rankings", ORDERS),
        ("ranking,item,rank\n1,a,1\n2,b,1\n1,b,2\n2,a,3\n2,c,3\n", "rankings", ORDERS),
        ("rank1,rank2,rank3\na,b,\nb,c,a\n", "rankings", ((("a",), ("b",)), (("b",), ("c",), ("a",)))),
        ('[{"ranking": ["a", "b"]}, {"ranking": ["b", ["a", "c"]]}]', "rankings", ORDERS),
        ('{"items": ["a", "b"], "best": "a", "worst": "b"}', "best-worst", ((("a", "b"), "a", "b"),)),
        ("winner,loser\na,b\n", "pairs", (("a", "b", "left"),)),
        ("model_a,model_b,winner\na,b,tie (bothbad)\na,b,tie\n", "pairs", (("a", "b", "both bad"), ("a", "b", "tie"))),
    ],
)
def test_the_kind_of_answer_follows_from_the_columns(write, text, kind, rows):
    answers = read_choices(write(text))
    assert (answers.kind, answers.rows) == (kind, rows)


def test_voter_prompt_weight_and_covariates_are_read(write):
    answers = read_choices(write(PAIRS), covariates=["length"])
    assert [row[2] for row in answers.rows] == ["left", "tie", "both bad", "right"]
    assert (answers.n_unanswered, answers.n_both_bad, answers.items) == (1, 1, ("a", "b", "c"))
    assert answers.voters == ("Ann", "Ann", "Bob", "Bob")
    assert answers.prompts == ("p1", "p2", "p1", "p2")
    assert answers.weights.tolist() == [0.5, 1, 2, 1]
    assert [side.tolist() for side in answers.covariates["length"]] == [[100, 20, 5, 5], [50, 30, 6, 9]]
    counted = read_choices(write("left,right,grade,n,weight\na,b,1,3,0.5\n"))
    assert counted.weights.tolist() == [1.5]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_rows_and_parquet_are_read_like_files(write, tmp_path, frame):
    path = write(BEST_WORST.replace(",,", ",e,"))
    columns = pd.read_csv(path)
    rows = read_choices(path).rows
    columns.to_parquet(tmp_path / "answers.parquet")
    for source in (frame(columns.to_dict("list")), columns.to_dict("records"), tmp_path / "answers.parquet"):
        assert read_choices(source).rows == rows


def test_arenas_have_lengths_in_conversations_and_metadata(write):
    def talk(text):
        return [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]

    row = {"question_id": 7, "model_a": "gnu", "model_b": "yak", "winner": "model_a", "judge": "J"}
    row |= {"conversation_a": talk("four"), "conversation_b": talk("no")}
    row |= {"conv_metadata": {"sum_assistant_a_tokens": 9, "sum_assistant_b_tokens": 3}}
    row["conv_metadata"] |= {"header_count_a": {"h1": 1, "h2": 2}, "header_count_b": {"h1": 0, "h2": 0}}
    path = write(json.dumps(row) + "\n", "arena.jsonl")
    answers = read_choices(path, covariates=["conversation", "sum_assistant_tokens", "header_count"])
    sides = {name: (left[0], right[0]) for name, (left, right) in answers.covariates.items()}
    assert sides == {"conversation": (4, 2), "sum_assistant_tokens": (9, 3), "header_count": (3, 0)}
    assert (answers.voters, answers.prompts) == (("J",), (7,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left,right,grade\na,b,2\na,b,x\n", r'answers.csv:3: column "grade": a grade must be a whole number'),
        ("left,right,grade\na,a,2\n", "an item is compared with itself: 'a'"),
        ("left,right,grade\na,b,0\n", "no grade prefers a side"),
        ("left,grade\na,0\n", "graded votes need a column right"),
        ("items,best,worst\na|b,c,b\n", r"answers.csv:2: column \"best\": must be one of 'a', 'b'; got 'c'$"),
        ("items,best,worst\nx|y,1,2\n", "got '1'; write the item itself in place of its position or letter"),
        ("item_1,item_2,best,worst\nx,y,x,B\n", "got 'B'; write the item itself in place of its position or letter"),
        ("items,best,worst\na|b,a,a\n", "'a' is both the best and the worst"),
        ("items,best,worst\na,a,a\n", "an answer must show two items or more"),
        ("item_1,item_3,best,worst\na,b,a,b\n", "columns must be numbered from 1 without gaps"),
        ("ranking\na > a\n", "'a' occurs twice in one answer"),
        ("ranking\na > > b\n", "a ranking has an empty item"),
        ("ranking\na\n", "a ranking must have two items or more; got only 'a'"),
        ("items,best,worst\na;b;c,a,c\n", r"must show two items or more, separated by \|; got \['a;b;c'\]"),
        ('[{"ranking": 3}]', "a ranking must be a list of items, or text such as a > b = c; got 3"),
        ('[{"ranking": ["a", true]}]', "an item must be text or a whole number; got True"),
        ('[{"ranking": ["a ", "b"]}]', "a space or a line break"),
        ("rank1,rank2,rank3\na,,b\n", 'column "rank2": this rank is empty, but a later one is not'),
        ("Judge,best,worst,items\nAnn,a,b,a|b\n", 'column "Judge": did you mean "judge"'),
        ("voter,ranking\nAnn,a > b\nAnn ,a > b\n", r":3: column \"voter\": 'Ann ' begins or ends with a space"),
        ("ranking,voter\na > b,Ann\nranking,voter\na > b,Ann\n", ":3: this row repeats the names of the columns"),
        ("voter,item,rank\nAnn,a,1\nAnn,a,2\n", "'a' occurs twice in one ranking"),
        ("voter,item,rank\nAnn,a,0\nAnn,b,2\n", "a rank must be a number above 0, with 1 for the best; got '0'"),
        ("ranking,voter,item,rank\n1,Ann,a,1\n1,Bob,b,2\n", "the rows of one ranking have different voters"),
        ("left,right,grade,weight\na,b,1,-1\n", "a weight must be a number from 0 to below 1e12; got '-1'"),
        ("left,right,grade,n\na,b,1,1.5\n", "a count must be a whole number from 0 to below 1e12; got '1.5'"),
        ("left,right,grade,n\na,b,1,0\na,b,-1,1\na,b,1,2\na,b,1,3\n", 'column "n": numbers the rows, but'),
        ("left,right,grade,n,count\na,b,1,1,1\n", "both n and count may be the count of an answer"),
        ("left,right,grade,voter\na,b,1,Ann\na,b,1,\n", "a voter is missing, but other rows have one"),
        ("left,right,grade,best,worst\na,b,1,a,b\n", r"fit several kinds of answers: best-worst \(best, worst\) and"),
        ("left,right,grade,n_a\na,b,1,3\n", "may count votes"),
        ('[{"left": 7, "right": "b", "grade": 1}, {"left": "7", "right": "b", "grade": 1}]', "'7' is text in one row"),
        ('{"left":"a","right":"b","winner":"left"}\n{"ranking":["a","b","c"]}\n', "a vote on a pair, whereas"),
        ("left,right,grade,winner\na,b,2,\nb,c,,left\n", 'csv:3: column "winner": a vote on a pair, whereas'),
        ("ranking\n", "no answers, only the names of the columns"),
        ("best,worst\na,b\n", "best-worst answers need a column items"),
        ("voter,item,rank\nAnn,a,1\nBob,b,2\n", "a ranking must have two items or more"),
        ("left,right,grade,Winner\na,b,1,right\n", 'column "Winner": did you mean "winner"'),
        ("item1,item2,item3,best,worst\na,,b,a,b\n", 'column "item2": this item is empty, but a later one is not'),
        ("items,best,worst\na|a,a,a\n", "'a' occurs twice in one answer"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(write, text, message):
    with pytest.raises(TableError, match=message):
        read_choices(write(text))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda path: read_choices(path, columns={"x": "y"}), OptionError, "columns: unknown role 'x'; use left"),
        (lambda path: read_choices(path, columns={"prompt": "y"}), OptionError, "for prompt, but there is no"),
        (lambda path: read_choices(path, ignore=["y"]), OptionError, "ignore: there is no column 'y'"),
        (lambda path: read_choices(path, covariates="length"), OptionError, "covariates is a list of columns; got"),
        (lambda path: read_choices(path, covariates=["x"]), TableError, "no columns left_x and right_x"),
        (lambda path: read_choices(path, covariates=["word"]), TableError, "a covariate must be a finite number; got"),
        (lambda _: read_choices([{"ranking": "a > b"}], covariates=["x"]), OptionError, "covariates apply to pairs"),
        (lambda _: read_choices([{"ranking": "a > b"}], format="arena"), OptionError, "format applies to votes"),
        (lambda _: read_choices([{"ranking": "a > b"}], answers={"a": "left"}), OptionError, "these answers are rank"),
        (
            lambda _: read_choices([{"left": 1, "right": 2, "grade": "x"}], answers={"x": "y"}),
            OptionError,
            "a grade must be a whole number",
        ),
        (
            lambda _: read_choices([{"left": 1, "right": 2, "grade": 1}], answers="codes"),
            OptionError,
            "applies to winners; grades are whole numbers",
        ),
        (
            lambda _: read_choices([{"left": "a", "right": "b", "winner": "x"}]),
            VoteError,
            "answers:0: column \"winner\": the winner must be 'left', .*; got 'x'",
        ),
        (lambda _: read_choices([3]), TableError, "an answer must be a dict with the names of columns as keys; got 3"),
        (lambda path: read_choices(path).choices(cluster="x"), OptionError, "cluster must be one of"),
        (lambda path: read_choices(path).choices(cluster="prompt"), ModelError, "need the prompt of each answer"),
        (lambda _: read_choices([{"ranking": "a > b"}]).choices(side_bias=True), ModelError, "only pairs have sides"),
        (lambda _: read_choices([{"ranking": [["a"], ["b>c"]]}]).to_csv(), ModelError, "must not contain > or ="),
        (
            lambda _: ChoiceAnswers("grades", ((("a",), "b", 1),), np.ones(1)).to_csv(),
            ModelError,
            "items in CSV must be text or whole numbers",
        ),
        (lambda path: read_choices(path).choices(both_bad="x"), OptionError, "both_bad must be one of"),
    ],
)
def test_a_wrong_option_is_named(write, call, error, message):
    path = write("left,right,winner,voter,left_word,right_word\na,b,left,Ann,w,v\n")
    with pytest.raises(error, match=message):
        call(path)


def test_rows_of_any_iterable_and_labels_of_rows_are_read():
    frame = pd.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": ["Ann", "Bob"]})
    rows = frame.to_dict("records")
    expected = read_choices(frame)
    for source in (rows, tuple(rows), iter(rows), (row for row in rows), frame.set_index(["left", "right"])):
        choices = read_choices(source)
        assert (choices.rows, choices.voters) == (expected.rows, expected.voters)
    counts = frame.groupby(["left", "right", "winner"]).size()
    assert read_choices(counts.rename("n")).rows == expected.rows
    with pytest.raises(ComparisonError, match="a data frame of pandas, polars or pyarrow is expected"):
        read_choices(counts)
    with pytest.raises(TableError, match="no answers"):
        read_choices(iter([]))


def test_grades_may_have_words(write):
    text = "left,right,verdict\na,b,much better\nb,a,same\n"
    answers = read_choices(write(text), columns={"grade": "verdict"}, answers={"much better": 2, "same": "0"})
    assert [row[2] for row in answers.rows] == [2, 0]


ITEMS = st.lists(st.sampled_from("abcdef"), min_size=2, max_size=6, unique=True)


@st.composite
def any_answers(draw):
    kind = draw(st.sampled_from(["pairs", "grades", "best-worst", "rankings"]))
    n = draw(st.integers(1, 6))
    lists = [draw(ITEMS) for _ in range(n)]
    if kind == "pairs":
        words = st.sampled_from(["left", "right", "tie", "both bad"])
        rows = [(items[0], items[1], draw(words)) for items in lists]
    elif kind == "grades":
        rows = [(items[0], items[1], draw(st.integers(-2, 2)) if k else 2) for k, items in enumerate(lists)]
    elif kind == "best-worst":
        rows = [(tuple(items), items[1], items[0]) for items in lists]
    else:
        cuts = [draw(st.integers(1, len(items))) for items in lists]
        parts = [(tuple(items[:cut]), tuple(items[cut:])) for items, cut in zip(lists, cuts, strict=True)]
        rows = [tuple(filter(None, groups)) for groups in parts]
    weights = np.array([draw(st.sampled_from([0.5, 1, 2])) for _ in range(n)])
    voters = tuple(draw(st.sampled_from(["Ann", "Bob"])) for _ in range(n)) if draw(st.booleans()) else None
    prompts = tuple(draw(st.sampled_from(["p", "q"])) for _ in range(n)) if draw(st.booleans()) else None
    return ChoiceAnswers(kind, tuple(rows), weights, voters, prompts)


@given(any_answers())
def test_a_table_of_answers_is_read_as_written(tmp_path_factory, answers):
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    path.write_text(answers.to_csv(), encoding="utf-8")
    again = read_choices(path)
    assert (again.kind, again.rows, again.voters, again.prompts) == (
        answers.kind, answers.rows, answers.voters, answers.prompts,
    )  # fmt: skip
    assert_allclose(again.weights, answers.weights)


def test_clusters_and_both_bad_reach_the_fit(write):
    answers = read_choices(write(PAIRS))
    pairs = list(zip(answers.voters, answers.prompts, strict=True))
    both = answers.choices(cluster="both").clusters
    assert both.tolist() == [[["Ann", "Bob"].index(voter), ["p1", "p2"].index(prompt)] for voter, prompt in pairs]
    assert answers.choices(cluster="voter").clusters.tolist() == [0, 0, 1, 1]
    assert answers.choices(both_bad="left out").events.choice.size == 3
    ties = answers.choices(both_bad="tie").fit(prior=1)
    assert ties.others.keys() == {"tie"}


@pytest.mark.real_data
def test_published_rankings_are_read_from_their_file(data_dir):
    path = data_dir / "published" / "nascar.csv"
    answers = read_choices(path)
    assert (len(answers.rows), len(answers.items), len(answers.rows[0])) == (36, 87, 43)


def test_turns_of_a_conversation_are_different_questions_of_one_cluster():
    row = {"question_id": 1, "model_a": "x", "model_b": "y", "winner": "model_a", "judge": "gpt"}
    swapped = {**row, "model_a": "y", "model_b": "x"}
    first = read_choices([{**row, "turn": 1}, {**swapped, "turn": 1}])
    assert first.prompts == (1, 1)
    both = read_choices([{**row, "turn": 1}, {**swapped, "turn": 2}])
    assert (both.prompts, both.turns) == ((1, 1), (1, 2))
    assert len(merge_swapped(both).rows) == 2
    assert both.choices(cluster="prompt").clusters.tolist() == [0, 0]
    assert len(merge_swapped(first).rows) == 1
    assert read_choices([row]).turns is None
    inconsistent = read_choices([{**row, "winner": "tie (inconsistent)"}])
    assert inconsistent.rows == (("x", "y", "tie"),)


def test_rows_without_an_answer_stay_with_their_voter():
    rows = [
        {"left": "a", "right": "b", "winner": winner, "voter": voter}
        for winner, voter in (("left", "Ann"), (None, "Ann"), ("right", "Bob"), ("", "Bob"), ("", "Bob"))
    ]
    answers = read_choices(rows)
    assert (answers.n_unanswered, answers.unanswered) == (3, {("Ann", None): 1, ("Bob", None): 2})
    assert answers.of_voters(["Ann"]).n_unanswered == 1
    assert answers.of_voters(["Ann"], others=True).n_unanswered == 2
    nameless = read_choices([{"left": "a", "right": "b", "winner": winner} for winner in ("left", "")])
    assert nameless.unanswered == {(None, None): 1}


GAMES = {"question_id": 81, "model_1": "x", "model_2": "y", "g1_winner": "model_2", "g2_winner": "model_2"}
GAMES |= {"judge": ["gpt-4", "pair-v2"], "g1_judgment": "[[B]]", "g2_judgment": "[[A]]", "turn": 1, "tstamp": 1.5}


def test_both_games_of_an_mt_bench_judge_are_votes(write):
    rows = [GAMES, {**GAMES, "g1_winner": "tie", "g2_winner": "error"}]
    from_file = read_choices(write("\n".join(map(json.dumps, rows)), "judge.jsonl"))
    assert from_file.rows == read_choices(rows).rows == (("x", "y", "right"), ("y", "x", "left"), ("x", "y", "tie"))
    assert (from_file.voters, from_file.prompts, from_file.n_unanswered) == (("gpt-4",) * 3, (81,) * 3, 1)
    with pytest.raises(TableError, match=r'answers:1: column "g2_winner": one of model_2, .* got .A.'):
        read_choices([GAMES, {**GAMES, "g2_winner": "A"}])


@pytest.mark.parametrize("read", [read_choices, read_comparisons])
def test_both_games_are_read_from_each_format(read, write, tmp_path):
    """Both games of an MT-bench table are read, even if the columns name only the first."""
    rows = [{**GAMES, "judge": "gpt-4", "question_id": number} for number in (81, 82)]
    frame = pd.DataFrame([rows[0], {**rows[1], "g2_winner": ""}])
    frame.to_parquet(tmp_path / "judge.parquet")
    ignored = ["question_id", "g1_judgment"]
    (tmp_path / "empty.csv").write_text(",".join(frame.columns) + "\n")
    with pytest.raises(TableError, match="no votes"):
        read(tmp_path / "empty.csv")
    for source in (write(frame.to_csv(index=False), "judge.csv"), tmp_path / "judge.parquet"):
        answers = read(source, ignore=ignored)
        n_answers = len(answers.rows) if read is read_choices else answers.n_comparisons
        assert (n_answers, answers.n_unanswered) == (3, 1)
        for columns in (
            {"winner": "g1_winner"},
            {"left": "model_1", "right": "model_2", "winner": "g1_winner"},
            {"left": "model_1"},
        ):
            with pytest.raises(OptionError, match="two games of a judge of MT-bench, and both are read"):
                read(source, ignore=ignored, **({"columns": columns} if read is read_choices else columns))


ONE_AS_DECIMAL = "is also written '1.0', and names are compared as text: write all in one way"


@pytest.mark.parametrize("role", ["left", "voter", "prompt"])
def test_1_and_1_0_are_not_two_names(role, write):
    """pandas writes 1 as 1.0 if other cells of the column are empty, so the two spellings are ambiguous."""
    row = {"left": "7", "right": "x", "winner": "left", "voter": "3", "prompt": "5"}
    files = []
    for name in ("1", "1.0"):
        table = pd.DataFrame([{**row, role: name}]).to_csv(index=False)
        files.append(write(table, f"{name}.csv"))
    noun = "item" if role == "left" else role
    message = f"the {noun} '1' {ONE_AS_DECIMAL}"
    parts = [read_choices(file) for file in files]
    with pytest.raises(ComparisonError, match=f"^1.0: {message}"):
        joined_answers(parts, ["1", "1.0"])
    both = pd.concat([pd.read_csv(file, dtype=str) for file in files]).to_csv(index=False)
    with pytest.raises(TableError, match=rf"both\.csv:3: {message}"):
        read_choices(write(both, "both.csv"))
    with pytest.raises(ComparisonError, match=f"^row 1: {message}"):
        read_choices(pd.read_csv(write(both, "both.csv"), dtype=str))
    if role != "voter":
        with pytest.raises(ModelError, match=message):
            prediction_powered(*parts)
    if role != "prompt":
        with pytest.raises(ComparisonError, match=rf'both\.csv:3: column "{role}": {message}'):
            read_comparisons(write(both, "both.csv"))
    assert joined_answers(parts[:1] * 2).rows == parts[0].rows * 2


def test_a_winner_of_another_name_keeps_the_format_of_the_other_columns(write):
    file = write("model_a,model_b,vote\nx,y,model_a\ny,x,tie (bothbad)\n", "arena.csv")
    assert read_choices(file, columns={"winner": "vote"}).rows == (("x", "y", "left"), ("y", "x", "both bad"))


def test_the_second_game_has_the_covariates_of_the_exchanged_sides():
    row = {**GAMES, "left_length": 900, "right_length": 100, "tokens_a": 3, "tokens_b": 4}
    row["conv_metadata"] = {"sum_assistant_a_tokens": 8, "sum_assistant_b_tokens": 9}
    for source in ([row], pd.DataFrame([row])):
        answers = read_choices(source, covariates=["length", "tokens", "sum_assistant_tokens"])
        sides = {name: [side.tolist() for side in pair] for name, pair in answers.covariates.items()}
        assert sides == {
            "length": [[900, 100], [100, 900]],
            "tokens": [[3, 4], [4, 3]],
            "sum_assistant_tokens": [[8, 9], [9, 8]],
        }


@pytest.mark.parametrize("write", [pd.DataFrame, pl.DataFrame, lambda rows: pd.DataFrame(rows).map(as_arrays)])
def test_lists_in_data_frames_are_read_as_in_json(write):
    answers = read_choices(write(CONVERSATIONS), covariates=["conversation"])
    expected = read_choices(CONVERSATIONS, covariates=["conversation"])
    assert (answers.rows, answers.voters, answers.prompts) == (expected.rows, expected.voters, expected.prompts)
    assert answers.turns == (1, 2)
    for side in (0, 1):
        assert_allclose(answers.covariates["conversation"][side], expected.covariates["conversation"][side])
    games = read_choices(write([GAMES]))
    assert games.rows == read_choices([GAMES]).rows
    rows = pd.DataFrame(CONVERSATIONS).map(as_arrays).to_dict("records")
    assert read_choices(rows).voters == expected.voters


def as_arrays(entry):
    """Lists as pandas has them from Parquet."""
    return np.array(entry) if isinstance(entry, list) else entry


def test_turns_are_numbers_in_any_spelling_and_may_be_missing():
    rows = [{"left": "a", "right": "b", "winner": "left", "prompt": 1.0, "turn": turn} for turn in (1, "1", 1.0, "1.0")]
    assert set(read_choices(rows).turns) == {1}
    assert read_choices(rows).prompts == (1,) * 4
    missing = read_choices(
        pd.DataFrame([{**row, "turn": turn} for row, turn in zip(rows, (None, 2, 2, 1), strict=True)])
    )
    assert missing.turns == (None, 2, 2, 1)


def test_files_with_one_turn_each_are_not_merged():
    row = {"left": "a", "right": "b", "winner": "left", "voter": "Ann", "prompt": 1}
    swapped = {**row, "left": "b", "right": "a"}
    joined = joined_answers([read_choices([{**row, "turn": 1}]), read_choices([{**swapped, "turn": 2}])])
    assert joined.turns == (1, 2)
    assert len(merge_swapped(joined).rows) == 2
    assert joined_answers([read_choices([{**row, "turn": 1}]), read_choices([swapped])]).turns == (1, None)
    with pytest.raises(ComparisonError, match="1 of 2 files has no voters: give each a column voter, such as one name"):
        joined_answers(
            [read_choices([row]), read_choices([{"left": "a", "right": "b", "winner": "left", "prompt": 1}])]
        )


def test_names_from_several_files_are_text():
    number = read_choices([{"left": 1, "right": 2, "winner": "left", "voter": 7, "prompt": 81}])
    text = read_choices(
        [
            {"left": "2", "right": "1", "winner": "", "voter": "7", "prompt": "81"},
            *[{"left": "2", "right": "1", "winner": "left", "voter": "8", "prompt": "81"}],
        ]
    )
    joined = joined_answers([number, text])
    assert (joined.items, set(joined.voters), set(joined.prompts)) == (("1", "2"), {"7", "8"}, {"81"})
    assert joined.unanswered == {("7", "81"): 1}
    kinds = {
        "best-worst": {"items": [1, 2, 3], "best": 1, "worst": 3},
        "rankings": {"ranking": [[1, 2], 3]},
        "grades": {"left": 1, "right": 2, "grade": 1},
    }
    for kind, row in kinds.items():
        answers = read_choices([row])
        twice = joined_answers([answers, answers])
        assert (twice.kind, twice.items) == (kind, tuple(map(str, answers.items)))
        assert twice.choices().events.choice.size == 2 * answers.choices().events.choice.size


def test_answers_of_some_voters_can_be_selected():
    rows = [{"left": "a", "right": "b", "winner": "left", "voter": voter} for voter in (1, 1, 1, "Ann", "Bob")]
    answers = read_choices(rows)
    assert answers.of_voters([1]).voters == (1, 1, 1)
    assert answers.of_voters([1, "Bob"], others=True).voters == ("Ann",)
    assert answers.warnings == ("60 % of the answers are from the voter 1, who dominates the ranking",)
    on_prompts = read_choices([{**row, "prompt": "p"} for row in rows])
    assert on_prompts.warnings[0].endswith("set powered_by= to rank by the people instead")
    shares = {(47, 20, 20, 13): True, (47, 40, 13): False, (30, 14, 14, 14, 14, 14): False, (51, 49): True}
    for numbers, is_noted in shares.items():
        rows = [
            {"left": "a", "right": "b", "winner": "left", "voter": k} for k, n in enumerate(numbers) for _ in range(n)
        ]
        assert bool(read_choices(rows).warnings) == is_noted
    assert answers.of_voters([1]).warnings == ("all votes are from one voter: other voters may differ",)
    assert answers.select([1, 2, 3, 4]).warnings == ()
    with pytest.raises(ModelError, match="no voter is called 'Z'; there are 1, 'Ann', 'Bob'"):
        answers.of_voters(["Z"])
    people = read_choices([{"left": "a", "right": "b", "winner": "left", "voter": f"P{n}"} for n in range(22)])
    with pytest.raises(ModelError, match="'P18', 'P19', and 2 more"):
        people.of_voters(["Z"])
    with pytest.raises(ModelError, match="voters must be a list of names; got 'Bob'"):
        answers.of_voters("Bob")
    with pytest.raises(ModelError, match="the voters are not known"):
        read_choices([{"left": "a", "right": "b", "winner": "left"}]).of_voters(["Z"])


def test_turns_of_a_conversation_and_judges_as_in_mt_bench():
    answers = read_choices(CONVERSATIONS, covariates=["conversation"])
    assert answers.voters == ("gpt-4", "gpt-4")
    assert (answers.prompts, answers.turns) == ((1, 1), (1, 2))
    assert [side.tolist() for side in answers.covariates["conversation"]] == [[3, 8], [1, 3]]
    rows_without_turns = [{name: cell for name, cell in row.items() if name != "turn"} for row in CONVERSATIONS[:1]]
    assert read_choices(rows_without_turns, covariates=["conversation"]).covariates["conversation"][0].tolist() == [8]


def test_counts_of_votes_on_pairs():
    answers = read_choices([{"left": "a", "right": "b", "winner": w} for w in ("left", "tie", "both bad", "right")])
    assert answers.counts()["a"] == {"presentations": 4, "wins": 1, "ties": 2, "losses": 1}
    assert answers.counts("left out")["b"] == {"presentations": 3, "wins": 1, "ties": 1, "losses": 1}
    rows = [{"left": "a", "right": "b", "winner": "left", "n": n} for n in range(1, 5)]  # it numbers the rows
    assert read_choices(rows, columns={"count": "n"}).weights.tolist() == [1, 2, 3, 4]
    weighted = read_choices([{"left": "a", "right": "b", "winner": "left", "n": 30, "weight": 0.5}])
    assert weighted.counts()["b"] == {"presentations": 15, "wins": 0, "ties": 0, "losses": 15}
    with pytest.raises(ModelError, match="only votes on pairs have wins and losses; these answers are rankings"):
        read_choices([{"ranking": "a > b"}]).counts()


def test_unsigned_grades_take_the_sign_of_the_winner():
    rows = [("right", 2), ("left", 1), ("tie", 0), (None, None)]
    graded = [{"left": "a", "right": "b", "winner": winner, "grade": grade} for winner, grade in rows]
    assert [row[2] for row in read_choices(graded).rows] == [-2, 1, 0]
    signed = [{**row, "grade": grade} for row, grade in zip(graded, (-2, 1, 0, -1), strict=True)]
    assert [row[2] for row in read_choices(signed).rows] == [-2, 1, 0, -1]


def test_unsigned_grades_take_the_sign_of_the_item_that_won(write):
    answers = read_choices(write("left,right,winner,grade\na,b,b,2\nb,c,tie,0\na,c,c,1\nc,a,c,3\n"))
    assert [row[2] for row in answers.rows] == [-2, 0, -1, 3]


@pytest.mark.parametrize("winner", [None, "", "first", "B", "c", "cannot say", 1])
def test_an_unsigned_grade_needs_a_side(winner):
    rows = [("right", 2), (winner, 1)]
    graded = [{"left": "a", "right": "b", "winner": winner, "grade": grade} for winner, grade in rows]
    with pytest.raises(TableError, match=r'answers:1: column "winner": the grade 1 has no sign, so the winner must be'):
        read_choices(graded)


@pytest.mark.parametrize("grades", [[5, 1, 3], [0, 4, 2], [1, 2, 3] * 7])
def test_a_scale_is_not_read_as_grades(write, grades):
    rows = [{"left": "a", "right": "b", "grade": grade} for grade in grades]
    with pytest.raises(TableError, match=r"no grade is below 0, so all .* favour the left one"):
        read_choices(rows)
    meanings = {grade: 2 - grade for grade in sorted(set(grades))}
    text = write("left,right,grade\n" + "".join(f"a,b,{grade}\n" for grade in grades))
    frame = pd.DataFrame(rows).astype({"grade": float})
    for source, keys in ((rows, int), (text, str), (frame, float), (frame, str)):
        answers = read_choices(source, answers={keys(grade): meaning for grade, meaning in meanings.items()})
        assert [row[2] for row in answers.rows] == [2 - grade for grade in grades]


def test_a_scale_needs_the_meaning_of_each_step():
    rows = [{"left": "a", "right": "b", "grade": grade} for grade in (1, 2)]
    with pytest.raises(TableError, match='answers:1: column "grade": a grade must be 1; got 2'):
        read_choices(rows, answers={1: 2})
    with pytest.raises(OptionError, match="a grade must be a whole number"):
        read_choices(rows, answers={1: 0.5})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("left", -2), ("right", -1)], "the grade is -2, but the winner 'left': leave one out by ignore"),
        ([("tie", 1)], "the grade is 1, but the winner 'tie'"),
        ([("left", 0), ("left", 1)], "the grade is 0, but the winner 'left'"),
    ],
)
def test_a_grade_that_contradicts_the_winner(rows, message):
    graded = [{"left": "a", "right": "b", "winner": winner, "grade": grade} for winner, grade in rows]
    with pytest.raises(TableError, match=message):
        read_choices(graded)


@pytest.mark.parametrize("role", ["voter", "prompt"])
def test_a_name_that_is_both_text_and_number_is_reported_at_its_second_use(role):
    rows = [{"left": "a", "right": "b", "winner": "left", role: name} for name in (7, 8, "8")]
    with pytest.raises(TableError, match=rf"^answers:2: the {role} '8' is text in one row and a number in another"):
        read_choices(rows)


@pytest.mark.parametrize("weight", ["1_000", "\N{ARABIC-INDIC DIGIT THREE}", "1e999"])
def test_invalid_weights_are_refused(weight):
    with pytest.raises(TableError, match="a weight must be a number from 0"):
        read_choices([{"left": "a", "right": "b", "winner": "left", "weight": weight}])


@pytest.mark.parametrize("data", [b"PAR1 damaged", b"left,right,winner\na,b,left\n"])
def test_the_format_is_detected_from_the_first_bytes(data, tmp_path):
    path = tmp_path / "votes.parquet"
    path.write_bytes(data)
    if data.startswith(b"PAR1"):
        pytest.importorskip("pyarrow")
        with pytest.raises(TableError, match=r"votes\.parquet"):
            read_choices(path)
    else:
        assert read_choices(path).rows == (("a", "b", "left"),)


@pytest.mark.parametrize("write", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"g2_winner": "A"}, r"^g2_winner\[1\]: one of model_2"),
        ({"model_2": "x"}, r"^winner\[1\]: an item is compared with itself: 'x'"),
        ({"model_2": ""}, r"^model_a\[1\]: a label is text"),
        ({"judge": ""}, r"^judge\[1\]: a voter is missing"),
        ({"n": -1}, r"^n\[1\]: a count must be a whole number"),
    ],
)
def test_games_in_a_frame_refer_to_its_rows(write, change, message):
    row = {**GAMES, "judge": "gpt-4", "n": 1}
    frame = write([row, {**row, **change}, {**row, **change}])
    with pytest.raises(ComparisonError, match=message):
        read_choices(frame)


@pytest.mark.parametrize("code", [1.5, "1.5", 1.0, "1.0", "1"])
def test_an_answer_that_is_a_number_is_named_with_or_without_decimals(code):
    """In JSON the answer is the number 1.0, while an option can only give text."""
    rows = [{"left": "a", "right": "b", "winner": winner} for winner in (code, 0.0)]
    meanings = {"1.0": "left", "1.5": "left", "0.0": "both bad"}
    assert [row[2] for row in read_choices(rows, answers=meanings).rows] == ["left", "both bad"]
    with pytest.raises(OptionError, match="the answer '1' has two meanings"):
        read_choices(rows, answers={"1": "left", "1.0": "right"})
    versions = [{"left": "a", "right": "b", "winner": winner} for winner in ("v1", "v1.0")]
    meanings = {"v1": "left", "v1.0": "right"}
    assert [row[2] for row in read_choices(versions, answers=meanings).rows] == ["left", "right"]


MISSING = [None, "", np.nan, pd.NA, pd.NaT]


@pytest.mark.parametrize("entry", MISSING, ids=repr)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("answer", [{"winner": ["left", "left"]}, {"grade": [1, -1]}], ids=["pairs", "grades"])
def test_a_pair_in_a_frame_that_lacks_an_item_is_refused(answer, side, entry):
    sides = {"left": ["a", "b"], "right": ["c", "d"]} | {side: pd.Series(["e", entry], dtype=object)}
    with pytest.raises(ComparisonError, match=rf"^{side}\[1\]: .* is missing; every answer needs both items by label"):
        read_choices(pd.DataFrame({**sides, **answer}))


def test_a_pair_in_a_parquet_file_that_lacks_an_item_is_refused(tmp_path):
    path = tmp_path / "answers.parquet"
    pl.DataFrame({"left": ["a", None], "right": ["b", "c"], "winner": ["left", "tie"]}).write_parquet(path)
    with pytest.raises(TableError, match=r'parquet:2: column "left": None is missing; every answer needs both items'):
        read_choices(path)


def test_labels_of_numpy_are_text_and_whole_numbers():
    row = {"voter": np.int64(3), "prompt": np.str_("p")}
    votes = read_choices([{"left": np.int64(1), "right": np.int8(2), "winner": np.str_("left"), **row}])
    assert (votes.rows, votes.voters, votes.prompts) == (((1, 2, "left"),), (3,), ("p",))
    sets = read_choices([{"items": [np.int64(1), np.int64(2)], "best": np.int64(1), "worst": np.int64(2)}])
    assert sets.rows == (((1, 2), 1, 2),)
    assert {type(item) for item in (*sets.rows[0][0], *sets.rows[0][1:], *votes.rows[0][:2])} == {int}


def test_a_ranking_with_ties_is_a_nested_list_in_every_frame():
    frame = pl.DataFrame({"ranking": [[["a"], ["b", "c"]], [["c"], ["a"]]]})
    expected = ((("a",), ("b", "c")), (("c",), ("a",)))
    for table in (frame, frame.to_pandas(), frame.to_arrow()):
        assert read_choices(table).rows == expected


def test_weights_grades_and_ranks_may_be_decimals():
    columns = {"left": ["a", "b"], "right": ["b", "a"], "grade": [Decimal(2), Decimal(-1)]}
    answers = read_choices(pl.DataFrame({**columns, "weight": [Decimal("0.5"), Decimal(3)]}))
    assert (answers.rows, answers.weights.tolist()) == ((("a", "b", 2), ("b", "a", -1)), [0.5, 3])
    ranking = read_choices(pl.DataFrame({"item": ["a", "b"], "rank": [Decimal(2), Decimal(1)]}))
    assert ranking.rows == ((("b",), ("a",)),)
    with pytest.raises(ComparisonError, match=r"weight\[0\]: a weight must be a number .*; got Decimal\('sNaN'\)"):
        read_choices(pd.DataFrame({**columns, "weight": [Decimal("sNaN"), Decimal(3)]}))
