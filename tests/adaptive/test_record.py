"""Results of protocols: counts over all ballots, and tables that are written and read again."""

import copy
import csv
import io
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import (
    BallotVotes,
    Comparisons,
    VoterPool,
    VoterPopulation,
    borda,
    draw_ballot,
    pair_tokens,
    plan_ballots,
    rescale,
    run_protocol,
    score_ballots,
    select_top,
    simulate,
)
from adaptive._protocol import Position
from adaptive._record import places_best_first
from adaptive._scores import score_ballot
from adaptive._tables import check_spelling, csv_text, item_columns, read_items
from adaptive._token_pairs import FewRareTokensWarning, pairing_csv
from adaptive.errors import ProtocolError
from rankcorr._io.rankings import read_ranking
from rankcorr._io.table import Record, TextTable
from rankcorr.errors import TableError
from tests.adaptive import naive
from tests.adaptive.strategies import CELLS, PAIRS, PLAN, PLANS, SEEDS, naive_ballot, run_and_watch
from tests.results import arrays_in, check_copies, check_equality


@given(PLANS, SEEDS)
def test_counts_are_those_of_all_ballots(plan, seed):
    result, ballots = run_and_watch(plan, seed)
    comparisons = [comparison for ballot, answers in ballots for comparison in naive_ballot(ballot, answers)[1]]
    assert len(comparisons) == plan.n_comparisons
    for item in range(plan.n_items):
        counts = naive.count(item, comparisons)
        for name in ("wins", "ties", "losses"):
            assert getattr(result, name)[item] == counts[name]
        assert result.presentations[item] == sum(counts.values())
        assert result.last_ballot[item] == max(k for k, (ballot, _) in enumerate(ballots, 1) if item in ballot.items)


@given(SEEDS, st.sampled_from([PAIRS, [f"{left} {right}" for left, right in PAIRS]]))
def test_the_table_has_every_item_best_first(seed, items):
    result, _ = run_and_watch(PLAN, seed, items=items)
    header, *rows = csv.reader(io.StringIO(result.to_csv(), newline=""))
    names = ["item_1", "item_2"] if items is PAIRS else ["item"]
    assert header == [*names, "rank", "ybar", "presentations", "wins", "ties", "losses", "last_ballot"]
    ranks = [float(row[len(names)]) for row in rows]
    assert ranks == sorted(result.ranking.ranks)
    for row in rows:
        item = tuple(row[:2]) if items is PAIRS else row[0]
        place = items.index(item)
        columns = [result.ranking.ranks, result.ybar, result.presentations, result.wins, result.ties, result.losses]
        columns.append(result.last_ballot)
        assert [float(value) for value in row[len(names) :]] == [column[place] for column in columns]


@pytest.mark.parametrize("columns", [["item"], ["item_1", "item_2"]])
def test_rankcorr_reads_the_table(columns, tmp_path):
    items = [f"item {i}" for i in range(8)] if columns == ["item"] else [(f"token {i}", "noun") for i in range(8)]
    result, _ = run_and_watch(PLAN, 0, items=items)
    (tmp_path / "ranking.csv").write_text(result.to_csv(), encoding="utf-8")
    ranking = read_ranking(tmp_path / "ranking.csv", id_columns=columns, score_column="ybar")
    assert dict(zip(ranking.labels, ranking.ranks, strict=True)) == dict(zip(items, result.ranking.ranks, strict=True))


def test_labels_of_several_lengths_share_one_column():
    result, _ = run_and_watch(PLAN, 0, items=[("a", "b"), *"cdefghi"])
    assert result.to_csv().startswith("item,rank,")
    assert "\"('a', 'b')\"," in result.to_csv()


def test_json_has_every_figure():
    result, _ = run_and_watch(PLAN, 0, items=PAIRS)
    data = json.loads(result.to_json())
    assert (data["format"], data["version"]) == ("adaptive.ProtocolResult", 1)
    assert data["plan"] == PLAN.to_dict()
    assert [row["rank"] for row in data["items"]] == sorted(result.ranking.ranks)
    means = dict(zip(PAIRS, result.ybar.tolist(), strict=True))
    assert {tuple(row["item"]): row["ybar"] for row in data["items"]} == means
    for entry, record in zip(data["ballots"], result.ballots, strict=True):
        assert [tuple(item) for item in entry["items"]] == list(record.items)
        assert (entry["number"], entry["b"], entry["n_tied_at_cut"]) == (record.number, record.b, record.n_tied_at_cut)
        for name in ("x", "y", "ybar"):
            assert entry[name] == getattr(record, name).tolist()
        for name in ("presentations", "wins", "ties", "losses"):
            assert entry[name] == getattr(record.tally, name).tolist()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (0.5, "JSON holds labels that are strings, integers or tuples of those; got 0.5"),
        (("a", ("b",)), r"JSON holds labels .* got \('a', \('b',\)\)"),
        (("a", False), "JSON holds labels .* got False"),
        ("\ud800", "JSON holds whole characters; got a label with half of a surrogate pair"),
    ],
)
def test_labels_that_json_cannot_restore(label, message):
    result, _ = run_and_watch(PLAN, 0, items=[label, *"bcdefgh"])
    with pytest.raises(ProtocolError, match=message):
        result.to_json()


