"""What a protocol gave: counts of all ballots, and the tables that it is exported as."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._record import places_best_first
from adaptive.errors import ProtocolError
from rankcorr._io.table import read_ranking
from tests.adaptive import naive
from tests.adaptive.ballots import PAIRS, PLAN, PLANS, SEEDS, run_and_watch, spelt_out


@given(PLANS, SEEDS)
def test_counts_are_those_of_all_ballots(plan, seed):
    result, seen = run_and_watch(plan, seed)
    comparisons = [comparison for ballot, answers in seen for comparison in spelt_out(ballot, answers)[1]]
    assert len(comparisons) == plan.n_comparisons
    for item in range(plan.n_items):
        counts = naive.count(item, comparisons)
        for name in ("wins", "ties", "losses"):
            assert getattr(result, name)[item] == counts[name]
        assert result.presentations[item] == sum(counts.values())
        assert result.last_ballot[item] == max(k for k, (ballot, _) in enumerate(seen, 1) if item in ballot.items)


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


def test_json_holds_all_of_it():
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
        (True, "JSON holds labels .* got True"),
        (("a", ("b",)), r"JSON holds labels .* got \('a', \('b',\)\)"),
        (("a", False), "JSON holds labels .* got False"),
        ((), r"JSON holds labels .* got \(\)"),
        ("\ud800", "JSON holds whole characters; got a label with half of a surrogate pair"),
    ],
)
def test_labels_that_json_would_not_give_back(label, message):
    result, _ = run_and_watch(PLAN, 0, items=[label, *"bcdefgh"])
    with pytest.raises(ProtocolError, match=message):
        result.to_json()


def test_a_result_is_frozen_and_says_what_it_is():
    result, _ = run_and_watch(PLAN, 0)
    for array in (result.ybar, result.ballots[1].places, result.ballots[1].x, result.ballots[1].tally.wins):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert repr(result).startswith("<ProtocolResult of 3 ballots: <Ranking of 8 items, ")
    assert repr(result.ballots[0]).startswith("<BallotRecord 1: 8 items, b 1, ")


@pytest.mark.parametrize(
    ("items", "ordered"),
    [
        (["b", "a", "c"], ["c", "a", "b"]),
        ([10, 9, 3], [3, 9, 10]),  # as numbers
        (["10", "9", "3"], ["3", "10", "9"]),  # as text
        ([("x", "b"), ("x", "a"), "y"], ["y", ("x", "a"), ("x", "b")]),
        (["a", 7, "b"], ["b", 7, "a"]),  # numbers first
    ],
)
def test_items_that_tie_are_in_the_order_of_their_labels(items, ordered):
    places = places_best_first(items, np.array([2.5, 2.5, 1]))
    assert [items[place] for place in places.tolist()] == ordered


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 20), st.text("aB1", max_size=3), st.tuples(st.text("aB1"), st.integers(0, 3))),
            st.sampled_from([1.0, 2.5, 4.0]),
        ),
        unique_by=lambda row: row[0],
    )
)
def test_places_are_by_rank_and_then_by_label(rows):
    """Numbers as numbers, before text; labels of one kind, and of several."""
    items, ranks = [item for item, _ in rows], np.array([rank for _, rank in rows])

    def key(place):
        parts = items[place] if isinstance(items[place], tuple) else (items[place],)
        return ranks[place], [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in parts]

    assert places_best_first(items, ranks).tolist() == sorted(range(len(items)), key=key)
    for kind in (int, str):
        some = [place for place, item in enumerate(items) if isinstance(item, kind)]
        found = places_best_first([items[place] for place in some], ranks[some])
        assert [some[place] for place in found.tolist()] == sorted(some, key=key)