def test_a_result_has_a_short_repr():
    result, _ = run_and_watch(PLAN, 0)
    assert repr(result).startswith("<ProtocolResult of 3 ballots: <Ranking of 8 items, ")
    assert repr(result.ballots[0]).startswith("<BallotRecord 1: 8 items, b 1, ")


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 20), st.text("aB1", max_size=3), st.tuples(st.text("aB1"), st.integers(0, 3))),
            st.sampled_from([1.0, 2.5, 4.0]),
        ),
        unique_by=lambda row: row[0],
    )
)
def test_rows_are_sorted_by_rank_and_then_by_label(rows):
    """Numbers are sorted numerically, before text; labels may be of one type or several."""
    items, ranks = [item for item, _ in rows], np.array([rank for _, rank in rows])

    def key(place):
        parts = items[place] if isinstance(items[place], tuple) else (items[place],)
        return ranks[place], [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in parts]

    assert places_best_first(items, ranks).tolist() == sorted(range(len(items)), key=key)
    for kind in (int, str):
        some = [place for place, item in enumerate(items) if isinstance(item, kind)]
        result = places_best_first([items[place] for place in some], ranks[some])
        assert [some[place] for place in result.tolist()] == sorted(some, key=key)


SMALL_PLAN = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=3)
LABELS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
TOKENS = [("oak", "tree", 3.0), ("pine", "tree", 40.0), ("apple", "fruit", 100.0), ("pear", "fruit", 5.0)]


def ballot(seed=0):
    return draw_ballot(LABELS, 3, ["Ann", "Bob"], np.random.default_rng(seed))


def votes(seed=0):
    draw = ballot(seed)
    sides = ([draw.items[place] for place in side] for side in (draw.left, draw.right))
    return BallotVotes(*sides, np.random.default_rng(seed).integers(-1, 2, draw.n_comparisons))


def protocol(seed=0):
    def vote(ballot):
        items = [LABELS.index(item) for item in ballot.items]
        return np.sign(np.array(items)[ballot.right] - np.array(items)[ballot.left])

    return run_protocol(SMALL_PLAN, vote, items=LABELS, rng=np.random.default_rng(seed))


def simulation(seed=0):
    similarity = np.linspace(0.9, 0.1, 6)
    return simulate(SMALL_PLAN, VoterPopulation(3), similarity, n_simulations=3, seed=seed)


def scores(seed=0):
    draw = ballot(seed)
    answers = np.random.default_rng(seed).integers(-1, 2, draw.n_comparisons)
    return score_ballot(draw, answers, ballot_number=2, previous_mean=np.linspace(0.9, 0.4, 6))


def comparisons(seed=0):
    return Comparisons(LABELS, [0, 1, 2 + seed], [1, 2, 0], [1, 0, -1], ["Ann", "Bob"], [0, 1, 1], n_unanswered=4)


MAKE = {
    "Ballot": ballot,
    "BallotCertificate": lambda seed=0: replace(ballot().certificate(), n_items=6 + seed),
    "BallotPlan": lambda seed=0: replace(SMALL_PLAN, presentations=3 + seed),
    "BallotRecord": lambda seed=0: protocol(seed).ballots[0],
    "BallotScores": scores,
    "BallotVotes": votes,
    "BordaScores": lambda seed=0: borda(comparisons(seed)),
    "Comparisons": comparisons,
    "InterimResult": lambda seed=0: score_ballots(SMALL_PLAN, [votes(seed)], items=LABELS, seed=1),
    "Pairing": lambda seed=0: pair_tokens(TOKENS, sample=1, rng=np.random.default_rng(seed)),
    "ProtocolResult": protocol,
    "Rescaled": lambda seed=0: rescale([0.25 + seed / 8, 0.5, 0.75], [0.5, 0.75, 0.75]),
    "Selection": lambda seed=0: select_top([0.2 + seed, 0.9, 0.4], 2, np.random.default_rng(0)),
    "SimulationResult": simulation,
    "Position": lambda seed=0: replace(Position.first(SMALL_PLAN), n_closed=seed),
    "Tally": lambda seed=0: scores(seed).tally,
    "VoterPool": lambda seed=0: VoterPool([0.1, 0.2 + seed], [0.0, 0.01]),
    "VoterPopulation": lambda seed=0: VoterPopulation(3 + seed, nonconformity=[0.0, 0.1]),
}
TABLES = ("BallotPlan", "BallotRecord", "BordaScores", "Comparisons", "Pairing", "ProtocolResult")
TABLES += ("SimulationResult",)


@pytest.mark.parametrize("name", MAKE)
def test_each_result_is_a_value(name):
    result = MAKE[name]()
    assert type(result).__name__ == name
    check_equality(result, MAKE[name](), MAKE[name](seed=1))
    check_copies(result)


def test_results_have_arrays():
    assert len(list(arrays_in(ballot()))) == 3
    assert len(list(arrays_in(simulation()))) == 8
    assert len(list(arrays_in(protocol()))) == 1 + 2 * (1 + 4 + 3)


@pytest.mark.parametrize("copied", [lambda result: pickle.loads(pickle.dumps(result)), copy.deepcopy])
def test_cached_arrays_are_read_only_too(copied):
    result = protocol()
    counts = ("wins", "ties", "losses", "presentations", "last_ballot")
    for protocol_result in (result, copied(result)):
        for name in counts:
            with pytest.raises(ValueError, match="read-only"):
                getattr(protocol_result, name)[0] = 7
        assert protocol_result.ranking == result.ranking


@pytest.mark.parametrize("name", TABLES)
def test_tables_become_frames_and_notebook_tables(name):
    result = MAKE[name]()
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    html = result._repr_html_()
    table = pd.DataFrame(result._shown_columns())  # for simulations, a row for each approach instead of each figure
    assert all(f"<th>{column}</th>" in html for column in table.columns)
    assert html.count("<tr>") == len(table) + 1
    if name != "SimulationResult":
        assert list(table.columns) == list(frame.columns)
        assert len(table) == len(frame)
    json.dumps(result.to_dict(), allow_nan=False)
    assert re.search(r"\\caption\{\w", result.to_latex())


def test_the_frame_of_a_plan():
    frame = SMALL_PLAN.to_frame()
    assert frame.to_dict("list") == {"ballot": [1, 2], "items": [6, 3], "comparisons": [9, 5]}
    assert SMALL_PLAN._repr_html_().startswith("<p>6 items, 2 ballots, fraction 0.5, 3 presentations of each item")


def test_the_frame_of_a_protocol_is_its_csv():
    result = protocol()
    frame = result.to_frame()
    assert list(frame.columns) == ["item", "rank", "ybar", "presentations", "wins", "ties", "losses", "last_ballot"]
    assert frame["item"].iloc[0] == ("a", "b")
    assert frame["rank"].tolist() == sorted(result.ranking.ranks)
    rows = [line.split(",")[2:] for line in result.to_csv().splitlines()[1:]]
    assert [[float(cell) for cell in row] for row in rows] == frame.drop(columns="item").to_numpy(float).tolist()


def test_the_frame_of_a_ballot_record():
    record = protocol().ballots[0]
    frame = record.to_frame()
    assert list(frame.columns) == ["item", "x", "y", "ybar", "presentations", "wins", "ties", "losses"]
    assert frame["item"].tolist() == list(record.items)
    assert frame["x"].tolist() == record.x.tolist()
    assert record.to_dict() == protocol().to_dict()["ballots"][0]


def test_the_frame_of_a_simulation():
    result = simulation()
    rows = result.to_frame().to_dict("records")
    assert len(rows) == 8
    for row in rows:
        assert list(row) == ["approach", "coefficient", "mean", "sd", "se"]
        for name in ("mean", "sd", "se"):
            assert row[name] == getattr(result, name)[row["approach"]][row["coefficient"]]


def test_the_frame_of_a_pairing():
    pairing = pair_tokens(TOKENS)
    assert pairing.to_frame().to_dict("list") == {
        "item_1": ["oak", "apple"],
        "item_2": ["pine", "pear"],
        "area": ["tree", "fruit"],
        "rare": [True, False],  # below 10 % of the mean of 3, 40, 100 and 5
    }
    assert pairing.to_dict() == {
        "n_admissible": 2,
        "rare_tokens": ["oak"],
        "items": [
            {"item_1": "oak", "item_2": "pine", "area": "tree", "rare": True},
            {"item_1": "apple", "item_2": "pear", "area": "fruit", "rare": False},
        ],
    }
    assert list(pair_tokens([("oak", "tree"), ("pine", "tree")]).to_frame().columns) == ["item_1", "item_2", "area"]


def test_a_mapping_of_results_cannot_be_changed():
    result = simulation()
    with pytest.raises(TypeError, match="does not support item assignment"):
        result.statistics["uniform"]["rho"] = None
    with pytest.raises(TypeError, match="does not support item assignment"):
        pickle.loads(pickle.dumps(result)).statistics["uniform"] = None


def test_votes_copy_their_arguments():
    labels, answers = np.array(["a", "b"]), np.array([1, 0])
    stored_votes = BallotVotes(labels, labels[::-1], answers)
    answers[0] = -1
    assert stored_votes.answers.tolist() == [1, 0]
    assert stored_votes == BallotVotes(["a", "b"], ["b", "a"], [1, 0])


TABLE = TextTable("f.csv")
# One line of text without spaces around it; delimiters, quotes and other scripts are common.


FILE = "table.csv"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "table.csv"


# --- items -----------------------------------------------------------------------------------------------------------


@given(st.one_of(st.lists(strategy, min_size=1, unique=True) for strategy in (CELLS, st.tuples(CELLS, CELLS))))
def test_written_items_are_read_unchanged(file, items):
    rows = [[*item] if isinstance(item, tuple) else [item] for item in items]
    file.write_text(csv_text(item_columns("item", items), rows))
    assert read_items(file) == tuple(items)


def test_written_pairs_are_read_unchanged(write):
    tokens = [("salary", "work", 1), ("wage", "work", 99), ("tax", "state", 80), ("wage", "state", 99)]
    pairing = pair_tokens(tokens)
    text = pairing_csv(pairing)
    assert text.splitlines() == ["item_1,item_2,area,rare", "salary,wage,work,yes", "tax,wage,state,no"]
    assert read_items(write(text)) == pairing.items


def test_area_of_a_pair_across_areas_is_empty():
    with pytest.warns(FewRareTokensWarning):
        pairing = pair_tokens([("a", "x", 1), ("b", "y", 1)], across_areas=True)
    assert pairing_csv(pairing) == "item_1,item_2,area,rare\na,b,,no\n"


def test_the_column_of_items_can_be_chosen(write):
    assert read_items(write("n\titem_2\titem_1\n1\tb\ta\n\n2\tc\ta\n")) == (("a", "b"), ("a", "c"))
    assert read_items(write("item\na\n7\n")) == ("a", "7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,area\na,b\n", r'table\.csv:1: add a first line "item", .*; the first line has "label", "area"'),
        ("item,item\na,b\n", r'table\.csv:1: column "item": more than one column has this name'),
        ("item,item_1\na,b\n", r'table\.csv:1: columns "item" and "item_1" cannot be combined'),
        ("item_1,item_3\na,b\n", r'table\.csv:1: no column "item_2"; parts are numbered from 1'),
        ("item_1,item_2\na,b\na\n", r'table\.csv:3: expected 2 cells, as .* got 1 \(none for "item_2"\)'),
        ("Item\na\n", r'table\.csv:1: column "Item": did you mean "item"\?'),
        ("item_1,item_2\na,\n", r'table\.csv:2: column "item_2": empty cell; every row needs an item'),
        ("item\n a\n", r"""table\.csv:2: column "item": ' a' begins or ends with a space"""),
        ('item,n\n"a\nb",2\n', r"""table\.csv:2: column "item": 'a\\nb' has several lines"""),
        ("item\na\nb\na\n", r"table\.csv:4: item 'a' is also on line 2; items must be unique"),
        ("item\n", r"table\.csv:1: no items, only the names of the columns"),
        ("item_1,item_1\na,b\n", r'table\.csv:1: column "item_1": more than one column'),
        ("item_1,ITEM_2\na,b\n", r'table\.csv:1: column "ITEM_2": did you mean "item_2"\?'),
        ('item,n\n"a,1\n', r"table\.csv:2: a quote is opened here and never closed"),
        ("", r"table\.csv: the file is empty"),
    ],
)
def test_invalid_items_are_refused(write, text, message):
    with pytest.raises(TableError, match=message):
        read_items(write(text))


# --- columns and rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["Winner", "WINNER", " winner", "winner ", "\tWinner"])
def test_a_misspelt_column_name_gives_a_suggestion(cell):
    with pytest.raises(TableError, match=r'^f\.csv:1: column ".*": did you mean "winner"\? Capitals and spaces count'):
        check_spelling(TABLE, Record(1, ["left", cell]), ["left", "winner"])


@pytest.mark.parametrize("cells", [["winner", "Winner"], ["won"], ["win ner"], []])
def test_other_columns_may_have_any_name(cells):
    check_spelling(TABLE, Record(1, cells), ["winner"])


def test_column_names_are_case_sensitive():
    check_spelling(TABLE, Record(1, ["Cosine"]), ["Cosine"])
    with pytest.raises(TableError, match=r'column "cosine": did you mean "Cosine"\?'):
        check_spelling(TABLE, Record(1, ["cosine"]), ["Cosine"])
